"""Program units: what each CREATE or anonymous block of a script defines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.signature import Name, Parameter
from pytest_plsqlbench.sql.statement import Script, ScriptStatement

UnitKind = Literal[
    "function",
    "procedure",
    "package",
    "package_body",
    "type",
    "type_body",
    "trigger",
    "view",
    "table",
    "block",
    "query",
]
"""``query``: an Oracle query that declares functions in its WITH."""
UNIT_KINDS: tuple[UnitKind, ...] = get_args(UnitKind)


@dataclass(frozen=True, slots=True)
class Routine:
    """A member of a package or type, or a nested subprogram."""

    kind: Literal["function", "procedure"]
    name: str
    """As the server keeps it."""
    parameters: tuple[Parameter, ...]
    returns: str | None
    has_body: bool
    depth: int
    """0: a member of the unit, or nested in its outermost routine; more: nested deeper."""
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ProgramUnit:
    """One unit of a script."""

    kind: UnitKind
    name: Name | None
    """None for blocks, and where the text gives none."""
    parameters: tuple[Parameter, ...]
    returns: str | None
    language: str | None
    """PostgreSQL: the language of the body, in lower case."""
    members: tuple[Routine, ...]
    """Of packages and types: their routines."""
    nested: tuple[Routine, ...]
    """Subprograms declared inside routines and blocks."""
    attributes: tuple[Parameter, ...]
    """Of object and composite types: attributes."""
    detail: str
    """Types: ``object``, ``table of …`` …; triggers: the table; else nothing."""
    code: Code
    """What can run in it. Empty for views, tables and types."""
    statement: ScriptStatement
    body: Script | None = None
    """PostgreSQL, language ``sql``: the statements of the body."""

    @property
    def routines(self) -> tuple[Routine, ...]:
        """Members and nested subprograms."""
        return self.members + self.nested
