"""Closed formulas: intervals of proportions, the exact paired test, several tests at once.

Each is the published one and nothing more; how they are put together for the metrics of a run stands in
``intervals`` and ``pairing``. See docs/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from scipy import special

CONFIDENCE = 0.95
"""Of every interval, unless a gate states another level; two-sided."""
POWER = 0.8
"""With which the smallest detectable difference is detected."""


class Interval(NamedTuple):
    """Bounds of a confidence interval."""

    low: float
    high: float

    def outer(self, other: Interval) -> Interval:
        """The interval that holds both."""
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def within(self, low: float, high: float) -> Interval:
        """The part of it that lies between two bounds."""
        return Interval(min(max(self.low, low), high), max(min(self.high, high), low))


def quantile(probability: float, freedom: float = math.inf) -> float:
    """Quantile of Student's t distribution; of the normal one for infinite degrees of freedom.

    Args:
        probability: below the quantile, between 0 and 1.
        freedom: degrees of freedom, above 0.
    """
    if math.isinf(freedom):
        return float(special.ndtri(probability))
    return float(special.stdtrit(freedom, probability))


def wilson(share: float, n: float, z: float) -> Interval:
    """Score interval of a proportion (Wilson 1927); with an effective ``n``, of a mean of a clustered sample.

    Never empty nor of width zero: with no failure among n it reaches down to n/(n + z²).

    Args:
        share: the proportion, from 0 to 1.
        n: how many independent observations it is worth, above 0; need not be whole.
        z: quantile of the confidence wanted, two-sided; infinite where nothing is known.
    """
    if math.isinf(z):
        return Interval(0.0, 1.0)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    centre = share + z * z / (2 * n)
    low = 0.0 if share <= 0 else (centre - half) / scale
    high = 1.0 if share >= 1 else (centre + half) / scale
    return Interval(low, high).within(0.0, 1.0)


def paired_score(gained: float, lost: float, n: float, z: float) -> Interval:
    """Score interval of the difference of two paired proportions (Tango 1998).

    Never of width zero: with no discordant pair among n it is ±z²/(n + z²).

    Args:
        gained: pairs that only the new one solves (or the sum of gains, where they are fractions).
        lost: pairs that only the old one solves.
        n: pairs, above 0; none of the three need be whole.
        z: quantile of the confidence wanted, two-sided; infinite where nothing is known.
    """
    if math.isinf(z):
        return Interval(-1.0, 1.0)
    difference = (gained - lost) / n

    def deviation(delta: float) -> float:
        """Standardized distance of the data from a true difference; falls as that grows."""
        linear = -gained - lost + (2 * n - gained + lost) * delta
        root = math.sqrt(max(linear * linear + 8 * n * lost * delta * (1 - delta), 0.0))
        only_old = (root - linear) / (4 * n)
        variance = n * (2 * only_old + delta * (1 - delta))
        return (gained - lost - n * delta) / math.sqrt(variance) if variance > 0 else math.inf

    return Interval(
        _bisect(lambda delta: deviation(delta) > z, -1.0, difference),
        _bisect(lambda delta: deviation(delta) > -z, difference, 1.0),
    )


def _bisect(above: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that holds at the left end ceases to hold."""
    for _ in range(60):
        middle = (low + high) / 2
        if above(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def mcnemar(gained: int, lost: int) -> float:
    """Exact two-sided p-value that gains and losses are equally likely (McNemar 1947, binomial form).

    For pairs that are independent of each other.

    Args:
        gained: pairs that only the new one solves.
        lost: pairs that only the old one solves.
    """
    n = gained + lost
    tail = sum(math.comb(n, k) for k in range(min(gained, lost) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**n)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values: rejecting what is at most 5 % keeps the family's error at 5 % (Holm 1979).

    Args:
        p_values: of the tests of a family, dependent or not.
    """
    adjusted = [1.0] * len(p_values)
    worst = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        worst = max(worst, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = worst
    return adjusted
