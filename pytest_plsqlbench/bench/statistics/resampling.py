"""Clustered samples: the bootstrap by random halves, and the exact test that belongs to it.

A half: every cluster is in or out by the toss of a coin. Where each cluster's contribution is as likely to
lie below the true mean as above it, the means of the halves divide the line into parts that hold the true
mean with equal probability, however few clusters there are (Hartigan 1969, the typical value theorem; Efron
1982, chapter 9). The quantiles of these means are the interval; that 0 lies outside it is the same as a
significant test by flipping signs, which is McNemar's exact test where every cluster is one pair.
The usual bootstrap (clusters drawn with replacement) needs some fifty clusters to keep what it promises; the
published sets have 7 to 26. Figures: docs/statistics.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pytest_plsqlbench.bench.statistics.formulas import Interval, quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HALVES = 3999
"""Random halves: the bounds of a 95 % interval are order statistics 100 and 3900."""
FLIPS_COUNTED = 1 << 13
"""Up to so many ways to flip signs, all are counted; of more, some are drawn, as many as halves."""
BLOCK = 500
SEED = 20_260_815


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Sums over clusters of independent tasks, for the macro mean of one or several subsets.

    One row a cluster, in the order of its key; one column a subset.
    """

    sums: Floats
    """Of the values of its units."""
    sizes: Floats
    """Number of its units."""

    @property
    def count(self) -> int:
        """Number of clusters."""
        return len(self.sums)

    @property
    def totals(self) -> Floats:
        """Number of units, by subset."""
        totals: Floats = self.sizes.sum(axis=0)
        return totals

    @property
    def means(self) -> Floats:
        """By subset."""
        means: Floats = self.sums.sum(axis=0) / self.totals
        return means

    @property
    def mean(self) -> float:
        """Over subsets, each counting the same."""
        return float(self.means.mean())

    @property
    def harmonic_size(self) -> float:
        """How many units of one subset would give the macro mean the same precision."""
        totals = self.totals
        return float(len(totals) ** 2 / (1 / totals).sum())

    @property
    def influences(self) -> Floats:
        """What each cluster adds to the deviation of the mean, by subset."""
        influences: Floats = (self.sums - self.means * self.sizes) / (self.totals * len(self.totals))
        return influences

    @property
    def variance(self) -> float:
        """Of the mean: between clusters (Miller 2024, eq. 4), with the correction for few of them."""
        if self.count < 2:
            return 0.0
        whole = self.influences.sum(axis=1)
        return float((whole**2).sum() * self.count / (self.count - 1))

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance (Satterthwaite 1946); 0 with a single cluster.

        Of several subsets each counts by its part of the variance; where none was found, by that of its size.
        Subsets of independent tasks take none away: their variance follows from their mean, however few they
        are. Were the smallest subset to decide alone, one of a single task would leave nothing certain.
        """
        counts = (self.sizes > 0).sum(axis=0)
        if len(counts) == 1:
            return float(counts.min() - 1)
        parts = (self.influences**2).sum(axis=0)
        if not parts.any():
            parts = 1 / counts
        clustered = (self.sizes > 1).any(axis=0) & (counts > 1)
        lost = (parts**2 / np.maximum(counts - 1, 1))[clustered].sum()
        return float(parts.sum() ** 2 / lost) if lost > 0 else math.inf

    @property
    def independent(self) -> bool:
        """One subset, and every cluster a single unit."""
        return self.sizes.shape[1] == 1 and bool((self.sizes == 1).all())

    def quantile(self, confidence: float, *, exact: bool) -> float:
        """Two-sided quantile for a score interval; infinite with a single cluster, which tells no variance.

        Args:
            confidence: two-sided.
            exact: independent and all 0 or 1: the variance follows from the mean and is not estimated.
        """
        if exact:
            return quantile((1 + confidence) / 2)
        return quantile((1 + confidence) / 2, self.freedom) if self.freedom > 0 else math.inf


def cluster(values: Sequence[Mapping[str, Sequence[float]]]) -> Clusters:
    """Add values up by cluster.

    Args:
        values: of each subset, by key of the cluster; no subset without values.
    """
    keys = sorted(set().union(*values))
    sums = np.array([[math.fsum(part.get(key, ())) for part in values] for key in keys])
    sizes = np.array([[float(len(part.get(key, ()))) for part in values] for key in keys])
    return Clusters(sums, sizes)


def halves_interval(sample: Clusters, confidence: float) -> Interval | None:
    """Interval of the mean by random halves; None where there are too few clusters for the confidence.

    Args:
        sample: the values.
        confidence: two-sided.
    """
    tail = (1 - confidence) / 2
    if sample.count < math.log2(1 / tail):
        return None
    columns = np.hstack((sample.sums, sample.sizes))
    sums, sizes = np.hsplit(np.vstack([toss @ columns for toss in _coins(sample.count)]), 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(sizes > 0, sums / sizes, sample.means).mean(axis=1)
    means.sort()
    place = max(math.floor(round(tail * (len(means) + 1), 6)), 1)
    return Interval(float(means[place - 1]), float(means[-place]))


def sign_flip(sums: Sequence[Fraction]) -> float:
    """Two-sided p-value that the sums of clusters are symmetric about 0 (Fisher's randomization test).

    Exact where sums are few or whole; else from a fixed number of random flips, the observed one counted
    among them (Phipson and Smyth 2010), so that it is never too small.

    Args:
        sums: differences summed up by cluster.
    """
    moving = [abs(value) for value in sums if value]
    observed = abs(sum(sums, Fraction()))
    if not observed:
        return 1.0
    if all(value.denominator == 1 for value in moving):
        return _whole_flips([int(value) for value in moving], int(observed))
    sizes = np.array([float(value) for value in moving])
    every = 2 ** len(moving) <= FLIPS_COUNTED
    blocks = [_every_sign(len(moving))] if every else (2 * toss - 1 for toss in _coins(len(moving)))
    flipped = np.concatenate([np.abs(signs @ sizes) for signs in blocks])
    as_far = int(np.count_nonzero(flipped >= float(observed) - 1e-9 * sizes.sum()))
    return as_far / len(flipped) if every else (as_far + 1) / (len(flipped) + 1)


def _whole_flips(sizes: Sequence[int], observed: int) -> float:
    """The exact distribution of the sum under random signs, by convolution."""
    reach = sum(sizes)
    weights = np.zeros(2 * reach + 1)
    weights[reach] = 1.0
    for size in sizes:
        up, down = np.zeros_like(weights), np.zeros_like(weights)
        up[size:], down[:-size] = weights[:-size], weights[size:]
        weights = (up + down) / 2
    return float(min(1.0, 2 * math.fsum(weights[: reach - observed + 1])))


def _every_sign(count: int) -> Floats:
    numbers = np.arange(2**count)[:, None] >> np.arange(count)
    return (numbers & 1).astype(np.float64) * 2 - 1


def _coins(count: int) -> Iterator[Floats]:
    """Fair coins: a row a half, a column a cluster, some rows at a time.

    The same on every machine and with every numpy: the generator's own words, none of its distributions.
    """
    packed = _words(count)
    for start in range(0, HALVES, BLOCK):
        bits = np.unpackbits(packed[start : start + BLOCK], axis=1, count=count)
        yield bits.astype(np.float64)


@lru_cache(maxsize=16)
def _words(count: int) -> NDArray[np.uint8]:
    seed = int.from_bytes(hashlib.sha256(f"{SEED}/{count}".encode()).digest()[:8], "big")
    words = np.random.PCG64(seed).random_raw(HALVES * math.ceil(count / 64))
    return words.astype("<u8").view(np.uint8).reshape(HALVES, -1)


__all__ = ["HALVES", "Clusters", "Floats", "cluster", "halves_interval", "sign_flip"]
