"""The summary of a step of GitHub Actions: Markdown in the file that ``GITHUB_STEP_SUMMARY`` names.

Reference: https://docs.github.com/actions/reference/workflow-commands-for-github-actions#adding-a-job-summary
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.gates.numbers import point_bounds, points
from pytest_plsqlbench.bench.gates.verdict import WORDS
from pytest_plsqlbench.bench.plural import noun, numbered
from pytest_plsqlbench.reporting.headline import headlines, interval, percent
from pytest_plsqlbench.reporting.markdown import code, plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_plsqlbench.bench.baseline.changes import Kind
    from pytest_plsqlbench.bench.baseline.compare import Comparison
    from pytest_plsqlbench.bench.gates.verdict import Decision, GateVerdict
    from pytest_plsqlbench.bench.metrics import MetricValue
    from pytest_plsqlbench.bench.statistics.pairing import Difference
    from pytest_plsqlbench.bench.summary import Summary
    from pytest_plsqlbench.reporting.headline import Headline

VARIABLE = "GITHUB_STEP_SUMMARY"
LIMIT = 1024 * 1024
"""Bytes of a step's summary; GitHub shows nothing of one that is larger."""
NAMED = 20
"""Turns that are named; the others are counted."""
CATEGORIES_SHOWN = 10
CUT = "\n\n*The rest is cut off: a summary holds 1 MiB.*\n"
SIGNS: dict[Decision, str] = {"broken": "❌", "not_enough_evidence": "❔", "held": "✅"}
"""In the order in which verdicts are shown."""
CHANGED: dict[Kind, str] = {
    "newly_broken": "newly broken",
    "newly_solved": "newly solved",
    "worsened": "worse",
    "improved": "better",
    "category": "failing in another way",
}


def step_summary(
    summary: Summary | None,
    *,
    title: str = "",
    collected: int = 0,
    left_out: Mapping[str, int] | None = None,
    verdicts: Sequence[GateVerdict] = (),
    comparison: Comparison | None = None,
    files: Sequence[str] = (),
) -> str:
    """What a run has shown, as Markdown: scores, gates, what changed, what failed, files.

    Names of models, subsets, tasks and files are shown as they are, whatever they contain.

    Args:
        summary: what the results add up to; None where only gates were judged.
        title: which part of the run, or which command.
        collected: how many turns the run set out to grade.
        left_out: turns of dialects that no engine at hand runs, by dialect.
        verdicts: of the gates.
        comparison: with the baseline.
        files: where more is to be read.
    """
    parts: list[str] = [_title(summary, title)]
    if summary is not None and summary.counts.turns < collected:
        of = f"{numbered(collected, 'turn')} {noun(collected, 'was', 'were')}"
        parts.append(f"**Incomplete:** {summary.counts.turns} of {of} graded.")
    if verdicts:
        parts.append("\n".join(_gates(verdicts)))
    if summary is not None:
        tables = headlines(summary)
        parts += ["\n".join(_scores(one)) for one in tables]
        if any(one.has_intervals for one in tables):
            parts.append("In parentheses: 95 % confidence intervals.")
    if comparison is not None:
        parts.append("\n".join(_comparison(comparison)))
    if summary is not None:
        parts.append("\n".join(_turns(summary, left_out or {})))
        if summary.categories:
            parts.append("\n".join(_failures(summary)))
    if files:
        parts.append(f"Files: {', '.join(code(file) for file in files)}")
    return "\n\n".join(parts) + "\n"


def append_step_summary(text: str, environment: Mapping[str, str] | None = None) -> str | None:
    """Append to the summary of the step, where there is one.

    Other commands of the step may have written to it, or will: what would not fit any more is cut off.

    Args:
        text: Markdown.
        environment: of the process; None: its own.

    Returns:
        Why it could not be written, one line: nothing that a run should fail for. None where it could, or
        where there is no such file.
    """
    name = (os.environ if environment is None else environment).get(VARIABLE)
    if not name:
        return None
    path = Path(name)
    try:
        size = path.stat().st_size if path.exists() else 0
        data = cut_to((f"\n{text}" if size else text).encode("utf-8", "backslashreplace"), LIMIT - size)
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        return f"cannot write the step summary {path}: {error.strerror or error}"
    return None


def cut_to(data: bytes, room: int) -> bytes:
    """The whole lines that fit, and a line that says so; nothing where not even that fits."""
    if len(data) <= room:
        return data
    end = CUT.encode()
    kept = data[: max(room - len(end), 0)].rpartition(b"\n")[0]
    return kept + end if kept else b""


def _title(summary: Summary | None, title: str) -> str:
    words = [word for word in ("plsqlbench", title) if word]
    heading = f"## {plain(' '.join(words))}"
    if summary is None:
        return heading
    models = ", ".join(code(name) for name in summary.models[:5]) or "no model named"
    more = f" and {len(summary.models) - 5} more" if len(summary.models) > 5 else ""
    return f"{heading}\n\n{models}{more}, graded by {code(summary.comparator or 'nothing')}"


def _scores(one: Headline) -> Iterator[str]:
    rows = (
        [
            code(row.name) if row.name else "**overall**",
            str(row.count),
            row.coverage,
            *(_score(metric) for metric in row.metrics),
        ]
        for row in one.rows
    )
    yield from table(["subset", one.unit, "coverage", *one.titles], rows)


def _score(metric: MetricValue | None) -> str:
    if metric is None:
        return ""
    bounds = interval(metric)
    return f"{percent(metric.value)} ({bounds})" if bounds else percent(metric.value)


def _gates(verdicts: Sequence[GateVerdict]) -> Iterator[str]:
    order = list(SIGNS)
    rows = (
        [
            f"{SIGNS[verdict.verdict]} {WORDS[verdict.verdict]}",
            code(verdict.gate),
            plain(verdict.reason),
            plain(verdict.enough) if verdict.enough else "",
        ]
        for verdict in sorted(verdicts, key=lambda verdict: order.index(verdict.verdict))
    )
    yield from table(["verdict", "gate", "found", "enough would be"], rows, left=4)


def _comparison(comparison: Comparison) -> Iterator[str]:
    models = ", ".join(code(name) for name in comparison.models[0][:5])
    named = f" ({models})" if models else ""
    yield f"### Against {code(comparison.baseline)}{named}"
    yield ""
    yield f"{numbered(comparison.compared, 'task')} compared."
    for note in comparison.notes:
        yield f"Only the common part is compared: {plain(note)}."
    yield ""
    if comparison.overall:
        rows = ([code(metric), *_difference(found)] for metric, found in comparison.overall.items())
        yield from table(["overall", "there", "here", "points", "95 % interval", "shows from"], rows)
        yield ""
    counted = (
        f"{comparison.kinds[kind]} {words}" for kind, words in CHANGED.items() if comparison.kinds.get(kind)
    )
    yield f"Turns: {', '.join(counted) or 'none did otherwise'}."
    for kind in ("newly_broken", "newly_solved"):
        names = [code(f"{one.turn_id}[{one.dialect}]") for one in comparison.changes if one.kind == kind]
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            yield ""
            yield f"{CHANGED[kind].capitalize()}: {', '.join(names[:NAMED])}{more}"


def _difference(found: Difference) -> tuple[str, ...]:
    return (
        percent(found.baseline),
        percent(found.value),
        points(found.difference),
        " to ".join(point_bounds(found.low, found.high)),
        f"{found.detectable * 100:.1f}",
    )


def _turns(summary: Summary, left_out: Mapping[str, int]) -> Iterator[str]:
    coverage = summary.coverage
    statuses = ", ".join(f"{count} {code(status)}" for status, count in summary.statuses.items() if count)
    yield f"Turns: {statuses or 'none'}; coverage {percent(coverage.value)}."
    for dialect, count in sorted(left_out.items()):
        yield f"Left out: {count} in dialect {code(dialect)}, whose engine is not at hand."
    blame = summary.counts.blame
    if blame is not None:
        yield (
            f"Failed turns of conversations: {blame.inherited} inherited ({percent(blame.inherited_share)}),"
            f" {blame.own} own, {blame.unknown} unknown."
        )


def _failures(summary: Summary) -> Iterator[str]:
    shown, rest = summary.categories[:CATEGORIES_SHOWN], summary.categories[CATEGORIES_SHOWN:]
    rows = [
        [code(f"{entry.category}/{entry.subcategory}"), str(entry.tests), str(entry.turns)] for entry in shown
    ]
    if rest:
        rows.append(["others", str(sum(one.tests for one in rest)), str(sum(one.turns for one in rest))])
    yield from table(["failed tests by category", "tests", "turns"], rows)
