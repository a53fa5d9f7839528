"""Errors of the server: read from the wire, placed in the program's text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from psycopg.pq import DiagnosticField
from psycopg.pq.abc import PGresult

from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.sql.lexer import significant_tokens
from pytest_plsqlbench.sql.statement import ScriptStatement

_RAISE = "exec_stmt_raise"
_ROUTINE_LINE = re.compile(r"^PL/pgSQL function (?P<name>.+?)(?:\(.*\))? line (?P<line>\d+)\b", re.MULTILINE)
_INLINE = "inline_code_block"
_LIMITS = {"53200": "memory_limit", "54000": "memory_limit", "53400": "temp_limit", "53100": "disk_limit"}
_BODIES = frozenset(("create_function", "create_procedure", "block"))


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the server sent it."""

    code: str
    message: str
    detail: str | None = None
    hint: str | None = None
    where: str | None = None
    position: int | None = None
    """Character in the statement, from 1."""
    function: str | None = None
    """Function of the server's source that reported it."""
    fatal: bool = False
    """The server ended the session with it."""

    @classmethod
    def read(cls, result: PGresult) -> Failure:
        """Read the fields of a result that is an error."""

        def field(which: DiagnosticField) -> str | None:
            value = result.error_field(which)
            return None if value is None else value.decode("utf-8", "replace")

        position = field(DiagnosticField.STATEMENT_POSITION)
        return cls(
            code=field(DiagnosticField.SQLSTATE) or "XX000",
            message=field(DiagnosticField.MESSAGE_PRIMARY) or result.get_error_message().strip(),
            detail=field(DiagnosticField.MESSAGE_DETAIL),
            hint=field(DiagnosticField.MESSAGE_HINT),
            where=field(DiagnosticField.CONTEXT),
            position=int(position) if position and position.isdigit() else None,
            function=field(DiagnosticField.SOURCE_FUNCTION),
            fatal=field(DiagnosticField.SEVERITY_NONLOCALIZED) in {"FATAL", "PANIC"},
        )

    @property
    def raised(self) -> bool:
        """Whether a program raised it by RAISE, with whatever code it liked."""
        return self.function == _RAISE

    @property
    def limit(self) -> str | None:
        """The limit that it stands for, if it is the server's own word."""
        return None if self.raised else _LIMITS.get(self.code)


class Routines:
    """Where the PL/pgSQL bodies of a program begin, to place run-time errors in its text."""

    def __init__(self, statements: tuple[ScriptStatement, ...] = ()) -> None:
        self._statements = statements
        self._lines: dict[str, int | None] | None = None

    def place(self, where: str | None) -> int | None:
        """Line in the program of the innermost PL/pgSQL routine named in the context ``where``."""
        for found in _ROUTINE_LINE.finditer(where or ""):
            if self._lines is None:
                self._lines = self._read()
            first = self._lines.get(_bare(found["name"]))
            if first is not None:
                return first + int(found["line"]) - 1
        return None

    def _read(self) -> dict[str, int | None]:
        lines: dict[str, int | None] = {}
        for statement in self._statements:
            if statement.kind in _BODIES:
                name, line = _body(statement)
                # two routines of one name: the context does not say surely which one was meant
                lines[name] = None if name in lines else line
        return lines


def _body(statement: ScriptStatement) -> tuple[str, int | None]:
    """Name of the routine, and the line on which the string that holds its body opens."""
    tokens = significant_tokens(statement.text, "postgres")
    name = _INLINE
    if statement.kind != "block":
        for at, token in enumerate(tokens):
            if token.value in {"FUNCTION", "PROCEDURE"}:
                parts = [part.text for part in tokens[at + 1 : at + 4]]
                last = parts[2] if len(parts) == 3 and parts[1] == "." else parts[0] if parts else ""
                name = _bare(last)
                break
    previous = ""
    for token in tokens:
        if token.kind == "string" and (statement.kind == "block" or previous == "AS"):
            return name, statement.line + token.line - 1
        previous = token.value
    return name, None


def _bare(name: str) -> str:
    last = name.rpartition(".")[2]
    return last[1:-1].replace('""', '"') if last.startswith('"') else last.lower()


def diagnostic(
    failure: Failure, statement: ScriptStatement | None = None, routines: Routines | None = None
) -> Diagnostic:
    """The error as observed, with its line in the program's text where it has one."""
    line = column = None
    if statement is not None and failure.position is not None:
        before = statement.text[: failure.position - 1]
        lines = before.count("\n")
        line = statement.line + lines
        column = failure.position - 1 - (before.rfind("\n") + 1) + 1
        if lines == 0:
            column += statement.column - 1
    if routines is not None:
        inner = routines.place(failure.where)
        if inner is not None:
            line, column = inner, None
    return Diagnostic(
        code=failure.code,
        message=failure.message,
        detail=failure.detail,
        hint=failure.hint,
        line=line,
        column=column,
        where=failure.where,
    )
