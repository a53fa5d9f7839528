"""Observations: all that a test call shows. Engines make them, ``comparison`` judges them."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal[
    "int",
    "numeric",
    "float",
    "text",
    "bool",
    "date",
    "timestamp",
    "timestamptz",
    "time",
    "interval",
    "bytes",
    "json",
    "numbers",
    "other",
]
"""Type family of a cell. ``int`` and ``numeric`` are compared by value, ``float`` bit for bit; ``numbers`` is
an array of ``int`` or ``numeric`` in the form ``{1,2.50,NULL}``."""

Cell = tuple[Kind, str] | None
"""A value with its type family, in the engine's canonical text form; None is NULL."""


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """An error or warning of the engine."""

    code: str
    """SQLSTATE, or ORA-nnnnn / PLS-nnnnn."""
    message: str
    severity: Literal["error", "warning"] = "error"
    detail: str | None = None
    hint: str | None = None
    line: int | None = None
    """Line in the text of the program or call, from 1."""
    column: int | None = None
    where: str | None = None
    """The engine's context (call stack), for people."""


class ResultSet(msgspec.Struct, frozen=True):
    """Rows that a statement returned: a query's rows, a call's OUT values, a cursor's content."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False
    """More rows came than the limit allows; a truncated result never equals anything."""


class CallObservation(msgspec.Struct, frozen=True, kw_only=True):
    """What one call (or one program while it is installed) showed."""

    lines: tuple[str, ...] = ()
    """Printed lines: DBMS_OUTPUT, or RAISE NOTICE and RAISE INFO; trailing blanks kept."""
    results: tuple[ResultSet, ...] = ()
    error: Diagnostic | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings and compile messages; not output."""
    limit: str | None = None
    """The limit that ended the call: ``time_limit``, ``output_limit``, ``row_limit``, ``memory_limit`` …"""
    lost: bool = False
    """The session was lost during the call while the server stayed up: the program's doing."""
    raised: bool = False
    """The program raised the error itself, with a code of its choice (PL/pgSQL's ``RAISE``)."""


class TableState(msgspec.Struct, frozen=True):
    """Content of a table after the calls."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """All rows, in a fixed order of their text forms: a bag."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What one test showed: its calls in order, then the state of the tables where the test asks for it."""

    calls: tuple[CallObservation, ...]
    state: tuple[TableState, ...] | None = None
    """Tables that differ from the initial state, sorted by name; None where the test does not judge state.
    A table that is not listed holds its initial rows."""
    state_between: tuple[tuple[TableState, ...], ...] | None = None
    """The same after each call (the ``strict`` reading of EX); None where it was not taken."""
    objects: tuple[str, ...] | None = None
    """New, dropped or altered tables and sequences after the calls (the ``strict`` reading of EX)."""
    uninstalled: bool = False
    """The program, installed anew for this test, failed: the one call is what it showed, and no test's."""
    elapsed_ms: float = 0.0
    work: int | None = None
    """Database work in buffer hits and reads, where it was measured."""
