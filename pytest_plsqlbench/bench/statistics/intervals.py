"""Confidence intervals of metrics: over tasks, clustered by database. See docs/statistics.md."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from pytest_plsqlbench.bench.metrics import Unit
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.statistics.formulas import CONFIDENCE, Interval, wilson
from pytest_plsqlbench.bench.statistics.measures import ClusterBy
from pytest_plsqlbench.bench.statistics.resampling import Clusters, cluster, halves_interval

Samples = Mapping[Unit, Sequence[Fraction]]
"""Values of a metric: of each task or conversation of a subset those of its samples, from 0 to 1."""
Keys = Mapping[Unit, str]
"""The cluster of each unit; what is in one cluster may be alike, what is in two is independent."""

DIGITS = 6
"""Bounds are rounded to so many digits: the last bits of a sum may differ between machines."""


def cluster_keys(results: Iterable[TurnResult], by: ClusterBy = "database") -> dict[Unit, str]:
    """Give the cluster of each task and conversation.

    Tasks on one database are one cluster, in whichever subset and dialect. A task without a database is a
    cluster of its own, with its dialects. Where a whole subset has a single database its tasks are the
    clusters: the interval then speaks of further tasks on that database, of which alone the data tell.

    Args:
        results: of any subsets.
        by: ``task`` to take tasks as independent whatever their database.
    """
    databases: dict[Unit, str | None] = {}
    of_subset: defaultdict[str, set[str | None]] = defaultdict(set)
    for row in sorted(results, key=lambda row: row.turn):
        unit = (row.subset, row.task, row.dialect)
        databases.setdefault(unit, row.database)
        of_subset[row.subset].add(databases[unit])
    keys = {}
    for unit, database in databases.items():
        subset, task, _dialect = unit
        apart = by == "task" or database is None or len(of_subset[subset]) == 1
        keys[unit] = f"task\0{subset}\0{task}" if apart else f"database\0{database}"
    return keys


def mean_interval(subsets: Sequence[Samples], keys: Keys, confidence: float = CONFIDENCE) -> Interval | None:
    """Interval of the macro mean of subsets, each a mean over tasks (or conversations) of values from 0 to 1.

    Values that are all 0 or 1, one a cluster: Wilson's. Otherwise the outer bounds of the bootstrap by
    random halves of the clusters and of Wilson's interval for the effective number of tasks: near 0 and 1 a
    bootstrap cannot show the failures that were not drawn.

    Args:
        subsets: units without values are left out, and so are subsets without any.
        keys: of all units.
        confidence: two-sided.

    Returns:
        Rounded bounds from 0 to 1, the mean between them; None without values.
    """
    means = [unit_means(samples) for samples in subsets]
    sample = clusters_of([part for part in means if part], keys)
    if sample is None:
        return None
    values = [list(map(float, part.values())) for part in means if part]
    exact = sample.independent and all(value in {0.0, 1.0} for value in values[0])
    found = _score_interval(sample, values, confidence, exact=exact)
    if not exact:
        found = found.outer(halves_interval(sample, confidence) or found)
    found = found.outer(Interval(sample.mean, sample.mean)).within(0.0, 1.0)
    return rounded(found.within(*_possible(sample.mean, confidence)))


def _possible(mean: float, confidence: float) -> Interval:
    """What no sample of values from 0 to 1 leaves open, however they hang together (Markov's inequality).

    A true mean below a part ``tail`` of the one seen shows as much in fewer than ``tail`` of samples; random
    halves that hold no solved task at all would else make the lower bound 0, where something was solved.
    """
    tail = (1 - confidence) / 2
    mean = min(max(mean, 0.0), 1.0)
    return Interval(tail * mean, 1 - tail * (1 - mean))


def _score_interval(
    sample: Clusters, values: Sequence[Sequence[float]], confidence: float, *, exact: bool
) -> Interval:
    """Wilson's interval for the number of all-or-nothing tasks that the sample is worth (Franco et al. 2019).

    That number is what gives their mean the variance found between clusters, or that of independent tasks
    where it is larger; where all values are alike, the number of tasks (as Korn and Graubard 1998).
    """
    share = min(max(sample.mean, 0.0), 1.0)
    whole = share * (1 - share)
    variance = max(sample.variance, _independent_variance(values))
    n = whole / variance if not exact and whole > 0 else sample.harmonic_size
    return wilson(share, n, sample.quantile(confidence, exact=exact))


def _independent_variance(values: Sequence[Sequence[float]]) -> float:
    """Of the macro mean, were tasks independent; one all-or-nothing task is added to those of each subset.

    So that a few values that happen to be nearly alike do not promise that all others are. Where all are 0 or
    all are 1 that task is as the rule of succession has it.
    """
    parts = []
    for part in values:
        n = len(part)
        mean = math.fsum(part) / n
        spread = math.fsum((value - mean) ** 2 for value in part)
        share = mean if 0 < mean < 1 else (math.fsum(part) + 1) / (n + 2)
        parts.append((spread + share * (1 - share)) / (n + 1) / n)
    return math.fsum(parts) / len(parts) ** 2


def clusters_of(subsets: Sequence[Mapping[Unit, Fraction | int]], keys: Keys) -> Clusters | None:
    """Add the values of units up by cluster; None without any."""
    if not subsets:
        return None
    columns = []
    for values in subsets:
        column: defaultdict[str, list[float]] = defaultdict(list)
        for unit in sorted(values):
            column[keys[unit]].append(float(values[unit]))
        columns.append(column)
    return cluster(columns)


def rounded(interval: Interval) -> Interval:
    """Bounds as they are written and compared."""
    return Interval(round(interval.low, DIGITS), round(interval.high, DIGITS))


def unit_means(samples: Samples) -> dict[Unit, Fraction]:
    """Average the samples of each unit; one without samples is left out."""
    return {
        unit: values[0] if len(values) == 1 else sum(values, Fraction()) / len(values)
        for unit, values in samples.items()
        if values
    }


__all__ = [
    "ClusterBy",
    "Keys",
    "Samples",
    "cluster_keys",
    "clusters_of",
    "mean_interval",
    "rounded",
    "unit_means",
]
