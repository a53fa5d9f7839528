"""``plsqlbench run``: play a script on a fresh lane, for people who debug a task or a program."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.bench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_plsqlbench.bench.database import Database
    from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic
    from pytest_plsqlbench.engines.protocol import Played

FAILED = 1
UNSUPPORTED = 3

_HELP = """Play a PostgreSQL script on a fresh lane and undo all it did.

Standard output gets exactly the lines that the script prints (RAISE NOTICE and RAISE INFO), only that a
terminal is shown control characters as escapes; diagnostics go to standard error. Exit code 0: it ran; 1: it
failed; 3: the engine does not support it.
"""


@click.command("run", help=_HELP)
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--engine", type=click.Choice(["postgres"]), required=True, help="Which engine plays it.")
@click.option("--database", "name", metavar="NAME", help="Database to play it on (default: an empty one).")
@click.option(
    "--postgres",
    "spec",
    metavar="embedded|DSN",
    default=lambda: os.environ.get("PLSQLBENCH_POSTGRES", "embedded"),
    help="PostgreSQL server (default: $PLSQLBENCH_POSTGRES, else embedded).",
)
@click.option(
    "--timeout",
    "seconds",
    type=click.FloatRange(min=0.1, max=86_400),
    default=60.0,
    show_default=True,
    help="Time limit in seconds.",
)
def command(file: Path, engine: str, name: str | None, spec: str, seconds: float) -> None:
    """Play FILE and exit with what became of it."""
    if not math.isfinite(seconds):
        raise UserError("--timeout: nan is not a number of seconds")
    del engine  # there is one so far
    from pytest_plsqlbench.engines.protocol import EngineError, UnsupportedError  # noqa: PLC0415

    text = _read(file)
    database = _database(name, file)
    try:
        played = _play(text, database, spec, seconds)
    except UnsupportedError as error:
        click.echo(visible(f"{file}: unsupported: {error}", keep=""), err=True)
        sys.exit(UNSUPPORTED)
    except EngineError as error:
        raise UserError(str(error)) from None
    shown = played.programs[0]
    exact = not sys.stdout.isatty()  # files and pipes get what was printed, escapes and all
    try:
        for line in shown.lines:
            click.echo(line if exact else visible(line), color=True)
    except OSError as error:
        raise UserError(f"cannot write the output: {error.strerror}") from None
    for message in _messages(shown, str(file)):
        click.echo(visible(message), err=True)
    sys.exit(FAILED if shown.error or shown.limit or shown.lost else 0)


def _read(file: Path) -> str:
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UserError(f"{file}:{line}: this is not UTF-8 text") from None


def _database(name: str | None, file: Path) -> Database | None:
    if name is None:
        return None
    from pytest_plsqlbench.datasets.fixtures.databases import database  # noqa: PLC0415

    return database(name, Path.cwd() / "-" if str(file) == "-" else file, "postgres")


def _play(text: str, database: Database | None, spec: str, seconds: float) -> Played:
    from pytest_plsqlbench.engines.postgres.engine import PostgresEngine  # noqa: PLC0415
    from pytest_plsqlbench.engines.protocol import Limits, Play  # noqa: PLC0415
    from pytest_plsqlbench.servers.postgres import start_postgres  # noqa: PLC0415

    with start_postgres(spec) as server:
        engine = PostgresEngine(server.address)
        try:
            play = Play("reference", (text,), (), database, Limits(time=seconds))
            return engine.lane("run").play(play)
        finally:
            engine.close()


def _messages(shown: CallObservation, file: str) -> Iterator[str]:
    for diagnostic in shown.diagnostics:
        yield _message(diagnostic, file)
    if shown.error is not None:
        yield _message(shown.error, file)
    if shown.limit is not None:
        yield f"{file}: error: stopped by the {shown.limit.replace('_', ' ')}"
    elif shown.lost:
        yield f"{file}: error: the session was lost while it ran"


def _message(diagnostic: Diagnostic, file: str) -> str:
    place = ":".join(str(part) for part in (file, diagnostic.line, diagnostic.column) if part is not None)
    text = f"{place}: {diagnostic.severity}: {diagnostic.code}: {diagnostic.message}"
    for label, more in (
        ("detail", diagnostic.detail),
        ("hint", diagnostic.hint),
        ("where", diagnostic.where),
    ):
        if more:
            indented = more.replace("\n", "\n    ")
            text += f"\n  {label}: {indented}"
    return text
