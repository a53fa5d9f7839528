"""Bags and tolerances: a true matching, against brute force."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Sequence
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench import matching
from pytest_plsqlbench.bench.matching import Equality, Places, tie_groups
from pytest_plsqlbench.bench.outcome import UnjudgeableError
from pytest_plsqlbench.bench.values import Row, row_key, split_row


def rows(*tuples: Sequence[object]) -> list[Row]:
    return [tuple([("numeric", str(number)) for number in numbers]) for numbers in tuples]


def equality(tolerance: str | None = None) -> Equality[Row]:
    return Equality(
        lambda row: row_key(row, "published"),
        lambda row: split_row(row, "published"),
        None if tolerance is None else Decimal(tolerance),
    )


def named(places: Places | None) -> Places:
    assert places is not None
    return places


def brute_force(expected: Sequence[Row], actual: Sequence[Row], rule: Equality[Row]) -> bool:
    return len(expected) == len(actual) and any(
        all(rule.same(left, right) for left, right in zip(expected, order, strict=True))
        for order in itertools.permutations(actual)
    )


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        # Taking the equal pair (0, 0) out first leaves -1 and 1, which do not match.
        ([(0,), (-1,)], [(0,), (1,)]),
        # The nearest partner of (0, 0) is (0.1, 0), which only (0.9, 0) can do without.
        ([(0, 0), (0.9, 0)], [(0.1, 0), (-1, 0)]),
        ([(0, 0), (1, 1), (2, 0)], [(1, 0), (1, 1), (2, 1)]),
        ([(0, 5), (0, 6), (1, 5.5)], [(0.5, 5), (0, 6.5), (1, 6.5)]),
    ],
)
def test_a_matching_that_the_nearest_neighbour_misses(
    expected: list[tuple[float, ...]], actual: list[tuple[float, ...]]
) -> None:
    rule = equality("1")
    assert brute_force(rows(*expected), rows(*actual), rule)
    assert rule.bag_difference(rows(*expected), rows(*actual)) is None
    assert rule.bag_difference(rows(*actual), rows(*expected)) is None


_NUMBERS = st.integers(0, 6).map(lambda number: Decimal(number) / 2)
_ROWS = {
    size: st.lists(st.tuples(*[_NUMBERS] * size).map(lambda numbers: rows(numbers)[0]), max_size=5)
    for size in (1, 2, 3)
}


@settings(deadline=None, max_examples=150)
@given(st.sampled_from([1, 2, 3]).flatmap(lambda size: st.tuples(_ROWS[size], _ROWS[size])))
def test_bags_with_tolerance_match_as_by_brute_force(bags: tuple[list[Row], list[Row]]) -> None:
    expected, actual = bags
    rule = equality("0.5")
    assert (rule.bag_difference(expected, actual) is None) == brute_force(expected, actual, rule)


@given(st.lists(st.sampled_from(rows((1,), ("1.0",), (2,), ("2.00",))), max_size=6), st.randoms())
def test_bags_without_tolerance_ignore_order_only(expected: list[Row], random_: random.Random) -> None:
    actual = list(expected)
    random_.shuffle(actual)
    assert equality().bag_difference(expected, actual) is None
    if expected:
        missing, extra = named(equality().bag_difference(expected, actual[1:]))
        assert missing is not None
        assert extra is None
        missing, extra = named(equality().bag_difference(expected, [*actual, actual[0]]))
        assert missing is None
        assert extra is not None


def test_equal_keys_meet_although_they_are_spelled_otherwise() -> None:
    expected = rows((1,), ("1.0",), ("1.00",), (2,))
    assert equality().bag_difference(expected, rows(("1.000",), (2,), (1,), ("1.0",))) is None
    assert equality().bag_difference(expected, rows(("1.000",), (2,), (2,), ("1.0",))) == (0, 1)


def test_the_first_missing_and_the_first_extra_are_named() -> None:
    assert equality().bag_difference(rows((1,), (2,), (3,)), rows((3,), (4,), (1,))) == (1, 1)
    assert equality("0").bag_difference(rows((1,), (2,), (3,)), rows((3,), (4,), (1,))) == (1, 1)
    assert equality("0").bag_difference(rows((1, 1), (2, 2)), rows((2, 2), (5, 5))) == (0, 1)


def test_a_tolerance_is_taken_exactly() -> None:
    """A hundredth is a hundredth, although 1.01 - 1.00 > 0.01 in binary; and 28 digits do not round it up."""
    assert equality("0.01").same(*rows((Decimal("1.00"),), (Decimal("1.01"),)))
    assert not equality("0.01").same(
        *rows((Decimal("1.00"),), (Decimal("1.0100000000000000000000000000000000001"),))
    )
    assert not equality("0").same(*rows((1,), ("1.0000000000000000000000000000000000001",)))
    assert equality("0").same(*rows((1,), ("1.000",)))


def test_tolerance_is_about_finite_numbers_only() -> None:
    rule = equality("1e300")
    for one, other in itertools.permutations(["NaN", "Infinity", "-Infinity", "0"], 2):
        assert not rule.same((("numeric", one),), (("numeric", other),))
    assert rule.same((("numeric", "NaN"),), (("float", "NaN"),))
    assert not rule.same((("text", "1"),), (("text", "2"),))
    assert not rule.same((None,), (("int", "0"),))
    assert rule.same((("int", "1"),), (("float", "1.5"),))


def test_huge_numbers_with_tolerance() -> None:
    huge = "1" + "0" * 131_071
    assert equality("1").same((("numeric", huge),), (("numeric", huge[:-1] + "1"),))
    assert not equality("1").same((("numeric", huge),), (("numeric", huge[:-1] + "2"),))
    assert not equality("1").same((("numeric", "1e999999999"),), (("numeric", "2e999999999"),))
    assert not equality("10").same((("numeric", "1"),), (("numeric", "1e-999999999"),))


def cross(size: int, spare: int = 0) -> list[Row]:
    """Points around the corners of a square, all different; two opposite corners have more of them.

    Along each axis the numbers are the same, whatever there is to spare.
    """
    return [
        row
        for corner, count in [((0, 0), size + spare), ((3, 3), size + spare), ((0, 3), size), ((3, 0), size)]
        for row in rows(*[(corner[0] + n / 10_000, corner[1] + n / 10_000) for n in range(count)])
    ]


def zigzag(start: int) -> list[Row]:
    """Points on two lines by turns: equal as bags wherever they start, though not in sorted order."""
    return rows(*[(n / 1000, 3 * ((n + start) % 2)) for n in range(10)])


def test_what_only_pairs_can_tell_is_told_by_pairs() -> None:
    expected = [*cross(30, spare=1), *rows((0, 3.5), (3.5, 0))]
    actual = [*cross(30, spare=2)]
    assert len(expected) == len(actual)
    missing, extra = named(equality("1").bag_difference(expected, actual))
    assert not equality("1").same_bag(expected, actual)
    assert missing is not None
    assert extra is not None
    assert expected[missing][0] != expected[missing][1]  # of the corners (0, 3) and (3, 0)
    assert equality("1").bag_difference(expected, [*expected[1:], expected[0]]) is None


def test_other_numbers_of_items_differ_whatever_pairs_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS", 50)
    monkeypatch.setattr(matching, "MAX_PAIRS_SHOWN", 60)
    rule, near = equality("1"), rows(*[(n / 100, n / 100) for n in range(40)])
    assert rule.bag_difference(near[:1], near) == (None, 1)
    assert rule.bag_difference(near, near[:1]) == (1, None)
    assert rule.bag_difference(near[:2], near) == (None, None)  # known to differ, too many pairs to say where
    assert rule.bag_difference(near, near[:2]) == (None, None)
    assert rule.bag_difference([*near[:2], *rows((7, 7, 7))], near) == (2, None)
    assert not rule.same_bag(near[:2], near)
    assert not rule.reordered(near[:2], near)


def test_equal_expected_items_are_looked_at_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS_SHOWN", 40)
    rule, near = equality("1"), rows(*[(n / 100, n / 100) for n in range(40)])
    assert rule.bag_difference(near[:1] * 30, near) == (None, 30)
    assert rule.bag_difference([*rows((9, 9)), *near[:1] * 30], near) == (0, 30)
    assert rule.bag_difference(near[:1] * 30, near[:20]) == (20, None)


def test_one_axis_names_what_all_together_are_too_many_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS_SHOWN", 10)
    near = rows(*[(n / 100, n / 100) for n in range(40)])
    assert equality("1").bag_difference(near, [*near[:-1], *rows((0, 5))]) == (39, 39)


def test_a_tolerance_too_wide_is_refused_by_the_expected_items_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS", 400)
    points = rows(*[(number, number % 3) for number in range(20)])
    equality("100").check_crowding(points)
    points += rows((20, 5))
    with pytest.raises(UnjudgeableError, match="tolerance 100 lets 441 pairs"):
        equality("100").check_crowding(points)
    for rule in equality("0.1"), equality():  # one axis that tells them apart is enough
        rule.check_crowding(points)
    equality("100").check_crowding(rows(*[(n,) for n in range(50)]))  # no pairs are needed on a line
    equality("100").check_crowding(points[:1] * 50)  # nor many where all are equal
    monkeypatch.setattr(matching, "MAX_PAIRS", 10)
    with pytest.raises(UnjudgeableError):
        equality("1").check_crowding(zigzag(0))
    with pytest.raises(UnjudgeableError):
        equality("1").bag_difference(zigzag(0), zigzag(1))


def test_lists_are_named_as_reordered_only_where_that_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    points, others = zigzag(0), zigzag(1)
    assert equality("1").reordered(points, others)
    monkeypatch.setattr(matching, "MAX_PAIRS_SHOWN", 10)
    assert not equality("1").reordered(points, others)
    assert equality("1").bag_difference(points, others) is None  # a verdict is found out all the same
    assert equality("1").same_bag(points, others)
    assert equality().reordered(points, points[::-1])
    assert not equality().reordered(points, others)
    assert not equality().reordered(points, points[1:])


def test_tie_groups() -> None:
    assert list(tie_groups("")) == []
    assert list(tie_groups("aabaa")) == [(0, 2), (2, 3), (3, 5)]


def _seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def _pair(size: int) -> tuple[list[Row], list[Row]]:
    """Two equal bags in which no two rows are spelled alike."""
    expected: list[Row] = [
        (("int", str(n % 9000)), ("text", f"name {n}"), ("numeric", f"{n}.50")) for n in range(size)
    ]
    actual: list[Row] = [
        (("int", str(n % 9000)), ("text", f"name {n}"), ("numeric", f"{n}.5000")) for n in range(size)
    ]
    random.Random(7).shuffle(actual)
    return expected, actual


@pytest.mark.parametrize("tolerance", [None, "0.3"])
def test_large_bags_take_a_time_linear_in_their_size(tolerance: str | None) -> None:
    """Measured against a smaller bag, not by the clock of some machine: 16 times the rows, not 256 times."""
    rule = equality(tolerance)
    small, large = _pair(500), _pair(8_000)
    base = min(_seconds(lambda: rule.bag_difference(*small)) for _ in range(5))
    assert _seconds(lambda: rule.bag_difference(*large)) < 80 * base
    assert rule.bag_difference(*large) is None
    assert rule.bag_difference(large[0], [*large[1][1:], large[1][1]]) is not None
