"""How far a run is: counts, pace, the words for both."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.reporting.progress import Pace, Tally, progress_text


def test_a_steady_run_is_estimated_exactly() -> None:
    pace = Pace()
    for second in range(200):
        pace.advance(float(second))
    assert pace.seconds_left(199.0, 60) == pytest.approx(60)


def test_the_time_before_the_first_turn_is_not_part_of_the_pace() -> None:
    pace = Pace()
    for number in range(100):
        pace.advance(1000 + number / 10)
    assert pace.seconds_left(1009.9, 10) == pytest.approx(1)


def test_nothing_is_said_before_enough_is_known() -> None:
    pace = Pace()
    assert pace.seconds_left(0.0, 10) is None
    for number in range(100):
        pace.advance(number / 100)
    assert pace.seconds_left(1.0, 10) is None  # too early
    slow = Pace()
    slow.advance(0.0)
    slow.advance(10.0)
    assert slow.seconds_left(20.0, 10) is None  # too few


def test_workers_that_begin_one_after_the_other_are_forgotten_in_time() -> None:
    pace = Pace()
    now = 0.0
    for _ in range(10):  # one worker, slowly
        now += 2
        pace.advance(now)
    for _ in range(4000):  # all of them
        now += 0.02
        pace.advance(now)
    left = pace.seconds_left(now, 1000)
    assert left is not None
    assert 20 <= left <= 25


def test_a_slower_kind_of_task_is_noticed_within_a_minute() -> None:
    pace = Pace()
    now = 0.0
    for _ in range(1000):
        now += 0.1
        pace.advance(now)
    for _ in range(30):
        now += 2
        pace.advance(now)
    left = pace.seconds_left(now, 100)
    assert left is not None
    assert 80 <= left <= 200


def test_a_stall_makes_the_rest_longer() -> None:
    pace = Pace()
    for second in range(100):
        pace.advance(float(second))
    before, after, long_after = (pace.seconds_left(now, 10) for now in (99.0, 130.0, 600.0))
    assert before is not None
    assert after is not None
    assert long_after is not None
    assert before < after < long_after


@given(st.lists(st.floats(0, 100), min_size=1, max_size=200), st.integers(0, 5000))
def test_an_estimate_is_never_negative_or_absurd(steps: list[float], remaining: int) -> None:
    pace, now = Pace(), 0.0
    for step in steps:
        now += step
        pace.advance(now)
    left = pace.seconds_left(now, remaining)
    assert left is None or 0 <= left <= remaining * max(now, 1.0)


def test_each_test_counts_once() -> None:
    tally = Tally()
    assert tally.add("a")
    assert tally.add("b", failed=True)
    assert tally.add("c", error=True)
    assert not tally.add("a", error=True)  # its teardown
    assert (tally.done, tally.failed, tally.errors) == (3, 1, 2)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "1 of 9 turns, 1 failed"),
        (0.5, "1 of 9 turns, 1 failed, a few seconds left"),
        (12.0, "1 of 9 turns, 1 failed, about 10 s left"),
        (54.9, "1 of 9 turns, 1 failed, about 50 s left"),
        (55.0, "1 of 9 turns, 1 failed, about 1 min left"),
        (100.0, "1 of 9 turns, 1 failed, about 2 min left"),
        (3560.0, "1 of 9 turns, 1 failed, about 59 min left"),
        (3590.0, "1 of 9 turns, 1 failed, about 1 h left"),
        (8000.0, "1 of 9 turns, 1 failed, about 2 h 10 min left"),
        (40 * 3600.0, "1 of 9 turns, 1 failed, about 40 h left"),
    ],
)
def test_words(seconds: float | None, words: str) -> None:
    tally = Tally()
    tally.add("a", failed=True)
    assert progress_text(tally, 9, seconds) == words


def test_errors_are_told_apart_and_an_end_needs_no_time() -> None:
    tally = Tally()
    tally.add("a", error=True)
    assert progress_text(tally, 2, 100.0, "tests") == "1 of 2 tests, 0 failed, 1 error, about 2 min left"
    tally.add("b", error=True)
    assert progress_text(tally, 2, 0.0) == "2 of 2 turns, 0 failed, 2 errors"
