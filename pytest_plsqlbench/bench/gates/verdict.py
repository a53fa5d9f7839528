"""Verdicts of gates, and what they make of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

Decision = Literal["held", "broken", "not_enough_evidence"]

WORDS: Mapping[Decision, str] = {
    "held": "held",
    "broken": "broken",
    "not_enough_evidence": "not enough evidence",
}
"""What a decision is called wherever people read it; files of ours hold the decision itself."""

EXIT_HELD = 0
EXIT_BROKEN = 1
EXIT_UNJUDGED = 6
"""The run may not be judged."""


class GateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one gate."""

    gate: str
    """As it was written, blanks apart."""
    verdict: Decision
    reason: str
    """One line: what was found, against what."""
    enough: str | None = None
    """What would be enough, where there is not enough evidence."""
    value: float | None = None
    """What the gate is about: a share from 0 to 1, a count, or a difference to the baseline."""
    low: float | None = None
    high: float | None = None
    """Its confidence interval, where it has one."""
    n: int | None = None
    """Tasks, conversations or turns that entered it."""
    unfit: bool = False
    """The run may not be judged at all: what the gate demands of it as evidence is not there."""


def exit_code(verdicts: Iterable[GateVerdict]) -> int:
    """Give the exit code of a run.

    A run that may not be judged is not called broken; a gate that is broken for certain is not made undecided
    by another one that is.
    """
    verdicts = tuple(verdicts)
    if any(verdict.unfit for verdict in verdicts):
        return EXIT_UNJUDGED
    if any(verdict.verdict == "broken" for verdict in verdicts):
        return EXIT_BROKEN
    if any(verdict.verdict == "not_enough_evidence" for verdict in verdicts):
        return EXIT_UNJUDGED
    return EXIT_HELD
