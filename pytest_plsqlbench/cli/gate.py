"""``plsqlbench gate``: saved results against gates and a baseline, without grading anything again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_plsqlbench.cli.judging import WAY, Asked, judging_options


@click.command("gate", help="Judge saved results by gates, alone or against a baseline.")
@click.argument("results", metavar="RESULTS", type=click.Path(path_type=Path))
@judging_options
@click.option("--json", "as_json", is_flag=True, help="Print verdicts and comparison as JSON.")
@click.option(
    "--junitxml",
    "xml",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the gates as test cases, too.",
)
def command(
    results: Path,
    asked: Asked,
    as_json: bool,  # noqa: FBT001 (click passes it by name)
    xml: Path | None,
) -> None:
    """Judge, print, and exit: 0 all gates held, 1 one is broken, 6 the run may not be judged.

    RESULTS is a results.jsonl, or the report folder that holds one.
    """
    import msgspec  # noqa: PLC0415 (not for --help)

    from pytest_plsqlbench.bench.gates.assessment import assess  # noqa: PLC0415
    from pytest_plsqlbench.bench.gates.verdict import exit_code  # noqa: PLC0415
    from pytest_plsqlbench.reporting.baseline import read_baseline  # noqa: PLC0415
    from pytest_plsqlbench.reporting.gates import assessment_lines  # noqa: PLC0415
    from pytest_plsqlbench.reporting.gatexml import gates_xml  # noqa: PLC0415
    from pytest_plsqlbench.reporting.saved import read_gates, read_saved  # noqa: PLC0415
    from pytest_plsqlbench.reporting.stepsummary import append_step_summary, step_summary  # noqa: PLC0415
    from pytest_plsqlbench.reporting.store import write_atomically  # noqa: PLC0415

    baseline = asked.baseline
    wanted = read_gates(asked.gates, asked.files, has_baseline=baseline is not None)
    saved = read_saved(results, assume_complete=asked.assume_complete)
    old = read_baseline(baseline, name=str(baseline), common=asked.common, way=WAY) if baseline else None
    if old is not None:
        old.common_part(saved.results)  # refused at once, not as a verdict
    found = assess(saved.results, pending=saved.pending, gates=wanted, baseline=old, doubt=saved.doubt)
    if as_json:
        content = {
            "gates": found.verdicts,
            "comparison": found.comparison,
            "exit_code": exit_code(found.verdicts),
        }
        click.echo(msgspec.json.format(msgspec.json.encode(content), indent=2))
    else:
        for line in assessment_lines(found):
            click.echo(line)
    if xml is not None:
        write_atomically(xml, gates_xml(found.verdicts))
    text = step_summary(None, title=f"gate {results}", verdicts=found.verdicts, comparison=found.comparison)
    if trouble := append_step_summary(text):
        click.echo(f"plsqlbench: {trouble}", err=True)
    sys.exit(exit_code(found.verdicts))
