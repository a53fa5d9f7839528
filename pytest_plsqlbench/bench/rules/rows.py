"""Modes ``value``, ``list`` and ``bag``: result sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_plsqlbench.bench.difference import show_cells, show_row, show_rows
from pytest_plsqlbench.bench.matching import Equality, tie_groups
from pytest_plsqlbench.bench.observation import CallObservation, Cell, ResultSet
from pytest_plsqlbench.bench.outcome import PASSED, Outcome, failed
from pytest_plsqlbench.bench.rules.sides import Sides
from pytest_plsqlbench.bench.task import Mode
from pytest_plsqlbench.bench.values import (
    Row,
    cell_key,
    loose_cell,
    row_key,
    split_cell,
    split_row,
    stated_cell,
    tie_key,
)


def results_alike(sides: Sides) -> Outcome:
    """Judge whether each call returns the reference's result sets (modes ``list`` and ``bag``).

    The number of result sets and of their columns counts, the names of the columns do not. Against stated
    rows or a gold query the calls together must return one result set.
    """
    mode = sides.rule.mode
    for number, expected, actual in _pairs(sides):
        if len(expected) != len(actual):
            kind = "result_missing" if len(actual) < len(expected) else "result_extra"
            shown = f"{len(expected)} result sets", f"{len(actual)} result sets"
            return failed(mode, kind, shown, sides.at(number), number)
        for place, (wanted, found) in enumerate(zip(expected, actual, strict=True)):
            where = f"result set {place + 1}, " if len(expected) > 1 else ""
            outcome = _result_alike(sides, number, where, wanted, found)
            if not outcome.passed:
                return outcome
    return PASSED


def value_alike(sides: Sides) -> Outcome:
    """Judge the first cell of the first row of the first result set of the last call that returned one."""
    actual = _last_result(sides.actual.calls)
    stated = stated_result(sides)
    if stated is not None:
        wanted: ResultSet | None = stated
        actual = None if actual is None else _loose(actual)
    elif sides.test.gold is not None:
        wanted = single_result(sides)
    else:
        wanted = _last_result(expected for expected, _ in sides.calls())
    if wanted is None:
        raise sides.fault("compares a value but its reference returned none")
    if actual is None:
        return failed("value", "result_missing", (_show_first(wanted), "no result set"))
    if wanted.truncated or actual.truncated:
        return failed("value", "truncated", (None, None), "more rows than the limit allows")
    left, right = _first(wanted), _first(actual)
    if left is None or right is None:
        if left == right:
            return PASSED
        kind = "row_missing" if right is None else "row_extra"
        return failed("value", kind, (_show_first(wanted), _show_first(actual)))
    cells: Equality[Cell] = Equality(
        lambda cell: cell_key(cell, sides.reading),
        lambda cell: split_cell(cell, sides.reading),
        sides.tolerance,
    )
    if cells.same(left[0], right[0]):
        return PASSED
    return failed("value", "different_value", show_cells(left[0], right[0]))


def rows_alike(
    sides: Sides,
    order_keys: tuple[int, ...] | None,
    wanted: Sequence[Row],
    found: Sequence[Row],
    mode: Mode,
    at: Callable[[str], str | None],
) -> Outcome:
    """Judge rows in order (None), up to ties in some columns, or as a bag (empty)."""
    equality = row_equality(sides)
    counts = "" if len(wanted) == len(found) else f" ({len(wanted)} rows expected, {len(found)} found)"
    if order_keys == ():
        places: tuple[int | None, int | None] | None = equality.bag_difference(wanted, found)
        if places == (None, None):
            return PASSED
    elif order_keys is None:
        place = equality.first_unequal(wanted, found)
        places = None if place is None else (place, place)
    else:
        keys = [tuple([tie_key(row[column], sides.reading) for column in order_keys]) for row in wanted]
        places = _first_beyond_ties(equality, keys, wanted, found)
    if places is None:
        return PASSED
    left = None if places[0] is None or places[0] >= len(wanted) else wanted[places[0]]
    right = None if places[1] is None or places[1] >= len(found) else found[places[1]]
    kind = "row_missing" if right is None else "row_extra" if left is None else "different_value"
    where = "rows in any order"
    if order_keys != ():
        place = next(place for place in places if place is not None)
        kind = _kind_in_order(equality, wanted, found, place, kind)
        where = f"row {place + 1}"
    return failed(mode, kind, show_rows(left, right), at(where + counts))


def row_equality(sides: Sides) -> Equality[Row]:
    """Give the equality of rows in the rule's reading and tolerance."""
    reading = sides.reading
    return Equality(lambda row: row_key(row, reading), lambda row: split_row(row, reading), sides.tolerance)


def stated_result(sides: Sides) -> ResultSet | None:
    """Give the rows that the test states; None where it states none.

    Raises:
        UnjudgeableError: they are no table of numbers, text, booleans and nulls.
    """
    stated = sides.test.expect
    if stated is None or stated.rows is None:
        return None
    try:
        rows = tuple(tuple([stated_cell(value) for value in row]) for row in stated.rows)
    except TypeError as fault:
        raise sides.fault(f"states rows that cannot be compared: {fault}") from fault
    width = len(rows[0]) if rows else 0
    if any(len(row) != width for row in rows):
        raise sides.fault("states rows of different lengths")
    return ResultSet(columns=tuple("" for _ in range(width)), rows=rows)


def single_result(sides: Sides) -> ResultSet:
    """Give the only result set that is expected: the stated rows, or those of the gold query.

    Raises:
        UnjudgeableError: there is not exactly one.
    """
    stated = stated_result(sides)
    if stated is not None:
        return stated
    results = [result for call in sides.reference().calls for result in call.results]
    if len(results) != 1:
        raise sides.fault(f"needs one expected result set, not {len(results)}")
    return results[0]


def check_order_keys(sides: Sides, result: ResultSet) -> None:
    """Make sure that the columns of the sort key exist.

    Raises:
        UnjudgeableError: one does not.
    """
    for key in sides.rule.order_keys or ():
        if not 0 <= key < len(result.columns):
            raise sides.fault(f"orders by column {key} (from 0) of {len(result.columns)}")


def _pairs(sides: Sides) -> list[tuple[int, Sequence[ResultSet], Sequence[ResultSet]]]:
    every = [result for call in sides.actual.calls for result in call.results]
    stated = stated_result(sides)
    if stated is not None:
        loose = [_loose(result) for result in every]
        if not stated.rows:  # no row states how many columns there are
            loose = [ResultSet((), result.rows, result.truncated) for result in loose]
        return [(0, (stated,), loose)]
    if sides.test.gold is not None:
        return [(0, (single_result(sides),), every)]
    return [(n, expected.results, actual.results) for n, (expected, actual) in enumerate(sides.calls())]


def _result_alike(sides: Sides, number: int, where: str, wanted: ResultSet, found: ResultSet) -> Outcome:
    mode = sides.rule.mode
    if wanted.truncated or found.truncated:
        why = sides.at(number, f"{where}more rows than the limit allows")
        return failed(mode, "truncated", (None, None), why, number)
    if len(wanted.columns) != len(found.columns):
        shown = f"{len(wanted.columns)} columns", f"{len(found.columns)} columns"
        return failed(mode, "column_count", shown, sides.at(number, where.rstrip(", ")), number)
    check_order_keys(sides, wanted)
    order_keys = () if mode == "bag" else sides.rule.order_keys
    return rows_alike(
        sides, order_keys, wanted.rows, found.rows, mode, lambda what: sides.at(number, where + what)
    )


def _first_beyond_ties(
    equality: Equality[Row], keys: Sequence[tuple[object, ...]], wanted: Sequence[Row], found: Sequence[Row]
) -> tuple[int | None, int | None] | None:
    for start, end in tie_groups(keys):
        ours, theirs = wanted[start:end], found[start:end]
        if equality.first_unequal(ours, theirs) is None:
            continue
        missing, extra = equality.bag_difference(ours, theirs)
        if missing is not None or extra is not None:
            return (
                None if missing is None else start + missing,
                None if extra is None else start + extra,
            )
    return None if len(wanted) == len(found) else (len(wanted), len(wanted))


def _kind_in_order(
    equality: Equality[Row], wanted: Sequence[Row], found: Sequence[Row], place: int, kind: str
) -> str:
    """Name a difference between rows in order: a row too few or many, two swapped, or another value."""
    if kind != "different_value":
        return kind
    if len(found) < len(wanted) and place < len(found) and equality.same(wanted[place + 1], found[place]):
        return "row_missing"
    if len(found) > len(wanted) and equality.same(wanted[place], found[place + 1]):
        return "row_extra"
    if len(found) == len(wanted) and equality.bag_difference(wanted, found) == (None, None):
        return "order"
    return kind


def _last_result(calls: Iterable[CallObservation]) -> ResultSet | None:
    results = [call.results[0] for call in calls if call.results]
    return results[-1] if results else None


def _first(result: ResultSet) -> Row | None:
    """Give the first cell as a row of one; None where the result has no row."""
    return result.rows[0][:1] or None if result.rows else None


def _show_first(result: ResultSet) -> str:
    row = _first(result)
    return "no row" if row is None else show_row(row)


def _loose(result: ResultSet) -> ResultSet:
    rows = tuple(tuple([loose_cell(cell) for cell in row]) for row in result.rows)
    return ResultSet(result.columns, rows, result.truncated)
