"""Metrics: scores of subsets, exact until the last step, so that order and sharding cannot change them.

Definitions: PLSQLBench App. C; ``ex@1`` is ProcArena's EX. Details and rulings: docs/metrics.md.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import msgspec

from pytest_plsqlbench.bench.result import TestResult, TurnResult
from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.bench.values import Reading

MEAN_TEST_PASS = "mean_test_pass@1"  # noqa: S105 - a metric's name
SUITE_PASS = "suite_pass@1"  # noqa: S105
EX = "ex@1"
EPISODE_PASS = "episode_pass@1"  # noqa: S105
TURN_SUITE_PASS = "turn_suite_pass@1"  # noqa: S105
EPISODE_TEST_PASS = "episode_test_pass@1"  # noqa: S105
METRICS = (MEAN_TEST_PASS, SUITE_PASS, EX, EPISODE_PASS, TURN_SUITE_PASS, EPISODE_TEST_PASS)

CALL_SUITE_PREFIXES = ("procarena", "call_suite", "callsuite")
"""Subsets whose names begin so are judged by table state: their suite pass is named ``ex@1``."""

INCLUDED = ("graded", "missing")
"""Statuses that enter a metric."""


class InconsistentResultsError(ValueError):
    """Results that cannot be added up: duplicates, contradicting counts, several comparators."""


class MetricValue(msgspec.Struct, frozen=True, kw_only=True):
    """A metric of a subset."""

    value: float | None
    """From 0 to 1; None where nothing entered it."""
    low: float | None = None
    high: float | None = None
    """Bounds of its confidence interval, where one was computed."""
    n: int
    """Tasks or episodes that entered it (in an overall mean: those of all subsets together)."""
    subsets: int | msgspec.UnsetType = msgspec.UNSET
    """Only of an overall mean: how many subsets it averages."""


class Exact(NamedTuple):
    """A metric before rounding: the mean of ``n`` units."""

    value: Fraction
    n: int


class Score(NamedTuple):
    """What one graded or missing turn achieved in a reading."""

    passed: int
    total: int

    @property
    def solved(self) -> bool:
        """All tests passed."""
        return self.passed == self.total

    @property
    def share(self) -> Fraction:
        """Share of the tests that passed."""
        return _fraction(self.passed, self.total)


class Episode(NamedTuple):
    """The results of one conversation and sample."""

    rows: tuple[TurnResult, ...]
    """By turn."""
    turns: int

    @property
    def complete(self) -> bool:
        """Every turn has a result."""
        return len(self.rows) == self.turns

    @property
    def judged(self) -> bool:
        """Every turn has a result that enters a metric."""
        return self.complete and all(row.status in INCLUDED for row in self.rows)


Unit = tuple[str, str, Dialect]
"""What is averaged over: subset, task, dialect."""


def is_call_suite(subset: str) -> bool:
    """Tell whether a subset is judged by table state after its calls."""
    return subset.startswith(CALL_SUITE_PREFIXES)


def deciding_reading(result: TurnResult) -> str:
    """Give the reading that decided a result: ``published`` or ``normalized``."""
    return result.comparator.partition("/")[0]


def score(result: TurnResult, reading: Reading | None = None) -> Score:
    """Give the score of a graded or missing turn in the deciding reading (None) or in another one.

    The strict reading also counts the tests that are for it alone.

    Raises:
        InconsistentResultsError: its counts contradict each other.
    """
    _check(result)
    if reading is None or reading == deciding_reading(result):
        return Score(result.passed, result.total)
    tests = result.tests + result.strict_tests if reading == "strict" else result.tests
    decided = sum(test.verdict == "passed" for test in result.tests)
    passed = sum(passes(test, reading, deciding_reading(result)) for test in tests)
    return Score(result.passed - decided + passed, result.total - len(result.tests) + len(tests))


def passes(test: TestResult, reading: Reading, deciding: str) -> bool:
    """Tell whether a test passes in a reading; only verdicts that differ from the deciding one are kept."""
    if reading == deciding:
        return test.verdict == "passed"
    if reading != "strict":
        return (test.normalized or test.verdict) == "passed"
    # What fails as published fails strict; tests without a strict rule are judged as published there.
    return (test.strict or test.verdict) == "passed" and passes(test, "published", deciding)


def exact_metrics(results: Iterable[TurnResult], reading: Reading | None = None) -> dict[str, Exact]:
    """Give the metrics of one subset's results, as fractions.

    Single-turn tasks: the samples of a task are averaged, then the tasks (pass@1). Conversations: the same
    with episodes. An episode with a turn that enters no metric, or without results of all its turns, is left
    out.

    Raises:
        InconsistentResultsError: results contradict each other.
    """
    return {name: exact_mean(units.values()) for name, units in unit_samples(results, reading).items()}


def unit_samples(
    results: Iterable[TurnResult], reading: Reading | None = None
) -> dict[str, dict[Unit, list[Fraction]]]:
    """Give what a metric of one subset's results averages: of each task or conversation its samples' values.

    A unit without a sample that enters the metric has none.

    Raises:
        InconsistentResultsError: results contradict each other.
    """
    results = list(results)
    singles = [result for result in results if not result.conversation]
    for result in singles:
        if (result.turn, result.turns) != (1, 1):
            raise InconsistentResultsError(f"task {result.task!r} has several turns but is no conversation")
    talks = [result for result in results if result.conversation]
    metrics: dict[str, dict[Unit, list[Fraction]]] = {}
    if singles:
        tasks = {
            unit: [score(row, reading) for row in rows if row.status in INCLUDED]
            for unit, rows in _by_unit(singles).items()
        }
        suite = EX if all(is_call_suite(row.subset) for row in singles) else SUITE_PASS
        metrics[MEAN_TEST_PASS] = {unit: [turn.share for turn in turns] for unit, turns in tasks.items()}
        metrics[suite] = {
            unit: [_fraction(turn.solved, 1) for turn in turns] for unit, turns in tasks.items()
        }
    if talks:
        samples = {
            unit: [[score(row, reading) for row in episode.rows] for episode in episodes if episode.judged]
            for unit, episodes in episodes_of(talks).items()
        }
        for name, measure in _EPISODE_MEASURES.items():
            metrics[name] = {unit: [measure(talk) for talk in talks] for unit, talks in samples.items()}
    return metrics


def overall_metrics(subsets: Mapping[str, Mapping[str, Exact]]) -> dict[str, MetricValue]:
    """Give the overall means: each metric's macro mean over the subsets that have it (PLSQLBench)."""
    overall: dict[str, MetricValue] = {}
    for name in METRICS:
        parts = [metrics[name] for metrics in subsets.values() if name in metrics and metrics[name].n]
        if parts:
            value = sum((part.value for part in parts), Fraction()) / len(parts)
            overall[name] = MetricValue(
                value=_rounded(value), n=sum(part.n for part in parts), subsets=len(parts)
            )
    return overall


def metric_value(exact: Exact) -> MetricValue:
    """Give a metric as reports write it."""
    return MetricValue(value=_rounded(exact.value) if exact.n else None, n=exact.n)


def episodes_of(results: Iterable[TurnResult]) -> dict[Unit, list[Episode]]:
    """Give the episodes of each conversation, one a sample (and model).

    A missing turn carries no model: it belongs to the episode of its sample whose turn it fills.

    Raises:
        InconsistentResultsError: turns or their number contradict each other.
    """
    return {unit: _samples(rows) for unit, rows in _by_unit(results).items()}


def _samples(rows: Sequence[TurnResult]) -> list[Episode]:
    by_sample: defaultdict[int, list[TurnResult]] = defaultdict(list)
    for row in rows:
        by_sample[row.sample].append(row)
    episodes = []
    for sample in sorted(by_sample):
        named = sorted({row.model for row in by_sample[sample] if row.model is not None})
        models: list[str | None] = [*named] or [None]
        for model in models:
            turns = {row.turn: row for row in by_sample[sample] if row.model is None}
            turns |= {row.turn: row for row in by_sample[sample] if row.model == model}
            episodes.append(_episode(turns))
    return episodes


def _episode(turns: Mapping[int, TurnResult]) -> Episode:
    rows = tuple(turns[number] for number in sorted(turns))
    lengths = {row.turns for row in rows}
    if len(lengths) != 1 or not 1 <= rows[0].turn <= rows[-1].turn <= rows[0].turns:
        raise InconsistentResultsError(
            f"conversation {rows[0].task!r}: turns {[row.turn for row in rows]} of {sorted(lengths)}"
        )
    return Episode(rows, rows[0].turns)


def _by_unit(results: Iterable[TurnResult]) -> dict[Unit, list[TurnResult]]:
    units: defaultdict[Unit, list[TurnResult]] = defaultdict(list)
    seen: set[tuple[object, ...]] = set()
    for row in results:
        unit = (row.subset, row.task, row.dialect)
        key = (*unit, row.turn, row.sample, row.model)
        if key in seen:
            raise InconsistentResultsError(
                f"two results for task {row.task!r} ({row.dialect}), turn {row.turn}, sample {row.sample}"
            )
        seen.add(key)
        units[unit].append(row)
    return dict(units)


def _check(result: TurnResult) -> None:
    passed = sum(test.verdict == "passed" for test in result.tests)
    consistent = (
        0 <= result.passed <= result.total
        and result.total > 0
        and result.solved == (result.passed == result.total)
        and (result.status != "missing" or result.passed == 0)
        and (not result.tests or (len(result.tests) == result.total and passed == result.passed))
    )
    if not consistent:
        raise InconsistentResultsError(
            f"task {result.task!r}, turn {result.turn}: {result.status}, {result.passed} of {result.total}"
            f" passed, {'solved' if result.solved else 'not solved'}, {passed} of {len(result.tests)} listed"
            " tests passed"
        )


def check_results(results: Sequence[TurnResult]) -> None:
    """Check that results contradict neither themselves nor each other, whatever is asked of them later.

    Raises:
        InconsistentResultsError: duplicates, counts that contradict each other, or several comparators.
    """
    if len(comparators := sorted({row.comparator for row in results})) > 1:
        raise InconsistentResultsError(f"results of several comparators: {', '.join(comparators)}")
    for row in results:
        if row.status in INCLUDED:
            _check(row)
    episodes_of(results)


def exact_mean(units: Iterable[Sequence[Fraction]]) -> Exact:
    """Average the samples of each unit, then the units; those without samples do not count."""
    means = [
        samples[0] if len(samples) == 1 else sum(samples, Fraction()) / len(samples)
        for samples in units
        if samples
    ]
    # thousands of fractions, few different ones: added up by value
    counts = Counter((mean.numerator, mean.denominator) for mean in means)
    total = sum((_fraction(*mean) * count for mean, count in counts.items()), Fraction())
    return Exact(total / len(means) if means else Fraction(), len(means))


@lru_cache(maxsize=4096)
def _fraction(numerator: int, denominator: int) -> Fraction:
    return Fraction(numerator, denominator)


def _rounded(value: Fraction) -> float:
    """Round to a float, but never to 1 (or 0) what is not quite 1 (or 0)."""
    rounded = float(value)
    if rounded == 1.0 and value != 1:
        return math.nextafter(1.0, 0.0)
    return rounded if rounded or not value else math.nextafter(0.0, 1.0)


def _episode_pass(turns: Sequence[Score]) -> Fraction:
    return _fraction(all(turn.solved for turn in turns), 1)


def _turn_suite_pass(turns: Sequence[Score]) -> Fraction:
    return _fraction(sum(turn.solved for turn in turns), len(turns))


def _episode_test_pass(turns: Sequence[Score]) -> Fraction:
    return _fraction(sum(turn.passed for turn in turns), sum(turn.total for turn in turns))


_EPISODE_MEASURES = {
    EPISODE_PASS: _episode_pass,
    TURN_SUITE_PASS: _turn_suite_pass,
    EPISODE_TEST_PASS: _episode_test_pass,
}
