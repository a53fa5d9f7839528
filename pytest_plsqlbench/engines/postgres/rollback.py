"""A play inside one transaction that is rolled back: programs, then each test after a savepoint.

Few messages: what surrounds the statements of programs and tests goes out joined. That the savepoint of a
secret name still exists proves that the transaction is still ours.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from typing import TYPE_CHECKING

import msgspec
from psycopg.pq import ExecStatus, TransactionStatus

from pytest_plsqlbench.bench.observation import CallObservation, Observation, TableState
from pytest_plsqlbench.engines.postgres import settings, state
from pytest_plsqlbench.engines.postgres.budget import Budget
from pytest_plsqlbench.engines.postgres.calls import GoneDuringCallError, play_script, spoiled
from pytest_plsqlbench.engines.postgres.failure import Failure, Routines, diagnostic
from pytest_plsqlbench.engines.postgres.scripts import calls_of, reading
from pytest_plsqlbench.engines.postgres.session import ControlError, Session, SessionGoneError, Shown
from pytest_plsqlbench.engines.protocol import Play, Played

if TYPE_CHECKING:
    from psycopg.pq.abc import PGresult

    from pytest_plsqlbench.bench.task import Test
    from pytest_plsqlbench.engines.postgres.copies import Copies, Copy

_HARNESS_SECONDS = 120.0
_NEEDS_AUTOCOMMIT = frozenset(("2D000", "25001"))
"""invalid_transaction_termination, active_sql_transaction: the same text would run outside a transaction."""
_CLEAN = "SELECT pg_catalog.pg_advisory_unlock_all(); DEALLOCATE ALL"


class NeedsAutocommitError(Exception):
    """The play would go differently outside our transaction: it must be played there."""


class TransactionLostError(NeedsAutocommitError):
    """A program ended our transaction: what it did is in the database."""


class RollbackPlay:
    """One play on the kept session of its side."""

    def __init__(self, copies: Copies, copy: Copy, play: Play) -> None:
        self._copies = copies
        self._copy = copy
        self._play = play
        self._programs = [reading(text) for text in play.programs]
        self._routines = Routines(self._programs[-1].statements if self._programs else ())
        self._shown: dict[int, CallObservation] = {}
        self._killers: set[int] = set()
        self._careful = False
        self._observed: list[Observation] = []
        self._outer = f"s{secrets.token_hex(8)}"
        self._inner = f"s{secrets.token_hex(8)}"
        self._base: state.Baseline | None = None
        if any(judges_state(test) for test in play.tests):
            self._base = copies.baseline(copy.template)

    def run(self) -> Played:
        """Play it.

        Raises:
            NeedsAutocommitError: it must be played outside a transaction; nothing was left behind.
            TransactionLostError: the same, but the database is changed.
            InfrastructureError: the server is gone.
        """
        while not self._attempt():
            pass
        return Played(tuple(self._shown[at] for at in sorted(self._shown)), tuple(self._observed))

    def _attempt(self) -> bool:
        """Play from the start to where all is done (True) or where it must be started again."""
        session = self._begin()
        session.plays += 1
        if not self._install(session):
            return len(self._programs) - 1 in self._killers
        failed = self._failed_install()
        if failed is None and self._programs:
            failed = self._settle(session)
        if failed is not None or len(self._observed) == len(self._play.tests):
            self._end(session)
            if failed is not None and self._observed:  # it had installed before: a program of changing mind
                missing = len(self._play.tests) - len(self._observed)
                self._observed.extend([Observation(calls=(failed,))] * missing)
            return True
        return self._run_tests(session)

    def _begin(self) -> Session:
        message = (
            f"BEGIN; SET LOCAL statement_timeout = {round(self._play.limits.time * 1000)};"
            f" SAVEPOINT {self._outer}"
        )
        if not self._programs:
            message += f"; {self._ready(0)}"
        for attempt in (1, 2):
            session = self._copies.session(self._copy, self._play.side)
            try:
                session.control(message, Budget(self._play.limits, _HARNESS_SECONDS))
            except (SessionGoneError, ControlError):
                self._copies.retire(self._copy, self._play.side)
                if attempt == 2:
                    raise
            else:
                return session
        raise AssertionError  # pragma: no cover (the loop returns or raises)

    def _install(self, session: Session) -> bool:
        """Play the programs; False where it must be started again, or a program ended the session."""
        last = len(self._programs) - 1
        for at, script in enumerate(self._programs):
            if at in self._killers:
                continue
            budget = Budget(self._play.limits)
            session.output.restart(self._play.limits)
            steps = _Guarded(session) if self._careful and at < last else _Plain(session)
            try:
                shown = play_script(session, script, budget, steps, routines=Routines(script.statements))
            except GoneDuringCallError as gone:
                self._killers.add(at)
                self._shown[at] = gone.observation
                return False
            _see_code(shown)
            if shown.error is not None and at < last and not self._careful:
                self._careful = True
                session.control("ROLLBACK", Budget(self._play.limits, _HARNESS_SECONDS))
                return False
            self._shown[at] = shown
        return True

    def _failed_install(self) -> CallObservation | None:
        if not self._programs:
            return None
        shown = self._shown[len(self._programs) - 1]
        return shown if shown.error is not None or shown.limit is not None else None

    def _settle(self, session: Session) -> CallObservation | None:
        """Make ready for the first test; the failure of deferred constraints is the program's own."""
        last = len(self._programs) - 1
        constraints = "" if self._programs[last].only_routines else "SET CONSTRAINTS ALL IMMEDIATE; "
        message = f"{constraints}RELEASE SAVEPOINT {self._outer}; {self._ready(len(self._observed))}"
        budget = Budget(self._play.limits)
        try:
            session.control(message, budget)
        except SessionGoneError as gone:
            self._killers.add(last)
            failed = msgspec.structs.replace(self._shown[last], limit=gone.limit, lost=gone.limit is None)
        except ControlError as error:
            if error.failure.code in {"3B001", "25P01"} and not error.failure.raised:
                raise TransactionLostError from None
            failed = msgspec.structs.replace(
                self._shown[last],
                error=diagnostic(error.failure),
                lines=tuple(session.output.lines),
                limit=error.failure.limit,
            )
        else:
            self._shown[last] = msgspec.structs.replace(self._shown[last], lines=tuple(session.output.lines))
            return None
        self._shown[last] = failed
        return failed

    def _ready(self, at: int) -> str:
        """Statements after which test ``at`` may begin."""
        pin = (
            ""
            if all(script.only_routines for script in self._programs)
            else f"{settings.pin(self._copy.template.path)}; "
        )
        limit = f"SET LOCAL statement_timeout = {round(self._seconds(at) * 1000)}"
        return f"{pin}{limit}; SAVEPOINT {self._inner}"

    def _seconds(self, at: int) -> float:
        given = self._play.time_limits
        return given[at] if given is not None and at < len(given) else self._play.limits.time

    def _run_tests(self, session: Session) -> bool:
        tests = self._play.tests
        first = len(self._observed)
        for at in range(first, len(tests)):
            last = at == len(tests) - 1
            try:
                observation, aborted = self._test(session, at, tests[at])
                observation = self._leave(session, observation, at, first, aborted=aborted)
            except _GoneInTestError as gone:
                self._observed.append(gone.observation)
                return last
            self._observed.append(observation)
        return True

    def _test(self, session: Session, at: int, test: Test) -> tuple[Observation, bool]:
        """Play one test; the second value: whether the transaction is aborted."""
        scripts = [reading(text) for text in calls_of(test, self._play)]
        budget = Budget(self._play.limits, self._seconds(at))
        judged = judges_state(test)
        guarded = judged or test.on_error == "continue" or len(scripts) > 1
        session.output.restart(self._play.limits)
        steps = _Guarded(session) if guarded else _Plain(session)
        calls: list[CallObservation] = []
        between: list[tuple[TableState, ...]] = []
        objects: tuple[str, ...] | None = None
        elapsed = 0.0
        try:
            if not scripts and self._programs:
                calls.append(self._shown[len(self._programs) - 1])
            for number, script in enumerate(scripts):
                started = time.perf_counter()
                try:
                    shown = play_script(session, script, budget, steps, routines=self._routines)
                finally:
                    elapsed += time.perf_counter() - started
                _see_code(shown)
                calls.append(shown)
                if shown.limit is not None or (shown.error is not None and test.on_error == "stop"):
                    break
                if judged and self._play.strict and number < len(scripts) - 1:
                    between.append(self._state(session)[0])
            if judged:
                final, objects = self._state(session)
                between.append(final)
        except GoneDuringCallError as gone:
            seen = Observation(calls=(*calls, gone.observation), elapsed_ms=elapsed * 1000)
            raise _GoneInTestError(seen) from None
        except SessionGoneError as gone:
            raise _GoneInTestError(_unread(calls, gone.limit, elapsed)) from None
        except ControlError as error:
            session.kill()
            raise _GoneInTestError(_unread(calls, error.failure.limit, elapsed)) from None
        observation = Observation(
            calls=tuple(calls),
            state=between[-1] if judged else None,
            state_between=tuple(between) if judged and self._play.strict else None,
            objects=objects if self._play.strict else None,
            elapsed_ms=elapsed * 1000,
        )
        return observation, session.transaction == TransactionStatus.INERROR

    def _state(self, session: Session) -> tuple[tuple[TableState, ...], tuple[str, ...]]:
        assert self._base is not None
        budget = Budget(self._play.limits, _HARNESS_SECONDS)
        name = f"s{secrets.token_hex(8)}"
        session.control(f"SAVEPOINT {name}; {state.pinned()}; SET LOCAL statement_timeout = 0", budget)
        tables = state.read_state(session, self._base, budget)
        objects = state.read_objects(session, self._base, budget) if self._play.strict else ()
        session.control(f"ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}", budget)
        return tables, objects

    def _leave(
        self, session: Session, observation: Observation, at: int, first: int, *, aborted: bool
    ) -> Observation:
        """Fire what is deferred, see whether printing was changed, and go back to before the test."""
        last = at == len(self._play.tests) - 1
        back = f"ROLLBACK TO SAVEPOINT {self._inner}"
        if last:
            back += f"; ROLLBACK; {_CLEAN}"
        else:
            back += f"; {_CLEAN}"
            if self._seconds(at + 1) != self._seconds(first):
                back += f"; SET LOCAL statement_timeout = {round(self._seconds(at + 1) * 1000)}"
        budget = Budget(self._play.limits, self._seconds(at))
        before = "" if aborted else f"SET CONSTRAINTS ALL IMMEDIATE; {settings.printing()}; "
        try:
            try:
                results = session.control(before + back, budget)
            except ControlError as error:
                results = []
                if not aborted and not _names(error.failure, self._inner):
                    observation = self._failed_at_end(session, observation, error.failure)
                try:
                    session.control(back, Budget(self._play.limits, _HARNESS_SECONDS))
                except ControlError:
                    raise TransactionLostError from None
        except SessionGoneError as gone:
            calls = list(observation.calls)
            raise _GoneInTestError(_unread(calls, gone.limit, observation.elapsed_ms / 1000)) from None
        if not aborted and observation.calls and results:
            observation = _with_lines(session, observation)
            if (
                any(call.results for call in observation.calls)
                and _printing(results) != settings.pinned_printing()
            ):
                observation = _spoiled(observation)
        return observation

    def _failed_at_end(self, session: Session, observation: Observation, failure: Failure) -> Observation:
        observation = _with_lines(session, observation)
        calls = list(observation.calls)
        if calls and calls[-1].error is None:
            calls[-1] = msgspec.structs.replace(calls[-1], error=diagnostic(failure), limit=failure.limit)
        return msgspec.structs.replace(observation, calls=tuple(calls))

    def _end(self, session: Session) -> None:
        with contextlib.suppress(SessionGoneError):  # the next play opens another
            session.control(f"ROLLBACK; {_CLEAN}", Budget(self._play.limits, _HARNESS_SECONDS))


class _GoneInTestError(Exception):
    """The session went during a test."""

    def __init__(self, observation: Observation) -> None:
        super().__init__("the session is gone")
        self.observation = observation


class _Plain:
    """Nothing around the statements but a look at the transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def before(self, budget: Budget) -> None:
        """Nothing to do."""

    def after(self, shown: Shown, budget: Budget) -> None:  # noqa: ARG002  (one of several kinds of steps)
        """See that the transaction is still open."""
        _see_transaction(self._session)


class _Guarded:
    """Each statement behind a savepoint of its own, ended as autocommit would end it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._name = ""

    def before(self, budget: Budget) -> None:
        """Set the savepoint, and the time that is left."""
        self._name = f"s{secrets.token_hex(8)}"
        self._session.control(
            f"SAVEPOINT {self._name}; SET LOCAL statement_timeout = {budget.remaining_ms()}", budget
        )

    def after(self, shown: Shown, budget: Budget) -> None:
        """Fire what is deferred; keep what the statement did, or undo it where it failed."""
        _see_transaction(self._session)
        name = self._name
        if shown.failure is None:
            try:
                self._session.control(f"SET CONSTRAINTS ALL IMMEDIATE; RELEASE SAVEPOINT {name}", budget)
            except ControlError as error:
                if _names(error.failure, name):
                    raise TransactionLostError from None
                shown.failure = error.failure
            else:
                return
        try:
            self._session.control(f"ROLLBACK TO SAVEPOINT {name}; RELEASE SAVEPOINT {name}", budget)
        except ControlError:
            raise TransactionLostError from None


def judges_state(test: Test) -> bool:
    """Whether a rule of the test compares tables."""
    return any(rule.mode == "state" for rule in test.compare)


def _see_transaction(session: Session) -> None:
    if session.transaction not in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
        raise TransactionLostError


def _see_code(shown: CallObservation) -> None:
    if shown.error is not None and shown.error.code in _NEEDS_AUTOCOMMIT:
        raise NeedsAutocommitError


def _names(failure: Failure, savepoint: str) -> bool:
    return failure.code in {"3B001", "25P01"} and not failure.raised and savepoint in failure.message


def _unread(calls: list[CallObservation], limit: str | None, elapsed: float) -> Observation:
    """What is left of a test whose session went after its calls."""
    last = calls.pop() if calls else CallObservation()
    last = msgspec.structs.replace(last, limit=limit, lost=limit is None)
    return Observation(calls=(*calls, last), elapsed_ms=elapsed * 1000)


def _with_lines(session: Session, observation: Observation) -> Observation:
    """Lines that deferred triggers printed belong to the last call."""
    calls = list(observation.calls)
    lines = tuple(session.output.lines)
    if calls and len(lines) > len(calls[-1].lines) and lines[: len(calls[-1].lines)] == calls[-1].lines:
        calls[-1] = msgspec.structs.replace(calls[-1], lines=lines)
        return msgspec.structs.replace(observation, calls=tuple(calls))
    return observation


def _spoiled(observation: Observation) -> Observation:
    calls = tuple(
        msgspec.structs.replace(call, results=tuple(spoiled(result) for result in call.results))
        for call in observation.calls
    )
    return msgspec.structs.replace(observation, calls=calls)


def _printing(results: list[PGresult]) -> tuple[bytes | None, ...]:
    for result in results:
        if result.status == ExecStatus.TUPLES_OK:
            return tuple(result.get_value(0, at) for at in range(result.nfields))
    return ()
