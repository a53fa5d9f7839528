"""Comparison: whether what a candidate showed is what the test asks for. One rule a mode, in its readings.

``published`` judges as the benchmark publishes (or as we rule where it is silent), ``normalized`` also
ignores formatting, ``strict`` asks for more where a mode has more to ask. What passes ``strict`` passes
``published``, and what passes ``published`` passes ``normalized``. Rules, sources: docs/comparison.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec

from pytest_plsqlbench.bench.observation import Observation
from pytest_plsqlbench.bench.outcome import PASSED, Outcome, UnjudgeableError
from pytest_plsqlbench.bench.rules.errors import ends_alike, same_class, same_code
from pytest_plsqlbench.bench.rules.lines import (
    check_crowded_lines,
    check_crowded_rows_as_lines,
    lines_in_any_order,
    lines_in_order,
    rows_as_lines,
)
from pytest_plsqlbench.bench.rules.rows import check_crowded_rows, results_alike, value_alike
from pytest_plsqlbench.bench.rules.sides import Sides
from pytest_plsqlbench.bench.rules.state import check_crowded_tables, state_alike, strictly_alike
from pytest_plsqlbench.bench.task import Comparison, Mode, Test
from pytest_plsqlbench.bench.values import Reading

__all__ = [
    "COMPARATOR_VERSION",
    "Outcome",
    "Reading",
    "UnjudgeableError",
    "comparator_name",
    "compare",
    "observations_equal",
    "plays_agree",
    "reference_fault",
]

COMPARATOR_VERSION = "1"
"""Changes whenever a verdict can change: results of another version are not reused."""

_RULES: dict[Mode, Callable[[Sides], Outcome]] = {
    "outcome": lambda _: PASSED,  # judged first, always
    "error_class": same_class,
    "error_code": same_code,
    "lines": lines_in_order,
    "lines_bag": lines_in_any_order,
    "value": value_alike,
    "list": results_alike,
    "bag": results_alike,
    "permuted": rows_as_lines,
    "state": state_alike,
}

_READINGS_WITH_TOLERANCE: tuple[Reading, ...] = ("published", "normalized")  # strict ones pair as published
_CROWDING_CHECKS: dict[Mode, Callable[[Sides], None]] = {
    "lines_bag": check_crowded_lines,
    "list": check_crowded_rows,
    "bag": check_crowded_rows,
    "permuted": check_crowded_rows_as_lines,
    "state": check_crowded_tables,
}
"""Of the rules that may have to pair off items within a tolerance. No candidate causes what they refuse."""


def comparator_name(reading: Reading) -> str:
    """Give the name that results carry: ``<reading>/<version>``."""
    return f"{reading}/{COMPARATOR_VERSION}"


def compare(test: Test, expected: Observation | None, actual: Observation, reading: Reading) -> Outcome:
    """Judge what a candidate showed.

    Args:
        test: its rules; all must hold. Whether calls succeed as they should is judged first, always.
        expected: what the reference (or the gold query) showed; None where the test states its expectation.
        actual: what the candidate showed.
        reading: how tolerant to be.

    Raises:
        UnjudgeableError: task and observations allow no verdict (see ``reference_fault``).
    """
    outcome = _compare(test, expected, actual, reading)
    if outcome.passed or reading != "published" or outcome.mode in ("outcome", "error_class", "error_code"):
        return outcome
    if _compare(test, expected, actual, "normalized").passed:
        return msgspec.structs.replace(outcome, formatting_only=True)
    return outcome


def reference_fault(test: Test, expected: Observation | None) -> str | None:
    """Give the reason, one line, why nothing can be judged by this reference; None where it is sound.

    A reference (or gold query) must finish within the limits, must not raise unless ``may_fail`` allows
    it, and must show what the test's rules look at; a tolerance must not be too wide for that. Ask before a
    candidate is judged; a fault is a ``reference_error``.
    """
    if test.expect is None:
        fault = "there is neither a reference nor a stated expectation" if expected is None else None
        fault = fault or _unfinished(test, expected or Observation(calls=()))
        if fault is not None:
            return fault
    # Against itself a sound reference can be judged by every rule, whatever the verdict.
    actual = expected if expected is not None and test.gold is None else Observation(calls=())
    try:
        for rule in _rules(test):
            _RULES[rule.mode](Sides(test, expected, actual, "published", rule))
            if rule.tolerance is not None and rule.mode in _CROWDING_CHECKS:
                for reading in _READINGS_WITH_TOLERANCE:
                    _CROWDING_CHECKS[rule.mode](Sides(test, expected, actual, reading, rule))
    except UnjudgeableError as fault:
        return str(fault)
    return None


def plays_agree(test: Test, first: Observation, second: Observation) -> Outcome:
    """Tell whether two plays of a reference (or gold query) agree in all that the test judges.

    Rows of a gold query agree up to ties in its sort key. What no rule looks at may vary.
    """
    if test.gold is not None:
        rows = tuple(
            Comparison("list", order_keys=() if rule.mode == "bag" else rule.order_keys)
            for rule in test.compare
        )
        test = msgspec.structs.replace(test, gold=None, compare=rows)
    return _compare(msgspec.structs.replace(test, expect=None), first, second, "published")


def observations_equal(first: Observation, second: Observation) -> bool:
    """Tell whether two observations are the same, byte for byte, in all that is no measurement or message."""
    return _essence(first) == _essence(second)


def _compare(test: Test, expected: Observation | None, actual: Observation, reading: Reading) -> Outcome:
    sides = Sides(test, expected, actual, reading, Comparison("outcome"))
    outcome = ends_alike(sides)
    if not outcome.passed:
        return outcome
    rules = _rules(test)
    for rule in rules:
        outcome = _RULES[rule.mode](replace(sides, rule=rule))
        if not outcome.passed:
            return outcome
    if reading == "strict" and any(rule.mode == "state" for rule in rules):
        return strictly_alike(sides)
    return PASSED


def _rules(test: Test) -> tuple[Comparison, ...]:
    """Give the rules of a test; a stated expectation that none of them looks at brings its own."""
    rules = test.compare
    if test.expect is None:
        return rules
    modes = {rule.mode for rule in rules}
    if test.expect.lines is not None and not modes & {"lines", "lines_bag"}:
        rules += (Comparison("lines"),)
    if test.expect.rows is not None and not modes & {"value", "list", "bag", "permuted"}:
        rules += (Comparison("list"),)
    return rules


def _unfinished(test: Test, expected: Observation) -> str | None:
    if expected.uninstalled:
        return "the reference failed when it was installed once more"
    for call in expected.calls:
        if call.limit is not None or call.lost:
            return f"the reference ran into {call.limit or 'the loss of its session'}"
        if call.error is not None and (test.gold is not None or not test.may_fail):
            message = next(iter(call.error.message.splitlines()), "")
            return f"the reference raised {call.error.code}: {message[:200]}"
        if any(result.truncated for result in call.results):
            return "the reference returned more rows than the limit allows"
    return None


def _essence(observation: Observation) -> tuple[object, ...]:
    calls = tuple(
        (call.lines, call.results, call.error.code if call.error else None, call.limit, call.lost)
        for call in observation.calls
    )
    return calls, observation.state, observation.state_between, observation.objects
