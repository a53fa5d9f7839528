"""Outcomes: what a comparison found."""

from __future__ import annotations

import msgspec

from pytest_plsqlbench.bench.result import Verdict
from pytest_plsqlbench.bench.task import Mode


class UnjudgeableError(Exception):
    """Task and observations allow no verdict: a fault of the task or the harness, never of the program."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a comparison found: passed, or the first rule that failed and the first difference there."""

    verdict: Verdict
    mode: Mode | None = None
    """The rule that failed."""
    kind: str | None = None
    """Kind of difference: ``different_line``, ``row_missing`` … (listed in docs/comparison.md)."""
    expected: str | None = None
    actual: str | None = None
    detail: str | None = None
    """Where: the call, line, row, table."""
    call: int | None = None
    """Number of the call that failed, from 0, where it was one."""
    formatting_only: bool = False
    """The test fails as published and would pass if only formatting were ignored."""

    @property
    def passed(self) -> bool:
        """Whether the verdict is ``passed``."""
        return self.verdict == "passed"


PASSED = Outcome(verdict="passed")


def failed(
    mode: Mode,
    kind: str,
    shown: tuple[str | None, str | None],
    detail: str | None = None,
    call: int | None = None,
) -> Outcome:
    """Give the outcome of a rule that failed; ``shown`` are the expected and the actual text."""
    return Outcome(
        verdict="failed", mode=mode, kind=kind, expected=shown[0], actual=shown[1], detail=detail, call=call
    )
