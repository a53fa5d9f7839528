"""The terminal summary: metrics by subset, coverage, statuses, categories, files; 80 columns wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.metrics import (
    EPISODE_PASS,
    EPISODE_TEST_PASS,
    EX,
    MEAN_TEST_PASS,
    SUITE_PASS,
    TURN_SUITE_PASS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_plsqlbench.bench.metrics import MetricValue
    from pytest_plsqlbench.bench.summary import Summary

WIDTH = 80
CATEGORIES_SHOWN = 5
SINGLE = (MEAN_TEST_PASS, SUITE_PASS, EX)
EPISODES = (EPISODE_PASS, TURN_SUITE_PASS, EPISODE_TEST_PASS)
TITLES = {
    MEAN_TEST_PASS: "Mean Test Pass@1",
    SUITE_PASS: "Suite Pass@1",
    EX: "EX@1",
    EPISODE_PASS: "Episode Pass@1",
    TURN_SUITE_PASS: "Turn Suite@1",
    EPISODE_TEST_PASS: "Episode Test@1",
}
LEGEND = {
    "missing": "no prediction, scored 0",
    "reference_error": "the reference fails or varies; not counted",
    "infrastructure_error": "server or worker failed; not a verdict, not counted",
    "unsupported": "cannot be run exactly; not counted",
    "engine_unavailable": "no server of the dialect; not counted",
}


def summary_title(summary: Summary) -> str:
    """Whose results, by which comparison rules."""
    who = ", ".join(summary.models) or "no model named"
    return f"plsqlbench: {who}, {summary.comparator}"


def summary_lines(
    summary: Summary,
    *,
    collected: int,
    left_out: Mapping[str, int],
    files: str,
    flags: Mapping[str, int] | None = None,
) -> Iterator[str]:
    """The lines of the summary.

    Args:
        summary: what the results add up to.
        collected: how many turns the run set out to grade.
        left_out: turns of dialects that no engine of this version runs, by dialect.
        files: where the report files are.
        flags: how many turns carry a flag, by flag.
    """
    yield from _table(summary, SINGLE, "tasks")
    yield from _table(summary, EPISODES, "episodes")
    yield ""
    turns = summary.counts.turns
    if turns < collected:
        yield f"incomplete: {turns} of {collected} turns were graded before the run ended"
    yield from _status_lines(summary)
    yield from _category_lines(summary)
    late = summary.counts.timeouts
    if late.tests:
        yield f"timeouts: {_count(late.tests, 'test')}, {_count(late.turns, 'turn')}"
    gap = summary.counts.formatting_only
    if gap.tests:
        gained = f"{_count(gap.tests, 'test')}, {_count(gap.turns, 'turn')}"
        yield f"would pass if only formatting were ignored: {gained}"
    strict = summary.counts.strict_only
    if strict.tests:
        yield f"would fail the strict reading: {_count(strict.tests, 'test')}, {_count(strict.turns, 'turn')}"
    if flags:
        yield f"flags: {', '.join(f'{count} {flag}' for flag, count in sorted(flags.items()))}"
    for dialect, count in sorted(left_out.items()):
        yield f"left out: {_count(count, 'turn')} in dialect {dialect}, whose engine is not at hand"
    yield f"files: {files}"


def _table(summary: Summary, names: Sequence[str], unit: str) -> Iterator[str]:
    """Subset by metric, with the number of units and their coverage."""
    rows = {subset: m for subset, m in summary.metrics.items() if any(name in m for name in names)}
    if not rows:
        return
    used = [name for name in names if any(name in metrics for metrics in rows.values())]
    table = [["subset", unit, "coverage", *(TITLES[name] for name in used)]]
    for subset, metrics in rows.items():
        table.append([subset, *_cells(metrics, used, _percent(summary.subsets[subset].coverage.value))])
    if len(rows) > 1:
        table.append(["overall", *_cells(summary.overall, used, "")])
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]))]
    widths[0] = max(7, min(widths[0], WIDTH - sum(width + 2 for width in widths[1:])))
    for row in table:
        cells = (f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"{_cut(row[0], widths[0]):<{widths[0]}}{''.join(cells)}".rstrip()


def _cells(metrics: Mapping[str, MetricValue], used: Sequence[str], coverage: str) -> list[str]:
    count = max((metrics[key].n for key in used if key in metrics), default=0)
    return [str(count), coverage, *(_percent(metrics[key].value) if key in metrics else "" for key in used)]


def _status_lines(summary: Summary) -> Iterator[str]:
    found = {status: count for status, count in summary.statuses.items() if count}
    yield f"turns: {', '.join(f'{count} {status}' for status, count in found.items())}"
    for status in found:
        if status in LEGEND:
            yield f"  {status}: {LEGEND[status]}"


def _category_lines(summary: Summary) -> Iterator[str]:
    if not summary.categories:
        return
    yield "failed tests by category:"
    for entry in summary.categories[:CATEGORIES_SHOWN]:
        yield f"  {entry.tests:>5}  {entry.category}/{entry.subcategory}"
    rest = summary.categories[CATEGORIES_SHOWN:]
    if rest:
        yield f"  {sum(entry.tests for entry in rest):>5}  others, see summary.json"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _percent(value: float | None) -> str:
    """One decimal; never 100.0 % for less than all, nor 0.0 % for more than nothing."""
    if value is None:
        return "-"
    shown = round(value * 100, 1)
    if shown == 100 and value < 1:
        shown = 99.9
    if shown == 0 and value > 0:
        shown = 0.1
    return f"{shown:.1f}%"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
