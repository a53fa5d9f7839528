"""The structure of a unit in one line, for people and for tests.

``F: if{return} select(into) for(range){exit} handler return`` reads: routine F holds an IF with a RETURN in
it, a SELECT INTO, a loop over a range with an EXIT, and a handler of exceptions that returns. Ways of a
compound statement (``elsif``, ``else``, ``when``, ``handler``) stand before what they hold; BEGIN … END of a
routine is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_plsqlbench.sql.code import Code, CodeStatement
from pytest_plsqlbench.sql.signature import Parameter
from pytest_plsqlbench.sql.unit import ProgramUnit
from pytest_plsqlbench.sql.units import Program

_DETAILED = frozenset(("for", "select", "return", "raise", "fetch", "insert", "update", "delete", "execute"))


def outline(unit: ProgramUnit) -> str:
    """One line; routines after each other, divided by `` | ``; empty for units without code."""
    if unit.body is not None:
        return " ".join(statement.kind for statement in unit.body.statements)
    code = unit.code
    items = _items(code)
    parts = [
        f"{name}: {body}" if name else body
        for index, name in enumerate(_names(unit))
        if (body := _line(items.get(index, []))) or code.routines[index].has_body
    ]
    return " | ".join(parts)


def _names(unit: ProgramUnit) -> list[str]:
    """Names of all routines, as written; the unit's own routine and blocks have none."""
    names: list[str] = []
    for index, routine in enumerate(unit.code.routines):
        at, tokens = routine.start, unit.code.tokens
        end = routine.header_end if routine.header_end >= 0 else len(tokens)
        while at < end and tokens[at].value not in {"FUNCTION", "PROCEDURE"}:
            at += 1
        own = index == 0 and routine.start == 0
        shown = routine.kind in {"function", "procedure"} and not own and at + 1 < end
        names.append(tokens[at + 1].text if shown else "" if own else routine.kind)
    return names


def _items(code: Code) -> dict[int, list[tuple[int, int, str]]]:
    """For each routine its statements and ways: place, depth, label."""
    outer: dict[int, int] = {}
    items: dict[int, list[tuple[int, int, str]]] = {}
    for statement in code.statements:
        if statement.kind == "block" and statement.routine not in outer:
            outer[statement.routine] = statement.depth + 1
        else:
            depth = statement.depth - outer.get(statement.routine, 0)
            items.setdefault(statement.routine, []).append((statement.start, depth, _label(statement)))
    for branch in code.branches:
        depth = code.statements[branch.statement].depth + 1 - outer.get(branch.routine, 0)
        items.setdefault(branch.routine, []).append((branch.start, depth, branch.kind))
    return items


def _line(items: list[tuple[int, int, str]]) -> str:
    text: list[str] = []
    level = 0
    for _, depth, label in sorted(items):
        if depth > level:
            text.append("{" * (depth - level))
        elif depth < level:
            text.append("}" * (level - depth) + " ")
        elif text:
            text.append(" ")
        text.append(label)
        level = depth
    text.append("}" * level)
    return "".join(text)


def _label(statement: CodeStatement) -> str:
    if statement.detail and statement.kind in _DETAILED:
        return f"{statement.kind}({statement.detail})"
    return statement.kind


def describe(program: Program) -> list[str]:
    """A program in a few lines: its statements, each unit with its outline and routines, the findings."""
    kinds = [
        statement.command or ""
        if statement.kind == "client"
        else "exec"
        if statement.from_exec
        else statement.kind
        for statement in program.script.statements
    ]
    lines = [", ".join(kinds)]
    for unit in program.units:
        name = f" {unit.name}" if unit.name else ""
        detail = f" [{unit.detail}]" if unit.detail else ""
        header = f"{unit.kind}{name}{signature(unit.parameters or unit.attributes, unit.returns)}{detail}"
        body = outline(unit)
        lines.append(f"{header}: {body}" if body else header)
        for routine in unit.routines:
            text = f"{routine.kind} {routine.name}{signature(routine.parameters, routine.returns)}"
            lines.append("  " * (routine.depth + 1) + text + ("" if routine.has_body else " (declared)"))
    lines.extend(f"! {finding.code} at line {finding.line}" for finding in program.findings)
    return lines


def signature(parameters: Sequence[Parameter], returns: str | None) -> str:
    """Parameters and return type, ``in`` left out: ``(A NUMBER, B out DATE := x) return NUMBER``."""
    shown = [
        " ".join(
            part
            for part in (
                parameter.name,
                "" if parameter.mode == "in" else parameter.mode,
                parameter.type,
                f":= {parameter.default}" if parameter.default is not None else "",
            )
            if part
        )
        for parameter in parameters
    ]
    text = f"({', '.join(shown)})" if shown else ""
    return f"{text} return {returns}" if returns else text
