"""What a report says above its list of turns, ready for the template: texts, numbers, links; no markup."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_plsqlbench.bench.metrics import EPISODE_PASS, EX, MEAN_TEST_PASS, SUITE_PASS
from pytest_plsqlbench.bench.plural import grouped, noun
from pytest_plsqlbench.bench.visible import visible
from pytest_plsqlbench.reporting.chances import chances
from pytest_plsqlbench.reporting.headline import EPISODES, SINGLE, TITLES, interval, outer, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_plsqlbench.bench.metrics import MetricValue
    from pytest_plsqlbench.bench.shard import TurnKey
    from pytest_plsqlbench.bench.summary import Counts, Summary
    from pytest_plsqlbench.reporting.page.figures import Figure, Point
    from pytest_plsqlbench.reporting.page.source import SavedRun

RANKED_BY = (SUITE_PASS, EX, EPISODE_PASS, MEAN_TEST_PASS)
"""The first of these that every run has ranks the runs of a report."""
MOST_CATEGORIES = 20


def score(metric: MetricValue | None) -> dict[str, Any] | None:
    """A metric for a cell: value, bounds, and where they lie on a scale from 0 to 100."""
    if metric is None or metric.value is None:
        return None
    known = metric.low is not None and metric.high is not None
    return {
        "value": percent(metric.value),
        "bounds": interval(metric),
        "at": _place(metric.value),
        "low": _place(metric.low) if known else None,
        "high": _place(metric.high) if known else None,
    }


def _place(value: float | None) -> str:
    return f"{100 * (value or 0):.1f}"


def run_facts(run: SavedRun, number: int, columns: Sequence[str]) -> dict[str, Any]:
    """What a run rests on, its means, and its cards."""
    summary = run.summary
    engines = [f"{visible(e.name)} {visible(e.version)}, {visible(e.server)}" for e in summary.engines]
    flags = Counter(flag for result in run.results for flag in result.flags)
    return {
        "label": run.label,
        "number": number,
        "comparator": visible(summary.comparator or ""),
        "engines": "; ".join(engines) or "none",
        "tasks": f"{summary.counts.tasks:,}",
        "turns": f"{len(run.results):,}",
        "coverage": percent(summary.coverage.value),
        "uncounted": _uncounted(summary.counts),
        "flags": ", ".join(f"{count} {visible(flag)}" for flag, count in sorted(flags.items())),
        "overall": [score(summary.overall.get(name)) for name in columns],
        "cards": [
            {"title": TITLES[name], "metric": score(metric), "note": _over(metric, name)}
            for name in columns
            if (metric := summary.overall.get(name)) is not None
        ],
    }


def _uncounted(counts: Counts) -> str:
    """Turns whose status keeps them out of the metrics."""
    kept = {status: n for status, n in counts.statuses.items() if n and status not in {"graded", "missing"}}
    return ", ".join(f"{n:,} {status.replace('_', ' ')}" for status, n in kept.items())


def _over(metric: MetricValue, name: str) -> str:
    units = grouped(metric.n, "conversation" if name in EPISODES else "task")
    if isinstance(metric.subsets, int) and metric.subsets > 1:
        return f"mean of {metric.subsets} subsets, {units}"
    return units


def overall_columns(runs: Iterable[SavedRun]) -> list[str]:
    """Metrics that any run has a mean of, in their order."""
    runs = list(runs)
    return [name for name in (*SINGLE, *EPISODES) if any(name in run.summary.overall for run in runs)]


def rank(runs: Sequence[SavedRun]) -> tuple[str, list[SavedRun]]:
    """The metric by which runs are ranked, and the runs, the best first."""
    metric = next(
        (name for name in RANKED_BY if all(name in run.summary.overall for run in runs)),
        overall_columns(runs)[0] if overall_columns(runs) else SUITE_PASS,
    )

    def value(run: SavedRun) -> float:
        found = run.summary.overall.get(metric)
        return -1.0 if found is None or found.value is None else found.value

    return metric, sorted(runs, key=value, reverse=True)


def subset_tables(runs: Sequence[SavedRun]) -> Iterator[dict[str, Any]]:
    """Subset by metric, single turns and conversations apart; the mean over subsets last."""
    for names, title, unit in (
        (SINGLE, "Single-turn tasks", "Tasks"),
        (EPISODES, "Conversations", "Episodes"),
    ):
        subsets = list(
            dict.fromkeys(
                subset
                for run in runs
                for subset, metrics in run.summary.metrics.items()
                if any(name in metrics for name in names)
            )
        )
        if not subsets:
            continue
        used = [
            name
            for name in names
            if any(name in run.summary.metrics.get(s, {}) for run in runs for s in subsets)
        ]
        groups = [
            {"name": visible(subset), "rows": list(_subset_rows(runs, subset, used))}
            for subset in sorted(subsets)
        ]
        if len(subsets) > 1:
            rows = [
                _row(run, number, run.summary.overall, used, "", "total")
                for number, run in enumerate(runs, 1)
            ]
            groups.append({"name": "mean", "rows": rows})
        columns = [TITLES[name] for name in used]
        yield {"title": title, "unit": unit, "columns": columns, "groups": groups}


def _subset_rows(runs: Sequence[SavedRun], subset: str, used: Sequence[str]) -> Iterator[dict[str, Any]]:
    for number, run in enumerate(runs, 1):
        metrics = run.summary.metrics.get(subset)
        if metrics is not None:
            coverage = percent(run.summary.subsets[subset].coverage.value)
            yield _row(run, number, metrics, used, coverage, "")


def samples_table(runs: Sequence[SavedRun]) -> list[dict[str, Any]]:
    """Chances to solve a task by k samples, grouped by subset; none where no task has several."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for number, run in enumerate(runs, 1):
        for row in chances(run.summary):
            shown = {
                "label": run.label,
                "number": number,
                "title": row.title,
                "k": row.k,
                "one": score(row.one),
                "all": score(row.all),
                "n": f"{row.n:,}",
            }
            groups.setdefault(row.subset, []).append(shown)
    return [{"name": visible(subset), "rows": rows} for subset, rows in sorted(groups.items())]


def _row(
    run: SavedRun,
    number: int,
    metrics: Mapping[str, MetricValue],
    used: Sequence[str],
    coverage: str,
    kind: str,
) -> dict[str, Any]:
    count = max((metrics[name].n for name in used if name in metrics), default=0)
    return {
        "label": run.label,
        "number": number,
        "kind": kind,
        "metrics": [score(metrics.get(name)) for name in used],
        "n": f"{count:,}",
        "coverage": coverage,
    }


def warnings(runs: Sequence[SavedRun]) -> Iterator[str]:
    """What a reader must know before the numbers."""
    for run in runs:
        who = f"{run.label}: " if len(runs) > 1 else ""
        if run.incomplete:
            yield (
                f"{who}incomplete: {len(run.results):,} of {grouped(run.collected, 'turn')}"
                f" {noun(run.collected, 'was', 'were')} graded before the run ended"
            )
        elif run.doubt is not None:
            yield f"{who}perhaps incomplete: {run.doubt}"
        coverage = run.summary.coverage
        if coverage.missing:
            have = noun(coverage.missing, "has", "have")
            yield f"{who}{grouped(coverage.missing, 'turn')} {have} no prediction: scored 0"
        lost = run.summary.statuses.get("infrastructure_error", 0)
        if lost:
            were = noun(lost, "was", "were")
            yield f"{who}{grouped(lost, 'turn')} {were} lost to server or worker failures: not counted"
    comparators = {run.summary.comparator for run in runs}
    if len(comparators) > 1:
        yield (
            "the runs were judged by different rules"
            f" ({', '.join(sorted(visible(c or '') for c in comparators))}): their scores cannot be compared"
        )


def categories(runs: Sequence[SavedRun]) -> dict[str, Any]:
    """Failed tests by category and subcategory, and what other readings would change."""
    counts = [{(c.category, c.subcategory): c for c in run.summary.categories} for run in runs]
    totals: Counter[tuple[str, str]] = Counter()
    for found in counts:
        for kind, entry in found.items():
            totals[kind] += entry.tests
    rows = []
    for kind, _ in totals.most_common(MOST_CATEGORIES):
        found_here = [found.get(kind) for found in counts]
        rows.append(
            {
                "name": " / ".join(visible(part).replace("_", " ") for part in kind),
                "link": f"kind={quote('/'.join(kind), safe='')}&status=failed",
                "cells": [
                    {"tests": f"{c.tests:,}" if c else "-", "turns": f"{c.turns:,}" if c else "-"}
                    for c in found_here
                ],
            }
        )
    notes = []
    if len(totals) > MOST_CATEGORIES:
        notes.append(f"{len(totals) - MOST_CATEGORIES} rarer kinds stand in summary.json.")
    for run in runs:
        notes += _readings(run.label if len(runs) > 1 else "", run.summary)
    return {"rows": rows, "notes": notes}


def _readings(label: str, summary: Summary) -> Iterator[str]:
    who = f"{label}: " if label else ""
    counts = summary.counts
    if counts.formatting_only.tests:
        yield (
            f"{who}{grouped(counts.formatting_only.tests, 'failed test')} would pass if only formatting were"
            " ignored;"
            f" {grouped(counts.formatting_only.turns, 'more turn')} would be solved."
        )
    if counts.strict_only.tests:
        yield (
            f"{who}{grouped(counts.strict_only.tests, 'passed test')} would fail the strict reading;"
            f" {grouped(counts.strict_only.turns, 'turn')} would not be solved."
        )
    if counts.blame is not None and counts.blame.inherited_share is not None:
        yield (
            f"{who}of the failed turns in conversations {counts.blame.own:,}"
            f" {noun(counts.blame.own, 'fails by itself', 'fail by themselves')} too and"
            f" {counts.blame.inherited:,} only on what the turns before them left"
            f" ({percent(counts.blame.inherited_share)} inherited)."
        )


def plot_table(figure: Figure) -> dict[str, Any]:
    """The figures of a plot, group by group."""
    return {
        "names": [entry.name.replace("_", " ") for entry in figure.series],
        "rows": [
            {
                "group": group,
                "cells": [_figure_cell(entry.at(group)) for entry in figure.series],
            }
            for group in figure.groups
        ],
    }


def _figure_cell(point: Point | None) -> str:
    if point is None:
        return "-"
    bounds = outer(point.low, point.high)
    between = f" ({bounds})" if bounds else ""
    return f"{percent(point.value)}{between}, n={point.n:,}"


def turn_address(key: TurnKey) -> str:
    """What stands after ``#`` in a link to a turn."""
    parts = (key.subset, key.task, key.dialect, str(key.turn), str(key.sample))
    return "turn=" + "/".join(quote(part, safe="") for part in parts)
