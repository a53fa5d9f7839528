"""What one test, or one program while it is installed, may still use."""

from __future__ import annotations

import time

from pytest_plsqlbench.engines.protocol import Limits

HARNESS_SECONDS = 120.0
"""For what the harness itself asks of a session."""

GRACE = 1.0
"""Seconds that the server gets to obey its own time limit before the session is killed from outside."""


class Budget:
    """Counts time, rows and bytes down."""

    def __init__(self, limits: Limits, seconds: float | None = None) -> None:
        self.limits = limits
        self.seconds = limits.time if seconds is None else seconds
        self.started = time.monotonic()
        self.deadline = self.started + self.seconds + GRACE
        self.rows = limits.rows
        self.bytes = limits.result_bytes

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def remaining_ms(self) -> int:
        """Milliseconds that the server may still work, at least 1."""
        return max(1, round((self.seconds - self.elapsed()) * 1000))

    def overdrawn(self) -> bool:
        """Whether the time is over: a program may catch the server's cancel, or turn it off, and go on."""
        return self.elapsed() > self.seconds
