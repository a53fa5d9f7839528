"""Blame: what is played to find it, and what is said where nothing can be."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from sample_results import result

from pytest_plsqlbench.bench.blame import count_blame
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import Source, Task, Turn
from pytest_plsqlbench.grading.answers import Answers
from pytest_plsqlbench.grading.blame import blame_for

PROGRAMS = {1: "c1", 2: "c2", 3: "c3"}


def talk(*references: str | None) -> Task:
    turns = [
        msgspec.convert(
            {"index": n, "id": f"t_q{n}", "prompt": "p", "reference": reference, "tests": []}, Turn
        )
        for n, reference in enumerate(references, 1)
    ]
    return Task(
        id="t", subset="s", dialect="postgres", turns=tuple(turns), source=Source(""), conversation=True
    )


def outcome(passed: int, **more: Any) -> TurnResult:
    return result("t", "s", passed, 2, conversation=True, **more)


class Played:
    """Grades nothing; remembers what it was asked for."""

    def __init__(self, found: TurnResult) -> None:
        self.found = found
        self.asked: list[dict[int, str]] = []

    def __call__(self, answers: Answers) -> TurnResult:
        self.asked.append(dict(answers.programs))
        return self.found


def answers(turn: int, programs: dict[int, str] | None = None) -> Answers:
    return Answers({n: text for n, text in (programs or PROGRAMS).items() if n <= turn})


@pytest.mark.parametrize(("passed", "failure"), [(2, "inherited"), (1, "own"), (0, "own")])
def test_the_turn_is_played_after_the_references(passed: int, failure: str) -> None:
    task, played = talk("r1", "r2", "r3"), Played(outcome(passed))
    blame = blame_for(outcome(1, turn=3), task, task.turns[2], answers(3), played)
    assert played.asked == [{1: "r1", 2: "r2", 3: "c3"}]
    assert blame is not None
    assert (blame.failure, blame.passed, blame.replayed) == (failure, passed, True)


@pytest.mark.parametrize(
    ("found", "index"),
    [
        (outcome(2), 2),  # solved
        (outcome(0, status="missing"), 2),
        (outcome(0, status="infrastructure_error"), 2),
    ],
    ids=["solved", "missing", "lost"],
)
def test_nobody_is_to_blame_for_what_did_not_fail(found: TurnResult, index: int) -> None:
    task, played = talk("r1", "r2"), Played(outcome(2))
    assert blame_for(found, task, task.turns[index - 1], answers(index), played) is None
    assert played.asked == []


def test_a_first_turn_fails_by_itself() -> None:
    task, played = talk("r1", "r2"), Played(outcome(2))
    blame = blame_for(outcome(0), task, task.turns[0], answers(1), played)
    assert blame is not None
    assert (blame.failure, blame.replayed, played.asked) == ("own", False, [])


def test_the_references_state_itself_needs_no_second_play() -> None:
    task, played = talk("r1", "r2"), Played(outcome(2))
    blame = blame_for(outcome(1, turn=2), task, task.turns[1], answers(2, {1: "r1", 2: "c2"}), played)
    assert blame is not None
    assert (blame.failure, blame.passed, blame.replayed, played.asked) == ("own", 1, False, [])


def test_an_earlier_turn_without_a_prediction_is_no_such_state() -> None:
    task, played = talk("r1", "r2"), Played(outcome(2))
    blame = blame_for(outcome(1, turn=2), task, task.turns[1], answers(2, {2: "c2"}), played)
    assert blame is not None
    assert (blame.failure, played.asked) == ("inherited", [{1: "r1", 2: "c2"}])


def test_without_all_references_nobody_knows() -> None:
    task, played = talk("r1", None, "r3"), Played(outcome(2))
    blame = blame_for(outcome(1, turn=3), task, task.turns[2], answers(3), played)
    assert blame is not None
    assert (blame.failure, blame.reason, played.asked) == (
        "unknown",
        "turn 2 has no reference program",
        [],
    )


def test_counts_are_of_what_was_sought() -> None:
    def blamed(failure: str, **more: Any) -> TurnResult:
        return outcome(0, blame={"failure": failure, **more})

    assert count_blame([outcome(0), outcome(2)]) is None
    counts = count_blame(
        [blamed("own"), blamed("inherited", elapsed_ms=2.0), blamed("unknown", elapsed_ms=1.0), outcome(2)]
    )
    assert counts is not None
    assert msgspec.structs.astuple(counts) == (1, 1, 1, 2, 0.5)
    alone = count_blame([blamed("unknown")])
    assert alone is not None
    assert alone.inherited_share is None
