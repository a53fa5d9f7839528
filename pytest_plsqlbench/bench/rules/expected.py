"""Expected rows: those that a test states, or those of its gold query."""

from __future__ import annotations

from pytest_plsqlbench.bench.observation import ResultSet
from pytest_plsqlbench.bench.rules.sides import Sides
from pytest_plsqlbench.bench.values import stated_cell


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
