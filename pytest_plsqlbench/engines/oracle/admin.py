"""The administrating session of a lane: the dictionary, kills, and the probe that tells loss from outage."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.facts import NO_SUCH_SESSION
from pytest_plsqlbench.engines.oracle.names import program_name
from pytest_plsqlbench.engines.oracle.port import Connection, Driver, DriverError, Login

LOGIN_SECONDS = 60.0
"""For a login with the driver's own retries; slow servers under load need some."""
STATEMENT_SECONDS = 600.0
"""For dictionary work and restores of our own."""
PROBE_SECONDS = 15.0


class Admin:
    """One session, opened when needed and again after it was lost. Safe to use from the watchdog's thread."""

    def __init__(
        self,
        driver: Driver,
        login: Login,
        run_id: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.driver = driver
        self.login = replace(login, program=program_name(run_id))
        self.run_id = run_id
        self.sleep = sleep
        self._lock = threading.RLock()
        self._connection: Connection | None = None

    def query(self, text: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query of ours.

        Raises:
            DriverError: it fails.
        """
        with self._lock, self._dropped_when_dead():
            return self._open().query(text, parameters)

    def run(self, text: str, parameters: Sequence[object] = ()) -> None:
        """Run a statement of ours.

        Raises:
            DriverError: it fails.
        """
        with self._lock, self._dropped_when_dead():
            self._open().run(text, parameters)

    def run_all(self, texts: Sequence[str]) -> None:
        """Run several."""
        for text in texts:
            self.run(text)

    def commit(self) -> None:
        """Commit what ``run`` changed."""
        with self._lock, self._dropped_when_dead():
            self._open().commit()

    def tolerate(self, text: str, codes: frozenset[int]) -> bool:
        """Run a statement whose failure with one of these numbers does no harm; whether it ran."""
        try:
            self.run(text)
        except DriverError as error:
            if error.code not in codes:
                raise
            return False
        return True

    def fresh(self) -> Connection:
        """A second session of the same account; the caller closes it.

        Raises:
            DriverError: the login fails.
        """
        connection = self.driver.connect(self.login, LOGIN_SECONDS)
        connection.limit(STATEMENT_SECONDS)
        return connection

    def alive(self) -> bool:
        """Whether the server answers an administrator, if need be on a new session."""
        with self._lock:
            for _ in range(2):
                try:
                    connection = self._open()
                    connection.limit(PROBE_SECONDS)
                    connection.query("SELECT 1 FROM DUAL")
                    connection.limit(STATEMENT_SECONDS)
                except DriverError:
                    self._drop()
                else:
                    return True
        return False

    def kill(self, user: str, session: tuple[int, int]) -> None:
        """End a session of a graded user, whatever it is doing. Missing ones are fine.

        The serial number that the driver knows is cut to 16 bits, so when the server knows no such pair the
        right one is looked up by SID and user.

        Raises:
            DriverError: the server refuses.
        """
        sid, serial = session
        try:
            self._kill(sid, serial)
        except DriverError as error:
            if error.code not in NO_SUCH_SESSION:
                raise
            for (right,) in self.query(
                "SELECT serial# FROM v$session WHERE sid = :1 AND username = :2", (sid, user)
            ):
                self._kill(sid, int(right))

    def _kill(self, sid: int, serial: int) -> None:
        try:
            self.run(sql.kill_session(sid, serial))
        except DriverError as error:
            # "Marked for kill" is success; the driver takes its number for the loss of our own session.
            if error.code != 31:
                raise

    def gone(self, user: str, sid: int, seconds: float) -> bool:
        """Whether a session has left V$SESSION within a time."""
        deadline = time.monotonic() + seconds
        while self.query("SELECT 1 FROM v$session WHERE sid = :1 AND username = :2", (sid, user)):
            if time.monotonic() >= deadline:
                return False
            self.sleep(0.2)
        return True

    def sessions_of(self, user: str) -> list[tuple[int, int]]:
        """SID and serial number of every session of a user."""
        return [
            (int(sid), int(serial))
            for sid, serial in self.query("SELECT sid, serial# FROM v$session WHERE username = :1", (user,))
        ]

    def close(self) -> None:
        """Close the session."""
        with self._lock:
            self._drop()

    def _open(self) -> Connection:
        if self._connection is None:
            self._connection = self.fresh()
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @contextmanager
    def _dropped_when_dead(self) -> Iterator[None]:
        try:
            yield
        except DriverError as error:
            if error.session_dead or error.full_code == "DPY-4024":
                self._drop()
            raise


def drop_user(admin: Admin, user: str, tries: int = 3) -> bool:
    """Drop a user, ending its sessions; whether it is gone. What stays is for the reaper.

    Raises:
        DriverError: another error than sessions that linger (ORA-01940).
    """
    for attempt in range(tries):
        for session in admin.sessions_of(user):
            admin.kill(user, session)
        try:
            admin.run(sql.drop_user(user))
        except DriverError as error:
            if error.code == 1918:
                return True
            if error.code != 1940:
                raise
            admin.sleep(0.5 * 4**attempt)
        else:
            return True
    return False
