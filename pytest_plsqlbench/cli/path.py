"""``plsqlbench path``: where the bundled data lies."""

from __future__ import annotations

import click

from pytest_plsqlbench.datasets.bundled import bundled_path


@click.command("path", help="Print where the bundled tasks, fixtures or example predictions lie.")
@click.argument("what", type=click.Choice(["tasks", "fixtures", "examples"]))
def command(what: str) -> None:
    """Print one absolute path on standard output."""
    click.echo(bundled_path(what))
