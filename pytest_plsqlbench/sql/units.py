"""Programs read: the statements of a script and the units that they define."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.finding import Finding
from pytest_plsqlbench.sql.headers import UnitShape
from pytest_plsqlbench.sql.lexer import Lexer, Token
from pytest_plsqlbench.sql.oracle_unit import oracle_unit
from pytest_plsqlbench.sql.postgres_unit import postgres_unit
from pytest_plsqlbench.sql.script import Script, ScriptStatement, StatementKind, read_script
from pytest_plsqlbench.sql.sqlplus import UNIT_SHAPES
from pytest_plsqlbench.sql.unit import ProgramUnit, UnitKind


@dataclass(frozen=True, slots=True)
class Program:
    """A program read: its statements and what they define."""

    dialect: Dialect
    script: Script
    units: tuple[ProgramUnit, ...]
    findings: tuple[Finding, ...]
    """Of the script and of the structure of its units, in the order of the text."""


_KINDS: dict[StatementKind, UnitKind] = {
    "create_function": "function",
    "create_procedure": "procedure",
    "create_package": "package",
    "create_package_body": "package_body",
    "create_type": "type",
    "create_type_body": "type_body",
    "create_trigger": "trigger",
    "create_view": "view",
    "create_table": "table",
    "block": "block",
}


def read_program(text: str, dialect: Dialect) -> Program:
    """Read a script and the units in it. Never raises, whatever the text."""
    script = read_script(text, dialect)
    units: list[ProgramUnit] = []
    findings = {(finding.code, finding.offset): finding for finding in script.findings}
    for statement in script.statements:
        unit = read_unit(statement, dialect)
        if unit is None:
            continue
        units.append(unit)
        for finding in unit.code.findings:
            findings.setdefault((finding.code, finding.offset), finding)
        if unit.body is not None:
            for finding in unit.body.findings:
                findings.setdefault((finding.code, finding.offset), finding)
    ordered = sorted(findings.values(), key=lambda finding: finding.offset)
    return Program(dialect, script, tuple(units), tuple(ordered))


def read_unit(statement: ScriptStatement, dialect: Dialect) -> ProgramUnit | None:
    """The unit that a statement is; None for a statement that is none."""
    tokens = statement_tokens(statement, dialect)
    kind = _KINDS.get(statement.kind)
    if kind is None:
        with_routines = dialect == "oracle" and [token.value for token in tokens[:2]] in (
            ["WITH", "FUNCTION"],
            ["WITH", "PROCEDURE"],
        )
        return oracle_unit("query", statement, tokens, UnitShape.WITH) if with_routines else None
    if dialect == "oracle":
        return oracle_unit(kind, statement, tokens, UNIT_SHAPES.get(statement.kind, UnitShape.FLAT))
    return postgres_unit(kind, statement, tokens)


def statement_tokens(statement: ScriptStatement, dialect: Dialect) -> list[Token]:
    """Significant tokens of a statement, with positions in the script."""
    added = len("BEGIN ") if statement.from_exec else 0
    lexer = Lexer(
        statement.text,
        dialect,
        offset=statement.offset - added,
        line=statement.line,
        column=statement.column - added,
    )
    return [token for token in lexer if not token.silent]
