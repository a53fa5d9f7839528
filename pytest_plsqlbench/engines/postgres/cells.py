"""Results of the wire protocol as typed cells; the driver converts nothing."""

from __future__ import annotations

from psycopg.pq.abc import PGresult

from pytest_plsqlbench.bench.observation import Cell, Kind

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
    1042: "text",
    1043: "text",
    1082: "date",
    1083: "time",
    1114: "timestamp",
    1184: "timestamptz",
    1186: "interval",
    1266: "time",
    1700: "numeric",
    3802: "json",
}
"""pg_type.oid → type family. These numbers never change (src/include/catalog/pg_type.dat)."""

REFCURSOR = 1790


def columns(result: PGresult) -> tuple[str, ...]:
    """Names of the columns."""
    return tuple((result.fname(at) or b"").decode("utf-8", "replace") for at in range(result.nfields))


def kinds(result: PGresult) -> list[Kind]:
    """Type families of the columns."""
    return [_KINDS.get(result.ftype(at), "other") for at in range(result.nfields)]


def rows(result: PGresult, families: list[Kind]) -> list[tuple[Cell, ...]]:
    """The rows as cells."""
    get = result.get_value
    taken: list[tuple[Cell, ...]] = []
    for row in range(result.ntuples):
        cells: list[Cell] = []
        for column, kind in enumerate(families):
            value = get(row, column)
            cells.append(None if value is None else (kind, value.decode("utf-8", "replace")))
        taken.append(tuple(cells))
    return taken


def size(taken: list[tuple[Cell, ...]]) -> int:
    """Characters of all values."""
    return sum(len(cell[1]) for row in taken for cell in row if cell is not None)
