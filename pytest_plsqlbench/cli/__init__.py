"""The ``plsqlbench`` command; each subcommand is a module of this package, imported when it is called."""

from __future__ import annotations

import importlib
import sys

import click

from pytest_plsqlbench.bench.task import UserError

COMMANDS = {
    "convert": "turn published data into a dataset folder that can be graded",
    "doctor": "check on a server of yours what its engine takes for granted",
    "gate": "judge saved results by gates, alone or against a baseline",
    "inspect": "show what a program text holds: units, parameters, constructs, complexity, safety",
    "merge": "join the parts of a run that was divided by --plsql-shard",
    "path": "print where the bundled tasks, fixtures or examples lie",
    "report": "write the HTML report of saved results, and leaderboard entries",
    "reap": "drop what dead runs have left, here or on a server",
    "run": "play a script on a fresh lane and print what it prints",
}
"""Name → one line of help. The command itself is ``cli/<name>.py``, attribute ``command``."""


class LazyGroup(click.Group):
    """Imports a subcommand's module only when that command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, None where there is none."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in sorted(COMMANDS)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="pytest-plsqlbench")
def group() -> None:
    """Tools around pytest-plsqlbench: look at programs, play them, convert data, work with results."""


def main(args: list[str] | None = None) -> None:
    """Entry point: a fault of the user's is one line on standard error and exit code 2."""
    try:
        group.main(args=args, prog_name="plsqlbench", standalone_mode=True)
    except UserError as error:
        click.echo(f"plsqlbench: error: {error}", err=True)
        sys.exit(2)
