"""Which play counts, where something was seen that another than the program could have done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import MagicMock

import pytest

from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, Observation, ResultSet
from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.engines.postgres.lane import REPLAYED, PostgresLane
from pytest_plsqlbench.engines.protocol import InfrastructureError, Play, Played

TESTS = (Test(name="t", calls=("SELECT f()",), compare=(Comparison("value"),)),) * 3
PLAY = Play("candidate", ("CREATE FUNCTION …",), TESTS)


def seen(*answers: str, line: str = "") -> Played:
    """A play whose tests return a number each, or claim a full disk (``!``)."""
    calls = [
        CallObservation(error=Diagnostic(code="53100", message="full"))
        if answer == "!"
        else CallObservation(lines=(line,), results=(ResultSet(("f",), ((("int", answer),),)),))
        for answer in answers
    ]
    return Played((CallObservation(),), tuple(Observation(calls=(call,)) for call in calls))


class ScriptedLane(PostgresLane):
    """A lane that plays what the script says, and plays of nothing as told."""

    def __init__(self, plays: Sequence[Played], nothing: Played) -> None:
        # no server: what the lane is made of is not asked for here
        self._admin = self._templates = self._copies = MagicMock()
        self._distant = self._owed = False
        self._script: Iterator[Played] = iter(plays)
        self._nothing = nothing

    def _discard(self, template: object) -> None:
        pass

    def _play(self, play: Play) -> tuple[Played, bool]:
        return (next(self._script) if play.programs else self._nothing), False

    @property
    def left(self) -> list[Any]:
        """Plays of the script that nobody asked for."""
        return list(self._script)


def counted(*plays: Played, nothing: Played = seen("1")) -> Played:  # noqa: B008 (immutable)
    lane = ScriptedLane(plays, nothing)
    played = lane.play(PLAY)
    assert not lane.left
    return played


def test_a_play_without_doubt_is_the_only_one() -> None:
    assert counted(seen("1", "2", "3")) == seen("1", "2", "3")


def test_what_comes_again_at_the_same_place_is_the_programs_doing() -> None:
    played = counted(seen("1", "!", "3"), seen("1", "!", "3"))
    assert played.tests == seen("1", "!", "3").tests
    assert played.flags == (REPLAYED,)


def test_after_a_doubt_two_plays_must_agree_before_one_counts() -> None:
    played = counted(seen("1", "!", "3"), seen("1", "2", "3"), seen("1", "2", "3"))
    assert played.tests == seen("1", "2", "3").tests
    assert played.flags == (REPLAYED,)


def test_what_was_printed_may_differ_between_plays_that_agree() -> None:
    first, second = seen("1", "2", "3", line="at 10:00"), seen("1", "2", "3", line="at 10:01")
    assert counted(seen("!", "2", "3"), first, second).tests == second.tests


@pytest.mark.parametrize("last", [("1", "2", "3"), ("1", "2", "!")])
def test_a_lucky_play_among_many_does_not_count(last: tuple[str, ...]) -> None:
    plays = (seen("!", "2", "3"), seen("1", "2", "3"), seen("0", "2", "3"), seen("1", "!", "3"), seen(*last))
    played = counted(*plays)
    assert any(only.calls[0].error for only in played.tests)
    assert played.flags == (REPLAYED,)


def test_where_plays_of_nothing_are_disturbed_too_nobody_knows() -> None:
    plays = (
        seen("!", "2", "3"),
        seen("1", "!", "3"),
        seen("1", "2", "!"),
        seen("!", "!", "3"),
        seen("!", "2", "!"),
    )
    with pytest.raises(InfrastructureError, match="plays of nothing"):
        counted(*plays, nothing=seen("!"))
