"""Setup programs, strict tests and vacuous assertions, as the grader handles them; the lane is a stand-in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from pytest_plsqlbench.bench.metrics import score
from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, Observation
from pytest_plsqlbench.bench.prediction import Prediction
from pytest_plsqlbench.bench.result import EngineInfo, TurnResult
from pytest_plsqlbench.bench.summary import summarize
from pytest_plsqlbench.bench.task import Comparison, Expectation, Source, Task, Test, Turn
from pytest_plsqlbench.engines.protocol import Limits, Play, Played, Side
from pytest_plsqlbench.grading.answers import Answers
from pytest_plsqlbench.grading.cache import ReferenceCache
from pytest_plsqlbench.grading.grader import Grader
from pytest_plsqlbench.grading.reference import ReferenceBook

PUBLISHED = Test(name="test 1", calls=("EXEC p",), compare=(Comparison("lines"),))
STRICT = Test(name="printed while installed", compare=(Comparison("lines"),))
ASSERTION = Test(name="case_1", calls=("BEGIN a; END;",), expect=Expectation(), vacuous_line="vacuous 1")
BAD = CallObservation(error=Diagnostic(code="ORA-00955", message="name is used"))

Show = Callable[[Side, str], CallObservation]


def printing(*lines: str) -> CallObservation:
    return CallObservation(lines=lines)


@dataclass
class StandIn:
    """An engine and its only lane, which shows what ``show`` says of each text."""

    show: Show
    plays: list[Play] = field(default_factory=list)

    @property
    def info(self) -> EngineInfo:
        return EngineInfo("stand-in", "1", "none")

    def lane(self, worker: str) -> StandIn:
        return self

    def play(self, play: Play) -> Played:
        self.plays.append(play)
        programs = tuple(self.show(play.side, text) for text in play.programs)
        if programs and programs[-1].error:
            return Played(programs, ())
        tests = (tuple(self.show(play.side, c) for c in t.calls) or programs[-1:] for t in play.tests)
        return Played(programs, tuple(Observation(calls=calls) for calls in tests))

    def close(self) -> None:
        pass


@pytest.fixture
def grade(tmp_path: Path) -> Callable[..., tuple[TurnResult, list[Play]]]:
    def run(turn: Turn, show: Show, program: str = "mine") -> tuple[TurnResult, list[Play]]:
        engine = StandIn(show)
        book = ReferenceBook(ReferenceCache(tmp_path), Limits())
        grader = Grader(lambda _: engine, book, worker="w", reading="published", limits=Limits())
        task = Task(id="t", subset="s", dialect="oracle", turns=(turn,), source=Source("t.jsonl", 1))
        prediction = Prediction(id="t", turn=None, program=program, source=Source("p.jsonl", 1))
        result = grader.grade(task, turn, Answers({1: program}, prediction), lambda: None)
        return result, engine.plays

    return run


def make(*tests: Test, reference: str | None = "ref", **more: object) -> Turn:
    turn = Turn(index=1, id="t", prompt="", reference=reference, tests=tests)
    return msgspec.structs.replace(turn, **more)


def test_setup_is_installed_first_on_both_sides(grade: Callable[..., tuple[TurnResult, list[Play]]]) -> None:
    result, plays = grade(make(PUBLISHED, setup=("type a", "type b")), lambda _side, _text: printing())
    assert result.solved
    assert {(play.side, play.programs) for play in plays} == {
        ("reference", ("type a", "type b", "ref")),
        ("candidate", ("type a", "type b", "mine")),
    }


@pytest.mark.parametrize("side", ["reference", "candidate"])
@pytest.mark.parametrize("invalid", [False, True])
def test_a_setup_that_fails_is_the_tasks_fault(
    grade: Callable[..., tuple[TurnResult, list[Play]]], side: Side, invalid: bool
) -> None:
    compiled = CallObservation(diagnostics=(Diagnostic(code="PLS-00201", message="unknown"),))

    def show(at: Side, text: str) -> CallObservation:
        return (compiled if invalid else BAD) if (at, text) == (side, "type a") else printing()

    result, _ = grade(make(PUBLISHED, setup=("type a",)), show)
    code = "PLS-00201 unknown" if invalid else "ORA-00955 name is used"
    assert (result.status, result.reason) == ("reference_error", f"the task's setup does not run: {code}")


def test_a_setup_that_fails_without_a_reference(grade: Callable[..., tuple[TurnResult, list[Play]]]) -> None:
    turn = make(ASSERTION, reference=None, setup=("type a",))
    result, plays = grade(turn, lambda _, text: BAD if text == "type a" else printing())
    assert result.status == "reference_error"
    assert [play.side for play in plays] == ["candidate"]


def test_a_warning_of_the_setup_is_no_fault(grade: Callable[..., tuple[TurnResult, list[Play]]]) -> None:
    warned = CallObservation(diagnostics=(Diagnostic(code="PLW-1", message="x", severity="warning"),))
    result, _ = grade(make(PUBLISHED, setup=("a",)), lambda _, text: warned if text == "a" else printing())
    assert result.solved


# ---- strict tests ---------------------------------------------------------------------------------


def prints(candidate: str, reference: str = "right") -> Show:
    """Each side's program prints a line; the tests print the same on both sides."""
    said = {"mine": candidate, "ref": reference}
    return lambda _, text: printing(said.get(text, "same"))


@pytest.mark.parametrize(("line", "verdict", "passed"), [("right", "passed", 2), ("wrong", "failed", 1)])
def test_a_strict_test_is_judged_beside_the_published_ones(
    grade: Callable[..., tuple[TurnResult, list[Play]]], line: str, verdict: str, passed: int
) -> None:
    result, _ = grade(make(PUBLISHED, strict_tests=(STRICT,)), prints(line))
    assert (result.status, result.passed, result.total, result.solved) == ("graded", 1, 1, True)
    assert [(test.name, test.verdict) for test in result.tests] == [("test 1", "passed")]
    assert [(test.name, test.verdict) for test in result.strict_tests] == [(STRICT.name, verdict)]
    assert score(result) == score(result, "published") == (1, 1)
    assert score(result, "strict") == (passed, 2)
    assert summarize([result]).counts.strict_only.turns == 2 - passed


def test_a_strict_test_that_cannot_be_judged_leaves_the_published_verdict(
    grade: Callable[..., tuple[TurnResult, list[Play]]],
) -> None:
    seen: list[str] = []

    def show(side: Side, text: str) -> CallObservation:
        if text == "ref":
            seen.append(text)
            return printing(f"the clock says {len(seen)}")
        return printing("same")

    result, _ = grade(make(PUBLISHED, strict_tests=(STRICT,)), show)
    assert (result.status, result.passed, result.total) == ("graded", 1, 1)
    assert (result.strict_tests, result.flags) == ((), ("strict_unavailable",))


def test_a_program_that_fails_fails_its_strict_tests(
    grade: Callable[..., tuple[TurnResult, list[Play]]],
) -> None:
    result, _ = grade(
        make(PUBLISHED, strict_tests=(STRICT,)), lambda _, text: BAD if text == "mine" else printing()
    )
    assert [test.verdict for test in (*result.tests, *result.strict_tests)] == ["failed", "failed"]
    assert (result.passed, result.total) == (0, 1)


# ---- vacuous assertions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "verdict", "strict", "flags"),
    [
        (printing("result"), "passed", None, ()),
        (printing("vacuous 1  "), "passed", "failed", ("vacuous_null",)),
        (printing("said: vacuous 1"), "passed", None, ()),
        (BAD, "failed", None, ()),
        (CallObservation(lines=("vacuous 1",), error=BAD.error), "failed", None, ()),
    ],
)
def test_an_assertion_that_compared_with_null(
    grade: Callable[..., tuple[TurnResult, list[Play]]],
    shown: CallObservation,
    verdict: str,
    strict: str | None,
    flags: tuple[str, ...],
) -> None:
    turn = make(ASSERTION, reference=None)
    result, _ = grade(turn, lambda _, text: shown if text == ASSERTION.calls[0] else printing("vacuous 1"))
    (test,) = result.tests
    assert (test.verdict, test.strict, result.flags) == (verdict, strict, flags)
    assert score(result, "strict").passed == (1 if verdict == "passed" and strict is None else 0)


def test_notes_of_the_reader_are_flags_of_the_result(
    grade: Callable[..., tuple[TurnResult, list[Play]]],
) -> None:
    notes = ("vacuous_test: test 1 …", "vacuous_test: test 2 …", "candidate_not_called: …")
    result, _ = grade(make(PUBLISHED, notes=notes), lambda *_: printing())
    assert result.flags == ("vacuous_test", "candidate_not_called")


def test_a_cut_conversation_is_an_incomplete_episode(tmp_path: Path) -> None:
    engine = StandIn(lambda *_: printing())
    book = ReferenceBook(ReferenceCache(tmp_path), Limits())
    grader = Grader(lambda _: engine, book, worker="w", reading="published", limits=Limits())
    turn = make(PUBLISHED)
    task = Task(
        id="c",
        subset="s",
        dialect="oracle",
        turns=(turn,),
        source=Source("t.jsonl", 1),
        conversation=True,
        turn_count=3,
    )
    result = grader.grade(task, turn, Answers({1: "mine"}), lambda: None)
    assert (result.solved, result.turns) == (True, 3)
    counts = summarize([result]).counts
    assert (counts.episodes, counts.episodes_incomplete) == (1, 1)


def test_an_unsupported_turn_without_a_prediction_is_unsupported(tmp_path: Path) -> None:
    engine = StandIn(lambda *_: printing())
    book = ReferenceBook(ReferenceCache(tmp_path), Limits())
    grader = Grader(lambda _: engine, book, worker="w", reading="published", limits=Limits())
    turn = Turn(index=1, id="t", prompt="", reference=None, tests=(), unsupported="no gold")
    task = Task(id="t", subset="s", dialect="oracle", turns=(turn,), source=Source("t.jsonl", 1))
    result = grader.grade(task, turn, None, lambda: None)
    assert (result.status, result.reason) == ("unsupported", "no gold")
    summarize([result])
