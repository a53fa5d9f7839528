"""The administrating connection: sets lanes up, kills sessions, decides whether the server is alive."""

from __future__ import annotations

import select
import time
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.engines.postgres.settings import connect_options
from pytest_plsqlbench.engines.protocol import InfrastructureError
from pytest_plsqlbench.servers.postgres_session import settled, undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable

    from psycopg.pq.abc import PGconn

    from pytest_plsqlbench.servers.address import ServerAddress

_RECOVERY_SECONDS = 20.0
"""A server that lost a process to a signal takes connections again within a second or so."""
_RESTART_SECONDS = 8.0
"""A server that does not listen may be about to start again."""
_ANSWER_SECONDS = 10.0
"""Silence after which another connection asks what became of the one that waits."""
_HOPELESS_SECONDS = 3.0
"""For so long after a server could not be reached, nobody waits for it again."""
_OURS = frozenset(("53", "57", "58"))
"""Classes of errors that no statement of an administrator's causes: resources, intervention, the system."""


class PatientConnection(psycopg.Connection[Any]):
    """A connection that waits for as long as its server works for it, and not for an answer that is lost."""

    still_works: Callable[[int], bool] | None = None
    """Asks the server, by another connection, whether it works for the process of this one."""

    def wait(self, gen: Generator[Any, Any, Any], *arguments: Any, **options: Any) -> Any:
        """As the driver's, which waits for ever; further arguments depend on its version."""
        return super().wait(self._attended(gen), *arguments, **options)

    def _attended(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        alarm = time.monotonic() + _ANSWER_SECONDS
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready or time.monotonic() < alarm:
                    state = gen.send(ready)
                    continue
                if self.still_works is None or not self.still_works(self.info.backend_pid):
                    self.pgconn.finish()
                    raise psycopg.OperationalError("the server does not answer any more")
                alarm = time.monotonic() + _ANSWER_SECONDS
                state = gen.send(ready)
        except StopIteration as end:
            return end.value


class Admin:
    """Connections of the administrating role, all in autocommit."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self.epoch = 0
        """Counts kept connections that were lost: what was made before may have been through a crash."""
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._hopeless: tuple[float, str] = (0.0, "")

    def conninfo(self, database: str | None = None, options: str = "") -> str:
        """How to connect, with everything pinned.

        Args:
            database: another than the address names.
            options: further ones, which win.
        """
        pinned = connect_options(("pg_catalog",), check_client=False)
        conninfo = settled(self.address.conninfo, f"{pinned} {options}".rstrip())
        return conninfo if database is None else make_conninfo(conninfo, dbname=database)

    def connect(self, database: str | None = None) -> psycopg.Connection[tuple[Any, ...]]:
        """A new connection; the caller closes it.

        Raises:
            InfrastructureError: the server does not take it.
        """
        until, reason = self._hopeless
        if time.monotonic() < until:
            raise InfrastructureError(reason)
        conninfo = self.conninfo(database)
        began = time.monotonic()
        while True:
            try:
                with undisturbed():
                    connection = PatientConnection.connect(conninfo, autocommit=True, prepare_threshold=None)
            except psycopg.OperationalError as error:
                now = time.monotonic()
                if now > began + _patience(str(error)):
                    reason = f"the PostgreSQL server cannot be reached: {first_line(error)}"
                    self._hopeless = (now + _HOPELESS_SECONDS, reason)
                    raise InfrastructureError(reason) from None
                time.sleep(0.05)
            else:
                connection.still_works = self._works_for
                return connection

    def attend(self, connection: PGconn) -> None:
        """Wait until there is something to read for a raw connection, and read it.

        Raises:
            InfrastructureError: nothing comes, and the server does not work for it either.
        """
        readable = select.poll()
        readable.register(connection.socket, select.POLLIN)
        while not readable.poll(_ANSWER_SECONDS * 1000):
            if not self._works_for(connection.backend_pid):
                connection.finish()
                raise InfrastructureError("the PostgreSQL server does not answer any more")
        connection.consume_input()

    def _works_for(self, pid: int) -> bool:
        """Whether the server says that it works for a process."""
        try:
            with PatientConnection.connect(self.conninfo(), autocommit=True) as other:
                row = other.execute(
                    "SELECT state FROM pg_catalog.pg_stat_activity WHERE pid = %s", [pid]
                ).fetchone()
        except psycopg.Error:
            return False
        return row is not None and not (row[0] or "").startswith("idle")

    @property
    def server_version(self) -> int:
        """As a number: 180006 is 18.6."""
        self.execute("SELECT 1")
        assert self._connection is not None
        return self._connection.info.server_version

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements one by one on the kept connection; returns the last one's rows.

        Raises:
            InfrastructureError: the server is gone.
            psycopg.Error: a statement failed.
        """
        rows: list[tuple[Any, ...]] = []
        for statement in statements:
            rows = self._execute(statement)
        return rows

    def _execute(self, statement: str) -> list[tuple[Any, ...]]:
        for attempt in (1, 2):
            if self._connection is None:
                self._connection = self.connect()
            try:
                cursor = self._connection.execute(statement.encode())
                return cursor.fetchall() if cursor.description else []
            except psycopg.Error as error:
                if self._connection.broken:
                    self._forget()
                    what = "the PostgreSQL server was lost"
                elif is_ours(error):
                    what = "the PostgreSQL server failed"
                else:
                    raise
                if attempt == 2:
                    raise InfrastructureError(f"{what}: {first_line(error)}") from None
        raise AssertionError  # pragma: no cover (the loop returns or raises)

    def steady(self, seconds: float = 0.0) -> bool:
        """Whether the connection that was open before still answers, as it does not after a crash.

        Args:
            seconds: how long it must go on answering.
        """
        end = time.monotonic() + seconds
        while self._connection is not None:
            try:
                self._connection.execute("SELECT 1")
            except psycopg.Error:
                self._forget()
                return False
            if time.monotonic() >= end:
                return True
            time.sleep(0.05)
        return False

    def terminate(self, pid: int, seconds: float = 10.0) -> bool:
        """Kill a session and wait until it is gone; returns whether it is."""
        self.execute(f"SELECT pg_catalog.pg_terminate_backend({pid:d})")
        end = time.monotonic() + seconds
        while self.execute(f"SELECT 1 FROM pg_catalog.pg_stat_activity WHERE pid = {pid:d}"):
            if time.monotonic() > end:
                return False
            time.sleep(0.005)
        return True

    def _forget(self) -> None:
        """The kept connection was lost."""
        self.epoch += 1
        self.close()

    def close(self) -> None:
        """Close the kept connection; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def why_lost(address: ServerAddress) -> str | None:
    """Why a server cannot be used any more, on one line; None where it answers."""
    admin = Admin(address)
    try:
        admin.execute("SELECT 1")
    except InfrastructureError as error:
        return str(error)
    finally:
        admin.close()
    return None


def is_ours(error: psycopg.Error) -> bool:
    """Whether an error is that of the server or of another user, not of the statement."""
    return (error.sqlstate or "")[:2] in _OURS


def _patience(message: str) -> float:
    """Seconds for which a server that gives this answer may take connections soon."""
    if "the database system is" in message:  # … starting up, in recovery mode
        return _RECOVERY_SECONDS
    gone = (
        "Connection refused",
        "No such file or directory",
        "server closed the connection",
        "Connection reset",
    )
    return _RESTART_SECONDS if any(words in message for words in gone) else 0.0


def first_line(error: BaseException) -> str:
    """The message of a driver's error on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
