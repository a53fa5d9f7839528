"""Numbers in reasons: whoever reads them comes to the verdict that stands beside them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from bench_rows import single
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.baseline.comparable import Baseline
from pytest_plsqlbench.bench.gates.assessment import assess
from pytest_plsqlbench.bench.gates.numbers import (
    at_least,
    chance,
    lower,
    percent,
    points,
    points_between,
    tasks_needed,
    upper,
    written,
)
from pytest_plsqlbench.bench.gates.text import parse_gate
from pytest_plsqlbench.bench.gates.verdict import GateVerdict
from pytest_plsqlbench.bench.result import TurnResult

SIX_DIGITS = st.integers(0, 10**6).map(lambda number: number / 10**6)
HOLDS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
PERCENT = r"(-?[\d.]+)%"


def rows(solved: int, n: int) -> list[TurnResult]:
    return [single(f"t{place:04}", int(place < solved)) for place in range(n)]


def verdict(text: str, new: list[TurnResult], old: list[TurnResult] | None = None) -> GateVerdict:
    baseline = Baseline("old.jsonl", old, common=False, way="--common") if old is not None else None
    return assess(new, pending=0, gates=(parse_gate(text),), baseline=baseline).verdicts[0]


def test_shares_are_rounded_to_the_nearest_tenth_but_never_to_all_or_nothing() -> None:
    assert [percent(value) for value in (0.25, 0.2512, 1, 0, Fraction(1, 3))] == [
        "25%",
        "25.1%",
        "100%",
        "0%",
        "33.3%",
    ]
    assert percent(Fraction(2999, 3000)) == "99.97%"
    assert percent(Fraction(1, 3000)) == "0.03%"
    assert percent(Fraction(24996, 100000), Fraction(1, 4)) == "24.996%"
    assert percent(0.25, 0.25) == "25%"
    assert percent(0.79961, 0.79961) == "79.961%"  # 80% would not be <= 79.961%


def test_bounds_are_rounded_outwards() -> None:
    assert (lower(0.7996), upper(0.7004)) == ("79.9%", "70.1%")
    assert (lower(0.7996, 0.8), upper(0.8004, 0.8)) == ("79.9%", "80.1%")
    assert lower(0.80004, 0.8) == "80.004%"  # 80% would not be > 80%
    assert lower(0.7996, 0.7996) == "79.96%"  # 79.9% would not be >= 79.96%
    assert (lower(0.29), upper(0.29)) == ("29%", "29%")  # 0.29 * 100 is less than 29


def test_differences_keep_their_side_of_0_and_of_the_margin() -> None:
    assert [points(value) for value in (0.031, -0.5, 0.0001, 0, -0.0004)] == [
        "+3.1",
        "-50.0",
        "+0.01",
        "0.0",
        "-0.04",
    ]
    assert points_between(-0.0196, 0.0304) == "[-2.0, +3.1]"
    assert points_between(-0.0196, 0.0304, -Fraction(1, 50)) == "[-1.96, +3.1]"
    assert points_between(0.0004, 0.0304) == "[+0.04, +3.1]"
    assert (at_least(0.0496), at_least(0.05 + 1e-17)) == ("+5.0", "+5.0")
    assert (written(Fraction(204, 100)), written(Fraction(2))) == ("2.04", "2.0")


@pytest.mark.parametrize(
    ("p", "limit", "shown"),
    [
        (0.03125, 0.05, "0.032"),
        (0.0504, 0.05, "0.051"),
        (0.05, Fraction(1, 20), "0.05"),
        (0.0495, Fraction(99, 2000), "0.0495"),
        (0.00025, 0.05, "0.00025"),
        (1.0, 0.05, "1"),
        (0.0, 0.05, "0"),
    ],
)
def test_a_probability_is_rounded_up_and_keeps_its_side(p: float, limit: Fraction, shown: str) -> None:
    assert chance(p, limit) == shown


@given(SIX_DIGITS, SIX_DIGITS, st.sampled_from([percent, lower, upper]))
def test_what_is_shown_lies_as_the_number_to_its_limit(
    value: float, limit: float, show: Callable[[float, float], str]
) -> None:
    shown = Fraction(show(value, limit).rstrip("%")) / 100
    asked, true = Fraction(str(limit)), Fraction(str(value))
    assert (shown > asked, shown < asked) == (true > asked, true < asked)
    if show is not percent:
        assert (shown <= true) if show is lower else (shown >= true)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 30),
    st.sampled_from(["low", "high"]),
    st.sampled_from([*HOLDS]),
    st.integers(-600, 600),
)
def test_who_reads_the_bound_comes_to_the_same_verdict(
    solved: int, failed: int, bound: str, sign: str, away: int
) -> None:
    """Limits so near to the bound that rounding would carry it across."""
    run = rows(solved, solved + failed)
    seen = verdict("solved@1 >= 0", run)
    exact = Fraction(str(seen.low if bound == "low" else seen.high))
    limit = exact + Fraction(away, 10**6)
    assume(0 <= limit <= 1)
    found = verdict(f"{bound}(solved@1) {sign} {float(limit):.6f}", run)
    reason = re.fullmatch(rf"{bound} bound {PERCENT} of .+; asked for {sign} ([\d.]+)", found.reason)
    assert reason is not None
    assert HOLDS[sign](Fraction(reason[1]) / 100, Fraction(reason[2])) == (found.verdict == "held")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(-600, 600))
def test_who_reads_the_difference_comes_to_the_same_verdict(before: int, after: int, away: int) -> None:
    old, new = rows(before, 40), rows(after, 40)
    seen = verdict("no_worse_than(baseline)", new, old)
    assert seen.low is not None
    assert seen.high is not None
    for edge in (seen.low, seen.high):
        margin = -Fraction(str(edge)) + Fraction(away, 10**6)
        if not 0 <= margin < 1:
            continue
        found = verdict(f"no_worse_than(baseline, margin={float(margin):.6f})", new, old)
        reason = re.search(r"points \[([-+\d.]+), ([-+\d.]+)\], margin ([\d.]+);", found.reason)
        assert reason is not None
        low, high, shown = (Fraction(number) for number in reason.groups())
        assert (found.verdict == "held", found.verdict == "broken") == (low > -shown, high < -shown)


def test_a_subset_that_only_a_stricter_level_saves_shows_the_interval_of_that_level() -> None:
    def run(*solved: int) -> list[TurnResult]:
        return [
            single(f"t{task:04}", int(task < n), subset=f"s{place}")
            for place, n in enumerate(solved)
            for task in range(100)
        ]

    old, new = run(*[50] * 5), run(43, *[60] * 4)
    assert verdict("no_worse_than(baseline, margin=0, subset=s0)", new, old).verdict == "broken"
    found = verdict("no_worse_than(baseline, margin=0, subset=each)", new, old)
    assert found.verdict == "not_enough_evidence"
    assert "cannot be told in 1 of 5 subsets: s0 -7.0 points [-16.6, 0.0]" in found.reason


def test_how_many_more_tasks_grows_with_the_square() -> None:
    assert tasks_needed(100, 0.1, 0.05) == 400
