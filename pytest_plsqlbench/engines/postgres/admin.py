"""The administrating connection: sets lanes up, kills sessions, decides whether the server is alive."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.engines.protocol import InfrastructureError

if TYPE_CHECKING:
    from pytest_plsqlbench.servers.address import ServerAddress

_RECOVERY_SECONDS = 20.0
"""A server that lost a process to a signal takes connections again within a second or so."""


class Admin:
    """Connections of the administrating role, all in autocommit."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def connect(self, database: str | None = None) -> psycopg.Connection[tuple[Any, ...]]:
        """A new connection; the caller closes it.

        Raises:
            InfrastructureError: the server does not take it.
        """
        conninfo = self.address.conninfo
        if database is not None:
            conninfo = make_conninfo(conninfo, dbname=database)
        end = time.monotonic() + _RECOVERY_SECONDS
        while True:
            try:
                return psycopg.connect(conninfo, autocommit=True, prepare_threshold=None)
            except psycopg.OperationalError as error:
                recovering = "the database system is" in str(error)  # … starting up, in recovery mode
                if not recovering or time.monotonic() > end:
                    reason = first_line(error)
                    raise InfrastructureError(f"the PostgreSQL server cannot be reached: {reason}") from None
                time.sleep(0.05)

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
            except psycopg.OperationalError as error:
                if not self._connection.broken:
                    raise
                self.close()
                if attempt == 2:
                    raise InfrastructureError(
                        f"the PostgreSQL server was lost: {first_line(error)}"
                    ) from None
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
                self.close()
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

    def close(self) -> None:
        """Close the kept connection; the next use opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def first_line(error: BaseException) -> str:
    """The message of a driver's error on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
