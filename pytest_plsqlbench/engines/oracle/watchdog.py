"""The watchdog: ends a call from outside when its time is over, whatever the program does."""

from __future__ import annotations

import contextlib
import threading
import time
from types import TracebackType
from typing import Self

from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.port import DriverError

GRACE = 3.0
"""Seconds between the driver's own limit, which a session may survive, and the kill."""


class Watchdog:
    """Armed for the body of a ``with``; kills the session if that lasts too long."""

    def __init__(self, admin: Admin, user: str, session: tuple[int, int], seconds: float) -> None:
        self._admin = admin
        self._user = user
        self._session = session
        self._timer = threading.Timer(max(0.0, seconds) + GRACE, self._bite)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._over = False
        self.fired = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:  # a bite under way ends before the session is used or given up
            self._over = True

    def _bite(self) -> None:
        with self._lock:
            if self._over:
                return
            self.fired = True
            # A kill that fails once may be refused by a busy server: try again while the call still runs.
            for _ in range(3):
                with contextlib.suppress(DriverError):
                    self._admin.kill(self._user, self._session)
                    return
                time.sleep(0.2)
