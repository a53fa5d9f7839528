"""Closed formulas and resampling against published values and independent implementations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_plsqlbench.bench.statistics.formulas import holm, mcnemar, paired_score, quantile, wilson
from pytest_plsqlbench.bench.statistics.resampling import Clusters, cluster, halves_interval, sign_flip
from pytest_plsqlbench.bench.statistics.samples import all_of_k, pass_at_k

Z = 1.959963984540054


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_as_published(passed: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, Statistics in Medicine 17:857, table I, method 3."""
    assert wilson(passed / n, n, Z) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_as_scipy_has_it(case: tuple[int, int]) -> None:
    passed, n = case
    theirs = stats.binomtest(passed, n).proportion_ci(0.95, method="wilson")
    low, high = wilson(passed / n, n, Z)
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    assert low <= passed / n <= high
    assert high - low > 0


def test_tango_as_published() -> None:
    """Fagerland, Lydersen and Laake 2014, Statistics in Medicine 33:2850: airway hyper-responsiveness."""
    low, high = paired_score(1, 7, 21, Z)
    assert (low, high) == pytest.approx((-0.517, -0.026), abs=5e-4)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 200), st.floats(0.5, 4, allow_nan=False))
def test_tango_solves_its_equation(gained: int, lost: int, same: int, z: float) -> None:
    n = gained + lost + same
    low, high = paired_score(gained, lost, n, z)
    assert -1 <= low < (gained - lost) / n < high <= 1
    mirrored = paired_score(lost, gained, n, z)
    assert mirrored == pytest.approx((-high, -low), abs=1e-9)
    for bound, sign in ((low, 1), (high, -1)):
        a, b = 2 * n, -gained - lost + (2 * n - gained + lost) * bound
        c = -lost * bound * (1 - bound)
        q = (math.sqrt(max(b * b - 4 * a * c, 0)) - b) / (2 * a)
        score = (gained - lost - n * bound) / math.sqrt(n * (2 * q + bound * (1 - bound)))
        assert score == pytest.approx(sign * z, abs=1e-4)


def test_tango_without_a_discordant_pair() -> None:
    assert paired_score(0, 0, 60, Z) == pytest.approx((-Z * Z / (60 + Z * Z), Z * Z / (60 + Z * Z)))


def test_mcnemar_as_published() -> None:
    """Agresti, Categorical Data Analysis: approval ratings of two surveys, 150 against 86 of 1,600."""
    assert pytest.approx(17.36, abs=0.005) == (150 - 86) ** 2 / (150 + 86)  # the asymptotic statistic there
    assert mcnemar(150, 86) == pytest.approx(stats.binomtest(86, 236).pvalue, rel=1e-12)
    assert mcnemar(150, 86) == pytest.approx(3.7e-5, rel=0.02)


@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_is_the_binomial_test(gained: int, lost: int) -> None:
    theirs = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    assert mcnemar(gained, lost) == pytest.approx(theirs, rel=1e-9)


def test_holm_as_published() -> None:
    """The worked example of R's p.adjust and many textbooks."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_quantiles() -> None:
    assert quantile(0.975) == pytest.approx(Z)
    assert quantile(0.975, 6) == pytest.approx(2.4469, abs=1e-4)


@pytest.mark.parametrize(("n", "solved"), [(1, 0), (4, 0), (4, 2), (5, 2), (6, 6)])
def test_pass_at_k_counts_the_subsets(n: int, solved: int) -> None:
    """Chen et al. 2021: the estimate is the share of subsets of k samples that hold a right one."""
    samples = [1] * solved + [0] * (n - solved)
    for k in range(1, n + 1):
        subsets = list(itertools.combinations(samples, k))
        assert pass_at_k(n, solved, k) == Fraction(sum(map(any, subsets)), len(subsets))
        assert all_of_k(n, solved, k) == Fraction(sum(map(all, subsets)), len(subsets))


@given(st.integers(1, 200), st.data())
def test_pass_at_k_as_humaneval_computes_it(n: int, data: st.DataObject) -> None:
    """The numerically stable product of Chen et al. 2021, figure 3."""
    solved, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    theirs = 1.0
    if n - solved >= k:
        theirs = 1.0 - float(np.prod(1.0 - k / np.arange(n - solved + 1, n + 1)))
    assert float(pass_at_k(n, solved, k)) == pytest.approx(theirs, abs=1e-9)


# -- clusters --------------------------------------------------------------------------------------------


def of(*groups: tuple[float, ...]) -> Clusters:
    return cluster([{f"c{place:03}": group for place, group in enumerate(groups)}])


@given(st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=1, max_size=60))
def test_flipping_signs_of_single_pairs_is_mcnemar(moves: list[int]) -> None:
    p = sign_flip([Fraction(move) for move in moves])
    assert p == pytest.approx(mcnemar(moves.count(1), moves.count(-1)), rel=1e-9)


@given(st.lists(st.fractions(-3, 3, max_denominator=6), min_size=1, max_size=9))
def test_flipping_signs_counts_every_way(sums: list[Fraction]) -> None:
    observed = abs(sum(sums, Fraction()))
    ways = [
        abs(sum((sign * value for sign, value in zip(signs, sums, strict=True)), Fraction()))
        for signs in itertools.product((-1, 1), repeat=len(sums))
    ]
    assert sign_flip(sums) == pytest.approx(sum(way >= observed for way in ways) / len(ways), rel=1e-9)


def test_flipping_many_fractions_is_near_the_exact_value_and_never_zero() -> None:
    dice = np.random.default_rng(1)
    whole = [int(value) for value in dice.integers(-4, 6, 40)]
    exact = sign_flip([Fraction(value) for value in whole])
    drawn = sign_flip([Fraction(value, 3) for value in whole])
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 3999) + 1e-3)
    assert sign_flip([Fraction(1, 3)] * 60) == pytest.approx(1 / 4000)


def test_halves_have_the_typical_values_of_hartigan() -> None:
    """Hartigan 1969: the means of all subsets divide the line evenly; so the bounds are order statistics."""
    groups = [(0.1,), (0.5,), (0.2,), (0.9,), (0.4,), (0.7,), (0.3,)]
    values = [group[0] for group in groups]
    means = sorted(
        math.fsum(subset) / len(subset) for k in range(1, 8) for subset in itertools.combinations(values, k)
    )
    found = halves_interval(of(*groups), 0.95)
    assert found is not None
    assert means[1] <= found.low <= means[4]
    assert means[-5] <= found.high <= means[-2]


def test_halves_need_six_clusters_for_95_per_cent() -> None:
    assert halves_interval(of(*[(float(place % 2),) for place in range(5)]), 0.95) is None
    assert halves_interval(of(*[(float(place % 2),) for place in range(6)]), 0.95) is not None
    assert halves_interval(of(*[(float(place % 2),) for place in range(5)]), 0.9) is not None
    assert halves_interval(of(*[(float(place % 2),) for place in range(3000)]), 0.95) is not None


def test_halves_are_near_the_usual_bootstrap_where_there_are_many_clusters() -> None:
    dice = np.random.default_rng(3)
    sizes = dice.integers(1, 9, 150)
    groups = [tuple(dice.beta(2, 1, size).tolist()) for size in sizes]
    sums, counts = np.array([sum(group) for group in groups]), sizes.astype(float)
    theirs = stats.bootstrap(
        (sums, counts),
        lambda a, b, axis: a.sum(axis) / b.sum(axis),
        paired=True,
        vectorized=True,
        method="percentile",
        n_resamples=9999,
        rng=np.random.default_rng(4),
    ).confidence_interval
    found = halves_interval(of(*groups), 0.95)
    assert found is not None
    width = theirs.high - theirs.low
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.06 * width)


def test_halves_are_the_same_every_time() -> None:
    """Words of the generator itself: a new numpy or another machine changes nothing."""
    found = halves_interval(of(*[(place / 11,) for place in range(12)]), 0.95)
    assert found is not None
    assert (round(found.low, 6), round(found.high, 6)) == (0.295455, 0.709091)


@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=2, max_size=12), st.randoms())
def test_the_variance_is_that_of_clustered_means(groups: list[list[float]], dice: object) -> None:
    """Miller 2024, eq. 4 (Liang and Zeger 1986): sums of products within clusters; times G / (G - 1)."""
    sample = of(*map(tuple, groups))
    values = [value for group in groups for value in group]
    mean = sum(values) / len(values)
    within = sum((a - mean) * (b - mean) for group in groups for a in group for b in group)
    theirs = within / len(values) ** 2 * len(groups) / (len(groups) - 1)
    assert sample.variance == pytest.approx(theirs, abs=1e-12)
    assert sample.mean == pytest.approx(mean)
    assert sample.freedom == len(groups) - 1


def test_subsets_share_their_clusters() -> None:
    apart = cluster([{"a": (1.0,), "b": (0.0,)}, {"c": (1.0,), "d": (0.0,)}])
    shared = cluster([{"a": (1.0,), "b": (0.0,)}, {"a": (1.0,), "b": (0.0,)}])
    assert (apart.mean, shared.mean) == (0.5, 0.5)
    assert apart.variance == pytest.approx(shared.variance / 2 * (4 / 3) / 2)
    assert apart.harmonic_size == shared.harmonic_size == 4
