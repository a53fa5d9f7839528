"""``plsqlbench convert``: published data into dataset folders that can be graded."""

from __future__ import annotations

from pathlib import Path

import click

_SHOWN = 10
"""Findings of a kind that are printed one by one."""


_MANY = frozenset({"--pairs", "--rows"})


class _ManyValues(click.Command):
    """Lets ``--pairs a b`` stand for ``--pairs a --pairs b``, as a shell's ``--pairs *.jsonl`` needs it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each further value."""
        spread: list[str] = []
        option: str | None = None
        for arg in args:
            if arg.startswith("-"):
                option = arg if arg in _MANY else None
            elif option is not None and spread[-1] != option:
                spread.append(option)
            spread.append(arg)
        return super().parse_args(ctx, spread)


@click.group("convert", help="Turn published data into a dataset folder that can be graded.")
def command() -> None:
    """Group of the converters."""


@command.command("spider", cls=_ManyValues)
@click.option(
    "--pairs",
    "pairs",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    metavar="FILE",
    help="Questions with Oracle queries: JSON lines {db_name, question, query}, plain or gzip. One or more.",
)
@click.option(
    "--ddl",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Oracle DDL in order: JSON lines {db_id, table, sql}.",
)
@click.option(
    "--rows",
    "rows",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    metavar="FILE",
    help="Spider's rows, one line a table: {db_id, table, columns, rows}. One or more.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="The folder to write."
)
@click.option("--force", is_flag=True, help="Replace the folder where it is there.")
def spider(*, pairs: tuple[Path, ...], ddl: Path, rows: tuple[Path, ...], out: Path, force: bool) -> None:
    """Turn the Oracle conversion of Spider into a folder in PLSQLBench's layout.

    Only the databases that the pairs name are written. Rows that Oracle's columns do not take are left
    out and reported on standard error.
    """
    from pytest_plsqlbench.bench.plural import numbered  # noqa: PLC0415 (not for --help)
    from pytest_plsqlbench.datasets.spider.convert import convert_spider  # noqa: PLC0415

    done = convert_spider(pairs, ddl, rows, out, force=force)
    for lines in (done.left_out, done.remarks):
        for line in lines[:_SHOWN]:
            click.echo(line, err=True)
        if len(lines) > _SHOWN:
            click.echo(f"… and {len(lines) - _SHOWN} more like these", err=True)
    counts = (numbered(done.tasks, "task"), numbered(done.databases, "database"), numbered(done.rows, "row"))
    left_out = f", {numbered(len(done.left_out), 'row')} left out" if done.left_out else ""
    click.echo(f"{out}: {', '.join(counts)}{left_out}")
