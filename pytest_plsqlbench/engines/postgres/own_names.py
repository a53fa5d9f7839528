"""Names that differ between the sides of a play though the programs are the same: a role's and a database's.

Each side logs in as a role of its own, and plays of their own copies see another database each time. What
``current_user``, ``session_user`` or ``current_database()`` put into values, lines and tables is shown under
one name for both sides: an audit trigger that writes who did it must not tell them apart.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pytest_plsqlbench.bench.observation import CallObservation, Cell, Observation, ResultSet, TableState
from pytest_plsqlbench.engines.postgres.names import fresh_database, side_role

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_plsqlbench.engines.protocol import Played, Side

USER = "plsqlbench_user"
DATABASE = "plsqlbench_database"
_RANDOM = 8
"""Hexadecimal digits at the end of a database's name."""

_Shown = TypeVar("_Shown", ResultSet, TableState)


class OwnNames:
    """Puts the common names in the place of a side's own."""

    def __init__(self, run_id: str, worker: str, side: Side) -> None:
        """Learn the names.

        Args:
            run_id: of the run.
            worker: whose lane it is.
            side: of the play; names of the other side stay as they are.
        """
        self._start = fresh_database(run_id, worker)[:-_RANDOM]
        own = side_role(run_id, worker, side).removeprefix(self._start)
        self._names = re.compile(
            rf"{re.escape(self._start)}(?:(?P<database>[0-9a-f]{{{_RANDOM}}})|{own}[0-9]*)(?![0-9a-z_])"
        )

    def hidden(self, played: Played) -> Played:
        """What was observed, under the common names."""
        return replace(
            played,
            programs=tuple(map(self._call, played.programs)),
            tests=tuple(map(self._test, played.tests)),
        )

    def _test(self, seen: Observation) -> Observation:
        calls = tuple(map(self._call, seen.calls))
        state = None if seen.state is None else self._tables(seen.state)
        between = None if seen.state_between is None else tuple(map(self._tables, seen.state_between))
        return msgspec.structs.replace(seen, calls=calls, state=state, state_between=between)

    def _tables(self, tables: tuple[TableState, ...]) -> tuple[TableState, ...]:
        return tuple(map(self._rows, tables))

    def _call(self, call: CallObservation) -> CallObservation:
        if not any(self._start in line for line in call.lines) and not any(map(self._met, call.results)):
            return call
        return msgspec.structs.replace(
            call,
            lines=tuple(map(self._text, call.lines)),
            results=tuple(map(self._rows, call.results)),
        )

    def _rows(self, shown: _Shown) -> _Shown:
        if not self._met(shown):
            return shown
        rows: Iterable[tuple[Cell, ...]] = (tuple(map(self._cell, row)) for row in shown.rows)
        if isinstance(shown, TableState):
            rows = sorted(rows, key=repr)
        return msgspec.structs.replace(shown, rows=tuple(rows))

    def _met(self, shown: ResultSet | TableState) -> bool:
        start = self._start
        return any(cell is not None and start in cell[1] for row in shown.rows for cell in row)

    def _cell(self, cell: Cell) -> Cell:
        return None if cell is None else (cell[0], self._text(cell[1]))

    def _text(self, text: str) -> str:
        return self._names.sub(lambda found: DATABASE if found["database"] else USER, text)
