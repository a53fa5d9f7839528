"""Two runs side by side: whether they were judged alike, and the part that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_plsqlbench.bench.metrics import INCLUDED, Unit
from pytest_plsqlbench.bench.plural import noun, numbered
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import UserError

Rows = Mapping[Unit, Sequence[TurnResult]]


class CommonPart(NamedTuple):
    """What two runs can be compared on: whole tasks and conversations."""

    old: tuple[TurnResult, ...]
    new: tuple[TurnResult, ...]
    only_old: int
    """Tasks (and dialects) that only the baseline has."""
    only_new: int
    changed: int
    """Tasks that both have, with other turns, tests or references: compared as little."""
    notes: tuple[str, ...]
    """What a reader of the comparison must know, one line each."""


class Baseline(NamedTuple):
    """An earlier run to compare with."""

    name: str
    """As the user named it."""
    results: Sequence[TurnResult]
    common: bool
    """Compare the common part where the runs differ."""
    way: str
    """How the user asks for that, for messages."""
    pending: int = 0
    """Turns that it set out to grade and has no result of: it was stopped or killed."""

    def common_part(self, results: Sequence[TurnResult]) -> CommonPart:
        """What a run has in common with it.

        Raises:
            UserError: they cannot be compared.
        """
        return common_part(
            self.results,
            results,
            baseline=self.name,
            common=self.common,
            way=self.way,
            pending=self.pending,
        )

    def engines(self) -> dict[str, set[str]]:
        """Names and versions of the engines that it was played by, by dialect."""
        return _played_by(_by_unit(self.results))


def common_part(
    old: Iterable[TurnResult],
    new: Iterable[TurnResult],
    *,
    baseline: str,
    common: bool,
    way: str,
    pending: int = 0,
) -> CommonPart:
    """Take what two runs have in common.

    Args:
        old: results of the baseline.
        new: results of the run.
        baseline: name of the baseline, for messages.
        common: whether runs may differ in their tasks or engines.
        way: how the user says so, for messages.
        pending: turns that the baseline lacks since it was stopped.

    Raises:
        UserError: the runs were not judged by the same rules, have nothing in common, or differ and may not.
    """
    theirs, ours = _by_unit(old), _by_unit(new)
    _check_comparators(theirs, ours, baseline)
    both = theirs.keys() & ours.keys()
    changed = {unit: why for unit in both if (why := _change(theirs[unit], ours[unit]))}
    only_old, only_new = theirs.keys() - ours.keys(), ours.keys() - theirs.keys()
    shared = sorted(both - changed.keys())
    reasons = []
    if pending:
        reasons.append(f"it is incomplete: {pending} of its turns {noun(pending, 'has', 'have')} no result")
    if only_old:
        reasons.append(f"{_count(only_old)} of it {_is(only_old)} not in this run ({_first(only_old)})")
    if only_new:
        reasons.append(f"{_count(only_new)} of this run {_is(only_new)} not in it ({_first(only_new)})")
    if changed:
        first = min(changed)
        differ = noun(len(changed), "differs", "differ")
        reasons.append(f"{_count(changed)} {differ} ({_name(first)}: {changed[first]})")
    reasons += _engines(theirs, ours)
    if not shared:
        why = f": {reasons[0]}" if reasons else ""
        raise UserError(f"the baseline {baseline} has no task in common with this run{why}")
    if reasons and not common:
        raise UserError(
            f"the baseline {baseline} is of another run: {'; '.join(reasons)};"
            f" {way} compares the common part ({_count(shared)})"
        )
    return CommonPart(
        tuple(row for unit in shared for row in theirs[unit]),
        tuple(row for unit in shared for row in ours[unit]),
        len(only_old),
        len(only_new),
        len(changed),
        tuple(reasons),
    )


def _by_unit(rows: Iterable[TurnResult]) -> dict[Unit, list[TurnResult]]:
    units: defaultdict[Unit, list[TurnResult]] = defaultdict(list)
    for row in rows:
        units[row.subset, row.task, row.dialect].append(row)
    return dict(units)


def _check_comparators(old: Rows, new: Rows, baseline: str) -> None:
    theirs, ours = (sorted({row.comparator for rows in side.values() for row in rows}) for side in (old, new))
    if theirs and ours and theirs != ours:
        raise UserError(
            f"the baseline {baseline} was judged by other rules: {', '.join(theirs)} there,"
            f" {', '.join(ours)} here; grade its predictions again with the rules of this run"
        )


def _change(old: Sequence[TurnResult], new: Sequence[TurnResult]) -> str | None:
    """What differs between the two runs' versions of a task; None where nothing does."""
    if {(row.turn, row.turns) for row in old} != {(row.turn, row.turns) for row in new}:
        return "other turns"
    for turn in {row.turn for row in old}:
        for what, values in (
            ("another reference", [_references(side, turn) for side in (old, new)]),
            ("another number of tests", [_totals(side, turn) for side in (old, new)]),
        ):
            if values[0] and values[1] and values[0] != values[1]:
                return what
    return None


def _references(rows: Sequence[TurnResult], turn: int) -> set[str]:
    return {row.reference_sha256 for row in rows if row.turn == turn and row.reference_sha256 is not None}


def _totals(rows: Sequence[TurnResult], turn: int) -> set[int]:
    return {row.total for row in rows if row.turn == turn and row.status in INCLUDED}


def _engines(old: Rows, new: Rows) -> list[str]:
    """Dialects that were played on other engines or versions of them."""
    theirs, ours = _played_by(old), _played_by(new)
    return [
        f"{dialect} was played by {_list(theirs[dialect])} there and by {_list(ours[dialect])} here"
        for dialect in sorted(theirs.keys() & ours.keys())
        if theirs[dialect] and ours[dialect] and theirs[dialect] != ours[dialect]
    ]


def _played_by(side: Rows) -> dict[str, set[str]]:
    engines: defaultdict[str, set[str]] = defaultdict(set)
    for unit, rows in side.items():
        engines[unit[2]] |= {f"{row.engine.name} {row.engine.version}" for row in rows if row.engine}
    return dict(engines)


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _name(unit: Unit) -> str:
    subset, task, dialect = unit
    return f"{subset} task {task!r} in {dialect}"


def _first(units: Iterable[Unit]) -> str:
    return f"the first is {_name(min(units))}"


def _count(units: Sequence[Unit] | Iterable[Unit]) -> str:
    return numbered(len(list(units)), "task")


def _is(units: Iterable[Unit]) -> str:
    return noun(len(list(units)), "is", "are")
