"""DBMS_OUTPUT: switched on before a call, read after every statement, counted against the limits.

Always by way of SYS: a program may create a package DBMS_OUTPUT of its own.
"""

from __future__ import annotations

from pytest_plsqlbench.engines.oracle.port import Connection
from pytest_plsqlbench.engines.protocol import Limits

LEAST_BUFFER, GREATEST_BUFFER = 2_000, 1_000_000
"""Documented range of the buffer's size in bytes. An unlimited buffer would grow in the server's memory."""
LINE_BYTES = 32_767
"""Longest line; the array that fetches lines must be made of elements of this size."""
CHUNK = 250
_FETCH = "BEGIN SYS.DBMS_OUTPUT.GET_LINES(:lines, :n); END;"


def switch_on(size: int) -> str:
    """A block that empties the buffer and switches it on: ENABLE alone would keep what is in it."""
    return f"BEGIN SYS.DBMS_OUTPUT.DISABLE; SYS.DBMS_OUTPUT.ENABLE({size}); END;"


def buffer_size(limits: Limits) -> int:
    """Size of the buffer for these limits."""
    return min(GREATEST_BUFFER, max(LEAST_BUFFER, limits.output_bytes))


class Output:
    """Lines of one call, fetched after each statement."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.lines: list[str] = []
        self.exceeded = False
        self._bytes = 0

    def fetch(self, connection: Connection) -> None:
        """Take over what the buffer holds. Stops at the limit and notes it.

        Raises:
            DriverError: the session is lost, or the program has broken it.
        """
        while not self.exceeded:
            chunk = connection.lines(_FETCH, CHUNK, LINE_BYTES)
            for line in chunk:
                self._add(line or "")  # an empty line arrives as NULL
            if len(chunk) < CHUNK:
                return

    def _add(self, line: str) -> None:
        self._bytes += len(line.encode("utf-8", "surrogatepass"))
        full = buffer_size(self.limits) - LINE_BYTES
        # Near the end of the buffer a line may have been refused, and the program may have caught that.
        if len(self.lines) >= self.limits.output_lines or (self._bytes > full > 0):
            self.exceeded = True
            return
        self.lines.append(line)
