"""Rows of a statement into result sets, within the limits."""

from __future__ import annotations

from typing import Any

from pytest_plsqlbench.bench.observation import Cell, ResultSet
from pytest_plsqlbench.engines.oracle.cells import cell
from pytest_plsqlbench.engines.oracle.port import Rows
from pytest_plsqlbench.engines.protocol import Limits

_FETCH = 500


class ResultBudget:
    """What a call may still return, over all its result sets."""

    def __init__(self, limits: Limits) -> None:
        self._rows = limits.rows
        self._bytes = limits.result_bytes
        self.exceeded = False

    def take(self, rows: Rows) -> ResultSet:
        """Fetch rows up to the limit and close their cursor.

        Raises:
            DriverError: the query fails while it is fetched.
        """
        kinds = [column.type for column in rows.columns]
        taken: list[tuple[Cell, ...]] = []
        try:
            while not self.exceeded:
                batch = rows.fetch(min(_FETCH, self._rows + 1))
                if not batch:
                    break
                for values in batch:
                    row = tuple(cell(value, kind) for value, kind in zip(values, kinds, strict=True))
                    self._rows -= 1
                    self._bytes -= sum(len(part[1]) for part in row if part)
                    if self._rows < 0 or self._bytes < 0:
                        self.exceeded = True
                        break
                    taken.append(row)
        finally:
            rows.close()
        return ResultSet(tuple(column.name for column in rows.columns), tuple(taken), truncated=self.exceeded)


def single(name: str, value: Any, kind: str) -> ResultSet:
    """One value, as PRINT shows a variable."""
    return ResultSet((name,), ((cell(value, kind),),))
