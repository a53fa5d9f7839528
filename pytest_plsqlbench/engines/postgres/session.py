"""A login session of a graded side: statements go out as they are, everything that comes back is bounded.

The raw connection of the driver is used: values stay in the server's text form, and results are taken in
pieces while time, rows, bytes and messages are counted. A session that passes a limit is killed from outside.
"""

from __future__ import annotations

import fcntl
import select
import struct
import termios
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psycopg
from psycopg.pq import ConnStatus, ExecStatus, PGconn

from pytest_plsqlbench.bench.observation import ResultSet
from pytest_plsqlbench.engines.postgres import blame, cells
from pytest_plsqlbench.engines.postgres.failure import Failure
from pytest_plsqlbench.engines.postgres.output import Output
from pytest_plsqlbench.engines.postgres.settings import REPORTED
from pytest_plsqlbench.engines.protocol import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from psycopg.pq.abc import PGresult

    from pytest_plsqlbench.bench.observation import Cell
    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.postgres.budget import Budget

_CHUNK_ROWS = 64
_TICK_MS = 250
_METER_FROM = 8
"""Reads without a result after which the bytes that arrive are counted: a single value may be huge."""
# plain numbers: the driver hands them out as such, and this is compared for every statement
_TUPLES_OK = int(ExecStatus.TUPLES_OK)
_COMPLETE = frozenset((int(ExecStatus.COMMAND_OK), int(ExecStatus.EMPTY_QUERY)))
_ROWS = frozenset((_TUPLES_OK, int(ExecStatus.SINGLE_TUPLE), int(ExecStatus.TUPLES_CHUNK)))
_COPIES = frozenset((int(ExecStatus.COPY_IN), int(ExecStatus.COPY_OUT), int(ExecStatus.COPY_BOTH)))
_COPY_IN = int(ExecStatus.COPY_IN)
_GOOD = int(ConnStatus.OK)


_TOLD_SECONDS = 0.3
_CRASH_SECONDS = 1.5
"""Within which a server that is shut down, or whose process died, has cut all others off."""
_END_SECONDS = 5.0
"""Within which a session that was told to end does so, unless it is deep in the server's own parser."""
_ENDED_ALONE = frozenset(("57P01", "57P05", "25P03", "25P04"))
"""Terminated by command, and the time-outs of idle sessions and of transactions."""


class SessionGoneError(Exception):
    """The session is no more: killed by us at a limit (``limit``), or lost otherwise."""

    def __init__(self, limit: str | None, failure: Failure | None = None) -> None:
        super().__init__(limit or "lost")
        self.limit = limit
        self.failure = failure


class ControlError(Exception):
    """A statement of the harness failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.code}: {failure.message}")
        self.failure = failure


@dataclass(slots=True)
class Shown:
    """What one statement showed."""

    results: list[ResultSet] = field(default_factory=list)
    failure: Failure | None = None
    cursors: list[str] = field(default_factory=list)
    """Names of cursors among the values returned."""
    reported_bound: frozenset[bytes] = frozenset()
    """Settings, of those that the server reports, that change how a value of the results prints."""
    unreported_bound: bool = False
    """Settings that it does not report do."""


class Session:
    """One connection of a login role, in one database."""

    def __init__(self, admin: Admin, conninfo: str, tick: Callable[[], str | None] | None = None) -> None:
        """Connect.

        Args:
            admin: who kills the session.
            conninfo: connection string.
            tick: asked every half second while a statement runs; names a limit that was passed.

        Raises:
            InfrastructureError: the server refuses.
        """
        self._admin = admin
        self._epoch = admin.epoch
        self._tick = tick
        self._connection = PGconn.connect(conninfo.encode())
        if self._connection.status != ConnStatus.OK:
            lines = self._connection.get_error_message().strip().splitlines() or ["no reason given"]
            self._connection.finish()
            raise InfrastructureError(f"a worker cannot log in to the PostgreSQL server: {lines[0]}")
        self.output = Output()
        self._connection.notice_handler = self.output.receive
        self.pid = self._connection.backend_pid
        self._socket = self._connection.socket
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.plays = 0
        self.slow = False
        """A statement ran for long: it may have done a lot."""
        self.gone = False
        self.stuck = False
        """It was killed and has not ended: what it holds, it still holds. Nobody may play in its database."""
        self._next_tick = time.monotonic() + _TICK_MS / 1000
        self._since = time.monotonic()

    def begin_play(self) -> None:
        """A play begins."""
        self.plays += 1
        self._since = time.monotonic()

    @property
    def transaction(self) -> int:
        """State of the session's transaction, a ``TransactionStatus``."""
        return self._connection.transaction_status

    def prints_otherwise(self, names: Iterable[bytes]) -> bool:
        """Whether any of these settings, which the server reports by itself, is not as it was pinned."""
        status = self._connection.parameter_status
        return any(status(name) != REPORTED[name] for name in names)

    def control(self, text: str, budget: Budget) -> list[PGresult]:
        """Run the harness' own statements in one message.

        Raises:
            ControlError: one failed.
            SessionGoneError: the session is lost; user code can run in here (deferred triggers).
        """
        results: list[PGresult] = []
        failure: Failure | None = None
        try:
            self._connection.send_query(text.encode())
            while (result := self._next(budget)) is not None:
                status = result.status
                if status in _COMPLETE or status in _ROWS:
                    results.append(result)
                else:
                    failure = Failure.read(result)
        except psycopg.OperationalError:
            raise self._lost(self._last_word(failure)) from None
        if self._broken(failure):
            raise self._lost(failure)
        if failure is not None:
            raise ControlError(failure)
        return results

    def run(self, text: str, budget: Budget, data: str | None = None) -> Shown:
        """Run one statement of a program or test by the extended protocol.

        Args:
            text: the statement.
            budget: what it may use.
            data: what ``COPY … FROM STDIN`` gets.

        Raises:
            SessionGoneError: the session is lost, or was killed because a limit was passed.
        """
        self._see_limits(time.monotonic())
        try:
            raw = text.encode()
            lines = None if data is None else data.encode()
        except UnicodeEncodeError:
            return Shown(failure=Failure("22021", "the text holds a character that UTF-8 does not have"))
        if b"\0" in raw:
            return Shown(failure=Failure("22021", "the text holds a NUL byte"))
        shown = Shown()
        reader = _Reader(budget, shown)
        try:
            self._connection.send_query_params(raw, None)
            self._connection.set_chunked_rows_mode(_CHUNK_ROWS)
            while (result := self._next(budget)) is not None:
                status = result.status
                if status in _ROWS:
                    if reader.take(result, status):
                        raise self._killed("row_limit")
                elif status in _COPIES:
                    self._copy(status, lines, budget)
                    if status != _COPY_IN:
                        shown.failure = Failure("0A000", "COPY TO STDOUT has no reader here")
                elif status not in _COMPLETE:
                    shown.failure = Failure.read(result)
        except psycopg.OperationalError:
            raise self._lost(self._last_word(shown.failure)) from None
        if self._broken(shown.failure):
            raise self._lost(shown.failure)
        return shown

    def columns(self, text: str, budget: Budget) -> cells.Columns | None:
        """Columns that a statement would return; None where the server does not even take it.

        Raises:
            SessionGoneError: the session is lost.
        """
        try:
            self._connection.send_prepare(b"", text.encode())
            prepared = self._last(budget)
            if prepared is None or prepared.status not in _COMPLETE:
                return None
            self._connection.send_describe_prepared(b"")
            described = self._last(budget)
        except UnicodeEncodeError:
            return None
        except psycopg.OperationalError:
            raise self._lost(self._last_word(None)) from None
        return None if described is None else cells.Columns(described)

    def _last(self, budget: Budget) -> PGresult | None:
        last = None
        while (result := self._next(budget)) is not None:
            last = result
        return last

    def _next(self, budget: Budget) -> PGresult | None:
        """Wait for the next result within the budget."""
        if self._connection.is_busy():
            self._wait(budget)
        if self.output.exceeded:
            raise self._killed("output_limit")
        return self._connection.get_result()

    def _wait(self, budget: Budget, lacking: Callable[[], bool] | None = None) -> None:
        """Wait within the budget while there is no whole result, or while something else is lacking."""
        connection, poll = self._connection, self._poll.poll
        waiting: Callable[[], object] = lacking or connection.is_busy
        reads = arrived = 0
        silence = blame.Silence(self._admin, self.pid)
        while waiting():
            ready = poll(_TICK_MS)
            reads += 1
            if not ready or reads > _METER_FROM:
                arrived += _waiting(self._socket)
                if arrived > budget.bytes:
                    raise self._killed("row_limit")
                now = time.monotonic()
                if now > budget.deadline:
                    blame.out_of_time(self._admin, self.pid)
                    raise self._killed("time_limit")
                self._see_limits(now)
                if not ready:
                    silence.see(now)
            if ready:
                silence.heard()
                connection.consume_input()
                if self.output.exceeded:
                    raise self._killed("output_limit")

    def _see_limits(self, now: float) -> None:
        """Now and then, see whether a limit was passed that only others see: many small steps can."""
        if self._tick is None or now < self._next_tick:
            return
        self._next_tick = now + _TICK_MS / 1000
        self.slow = self.slow or now > self._since + _TICK_MS / 1000
        limit = self._tick()
        if limit is not None:
            raise self._killed(limit)

    def _copy(self, status: int, data: bytes | None, budget: Budget) -> None:
        connection = self._connection
        if status == _COPY_IN:
            if data is None:
                connection.put_copy_end(b"COPY FROM STDIN has no data here")
            else:
                connection.put_copy_data(data)
                connection.put_copy_end()
            return
        taken, length, piece = 0, 0, b""

        def lacking() -> bool:
            nonlocal length, piece
            length, data = connection.get_copy_data(1)
            piece = bytes(data)
            return length == 0

        while True:
            self._wait(budget, lacking)
            if length < 0:
                return
            taken += len(piece)
            if taken > budget.bytes or time.monotonic() > budget.deadline:
                raise self._killed("row_limit")

    def _broken(self, failure: Failure | None) -> bool:
        return self._connection.status != _GOOD or (failure is not None and failure.fatal)

    def _killed(self, limit: str) -> SessionGoneError:
        self.kill()
        return SessionGoneError(limit)

    def _last_word(self, failure: Failure | None) -> Failure | None:
        """What the server said before it closed a connection that was found closed."""
        if failure is not None and failure.fatal:
            return failure
        try:
            result = self._connection.get_result()
        except psycopg.Error:
            return failure
        if result is None or result.status in _COMPLETE or result.status in _ROWS:
            return failure
        said = Failure.read(result)
        return said if said.fatal else failure

    def _lost(self, failure: Failure | None) -> SessionGoneError:
        # a session that was ended alone is told so; without that word the server may just be failing
        told = failure is not None and failure.fatal and failure.code in _ENDED_ALONE
        self.kill(_TOLD_SECONDS if told else _CRASH_SECONDS)
        return SessionGoneError(None, failure)

    def kill(self, doubt: float = 0.0) -> None:
        """End the session from outside and see that it is gone.

        Args:
            doubt: seconds for which the server must stay up before it counts as sound.

        Raises:
            InfrastructureError: the server is gone.
        """
        if self.gone:
            return
        self.gone = True
        self._connection.finish()
        # told to end, it does so when it next looks; that may be long after, and is no escape from a verdict
        self.stuck = not blame.session_ended(self._admin, self.pid, self._epoch, doubt, _END_SECONDS)

    def close(self) -> None:
        """End an idle session."""
        if not self.gone:
            self.gone = True
            self._connection.finish()


class _Reader:
    """Gathers the pieces of results into result sets, within the budget."""

    __slots__ = ("_budget", "_columns", "_rows", "_shown")

    def __init__(self, budget: Budget, shown: Shown) -> None:
        self._budget = budget
        self._shown = shown
        self._columns: cells.Columns | None = None
        self._rows: list[tuple[Cell, ...]] = []

    def take(self, result: PGresult, status: int) -> bool:
        """Take a piece; returns whether a limit was passed."""
        budget, columns = self._budget, self._columns
        if columns is None:
            columns = self._columns = cells.Columns(result)
            self._shown.unreported_bound |= columns.setting_bound
            self._shown.reported_bound |= columns.reported_bound
        taken, size = columns.rows(result, budget.bytes)
        budget.rows -= len(taken)
        budget.bytes -= size
        if budget.rows < 0 or budget.bytes < 0:
            return True
        self._rows += taken
        if status == _TUPLES_OK:
            self._close(columns)
        return False

    def _close(self, columns: cells.Columns) -> None:
        for at in columns.cursors:
            self._shown.cursors.extend(cell[1] for row in self._rows if (cell := row[at]) is not None)
        self._shown.results.append(ResultSet(columns.names, tuple(self._rows)))
        self._columns, self._rows = None, []


def _waiting(descriptor: int) -> int:
    """Bytes that wait in a socket."""
    buffer = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    return int(struct.unpack("i", buffer)[0])
