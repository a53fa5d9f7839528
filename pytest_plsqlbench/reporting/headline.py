"""The headline of a run: metrics by subset with their intervals, as terminal and Markdown show them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.metrics import (
    EPISODE_PASS,
    EPISODE_TEST_PASS,
    EX,
    MEAN_TEST_PASS,
    SUITE_PASS,
    TURN_SUITE_PASS,
)
from pytest_plsqlbench.bench.visible import shorten, shown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_plsqlbench.bench.metrics import MetricValue
    from pytest_plsqlbench.bench.summary import Summary

WIDTH = 80
"""Columns of a terminal table."""
LEAST_NAME = 13
"""Columns that the names of subsets get, where longer names would be cut for the sake of decimals."""
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


@dataclass(frozen=True, slots=True)
class Row:
    """A subset, or all of them."""

    name: str
    """Free of control characters; empty: the mean over the subsets."""
    count: int
    """Tasks or episodes."""
    coverage: str
    metrics: tuple[MetricValue | None, ...]
    """One a column; None where the subset does not have it."""


@dataclass(frozen=True, slots=True)
class Headline:
    """One table: single turns, or conversations."""

    unit: str
    titles: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def has_intervals(self) -> bool:
        """Whether there is one anywhere."""
        return any(m is not None and m.low is not None for row in self.rows for m in row.metrics)


def headlines(summary: Summary) -> list[Headline]:
    """The tables of a summary, in order; none where there are no results."""
    tables = (_headline(summary, SINGLE, "tasks"), _headline(summary, EPISODES, "episodes"))
    return [table for table in tables if table is not None]


def _headline(summary: Summary, names: Sequence[str], unit: str) -> Headline | None:
    subsets = {subset: m for subset, m in summary.metrics.items() if any(name in m for name in names)}
    if not subsets:
        return None
    used = [name for name in names if any(name in metrics for metrics in subsets.values())]
    rows = [
        _row(escape(subset), metrics, used, percent(summary.subsets[subset].coverage.value))
        for subset, metrics in subsets.items()
    ]
    if len(rows) > 1:
        rows.append(_row("", summary.overall, used, ""))
    return Headline(unit, tuple(TITLES[name] for name in used), tuple(rows))


def _row(name: str, metrics: Mapping[str, MetricValue], used: Sequence[str], coverage: str) -> Row:
    count = max((metrics[key].n for key in used if key in metrics), default=0)
    return Row(name, count, coverage, tuple(metrics.get(key) for key in used))


def table_lines(table: Headline) -> Iterator[str]:
    """Lines of text, as wide as a terminal: bounds with a decimal where there is room for it."""
    return fitted(lambda digits: _cells(table, digits))


def fitted(cells: Callable[[int], Iterable[tuple[str, ...]]]) -> Iterator[str]:
    """Lines of a table as wide as a terminal; the first column is cut where that does not do.

    Args:
        cells: gives the rows, the heading among them, with so many decimals in the bounds of intervals.
    """
    for digits in (1, 0):
        rows = list(cells(digits))
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        room = WIDTH - sum(width + 2 for width in widths[1:])
        if room >= min(widths[0], LEAST_NAME):
            break
    widths[0] = max(7, min(widths[0], room))
    for row in rows:
        others = (f"  {cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"{shorten(row[0], widths[0]):<{widths[0]}}{''.join(others)}".rstrip()


def _cells(table: Headline, digits: int) -> Iterator[tuple[str, ...]]:
    yield ("subset", table.unit, "coverage", *table.titles)
    columns = [
        column_cells(column, digits) for column in zip(*(row.metrics for row in table.rows), strict=True)
    ]
    for row, *values in zip(table.rows, *columns, strict=True):
        yield (row.name or "overall", str(row.count), row.coverage, *values)


def column_cells(metrics: Sequence[MetricValue | None], digits: int) -> list[str]:
    """The cells of a column of metrics: each value, and the intervals one below the other."""
    width = max((len(interval(metric, digits)) for metric in metrics), default=0)
    return [_cell(metric, digits, width) for metric in metrics]


def _cell(metric: MetricValue | None, digits: int, width: int) -> str:
    """The value, and its interval below those of other rows."""
    if metric is None:
        return ""
    return f"{percent(metric.value)} {interval(metric, digits):<{width}}" if width else percent(metric.value)


def interval(metric: MetricValue | None, digits: int = 1) -> str:
    """Bounds in percent, rounded outwards: what is shown is never narrower than what was computed."""
    return "" if metric is None else outer(metric.low, metric.high, digits)


def outer(low: float | None, high: float | None, digits: int = 1) -> str:
    """Bounds in percent, rounded outwards; empty where there are none."""
    if low is None or high is None:
        return ""
    scale = 10**digits
    least = math.floor(round(low * 100 * scale, 6)) / scale
    most = math.ceil(round(high * 100 * scale, 6)) / scale
    return f"{least:.{digits}f}-{most:.{digits}f}"


def percent(value: float | None) -> str:
    """One decimal; never 100.0 % for less than all, nor 0.0 % for more than nothing."""
    if value is None:
        return "-"
    shown = round(value * 100, 1)
    if shown == 100 and value < 1:
        shown = 99.9
    if shown == 0 and value > 0:
        shown = 0.1
    return f"{shown:.1f}%"


def models_named(summary: Summary, most: int = 3) -> str:
    """Whose results they are, fit for a line."""
    names = [shown_name(name, 40) for name in summary.models]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}" or "no model named"
