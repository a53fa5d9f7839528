"""A play outside any transaction of ours, in throw-away copies: each test in a fresh copy of its own."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from psycopg.pq import TransactionStatus

from pytest_plsqlbench.bench.observation import CallObservation, Observation, TableState
from pytest_plsqlbench.engines.postgres import settings, state
from pytest_plsqlbench.engines.postgres.blame import UNREADABLE
from pytest_plsqlbench.engines.postgres.budget import HARNESS_SECONDS, Budget
from pytest_plsqlbench.engines.postgres.calls import GoneDuringCallError, in_one_transaction, play_script
from pytest_plsqlbench.engines.postgres.failure import Routines
from pytest_plsqlbench.engines.postgres.given_objects import FLAG as REPLACED
from pytest_plsqlbench.engines.postgres.given_objects import GivenObjects
from pytest_plsqlbench.engines.postgres.scripts import about_settings, calls_of, judges_state, reading
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, SessionGoneError
from pytest_plsqlbench.engines.postgres.steps import Free
from pytest_plsqlbench.engines.protocol import Play, Played, Side

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_plsqlbench.bench.task import Test
    from pytest_plsqlbench.engines.postgres.copies import Copies, Copy
    from pytest_plsqlbench.engines.postgres.scripts import Reading
    from pytest_plsqlbench.engines.postgres.template import Template

FLAG = "isolated_copy"
_LOCKED = "55P03"
_LOCK_MS = 2000


class IsolatedPlay:
    """One play in copies of the template."""

    def __init__(self, copies: Copies, template: Template, play: Play) -> None:
        self._copies = copies
        self._template = template
        self._play = play
        self._programs = [reading(text) for text in play.programs]
        self._routines = Routines(self._programs[-1].statements if self._programs else ())
        self._shown: dict[int, CallObservation] = {}
        self._given: GivenObjects | None = None
        self._replaced = False
        self._elapsed = 0.0
        self._base: state.Baseline | None = None
        if any(judges_state(test) for test in play.tests):
            self._base = copies.baseline(template)

    def run(self) -> Played:
        """Play it.

        Raises:
            InfrastructureError: the server is gone.
        """
        observed: list[Observation] = []
        for at in range(max(1, len(self._play.tests))):
            copy = self._copies.make(self._template)
            try:
                failed, session = self._install(copy)
                if failed is not None:
                    if not observed:
                        break
                    observed.append(Observation(calls=(failed,), uninstalled=True))
                elif self._play.tests:
                    observed.append(self._test(copy, session, at, self._play.tests[at]))
            finally:
                self._copies.drop(copy)
                self._copies.reset_role(self._play.side)
        flags = (FLAG, REPLACED) if self._replaced else (FLAG,)
        return Played(tuple(self._shown[at] for at in sorted(self._shown)), tuple(observed), flags)

    def _install(self, copy: Copy) -> tuple[CallObservation | None, Session]:
        """Play the programs; the last one's observation where it failed, and the session."""
        limits = self._play.limits
        session = self._copies.session(copy, self._play.side)
        failed = None
        for at, script in enumerate(self._programs):
            session = self._ready(copy, session, limits.time)
            session.output.restart(limits)
            try:
                shown = play_script(
                    session, script, Budget(limits), Free(), routines=Routines(script.statements)
                )
            except GoneDuringCallError as gone:
                shown = gone.observation
            except ControlError:
                session.kill()
                shown = CallObservation(limit=UNREADABLE)
            self._shown.setdefault(at, shown)
            failed = shown if shown.error or shown.limit or shown.lost else None
            if at == self._play.setup - 1 < len(self._programs) - 1 and failed is None:
                self._given = GivenObjects.read(session, Budget(limits, HARNESS_SECONDS))
        if self._given is not None and failed is None:
            self._replaced = self._replaced or self._look(self._given.settle, session, copy)
        return failed, session

    def _ready(self, copy: Copy, session: Session, seconds: float) -> Session:
        """Pin settings for the session, a new one where it is gone or lets nothing be pinned.

        A program may have left a transaction of its own open, in which nothing can be pinned for longer.
        """
        if not session.gone:
            try:
                self._pin(session, seconds)
            except SessionGoneError:
                pass
            except ControlError:  # a program of an earlier turn has seen to that
                session.kill()
            else:
                return session
        session = self._copies.session(copy, self._play.side)
        self._pin(session, seconds)
        return session

    def _pin(self, session: Session, seconds: float) -> None:
        if session.transaction == TransactionStatus.IDLE:
            session.control(
                f"{settings.pin(self._template.path, local=False)};"
                f" SET statement_timeout = {max(1, round(seconds * 1000))}",
                Budget(self._play.limits, HARNESS_SECONDS),
            )

    def _test(self, copy: Copy, session: Session, at: int, test: Test) -> Observation:
        limits = self._play.limits
        given = self._play.time_limits
        seconds = given[at] if given is not None and at < len(given) else limits.time
        scripts = [reading(text) for text in calls_of(test, self._play)]
        judged = judges_state(test)
        calls: list[CallObservation] = []
        between: list[tuple[TableState, ...]] = []
        objects: tuple[str, ...] | None = None
        reader: Session | None = None
        self._elapsed = 0.0
        try:
            self._pin(session, seconds)
            if not scripts and self._programs:
                calls.append(self._shown[len(self._programs) - 1])
            budget = Budget(limits, seconds)
            session.output.restart(limits)
            settle = None if about_settings(scripts) else partial(self._pin, session, seconds)
            for number, script in enumerate(scripts):
                if number and settle is not None:
                    settle()
                shown = self._call(session, script, budget, settle)
                calls.append(shown)
                if shown.limit is not None or (shown.error is not None and test.on_error == "stop"):
                    break
                if judged and self._play.strict and number < len(scripts) - 1:
                    reader = reader or self._reader(copy)
                    between.append(self._state(reader)[0])
        except GoneDuringCallError as gone:
            calls.append(gone.observation)
        except (ControlError, SessionGoneError) as error:
            limit = error.limit if isinstance(error, SessionGoneError) else UNREADABLE
            calls.append(CallObservation(limit=limit, lost=limit is None))
        if self._given is not None:
            self._replaced = self._replaced or self._look(self._given.replaced, session, copy)
        if judged:
            try:
                session.kill()  # what it has not committed is undone, and it holds no lock any more
                final, objects = self._state(reader or self._reader(copy))
                between.append(final)
            except (ControlError, SessionGoneError):
                # a program has put something in the way: not a way to escape a verdict
                last = calls.pop() if calls else CallObservation()
                calls.append(msgspec.structs.replace(last, limit=UNREADABLE))
                judged = False
        return Observation(
            calls=tuple(calls),
            state=between[-1] if judged else None,
            state_between=tuple(between) if judged and self._play.strict else None,
            objects=objects if self._play.strict else None,
            elapsed_ms=self._elapsed * 1000,
        )

    def _call(
        self, session: Session, script: Reading, budget: Budget, settle: Callable[[], None] | None
    ) -> CallObservation:
        play = partial(play_script, session, script, budget, Free(), routines=self._routines, settle=settle)
        started = time.perf_counter()
        try:
            return in_one_transaction(session, script, budget, play) if script.fetches else play()
        finally:
            self._elapsed += time.perf_counter() - started

    def _look(self, see: Callable[[Session, Budget], bool], session: Session, copy: Copy) -> bool:
        """Whether something stands in the place of what the setup made; also where nobody can see that."""
        budget = Budget(self._play.limits, HARNESS_SECONDS)
        try:
            if session.gone or session.transaction not in {TransactionStatus.IDLE, TransactionStatus.INTRANS}:
                session = self._reader(copy)
            return see(session, budget)
        except (ControlError, SessionGoneError):
            return True

    def _reader(self, copy: Copy) -> Session:
        """Another session than the one that played, as another role."""
        other: Side = "reference" if self._play.side == "candidate" else "candidate"
        return self._copies.session(copy, other)

    def _state(self, reader: Session) -> tuple[tuple[TableState, ...], tuple[str, ...]]:
        assert self._base is not None
        budget = Budget(self._play.limits, HARNESS_SECONDS)
        reader.control(f"BEGIN; {state.pinned()}; SET LOCAL lock_timeout = {_LOCK_MS}", budget)
        try:
            tables = state.read_state(reader, self._base, budget)
            objects = state.read_objects(reader, self._base, budget) if self._play.strict else ()
        except ControlError as error:
            if error.failure.code != _LOCKED:
                raise
            tables, objects = (state.LOCKED,), ()
        reader.control("ROLLBACK", budget)
        return tables, objects
