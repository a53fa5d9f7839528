"""What a lane must know about a loaded database before programs are played on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_plsqlbench.engines.postgres.names import quoted
from pytest_plsqlbench.engines.postgres.settings import pin

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

    from pytest_plsqlbench.engines.postgres.budget import Budget
    from pytest_plsqlbench.engines.postgres.session import Session

_SEQUENCES = """
SELECT s.seqrelid::pg_catalog.int8, n.nspname, c.relname
FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE pg_catalog.has_sequence_privilege(s.seqrelid, 'UPDATE')
  AND pg_catalog.has_sequence_privilege(s.seqrelid, 'SELECT') ORDER BY s.seqrelid"""
_DEFERRABLE = """
SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_constraint WHERE condeferrable)
  OR EXISTS (SELECT 1 FROM pg_catalog.pg_trigger WHERE tgdeferrable)"""
_KEPT = """EXISTS (SELECT 1 FROM pg_catalog.pg_prepared_statement())
  OR EXISTS (SELECT 1 FROM pg_catalog.pg_lock_status() l
    WHERE l.locktype = 'advisory' AND l.pid = pg_catalog.pg_backend_pid())"""


@dataclass(frozen=True, slots=True)
class Sequence:
    """A sequence and where it stands."""

    oid: int
    source: str
    """How a query names it."""
    last: str
    called: str
    """``t`` or ``f``: whether the next value is the one after ``last``."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Of the database as loaded."""

    sequences: tuple[Sequence, ...]
    deferrable: bool
    """It has constraints that may be checked at the end of a transaction."""


def read_facts(session: Session, budget: Budget) -> Facts:
    """Read them from a copy that no program has touched."""
    session.control(f"BEGIN; {pin(('pg_catalog',))}", budget)
    deferrable = has_deferrable(session, budget)
    sequences = read_sequences(session, budget)
    session.control("ROLLBACK", budget)
    return Facts(sequences, deferrable)


def leans_on_session(session: Session, budget: Budget) -> bool:
    """Whether a program that was installed would go on differently outside our transaction, or between tests.

    It left constraints that wait for the end of a transaction, or keeps prepared statements or advisory locks
    in the session, which are taken away between tests.
    """
    return session.control(f"{_DEFERRABLE} OR {_KEPT}", budget)[-1].get_value(0, 0) == b"t"


def has_deferrable(session: Session, budget: Budget) -> bool:
    """Whether any constraint or trigger can wait for the end of a transaction."""
    return session.control(_DEFERRABLE, budget)[-1].get_value(0, 0) == b"t"


def read_sequences(session: Session, budget: Budget) -> tuple[Sequence, ...]:
    """All sequences that the session's role may set. The session is pinned to ``pg_catalog``."""
    found = _texts(session.control(_SEQUENCES, budget)[-1])
    named = [(int(oid), f"{quoted(schema)}.{quoted(name)}") for oid, schema, name in found]
    return read_values(session, named, budget)


def read_values(session: Session, named: list[tuple[int, str]], budget: Budget) -> tuple[Sequence, ...]:
    """Where the given sequences stand."""
    if not named:
        return ()
    query = " UNION ALL ".join(
        f"SELECT {oid}::pg_catalog.int8, last_value, is_called FROM {source}" for oid, source in named
    )
    values = {int(row[0]): row for row in _texts(session.control(query, budget)[-1])}
    return tuple(Sequence(oid, source, values[oid][1], values[oid][2]) for oid, source in named)


def restore(sequences: tuple[Sequence, ...]) -> str:
    """Statements that put sequences back: no rollback does. Empty where there are none."""
    if not sequences:
        return ""
    calls = ", ".join(
        f"pg_catalog.setval({sequence.oid}::pg_catalog.regclass, {sequence.last}, {_bool(sequence.called)})"
        for sequence in sequences
    )
    return f"SELECT {calls}; DISCARD SEQUENCES"


def _bool(text: str) -> str:
    return "true" if text == "t" else "false"


def _texts(result: PGresult) -> list[list[str]]:
    return [
        [(result.get_value(row, at) or b"").decode("utf-8", "replace") for at in range(result.nfields)]
        for row in range(result.ntuples)
    ]
