"""Which play counts, where something was seen that another than the program could have done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
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


class SpoiledLane(ScriptedLane):
    """A lane whose plays, of programs and of nothing, are what a function says; the first was spoiled."""

    def __init__(self, one: Callable[[Play], Played]) -> None:
        super().__init__((), seen("1"))
        self._one = one
        self._first = True

    def _play(self, play: Play) -> tuple[Played, bool]:
        first, self._first = self._first, False
        return seen("!") if first else self._one(play), False


def counted(*plays: Played, nothing: Played = seen("1")) -> Played:  # noqa: B008 (immutable)
    lane = ScriptedLane(plays, nothing)
    played = lane.play(PLAY)
    assert not lane.left
    return played


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_plsqlbench.engines.postgres.blame._PAUSES", (0.0,))


def test_a_play_without_doubt_is_the_only_one() -> None:
    assert counted(seen("1", "2", "3")) == seen("1", "2", "3")


def test_what_comes_again_at_the_same_place_is_the_programs_doing() -> None:
    played = counted(*(seen("1", "!", "3"),) * 5)
    assert played.tests == seen("1", "!", "3").tests
    assert played.flags == (REPLAYED,)


def test_after_a_doubt_two_plays_must_agree_before_one_counts() -> None:
    played = counted(seen("1", "!", "3"), seen("1", "2", "3"), seen("1", "2", "3"))
    assert played.tests == seen("1", "2", "3").tests
    assert played.flags == (REPLAYED,)


def test_what_was_printed_may_differ_between_plays_that_agree() -> None:
    first, second = seen("1", "2", "3", line="at 10:00"), seen("1", "2", "3", line="at 10:01")
    assert counted(seen("!", "2", "3"), first, second).tests == second.tests


def test_what_comes_again_four_times_may_be_anothers_doing() -> None:
    played = counted(*(seen("1", "!", "3"),) * 4, seen("1", "2", "3"), seen("1", "2", "3"))
    assert played.tests == seen("1", "2", "3").tests
    assert played.flags == (REPLAYED,)


def test_what_comes_five_times_must_come_in_a_row() -> None:
    harmed, sound = seen("1", "!", "3"), seen("1", "2", "3")
    played = counted(*(harmed,) * 3, sound, *(harmed,) * 2, sound, sound)
    assert played.tests == sound.tests


@pytest.mark.parametrize("last", [("1", "2", "3"), ("1", "2", "!")])
def test_a_lucky_play_among_many_does_not_count(last: tuple[str, ...]) -> None:
    plays = (seen("!", "2", "3"), seen("1", "2", "3"), seen("0", "2", "3"), seen("1", "!", "3"))
    played = counted(*plays, *plays, plays[0], seen(*last))
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
        counted(*plays, *plays, nothing=seen("!"))


def test_who_spoils_plays_at_random_spoils_hardly_a_verdict() -> None:
    random = Random(5)

    def one(play: Play) -> Played:
        return seen("!" if random.random() < 0.2 else "1")

    wrong = nobodys = 0
    for _ in range(500):
        lane = SpoiledLane(one)
        try:
            wrong += lane.play(PLAY).tests != seen("1").tests
        except InfrastructureError:
            nobodys += 1
    assert wrong + nobodys <= 5
