"""A place on the user's server where assumptions are tried: one graded user, cleaned up afterwards."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from pytest_plsqlbench.bench.observation import CallObservation
from pytest_plsqlbench.engines.oracle.account import Account, ProxyUser
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.capabilities import Capabilities
from pytest_plsqlbench.engines.oracle.needs import Needs
from pytest_plsqlbench.engines.oracle.player import ScriptPlayer
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.provisioning import DataObject
from pytest_plsqlbench.engines.oracle.session import GradedSession, LingeringSessionError
from pytest_plsqlbench.engines.protocol import InfrastructureError, Limits

WORKER = "doctor"
_ALL_RIGHTS = ("CREATE SEQUENCE", "CREATE TABLE", "CREATE VIEW")


class Bench:
    """Makes a user when needed and plays scripts as it."""

    def __init__(self, admin: Admin, capabilities: Capabilities) -> None:
        self.admin = admin
        self.capabilities = capabilities
        self._proxy = ProxyUser(admin, WORKER)
        self.account = Account(admin, self._proxy, capabilities, side="candidate", worker=WORKER)
        self._session: GradedSession | None = None

    def ready(self, objects: tuple[DataObject, ...] = (), *, rights: bool = False) -> None:
        """A clean user, which sees these objects."""
        self.end()
        if self.account.exists:
            self.account.release()
        needs = Needs(_ALL_RIGHTS if rights else (), writes=False)
        self.account.prepare(needs, repr(objects), objects)

    def session(self) -> GradedSession:
        """A session of the user."""
        if self._session is None or not self._session.open:
            self._session = self.account.login()
        return self._session

    def play(self, text: str, seconds: float = 20.0) -> CallObservation:
        """Play a script as a test is played."""
        session = self.session()
        seen = ScriptPlayer(session, Limits()).play(text, seconds)
        if session.lingers:
            raise LingeringSessionError
        return seen

    def raw(self, text: str) -> str:
        """Run a statement as the user and outside of a play; the code of its error, empty for none."""
        session = self.session()
        try:
            session.execute(text, 20.0).close()
        except DriverError as error:
            return f"ORA-{error.code:05d}" if error.code else error.full_code
        return ""

    def value(self, text: str, *parameters: object) -> Any:
        """The first value of a query as administrator."""
        rows = self.admin.query(text, parameters)
        return rows[0][0] if rows else None

    def timed(self, action: Callable[[], object]) -> float:
        """Seconds that something takes."""
        started = time.monotonic()
        action()
        return time.monotonic() - started

    def end(self) -> None:
        """End the session."""
        if self._session is not None:
            session, self._session = self._session, None
            with contextlib.suppress(InfrastructureError, LingeringSessionError):
                session.discard()

    def close(self) -> None:
        """Remove all that was made."""
        self.end()
        self.account.abandon()
        self._proxy.drop()
