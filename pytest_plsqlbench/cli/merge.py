"""``plsqlbench merge``: the parts of a run that was divided by ``--plsql-shard`` into one."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("merge", help="Join the parts of a run that was divided by --plsql-shard.")
@click.argument("parts", nargs=-1, required=True, metavar="DIR_OR_FILE...", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where results.jsonl, summary.json, report.html and run.json of the whole run go.",
)
def command(parts: tuple[Path, ...], out: Path) -> None:
    """Check that the parts are one complete run, join them, and show the summary.

    Each argument is the report folder of a part (or its results.jsonl), or a folder with such folders below.
    """
    from pytest_plsqlbench.bench.plural import numbered  # noqa: PLC0415 (not for --help)
    from pytest_plsqlbench.reporting.merge import merge  # noqa: PLC0415
    from pytest_plsqlbench.reporting.page.render import Judged, write_page  # noqa: PLC0415
    from pytest_plsqlbench.reporting.parts import find_parts  # noqa: PLC0415
    from pytest_plsqlbench.reporting.stepsummary import append_step_summary, step_summary  # noqa: PLC0415
    from pytest_plsqlbench.reporting.terminal import summary_lines, summary_title  # noqa: PLC0415

    folders = find_parts(parts, out)
    joined, results, summary = merge(folders, out)
    turns = joined.run.turns
    trouble = write_page(out, results, summary, collected=turns, judged=Judged()) if results else None
    names = [
        "results.jsonl",
        "summary.json",
        *(["report.html"] if results and not trouble else []),
        "run.json",
    ]
    click.echo(f"merged {numbered(len(folders), 'part')} of {joined.predictions}")
    click.echo(summary_title(summary))
    for line in summary_lines(
        summary,
        collected=turns,
        left_out=joined.run.left_out,
        files=f"{out / names[0]}, {', '.join(names[1:-1])} and {names[-1]} beside it",
    ):
        click.echo(line)
    if trouble:
        click.echo(f"plsqlbench: {trouble}", err=True)
    text = step_summary(
        summary,
        title=f"merge of {joined.predictions}",
        collected=turns,
        left_out=joined.run.left_out,
        files=[str(out / name) for name in names[:-1]],
    )
    if trouble := append_step_summary(text):
        click.echo(f"plsqlbench: {trouble}", err=True)
