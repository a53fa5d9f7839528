"""Mode ``state``: what the calls left in the tables (ProcArena's EX), published and strict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from pytest_plsqlbench.bench.difference import WIDTH, escape
from pytest_plsqlbench.bench.observation import TableState
from pytest_plsqlbench.bench.outcome import PASSED, Outcome, failed
from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.rules.errors import same_code
from pytest_plsqlbench.bench.rules.rows import check_crowding, rows_alike
from pytest_plsqlbench.bench.rules.sides import Sides
from pytest_plsqlbench.bench.task import Comparison


def state_alike(sides: Sides) -> Outcome:
    """Judge whether all tables hold the reference's rows after the last call."""
    return _tables_alike(sides, sides.reference().state, sides.actual.state, "after the last call")


def check_crowded_tables(sides: Sides) -> None:
    """Make sure that the rows of the reference's tables can be told from any others.

    Raises:
        UnjudgeableError: the tolerance is too wide for them.
    """
    for table in sides.reference().state or ():
        check_crowding(sides, (), table.rows)


def strictly_alike(sides: Sides) -> Outcome:
    """Judge what only the strict reading asks for: codes alike, tables after every call, objects alike.

    Raises:
        UnjudgeableError: the state between the calls was not observed.
    """
    sides = replace(sides, rule=Comparison("state"))
    outcome = same_code(sides)
    if not outcome.passed:
        return outcome
    expected, actual = sides.reference(), sides.actual
    if expected.state_between is None or actual.state_between is None:
        raise sides.fault("cannot be judged strictly: the state between calls was not observed")
    if len(expected.state_between) != len(actual.state_between):
        raise sides.fault("cannot be judged strictly: the state was not observed after the same calls")
    for number, (wanted, found) in enumerate(zip(expected.state_between, actual.state_between, strict=True)):
        outcome = _tables_alike(sides, wanted, found, f"after call {number + 1}")
        if not outcome.passed:
            return msgspec.structs.replace(outcome, call=number)
    ours, theirs = set(expected.objects or ()), set(actual.objects or ())
    if ours == theirs:
        return PASSED
    missing, extra = sorted(ours - theirs), sorted(theirs - ours)
    return failed("state", "objects", (_show(missing), _show(extra)), "new, dropped or altered objects")


def _show(objects: Sequence[str]) -> str:
    return escape(", ".join(objects[:3]))[:WIDTH] or "no such change"


def _tables_alike(
    sides: Sides, expected: Sequence[TableState] | None, actual: Sequence[TableState] | None, when: str
) -> Outcome:
    """Compare tables; one that a side does not list holds its initial rows there, so both list it or none."""
    if expected is None or actual is None:
        raise sides.fault(f"compares the state, which was not observed {when}")
    wanted = {table.name: table for table in expected}
    found = {table.name: table for table in actual}
    for name in sorted(wanted.keys() | found.keys()):
        outcome = _table_alike(sides, wanted.get(name), found.get(name), f"table {name} {when}")
        if not outcome.passed:
            return outcome
    return PASSED


def _table_alike(sides: Sides, wanted: TableState | None, found: TableState | None, where: str) -> Outcome:
    if wanted is None or found is None:
        return failed("state", "state", (_change(wanted), _change(found)), where)
    if len(wanted.columns) != len(found.columns):
        columns = numbered(len(wanted.columns), "column"), numbered(len(found.columns), "column")
        return failed("state", "state", columns, where)
    outcome = rows_alike(sides, (), wanted.rows, found.rows, "state", lambda what: f"{where}: {what}")
    return outcome if outcome.passed else msgspec.structs.replace(outcome, kind="state")


def _change(table: TableState | None) -> str:
    return "unchanged" if table is None else f"changed, {numbered(len(table.rows), 'row')}"
