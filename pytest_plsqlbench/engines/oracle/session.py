"""A graded session: logged in by proxy, pinned, bounded, and thrown away when in doubt."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from pytest_plsqlbench.engines.oracle.admin import LOGIN_SECONDS, Admin
from pytest_plsqlbench.engines.oracle.capabilities import Capabilities
from pytest_plsqlbench.engines.oracle.output import switch_on
from pytest_plsqlbench.engines.oracle.pins import pin_block
from pytest_plsqlbench.engines.oracle.port import Connection, DriverError, Execution, Login, Variable
from pytest_plsqlbench.engines.protocol import InfrastructureError

DEATH_SECONDS = 30.0
"""How long a killed session may take to leave V$SESSION before its user is given up."""
HARNESS_SECONDS = 15.0
"""For our own calls on a graded session: pins, output, package reset."""

_RESET = """BEGIN
  SYS.DBMS_SESSION.RESET_PACKAGE;
  SYS.DBMS_SESSION.CLEAR_IDENTIFIER;
  SYS.DBMS_APPLICATION_INFO.SET_MODULE(NULL, NULL);
  SYS.DBMS_APPLICATION_INFO.SET_CLIENT_INFO(NULL);
END;"""


class LingeringSessionError(Exception):
    """A killed session is still there: its user must not be used again."""


class GradedSession:
    """A session of a graded user."""

    def __init__(self, admin: Admin, connection: Connection, user: str, capabilities: Capabilities) -> None:
        self.admin = admin
        self.connection = connection
        self.user = user
        self.sid = connection.session
        self.open = True
        self.lingers = False
        """It was killed and has not ended: its user must not be used again."""
        self._pins = pin_block(capabilities.pins, user)
        self._reads = capabilities.reads_statistic

    @classmethod
    def login(cls, admin: Admin, login: Login, user: str, capabilities: Capabilities) -> GradedSession:
        """Log in through the proxy user and pin the settings.

        Raises:
            DriverError: the login fails.
        """
        session = cls(admin, admin.driver.connect(login, LOGIN_SECONDS), user, capabilities)
        try:
            session.connection.limit(HARNESS_SECONDS)
            session.connection.run(session._pins)
        except DriverError:
            session.discard()
            raise
        return session

    def execute(self, text: str, seconds: float, binds: Mapping[str, Variable] | None = None) -> Execution:
        """Execute a statement of a program within a time, as far as the driver can bound it."""
        self.connection.limit(seconds)
        return self.connection.execute(text, binds)

    def start_output(self, size: int) -> None:
        """Empty DBMS_OUTPUT and switch it on."""
        self.connection.limit(HARNESS_SECONDS)
        self.connection.run(switch_on(size))

    def refresh(self) -> None:
        """Forget what a test left in the session: transaction, package state, settings.

        Raises:
            DriverError: the session is lost, or was broken by the program.
        """
        self.connection.limit(HARNESS_SECONDS)
        self.connection.rollback()
        self.connection.run(_RESET)
        self.connection.run(self._pins)

    def forget_packages(self) -> None:
        """Drop package state, keeping the transaction."""
        self.connection.limit(HARNESS_SECONDS)
        self.connection.run("BEGIN SYS.DBMS_SESSION.RESET_PACKAGE; END;")

    def rollback(self) -> None:
        """Roll back."""
        self.connection.limit(HARNESS_SECONDS)
        self.connection.rollback()

    def commit(self) -> None:
        """Commit."""
        self.connection.limit(HARNESS_SECONDS)
        self.connection.commit()

    def reads(self) -> int | None:
        """Logical reads of the session so far, seen from outside; None where that is not allowed."""
        if self._reads is None or not self.open:
            return None
        rows = self.admin.query(
            "SELECT value FROM v$sesstat WHERE sid = :1 AND statistic# = :2", (self.sid[0], self._reads)
        )
        return int(rows[0][0]) if rows else None

    def close(self) -> None:
        """End the session in the ordinary way."""
        if self.open:
            self.open = False
            self.connection.close()

    def discard(self) -> None:
        """End the session whatever it does, and make sure that it is gone.

        Raises:
            InfrastructureError: the server cannot be reached.
            LingeringSessionError: the session does not end.
        """
        if not self.open:
            return
        self.open = False
        try:
            if self.admin.gone(self.user, self.sid[0], 0.0):
                return
            self.admin.kill(self.user, self.sid)
            self._close_quietly()
            if not self.admin.gone(self.user, self.sid[0], DEATH_SECONDS):
                raise LingeringSessionError
        except DriverError as error:
            raise InfrastructureError(f"the server is lost: {error.full_code}") from error
        finally:
            self._close_quietly()

    def _close_quietly(self) -> None:
        with contextlib.suppress(DriverError):
            self.connection.close()
