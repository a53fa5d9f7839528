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
from psycopg.pq import ConnStatus, ExecStatus, PGconn, TransactionStatus

from pytest_plsqlbench.bench.observation import ResultSet
from pytest_plsqlbench.engines.postgres import cells
from pytest_plsqlbench.engines.postgres.failure import Failure
from pytest_plsqlbench.engines.postgres.output import Output
from pytest_plsqlbench.engines.protocol import InfrastructureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg.pq.abc import PGresult

    from pytest_plsqlbench.bench.observation import Cell, Kind
    from pytest_plsqlbench.engines.postgres.admin import Admin
    from pytest_plsqlbench.engines.postgres.budget import Budget

_CHUNK_ROWS = 64
_TICK_MS = 500
_METER_FROM = 8
"""Reads without a result after which the bytes that arrive are counted: a single value may be huge."""
_COMPLETE = frozenset((ExecStatus.COMMAND_OK, ExecStatus.EMPTY_QUERY))
_ROWS = frozenset((ExecStatus.TUPLES_OK, ExecStatus.SINGLE_TUPLE, ExecStatus.TUPLES_CHUNK))
_COPIES = frozenset((ExecStatus.COPY_IN, ExecStatus.COPY_OUT, ExecStatus.COPY_BOTH))


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
        self.gone = False

    @property
    def transaction(self) -> TransactionStatus:
        """State of the session's transaction."""
        return TransactionStatus(self._connection.transaction_status)

    def reported(self, names: tuple[bytes, ...]) -> tuple[bytes | None, ...]:
        """Values of settings that the server reports by itself."""
        status = self._connection.parameter_status
        return tuple(status(name) for name in names)

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
                if result.status in _ROWS or result.status in _COMPLETE:
                    results.append(result)
                else:
                    failure = Failure.read(result)
        except psycopg.OperationalError:
            raise self._lost(failure) from None
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
        try:
            raw = text.encode()
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
                    if reader.take(result):
                        raise self._killed("row_limit")
                elif status in _COPIES:
                    self._copy(status, data, budget)
                    if status != ExecStatus.COPY_IN:
                        shown.failure = Failure("0A000", "COPY TO STDOUT has no reader here")
                elif status not in _COMPLETE:
                    shown.failure = Failure.read(result)
        except psycopg.OperationalError:
            raise self._lost(shown.failure) from None
        reader.close()
        if self._broken(shown.failure):
            raise self._lost(shown.failure)
        return shown

    def _next(self, budget: Budget) -> PGresult | None:
        """Wait for the next result within the budget."""
        connection = self._connection
        reads = counted = 0
        while connection.is_busy():
            if not self._poll.poll(_TICK_MS):
                if time.monotonic() > budget.deadline:
                    raise self._killed("time_limit")
                limit = self._tick() if self._tick is not None else None
                if limit is not None:
                    raise self._killed(limit)
                continue
            reads += 1
            if reads > _METER_FROM:
                counted += _waiting(self._socket)
                if counted > budget.bytes:
                    raise self._killed("output_limit" if self.output.exceeded else "row_limit")
                if time.monotonic() > budget.deadline:
                    raise self._killed("time_limit")
            connection.consume_input()
            if self.output.exceeded:
                raise self._killed("output_limit")
        if self.output.exceeded:
            raise self._killed("output_limit")
        return connection.get_result()

    def _copy(self, status: int, data: str | None, budget: Budget) -> None:
        connection = self._connection
        if status == ExecStatus.COPY_IN:
            if data is None:
                connection.put_copy_end(b"COPY FROM STDIN has no data here")
            else:
                connection.put_copy_data(data.encode())
                connection.put_copy_end()
            return
        taken = 0
        while True:
            length, piece = connection.get_copy_data(0)
            if length < 0:
                return
            taken += len(piece)
            if taken > budget.bytes or time.monotonic() > budget.deadline:
                raise self._killed("row_limit")

    def _broken(self, failure: Failure | None) -> bool:
        return self._connection.status != ConnStatus.OK or (failure is not None and failure.fatal)

    def _killed(self, limit: str) -> SessionGoneError:
        self.kill()
        return SessionGoneError(limit)

    def _lost(self, failure: Failure | None) -> SessionGoneError:
        self.kill()
        return SessionGoneError(None, failure)

    def kill(self) -> None:
        """End the session from outside and see that it is gone.

        Raises:
            InfrastructureError: the server is gone, or does not end the session.
        """
        if self.gone:
            return
        self.gone = True
        self._connection.finish()
        if not self._admin.alive():
            raise InfrastructureError("the PostgreSQL server was lost while a program ran")
        if not self._admin.terminate(self.pid):
            raise InfrastructureError("the PostgreSQL server did not end a session that was told to")

    def close(self) -> None:
        """End an idle session."""
        if not self.gone:
            self.gone = True
            self._connection.finish()


class _Reader:
    """Gathers the pieces of results into result sets, within the budget."""

    def __init__(self, budget: Budget, shown: Shown) -> None:
        self._budget = budget
        self._shown = shown
        self._columns: tuple[str, ...] | None = None
        self._kinds: list[Kind] = []
        self._rows: list[tuple[Cell, ...]] = []

    def take(self, result: PGresult) -> bool:
        """Take a piece; returns whether a limit was passed."""
        budget = self._budget
        if self._columns is None:
            self._columns = cells.columns(result)
            self._kinds = cells.kinds(result)
            self._cursors = [at for at in range(result.nfields) if result.ftype(at) == cells.REFCURSOR]
        taken = cells.rows(result, self._kinds)
        budget.rows -= len(taken)
        budget.bytes -= cells.size(taken)
        if budget.rows < 0 or budget.bytes < 0:
            return True
        self._rows.extend(taken)
        if result.status == ExecStatus.TUPLES_OK:
            self.close()
        return False

    def close(self) -> None:
        """The result set is complete."""
        if self._columns is None:
            return
        for at in self._cursors:
            self._shown.cursors.extend(cell[1] for row in self._rows if (cell := row[at]) is not None)
        self._shown.results.append(ResultSet(self._columns, tuple(self._rows)))
        self._columns, self._rows = None, []


def _waiting(descriptor: int) -> int:
    """Bytes that wait in a socket."""
    buffer = fcntl.ioctl(descriptor, termios.FIONREAD, struct.pack("i", 0))
    return int(struct.unpack("i", buffer)[0])
