"""``plsqlbench inspect``: what a program text holds, for people who look into a failure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from pytest_plsqlbench.bench.task import DIALECTS, Dialect, Source, UserError
from pytest_plsqlbench.sql.complexity import Complexity, program_complexity, unit_complexity
from pytest_plsqlbench.sql.constructs import constructs
from pytest_plsqlbench.sql.extraction import extract
from pytest_plsqlbench.sql.outline import outline, signature
from pytest_plsqlbench.sql.prose import published_problem
from pytest_plsqlbench.sql.safety import Access, Violation, check_safety
from pytest_plsqlbench.sql.signature import Parameter
from pytest_plsqlbench.sql.unit import ProgramUnit, Routine
from pytest_plsqlbench.sql.units import Program, read_program


@click.command(
    "inspect",
    help="Show what a program text holds: statements, units, parameters, constructs, complexity, safety.",
)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--dialect", type=click.Choice(DIALECTS), required=True, help="How the text is read.")
@click.option(
    "--access",
    type=click.Choice(["read", "write"]),
    default="write",
    show_default=True,
    help="What the task allows: only to read the given tables, or to change their rows.",
)
@click.option("--extract", "extracts", is_flag=True, help="Take the program out of fences and prose first.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
def command(file: Path, dialect: Dialect, access: Access, *, extracts: bool, as_json: bool) -> None:
    """Print the reading of one file (``-``: standard input)."""
    text = _read(file)
    report: dict[str, Any] = {
        "file": str(file),
        "dialect": dialect,
        "published_problem": published_problem(text, dialect),
    }
    if extracts:
        extraction = extract(text, dialect)
        report["extraction"] = {"done": list(extraction.done), "problem": extraction.problem}
        text = extraction.program
    program = read_program(text, dialect)
    report |= _report(program, access)
    click.echo(
        json.dumps(report, indent=2, ensure_ascii=False) if as_json else "\n".join(_tables(report, program))
    )


def _read(file: Path) -> str:
    try:
        with click.open_file(str(file), "rb") as stream:
            data: bytes = stream.read()
    except OSError as error:
        raise UserError(f"the file cannot be read: {error.strerror or error}", Source(str(file))) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError("the text is not UTF-8: convert it first", Source(str(file), line)) from error


# -- the report as data ----------------------------------------------------------------------------------


def _report(program: Program, access: Access) -> dict[str, Any]:
    return {
        "statements": [
            {"line": statement.line, "kind": statement.kind, "recovered": statement.recovered}
            | ({"command": statement.command} if statement.command else {})
            for statement in program.script.statements
        ],
        "units": [_unit(unit) for unit in program.units],
        "constructs": list(constructs(program)),
        "complexity": _complexity(program_complexity(program)),
        "safety": [_violation(violation) for violation in check_safety(program, access)],
        "findings": [
            {
                "code": finding.code,
                "severity": finding.severity,
                "line": finding.line,
                "column": finding.column,
                "message": finding.message,
            }
            for finding in program.findings
        ],
    }


def _unit(unit: ProgramUnit) -> dict[str, Any]:
    return {
        "kind": unit.kind,
        "name": str(unit.name) if unit.name else None,
        "line": unit.statement.line,
        "parameters": [_parameter(parameter) for parameter in unit.parameters],
        "returns": unit.returns,
        "language": unit.language,
        "detail": unit.detail or None,
        "attributes": [_parameter(parameter) for parameter in unit.attributes],
        "members": [_routine(routine) for routine in unit.members],
        "nested": [_routine(routine) for routine in unit.nested],
        "outline": outline(unit),
        "complexity": _complexity(unit_complexity(unit)),
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "mode": parameter.mode,
        "type": parameter.type,
        "default": parameter.default,
    }


def _routine(routine: Routine) -> dict[str, Any]:
    return {
        "kind": routine.kind,
        "name": routine.name,
        "line": routine.line,
        "parameters": [_parameter(parameter) for parameter in routine.parameters],
        "returns": routine.returns,
        "has_body": routine.has_body,
        "depth": routine.depth,
    }


def _complexity(complexity: Complexity) -> dict[str, int]:
    return {
        "statements": complexity.statements,
        "cyclomatic": complexity.cyclomatic,
        "conditions": complexity.conditions,
        "declarations": complexity.declarations,
        "max_depth": complexity.max_depth,
    }


def _violation(violation: Violation) -> dict[str, Any]:
    return {
        "rule": violation.rule,
        "severity": violation.severity,
        "line": violation.line,
        "column": violation.column,
        "message": violation.message,
    }


# -- the report as tables --------------------------------------------------------------------------------


def _tables(report: dict[str, Any], program: Program) -> Iterator[str]:
    if report["published_problem"]:
        yield f"not a program as published: {report['published_problem']}"
    for line in report.get("extraction", {}).get("done", ()):
        yield f"extracted: {line}"
    if report.get("extraction", {}).get("problem"):
        yield f"extraction: {report['extraction']['problem']}"
    yield f"statements: {_counted([statement['kind'] for statement in report['statements']]) or 'none'}"
    yield ""
    yield from _table(
        ("line", "unit", "name", "signature", "statements", "cyclomatic"), list(_unit_rows(program.units))
    )
    outlines = [(unit.statement.line, outline(unit)) for unit in program.units]
    yield ""
    yield from (f"line {line}: {text}" for line, text in outlines if text)
    total = report["complexity"]
    yield "constructs: " + (", ".join(report["constructs"]) or "none")
    yield "complexity: " + ", ".join(f"{name} {number}" for name, number in total.items())
    yield f"safety: {len(report['safety'])} found" if report["safety"] else "safety: nothing found"
    for violation in report["safety"]:
        yield f"  {violation['severity']}: {violation['message']} [{violation['rule']}]"
    for finding in report["findings"]:
        place = f"line {finding['line']}, column {finding['column']}"
        yield f"{finding['severity']}: {place}: {finding['message']} [{finding['code']}]"


def _unit_rows(units: Sequence[ProgramUnit]) -> Iterator[tuple[str, ...]]:
    for unit in units:
        size = unit_complexity(unit)
        yield (
            str(unit.statement.line),
            unit.kind.replace("_", " "),
            str(unit.name or ""),
            signature(unit.parameters, unit.returns).strip() or unit.detail,
            str(size.statements),
            str(size.cyclomatic),
        )
        for routine in unit.routines:
            kind = "  " * (routine.depth + 1) + routine.kind + ("" if routine.has_body else " (declared)")
            shown = signature(routine.parameters, routine.returns).strip()
            yield (str(routine.line), kind, routine.name, shown, "", "")


def _counted(words: Sequence[str]) -> str:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word.replace('_', ' ')}" for word, number in counts.items())


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    for row in (head, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
