"""Finds and removes what dead runs have left on a server."""

from __future__ import annotations

from collections.abc import Callable

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin, drop_user
from pytest_plsqlbench.engines.oracle.facts import NOT_THERE, one_line
from pytest_plsqlbench.engines.oracle.names import CONTROL, PREFIX, keep_name, program_name
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.register import Register
from pytest_plsqlbench.servers.reaped import Reaped


def reap(admin: Admin, *, dry_run: bool = False, data: bool = False, only_run: str | None = None) -> Reaped:
    """Drop users of runs that have no administrating session any more, ending their sessions first.

    Args:
        admin: of the server.
        dry_run: only say what would be dropped.
        data: also the loaded data, its copies and the register; refused while a run is alive.
        only_run: only this run, alive or not (for a run that ends).

    Raises:
        DriverError: the server refuses the dictionary.
    """
    found = Reaped()
    rows = admin.query(
        "SELECT username FROM dba_users WHERE username LIKE :1 ESCAPE '!' ORDER BY username",
        (PREFIX.replace("_", "!_") + "%",),
    )
    living = _living_runs(admin)
    for (name,) in rows:
        user = str(name)
        run = user.removeprefix(PREFIX).split("_", 1)[0].lower()
        if only_run is not None and run != only_run:
            continue
        if only_run is None and run in living:
            found.kept.append(user)
        elif dry_run:
            found.dropped.append(user)
        else:
            _drop(admin, user, found)
    if data and found.kept:
        found.failed.append("the loaded data is kept: a run is alive")
    elif data:
        _drop_data(admin, found, dry_run=dry_run)
    return found


def _living_runs(admin: Admin) -> set[str]:
    """Runs with a session that is not a graded one: the program name says which run, the user whose."""
    prefix = program_name("")
    rows = admin.query(
        "SELECT DISTINCT program FROM v$session WHERE program LIKE :1 AND username NOT LIKE :2 ESCAPE '!'",
        (prefix + "%", PREFIX.replace("_", "!_") + "%"),
    )
    return {str(program).removeprefix(prefix) for (program,) in rows} - {admin.run_id}


def _drop(admin: Admin, user: str, found: Reaped) -> None:
    _try(lambda: drop_user(admin, user), user, found)


def _try(action: Callable[[], bool], what: str, found: Reaped) -> None:
    try:
        done = action()
    except DriverError as error:
        if error.session_dead:
            raise
        found.failed.append(f"{what}: {one_line(error)}")
    else:
        (found.dropped if done else found.failed).append(what if done else f"{what}: its sessions do not end")


def _drop_data(admin: Admin, found: Reaped, *, dry_run: bool) -> None:
    register = Register(admin, "")
    try:
        entries = register.entries()
    except DriverError as error:
        if error.code in NOT_THERE:
            return
        raise
    owners = [user for entry in entries for user in (keep_name(entry.owner), entry.owner)]
    present = [user for user in owners if admin.query("SELECT 1 FROM dba_users WHERE username = :1", (user,))]
    if dry_run:
        found.dropped += [*present, CONTROL]
        return
    for user in present:
        _drop(admin, user, found)
    for entry in entries:
        admin.tolerate(sql.drop_gate(entry.owner), NOT_THERE)
        register.remove(entry.owner)
    if not found.failed:
        _drop(admin, CONTROL, found)
