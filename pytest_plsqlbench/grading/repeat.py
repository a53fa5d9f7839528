"""``--plsql-repeat``: a turn played several times, and the one result that its plays add up to.

A test counts as passed where it passed in every play. A program that was seen to fail is not called right,
however often it passed; so more plays can only lower a score (docs/metrics.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.metrics import deciding_reading, passes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_plsqlbench.bench.result import TestResult, TurnResult, Verdict
    from pytest_plsqlbench.bench.values import Reading

VARIES = "varies"
"""Flag of a turn whose verdict is not the same in all its plays."""


def repeated(play: Callable[[], TurnResult], times: int) -> TurnResult:
    """Play a turn some times over and add up the results.

    Args:
        play: grades the turn afresh.
        times: at least 1. A play that gives no verdict is the last one, and its result that of the turn:
            fewer plays than were asked for would say less than they seem to.
    """
    plays: list[TurnResult] = []
    for _ in range(times):
        plays.append(play())
        if plays[-1].status != "graded":
            return plays[-1]
    return plays[0] if times == 1 else combined(plays)


def combined(plays: Sequence[TurnResult]) -> TurnResult:
    """The result of graded plays of the same turn and program, in order."""
    reading = deciding_reading(plays[0])
    other: Reading = "normalized" if reading == "published" else "published"
    tests = _combined_tests([play.tests for play in plays], reading, other)
    strict = _combined_tests([play.strict_tests for play in plays], reading, other)
    passed = sum(test.verdict == "passed" for test in tests)
    # what is told beside the tests is told of a play that shows what is wrong
    shown = next((play for play in plays if not play.solved), plays[0])
    flags = dict.fromkeys(flag for play in plays for flag in play.flags)
    repeats = tuple(tuple(test.verdict for test in play.tests) for play in plays)
    if len(set(repeats)) > 1:
        flags[VARIES] = None
    return msgspec.structs.replace(
        shown,
        passed=passed,
        solved=passed == len(tests),
        tests=tests,
        strict_tests=strict,
        flags=tuple(flags),
        repeats=repeats,
        elapsed_ms=round(sum(play.elapsed_ms for play in plays), 3),
    )


def _combined_tests(
    plays: Sequence[tuple[TestResult, ...]], reading: str, other: Reading
) -> tuple[TestResult, ...]:
    return tuple(_combined_test(results, reading, other) for results in zip(*plays, strict=False))


def _combined_test(results: Sequence[TestResult], reading: str, other: Reading) -> TestResult:
    """One test: the first play in which it failed is the one that is told, else the first."""
    count = sum(result.verdict == "passed" for result in results)
    shown = next((result for result in results if result.verdict == "failed"), results[0])
    judged = [result.strict for result in results if result.strict is not None]
    others = _all_passed(passes(result, other, reading) for result in results)
    strict = _all_passed(passes(result, "strict", reading) for result in results)
    detail = shown.detail
    if 0 < count < len(results):
        detail = "; ".join(part for part in (f"passed in {count} of {len(results)} plays", detail) if part)
    return msgspec.structs.replace(
        shown,
        detail=detail,
        normalized=others if others != shown.verdict else None,
        strict=strict if judged and strict != shown.verdict else None,
    )


def _all_passed(passed: Iterable[bool]) -> Verdict:
    return "passed" if all(passed) else "failed"
