"""A metric of two models over the same tasks: the difference, and how much of it is certain."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from pytest_plsqlbench.bench.metrics import Unit, exact_mean
from pytest_plsqlbench.bench.statistics.formulas import (
    CONFIDENCE,
    POWER,
    Interval,
    mcnemar,
    paired_score,
    quantile,
)
from pytest_plsqlbench.bench.statistics.intervals import Keys, clusters_of, rounded
from pytest_plsqlbench.bench.statistics.resampling import Clusters, halves_interval, sign_flip

Pairs = Mapping[Unit, tuple[Fraction, Fraction]]
"""Of each task or conversation of a subset: the baseline's value and the new one."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A metric compared with a baseline by task, over the tasks that both were judged on."""

    baseline: float
    value: float
    difference: float
    """``value - baseline``."""
    low: float
    high: float
    """Confidence interval of the difference."""
    confidence: float
    p: float
    """Two-sided, exact: that the sign of each cluster's difference is the toss of a coin."""
    test: str
    """``mcnemar`` where tasks are independent and each is solved or not, else ``sign_flip`` over clusters."""
    p_holm: float | None = None
    """``p`` adjusted for the number of subsets that were compared (Holm)."""
    detectable: float
    """The smallest true difference that the comparison would have shown with a probability of 80 %."""
    n: int
    """Tasks or conversations compared."""
    clusters: int
    """Groups of them that are independent of each other: databases, or tasks without one."""
    gained: int
    """Tasks with a higher value than in the baseline."""
    lost: int
    """Tasks with a lower value."""
    decidable: bool
    """Enough clusters for an interval of this confidence to exclude anything."""
    moving: int = 0
    """Clusters whose sum differs: the exact test knows these alone, and ``p`` is at least 2 / 2**moving."""


def compare_pairs(subsets: Sequence[Pairs], keys: Keys, confidence: float = CONFIDENCE) -> Difference | None:
    """Compare the macro mean of subsets (of one: its mean) between two models.

    The interval is the outer one of the bootstrap by random halves of the clusters and of Tango's score
    interval for the effective number of pairs, which also knows of the differences that were not drawn.

    Args:
        subsets: values from 0 to 1; subsets without pairs are left out.
        keys: the cluster of each unit.
        confidence: two-sided.

    Returns:
        None without pairs.
    """
    subsets = [pairs for pairs in subsets if pairs]
    changes = [
        {unit: new - old for unit, (old, new) in pairs.items() if new is not old and new != old}
        for pairs in subsets
    ]
    sample = clusters_of(
        [{unit: part.get(unit, 0) for unit in pairs} for pairs, part in zip(subsets, changes, strict=True)],
        keys,
    )
    if sample is None:
        return None
    exact = sample.independent and all(
        value.denominator == 1 for pair in subsets[0].values() for value in pair
    )
    moves = [[float(change) for change in part.values()] for part in changes]
    gained = sum(change > 0 for part in moves for change in part)
    lost = sum(map(len, moves)) - gained
    sums = _cluster_sums(subsets, changes, keys)
    halves = halves_interval(sample, confidence)
    score = _score_interval(moves, sample, confidence, exact=exact)
    interval = score.outer(halves or score).within(-1.0, 1.0)
    old, new = (_macro_mean(subsets, place) for place in (0, 1))
    bounds = rounded(interval.outer(Interval(sample.mean, sample.mean)))
    return Difference(
        baseline=float(old),
        value=float(new),
        difference=float(new - old),
        low=bounds.low,
        high=bounds.high,
        confidence=confidence,
        p=mcnemar(gained, lost) if exact else sign_flip(sums),
        test="mcnemar" if exact else "sign_flip",
        detectable=round(_detectable(interval, sample, confidence, exact=exact), 6),
        n=sum(map(len, subsets)),
        clusters=sample.count,
        gained=gained,
        lost=lost,
        decidable=halves is not None,
        moving=sum(total != 0 for total in sums),
    )


def _score_interval(
    moves: Sequence[Sequence[float]], sample: Clusters, confidence: float, *, exact: bool
) -> Interval:
    """Tango's interval for as many pairs as the clustered sample is worth, at most all of them.

    Differences of a part of a task count as so many fewer, smaller ones; one of a whole task is added to
    those seen, as the next might be one.
    """
    n = sample.harmonic_size
    gained = n * _macro([[max(move, 0.0) for move in part] for part in moves], sample)
    lost = n * _macro([[max(-move, 0.0) for move in part] for part in moves], sample)
    squares = n * _macro([[move * move for move in part] for part in moves], sample)
    size = (squares + 1) / (gained + lost + 1)
    alike = (size * (gained + lost) / n - sample.mean**2) / n
    worth = 1.0 if exact or alike <= 0 else max(1.0, sample.variance / alike)
    z = sample.quantile(confidence, exact=exact)
    low, high = paired_score(gained / size / worth, lost / size / worth, n / worth, z)
    return Interval(low * size, high * size)


def _macro(parts: Sequence[Sequence[float]], sample: Clusters) -> float:
    """The mean over subsets of means over all pairs, of which those that are not given are 0."""
    shares = [math.fsum(part) / total for part, total in zip(parts, sample.totals.tolist(), strict=True)]
    return math.fsum(shares) / len(shares)


def _macro_mean(subsets: Sequence[Pairs], place: int) -> Fraction:
    means = [exact_mean([pair[place]] for pair in pairs.values()).value for pairs in subsets]
    return sum(means, Fraction()) / len(means)


def _cluster_sums(
    subsets: Sequence[Pairs], changes: Sequence[Mapping[Unit, Fraction]], keys: Keys
) -> list[Fraction]:
    """What each cluster adds to the difference of the means; whole numbers of a single subset stay whole."""
    sums: defaultdict[str, Fraction] = defaultdict(Fraction)
    for pairs, part in zip(subsets, changes, strict=True):
        for unit, change in part.items():
            sums[keys[unit]] += change / len(pairs) if len(subsets) > 1 else change
    return [sums[key] for key in sorted(sums)]


def _detectable(interval: Interval, sample: Clusters, confidence: float, *, exact: bool) -> float:
    """A true difference whose interval excludes 0 with the probability POWER, given this much noise."""
    z = sample.quantile(confidence, exact=exact)
    half = (interval.high - interval.low) / 2
    if math.isinf(z):
        return 1.0
    error = math.sqrt(sample.variance) or half / z
    power = quantile(POWER) if exact else quantile(POWER, sample.freedom)
    return min(1.0, half + power * error)


__all__ = ["Difference", "Pairs", "compare_pairs"]
