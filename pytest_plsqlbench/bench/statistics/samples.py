"""Several samples a task: how often at least one of k solves it, and how often all of k do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from pytest_plsqlbench.bench.metrics import EPISODE_PASS, EX, SUITE_PASS, Unit

SOLVED = (SUITE_PASS, EX, EPISODE_PASS)
"""Metrics of 0 or 1 a sample."""
SOLVED_AT_1 = "solved@1"
"""Whichever of them a task has: the share of tasks and conversations that are solved as a whole."""
STEPS = (1, 2, 5)
"""k is shown for 2, 5, 10, 20, 50 … and for the number of samples."""


def pass_at_k(n: int, solved: int, k: int) -> Fraction:
    """Chance that at least one of k samples solves a task: unbiased (Chen et al. 2021, section 2.1).

    Args:
        n: samples of the task.
        solved: how many of them solve it.
        k: from 1 to n.
    """
    return 1 - Fraction(math.comb(n - solved, k), math.comb(n, k))


def all_of_k(n: int, solved: int, k: int) -> Fraction:
    """Chance that all of k samples solve a task: unbiased (pass^k of Yao et al. 2024, τ-bench).

    Args:
        n: samples of the task.
        solved: how many of them solve it.
        k: from 1 to n.
    """
    return Fraction(math.comb(solved, k), math.comb(n, k))


def k_names(samples: Mapping[str, Mapping[Unit, Sequence[Fraction]]]) -> list[str]:
    """Names of what can be told of several samples, as ``suite_pass@5`` and ``suite_pass^5``.

    Args:
        samples: of a subset, by metric.
    """
    names = []
    for metric in SOLVED:
        most = max((len(values) for values in samples.get(metric, {}).values()), default=0)
        stem = metric.partition("@")[0]
        for k in _steps(most):
            names += [f"{stem}@{k}", f"{stem}^{k}"]
    return names


def k_samples(
    samples: Mapping[str, Mapping[Unit, Sequence[Fraction]]], name: str
) -> dict[Unit, list[Fraction]] | None:
    """Values of ``suite_pass@5``, ``suite_pass^5`` and the like, one a task that has at least k samples.

    ``@k``: at least one of k samples solves it; ``^k``: all of k do. Both are unbiased estimates.

    Args:
        samples: of a subset, by metric.
        name: of the metric, with k from 1.

    Returns:
        None where the subset has no such metric or the name is none.
    """
    sign = "^" if "^" in name else "@"
    stem, _, number = name.partition(sign)
    metric = f"{stem}@1"
    if metric not in SOLVED or metric not in samples or not number.isdecimal() or int(number) < 1:
        return None
    k = int(number)
    estimate = pass_at_k if sign == "@" else all_of_k
    return {
        unit: [estimate(len(values), int(sum(values)), k)]
        for unit, values in samples[metric].items()
        if len(values) >= k
    }


def _steps(most: int) -> list[int]:
    """Numbers of samples worth telling apart, from 2 on; all that pass@1 says stands in the metrics."""
    if most < 2:
        return []
    powers = [10**power for power in range(len(str(most)))]
    steps = {step * power for power in powers for step in STEPS}
    return sorted({k for k in steps if 2 <= k < most} | {most})
