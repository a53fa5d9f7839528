"""Programs read: the statements of a script and the units that they define."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.finding import Finding
from pytest_plsqlbench.sql.headers import UnitShape
from pytest_plsqlbench.sql.lexer import Lexer, Token
from pytest_plsqlbench.sql.oracle_unit import oracle_unit
from pytest_plsqlbench.sql.postgres_unit import postgres_unit
from pytest_plsqlbench.sql.script import Script, ScriptStatement, StatementKind, read_script
from pytest_plsqlbench.sql.sqlplus import OracleReader
from pytest_plsqlbench.sql.structure import Structure
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
    if dialect == "oracle":
        reader = OracleReader(text)
        script = reader.read()
        units = [unit for unit in (_oracle(s, reader.codes.get(s.offset)) for s in script.statements) if unit]
    else:
        script = read_script(text, dialect)
        units = [
            postgres_unit(_KINDS[statement.kind], statement, statement_tokens(statement, dialect))
            for statement in script.statements
            if statement.kind in _KINDS
        ]
    findings = {(finding.code, finding.offset): finding for finding in script.findings}
    for unit in units:
        for finding in (*unit.code.findings, *(unit.body.findings if unit.body is not None else ())):
            findings.setdefault((finding.code, finding.offset), finding)
    ordered = sorted(findings.values(), key=lambda finding: finding.offset)
    return Program(dialect, script, tuple(units), tuple(ordered))


def _oracle(statement: ScriptStatement, code: Code | None) -> ProgramUnit | None:
    """The unit that a statement is; None for a statement that is none."""
    kind = _KINDS.get(statement.kind)
    if statement.from_exec:
        tokens = statement_tokens(statement, "oracle")
        structure = Structure(UnitShape.BLOCK, "oracle")
        for token in tokens:
            structure.feed(token)
        return oracle_unit("block", statement, tokens, structure.finish())
    if kind is None:
        # A query that declares functions was read by structure, too.
        begins_with = code is not None and bool(code.tokens) and code.tokens[0].value == "WITH"
        return (
            oracle_unit("query", statement, code.tokens, code) if code is not None and begins_with else None
        )
    if code is None or statement.kind == "create_type":
        return oracle_unit(kind, statement, statement_tokens(statement, "oracle"), Code())
    return oracle_unit(kind, statement, code.tokens, code)


def statement_tokens(statement: ScriptStatement, dialect: Dialect) -> list[Token]:
    """Significant tokens of a statement, with positions in the script."""
    added = len("BEGIN ") if statement.from_exec else 0
    lexer = Lexer(
        statement.text,
        dialect,
        offset=statement.offset - added,
        line=statement.line,
        column=statement.column - added,
        significant=True,
    )
    return list(lexer)


def program_tokens(program: Program) -> Iterator[list[Token]]:
    """The significant tokens of each statement, and those of the bodies of PostgreSQL routines."""
    for statement in program.script.statements:
        if statement.kind != "client":
            yield statement_tokens(statement, program.dialect)
    if program.dialect == "postgres":
        for unit in program.units:
            if unit.code.tokens:
                yield unit.code.tokens
            elif unit.body is not None:
                for inner in unit.body.statements:
                    yield statement_tokens(inner, program.dialect)
