"""A script read: its statements and what was noticed."""

from __future__ import annotations

import msgspec

from pytest_plsqlbench.sql.classify import StatementKind
from pytest_plsqlbench.sql.finding import Finding
from pytest_plsqlbench.sql.lexer import Token


class ScriptStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a script."""

    text: str
    """What the server gets: plain SQL without ``;``, an Oracle unit with the last ``;``, never ``/``."""
    kind: StatementKind
    offset: int
    """Index in the script of the first character of ``text``, from 0 (EXEC: of what follows that word)."""
    end: int
    """Index after its last character, terminators left out."""
    line: int
    """Line of that first character, from 1: line n of ``text`` is line ``line + n - 1`` of the script."""
    column: int
    """Column of it, from 1."""
    recovered: bool = False
    """Its end was found by structure, because the terminator is missing."""
    from_exec: bool = False
    """It was ``EXEC …``: the text begins with an added ``BEGIN``."""
    command: str | None = None
    """Kind ``client``: the full name of the command in upper case (``SET``, ``@``, ``\\\\copy``)."""
    arguments: str = ""
    """Kind ``client``: what follows the command's name on its line."""
    refused: bool = False
    """Kind ``client``: a command that we do not run; a finding says why."""
    data: str | None = None
    """Kind ``copy``: the lines that follow ``COPY … FROM STDIN`` up to ``\\\\.``; None without them."""


class Script(msgspec.Struct, frozen=True):
    """A script read."""

    statements: tuple[ScriptStatement, ...]
    findings: tuple[Finding, ...]


def placed(script: Script, first: Token) -> Script:
    """The script of a piece of text, with the positions that it has in the text that ``first`` is cut from.

    Args:
        script: what was read from the piece alone.
        first: the first token of the piece, as it stands in the whole.
    """

    def shift(line: int, column: int) -> dict[str, int]:
        return {"line": line + first.line - 1, "column": column + first.column - 1 if line == 1 else column}

    return Script(
        tuple(
            msgspec.structs.replace(
                statement,
                offset=statement.offset + first.offset,
                end=statement.end + first.offset,
                **shift(statement.line, statement.column),
            )
            for statement in script.statements
        ),
        tuple(
            msgspec.structs.replace(
                finding, offset=finding.offset + first.offset, **shift(finding.line, finding.column)
            )
            for finding in script.findings
        ),
    )
