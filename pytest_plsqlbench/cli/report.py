"""``plsqlbench report``: a page from saved results, and entries for the benchmark's leaderboard."""

from __future__ import annotations

from pathlib import Path

import click

from pytest_plsqlbench.cli.judging import WAY, Asked, judging_options

PAGE = "report.html"


@click.command(
    "report",
    help="Write the HTML report of saved results; of several runs, with a leaderboard."
    " Gates and baseline are for the first of them.",
)
@click.argument("results", nargs=-1, required=True, metavar="DIR_OR_FILE...", type=click.Path(path_type=Path))
@click.option(
    "--out",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"The page. Default: {PAGE} beside the results of one run, in this folder for several.",
)
@judging_options
@click.option(
    "--leaderboard-json",
    "entries",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write an entry of each run in the schema of the PLSQLBench site, too.",
)
@click.option("--organization", default="", help="Of the entries: who made the models.")
@click.option("--category", default="", help="Of the entries: for example Open-weight or Proprietary.")
@click.option("--link", default="", metavar="URL", help="Of the entries.")
@click.option(
    "--date",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
    help="Of the entries. Default: today in UTC.",
)
def command(
    results: tuple[Path, ...],
    out: Path | None,
    asked: Asked,
    entries: Path | None,
    organization: str,
    category: str,
    link: str,
    date: object,
) -> None:
    """Read results, write the page, and say where it is.

    Each argument is a report folder, or the results.jsonl in it. Gates and baseline are for the first run;
    without --gate the page shows what the run's own gates said.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 (not for --help)

    from pytest_plsqlbench.bench.plural import grouped, numbered  # noqa: PLC0415
    from pytest_plsqlbench.reporting.leaderboard import encode_entries, entry, shortfalls  # noqa: PLC0415
    from pytest_plsqlbench.reporting.page.render import judge_saved, write_report  # noqa: PLC0415
    from pytest_plsqlbench.reporting.page.source import distinct, read_run  # noqa: PLC0415
    from pytest_plsqlbench.reporting.store import write_atomically  # noqa: PLC0415

    runs = distinct([read_run(path, assume_complete=asked.assume_complete) for path in results])
    judged = judge_saved(
        runs[0],
        gates=asked.gates,
        files=asked.files,
        baseline=asked.baseline,
        common=asked.common,
        way=WAY,
    )
    target = out or (runs[0].path.parent / PAGE if len(runs) == 1 else Path(PAGE))
    size = write_report(target, runs, judged)
    turns = sum(len(run.results) for run in runs)
    click.echo(f"{target}: {grouped(turns, 'turn')} of {numbered(len(runs), 'run')}, {size / 1e6:.1f} MB")
    if entries is not None:
        day = date if isinstance(date, datetime) else datetime.now(UTC)
        written = [
            entry(
                run.label,
                run.summary,
                date=day.date().isoformat(),
                organization=organization,
                category=category,
                link=link,
            )
            for run in runs
        ]
        write_atomically(entries, encode_entries(written))
        click.echo(f"{entries}: {numbered(len(written), 'leaderboard entry', 'leaderboard entries')}")
        for run in runs:
            for line in shortfalls(run.label, run.summary):
                click.echo(f"note: {line}")
