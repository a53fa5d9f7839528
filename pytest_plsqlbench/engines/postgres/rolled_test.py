"""One test inside the rolled-back transaction: its calls, the state after them, and the way back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from psycopg.pq import TransactionStatus

from pytest_plsqlbench.bench.observation import CallObservation, Observation, TableState
from pytest_plsqlbench.engines.postgres import state
from pytest_plsqlbench.engines.postgres.blame import UNREADABLE
from pytest_plsqlbench.engines.postgres.budget import HARNESS_SECONDS, Budget
from pytest_plsqlbench.engines.postgres.calls import GoneDuringCallError, play_script
from pytest_plsqlbench.engines.postgres.failure import Failure, Routines, diagnostic
from pytest_plsqlbench.engines.postgres.given_objects import GivenObjects
from pytest_plsqlbench.engines.postgres.scripts import Reading, about_settings, judges_state
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, SessionGoneError
from pytest_plsqlbench.engines.postgres.steps import (
    Guarded,
    TransactionLostError,
    Watched,
    no_savepoint,
    savepoint_name,
    see_outcome,
)

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.task import Test
    from pytest_plsqlbench.engines.protocol import Limits


class GoneInTestError(Exception):
    """The session went during a test; carries what had been observed."""

    def __init__(self, observation: Observation) -> None:
        super().__init__("the session is gone")
        self.observation = observation


class RolledTest:
    """Plays one test after the savepoint that stands ready for it."""

    def __init__(
        self,
        session: Session,
        test: Test,
        scripts: list[Reading],
        *,
        limits: Limits,
        seconds: float,
        strict: bool,
        routines: Routines,
        watch: state.Watch | None,
    ) -> None:
        self._session = session
        self._test = test
        self._scripts = scripts
        self._limits = limits
        self._seconds = seconds
        self._strict = strict
        self._routines = routines
        self._watch = watch if judges_state(test) else None
        self.pin = ""
        """A statement that sets everything again, before each of the test's but the first."""
        self.given: GivenObjects | None = None
        """What the setup of the task has made, to be looked after."""
        self.replaced = False
        """Whether something stood in the place of what the setup made, after the calls."""
        self._calls: list[CallObservation] = []
        self._elapsed = 0.0

    def play(self, shown_by_program: CallObservation | None) -> Observation:
        """Play the calls and read the state where it is judged.

        Args:
            shown_by_program: what the program showed, for a test without calls.

        Raises:
            GoneInTestError: the session was lost or killed.
            NeedsAutocommitError: the test must be played outside a transaction.
        """
        between: list[tuple[TableState, ...]] = []
        objects: tuple[str, ...] | None = None
        if not self._scripts and shown_by_program is not None:
            self._calls.append(shown_by_program)
        try:
            self._play_calls(between)
            if self.given is not None:
                self.replaced = self.given.replaced(self._session, Budget(self._limits, HARNESS_SECONDS))
            if self._watch is not None:
                final, objects = self._state(self._watch)
                between.append(final)
        except GoneDuringCallError as gone:
            self._calls.append(gone.observation)
            raise GoneInTestError(self._observation()) from None
        except SessionGoneError as gone:
            raise GoneInTestError(self._unread(gone.limit)) from None
        except ControlError as error:
            # reading the state failed: the program has used up what its session may use
            self._session.kill()
            raise GoneInTestError(self._unread(error.failure.limit or UNREADABLE)) from None
        if self._watch is None:
            return self._observation()
        return msgspec.structs.replace(
            self._observation(),
            state=between[-1],
            state_between=tuple(between) if self._strict else None,
            objects=objects if self._strict else None,
        )

    def _play_calls(self, between: list[tuple[TableState, ...]]) -> None:
        session, test, watch = self._session, self._test, self._watch
        budget = Budget(self._limits, self._seconds)
        session.output.restart(self._limits)
        watched = watch is not None or self.given is not None
        guarded = watched or test.on_error == "continue" or len(self._scripts) > 1
        steps = Guarded(session) if guarded else Watched(session)
        last = len(self._scripts) - 1
        for number, script in enumerate(self._scripts):
            if number:
                self._settle()
            started = time.perf_counter()
            try:
                shown = play_script(
                    session, script, budget, steps, routines=self._routines, settle=self._settle
                )
            finally:
                self._elapsed += time.perf_counter() - started
            see_outcome(shown)
            self._calls.append(shown)
            if shown.limit is not None or (shown.error is not None and test.on_error == "stop"):
                return
            if watch is not None and self._strict and number < last:
                between.append(self._state(watch)[0])

    def _settle(self) -> None:
        """What the test reads next, it reads as it would have before: a call may have set anything."""
        if self._session.transaction == TransactionStatus.INTRANS and not about_settings(self._scripts):
            self._session.control(self.pin, Budget(self._limits, HARNESS_SECONDS))

    def _state(self, watch: state.Watch) -> tuple[tuple[TableState, ...], tuple[str, ...]]:
        session = self._session
        budget = Budget(self._limits, HARNESS_SECONDS)
        name = savepoint_name()
        session.control(f"SAVEPOINT {name}; {state.pinned()}; SET LOCAL statement_timeout = 0", budget)
        tables = state.read_state(session, watch.base, budget, watch.since)
        objects = state.read_objects(session, watch.base, budget) if self._strict else ()
        session.control(f"ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}", budget)
        return tables, objects

    def leave(self, observation: Observation, savepoint: str, back: str) -> Observation:
        """Fire what is deferred, and go back to before the test.

        Args:
            observation: what ``play`` returned.
            savepoint: the name of the savepoint before the test.
            back: statements that lead back there, and on to what comes next.

        Raises:
            GoneInTestError: the session was lost or killed: deferred triggers run in here.
            TransactionLostError: the way back does not exist any more.
        """
        session = self._session
        aborted = session.transaction == TransactionStatus.INERROR
        before = "" if aborted else "SET CONSTRAINTS ALL IMMEDIATE; "
        try:
            try:
                session.control(before + back, Budget(self._limits, self._seconds))
            except ControlError as error:
                if aborted or no_savepoint(error.failure, savepoint):
                    raise TransactionLostError from None
                observation = _failed(observation, error.failure)
                try:
                    session.control(back, Budget(self._limits, HARNESS_SECONDS))
                except ControlError:
                    raise TransactionLostError from None
        except SessionGoneError as gone:
            raise GoneInTestError(self._unread(gone.limit)) from None
        return with_lines(observation, session) if self._scripts else observation

    def _observation(self) -> Observation:
        return Observation(calls=tuple(self._calls), elapsed_ms=self._elapsed * 1000)

    def _unread(self, limit: str | None) -> Observation:
        """What is left of a test whose session went after its calls."""
        last = self._calls.pop() if self._calls else CallObservation()
        self._calls.append(msgspec.structs.replace(last, limit=limit, lost=limit is None))
        return self._observation()


def with_lines(observation: Observation, session: Session) -> Observation:
    """What deferred triggers printed belongs to the last call."""
    calls = observation.calls
    if calls and len(session.output.lines) > len(calls[-1].lines):
        last = msgspec.structs.replace(calls[-1], lines=tuple(session.output.lines))
        return msgspec.structs.replace(observation, calls=(*calls[:-1], last))
    return observation


def _failed(observation: Observation, failure: Failure) -> Observation:
    """A constraint or trigger that was deferred failed: the last call did."""
    calls = observation.calls
    if not calls or calls[-1].error is not None:
        return observation
    last = msgspec.structs.replace(
        calls[-1], error=diagnostic(failure), limit=failure.limit, raised=failure.raised
    )
    return msgspec.structs.replace(observation, calls=(*calls[:-1], last))
