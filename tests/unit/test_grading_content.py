"""Content keys of verdicts, and when an earlier result stands for a play."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.limits import Limits
from pytest_plsqlbench.bench.result import EngineInfo, TestResult, TurnResult
from pytest_plsqlbench.bench.task import Comparison, Expectation, Source, Task, Test, Turn
from pytest_plsqlbench.grading.content import content_key, judging_version, reference_part, turn_content
from pytest_plsqlbench.grading.grader import draft_result
from pytest_plsqlbench.grading.reuse import reused

TEST = Test(name="a", calls=("c",), compare=(Comparison("lines"),))
TURNS = tuple(Turn(index=i, id=f"t{i}", prompt="p", reference=f"r{i}", tests=(TEST,)) for i in (1, 2, 3))
TASK = Task(id="t", subset="s", dialect="postgres", turns=TURNS, source=Source("f", 1), conversation=True)


def content(task: Task = TASK, programs: tuple[str, ...] = ("x", "y"), **more: Any) -> str:
    values: dict[str, Any] = {
        "engine": ("postgres", "18.6"),
        "fingerprint": None,
        "comparator": "published/1",
        "limits": Limits(),
        "repeat": 1,
    }
    return turn_content(task, task.turns[1], programs, **values | more)


def with_turn(index: int, **more: Any) -> Task:
    turns = list(TURNS)
    turns[index - 1] = msgspec.structs.replace(turns[index - 1], **more)
    return msgspec.structs.replace(TASK, turns=tuple(turns))


@pytest.mark.parametrize(
    "changed",
    [
        {"programs": ("x", "z")},
        {"programs": ("z", "y")},
        {"programs": ("y",)},
        {"programs": ("xy", "")},
        {"engine": ("postgres", "18.7")},
        {"engine": ("other", "18.6")},
        {"fingerprint": "f"},
        {"comparator": "published/2"},
        {"comparator": "normalized/1"},
        {"limits": Limits(time=11.0)},
        {"limits": Limits(sessions=9)},
        {"repeat": 2},
        {"task": msgspec.structs.replace(TASK, dialect="oracle")},
        {"task": with_turn(1, reference="other")},
        {"task": with_turn(2, reference="other")},
        {"task": with_turn(2, reference=None)},
        {"task": with_turn(2, setup=("s",))},
        {"task": with_turn(2, tests=(TEST, TEST))},
        {"task": with_turn(2, tests=(msgspec.structs.replace(TEST, may_fail=True),))},
        {"task": with_turn(2, tests=(), strict_tests=(TEST,))},
        {"task": with_turn(2, notes=("code: a sentence",))},
    ],
)
def test_whatever_the_verdict_depends_on_changes_the_key(changed: dict[str, Any]) -> None:
    assert content(**changed) != content()


@pytest.mark.parametrize(
    "task",
    [
        with_turn(3, reference="other"),
        with_turn(1, tests=()),
        with_turn(1, prompt="other"),
        with_turn(2, prompt="other"),
        msgspec.structs.replace(TASK, source=Source("g", 7), difficulty="hard", title="T", id="u"),
    ],
)
def test_nothing_else_does(task: Task) -> None:
    assert content(task) == content()


@given(st.lists(st.text(), max_size=3), st.lists(st.text(), max_size=3))
def test_programs_have_a_key_of_their_own(one: list[str], two: list[str]) -> None:
    assert (content(programs=tuple(one)) == content(programs=tuple(two))) == (one == two)


def test_a_program_that_no_encoding_can_carry_has_a_key() -> None:
    assert content(programs=("\ud800",)) != content(programs=("\udfff",))


def test_stated_cells_of_other_types_have_other_keys() -> None:
    """A text is judged as a text, a number by its value: a verdict about one says nothing of the other."""
    cells = (
        Decimal("1.10000000000000000001"),
        "1.10000000000000000001",
        2**64,
        str(2**64),
        1,
        1.0,
        True,
        "1",
    )
    tasks = [
        with_turn(2, tests=(msgspec.structs.replace(TEST, expect=Expectation(rows=((cell,),))),))
        for cell in cells
    ]
    for one, two in combinations(tasks, 2):
        assert content(one) != content(two)
        parts = [reference_part(task, task.turns[1], None) for task in (one, two)]
        assert content_key(parts[0]) != content_key(parts[1])


def test_the_code_that_judges_is_named() -> None:
    assert judging_version().startswith("0.")
    assert len(judging_version().partition("/")[2]) == 64


# ---- reuse ------------------------------------------------------------------------------------------


DRAFT = draft_result(TASK, TURNS[1], None, "published")


def earlier(**more: Any) -> TurnResult:
    values: dict[str, Any] = {
        "status": "graded",
        "passed": 1,
        "solved": True,
        "tests": (TestResult(name="a", verdict="passed", elapsed_ms=3.0),),
        "engine": EngineInfo("postgres", "18.6", "embedded"),
        "flags": ("isolated_copy",),
        "content_sha256": "k",
        "elapsed_ms": 5.0,
        "difficulty": "then",
    }
    return msgspec.structs.replace(DRAFT, **values | more)


def test_what_was_seen_is_taken_and_what_is_said_is_said_anew() -> None:
    draft = msgspec.structs.replace(DRAFT, difficulty="now", model="m")
    result = reused(draft, TURNS[1], "k", earlier())
    assert result == earlier(difficulty="now", model="m")


@pytest.mark.parametrize(
    "changed",
    [
        {"content_sha256": "other"},
        {"content_sha256": None},
        {"status": "reference_error"},
        {"status": "unsupported"},
        {"status": "engine_unavailable"},
        {"status": "infrastructure_error"},
        {"status": "missing"},
        {"passed": 0, "solved": True},
        {"solved": False},
        {"tests": ()},
        {"tests": (TestResult(name="b", verdict="passed"),)},
        {"tests": (TestResult(name="a", verdict="failed"),)},
        {"strict_tests": (TestResult(name="z", verdict="passed"),)},
        {"total": 2},
    ],
)
def test_anything_but_a_sound_verdict_is_played_again(changed: dict[str, Any]) -> None:
    assert reused(DRAFT, TURNS[1], "k", earlier(**changed)) is None
