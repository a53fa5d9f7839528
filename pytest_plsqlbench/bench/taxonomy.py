"""Taxonomy: why a test failed, in a category and a subcategory of short stable words.

The categories follow PLSQLBench App. E.2: ``wrong_result`` (wrong logic or output, run-time errors),
``invalid_program`` (syntax, invalid object, truncated, prose), ``interface`` (missing entry point, wrong
arguments, unknown columns and tables). Limits are counted apart as ``limit``. See docs/taxonomy.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pytest_plsqlbench.bench.codes import CATEGORIES, CODE_RULES, Category, code_rule, effective_code
from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, Observation
from pytest_plsqlbench.bench.outcome import Outcome
from pytest_plsqlbench.bench.task import Test

__all__ = ["CATEGORIES", "SUBCATEGORIES", "Category", "Failure", "classify", "classify_error"]

_MISMATCHES = {
    "state": "state_mismatch",
    "objects": "state_mismatch",
    "error_expected": "error_mismatch",
    "different_error": "error_mismatch",
}

SUBCATEGORIES: frozenset[str] = frozenset(
    {rule.subcategory for rule in CODE_RULES}
    | set(_MISMATCHES.values())
    | {"output_mismatch", "not_a_program", "truncated", "row_limit", "unknown_name", "unclassified"}
)
"""All subcategories but the names of limits, which engines give."""

_ENTRY = frozenset({"missing_entry_point", "missing_member", "wrong_arguments"})
"""Failures of a call that findings about the program's interface explain."""
_INTERFACE = frozenset(rule.subcategory for rule in CODE_RULES if rule.category == "interface")


class Failure(msgspec.Struct, frozen=True):
    """Why a test failed."""

    category: Category
    subcategory: str
    detail: str | None = None
    """One line for people: the code and message, or the finding."""


def classify(
    test: Test,
    outcome: Outcome | None,
    actual: Observation | None,
    install: CallObservation | None,
    *,
    not_a_program: str | None = None,
    interface: Sequence[str] = (),
) -> Failure:
    """Say why a test failed.

    Args:
        test: the failed test.
        outcome: what the comparison found; None where the test was not played, as the program failed first.
        actual: what the candidate showed; None where it was not played.
        install: what playing the candidate's program showed.
        not_a_program: why the answer is no program at all (prose, fences, refused by the safety check).
        interface: findings about names and arguments, one sentence each; one that begins with a subcategory
            (``wrong_arguments: …``) also decides that.

    Raises:
        ValueError: the outcome is a pass, or nothing given says that anything failed.
    """
    if outcome is not None and outcome.passed:
        raise ValueError(f"test {test.name!r} passed: there is nothing to classify")
    if not_a_program is not None:
        return Failure("invalid_program", "not_a_program", not_a_program)
    if install is not None:
        failure = _install_failure(install)
        if failure is not None:
            return failure
    if outcome is None or actual is None:
        raise ValueError(f"test {test.name!r} was not played, and the program shows no reason")
    return _outcome_failure(test, outcome, actual, install, interface)


def classify_error(error: Diagnostic, interface: Sequence[str] = (), *, by_program: bool = False) -> Failure:
    """Say what an error of the engine means.

    Args:
        error: the error.
        interface: findings about names and arguments, as for ``classify``.
        by_program: it was the program's own text that failed, not a test's call of it.
    """
    first = next(iter(error.message.splitlines()), "")
    detail = escape(f"{error.code}: {first}"[:300])
    rule = code_rule(effective_code(error))
    if rule is None:
        return Failure("invalid_program" if by_program else "wrong_result", "unclassified", detail)
    subcategory = rule.subcategory
    if subcategory == "syntax_error" and _at_end_of_text(error):
        subcategory = "truncated"
    if subcategory == "missing_entry_point" and error.message.startswith("operator "):
        return Failure("invalid_program", "type_error", detail)
    if subcategory not in _ENTRY:
        return Failure(rule.category, subcategory, detail)
    if by_program or _inside_program(error):
        return Failure(
            rule.category, "unknown_name" if subcategory == "missing_entry_point" else subcategory, detail
        )
    if interface:
        word, _, sentence = interface[0].partition(": ")
        if sentence and word in _INTERFACE:
            return Failure(rule.category, word, sentence)
        return Failure(rule.category, subcategory, interface[0])
    return Failure(rule.category, subcategory, detail)


def _install_failure(install: CallObservation) -> Failure | None:
    if install.limit is not None:
        return Failure("limit", install.limit, "while the program was played")
    if install.lost:
        return Failure("wrong_result", "session_lost", "while the program was played")
    if install.error is None:
        return None
    return _root_cause(classify_error(install.error, by_program=True), install)


def _outcome_failure(
    test: Test,
    outcome: Outcome,
    actual: Observation,
    install: CallObservation | None,
    interface: Sequence[str],
) -> Failure:
    call = (
        actual.calls[outcome.call] if outcome.call is not None and outcome.call < len(actual.calls) else None
    )
    if outcome.kind == "uninstalled" and call is not None:
        failure = _install_failure(call)
        if failure is not None:
            return failure
    if outcome.kind == "limit":
        limit = call.limit if call is not None else None
        return Failure("limit", limit or "unclassified", outcome.detail)
    if outcome.kind == "lost":
        return Failure("wrong_result", "session_lost", outcome.detail)
    if outcome.kind == "truncated":
        return Failure("limit", "row_limit", outcome.detail)
    if outcome.kind == "unexpected_error" and call is not None and call.error is not None:
        # Without calls it is the program itself that is played as the test.
        failure = classify_error(call.error, interface, by_program=not test.calls)
        return _root_cause(failure, install)
    return Failure("wrong_result", _MISMATCHES.get(outcome.kind or "", "output_mismatch"), outcome.detail)


def _root_cause(failure: Failure, install: CallObservation | None) -> Failure:
    """Oracle creates objects that do not compile: why they did not says more than that they are invalid."""
    if failure.subcategory != "invalid_object" or install is None:
        return failure
    errors = [diagnostic for diagnostic in install.diagnostics if diagnostic.severity == "error"]
    cause = classify_error(errors[0], by_program=True) if errors else failure
    return failure if cause.subcategory == "unclassified" else cause


def _at_end_of_text(error: Diagnostic) -> bool:
    message = error.message.lower()
    return any(sign in message for sign in ("at end of input", "unterminated", "end-of-file"))


def _inside_program(error: Diagnostic) -> bool:
    """Tell whether the program's own code raised it: PostgreSQL's context has a frame of a function."""
    frames = [line for line in (error.where or "").splitlines() if " function " in line]
    return any("inline_code_block" not in frame for frame in frames)
