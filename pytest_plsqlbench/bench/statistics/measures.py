"""What can be measured of results: metrics, shares of failures, counts; of all of them or a part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, cast

from pytest_plsqlbench.bench.metrics import INCLUDED, METRICS, Unit
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.statistics.samples import SOLVED, SOLVED_AT_1, k_samples

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.statistics.intervals import Keys

ClusterBy = Literal["database", "task"]
"""What is taken as independent: databases (and tasks without one), or tasks."""
LOST = ("infrastructure_error", "engine_unavailable")
"""Statuses of turns whose verdict is unknown through no fault of program or task."""
TIME_LIMIT = "time_limit"

COUNTS: Mapping[str, Callable[[TurnResult], bool]] = {
    "turns": lambda _row: True,
    "graded": lambda row: row.status == "graded",
    "missing": lambda row: row.status == "missing",
    "reference_errors": lambda row: row.status == "reference_error",
    "infrastructure_errors": lambda row: row.status == "infrastructure_error",
    "unsupported": lambda row: row.status == "unsupported",
    "engine_unavailable": lambda row: row.status == "engine_unavailable",
    "timeouts": lambda row: row.status == "graded" and any(_timed_out(row)),
}
"""Turns (and samples) that are counted."""
RATIOS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {
    "coverage": (("graded",), INCLUDED),
    "judged": (INCLUDED, None),
}
"""Shares of turns: statuses that count, among which; None: among all."""
FILTERS = ("dialect", "difficulty", "database", "reasoning_type", "construct")
"""What a part of the tasks can be chosen by."""


def by_subset(rows: Iterable[TurnResult]) -> dict[str, list[TurnResult]]:
    """Results by subset, sorted."""
    subsets: defaultdict[str, list[TurnResult]] = defaultdict(list)
    for row in rows:
        subsets[row.subset].append(row)
    return dict(sorted(subsets.items()))


def is_metric(name: str) -> bool:
    """Tell whether a name is a metric's: one of summary.json, or ``solved@k``, ``suite_pass^k`` and so on."""
    stem, _, k = name.partition("^" if "^" in name else "@")
    stems = {metric.partition("@")[0] for metric in (SOLVED_AT_1, *SOLVED)}
    return name in METRICS or (stem in stems and _is_number(k))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 6 and int(text) > 0


def metric_samples(
    samples: Mapping[str, dict[Unit, list[Fraction]]], metric: str
) -> dict[Unit, list[Fraction]]:
    """Give the values of a metric by task and sample; empty where the subset has no such metric.

    ``solved`` is ``suite_pass``, ``ex`` or ``episode_pass``, whichever a task has.

    Args:
        samples: of one subset, as ``unit_samples`` gives them.
        metric: a name that ``is_metric``.
    """
    if metric in samples:
        return samples[metric]
    sign = "^" if "^" in metric else "@"
    stem, _, k = metric.partition(sign)
    if stem != SOLVED_AT_1.partition("@")[0]:
        return k_samples(samples, metric) or {}
    merged: dict[Unit, list[Fraction]] = {}
    for name in SOLVED:
        if metric == SOLVED_AT_1:
            merged |= samples.get(name, {})
        else:
            merged |= k_samples(samples, f"{name.partition('@')[0]}{sign}{k}") or {}
    return merged


def lost_units(rows: Sequence[TurnResult], samples: Mapping[Unit, Sequence[Fraction]]) -> list[Unit]:
    """Tasks without a value since a turn's verdict was lost, and for no other reason."""
    statuses: defaultdict[Unit, set[str]] = defaultdict(set)
    for row in rows:
        statuses[row.subset, row.task, row.dialect].add(row.status)
    return [
        unit
        for unit in sorted(samples)
        if not samples[unit] and statuses[unit] & {*LOST} and statuses[unit] <= {*LOST, *INCLUDED}
    ]


def failure_samples(
    rows: Iterable[TurnResult], kind: str, keys: Keys
) -> tuple[dict[Unit, list[Fraction]], dict[Unit, str]]:
    """Give 1 for each graded turn whose first failed test is of a kind, else 0; with the clusters of turns.

    Args:
        rows: of any subsets.
        kind: a category, a subcategory, or both as ``category/subcategory``.
        keys: clusters of tasks; the turns of a conversation are in one.
    """
    turns: defaultdict[Unit, list[Fraction]] = defaultdict(list)
    clusters: dict[Unit, str] = {}
    for row in rows:
        turn = (row.subset, f"{row.task}\0{row.turn}", row.dialect)
        clusters[turn] = keys[row.subset, row.task, row.dialect]
        values = turns[turn]
        if row.status == "graded":
            values.append(Fraction(_fails_so(row, kind)))
    return dict(turns), clusters


def choose(rows: Iterable[TurnResult], filters: Mapping[str, str]) -> list[TurnResult]:
    """Keep the tasks that have a property; of a conversation all turns, where any turn has it.

    Args:
        rows: results.
        filters: values by name, of ``FILTERS``; all must hold.
    """
    rows = list(rows)
    for name, value in filters.items():
        chosen = {(row.subset, row.task, row.dialect) for row in rows if value in properties(row, name)}
        rows = [row for row in rows if (row.subset, row.task, row.dialect) in chosen]
    return rows


def ratio(rows: Sequence[TurnResult], name: str) -> tuple[int, int]:
    """Give the two counts of a share of turns, one of ``RATIOS``."""
    counted, among = RATIOS[name]
    return (
        sum(row.status in counted for row in rows),
        sum(among is None or row.status in among for row in rows),
    )


def properties(row: TurnResult, name: str) -> Sequence[str | None]:
    """Values of a task, of one of ``FILTERS``; None where it has none."""
    if name == "reasoning_type":
        return row.reasoning_types
    if name == "construct":
        return row.constructs
    return (cast("str | None", getattr(row, name)),)


def _fails_so(row: TurnResult, kind: str) -> bool:
    failed = next((test for test in row.tests if test.verdict == "failed"), None)
    if failed is None:
        return False
    return kind in {failed.category, failed.subcategory, f"{failed.category}/{failed.subcategory}"}


def _timed_out(row: TurnResult) -> Iterable[bool]:
    return (test.verdict == "failed" and test.subcategory == TIME_LIMIT for test in row.tests)
