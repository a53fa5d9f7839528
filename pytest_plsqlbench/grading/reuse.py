"""Earlier verdicts: when they stand for a new play, and the result that they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.result import TestResult, TurnResult
    from pytest_plsqlbench.bench.task import Test, Turn

_SEEN = (
    "status",
    "passed",
    "solved",
    "tests",
    "strict_tests",
    "diagnostics",
    "engine",
    "flags",
    "repeats",
    "blame",
    "content_sha256",
    "elapsed_ms",
)
"""What playing finds out; all else in a result is said by task, prediction and settings, as they are now."""


def reused(draft: TurnResult, turn: Turn, content: str, earlier: TurnResult) -> TurnResult | None:
    """The result of an earlier run for a turn of this one; None where the turn must be played.

    Only verdicts are reused. A reference that failed, an engine that was missing or could not run the turn,
    a server that was lost: these may be the day's fault, and are looked at again.

    Args:
        draft: the result before the turn is played.
        turn: the turn.
        content: its content key now.
        earlier: what an earlier run says of the same turn and sample.
    """
    if earlier.status != "graded" or earlier.content_sha256 != content or not _sound(turn, earlier):
        return None
    return msgspec.structs.replace(draft, **{name: getattr(earlier, name) for name in _SEEN})


def _sound(turn: Turn, earlier: TurnResult) -> bool:
    """Whether a result is one that a play can have given, and no hand has written."""
    passed = sum(test.verdict == "passed" for test in earlier.tests)
    return (
        _same_tests(turn.tests, earlier.tests)
        and earlier.total == len(turn.tests)
        and earlier.passed == passed
        and earlier.solved == (passed == len(turn.tests))
        and (not earlier.strict_tests or _same_tests(turn.strict_tests, earlier.strict_tests))
    )


def _same_tests(tests: tuple[Test, ...], results: tuple[TestResult, ...]) -> bool:
    return [test.name for test in tests] == [result.name for result in results]
