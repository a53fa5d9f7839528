"""The figures behind the plots of a report: who was how good at what, with intervals. No drawing here."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import msgspec

from pytest_plsqlbench.bench.codes import CATEGORIES
from pytest_plsqlbench.bench.metrics import EPISODE_PASS, EX, INCLUDED, SUITE_PASS, Unit
from pytest_plsqlbench.bench.statistics.intervals import cluster_keys, mean_interval
from pytest_plsqlbench.bench.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.reporting.page.source import SavedRun

FEWEST = 5
"""Turns that a group must have to be shown in a plot."""
FEWEST_TURNS = 20
"""Graded turns from which on a report has plots at all."""
MOST_SERIES = 6
"""Runs in one plot, the first ones."""
MOST_GROUPS = 14
"""Groups in one plot, the largest ones."""
STRICT = (SUITE_PASS, EX, EPISODE_PASS)
DIFFICULTIES = ("simple", "easy", "moderate", "medium", "hard", "complex", "challenging", "extra")
SIZES = ((1, "1"), (3, "2-3"), (6, "4-6"), (10, "7-10"), (20, "11-20"), (math.inf, "over 20"))
"""Upper bounds of cyclomatic complexity, and what the group is called."""
RATIOS = (
    (0.5, "under ½"),
    (0.8, "½ - 0.8"),
    (1.25, "0.8 - 1.25"),
    (2, "1.25 - 2"),
    (5, "2 - 5"),
    (math.inf, "over 5"),
)
STAGES = {"single": "direct", "direct": "direct", "multi": "interactive", "interactive": "interactive"}
"""How predictions name the stage of ProcArena, in their key ``stage``."""

_ZERO, _ONE = Fraction(0), Fraction(1)

Kind = Literal["dots", "stack", "line", "bars"]


class Point(msgspec.Struct, frozen=True):
    """A share of turns (or a mean of tasks), from 0 to 1, with its interval."""

    group: str
    value: float
    low: float | None
    high: float | None
    n: int


class Series(msgspec.Struct, frozen=True):
    """The points of one run (or of one kind of failure)."""

    name: str
    points: tuple[Point, ...]

    def at(self, group: str) -> Point | None:
        """The point of a group; None where there is none."""
        return next((point for point in self.points if point.group == group), None)


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One plot, and the table beside it."""

    id: str
    title: str
    note: str
    kind: Kind
    unit: str
    """What ``n`` counts."""
    groups: tuple[str, ...]
    series: tuple[Series, ...]

    @property
    def summary(self) -> str:
        """What it shows, in words."""
        who = ", ".join(series.name for series in self.series)
        return f"{self.note} Shown for {who}; by {', '.join(self.groups)}."


def figures(runs: Sequence[SavedRun]) -> list[Figure]:
    """All plots for which the runs have data, in the order in which they are shown."""
    judged = max((sum(result.status in INCLUDED for result in run.results) for run in runs), default=0)
    if judged < FEWEST_TURNS:
        return []
    shown = runs[:MOST_SERIES]
    found = [
        _by_subset(shown),
        _stages(shown),
        _failures(shown),
        *(
            _rates(shown, *what)
            for what in (
                ("difficulty", "By difficulty", "as the benchmark annotates it", _difficulty),
                ("reasoning", "By kind of reasoning", "as the benchmark annotates it", _reasoning),
                ("construct", "By construct", "that the reference program uses", _constructs),
                ("complexity", "By complexity", "cyclomatic complexity of the reference program", _size),
            )
        ),
        _by_turn(shown),
        _ratio(shown, "time", "Time against the reference", "elapsed_ms", "reference_ms"),
        _ratio(shown, "work", "Database work against the reference", "work", "reference_work"),
    ]
    return [figure for figure in found if figure is not None]


def _by_subset(runs: Sequence[SavedRun]) -> Figure | None:
    series = []
    for run in runs:
        points = []
        for subset, metrics in run.summary.metrics.items():
            strict = [metrics[name] for name in STRICT if name in metrics]
            metric = max(strict, key=lambda entry: entry.n, default=None)
            if metric is not None and metric.value is not None and metric.n >= FEWEST:
                points.append(Point(visible(subset), metric.value, metric.low, metric.high, metric.n))
        series.append(Series(run.label, tuple(points)))
    return _figure(
        "subsets",
        "By subset",
        "Tasks with every test passed; for conversations, those with every turn solved.",
        "dots",
        series,
        _groups(series),
        unit="tasks or conversations",
    )


def _stages(runs: Sequence[SavedRun]) -> Figure | None:
    """Direct beside Interactive, for runs or models that have both."""

    def stage(result: TurnResult) -> tuple[str, ...]:
        found = STAGES.get(str(result.extra.get("stage", "")))
        return (f"{visible(result.subset)}, {found}",) if found else ()

    series = [Series(run.label, tuple(_points(run.results, stage))) for run in runs]
    groups = _groups(series, order=lambda group: (group,))
    both = [group for group in groups if _partner(group) in groups]
    return _figure(
        "stages", "Direct and interactive", "Turns solved, by stage.", "dots", series, both, unit="turns"
    )


def _partner(group: str) -> str:
    subset, _, stage = group.rpartition(", ")
    return f"{subset}, {'interactive' if stage == 'direct' else 'direct'}"


def _failures(runs: Sequence[SavedRun]) -> Figure | None:
    """Share of each kind of failure among all turns that count."""
    kinds = [*CATEGORIES, "unclassified", "missing"]
    shares: dict[str, list[Point]] = {kind: [] for kind in kinds}
    for name, results in _bars(runs):
        counts = Counter(_kind(result) for result in results if result.status in INCLUDED)
        total = counts.total()
        for kind in kinds:
            if total and counts[kind]:
                shares[kind].append(Point(name, counts[kind] / total, None, None, counts[kind]))
    series = [Series(kind, tuple(points)) for kind, points in shares.items() if points]
    groups = [name for name, _ in _bars(runs)]
    return _figure(
        "failures",
        "What failed",
        "Turns not solved, by the category of the first failed test, as a share of all turns.",
        "stack",
        series,
        groups,
        unit="turns",
    )


def _bars(runs: Sequence[SavedRun]) -> Iterator[tuple[str, list[TurnResult]]]:
    """One bar a subset, or a run where there are several."""
    if len(runs) > 1:
        yield from ((run.label, list(run.results)) for run in runs)
        return
    subsets: defaultdict[str, list[TurnResult]] = defaultdict(list)
    for result in runs[0].results:
        subsets[visible(result.subset)].append(result)
    yield from subsets.items()


def _kind(result: TurnResult) -> str:
    if result.status == "missing" or result.solved:
        return result.status
    failed = next((test for test in result.tests if test.verdict == "failed"), None)
    return failed.category or "unclassified" if failed else "unclassified"


def _rates(
    runs: Sequence[SavedRun],
    name: str,
    title: str,
    note: str,
    groups_of: Callable[[TurnResult], Sequence[str]],
) -> Figure | None:
    series = [Series(run.label, tuple(_points(run.results, groups_of))) for run in runs]
    order = _ORDERS.get(name)
    return _figure(
        name, title, f"Turns solved; {note}.", "dots", series, _groups(series, order=order), unit="turns"
    )


def _by_turn(runs: Sequence[SavedRun]) -> Figure | None:
    def turn(result: TurnResult) -> tuple[str, ...]:
        return (str(result.turn),) if result.conversation else ()

    series = [Series(run.label, tuple(_points(run.results, turn))) for run in runs]
    groups = _groups(series, order=lambda group: (int(group),))
    if len(groups) < 2:
        return None
    return _figure(
        "turns",
        "By turn of the conversation",
        "Turns solved, by their place in the conversation.",
        "line",
        series,
        groups,
        unit="turns",
    )


def _ratio(runs: Sequence[SavedRun], name: str, title: str, own: str, reference: str) -> Figure | None:
    """How solved turns spread over ratios to the reference."""
    series = []
    for run in runs:
        counts: Counter[str] = Counter()
        for result in run.results:
            mine = sum(getattr(test, own) or 0 for test in result.tests)
            other = sum(getattr(test, reference) or 0 for test in result.tests)
            if result.solved and mine and other:
                counts[_bin(mine / other, RATIOS)] += 1
        total = counts.total()
        if total >= FEWEST:
            points = [Point(label, counts[label] / total, None, None, counts[label]) for _, label in RATIOS]
            series.append(Series(run.label, tuple(points)))
    return _figure(
        name,
        title,
        "Solved turns by how many times what the reference took they took.",
        "bars",
        series,
        [label for _, label in RATIOS],
        unit="turns",
    )


def _bin(value: float, bins: Sequence[tuple[float, str]]) -> str:
    return next(label for bound, label in bins if value <= bound)


def _difficulty(result: TurnResult) -> Sequence[str]:
    return (visible(result.difficulty),) if result.difficulty else ()


def _reasoning(result: TurnResult) -> Sequence[str]:
    return [visible(kind) for kind in result.reasoning_types]


def _constructs(result: TurnResult) -> Sequence[str]:
    if result.reference is not None and result.reference.constructs:
        return result.reference.constructs
    return [visible(construct) for construct in result.constructs]


def _size(result: TurnResult) -> Sequence[str]:
    return (_bin(result.reference.cyclomatic, SIZES),) if result.reference is not None else ()


_ORDERS: dict[str, Callable[[str], tuple[object, ...]]] = {
    "difficulty": lambda group: (
        DIFFICULTIES.index(group) if group in DIFFICULTIES else len(DIFFICULTIES),
        group,
    ),
    "complexity": lambda group: ([label for _, label in SIZES].index(group),),
}


def _points(
    results: Iterable[TurnResult], groups_of: Callable[[TurnResult], Sequence[str]]
) -> Iterator[Point]:
    """Share of solved turns of each group, with the interval clustered by database."""
    rows = [result for result in results if result.status in INCLUDED]
    keys = cluster_keys(rows)
    groups: defaultdict[str, defaultdict[Unit, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    turn_keys: dict[Unit, str] = {}
    for result in rows:
        unit = (result.subset, f"{result.task}\0{result.turn}", result.dialect)
        turn_keys[unit] = keys[result.subset, result.task, result.dialect]
        for group in groups_of(result):
            groups[group][unit].append(_ONE if result.solved else _ZERO)
    for group, units in groups.items():
        n = sum(map(len, units.values()))
        if n < FEWEST:
            continue
        value = sum(values.count(_ONE) / len(values) for values in units.values()) / len(units)
        interval = mean_interval([units], turn_keys)
        low, high = interval if interval is not None else (None, None)
        yield Point(group, value, low, high, n)


def _groups(
    series: Sequence[Series], *, order: Callable[[str], tuple[object, ...]] | None = None
) -> list[str]:
    """Groups of all series: in the given order, else the largest first; the smallest of many left out."""
    sizes: Counter[str] = Counter()
    for entry in series:
        for point in entry.points:
            sizes[point.group] = max(sizes[point.group], point.n)
    kept = [group for group, _ in sizes.most_common(MOST_GROUPS)]
    return sorted(kept, key=order) if order else kept


def _figure(
    name: str,
    title: str,
    note: str,
    kind: Kind,
    series: Sequence[Series],
    groups: Sequence[str],
    *,
    unit: str,
) -> Figure | None:
    """The figure, or None where it would show nothing."""
    kept = [
        Series(entry.name, tuple(point for point in entry.points if point.group in groups))
        for entry in series
    ]
    kept = [entry for entry in kept if entry.points]
    if not groups or not kept:
        return None
    return Figure(
        id=name,
        title=title,
        note=note,
        kind=kind,
        unit=unit,
        groups=tuple(groups),
        series=tuple(kept),
    )
