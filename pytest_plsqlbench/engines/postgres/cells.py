"""Results of the wire protocol as typed cells; the driver converts nothing."""

from __future__ import annotations

import sys

from psycopg.pq.abc import PGresult

from pytest_plsqlbench.bench.observation import Cell, Kind
from pytest_plsqlbench.engines.postgres.settings import REPORTED

_KINDS: dict[int, Kind] = {
    16: "bool",
    17: "bytes",
    18: "text",  # "char"
    19: "text",  # name
    20: "int",
    21: "int",
    23: "int",
    25: "text",
    26: "int",  # oid
    114: "json",
    700: "float",
    701: "float",
    1005: "numbers",  # smallint[]
    1007: "numbers",  # integer[]
    1016: "numbers",  # bigint[]
    1042: "text",
    1043: "text",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1231: "numbers",  # numeric[]
    1266: "time",
    1700: "numeric",
    3802: "json",
}
"""pg_type.oid → type family. These numbers never change (src/include/catalog/pg_type.dat)."""

_CURSOR = 1790
_VOID = 2278
_SETTING_BOUND = frozenset(("float", "bytes", "other"))
_REPORTED_BOUND: dict[Kind, frozenset[bytes]] = {
    "date": frozenset((b"DateStyle",)),
    "timestamp": frozenset((b"DateStyle",)),
    "timestamptz": frozenset((b"DateStyle", b"TimeZone")),
    "interval": frozenset((b"IntervalStyle",)),
    "other": frozenset(REPORTED),
}


class Columns:
    """The columns of a result: names and type families."""

    __slots__ = ("cursors", "kinds", "names", "reported_bound", "setting_bound")

    def __init__(self, result: PGresult) -> None:
        names: list[str] = []
        kinds: list[Kind] = []
        cursors: list[int] = []
        setting_bound = False
        reported_bound: frozenset[bytes] = frozenset()
        for at in range(result.nfields):
            oid = result.ftype(at)
            kind = _KINDS.get(oid, "other")
            names.append((result.fname(at) or b"").decode("utf-8", "replace"))
            kinds.append(kind)
            if oid == _CURSOR:
                cursors.append(at)
            elif oid != _VOID:
                setting_bound = setting_bound or kind in _SETTING_BOUND
                reported_bound |= _REPORTED_BOUND.get(kind, frozenset())
        self.names = tuple(names)
        self.kinds = kinds
        self.cursors = cursors
        """Columns that hold names of cursors."""
        self.setting_bound = setting_bound
        """Whether settings that the server does not report change how a value prints."""
        self.reported_bound = reported_bound
        """Settings that it does report and that change that."""

    @property
    def printed(self) -> bool:
        """Whether settings change how a value prints."""
        return self.setting_bound or bool(self.reported_bound)

    def rows(self, result: PGresult, most: int = sys.maxsize) -> tuple[list[tuple[Cell, ...]], int]:
        """The rows as cells, and the number of their bytes; not all of them where these are over ``most``."""
        get = result.get_value
        taken: list[tuple[Cell, ...]] = []
        size = 0
        columns = list(enumerate(self.kinds))
        for row in range(result.ntuples):
            cells: list[Cell] = []
            for column, kind in columns:
                value = get(row, column)
                if value is None:
                    cells.append(None)
                else:
                    size += len(value)
                    if size > most:  # given up: not even made into text
                        return taken, size
                    cells.append((kind, value.decode("utf-8", "replace")))
            taken.append(tuple(cells))
        return taken, size
