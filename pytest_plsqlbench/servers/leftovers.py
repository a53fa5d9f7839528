"""What runs leave on a server of the user's: marked while the run lives, dropped when it is provably dead.

The owner role of a run carries, as its comment, who made it: machine, boot, process and its start time. Only
a run of the same machine whose process is gone is swept, together with everything that bears its name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.servers.naming import literal, membership, owner_role, quoted, run_prefix
from pytest_plsqlbench.servers.owner import Owner
from pytest_plsqlbench.servers.reaped import Reaped

if TYPE_CHECKING:
    import psycopg

_OWNER = re.compile(r"plsqlbench_([0-9a-f]{8})_owner")


def mark(connection: psycopg.Connection[tuple[Any, ...]], run_id: str) -> None:
    """Create the run's owner role, with who we are as its comment."""
    role = quoted(owner_role(run_id))
    connection.execute(f"CREATE ROLE {role} NOLOGIN".encode())
    connection.execute(f"COMMENT ON ROLE {role} IS {literal(str(Owner.this_process()))}".encode())
    row = connection.execute(
        "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER"
    ).fetchone()
    if row is not None and not row[0]:
        connection.execute(membership(role, connection.info.server_version).encode())


def dead(mark: str | None) -> bool | None:
    """Whether the process of a mark is gone; None: the mark is of another machine, or none of ours."""
    owner = Owner.parse(mark or "")
    return None if owner is None else owner.is_dead()


def sweep(connection: psycopg.Connection[tuple[Any, ...]]) -> list[str]:
    """Drop what dead runs of this machine left; returns their run ids."""
    import psycopg  # noqa: PLC0415

    swept = []
    for run_id, gone in _runs(connection):
        if gone:
            try:
                drop_run(connection, run_id)
            except psycopg.Error:
                continue  # of another user of this machine: not ours to drop
            swept.append(run_id)
    return swept


def reap(
    connection: psycopg.Connection[tuple[Any, ...]], *, foreign: bool = False, dry_run: bool = False
) -> Reaped:
    """As ``sweep``, telling what was found.

    Args:
        connection: of an administrator, in autocommit mode.
        foreign: also what runs of other machines have left, of which nobody here can say whether they live.
        dry_run: nothing is dropped.

    Raises:
        psycopg.Error: the server is lost, or refuses its catalog.
    """
    import psycopg  # noqa: PLC0415

    found = Reaped()
    for run_id, gone in _runs(connection):
        name = f"{run_prefix(run_id)}*"
        if gone is False:
            found.kept.append(name)
        elif gone is None and not foreign:
            found.unknown.append(name)
        else:
            databases, roles = _belongings(connection, run_id)
            try:
                if not dry_run:
                    drop_run(connection, run_id)
            except psycopg.Error as error:
                if connection.closed:
                    raise
                found.failed.append(f"{name}: {str(error).splitlines()[0]}")
            else:
                found.dropped += [f"database {database}" for database in databases]
                found.dropped += [f"role {role}" for role in roles]
    return found


def drop_run(connection: psycopg.Connection[tuple[Any, ...]], run_id: str) -> None:
    """Drop all databases, then all roles of a run, the owner role last."""
    databases, roles = _belongings(connection, run_id)
    for name in databases:
        connection.execute(f"DROP DATABASE IF EXISTS {quoted(name)} WITH (FORCE)".encode())
    for name in roles:
        connection.execute(f"DROP ROLE IF EXISTS {quoted(name)}".encode())


def _runs(connection: psycopg.Connection[tuple[Any, ...]]) -> list[tuple[str, bool | None]]:
    """Runs that have an owner role here, and whether they are dead."""
    rows = connection.execute(
        "SELECT r.rolname, pg_catalog.shobj_description(r.oid, 'pg_authid') FROM pg_catalog.pg_roles r"
        " WHERE r.rolname LIKE 'plsqlbench\\_%\\_owner' ORDER BY r.rolname"
    ).fetchall()
    found = ((_OWNER.fullmatch(name), comment) for name, comment in rows)
    return [(match[1], dead(comment)) for match, comment in found if match]


def _belongings(connection: psycopg.Connection[tuple[Any, ...]], run_id: str) -> tuple[list[str], list[str]]:
    """Databases and roles of a run; the owner role is last, so that an attempt that failed is found again."""
    like = literal(run_prefix(run_id).replace("_", "\\_") + "%")
    databases = connection.execute(
        f"SELECT datname FROM pg_catalog.pg_database WHERE datname LIKE {like} ORDER BY datname".encode()
    ).fetchall()
    roles = connection.execute(
        f"SELECT rolname FROM pg_catalog.pg_roles WHERE rolname LIKE {like} ORDER BY rolname".encode()
    ).fetchall()
    owner = owner_role(run_id)
    return [row[0] for row in databases], sorted((row[0] for row in roles), key=lambda name: name == owner)
