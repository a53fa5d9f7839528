"""Several samples a task: what the chances to solve it by k of them are, as terminal and page show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.statistics.samples import SOLVED
from pytest_plsqlbench.reporting.headline import TITLES, column_cells, fitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_plsqlbench.bench.metrics import MetricValue
    from pytest_plsqlbench.bench.summary import Summary

CAPTION = "several samples a task: at least one of k solves it (@k), all of k do (^k)"
AT_LEAST_ONE = "one of k (@k)"
ALL = "all of k (^k)"


@dataclass(frozen=True, slots=True)
class Chances:
    """What k samples of the tasks of a subset are good for."""

    subset: str
    """As the results have it: not yet free of control characters."""
    title: str
    """Of what counts as solved: Suite Pass, EX or Episode Pass."""
    k: int
    n: int
    """Tasks or conversations that have at least k samples."""
    one: MetricValue
    """At least one of k samples solves it."""
    all: MetricValue
    """All of k do."""


def chances(summary: Summary) -> Iterator[Chances]:
    """The rows of a summary, in order of subset, metric and k; none where no task has several samples."""
    for subset, values in summary.samples.items():
        for metric in SOLVED:
            stem = metric.partition("@")[0]
            for k in sorted(int(name.partition("@")[2]) for name in values if name.startswith(f"{stem}@")):
                one = values[f"{stem}@{k}"]
                title = TITLES[metric].partition("@")[0]
                yield Chances(subset, title, k, one.n, one, values[f"{stem}^{k}"])


def chances_lines(summary: Summary) -> Iterator[str]:
    """A table of all rows; nothing where there are none."""
    found = list(chances(summary))
    if found:
        yield CAPTION
        yield from fitted(lambda digits: _cells(found, digits))


def _cells(found: Sequence[Chances], digits: int) -> Iterator[tuple[str, ...]]:
    yield ("subset", "metric", "k", "tasks", AT_LEAST_ONE, ALL)
    columns = ([row.one for row in found], [row.all for row in found])
    for row, *values in zip(found, *(column_cells(column, digits) for column in columns), strict=True):
        yield (escape(row.subset), row.title, str(row.k), str(row.n), *values)
