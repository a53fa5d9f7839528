"""A play inside one transaction that is rolled back: programs, then each test after a savepoint.

Few messages: what surrounds the statements of programs and tests goes out joined.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.observation import CallObservation, Observation
from pytest_plsqlbench.engines.postgres import settings, state
from pytest_plsqlbench.engines.postgres.budget import HARNESS_SECONDS, Budget
from pytest_plsqlbench.engines.postgres.calls import GoneDuringCallError, play_script
from pytest_plsqlbench.engines.postgres.facts import Sequence, leans_on_session, read_sequences, restore
from pytest_plsqlbench.engines.postgres.failure import Routines, diagnostic
from pytest_plsqlbench.engines.postgres.given_objects import FLAG as REPLACED
from pytest_plsqlbench.engines.postgres.given_objects import GivenObjects
from pytest_plsqlbench.engines.postgres.rolled_test import GoneInTestError, RolledTest
from pytest_plsqlbench.engines.postgres.scripts import calls_of, judges_state, reading
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, SessionGoneError
from pytest_plsqlbench.engines.postgres.steps import (
    Guarded,
    NeedsAutocommitError,
    TransactionLostError,
    Watched,
    no_savepoint,
    savepoint_name,
    see_end,
    see_outcome,
)
from pytest_plsqlbench.engines.protocol import InfrastructureError, Play, Played

if TYPE_CHECKING:
    from pytest_plsqlbench.engines.postgres.copies import Copies, Copy

_CLEAN = "SELECT pg_catalog.pg_advisory_unlock_all(); DEALLOCATE ALL"
_LEAVE = f"ROLLBACK; {_CLEAN}; UNLISTEN *"


class RollbackPlay:
    """One play on the kept session of its side."""

    def __init__(self, copies: Copies, copy: Copy, play: Play) -> None:
        self._copies = copies
        self._copy = copy
        self._play = play
        self._programs = [reading(text) for text in play.programs]
        self._last = len(self._programs) - 1
        self._inert = all(script.only_routines for script in self._programs)
        """Nothing of the programs runs while they are installed."""
        self._routines = Routines(self._programs[-1].statements if self._programs else ())
        self._shown: dict[int, CallObservation] = {}
        self._killers: set[int] = set()
        self._careful = False
        self._observed: list[Observation] = []
        self._outer = savepoint_name()
        self._inner = savepoint_name()
        self._loaded = copies.facts(copy).sequences
        self._standing: tuple[Sequence, ...] = self._loaded
        """Where sequences stand before each test: what programs took while installed stays taken."""
        judged = any(judges_state(test) for test in play.tests)
        self._base = copies.baseline(copy.template) if judged else None
        self._watch: state.Watch | None = None
        self._given: GivenObjects | None = None
        self._replaced = False

    def run(self) -> Played:
        """Play it.

        Raises:
            NeedsAutocommitError: it must be played outside a transaction; nothing was left behind.
            TransactionLostError: the same, but the database is changed.
            InfrastructureError: the server is gone.
        """
        while not self._attempt():
            pass
        flags = (REPLACED,) if self._replaced else ()
        return Played(tuple(self._shown[at] for at in sorted(self._shown)), tuple(self._observed), flags)

    def _attempt(self) -> bool:
        """Play from the start to where all is done (True) or where it must be started again."""
        session = self._begin()
        session.begin_play()
        try:
            if not self._install(session):
                _see_gone(session)
                return self._last in self._killers
            failed = self._settle(session) if self._programs else None
            _see_gone(session)
            if failed is None and self._given is not None and not session.gone:
                self._replaced = self._given.settle(session, self._harness()) or self._replaced
        except (ControlError, SessionGoneError):
            # a program has put something in the way of the harness: not a way to escape a verdict
            raise TransactionLostError from None
        if failed is not None or len(self._observed) == len(self._play.tests):
            if failed is not None and self._observed:
                # it was installed before, and is not now: nothing of it can be observed any more
                missing = len(self._play.tests) - len(self._observed)
                self._observed.extend([Observation(calls=(failed,), uninstalled=True)] * missing)
            self._end(session)
            return True
        return self._run_tests(session)

    def _begin(self) -> Session:
        message = f"BEGIN; {self._timeout(self._play.limits.time)}"
        if not self._inert:
            message += f"; SAVEPOINT {self._outer}"
        if not self._programs:
            message += f"; {self._ready()}"
        if self._copy.unsettled and self._loaded:
            message = f"{restore(self._loaded)}; {message}"
        for attempt in (1, 2):
            session = self._copies.session(self._copy, self._play.side)
            try:
                session.control(message, self._harness())
            except (SessionGoneError, ControlError) as error:
                # an idle session that something ended since the play before
                self._copies.retire(self._copy, self._play.side)
                if attempt == 2:
                    raise InfrastructureError(f"the PostgreSQL server does not begin: {error}") from None
            else:
                self._copy.unsettled = True
                if self._base is not None:
                    since = state.written(session, self._base, self._harness())
                    self._watch = state.Watch(self._base, since)
                return session
        raise AssertionError  # pragma: no cover (the loop returns or raises)

    def _install(self, session: Session) -> bool:
        """Play the programs; False where it must be started again, or the last one ended the session."""
        limits = self._play.limits
        for at, script in enumerate(self._programs):
            if at in self._killers:
                continue
            if at and not all(before.only_routines for before in self._programs[:at]):
                # as where every program has a session: settings of an earlier one are not handed on
                pin = settings.pin(self._copy.template.path)
                session.control(_joined(pin, self._timeout(limits.time)), self._harness())
            session.output.restart(limits)
            steps = Guarded(session) if self._careful and at < self._last else Watched(session)
            try:
                shown = play_script(
                    session, script, Budget(limits), steps, routines=Routines(script.statements)
                )
            except GoneDuringCallError as gone:
                see_end(gone.observation)
                self._killers.add(at)
                self._shown[at] = gone.observation
                return False
            see_outcome(shown)
            if shown.error is not None and at < self._last and not self._careful:
                # what preceded the failing statement stays: start again, a savepoint for each statement
                self._careful = True
                session.control("ROLLBACK", self._harness())
                return False
            self._shown[at] = shown
            if at == self._play.setup - 1 < self._last:
                self._given = GivenObjects.read(session, self._harness())
        return True

    def _settle(self, session: Session) -> CallObservation | None:
        """Make ready for the first test; returns what the last program showed where it failed."""
        shown = self._shown[self._last]
        if shown.error is not None or shown.limit is not None:
            return shown
        message = self._ready()
        if not self._inert:
            message = f"SET CONSTRAINTS ALL IMMEDIATE; RELEASE SAVEPOINT {self._outer}; {message}"
        try:
            session.control(message, Budget(self._play.limits))
            if not self._inert:
                lines = tuple(session.output.lines)
                self._shown[self._last] = msgspec.structs.replace(shown, lines=lines)
                self._look_around(session)
        except SessionGoneError as gone:
            error = None if gone.failure is None else diagnostic(gone.failure)
            failed = msgspec.structs.replace(shown, error=error, limit=gone.limit, lost=gone.limit is None)
            see_end(failed)
        except ControlError as error:
            failure = error.failure
            if no_savepoint(failure, self._outer):
                raise TransactionLostError from None
            failed = msgspec.structs.replace(
                shown,
                error=diagnostic(failure),
                lines=tuple(session.output.lines),
                limit=failure.limit,
                raised=failure.raised,
            )
        else:
            return None
        self._shown[self._last] = failed
        return failed

    def _look_around(self, session: Session) -> None:
        """See what a program that ran while it was installed has left."""
        try:
            session.control(settings.pin(("pg_catalog",)), self._harness())
            if leans_on_session(session, self._harness()):
                raise NeedsAutocommitError
            self._standing = read_sequences(session, self._harness())
            session.control(f"ROLLBACK TO SAVEPOINT {self._inner}", self._harness())
        except ControlError:  # a program keeps its own role from reading them
            raise TransactionLostError from None

    def _ready(self) -> str:
        """Statements after which the next test may begin."""
        seconds = self._seconds(len(self._observed))
        timeout = "" if self._inert and seconds == self._play.limits.time else self._timeout(seconds)
        pin = "" if self._inert else settings.pin(self._copy.template.path)
        return _joined(pin, timeout, f"SAVEPOINT {self._inner}")

    def _seconds(self, at: int) -> float:
        given = self._play.time_limits
        return given[at] if given is not None and at < len(given) else self._play.limits.time

    def _run_tests(self, session: Session) -> bool:
        first = len(self._observed)
        for at in range(first, len(self._play.tests)):
            test = self._play.tests[at]
            played = RolledTest(
                session,
                test,
                [reading(text) for text in calls_of(test, self._play)],
                limits=self._play.limits,
                seconds=self._seconds(at),
                strict=self._play.strict,
                routines=self._routines,
                watch=self._watch,
            )
            played.pin = settings.pin(self._copy.template.path)
            played.given = self._given
            try:
                observation = played.play(self._shown.get(self._last))
                self._replaced = self._replaced or played.replaced
                observation = played.leave(observation, self._inner, self._back(at, first))
            except GoneInTestError as gone:
                see_end(gone.observation.calls[-1])
                _see_gone(session)
                self._observed.append(gone.observation)
                return at == len(self._play.tests) - 1
            self._observed.append(observation)
        self._copy.unsettled = False
        return True

    def _back(self, at: int, first: int) -> str:
        """Statements that undo test ``at`` and make ready for the next, or end the play."""
        if at == len(self._play.tests) - 1:
            back, loaded = f"ROLLBACK TO SAVEPOINT {self._inner}", restore(self._loaded)
            if self._inert:
                # sequences are those of the data again: what puts them back is no commit, and leaves no sign
                return _joined(back, loaded, _LEAVE)
            return _joined(back, _LEAVE, loaded)
        seconds = self._seconds(at + 1)
        timeout = "" if seconds == self._seconds(first) else self._timeout(seconds)
        return _joined(f"ROLLBACK TO SAVEPOINT {self._inner}", _CLEAN, restore(self._standing), timeout)

    def _end(self, session: Session) -> None:
        with contextlib.suppress(SessionGoneError):  # the next play opens another
            session.control(_joined(_LEAVE, restore(self._loaded)), self._harness())
            self._copy.unsettled = False

    def _harness(self) -> Budget:
        return Budget(self._play.limits, HARNESS_SECONDS)

    @staticmethod
    def _timeout(seconds: float) -> str:
        return f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}"


def _see_gone(session: Session) -> None:
    """See that a killed session is not still at work in the database.

    Raises:
        TransactionLostError: it is.
    """
    if session.stuck:
        raise TransactionLostError


def _joined(*statements: str) -> str:
    return "; ".join(statement for statement in statements if statement)
