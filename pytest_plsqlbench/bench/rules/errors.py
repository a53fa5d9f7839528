"""Modes ``outcome``, ``error_class`` and ``error_code``: whether calls end as they should."""

from __future__ import annotations

from collections.abc import Callable

from pytest_plsqlbench.bench.codes import canonical_code, effective_code, error_class
from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic
from pytest_plsqlbench.bench.outcome import PASSED, Outcome, failed
from pytest_plsqlbench.bench.rules.sides import Sides


def ends_alike(sides: Sides) -> Outcome:
    """Judge whether each call succeeds or fails as the reference's did, or as the test states.

    A limit or a lost session is never how a call should end. This is judged first, whatever the rules.
    """
    if sides.actual.uninstalled:
        [program] = sides.actual.calls
        return failed(
            "outcome", "uninstalled", (None, _show(program.error)), "installed once more, it failed", 0
        )
    for number, call in enumerate(sides.actual.calls):
        if call.limit is not None:
            return failed("outcome", "limit", (None, call.limit), sides.at(number), number)
        if call.lost:
            return failed("outcome", "lost", (None, "the session was lost"), sides.at(number), number)
        if sides.test.expect is None:
            wanted = None if sides.test.gold is not None else _reference_call(sides, number).error
            if (wanted is None) != (call.error is None):
                kind = "unexpected_error" if wanted is None else "error_expected"
                shown = _show(wanted), _show(call.error)
                return failed("outcome", kind, shown, sides.at(number), number)
    if sides.test.expect is not None:
        return _as_stated(sides, sides.test.expect.error)
    if sides.test.gold is None:
        sides.calls()
    return PASSED


def same_class(sides: Sides) -> Outcome:
    """Judge whether calls that fail do so with an error of the reference's class."""
    return _same(sides, lambda error: error_class(effective_code(error)))


def same_code(sides: Sides) -> Outcome:
    """Judge whether calls that fail do so with the reference's code."""
    return _same(sides, effective_code)


def _same(sides: Sides, name: Callable[[Diagnostic], str]) -> Outcome:
    if sides.test.expect is not None:
        return PASSED  # a stated code is judged with the outcome
    for number, (expected, actual) in enumerate(sides.calls()):
        if expected.error is None or actual.error is None or name(expected.error) == name(actual.error):
            continue
        shown = _show(expected.error), _show(actual.error)
        return failed(sides.rule.mode, "different_error", shown, sides.at(number), number)
    return PASSED


def _reference_call(sides: Sides, number: int) -> CallObservation:
    calls = sides.reference().calls
    if number >= len(calls):
        raise sides.fault(f"was not observed of the reference in call {number + 1}")
    if calls[number].limit is not None or calls[number].lost:
        raise sides.fault(f"has a reference that did not finish call {number + 1}")
    return calls[number]


def _as_stated(sides: Sides, code: str | None) -> Outcome:
    raised = [
        (number, call.error) for number, call in enumerate(sides.actual.calls) if call.error is not None
    ]
    if code is not None and not raised:
        last = len(sides.actual.calls) - 1
        return failed("outcome", "error_expected", (f"error {code}", "no error"), None, max(last, 0))
    for number, error in raised:
        if code is None:
            return failed("outcome", "unexpected_error", ("no error", _show(error)), None, number)
        if canonical_code(code) not in (canonical_code(error.code), effective_code(error)):
            return failed("outcome", "different_error", (f"error {code}", _show(error)), None, number)
    return PASSED


def _show(error: Diagnostic | None) -> str:
    if error is None:
        return "no error"
    first = next(iter(error.message.splitlines()), "")
    return escape(f"error {error.code}: {first}"[:200])
