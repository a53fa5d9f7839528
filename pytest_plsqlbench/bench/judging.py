"""Judging: the verdict of a test in the deciding reading, with the other readings beside it."""

from __future__ import annotations

from typing import Literal

import msgspec

from pytest_plsqlbench.bench.comparison import compare
from pytest_plsqlbench.bench.observation import Observation
from pytest_plsqlbench.bench.outcome import Outcome, failed
from pytest_plsqlbench.bench.result import TestResult
from pytest_plsqlbench.bench.task import Test
from pytest_plsqlbench.bench.taxonomy import Failure

DecidingReading = Literal["published", "normalized"]


class Judgement(msgspec.Struct, frozen=True):
    """What the readings say of one test."""

    outcome: Outcome
    """The deciding reading."""
    other: Outcome
    """Of ``published`` and ``normalized`` the one that does not decide."""
    strict: Outcome | None
    """None where no rule of the test asks for more when strict, or it was not observed."""


def judge(
    test: Test, expected: Observation | None, actual: Observation, reading: DecidingReading
) -> Judgement:
    """Judge a test in all its readings.

    Raises:
        UnjudgeableError: task and observations do not allow a verdict (see ``comparison.reference_fault``).
    """
    published = compare(test, expected, actual, "published")
    # What passes as published passes normalized; what fails as published fails strict.
    normalized = published if published.passed else compare(test, expected, actual, "normalized")
    strict = None
    if not published.passed:
        strict = published if has_strict(test, expected, actual) else None
    elif is_vacuous(test, actual):
        strict = failed("outcome", "vacuous_null", (None, None), "the assertion compared with NULL")
    elif has_strict(test, expected, actual):
        strict = compare(test, expected, actual, "strict")
    if reading == "published":
        return Judgement(published, normalized, strict)
    return Judgement(normalized, published, strict)


def has_strict(test: Test, expected: Observation | None, actual: Observation) -> bool:
    """Tell whether the strict reading of a test asks for more, and both sides were observed for it."""
    return test.vacuous_line is not None or (
        any(rule.mode == "state" for rule in test.compare)
        and expected is not None
        and expected.state_between is not None
        and actual.state_between is not None
    )


def is_vacuous(test: Test, actual: Observation) -> bool:
    """Tell whether the test's own assertion compared with NULL, so that it could not fail."""
    return test.vacuous_line is not None and any(
        line.rstrip() == test.vacuous_line for call in actual.calls for line in call.lines
    )


def judged_result(
    test: Test, judgement: Judgement, actual: Observation, failure: Failure | None = None
) -> TestResult:
    """Give the record of a judged test; ``failure`` (see ``taxonomy.classify``) for one that failed.

    Raises:
        ValueError: the test failed and no failure is given, or the other way round.
    """
    outcome = judgement.outcome
    if outcome.passed != (failure is None):
        raise ValueError(f"test {test.name!r} is {outcome.verdict}, its failure {failure}")
    other = judgement.other.verdict
    strict = judgement.strict.verdict if judgement.strict is not None else None
    details = [outcome.detail, failure.detail if failure is not None else None]
    return TestResult(
        name=test.name,
        verdict=outcome.verdict,
        category=failure.category if failure is not None else None,
        subcategory=failure.subcategory if failure is not None else None,
        expected=outcome.expected,
        actual=outcome.actual,
        detail="; ".join(dict.fromkeys(part for part in details if part)) or None,
        normalized=other if other != outcome.verdict else None,
        strict=strict if strict != outcome.verdict else None,
        elapsed_ms=actual.elapsed_ms,
        work=actual.work,
    )


def unplayed_result(test: Test, failure: Failure) -> TestResult:
    """Give the record of a test that failed because its program did: it was not played."""
    return TestResult(
        name=test.name,
        verdict="failed",
        category=failure.category,
        subcategory=failure.subcategory,
        detail=failure.detail,
    )
