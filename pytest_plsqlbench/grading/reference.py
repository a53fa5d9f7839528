"""The reference's side of a turn: played twice, checked, and remembered by content."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.comparison import plays_agree, reference_fault
from pytest_plsqlbench.bench.observation import Observation
from pytest_plsqlbench.engines.protocol import Limits, Play
from pytest_plsqlbench.grading.cache import ReferenceCache
from pytest_plsqlbench.grading.content import (
    content_key,
    judging_version,
    reference_part,
    reference_programs,
)

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.database import Database
    from pytest_plsqlbench.bench.observation import CallObservation
    from pytest_plsqlbench.bench.result import EngineInfo
    from pytest_plsqlbench.bench.task import Task, Test, Turn
    from pytest_plsqlbench.engines.protocol import Lane, Played

REFERENCE_TIME = 60.0
"""Least time limit of a reference's test, in seconds: generous, since it only bounds broken references."""
TIME_FACTOR = 10.0
"""A test may take this many times what the reference took: max(floor, factor x reference time)."""


class ReferencePlay(msgspec.Struct, frozen=True):
    """What the reference showed, or why the turn cannot be graded against it."""

    observations: tuple[Observation, ...]
    """One a test."""
    problem: str | None = None
    """Why the turn is a ``reference_error``, one line; None: usable."""
    varies: bool = False
    """Whether the problem is that two plays differ."""
    strict_problem: str | None = None
    """Why the tests of the strict reading alone cannot be judged; None: they can."""


class Kept(msgspec.Struct, frozen=True):
    """An entry of the cache."""

    host: str
    """Of the machine that measured the times."""
    play: ReferencePlay


@dataclass(frozen=True, slots=True)
class ReferenceBook:
    """Looks up or plays the reference of a turn."""

    cache: ReferenceCache
    limits: Limits
    host: str = field(default_factory=platform.node)
    _seen: set[str] = field(default_factory=set)
    """Keys of references that this process has itself seen play."""

    def look_up(
        self, task: Task, turn: Turn, database: Database | None, engine: EngineInfo, lane: Lane
    ) -> ReferencePlay:
        """What the reference of this turn shows; played twice where it is not known yet.

        Raises:
            EngineError: as the lane does.
        """
        key, play = self._question(task, turn, database, engine)
        kept = self.cache.get(key, Kept)
        if kept is not None and self._holds(turn, kept):
            return kept.play
        return self._find_out(key, turn, play, lane)

    def confirm(
        self,
        task: Task,
        turn: Turn,
        database: Database | None,
        engine: EngineInfo,
        lane: Lane,
        known: ReferencePlay,
    ) -> ReferencePlay:
        """What a failure is to be judged by: ``known``, or what the reference shows now where that differs.

        What was kept may have been true on the day on which it was seen: a reference may look at the date. No
        program is called wrong by it before the reference has shown it once more, in this process.

        Raises:
            EngineError: as the lane does.
        """
        key, play = self._question(task, turn, database, engine)
        if key in self._seen:
            return known
        now = _usable(turn, lane.play(play))
        checked = now if now.problem else _steady(turn, known, now)
        if checked.problem is None:
            self._seen.add(key)
            return known if checked.strict_problem == known.strict_problem else checked
        self.cache.drop(key)
        return self._find_out(key, turn, play, lane)

    def _question(
        self, task: Task, turn: Turn, database: Database | None, engine: EngineInfo
    ) -> tuple[str, Play]:
        """The key of the reference's play, and the play."""
        limits = replace(self.limits, time=max(self.limits.time, REFERENCE_TIME))
        key = content_key(
            judging_version(),
            (engine.name, engine.version, engine.server),
            limits,
            reference_part(task, turn, database.fingerprint if database else None),
        )
        play = Play(
            side="reference",
            programs=(*turn.setup, *reference_programs(task, turn)),
            tests=turn.played_tests,
            database=database,
            limits=limits,
        )
        return key, play

    def _find_out(self, key: str, turn: Turn, play: Play, lane: Lane) -> ReferencePlay:
        first = _usable(turn, lane.play(play))
        if first.problem is None:
            first = _steady(turn, first, _usable(turn, lane.play(play)))
        if first.problem is None:  # a problem is looked at again in every run: it may be the day's
            self.cache.put(key, Kept(self.host, first))
            self._seen.add(key)
        return first

    def _holds(self, turn: Turn, kept: Kept) -> bool:
        """Whether an entry is one of this turn's, whose times can stand for those of this machine.

        Times of another machine matter where they would set a time limit; below the floor they do not.
        """
        play = kept.play
        if play.problem is not None or len(play.observations) != len(turn.played_tests):
            return False
        longest = max((seen.elapsed_ms / 1000 for seen in play.observations), default=0.0)
        return kept.host == self.host or longest * TIME_FACTOR <= self.limits.time


def _usable(turn: Turn, played: Played) -> ReferencePlay:
    """Check what the reference showed: it must install, and every test must be judgeable by it."""
    if fault := setup_fault(turn, played):
        return ReferencePlay((), fault)
    if turn.reference is not None and played.programs:
        fault = _install_fault(played.programs[-1])
        if fault:
            return ReferencePlay((), f"the reference program does not run: {fault}")
    observations = []
    strict_problem = None
    for number, (test, seen) in enumerate(zip(turn.played_tests, played.tests, strict=True)):
        tied = _tie_fault(test, seen)
        observation = _without_ties(test, seen)
        fault = tied or reference_fault(test, observation)
        if fault and number < len(turn.tests):
            return ReferencePlay((), f"test {test.name!r}: {fault}")
        if fault:
            strict_problem = f"test {test.name!r}: {fault}"
        observations.append(observation)
    return ReferencePlay(tuple(observations), strict_problem=strict_problem)


def setup_fault(turn: Turn, played: Played) -> str | None:
    """Why the programs that the harness installs first do not run; None where they do, or there are none."""
    for call in played.programs[: len(turn.setup)]:
        invalid = next((f"{d.code} {d.message}" for d in call.diagnostics if d.severity == "error"), None)
        if fault := _install_fault(call) or invalid:
            return f"the task's setup does not run: {fault}"
    return None


def _install_fault(call: CallObservation) -> str | None:
    if call.limit:
        return f"it runs into the {call.limit.replace('_', ' ')}"
    if call.lost:
        return "its session was lost"
    return f"{call.error.code} {call.error.message}" if call.error else None


def _tie_fault(test: Test, observation: Observation) -> str | None:
    """Why the gold query's choice of rows is arbitrary, where it cuts through equal ones."""
    if test.gold is None or test.gold_with_ties is None or len(observation.calls) < 2:
        return None
    exact, loose = observation.calls
    if loose.error is not None:
        return f"the query that looks for ties fails: {loose.error.code} {loose.error.message}"
    if not exact.results or not loose.results:
        return None
    kept, equal = len(exact.results[0].rows), len(loose.results[0].rows)
    if kept == equal:
        return None
    return f"order_dependent: the gold query keeps {kept} of {equal} rows that are equal in its sort key"


def _without_ties(test: Test, observation: Observation) -> Observation:
    """Drop the rows of the tie check, which nothing is compared with."""
    if test.gold is None or test.gold_with_ties is None:
        return observation
    return msgspec.structs.replace(observation, calls=observation.calls[:1])


def _steady(turn: Turn, first: ReferencePlay, second: ReferencePlay) -> ReferencePlay:
    """The first play, with the problem that the second one shows where they differ in what is judged."""
    if second.problem:
        return second
    strict_problem = first.strict_problem or second.strict_problem
    pairs = zip(turn.played_tests, first.observations, second.observations, strict=True)
    for number, (test, one, two) in enumerate(pairs):
        if strict_problem and number >= len(turn.tests):
            break
        outcome = plays_agree(test, one, two)
        if not outcome.passed:
            place = f" ({outcome.detail})" if outcome.detail else ""
            problem = f"test {test.name!r}: the reference varies between two plays{place}"
            if number < len(turn.tests):
                return ReferencePlay((), problem, varies=True)
            strict_problem = problem
    return msgspec.structs.replace(first, strict_problem=strict_problem)
