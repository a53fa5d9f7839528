"""What no rollback undoes, as queries: one row, a column for each kind of stain.

An administrator runs them in a lane's database. Its search path is ``pg_catalog`` alone, and nothing is
called or read that a graded role could have made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.engines.postgres.names import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_plsqlbench.engines.postgres import facts

CHUNK = 4
"""Blocks of a table that are read at a time."""
MOST_CHUNKS = 256
"""Of a database; larger ones are sampled, evenly."""
_END = 4_294_967_294
"""The last block that a table can have."""

_DATABASE, _ROLE = 1262, 1260
"""pg_database and pg_authid in pg_class; these numbers never change (src/include/catalog)."""


def role_parts(roles: Sequence[int]) -> dict[str, str]:
    """Stains on roles, wherever in the cluster: they do not go with a copy.

    Whatever a role owns, in any database, it is named as the owner in ``pg_shdepend``: one look at an index.
    """
    oids = ", ".join(str(oid) for oid in roles)
    return {
        "objects of its roles": "SELECT pg_catalog.count(*) FROM pg_catalog.pg_shdepend"
        f" WHERE refclassid = {_ROLE} AND refobjid IN ({oids})"
        f" AND NOT (classid = {_DATABASE} AND deptype = 'a')",
        "settings of its roles": "SELECT pg_catalog.string_agg(pg_catalog.concat(setdatabase, ' ', setrole,"
        " ' ', setconfig), '; ' ORDER BY setrole, setdatabase) FROM pg_catalog.pg_db_role_setting"
        f" WHERE setrole IN ({oids})",
        "memberships of its roles": "SELECT pg_catalog.string_agg(pg_catalog.concat(roleid, ' ', member),"
        " '; ' ORDER BY roleid, member) FROM pg_catalog.pg_auth_members"
        f" WHERE member IN ({oids}) OR roleid IN ({oids})",
        "attributes of its roles": "SELECT pg_catalog.string_agg(pg_catalog.concat(rolname, rolsuper,"
        " rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit,"
        f" rolvaliduntil), '; ' ORDER BY oid) FROM pg_catalog.pg_roles WHERE oid IN ({oids})",
    }


def database_parts(oid: int, sequences: Iterable[facts.Sequence]) -> dict[str, str]:
    """Stains on a database that are cheap to see."""
    parts = {
        "the database": "SELECT concat(datacl, datdba, datallowconn, datconnlimit)"
        f" FROM pg_database WHERE oid = {oid}",
        "settings of the database": "SELECT count(*) FROM pg_db_role_setting"
        f" WHERE setdatabase = {oid} AND setrole = 0",
        "prepared transactions": f"SELECT count(*) FROM pg_prepared_xact() WHERE dbid = {oid}",
        "large objects": "SELECT count(*) FROM pg_largeobject_metadata",
        "event triggers": "SELECT count(*) FROM pg_event_trigger",
        "triggers": "SELECT concat(count(*), ' ', sum(oid::int8)) FROM pg_trigger WHERE oid >= 16384",
    }
    for sequence in sequences:
        parts[f"the sequence {sequence.source}"] = (
            f"SELECT concat(last_value, ' ', is_called) FROM {sequence.source}"
        )
    return parts


def signs(oid: int, sequences: Iterable[facts.Sequence], *, two_phase: bool) -> str:
    """A query for what changes whenever a stain comes to be, where the server notes commits.

    A stain is committed by somebody, or is the place of a sequence, or a transaction that was prepared. The
    first column is the number of sessions in the database.
    """
    columns = [backends(oid), "c.xid", "c.timestamp"]
    if two_phase:
        columns.append("(SELECT count(*) FROM pg_prepared_xact())")
    columns += [f"(SELECT concat(last_value, is_called) FROM {sequence.source})" for sequence in sequences]
    return f"SELECT {', '.join(columns)} FROM pg_last_committed_xact() c"


def backends(oid: int) -> str:
    """An expression for the number of sessions in a database."""
    return f"pg_stat_get_db_numbackends({oid})"


def row_of(parts: Mapping[str, str]) -> str:
    """All parts as columns."""
    return ", ".join(f"({part})" for part in parts.values())


CATALOGS = """
SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r'
  AND NOT relisshared AND relname NOT IN ('pg_statistic', 'pg_statistic_ext_data')
  AND has_table_privilege(oid, 'SELECT') ORDER BY relname"""
"""Catalogs of a database that the administrator may read, but for those that ANALYZE fills."""


def catalog_parts(oid: int, catalogs: Iterable[str]) -> dict[str, str]:
    """Stains that take milliseconds to see: every row of every catalog, locks, replication."""
    parts = {
        "locks": f"SELECT count(*) FROM pg_locks WHERE database = {oid} AND pid <> pg_backend_pid()"
        " AND (locktype = 'advisory' OR mode <> 'AccessShareLock')",
        "replication slots": f"SELECT count(*) FROM pg_replication_slots WHERE datoid = {oid}",
    }
    for name in catalogs:
        parts[f"the catalog {name}"] = f"SELECT {_BAG} FROM {name}"
    return parts


_BAG = "concat(count(*), ' ', sum(hashtid(ctid)::int8))"
"""A row that was changed lies elsewhere: the places of all rows that can be seen are their digest."""


def tables(schemas: Iterable[str]) -> str:
    """A query for the tables of the data: how a query names them, and their blocks."""
    names = ", ".join(literal(schema) for schema in schemas)
    return (
        "SELECT concat(quote_ident(n.nspname), '.', quote_ident(c.relname)), pg_relation_size(c.oid)"
        " / current_setting('block_size')::int8 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        f" WHERE c.relkind = 'r' AND n.nspname = ANY (ARRAY[{names}]::name[]) ORDER BY n.nspname, c.relname"
    )


def chunk_query(table: str) -> str:
    """A query for the digest of a part of a table, from one place (included) to another."""
    return f"SELECT {_BAG} FROM ONLY {table} WHERE ctid >= $1::tid AND ctid < $2::tid"


def chunks(sizes: Sequence[tuple[str, int]]) -> tuple[tuple[str, bytes, bytes], ...]:
    """The parts of tables that are looked at: all, or evenly spaced ones where there are many.

    Args:
        sizes: tables and their blocks.
    """
    whole = sum(max(1, -(-blocks // CHUNK)) for _, blocks in sizes)
    step = CHUNK * max(1, -(-whole // MOST_CHUNKS))
    found: list[tuple[str, bytes, bytes]] = []
    for table, blocks in sizes:
        starts = range(0, max(1, blocks), step)
        for start in starts:
            end = _END if start == starts[-1] else start + CHUNK
            found.append((table, b"(%d,0)" % start, b"(%d,0)" % end))
    return tuple(found)
