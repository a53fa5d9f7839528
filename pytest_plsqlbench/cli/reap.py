"""``plsqlbench reap``: removes what dead runs have left, here and on servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import click

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli.doctor import oracle_address
from pytest_plsqlbench.servers.oracle import DSN_VARIABLE, VARIABLE, named_login
from pytest_plsqlbench.servers.reaped import Reaped
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

POSTGRES_VARIABLE = "PLSQLBENCH_POSTGRES"
"""The variable of ``--plsql-postgres``: where it holds a DSN, that server is looked at, too."""
Look = Callable[[], Reaped]


@click.command("reap")
@click.option(
    "--postgres",
    metavar="SERVER",
    help="'embedded': folders and servers on this machine; 'container'; or the DSN of a server.",
)
@click.option("--oracle", metavar="SERVER", help="'container', or the DSN of a server.")
@click.option("--foreign", is_flag=True, help="Also what is of other machines: see that no run lives.")
@click.option("--data", is_flag=True, help="Also drop the data loaded into Oracle, unless a run is alive.")
@click.option("--dry-run", is_flag=True, help="Only say what would be dropped.")
def command(postgres: str | None, oracle: str | None, foreign: bool, data: bool, dry_run: bool) -> None:  # noqa: FBT001
    """Drop what dead runs have left, on this machine or a server.

    Without --postgres and --oracle: on this machine, and on the servers that the environment names.

    One line for each thing that is dropped or kept. Exit 1 where something could not be dropped, 2 where a
    server cannot be reached.
    """
    everywhere = postgres is None and oracle is None
    if everywhere:
        named = os.environ.get(POSTGRES_VARIABLE, "").strip()
        postgres = None if named in {"", "embedded", "container"} else named
    login = (oracle, "--oracle") if oracle not in {None, "container"} else None
    if oracle is None and (everywhere or data):
        login = named_login()
    if data and login is None:
        raise UserError(
            "--data drops what is loaded into an Oracle server that stays: name it, or set"
            f" {VARIABLE} or {DSN_VARIABLE}"
        )
    looks: list[Look] = []
    if everywhere or postgres == "embedded":
        looks.append(lambda: _folders(dry_run=dry_run))
    if everywhere or "container" in {postgres, oracle}:
        looks.append(lambda: _containers(foreign=foreign, dry_run=dry_run, needed=not everywhere))
    if postgres not in {None, "embedded", "container"}:
        dsn = postgres
        looks.append(lambda: _postgres(dsn, foreign=foreign, dry_run=dry_run))
    if login is not None:
        looks.append(lambda: _oracle(*login, data=data, dry_run=dry_run))
    found, errors = _look(looks)
    _tell(found, dry_run=dry_run, everywhere=not errors)
    if errors:
        for error in errors[1:]:
            click.echo(f"plsqlbench: error: {error}", err=True)
        raise errors[0]
    sys.exit(1 if found.failed else 0)


def _look(looks: list[Look]) -> tuple[Reaped, list[UserError]]:
    """Look everywhere, though one place cannot be looked at."""
    found, errors = Reaped(), []
    for look in looks:
        try:
            found.add(look())
        except UserError as error:
            errors.append(error)
    return found, errors


def _tell(found: Reaped, *, dry_run: bool, everywhere: bool) -> None:
    for name in found.dropped:
        click.echo(f"{'would drop' if dry_run else 'dropped'} {name}")
    for name in found.kept:
        click.echo(f"kept {name}: its run is alive")
    for name in found.unknown:
        click.echo(f"kept {name}: its run is of another machine, and may be alive (--foreign drops it)")
    for line in found.failed:
        click.echo(f"failed: {line}", err=True)
    if found == Reaped() and everywhere:  # of what could not be looked at, nothing is known
        click.echo("nothing to drop")


def _folders(*, dry_run: bool) -> Reaped:
    from pytest_plsqlbench.servers.rundir import reap  # noqa: PLC0415

    return reap(dry_run=dry_run)


def _containers(*, foreign: bool, dry_run: bool, needed: bool) -> Reaped:
    from pytest_plsqlbench.servers.container_sweep import reap  # noqa: PLC0415 (heavy)

    try:
        return reap(foreign=foreign, dry_run=dry_run)
    except ServerUnavailableError as error:
        if needed:
            raise
        click.echo(f"containers were not looked for: {error}", err=True)
        return Reaped()


def _postgres(dsn: str, *, foreign: bool, dry_run: bool) -> Reaped:
    from pytest_plsqlbench.servers.dsn import reap  # noqa: PLC0415 (heavy)

    return reap(dsn, foreign=foreign, dry_run=dry_run)


def _oracle(dsn: str, given: str, *, data: bool, dry_run: bool) -> Reaped:
    from pytest_plsqlbench.engines.oracle.engine import default_driver, login_failure, open_admin  # noqa: PLC0415
    from pytest_plsqlbench.engines.oracle.port import DriverError  # noqa: PLC0415 (heavy)
    from pytest_plsqlbench.engines.oracle.reaper import reap  # noqa: PLC0415

    address = oracle_address(dsn, given)
    admin = open_admin(address, default_driver())
    try:
        return reap(admin, dry_run=dry_run, data=data)
    except DriverError as error:
        raise UserError(str(login_failure(error, address.label))) from None
    finally:
        admin.close()
