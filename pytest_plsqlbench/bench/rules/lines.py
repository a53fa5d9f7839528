"""Modes ``lines``, ``lines_bag`` and ``permuted``: printed output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_plsqlbench.bench.difference import show_lines
from pytest_plsqlbench.bench.matching import Equality, kind_of_difference
from pytest_plsqlbench.bench.observation import ResultSet
from pytest_plsqlbench.bench.outcome import PASSED, Outcome, failed
from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.printed import RowLines, is_empty, line_equality, printed
from pytest_plsqlbench.bench.rules.expected import check_order_keys, single_result
from pytest_plsqlbench.bench.rules.sides import Sides

_KINDS = {"missing": "missing_line", "extra": "extra_line", "different": "different_line"}
_ROW_KINDS = {"missing": "row_missing", "extra": "row_extra", "different": "different_line"}


def lines_in_order(sides: Sides) -> Outcome:
    """Judge whether each call prints the reference's lines, or all of them together the stated ones."""
    equality = _equality(sides)
    for number, wanted, found in _pairs(sides):
        place = equality.first_unequal(wanted, found)
        if place is not None:
            return _in_order_failure(sides, number, wanted, found, place)
    return PASSED


def lines_in_any_order(sides: Sides) -> Outcome:
    """Judge printed lines as a bag: duplicates count, empty lines do not (each could be a trailing one)."""
    for number, *both in _pairs(sides):
        wanted, found = (_not_empty(lines, sides) for lines in both)
        outcome = _bag(sides, number, wanted, found)
        if not outcome.passed:
            return outcome
    return PASSED


def rows_as_lines(sides: Sides) -> Outcome:
    """Judge whether the lines printed in all calls are the gold's rows, in one order of their columns."""
    result = single_result(sides)
    if result.truncated:
        return failed("permuted", "truncated", (None, None), "the expected rows are incomplete")
    rows, width = _row_lines(sides, result)
    found = printed(sides.printed(), sides.reading)
    equality = _equality(sides)
    if rows.match(found, equality):
        return PASSED
    order = rows.nearest(found, equality)
    wanted = rows.lines(order)
    missing, extra = rows.difference(found, order, equality) or (None, None)
    left = None if missing is None else wanted[missing]
    right = None if extra is None or extra >= len(found) else found[extra]
    kind = _ROW_KINDS[kind_of_difference((left, right), len(wanted), len(found))]
    if kind == "different_line" and equality.reordered(wanted, found):
        kind = "order"
    where = [] if len(wanted) == len(found) else [_counts(wanted, found)]
    if sides.rule.order_keys != () and extra is not None:
        where.insert(0, f"line {extra + 1}")
    if order != tuple(range(width)):
        where.append(f"columns in the order {', '.join(str(column + 1) for column in order)}")
    return failed("permuted", kind, show_lines(left, right), "; ".join(where) or "lines in any order")


def check_crowded_lines(sides: Sides) -> None:
    """Make sure that the expected lines of mode ``lines_bag`` can be told from any others.

    Raises:
        UnjudgeableError: the tolerance is too wide for them.
    """
    for _, wanted, _ in _pairs(sides):
        _equality(sides).check_crowding(_not_empty(wanted, sides))


def check_crowded_rows_as_lines(sides: Sides) -> None:
    """Make sure that the expected rows of mode ``permuted`` can be told from any others.

    Raises:
        UnjudgeableError: the tolerance is too wide for them.
    """
    _row_lines(sides, single_result(sides))[0].check_crowding(_equality(sides))


def _row_lines(sides: Sides, result: ResultSet) -> tuple[RowLines, int]:
    """Give the lines of rows, and the number of columns that are printed."""
    if result.rows:
        check_order_keys(sides, result)
    width = len(result.columns) - sides.rule.hidden_columns
    if width < 1 and result.rows:
        raise sides.fault("hides all columns of its rows")
    return RowLines(result.rows, width, sides.rule.order_keys, sides.reading), width


def _not_empty(lines: Sequence[str], sides: Sides) -> list[str]:
    return [line for line in lines if not is_empty(line, sides.reading)]


def _equality(sides: Sides) -> Equality[str]:
    return replace(line_equality(sides.reading), tolerance=sides.tolerance)


def _pairs(sides: Sides) -> list[tuple[int, Sequence[str], Sequence[str]]]:
    stated = sides.test.expect
    if stated is not None and stated.lines is not None:
        return [(0, printed(stated.lines, sides.reading), printed(sides.printed(), sides.reading))]
    return [
        (number, printed(expected.lines, sides.reading), printed(actual.lines, sides.reading))
        for number, (expected, actual) in enumerate(sides.calls())
    ]


def _in_order_failure(
    sides: Sides, number: int, wanted: Sequence[str], found: Sequence[str], place: int
) -> Outcome:
    equality = _equality(sides)
    left = wanted[place] if place < len(wanted) else None
    right = found[place] if place < len(found) else None
    kind = "different_line"
    if right is None or (len(found) < len(wanted) and equality.same(wanted[place + 1], right)):
        kind = "missing_line"
    elif left is None or (len(found) > len(wanted) and equality.same(left, found[place + 1])):
        kind = "extra_line"
    elif equality.reordered(wanted, found):
        kind = "order"
    where = f"line {place + 1}"
    if len(wanted) != len(found):
        where += f" ({_counts(wanted, found)})"
    return failed("lines", kind, show_lines(left, right), sides.at(number, where), number)


def _bag(sides: Sides, number: int, wanted: Sequence[str], found: Sequence[str]) -> Outcome:
    places = _equality(sides).bag_difference(wanted, found)
    if places is None:
        return PASSED
    missing, extra = places
    left = None if missing is None else wanted[missing]
    right = None if extra is None else found[extra]
    kind = _KINDS[kind_of_difference((left, right), len(wanted), len(found))]
    where = "lines in any order" if len(wanted) == len(found) else _counts(wanted, found)
    return failed(sides.rule.mode, kind, show_lines(left, right), sides.at(number, where), number)


def _counts(wanted: Sequence[str], found: Sequence[str]) -> str:
    return f"{numbered(len(wanted), 'line')} expected, {len(found)} printed"
