"""Settings that decide what programs show, and that only a superuser may set: for a role, as it logs in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.servers.naming import literal

if TYPE_CHECKING:
    import psycopg

_WANTED = {
    "plpgsql.variable_conflict": "error",
    "session_replication_role": "origin",
    "lc_messages": "C",
}
_ENGLISH = ("C", "POSIX", "en")
"""How locales begin in which the server's messages are the untranslated ones."""
_IN_FORCE = """SELECT coalesce(
  (SELECT pg_catalog.substr(s.entry, pg_catalog.length({name}) + 2)
   FROM pg_catalog.pg_db_role_setting r, LATERAL pg_catalog.unnest(r.setconfig) AS s(entry)
   WHERE r.setrole = 0 AND r.setdatabase = 0 AND pg_catalog.starts_with(s.entry, {name} || '=')),
  pg_catalog.current_setting({name}, true))"""
"""As it is for a new role in a new database: what ALTER ROLE ALL says, else the server's value."""


def pinning(role: str) -> list[str]:
    """Statements by which a superuser has sessions of a role begin with these settings.

    Args:
        role: its name, quoted.
    """
    return [f"ALTER ROLE {role} SET {name} = {literal(value)}" for name, value in _WANTED.items()]


def deviations(connection: psycopg.Connection[tuple[Any, ...]]) -> tuple[str, ...]:
    """``name = value`` of those that are otherwise for a role that nobody has set them for.

    Args:
        connection: of such a role, or else of whoever can connect.
    """
    found = []
    for name, wanted in _WANTED.items():
        row = connection.execute(_IN_FORCE.format(name=literal(name)).encode()).fetchone()
        value = str((row and row[0]) or wanted)
        if value != wanted and not (name == "lc_messages" and value.startswith(_ENGLISH)):
            found.append(f"{name} = {value}")
    return tuple(found)
