"""Pairing off points: what is known without looking at pairs, and what a matching says."""

from __future__ import annotations

import random
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.pairing import Pairing, Point, crowding, near

HALF = Decimal("0.5")
_NUMBERS = st.integers(0, 6).map(lambda number: number * HALF)
_POINTS = st.integers(1, 3).flatmap(
    lambda size: st.lists(st.tuples(*[_NUMBERS] * size), min_size=1, max_size=10)
)


def shaken(points: list[Point], random_: random.Random) -> list[Point]:
    """Every axis is shaken and shuffled for itself, so that each of them alone pairs off."""
    axes = []
    for axis in zip(*points, strict=True):
        moved = [number + random_.choice([-1, 0, 1]) * HALF for number in axis]
        axes.append(random_.sample(moved, len(moved)))
    return list(zip(*axes, strict=True))


def largest(expected: list[Point], actual: list[Point]) -> int:
    """Size of a largest matching, one path at a time."""
    partner: dict[int, int] = {}

    def find(left: int, seen: set[int]) -> bool:
        for right, point in enumerate(actual):
            if right not in seen and near(expected[left], point, HALF):
                seen.add(right)
                if right not in partner or find(partner[right], seen):
                    partner[right] = left
                    return True
        return False

    return sum(find(left, set()) for left in range(len(expected)))


@settings(deadline=None, max_examples=300)
@given(_POINTS, st.randoms(use_true_random=False), st.integers(0, 2))
def test_as_many_pair_off_as_can(expected: list[Point], random_: random.Random, extra: int) -> None:
    actual = shaken(expected, random_) + expected[:extra]
    pairing = Pairing(expected, actual, HALF)
    known = pairing.leftover
    most = largest(expected, actual)
    all_pair_off = most == len(expected) == len(actual)
    if known is not None:
        assert (len(known[0]), len(known[1])) == (len(expected) - most, len(actual) - most)
    assert not (pairing.unequal and all_pair_off)
    lost, added = pairing.match()
    assert (len(set(lost)), len(set(added))) == (len(expected) - most, len(actual) - most)


@settings(deadline=None, max_examples=200)
@given(_POINTS, st.randoms(use_true_random=False))
def test_no_actual_points_have_more_pairs_than_the_expected_ones_allow(
    expected: list[Point], random_: random.Random
) -> None:
    pairing = Pairing(expected, shaken(expected, random_), HALF)
    assert not pairing.unequal
    if len(expected[0]) > 1:
        assert pairing.pairs() <= crowding(expected, HALF)
    else:
        assert pairing.leftover == ([], [])
