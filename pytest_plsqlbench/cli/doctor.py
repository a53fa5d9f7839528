"""``plsqlbench doctor``: tries on the user's server what was never run on one of ours."""

from __future__ import annotations

import secrets
import sys

import click

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.oracle import DSN_VARIABLE, VARIABLE, named_login, read_login
from pytest_plsqlbench.servers.oracle_login import check_files

_SIGNS = {True: "holds", False: "DOES NOT HOLD", None: "not tried"}


@click.command("doctor", help="Check on a server of yours everything that its engine takes for granted.")
@click.option(
    "--oracle", "dsn", metavar="DSN", help=f"Oracle server; default: ${VARIABLE}, else ${DSN_VARIABLE}."
)
def command(dsn: str | None) -> None:
    """Print what holds, what does not and what follows; exit 1 where something weighty does not hold."""
    named = (dsn, "--oracle") if dsn else named_login()
    if named is None:
        raise UserError(
            "name an Oracle server by its login (a container is not started for this):"
            f" plsqlbench doctor --oracle DSN, or set {VARIABLE} or {DSN_VARIABLE}"
        )
    sys.exit(1 if _examine(oracle_address(*named)) else 0)


def oracle_address(dsn: str, given: str) -> ServerAddress:
    """The address of an existing server, for a run of its own.

    Args:
        dsn: its login.
        given: where that was given, for messages.

    Raises:
        UserError: it is no login, or a file that it needs is not there.
    """
    login = read_login(dsn, given)
    check_files(login, given=given)
    return ServerAddress(
        dialect="oracle",
        kind="dsn",
        conninfo=login.conninfo,
        label=login.label,
        version="",
        run_id=secrets.token_hex(4),
        superuser=True,
    )


def _examine(address: ServerAddress) -> int:
    """Number of weighty assumptions that do not hold."""
    from pytest_plsqlbench.engines.oracle.assumptions import examine  # noqa: PLC0415 (heavy)
    from pytest_plsqlbench.engines.oracle.bench import Bench  # noqa: PLC0415
    from pytest_plsqlbench.engines.oracle.engine import OracleEngine, open_admin  # noqa: PLC0415
    from pytest_plsqlbench.engines.oracle.facts import one_line  # noqa: PLC0415
    from pytest_plsqlbench.engines.oracle.port import DriverError  # noqa: PLC0415
    from pytest_plsqlbench.engines.protocol import EngineError  # noqa: PLC0415

    bad = 0
    try:
        engine = OracleEngine(address)
        try:
            click.echo(f"{address.label}: {engine.capabilities.banner}")
            for note in engine.header:
                click.echo(f"  {note}")
            bench = Bench(open_admin(address, engine.driver), engine.capabilities)
            try:
                for result in examine(bench):
                    click.echo(f"{_SIGNS[result.holds]:>13}  {result.assumption.name}: {result.seen}")
                    if result.holds is not True:
                        click.echo(f"{'':>13}  {result.assumption.claim}")
                        click.echo(f"{'':>13}  → {result.assumption.otherwise}")
                        bad += result.assumption.weight != "comfort"
            finally:
                bench.close()
                bench.admin.close()
        finally:
            engine.close()
    except EngineError as error:
        raise UserError(str(error)) from None
    except DriverError as error:
        raise UserError(f"the Oracle server {address.label} was lost: {one_line(error)}") from None
    click.echo("everything weighty holds" if not bad else f"{bad} weighty assumptions do not hold")
    return bad
