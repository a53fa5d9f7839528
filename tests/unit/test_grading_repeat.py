"""Turns that are played several times: what their plays add up to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from pytest_plsqlbench.bench.metrics import score
from pytest_plsqlbench.bench.result import TestResult, TurnResult, Verdict
from pytest_plsqlbench.grading.repeat import combined, repeated
from pytest_plsqlbench.reporting.failure import headline
from pytest_plsqlbench.reporting.properties import junit_properties
from pytest_plsqlbench.reporting.quarantine import Entry, entries, joined
from pytest_plsqlbench.reporting.repeats import repeat_lines


def play(*verdicts: Verdict, **more: object) -> TurnResult:
    tests = tuple(
        TestResult(
            name=f"t{number}",
            verdict=verdict,
            category=None if verdict == "passed" else "wrong_result",
            normalized="passed" if more.pop(f"formatting{number}", False) else None,
        )
        for number, verdict in enumerate(verdicts)
    )
    passed = verdicts.count("passed")
    values: dict[str, object] = {
        "task": "t",
        "subset": "s",
        "dialect": "postgres",
        "conversation": False,
        "turn": 1,
        "turns": 1,
        "turn_id": "t",
        "status": "graded",
        "passed": passed,
        "total": len(verdicts),
        "solved": passed == len(verdicts),
        "tests": tests,
        "comparator": "published/1",
        "elapsed_ms": 2.0,
    }
    return msgspec.convert(values | more, TurnResult)


def plays_of(*results: TurnResult) -> tuple[Callable[[], TurnResult], list[TurnResult]]:
    left = list(results)
    return lambda: left.pop(0), left


def test_one_play_is_told_as_it_is() -> None:
    once = play("passed")
    assert repeated(lambda: once, 1) is once


def test_a_test_passes_where_it_passed_in_every_play() -> None:
    result = combined([play("passed", "passed"), play("passed", "failed"), play("passed", "passed")])
    assert [test.verdict for test in result.tests] == ["passed", "failed"]
    assert (result.passed, result.solved) == (1, False)
    assert result.tests[1].category == "wrong_result"
    assert result.tests[1].detail == "passed in 2 of 3 plays"
    assert result.repeats == (("passed", "passed"), ("passed", "failed"), ("passed", "passed"))
    assert result.flags == ("varies",)
    assert result.elapsed_ms == 6.0
    assert score(result) == (1, 2)  # its counts do not contradict each other


@pytest.mark.parametrize("verdict", ["passed", "failed"])
def test_a_steady_turn_does_not_vary(verdict: Verdict) -> None:
    result = combined([play(verdict)] * 3)
    assert result.flags == ()
    assert result.solved == (verdict == "passed")
    assert result.repeats == ((verdict,),) * 3
    assert result.tests[0].detail is None


def test_two_tests_that_fail_in_turn_solve_nothing_together() -> None:
    result = combined([play("passed", "failed"), play("failed", "passed")])
    assert (result.passed, result.flags) == (0, ("varies",))


def test_the_other_reading_asks_for_every_play_too() -> None:
    formatting = play("failed", formatting0=True)
    assert combined([play("passed"), formatting]).tests[0].normalized == "passed"
    assert combined([formatting, play("failed")]).tests[0].normalized is None


def test_a_play_without_a_verdict_ends_the_turn() -> None:
    lost = play("passed", status="infrastructure_error", passed=0, solved=False)
    grade, left = plays_of(play("passed"), lost, play("passed"))
    assert repeated(grade, 3) is lost
    assert len(left) == 1


def test_people_are_told() -> None:
    varying = combined([play("passed", "failed"), play("passed", "passed")])
    assert headline(varying) == "1 of 2 tests passed in each of 2 plays; wrong_result"
    assert {("plays", 2), ("varies", "true")} <= set(junit_properties(varying))
    assert list(repeat_lines([varying, combined([play("passed")] * 2)], 2)) == [
        "varying: 1 of 2 turns, each played 2 times",
        "  t (postgres): solved in 1 of 2 plays",
    ]
    assert list(repeat_lines([varying], 1)) == []


def test_what_varies_in_a_self_check_is_listed_with_the_reason() -> None:
    varying = combined([play("passed", "failed", "passed"), play("passed", "passed", "failed")])
    known = play("passed", status="reference_error", passed=0, solved=False, tests=(), reason="as before")
    results = [
        varying,
        play("passed", task="steady"),
        msgspec.structs.replace(known, task="broken"),
        msgspec.structs.replace(known, task="listed", flags=("quarantined",)),
        msgspec.structs.replace(known, task="differs", flags=("reference_varies",)),
    ]
    reason = "test 't1' varies: the reference passed in 1 of 2 plays; so does 1 more test"
    assert [(entry.task, entry.reason) for entry in entries(results)] == [
        ("differs", "as before"),
        ("listed", "as before"),
        ("t", reason),
    ]


def entry(task: str, reason: str = "by hand") -> Entry:
    return Entry(task=task, subset="s", dialect="postgres", reason=reason)


def test_a_list_is_joined_with_what_was_known() -> None:
    one = play("passed", subset="s", model="gold")

    def listed(task: str, **changes: Any) -> TurnResult:
        given = {"status": "reference_error", "reason": "differs", "flags": ("reference_varies",)}
        return msgspec.structs.replace(one, task=task, **(given | changes))

    results = [
        msgspec.structs.replace(one, task="steady"),
        msgspec.structs.replace(one, task="lost", status="infrastructure_error", reason="away"),
        msgspec.structs.replace(one, task="broken", status="reference_error", reason="raises"),
        listed("varies"),
    ]
    former = {e.place: e for e in map(entry, ["steady", "lost", "broken", "varies", "unplayed"])}
    earlier = [listed(task) for task in ("steady", "earlier", "unplayed")]
    of_a_model = listed("a-model-s", model="m")
    found = joined(results, former=former, earlier=[*earlier, of_a_model])
    assert [(e.task, e.reason) for e in found] == [
        ("broken", "by hand"),
        ("earlier", "differs"),
        ("lost", "by hand"),
        ("unplayed", "by hand"),
        ("varies", "differs"),
    ]
