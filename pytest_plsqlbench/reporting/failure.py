"""What a person reads about a turn that was not solved: prompt, failed tests, differences, diagnostics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.reporting.properties import main_category

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_plsqlbench.bench.blame import Blame
    from pytest_plsqlbench.bench.observation import Diagnostic
    from pytest_plsqlbench.bench.result import TestResult, TurnResult
    from pytest_plsqlbench.bench.task import Turn

_WIDTH = 100
_TESTS_SHOWN = 10
_DIAGNOSTICS_SHOWN = 3


def failure_text(result: TurnResult, turn: Turn, program: str | None) -> str:
    """The report of a turn that was not solved, several lines, free of control characters.

    Args:
        result: what was found.
        turn: the request.
        program: the candidate's text; None where there is no prediction.
    """
    return "\n".join(_lines(result, turn, program))


def headline(result: TurnResult) -> str:
    """One line: how many tests passed, and the main category."""
    if result.status == "missing":
        return "missing: no prediction for this turn (scored 0)"
    words = f"{result.passed} of {numbered(result.total, 'test')} passed"
    if result.repeats:
        words += f" in each of {len(result.repeats)} plays"
    category = main_category(result)
    return f"{words}; {category}" if category else words


def _lines(result: TurnResult, turn: Turn, program: str | None) -> Iterator[str]:
    yield headline(result)
    yield f"prompt: {_short(first_line(turn.prompt))}"
    failed = [test for test in result.tests if test.verdict == "failed"]
    for test in failed[:_TESTS_SHOWN]:
        yield from _test_lines(test)
    if len(failed) > _TESTS_SHOWN:
        yield f"and {len(failed) - _TESTS_SHOWN} more failed tests, see results.jsonl"
    for diagnostic in _distinct(result.diagnostics)[:_DIAGNOSTICS_SHOWN]:
        yield from diagnostic_lines(diagnostic, program)
    if result.blame is not None:
        yield f"blame: {_blame(result.blame, result.total)}"
    if result.extracted:
        yield f"extracted: {'; '.join(_short(step) for step in result.extracted)}"
    if result.flags:
        yield f"flags: {', '.join(result.flags)}"


def _blame(blame: Blame, total: int) -> str:
    if blame.failure == "unknown":
        return f"unknown: {_short(blame.reason or '')}"
    if blame.passed is None:
        return "own: the first turn"
    return f"{blame.failure}: passes {blame.passed} of {numbered(total, 'test')} on the references' state"


def first_line(text: str) -> str:
    """The first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _test_lines(test: TestResult) -> Iterator[str]:
    category = "/".join(word for word in (test.category, test.subcategory) if word)
    yield f"failed: {_short(test.name)} ({category})"
    if test.detail:
        yield f"    {_short(test.detail)}"
    if test.expected is not None or test.actual is not None:
        yield from _block("expected", test.expected)
        yield from _block("actual", test.actual)
    if test.normalized == "passed":
        yield "    would pass if only formatting were ignored"


def _block(label: str, text: str | None) -> Iterator[str]:
    lines = ["(nothing)"] if text is None else text.split("\n")
    for number, line in enumerate(lines):
        yield f"    {label + ':' if number == 0 else '':<10}{_short(line)}"


def diagnostic_lines(diagnostic: Diagnostic, program: str | None) -> Iterator[str]:
    """The engine's message, and the line of the candidate's text that it points to."""
    place = ""
    if diagnostic.line is not None:
        place = f" (line {diagnostic.line}"
        place += f", column {diagnostic.column})" if diagnostic.column is not None else ")"
    yield f"{diagnostic.severity} {diagnostic.code}: {_short(diagnostic.message)}{place}"
    for label, text in (("detail", diagnostic.detail), ("hint", diagnostic.hint)):
        if text:
            yield f"    {label}: {_short(text)}"
    lines = program.splitlines() if program is not None else []
    if diagnostic.line is not None and 0 < diagnostic.line <= len(lines):
        number = f"{diagnostic.line:>5} | "
        source = lines[diagnostic.line - 1]
        yield number + _short(source)
        if diagnostic.column is not None and 0 < diagnostic.column <= min(len(source), _WIDTH):
            pad = "".join("\t" if c == "\t" else " " for c in source[: diagnostic.column - 1])
            yield " " * len(number) + pad.expandtabs(1) + "^"


def _distinct(diagnostics: tuple[Diagnostic, ...]) -> list[Diagnostic]:
    return list({(d.code, d.message, d.line): d for d in reversed(diagnostics)}.values())[::-1]


def _short(text: str) -> str:
    shown = text if text.isprintable() else escape(text)
    return shown if len(shown) <= _WIDTH else shown[: _WIDTH - 1] + "…"
