"""``plsqlbench reap``: removes what dead runs have left on a server."""

from __future__ import annotations

import os
import sys

import click

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli.doctor import oracle_address
from pytest_plsqlbench.servers.oracle import DSN_VARIABLE


@click.command("reap", help="Drop users and sessions that dead runs have left on a server.")
@click.option("--oracle", "dsn", metavar="DSN", help=f"Oracle server; default: ${DSN_VARIABLE}.")
@click.option("--data", is_flag=True, help="Also drop the loaded data, unless a run is alive.")
@click.option("--dry-run", is_flag=True, help="Only say what would be dropped.")
def command(dsn: str | None, data: bool, dry_run: bool) -> None:  # noqa: FBT001 (click passes flags so)
    """Print one line a user; exit 1 where something could not be dropped."""
    from pytest_plsqlbench.engines.oracle.engine import default_driver, login_failure, open_admin  # noqa: PLC0415
    from pytest_plsqlbench.engines.oracle.port import DriverError  # noqa: PLC0415 (heavy)
    from pytest_plsqlbench.engines.oracle.reaper import reap  # noqa: PLC0415

    text = dsn or os.environ.get(DSN_VARIABLE)
    if not text:
        raise UserError(f"name an Oracle server: plsqlbench reap --oracle DSN, or set {DSN_VARIABLE}")
    admin = open_admin(oracle_address(text), default_driver())
    try:
        found = reap(admin, dry_run=dry_run, data=data)
    except DriverError as error:
        raise UserError(str(login_failure(error))) from None
    finally:
        admin.close()
    for name in found.dropped:
        click.echo(f"{'would drop' if dry_run else 'dropped'} {name}")
    for name in found.kept:
        click.echo(f"kept {name}: its run is alive")
    for line in found.failed:
        click.echo(f"failed: {line}", err=True)
    if not (found.dropped or found.kept or found.failed):
        click.echo("nothing to drop")
    sys.exit(1 if found.failed else 0)
