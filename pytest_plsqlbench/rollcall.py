"""Which turns the workers of a run have collected, by what the workers say.

The controller of a run under xdist collects nothing itself, and gets the ids of items alone. An id does not
name a file (of one outside pytest's rootdir it holds a part of the path, and ``--dist=loadgroup`` or a
conftest changes it), so each worker says what its items are, just before xdist tells their ids: on a channel
of its own, which execnet keeps in order with xdist's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_plsqlbench.bench.shard import TurnKey
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.datasets.readers import load_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pytest

    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.selection import Selection
    from pytest_plsqlbench.settings import Settings

CHANNEL = "plsqlbench_rollcall"
"""Key of ``workerinput``: the channel on which a worker says what it has collected."""
_PATIENCE = 60.0
"""Seconds to wait for what has been sent before: none, where worker and controller are the same version."""


class CollectedTurn(msgspec.Struct, frozen=True, array_like=True):
    """Names the turn of an item, whatever the item's id."""

    path: str
    """The file of its task, absolute."""
    key: TurnKey


def answer(config: pytest.Config, items: Iterable[CollectedTurn | None]) -> None:
    """Tell the controller what this worker has collected.

    Args:
        config: of a worker.
        items: all that pytest is about to run, in its order; None for those that are not turns.
    """
    config.workerinput[CHANNEL].send(msgspec.json.encode(list(items)))  # type: ignore[attr-defined]


class RollCall:
    """What all workers have collected; in the controller."""

    def __init__(self, selection: Selection, settings: Settings) -> None:
        """Nobody has answered yet.

        Args:
            selection: gives the programs of a turn.
            settings: of the run.
        """
        self._selection = selection
        self._settings = settings
        self._last: tuple[bytes, Sequence[str]] = b"", ()
        self._places: dict[str, CollectedTurn] = {}
        self._keys: set[TurnKey] = set()
        self._most = 0

    @staticmethod
    def call(node: Any) -> None:
        """Give a worker that is about to start the channel to answer on."""
        node.workerinput[CHANNEL] = node.gateway.newchannel()

    def take(self, node: Any, ids: Sequence[str]) -> None:
        """Take the answer of a worker that has told the ids of what it collected.

        Raises:
            ValueError: it has told something else here.
            OSError: it has told nothing here.
        """
        answered: bytes = node.workerinput[CHANNEL].receive(_PATIENCE)
        if (answered, ids) == self._last:
            return
        places = msgspec.json.decode(answered, type=list[CollectedTurn | None])
        turns = {nodeid: place for nodeid, place in zip(ids, places, strict=True) if place is not None}
        self._places |= turns
        self._keys.update(place.key for place in turns.values())
        self._most = max(self._most, sum(place is not None for place in places))
        self._last = answered, ids

    @property
    def collected(self) -> int:
        """How many turns there are to grade: all that any worker has."""
        return max(self._most, len(self._keys))

    def __contains__(self, nodeid: object) -> bool:
        return nodeid in self._places

    def lost(self, nodeid: str, reason: str) -> TurnResult | None:
        """The infrastructure error of a turn whose worker died.

        Args:
            nodeid: of its item.
            reason: for the result.

        Returns:
            None where the task is not to be found any more: the turn then stays without a result.
        """
        from pytest_plsqlbench.grading.run import lost_turn  # noqa: PLC0415 (drivers load at the first turn)

        place = self._places[nodeid]
        try:
            found = self._selection.find(load_file(Path(place.path)), place.key)
        except UserError:  # it has changed since, or lies on another machine
            return None
        if found is None:
            return None
        task, turn, answers = found
        lost = lost_turn(task, turn, answers, self._settings.compare, reason)
        return msgspec.structs.replace(lost, sample=place.key.sample)
