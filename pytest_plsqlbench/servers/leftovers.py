"""What runs leave on a server of the user's: marked while the run lives, dropped when it is provably dead.

The owner role of a run carries, as its comment, who made it: machine, boot, process and its start time. Only
a run of the same machine whose process is gone is swept, together with everything that bears its name.
"""

from __future__ import annotations

import json
import os
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.servers.naming import literal, membership, owner_role, quoted, run_prefix

if TYPE_CHECKING:
    import psycopg

_OWNER = re.compile(r"plsqlbench_([0-9a-f]{8})_owner")


def _start_time(pid: int) -> str | None:
    """When a process started, so that no later process of its id looks the same; None: there is none."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return None if Path("/proc/self/stat").exists() else _signal(pid)
    except OSError:
        return "?"
    return status.rpartition(")")[2].split()[19]


def _signal(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return "?"


def _machine() -> str:
    """This machine since its last start."""
    for name in ("/proc/sys/kernel/random/boot_id",):
        try:
            return f"{platform.node()}/{Path(name).read_text().strip()}"
        except OSError:
            continue
    return platform.node()


def _namespace() -> str:
    """The process-id namespace: in another container the same id is another process."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def mark(connection: psycopg.Connection[tuple[Any, ...]], run_id: str) -> None:
    """Create the run's owner role, with who we are as its comment."""
    role = quoted(owner_role(run_id))
    pid = os.getpid()
    mark = json.dumps(
        {"machine": _machine(), "namespace": _namespace(), "pid": pid, "started": _start_time(pid)}
    )
    connection.execute(f"CREATE ROLE {role} NOLOGIN".encode())
    connection.execute(f"COMMENT ON ROLE {role} IS {literal(mark)}".encode())
    row = connection.execute(
        "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER"
    ).fetchone()
    if row is not None and not row[0]:
        connection.execute(membership(role, connection.info.server_version).encode())


def dead(mark: str | None) -> bool:
    """Whether a mark is of this machine and its process is gone."""
    try:
        made = json.loads(mark or "")
        pid = int(made["pid"])
        here = made["machine"] == _machine() and made["namespace"] == _namespace()
    except (ValueError, TypeError, KeyError):
        return False
    return bool(here) and _start_time(pid) != made.get("started")


def sweep(connection: psycopg.Connection[tuple[Any, ...]]) -> list[str]:
    """Drop what dead runs of this machine left; returns their run ids."""
    import psycopg  # noqa: PLC0415

    rows = connection.execute(
        "SELECT r.rolname, pg_catalog.shobj_description(r.oid, 'pg_authid') FROM pg_catalog.pg_roles r"
        " WHERE r.rolname LIKE 'plsqlbench\\_%\\_owner'"
    ).fetchall()
    swept = []
    for name, comment in rows:
        found = _OWNER.fullmatch(name)
        if found and dead(comment):
            try:
                drop_run(connection, found[1])
            except psycopg.Error:
                continue  # of another user of this machine: not ours to drop
            swept.append(found[1])
    return swept


def drop_run(connection: psycopg.Connection[tuple[Any, ...]], run_id: str) -> None:
    """Drop all databases, then all roles of a run, the owner role last."""
    prefix = run_prefix(run_id)
    like = literal(prefix.replace("_", "\\_") + "%")
    databases = connection.execute(
        f"SELECT datname FROM pg_catalog.pg_database WHERE datname LIKE {like}".encode()
    ).fetchall()
    for (name,) in databases:
        connection.execute(f"DROP DATABASE IF EXISTS {quoted(name)} WITH (FORCE)".encode())
    roles = connection.execute(
        f"SELECT rolname FROM pg_catalog.pg_roles WHERE rolname LIKE {like}".encode()
    ).fetchall()
    owner = owner_role(run_id)
    for name in sorted((row[0] for row in roles), key=lambda name: name == owner):
        connection.execute(f"DROP ROLE IF EXISTS {quoted(name)}".encode())
