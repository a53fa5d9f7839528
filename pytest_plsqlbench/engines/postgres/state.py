"""Reading table state: which tables differ from the loaded ones, their rows, and the objects beside them.

Nothing here trusts what a program may have created: every name is qualified, the search path holds
``pg_catalog`` alone, and values print under pinned settings. Graded sides own no table of the data, so its
structure is that of the template.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.observation import Cell, TableState
from pytest_plsqlbench.engines.postgres import cells
from pytest_plsqlbench.engines.postgres.names import literal, quoted
from pytest_plsqlbench.engines.postgres.session import Session
from pytest_plsqlbench.engines.postgres.settings import pin

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

    from pytest_plsqlbench.engines.postgres.budget import Budget

_NUMERIC = "1700"
_CATALOG = ("pg_catalog",)
_SYSTEM = "('pg_catalog', 'information_schema', 'pg_toast')"
_TABLES = """
SELECT c.oid::pg_catalog.int8, n.nspname, c.relname, c.relkind,
  pg_catalog.quote_ident(a.attname), a.atttypid::pg_catalog.int8
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname = ANY ({schemas})
ORDER BY n.nspname, c.relname, a.attnum"""
_OBJECTS = f"""
SELECT CASE c.relkind WHEN 'S' THEN 'sequence ' WHEN 'v' THEN 'view ' WHEN 'm' THEN 'materialized view '
    ELSE 'table ' END || pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)
  || CASE WHEN c.relkind = 'S' THEN CASE WHEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT')
      THEN ' = ' || coalesce(pg_catalog.pg_sequence_last_value(c.oid)::pg_catalog.text, 'unused') ELSE '' END
    ELSE '(' || coalesce((SELECT pg_catalog.string_agg(pg_catalog.quote_ident(a.attname) || ' '
        || pg_catalog.format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
      FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '')
      || ')' END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'S', 'v', 'm', 'f') AND n.nspname NOT IN {_SYSTEM}
  AND c.relpersistence <> 't'
ORDER BY 1"""


_WRITTEN = """
SELECT c.oid::pg_catalog.int8, pg_catalog.concat(pg_catalog.pg_relation_filenode(c.oid), ' ',
  pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid), ' ', pg_catalog.pg_stat_get_xact_tuples_updated(c.oid),
  ' ', pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid))
FROM pg_catalog.pg_class c
WHERE c.oid = ANY (ARRAY[{oids}]::pg_catalog.oid[]) AND c.relkind = 'r'
  AND pg_catalog.current_setting('track_counts') = 'on'"""

Written = dict[str, str]
"""Object identifier of a table → how much was written to it."""

LOCKED = TableState("(a table is locked by an open transaction)", (), ())
"""In place of the state between two calls, where a program keeps others from reading."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the data."""

    oid: str
    schema: str
    name: str
    source: str
    """How a query names it."""
    columns: tuple[str, ...]
    """Quoted."""
    row: str
    """An expression for a row of the source ``r``, numbers without trailing zeros."""

    @property
    def label(self) -> str:
        """``schema.table``."""
        return f"{self.schema}.{self.name}"


@dataclass(slots=True)
class Baseline:
    """The loaded state."""

    tables: tuple[Table, ...]
    digests: tuple[str, ...] = ()
    objects: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Watch:
    """The loaded state, and what the session had written when its transaction began."""

    base: Baseline
    since: Written | None = None


def baseline(session: Session, schemas: tuple[str, ...], budget: Budget) -> Baseline:
    """Read the loaded state, before any program has run."""
    names = ", ".join(literal(schema) for schema in schemas)
    query = _TABLES.format(schemas=f"ARRAY[{names}]::pg_catalog.text[]")
    session.control(_begin(), budget)
    try:
        tables = _tables(_rows(session.control(query, budget)[-1]))
        digests = _digests(session, tables, budget)
        objects = _objects(session, budget)
    finally:
        session.control("ROLLBACK", budget)
    return Baseline(tables, digests, objects)


def _begin() -> str:
    return f"BEGIN; {pin(_CATALOG)}"


def written(session: Session, base: Baseline, budget: Budget) -> Written:
    """How much this session has written to each table so far; to be compared within one transaction.

    Equal values mean that the table was not written in between: the server counts each row that a session
    writes, undone or not, and a TRUNCATE gives the table another file. Partitioned tables have no value, nor
    has any table where the server does not count.
    """
    if not base.tables:
        return {}
    oids = ", ".join(table.oid for table in base.tables)
    return {row[0]: row[1] for row in _rows(session.control(_WRITTEN.format(oids=oids), budget)[-1])}


def read_state(
    session: Session, base: Baseline, budget: Budget, since: Written | None = None
) -> tuple[TableState, ...]:
    """Tables that differ from the loaded ones, sorted by name. The session is pinned to ``pg_catalog``.

    Args:
        session: reads them.
        base: the loaded state.
        budget: for the harness' own statements.
        since: what ``written`` returned in this transaction while all tables were as loaded; tables that
            were not written since are not read.
    """
    if since is None:
        read = list(enumerate(base.tables))
    else:
        now = written(session, base, budget)
        read = [
            (at, table)
            for at, table in enumerate(base.tables)
            if table.oid not in since or since[table.oid] != now.get(table.oid)
        ]
    digests = _digests(session, tuple(table for _, table in read), budget)
    states = [
        _content(session, table, budget)
        for (at, table), digest in zip(read, digests, strict=True)
        if digest != base.digests[at]
    ]
    return tuple(sorted(states, key=lambda state: state.name))


def read_objects(session: Session, base: Baseline, budget: Budget) -> tuple[str, ...]:
    """New, dropped and altered tables, views, sequences: ``+ …`` for what is there, ``- …`` for what was."""
    now = _objects(session, budget)
    return tuple(
        sorted([f"+ {name}" for name in now - base.objects] + [f"- {name}" for name in base.objects - now])
    )


def pinned() -> str:
    """What must be run in a transaction before state is read in it."""
    return pin(_CATALOG)


def _objects(session: Session, budget: Budget) -> frozenset[str]:
    return frozenset(row[0] for row in _rows(session.control(_OBJECTS, budget)[-1]))


def _tables(rows: list[list[str]]) -> tuple[Table, ...]:
    tables = []
    for (oid, schema, name, kind), group in groupby(rows, key=lambda row: tuple(row[:4])):
        columns = [row for row in group if row[4]]
        source = f"{quoted(schema)}.{quoted(name)}"
        tables.append(
            Table(
                oid,
                schema,
                name,
                source if kind == "p" else f"ONLY {source}",
                tuple(row[4] for row in columns),
                f"ROW({', '.join(_value(row[4], row[5]) for row in columns)})",
            )
        )
    return tuple(tables)


def _value(column: str, oid: str) -> str:
    return f"pg_catalog.trim_scale(r.{column})" if oid == _NUMERIC else f"r.{column}"


def _digests(session: Session, tables: tuple[Table, ...], budget: Budget) -> tuple[str, ...]:
    """For each table the number of its rows and two sums over the rows' hashes: equal bags, equal digests."""
    if not tables:
        return ()
    query = " UNION ALL ".join(f"({_digest(table)})" for table in tables)
    return tuple(row[0] for row in _rows(session.control(query, budget)[-1]))


def _digest(table: Table) -> str:
    sums = ", ' ', ".join(
        f"pg_catalog.sum(pg_catalog.hashtextextended({table.row}::pg_catalog.text, {seed}))"
        for seed in (0, 1)
    )
    return f"SELECT pg_catalog.concat(pg_catalog.count(*), ' ', {sums}) AS digest FROM {table.source} AS r"


def _content(session: Session, table: Table, budget: Budget) -> TableState:
    most = budget.limits.rows
    names = ", ".join(f"r.{column}" for column in table.columns)
    result = session.control(f"SELECT {names} FROM {table.source} AS r LIMIT {most + 1:d}", budget)[-1]
    if result.ntuples > most:  # too large to hold: shown by its digest
        result = session.control(_digest(table), budget)[-1]
    columns = cells.Columns(result)
    return TableState(table.label, columns.names, tuple(sorted(columns.rows(result)[0], key=_text_order)))


def _text_order(row: tuple[Cell, ...]) -> list[tuple[bool, str]]:
    return [(cell is None, "" if cell is None else cell[1]) for cell in row]


def _rows(result: PGresult) -> list[list[str]]:
    return [
        [
            (result.get_value(row, column) or b"").decode("utf-8", "replace")
            for column in range(result.nfields)
        ]
        for row in range(result.ntuples)
    ]
