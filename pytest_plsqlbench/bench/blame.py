"""Blame in conversations: whether a turn failed by itself, or by what the turns before it left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_plsqlbench.bench.result import TurnResult

Failure = Literal["own", "inherited", "unknown"]


class Blame(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the failure of a turn comes from."""

    failure: Failure
    """``inherited``: it is solved on the state that the references leave behind. ``own``: not there."""
    passed: int | None = None
    """Tests that pass there; None where the turn was not played there."""
    reason: str | None = None
    """Why nobody knows, one line."""
    elapsed_ms: float = 0.0
    """What finding out took."""

    @property
    def replayed(self) -> bool:
        """Whether the turn was played once more to find out."""
        return self.elapsed_ms > 0


class BlameCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Failed turns of conversations by where their failure comes from."""

    own: int
    inherited: int
    unknown: int
    replays: int
    """Turns that were played once more to find out."""
    inherited_share: float | None
    """``inherited / (own + inherited)``; None where there are none."""


def count_blame(results: Iterable[TurnResult]) -> BlameCounts | None:
    """Count blames; None where none was sought."""
    found = [result.blame for result in results if result.blame is not None]
    if not found:
        return None
    own, inherited, unknown = (
        sum(blame.failure == failure for blame in found) for failure in ("own", "inherited", "unknown")
    )
    return BlameCounts(
        own=own,
        inherited=inherited,
        unknown=unknown,
        replays=sum(blame.replayed for blame in found),
        inherited_share=inherited / (own + inherited) if own + inherited else None,
    )
