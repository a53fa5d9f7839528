"""Procedural code read: routines, declarations, statements and branches, as flat lists.

Flat, with the index of the parent, so that no depth of nesting in a text can exhaust anything. Token ranges
are indexes into ``Code.tokens``, end exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pytest_plsqlbench.sql.finding import Finding
from pytest_plsqlbench.sql.lexer import Token

StatementWord = Literal[
    "assert",
    "assignment",
    "block",
    "call",
    "case",
    "close",
    "commit",
    "continue",
    "ddl",
    "delete",
    "do",
    "execute",
    "exit",
    "fetch",
    "for",
    "forall",
    "foreach",
    "get_diagnostics",
    "goto",
    "if",
    "insert",
    "lock",
    "loop",
    "merge",
    "move",
    "null",
    "open",
    "perform",
    "pipe_row",
    "raise",
    "return",
    "rollback",
    "savepoint",
    "select",
    "set",
    "sql",
    "update",
    "while",
]
"""What a procedural statement is. ``execute``: dynamic SQL; ``ddl``: static DDL (PL/pgSQL); ``sql``: another
SQL statement; ``call``: of a procedure."""

BranchKind = Literal["elsif", "else", "when", "handler"]
DeclarationKind = Literal[
    "variable", "constant", "cursor", "exception", "type", "subtype", "pragma", "alias", "other"
]
RoutineKind = Literal["function", "procedure", "block", "trigger", "initialization", "section"]
"""``initialization``: BEGIN … END of a package body; ``section``: timing point of a compound trigger."""


@dataclass(slots=True)
class CodeStatement:
    """One executable statement. Of a compound statement the range is its header (``IF … THEN``)."""

    kind: StatementWord
    start: int
    end: int
    depth: int
    """Number of compound statements around it, within its routine."""
    parent: int
    """Index of the compound statement around it, -1 for none."""
    routine: int
    """Index of the routine that it belongs to."""
    token: Token
    """Its first token, for the position."""
    detail: str = ""
    """``for``: ``range``, ``query``, ``dynamic`` or ``cursor``; ``raise``: what is raised; ``return``:
    ``next`` or ``query``; SQL: ``into``, ``bulk`` or nothing."""


@dataclass(slots=True)
class Branch:
    """A way of an IF, of a CASE statement, or a handler of exceptions."""

    kind: BranchKind
    start: int
    end: int
    statement: int
    """Index of the statement that it belongs to (of a handler: the block)."""
    routine: int


@dataclass(slots=True)
class Declaration:
    """One declaration."""

    kind: DeclarationKind
    name: str
    """As written; empty for pragmas."""
    start: int
    end: int
    routine: int
    """Index of the routine; -1 for items of a package."""


@dataclass(slots=True)
class RoutineCode:
    """A function, procedure or block; nested ones name their parent."""

    kind: RoutineKind
    start: int
    """Where its header begins."""
    header_end: int
    parent: int
    """Index of the routine around it, -1 for none."""
    has_body: bool = False
    depth: int = 0
    end: int = -1
    """After its closing semicolon; -1: never closed."""


@dataclass(slots=True)
class Code:
    """One unit's code."""

    tokens: list[Token] = field(default_factory=list)
    """Significant tokens."""
    routines: list[RoutineCode] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    statements: list[CodeStatement] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    complete: bool = False
    """The structure is closed: the last END and its semicolon were read."""
