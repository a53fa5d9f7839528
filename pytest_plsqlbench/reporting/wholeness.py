"""Whether saved results are all that a run had to give: what the files beside them say of it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.shard import key_of
from pytest_plsqlbench.reporting.runfile import RUN_FILE, SUMMARY_FILE, read_run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_plsqlbench.bench.result import TurnResult


class Wholeness(NamedTuple):
    """What is known of a run's end."""

    pending: int
    """Turns that it is known to have set out to grade, and that have no result."""
    doubt: str | None
    """Why nobody knows whether these are all results, one line; None where it is known."""
    part: bool = False
    """These are known to be a part of a divided run."""

    @property
    def assumed(self) -> str | None:
        """The doubt that is left where somebody says that these are all results."""
        return self.doubt if self.part else None


class _Counted(msgspec.Struct):
    turns: int = 0


class _Summary(msgspec.Struct):
    turns_collected: int = 0
    complete: bool = False
    subsets: dict[str, _Counted] = {}


def wholeness(folder: Path, results: Sequence[TurnResult]) -> Wholeness:
    """Tell whether results are a whole run's, by the ``run.json`` or else the ``summary.json`` beside them.

    A run that is killed writes no ``summary.json``. Without either file all that can be told is which
    conversations lack turns.

    Args:
        folder: in which the results lie.
        results: as they were read.

    Raises:
        UserError: ``run.json`` cannot be read.
    """
    if (folder / RUN_FILE).exists():
        return _by_run(folder, results)
    path = folder / SUMMARY_FILE
    try:
        summary = msgspec.json.decode(path.read_bytes(), type=_Summary)
    except FileNotFoundError:
        return Wholeness(
            _lacking(results),
            f"it is not known whether the run was whole: there is no {SUMMARY_FILE} beside its results, which"
            " a run writes when it ends",
        )
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        why = f"the {SUMMARY_FILE} beside its results cannot be read: {error}"
        return Wholeness(_lacking(results), f"it is not known whether the run was whole: {why}")
    return _by_summary(summary, results)


def _by_run(folder: Path, results: Sequence[TurnResult]) -> Wholeness:
    part = read_run(folder)
    wanted, found = set(part.turns), {key_of(result) for result in results}
    doubt = f"these are shard {part.shard} of a run" if part.shard.count > 1 else None
    if more := len(found - wanted):
        doubt = f"{RUN_FILE} is of another run: it does not know {more} of {numbered(len(found), 'turn')}"
    return Wholeness(len(wanted - found), doubt, part.shard.count > 1)


def _by_summary(summary: _Summary, results: Sequence[TurnResult]) -> Wholeness:
    counts: defaultdict[str, int] = defaultdict(int)
    for result in results:
        counts[result.subset] += 1
    pending = max(summary.turns_collected - len(results), 0)
    agrees = counts == {subset: counted.turns for subset, counted in summary.subsets.items()}
    if pending or (summary.complete and agrees):
        return Wholeness(pending, None)
    why = "counts other turns" if not agrees else "calls the run incomplete"
    return Wholeness(0, f"it is not known whether the run was whole: the {SUMMARY_FILE} beside it {why}")


def _lacking(results: Sequence[TurnResult]) -> int:
    """Turns that conversations, begun as they are, have no result of."""
    seen: defaultdict[tuple[str, str, str, int], set[int]] = defaultdict(set)
    turns: dict[tuple[str, str, str, int], int] = {}
    for row in results:
        episode = (row.subset, row.task, row.dialect, row.sample)
        seen[episode].add(row.turn)
        turns[episode] = max(row.turns, turns.get(episode, 0))
    return sum(max(turns[episode] - len(found), 0) for episode, found in seen.items())
