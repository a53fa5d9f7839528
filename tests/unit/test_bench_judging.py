"""The verdict of a test with its other readings, and the record that results keep of it."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.judging import judge, judged_result, unplayed_result
from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, Observation
from pytest_plsqlbench.bench.result import TestResult
from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.bench.taxonomy import Failure

LINES = Test(name="prints", calls=("CALL p()",), compare=(Comparison("lines"),))
STATE = Test(name="changes", calls=("CALL p()",), compare=(Comparison("state"),), may_fail=True)
MISMATCH = Failure("wrong_result", "output_mismatch", "line 1")


def shown(*lines: str, code: str | None = None) -> Observation:
    error = Diagnostic(code=code, message="no") if code else None
    return Observation(
        calls=(CallObservation(lines=lines, error=error),),
        state=(),
        state_between=((),),
        objects=(),
        elapsed_ms=12.5,
        work=7,
    )


def test_a_pass_in_all_readings() -> None:
    judgement = judge(LINES, shown("a"), shown("a"), "published")
    assert judgement.outcome.passed
    assert judgement.other.passed
    assert judgement.strict is None
    expected = TestResult(name="prints", verdict="passed", elapsed_ms=12.5, work=7)
    assert judged_result(LINES, judgement, shown("a")) == expected


def test_only_formatting_differs() -> None:
    published = judge(LINES, shown("1.50"), shown("1.5"), "published")
    assert (published.outcome.verdict, published.other.verdict) == ("failed", "passed")
    assert judged_result(LINES, published, shown("1.5"), MISMATCH) == TestResult(
        name="prints",
        verdict="failed",
        category="wrong_result",
        subcategory="output_mismatch",
        expected="1.50",
        actual="1.5",
        detail="line 1",
        normalized="passed",
        elapsed_ms=12.5,
        work=7,
    )
    normalized = judge(LINES, shown("1.50"), shown("1.5"), "normalized")
    assert (normalized.outcome.verdict, normalized.other.verdict) == ("passed", "failed")
    assert judged_result(LINES, normalized, shown("1.5")).normalized == "failed"


def test_a_failure_in_all_readings_is_recorded_once() -> None:
    for reading in ("published", "normalized"):
        judgement = judge(LINES, shown("a"), shown("b"), reading)
        assert not judgement.outcome.passed
        record = judged_result(LINES, judgement, shown("b"), MISMATCH)
        assert (record.verdict, record.normalized, record.strict) == ("failed", None, None)


def test_the_strict_reading_beside_the_deciding_one() -> None:
    judgement = judge(STATE, shown(code="P0001"), shown(code="22012"), "published")
    record = judged_result(STATE, judgement, shown())
    assert (record.verdict, record.strict) == ("passed", "failed")
    alike = judge(STATE, shown(code="P0001"), shown(code="P0001"), "published")
    assert alike.strict is not None
    assert alike.strict.passed
    assert judged_result(STATE, alike, shown()).strict is None


def test_the_detail_names_place_and_cause_once() -> None:
    judgement = judge(LINES, shown("a"), shown("b"), "published")
    caused = judged_result(
        LINES, judgement, shown("b"), Failure("wrong_result", "runtime_error", "22012: no")
    )
    assert caused.detail == "line 1; 22012: no"
    assert judged_result(LINES, judgement, shown("b"), MISMATCH).detail == "line 1"


def test_a_record_needs_a_failure_exactly_where_the_test_failed() -> None:
    passed = judge(LINES, shown("a"), shown("a"), "published")
    failed = judge(LINES, shown("a"), shown("b"), "published")
    with pytest.raises(ValueError, match="is passed"):
        judged_result(LINES, passed, shown("a"), MISMATCH)
    with pytest.raises(ValueError, match="is failed"):
        judged_result(LINES, failed, shown("b"))


def test_a_test_that_was_not_played() -> None:
    record = unplayed_result(LINES, Failure("invalid_program", "syntax_error", "42601: no"))
    assert (record.verdict, record.category, record.subcategory) == (
        "failed",
        "invalid_program",
        "syntax_error",
    )
    assert record.detail == "42601: no"
