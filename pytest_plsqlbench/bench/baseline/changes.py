"""What changed against a baseline, turn by turn: newly solved, newly broken, other failures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal

import msgspec

from pytest_plsqlbench.bench.metrics import INCLUDED
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import Dialect

Kind = Literal["newly_broken", "newly_solved", "worsened", "improved", "category"]
KINDS: tuple[Kind, ...] = ("newly_broken", "newly_solved", "worsened", "improved", "category")
"""In the order in which they are shown."""


class Standing(msgspec.Struct, frozen=True):
    """How a turn did in one run, over its samples."""

    solved: float
    """Share of the samples that solve it."""
    passed: float
    """Share of its tests that pass, averaged over samples."""
    state: str
    """``solved``, the category and subcategory of its first failed test, or a status; of the first sample
    that is not solved."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that did otherwise than in the baseline."""

    kind: Kind
    """``newly_solved`` and ``newly_broken``: by some sample and by none; ``improved`` and ``worsened``: more
    or fewer samples or tests; ``category``: as many, but it fails in another way."""
    subset: str
    task: str
    dialect: Dialect
    turn: int
    turn_id: str
    before: Standing
    after: Standing


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """How many turns went from one state into another."""

    before: str
    after: str
    turns: int


def changes(old: Iterable[TurnResult], new: Iterable[TurnResult]) -> tuple[Change, ...]:
    """Compare turn by turn, by kind and then in the order of ids.

    Turns that were not judged in both runs are left out: nobody knows how they did.
    """
    theirs, ours = _by_turn(old), _by_turn(new)
    found = []
    for key in sorted(theirs.keys() & ours.keys()):
        before, after = _standing(theirs[key]), _standing(ours[key])
        kind = _kind(before, after)
        if kind is None:
            continue
        row = ours[key][0]
        found.append(
            Change(
                kind=kind,
                subset=row.subset,
                task=row.task,
                dialect=row.dialect,
                turn=row.turn,
                turn_id=row.turn_id,
                before=before,
                after=after,
            )
        )
    return tuple(sorted(found, key=lambda change: KINDS.index(change.kind)))


def moves(found: Iterable[Change]) -> tuple[Move, ...]:
    """Count from which state into which turns went, the most frequent first."""
    counts = Counter((change.before.state, change.after.state) for change in found)
    return tuple(
        Move(before=before, after=after, turns=counts[before, after])
        for before, after in sorted(counts, key=lambda pair: (-counts[pair], pair))
        if before != after
    )


def _by_turn(rows: Iterable[TurnResult]) -> dict[tuple[str, str, Dialect, int], list[TurnResult]]:
    turns: defaultdict[tuple[str, str, Dialect, int], list[TurnResult]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.sample):
        if row.status in INCLUDED:
            turns[row.subset, row.task, row.dialect, row.turn].append(row)
    return dict(turns)


def _standing(rows: Sequence[TurnResult]) -> Standing:
    passed = sum((Fraction(row.passed, row.total) for row in rows), Fraction()) / len(rows)
    state = next((_state(row) for row in rows if not row.solved), "solved")
    return Standing(sum(row.solved for row in rows) / len(rows), float(passed), state)


def _state(row: TurnResult) -> str:
    if row.status != "graded":
        return row.status
    failed = next((test for test in row.tests if test.verdict == "failed"), None)
    if failed is None:
        return "unclassified"
    return f"{failed.category or 'unclassified'}/{failed.subcategory or 'unclassified'}"


def _kind(before: Standing, after: Standing) -> Kind | None:
    if before.solved != after.solved:
        if not before.solved:
            return "newly_solved"
        if not after.solved:
            return "newly_broken"
        return "improved" if after.solved > before.solved else "worsened"
    if before.passed != after.passed:
        return "improved" if after.passed > before.passed else "worsened"
    return "category" if before.state != after.state else None
