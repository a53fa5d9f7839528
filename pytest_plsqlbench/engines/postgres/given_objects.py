"""Objects that a task's setup has made, and whether a program puts others in their place.

The setup is played by the role of the program, which may therefore replace what it made, drop it, or put
something of the same name before it: tests that call such an object would call the program's. That is seen
here, by definitions as the catalogs hold them; rows of a table are data and may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.pq import TransactionStatus

from pytest_plsqlbench.engines.postgres.names import literal
from pytest_plsqlbench.engines.postgres.settings import pin
from pytest_plsqlbench.engines.postgres.steps import savepoint_name

if TYPE_CHECKING:
    from pytest_plsqlbench.engines.postgres.budget import Budget
    from pytest_plsqlbench.engines.postgres.session import Session

FLAG = "setup_replaced"
"""Flag of a play in which a program has put something in the place of what the setup made."""

Definitions = frozenset[tuple[str, ...]]
"""Kind, schema, name, digest of the definition and row version of each object. The latter also tells of what
was replaced and put back meanwhile."""

_SYSTEM = "('pg_catalog', 'information_schema', 'pg_toast')"
_OBJECTS = """
SELECT 'routine' AS kind, p.pronamespace AS schema, p.proname AS name, p.proowner AS owner,
  (pg_catalog.to_jsonb(p) - 'oid')::pg_catalog.text AS definition, p.ctid::pg_catalog.text AS version
FROM pg_catalog.pg_proc p WHERE p.oid >= 16384
UNION ALL
SELECT 'relation', c.relnamespace, c.relname, c.relowner, pg_catalog.concat(c.relkind, ' ', c.relpersistence,
  ' ', (SELECT pg_catalog.string_agg(pg_catalog.concat(a.attname, ' ', pg_catalog.format_type(a.atttypid,
      a.atttypmod), ' ', a.attnotnull, ' ', a.attgenerated, a.attidentity), ', ' ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  ' ', CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) END),
  (SELECT pg_catalog.string_agg(w.ctid::pg_catalog.text, ' ' ORDER BY w.rulename)
    FROM pg_catalog.pg_rewrite w WHERE w.ev_class = c.oid)
FROM pg_catalog.pg_class c WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
UNION ALL
SELECT 'type', t.typnamespace, t.typname, t.typowner, pg_catalog.concat(t.typtype, ' ', t.typnotnull, ' ',
  t.typdefault, ' ', CASE WHEN t.typbasetype <> 0
    THEN pg_catalog.format_type(t.typbasetype, t.typtypmod) END,
  ' ', (SELECT pg_catalog.string_agg(pg_catalog.quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder)
    FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid),
  ' ', (SELECT pg_catalog.string_agg(pg_catalog.pg_get_constraintdef(k.oid), ', ' ORDER BY k.conname)
    FROM pg_catalog.pg_constraint k WHERE k.contypid = t.oid)), t.ctid::pg_catalog.text
FROM pg_catalog.pg_type t WHERE t.oid >= 16384 AND t.typtype IN ('d', 'e', 'r', 'm')"""
_NAMES = f"""
SELECT DISTINCT o.name FROM ({_OBJECTS}) AS o JOIN pg_catalog.pg_roles r ON r.oid = o.owner
WHERE r.rolname = session_user"""
_DEFINED = f"""
SELECT o.kind, n.nspname, o.name, pg_catalog.md5(o.definition), o.version
FROM ({_OBJECTS}) AS o JOIN pg_catalog.pg_namespace n ON n.oid = o.schema
WHERE n.nspname NOT IN {_SYSTEM} AND o.name = ANY (ARRAY[{{names}}]::pg_catalog.name[])"""


class GivenObjects:
    """What the setup of a task has made, in one database."""

    def __init__(self, names: list[str], definitions: Definitions) -> None:
        self._names = names
        self._made = _without_version(definitions)
        self._standing = definitions

    @classmethod
    def read(cls, session: Session, budget: Budget) -> GivenObjects:
        """Read them when nothing but the setup was played.

        Raises:
            ControlError: they cannot be read.
            SessionGoneError: the session is gone.
        """
        names = [row[0] for row in _query(session, _NAMES, budget) or ()]
        return cls(names, _definitions(session, names, budget) or frozenset())

    def settle(self, session: Session, budget: Budget) -> bool:
        """Whether programs, now that all of them are installed, have put anything in the place of these.

        To define something again as it is, is no replacement.

        Raises:
            ControlError: they cannot be read.
            SessionGoneError: the session is gone.
        """
        now = _definitions(session, self._names, budget)
        if now is None:
            return False
        self._standing = now
        return _without_version(now) != self._made

    def replaced(self, session: Session, budget: Budget) -> bool:
        """Whether a test that was just played has touched any of these, as the session sees it.

        In a transaction that has failed nothing can be read, and nothing of it lasts: False.

        Raises:
            ControlError: they cannot be read.
            SessionGoneError: the session is gone.
        """
        now = _definitions(session, self._names, budget)
        return now is not None and now != self._standing


def _definitions(session: Session, names: list[str], budget: Budget) -> Definitions | None:
    if not names:
        return None
    query = _DEFINED.format(names=", ".join(map(literal, names)))
    rows = _query(session, query, budget)
    return None if rows is None else frozenset(tuple(row) for row in rows)


def _without_version(definitions: Definitions) -> Definitions:
    return frozenset(entry[:-1] for entry in definitions)


def _query(session: Session, query: str, budget: Budget) -> list[list[str]] | None:
    """Rows of a query that nothing the program has made can touch; None in a transaction that has failed."""
    pinned = f"{pin(('pg_catalog',))}; SET LOCAL statement_timeout = 0"
    if session.transaction == TransactionStatus.IDLE:
        before, after = f"BEGIN; {pinned}", "ROLLBACK"
    elif session.transaction == TransactionStatus.INTRANS:
        name = savepoint_name()
        before = f"SAVEPOINT {name}; {pinned}"
        after = f"ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}"
    else:
        return None
    result = session.control(f"{before}; {query}; {after}", budget)
    found = next(one for one in reversed(result) if one.nfields)
    return [
        [(found.get_value(row, at) or b"").decode("utf-8", "replace") for at in range(found.nfields)]
        for row in range(found.ntuples)
    ]
