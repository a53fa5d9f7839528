"""Summary: all that a run's results add up to, as ``summary.json`` holds it. See docs/metrics.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import get_args

import msgspec

from pytest_plsqlbench.bench.baseline.compare import Comparison
from pytest_plsqlbench.bench.blame import BlameCounts, count_blame
from pytest_plsqlbench.bench.gates.verdict import GateVerdict
from pytest_plsqlbench.bench.metrics import (
    INCLUDED,
    InconsistentResultsError,
    MetricValue,
    deciding_reading,
    episodes_of,
    exact_mean,
    metric_value,
    overall_metrics,
    passes,
    score,
    unit_samples,
)
from pytest_plsqlbench.bench.result import SCHEMA_VERSION, EngineInfo, Status, TurnResult
from pytest_plsqlbench.bench.statistics.intervals import Keys, Samples, cluster_keys, mean_interval
from pytest_plsqlbench.bench.statistics.samples import k_names, k_samples
from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.bench.values import Reading

READINGS: tuple[Reading, ...] = get_args(Reading)
STATUSES: tuple[Status, ...] = get_args(Status)

Metrics = dict[str, dict[str, MetricValue]]
"""Subset, then metric."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How many of the turns (and samples) that a metric needs have a prediction."""

    value: float | None
    """``graded`` over ``graded + missing``; None where there are none."""
    graded: int
    missing: int
    excluded: int
    """Turns of another status: they enter no metric, whether they have a prediction or not."""


class CategoryCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often a category and subcategory of failure occurred."""

    category: str
    subcategory: str
    tests: int
    """Failed tests."""
    turns: int
    """Turns whose first failed test failed so."""


class ReadingGap(msgspec.Struct, frozen=True, kw_only=True):
    """How many verdicts are another in another reading."""

    tests: int
    turns: int


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """What ran into the time limit: failures, counted apart."""

    tests: int = 0
    turns: int = 0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a subset, or all of them, holds."""

    tasks: int
    turns: int
    """Results: one a turn and sample."""
    coverage: Coverage
    statuses: dict[Status, int]
    categories: tuple[CategoryCount, ...]
    """The most frequent first."""
    formatting_only: ReadingGap
    """Failed as published; would pass if only formatting were ignored."""
    strict_only: ReadingGap
    """Passed as published; fails when strict."""
    timeouts: Timeouts = Timeouts()
    blame: BlameCounts | None = None
    """Of failed turns of conversations, where ``--plsql-blame`` was given."""
    episodes: int = 0
    episodes_excluded: int = 0
    """Episodes with a turn that is neither graded nor missing: left out of the episode metrics."""
    episodes_incomplete: int = 0
    """Episodes without results of all their turns (an interrupted run, one shard): left out as well."""


class ReadingScores(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics in one reading."""

    metrics: Metrics
    overall: dict[str, MetricValue]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What ``summary.json`` holds. ``metrics`` and ``overall`` are those of the deciding reading."""

    schema_version: int = SCHEMA_VERSION
    model: str | None
    """The model, where all results name the same one."""
    models: tuple[str, ...]
    comparator: str | None
    """The comparator that decided; None without results."""
    metrics: Metrics
    overall: dict[str, MetricValue]
    coverage: Coverage
    statuses: dict[Status, int]
    categories: tuple[CategoryCount, ...]
    counts: Counts
    """All subsets together."""
    subsets: dict[str, Counts]
    dialects: dict[Dialect, ReadingScores]
    """The deciding reading's metrics of each dialect."""
    readings: dict[Reading, ReadingScores]
    """The metrics in every reading, the deciding one among them."""
    samples: Metrics = {}
    """Of subsets with several samples a task: ``suite_pass@k`` (at least one of k samples solves a task) and
    ``suite_pass^k`` (all of k do), and the same of ``ex`` and ``episode_pass``."""
    engines: tuple[EngineInfo, ...]
    gates: tuple[GateVerdict, ...] = ()
    comparison: Comparison | None = None
    """With the baseline, where one was given; without the changes turn by turn."""


def summarize(results: Iterable[TurnResult]) -> Summary:
    """Add up results, in any order and from any number of shards.

    Raises:
        InconsistentResultsError: duplicates, counts that contradict each other, or several comparators.
    """
    rows = list(results)
    comparators = sorted({row.comparator for row in rows})
    if len(comparators) > 1:
        raise InconsistentResultsError(
            f"results of several comparators cannot be summarized together: {', '.join(comparators)}"
        )
    models = tuple(sorted({row.model for row in rows if row.model is not None}))
    subsets = _by_subset(rows)
    counts = _counts(rows)
    keys = cluster_keys(rows)
    decided = _scores(subsets, None, keys)
    deciding = comparators[0].partition("/")[0] if comparators else None
    dialects = sorted({row.dialect for row in rows})
    engines = {row.engine for row in rows if row.engine is not None}
    return Summary(
        model=models[0] if len(models) == 1 else None,
        models=models,
        comparator=comparators[0] if comparators else None,
        metrics=decided.metrics,
        overall=decided.overall,
        coverage=counts.coverage,
        statuses=counts.statuses,
        categories=counts.categories,
        counts=counts,
        subsets={subset: _counts(part) for subset, part in subsets.items()},
        dialects={
            dialect: decided
            if len(dialects) == 1
            else _scores(_by_subset([row for row in rows if row.dialect == dialect]), None, keys)
            for dialect in dialects
        },
        readings={
            reading: decided if reading == deciding else _scores(subsets, reading, keys)
            for reading in READINGS
        },
        samples=_several_samples(subsets, keys),
        engines=tuple(sorted(engines, key=lambda engine: (engine.name, engine.version, engine.server))),
    )


def _by_subset(rows: Iterable[TurnResult]) -> dict[str, list[TurnResult]]:
    subsets: dict[str, list[TurnResult]] = {}
    for row in sorted(rows, key=lambda row: row.subset):
        subsets.setdefault(row.subset, []).append(row)
    return subsets


def _scores(subsets: dict[str, list[TurnResult]], reading: Reading | None, keys: Keys) -> ReadingScores:
    samples = {subset: unit_samples(rows, reading) for subset, rows in subsets.items()}
    exact = {
        subset: {name: exact_mean(units.values()) for name, units in metrics.items()}
        for subset, metrics in samples.items()
    }
    overall = overall_metrics(exact)
    return ReadingScores(
        metrics={
            subset: {
                name: _with_interval(metric_value(value), [samples[subset][name]], keys)
                for name, value in metrics.items()
            }
            for subset, metrics in exact.items()
        },
        overall={
            name: _with_interval(
                value, [metrics[name] for metrics in samples.values() if name in metrics], keys
            )
            for name, value in overall.items()
        },
    )


def _with_interval(metric: MetricValue, samples: Sequence[Samples], keys: Keys) -> MetricValue:
    interval = mean_interval(samples, keys)
    if interval is None:
        return metric
    return msgspec.structs.replace(metric, low=interval.low, high=interval.high)


def _several_samples(subsets: dict[str, list[TurnResult]], keys: Keys) -> Metrics:
    several: Metrics = {}
    for subset, rows in subsets.items():
        if not any(row.sample for row in rows):
            continue
        samples = unit_samples(rows)
        values = {name: k_samples(samples, name) or {} for name in k_names(samples)}
        if values:
            several[subset] = {
                name: _with_interval(metric_value(exact_mean(units.values())), [units], keys)
                for name, units in values.items()
            }
    return several


def _counts(rows: Sequence[TurnResult]) -> Counts:
    statuses = Counter(row.status for row in rows)
    graded, missing = statuses["graded"], statuses["missing"]
    episodes = [
        episode for talk in episodes_of(row for row in rows if row.conversation).values() for episode in talk
    ]
    complete = [episode for episode in episodes if episode.complete]
    return Counts(
        tasks=len({(row.subset, row.task, row.dialect) for row in rows}),
        turns=len(rows),
        coverage=Coverage(
            value=graded / (graded + missing) if graded + missing else None,
            graded=graded,
            missing=missing,
            excluded=len(rows) - graded - missing,
        ),
        statuses={status: statuses[status] for status in STATUSES},
        categories=_categories(rows),
        formatting_only=_gap(rows, "normalized", "published"),
        strict_only=_gap(rows, "published", "strict"),
        timeouts=_timeouts(rows),
        blame=count_blame(rows),
        episodes=len(episodes),
        episodes_excluded=sum(not episode.judged for episode in complete),
        episodes_incomplete=len(episodes) - len(complete),
    )


def _categories(rows: Iterable[TurnResult]) -> tuple[CategoryCount, ...]:
    tests: Counter[tuple[str, str]] = Counter()
    turns: Counter[tuple[str, str]] = Counter()
    for row in rows:
        failed = [
            (test.category or "unclassified", test.subcategory or "unclassified")
            for test in row.tests
            if test.verdict == "failed" and row.status == "graded"
        ]
        tests.update(failed)
        turns.update(failed[:1])
    return tuple(
        CategoryCount(category=kind[0], subcategory=kind[1], tests=tests[kind], turns=turns[kind])
        for kind in sorted(tests, key=lambda kind: (-tests[kind], kind))
    )


def _timeouts(rows: Iterable[TurnResult]) -> Timeouts:
    counts = [
        sum(test.verdict == "failed" and test.subcategory == "time_limit" for test in row.tests)
        for row in rows
        if row.status == "graded"
    ]
    return Timeouts(tests=sum(counts), turns=sum(count > 0 for count in counts))


def _gap(rows: Iterable[TurnResult], passing: Reading, failing: Reading) -> ReadingGap:
    tests = turns = 0
    for row in rows:
        if row.status not in INCLUDED:
            continue
        deciding = deciding_reading(row)
        tests += sum(
            passes(test, passing, deciding) and not passes(test, failing, deciding) for test in row.tests
        )
        turns += score(row, passing).solved and not score(row, failing).solved
    return ReadingGap(tests=tests, turns=turns)


__all__ = [
    "READINGS",
    "STATUSES",
    "CategoryCount",
    "Counts",
    "Coverage",
    "ReadingGap",
    "ReadingScores",
    "Summary",
    "Timeouts",
    "deciding_reading",
    "summarize",
]
