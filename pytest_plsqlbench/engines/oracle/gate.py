"""The gate of a data owner: many plays may read at once, one that writes, loads or restores is alone.

A gate is the lock on a table of ours, held by a session of its own: when its worker dies, the server lets it
go.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.facts import LOCK_WAIT_OVER
from pytest_plsqlbench.engines.oracle.port import Connection, DriverError
from pytest_plsqlbench.engines.protocol import InfrastructureError

WAIT_SECONDS = 540
"""Less than the time limit of our own statements."""


class Gate:
    """Holds the locks of one lane."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._connection: Connection | None = None

    def enter(self, owners: Sequence[str], *, alone: bool) -> None:
        """Wait until the data may be used.

        Raises:
            InfrastructureError: others have not let go in time.
            DriverError: the session is lost.
        """
        if self._connection is None:
            self._connection = self._admin.fresh()
        for owner in sorted(owners):  # one order for all: nobody waits in a circle
            try:
                self._connection.run(sql.lock_gate(owner, alone=alone, seconds=WAIT_SECONDS))
            except DriverError as error:
                self.close()
                if error.code in LOCK_WAIT_OVER:
                    message = f"the data of {owner} was in use by others for {WAIT_SECONDS} s"
                    raise InfrastructureError(message) from error
                raise

    def check(self) -> None:
        """Make sure that the locks were held until now.

        Raises:
            InfrastructureError: the session that held them is lost.
        """
        try:
            if self._connection is not None:
                self._connection.query("SELECT 1 FROM DUAL")
                return
        except DriverError:
            self.close()
        raise InfrastructureError("the session that guards the data was lost during a play")

    def leave(self) -> None:
        """Let go."""
        if self._connection is not None:
            try:
                self._connection.rollback()
            except DriverError:
                self.close()

    def close(self) -> None:
        """Close the session, and with it the locks."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
