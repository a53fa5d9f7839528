"""Findings about tasks: what lets a program pass that does nothing."""

from __future__ import annotations

from pytest_plsqlbench.bench.observation import (
    CallObservation,
    Diagnostic,
    Observation,
    ResultSet,
    TableState,
)
from pytest_plsqlbench.bench.task import Comparison, Test, Turn
from pytest_plsqlbench.grading.selfcheck import findings

ERROR = Diagnostic(code="22012", message="division by zero")
CHANGED = (TableState("t", ("id",), ((("int", "1"),),)),)


def turn(*tests: Test) -> Turn:
    return Turn(index=1, id="t", prompt="p", reference="r", tests=tests)


def gold(*rows: str) -> tuple[Test, Observation]:
    result = ResultSet(("a",), tuple((("text", row),) for row in rows))
    return Test(name="rows", gold="SELECT"), Observation(calls=(CallObservation(results=(result,)),))


def suite(*calls: CallObservation, state: tuple[TableState, ...] = ()) -> tuple[Test, Observation]:
    test = Test(name="calls", calls=("CALL p()",), compare=(Comparison("state"),), on_error="continue")
    return test, Observation(calls=calls, state=state)


def found(*pairs: tuple[Test, Observation]) -> tuple[str, ...]:
    return findings(turn(*(test for test, _ in pairs)), [seen for _, seen in pairs])


def test_a_gold_without_rows() -> None:
    assert found(gold()) == ("empty_gold",)
    assert found(gold("x")) == ()
    assert found(gold("x"), gold()) == ("empty_gold",)


def test_a_suite_in_which_every_call_raises() -> None:
    assert found(suite(CallObservation(error=ERROR), state=CHANGED)) == ("weak_suite",)
    assert found(suite(CallObservation(error=ERROR), CallObservation(), state=CHANGED)) == ()


def test_a_suite_that_changes_nothing() -> None:
    assert found(suite(CallObservation())) == ("weak_suite",)
    assert found(suite(CallObservation()), suite(CallObservation(), state=CHANGED)) == ()


def test_a_turn_whose_reference_was_not_played() -> None:
    assert findings(turn(gold()[0]), ()) == ()
