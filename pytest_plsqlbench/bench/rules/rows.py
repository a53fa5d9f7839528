"""Modes ``value``, ``list`` and ``bag``: result sets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from pytest_plsqlbench.bench.difference import show_cells, show_row, show_rows
from pytest_plsqlbench.bench.matching import Equality, Places, kind_of_difference, tie_groups
from pytest_plsqlbench.bench.observation import CallObservation, Cell, ResultSet
from pytest_plsqlbench.bench.outcome import PASSED, Outcome, failed
from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.rules.expected import check_order_keys, single_result, stated_result
from pytest_plsqlbench.bench.rules.sides import Sides
from pytest_plsqlbench.bench.task import Mode
from pytest_plsqlbench.bench.values import Row, cell_key, row_key, split_cell, split_row, tie_key, untyped

_KINDS = {"missing": "row_missing", "extra": "row_extra", "different": "different_value"}


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
    """Judge the first cell of the first row of the first result set of the last call that returned one.

    Where that row is expected to have more cells (several OUT values), as many are judged: a task that
    expects them means them.
    """
    stated = stated_result(sides)
    if stated is not None:
        wanted: ResultSet | None = stated
    elif sides.test.gold is not None:
        wanted = single_result(sides)
    else:
        wanted = _last_result(expected for expected, _ in sides.calls())
    if wanted is None:
        raise sides.fault("compares a value but its reference returned none")
    actual = _last_result(sides.actual.calls)
    if actual is None:
        return failed("value", "result_missing", (_show_first(wanted), "no result set"))
    if wanted.truncated or actual.truncated:
        return failed("value", "truncated", (None, None), "more rows than the limit allows")
    if stated is not None:
        wanted, actual = _untyped(stated, actual)
    left, right = _first(wanted), _first(actual)
    if left is None or right is None:
        if left is right:
            return PASSED
        kind = "row_missing" if right is None else "row_extra"
        return failed("value", kind, (_show_first(wanted), _show_first(actual)))
    if len(right) < len(left):
        return failed(
            "value", "column_count", (numbered(len(left), "column"), numbered(len(right), "column"))
        )
    place = _cells(sides).first_unequal(left, right[: len(left)])
    if place is None:
        return PASSED
    where = f"column {place + 1}" if len(left) > 1 else None
    return failed("value", "different_value", show_cells(left[place], right[place]), where)


def rows_alike(
    sides: Sides,
    order_keys: tuple[int, ...] | None,
    wanted: Sequence[Row],
    found: Sequence[Row],
    mode: Mode,
    at: Callable[[str], str | None],
) -> Outcome:
    """Judge rows in order (None), up to ties in some columns, or as a bag (empty); ``at`` names the place."""
    equality = _rows(sides)
    places: Places | None
    if order_keys == ():
        places = equality.bag_difference(wanted, found)
    elif order_keys is None:
        place = equality.first_unequal(wanted, found)
        places = None if place is None else (place, place)
    else:
        places = _first_beyond_ties(equality, _tie_keys(sides, order_keys, wanted), wanted, found)
    if places is None:
        return PASSED
    return _failure(sides, places, wanted, found, mode, at, in_order=order_keys != ())


def check_crowded_rows(sides: Sides) -> None:
    """Make sure that the expected rows of modes ``bag`` and ``list`` can be told from any others.

    Raises:
        UnjudgeableError: the tolerance is too wide for them, or a sort key names no column.
    """
    for _, expected, _ in _pairs(sides):
        for result in expected:
            order_keys = _order_keys(sides)
            if order_keys and result.rows:
                check_order_keys(sides, result)
            check_crowding(sides, order_keys, result.rows)


def check_crowding(sides: Sides, order_keys: tuple[int, ...] | None, wanted: Sequence[Row]) -> None:
    """Make sure that rows which ``rows_alike`` is to compare can be told from any others.

    Raises:
        UnjudgeableError: the tolerance is so wide that too many of them could stand for each other.
    """
    stretches = [(0, len(wanted))] if order_keys == () else []
    if order_keys:
        stretches = list(tie_groups(_tie_keys(sides, order_keys, wanted)))
    for start, end in stretches:
        _rows(sides).check_crowding(wanted[start:end])


def _order_keys(sides: Sides) -> tuple[int, ...] | None:
    return () if sides.rule.mode == "bag" else sides.rule.order_keys


def _tie_keys(sides: Sides, order_keys: tuple[int, ...], rows: Sequence[Row]) -> list[Hashable]:
    return [tuple([tie_key(row[column], sides.reading) for column in order_keys]) for row in rows]


def _failure(
    sides: Sides,
    places: Places,
    wanted: Sequence[Row],
    found: Sequence[Row],
    mode: Mode,
    at: Callable[[str], str | None],
    *,
    in_order: bool,
) -> Outcome:
    left = None if places[0] is None or places[0] >= len(wanted) else wanted[places[0]]
    right = None if places[1] is None or places[1] >= len(found) else found[places[1]]
    kind = _KINDS[kind_of_difference((left, right), len(wanted), len(found))]
    column = None if left is None or right is None else _cells(sides).first_unequal(left, right)
    where = "rows in any order"
    if in_order:
        place = next(place for place in places if place is not None)
        kind = _kind_in_order(_rows(sides), wanted, found, place, kind)
        where = f"row {place + 1}"
        if column is not None and kind == "different_value" and left is not None and len(left) > 1:
            where += f", column {column + 1}"
    if len(wanted) != len(found):
        where += f" ({numbered(len(wanted), 'row')} expected, {len(found)} found)"
    return failed(mode, kind, show_rows(left, right, column or 0), at(where))


def _rows(sides: Sides) -> Equality[Row]:
    reading = sides.reading
    return Equality(lambda row: row_key(row, reading), lambda row: split_row(row, reading), sides.tolerance)


def _cells(sides: Sides) -> Equality[Cell]:
    reading = sides.reading
    return Equality(
        lambda cell: cell_key(cell, reading), lambda cell: split_cell(cell, reading), sides.tolerance
    )


def _pairs(sides: Sides) -> list[tuple[int, Sequence[ResultSet], Sequence[ResultSet]]]:
    every = [result for call in sides.actual.calls for result in call.results]
    stated = stated_result(sides)
    if stated is not None:
        if len(every) != 1:
            return [(0, (stated,), every)]
        wanted, found = _untyped(stated, every[0])
        if not stated.rows:  # no row says how many columns there are
            found = ResultSet((), found.rows, found.truncated)
        return [(0, (wanted,), (found,))]
    if sides.test.gold is not None:
        return [(0, (single_result(sides),), every)]
    return [(n, expected.results, actual.results) for n, (expected, actual) in enumerate(sides.calls())]


def _result_alike(sides: Sides, number: int, where: str, wanted: ResultSet, found: ResultSet) -> Outcome:
    mode = sides.rule.mode
    if wanted.truncated or found.truncated:
        why = sides.at(number, f"{where}more rows than the limit allows")
        return failed(mode, "truncated", (None, None), why, number)
    if len(wanted.columns) != len(found.columns):
        shown = numbered(len(wanted.columns), "column"), numbered(len(found.columns), "column")
        return failed(mode, "column_count", shown, sides.at(number, where.rstrip(", ")), number)
    order_keys = _order_keys(sides)
    if order_keys and (wanted.rows or found.rows):
        check_order_keys(sides, wanted)
    return rows_alike(
        sides, order_keys, wanted.rows, found.rows, mode, lambda what: sides.at(number, where + what)
    )


def _first_beyond_ties(
    equality: Equality[Row], keys: Sequence[Hashable], wanted: Sequence[Row], found: Sequence[Row]
) -> Places | None:
    for start, end in tie_groups(keys):
        ours, theirs = wanted[start:end], found[start:end]
        unequal = equality.first_unequal(ours, theirs)
        places = None if unequal is None else equality.bag_difference(ours, theirs)
        if unequal is None or places is None:
            continue
        if places == (None, None):
            return start + unequal, start + unequal
        missing, extra = places
        return None if missing is None else start + missing, None if extra is None else start + extra
    return None if len(wanted) == len(found) else (len(wanted), len(wanted))


def _kind_in_order(
    equality: Equality[Row], wanted: Sequence[Row], found: Sequence[Row], place: int, kind: str
) -> str:
    """Name a difference between rows in order: a row too few or many, two swapped, or another value."""
    if kind != "different_value":
        return kind
    if len(found) < len(wanted) and equality.same(wanted[place + 1], found[place]):
        return "row_missing"
    if len(found) > len(wanted) and equality.same(wanted[place], found[place + 1]):
        return "row_extra"
    if equality.reordered(wanted, found):
        return "order"
    return kind


def _last_result(calls: Iterable[CallObservation]) -> ResultSet | None:
    results = [call.results[0] for call in calls if call.results]
    return results[-1] if results else None


def _first(result: ResultSet) -> Row | None:
    """Give the first row; None where there is none, or it has no cell."""
    return result.rows[0] or None if result.rows else None


def _show_first(result: ResultSet) -> str:
    row = _first(result)
    return "no row" if row is None else show_row(row)


def _untyped(stated: ResultSet, result: ResultSet) -> tuple[ResultSet, ResultSet]:
    wanted, found = untyped(stated.rows, result.rows)
    return (
        ResultSet(stated.columns, tuple(wanted)),
        ResultSet(result.columns, tuple(found), result.truncated),
    )
