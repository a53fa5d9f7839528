"""Both sides of a test, as a rule sees them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from pytest_plsqlbench.bench.observation import CallObservation, Observation
from pytest_plsqlbench.bench.outcome import UnjudgeableError
from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.bench.values import Reading


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a test, the rule that looks at them and its reading."""

    test: Test
    expected: Observation | None
    """What the reference or the gold query showed."""
    actual: Observation
    reading: Reading
    rule: Comparison

    @property
    def tolerance(self) -> Decimal | None:
        """The rule's tolerance, as the task wrote it: 0.01 is a hundredth, not its nearest double."""
        return None if self.rule.tolerance is None else Decimal(repr(self.rule.tolerance))

    def fault(self, why: str) -> UnjudgeableError:
        """Give the error that says why the test cannot be judged."""
        return UnjudgeableError(f"test {self.test.name!r} {why}")

    def reference(self) -> Observation:
        """Give what the reference showed.

        Raises:
            UnjudgeableError: the test states its expectation, and not for this rule.
        """
        if self.test.expect is not None:
            raise self.fault(f"compares {self.rule.mode} but does not state what to expect of it")
        if self.expected is None:
            raise self.fault("has neither a reference nor a stated expectation")
        return self.expected

    def calls(self) -> list[tuple[CallObservation, CallObservation]]:
        """Give the calls of both sides, pair by pair.

        Raises:
            UnjudgeableError: the sides were not observed in the same calls.
        """
        calls = self.reference().calls
        if self.test.gold is not None:
            raise self.fault(f"has a gold query, whose rows say nothing about {self.rule.mode}")
        if len(calls) != len(self.actual.calls):
            raise self.fault(
                f"was observed in {len(calls)} calls of the reference and {len(self.actual.calls)} of the"
                " candidate"
            )
        return list(zip(calls, self.actual.calls, strict=True))

    def printed(self) -> list[str]:
        """Give all lines that the candidate printed."""
        return [line for call in self.actual.calls for line in call.lines]

    def at(self, call: int, what: str = "") -> str | None:
        """Name a place for people; the call only where there are several."""
        named = len(self.actual.calls) > 1 and self.test.expect is None and self.test.gold is None
        return ", ".join(part for part in (f"call {call + 1}" if named else "", what) if part) or None
