"""What a session prints: RAISE messages as lines, other messages of the server as diagnostics."""

from __future__ import annotations

from psycopg.pq import DiagnosticField
from psycopg.pq.abc import PGresult

from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.engines.protocol import Limits

_PRINTED = frozenset((b"NOTICE", b"INFO"))
_RAISE = b"exec_stmt_raise"
"""The function of the server's source that carries RAISE out. The server's own notices ("table … does not
exist, skipping") come from elsewhere: nobody printed them, so they are no output."""
_MOST_DIAGNOSTICS = 100


class Output:
    """Collects messages; counts on, but keeps nothing more, once a limit is passed."""

    def __init__(self) -> None:
        self.limits = Limits()
        self.lines: list[str] = []
        self.diagnostics: list[Diagnostic] = []
        self.exceeded = False
        self._bytes = 0
        self._messages = 0

    def start(self) -> None:
        """Forget what the call before printed."""
        self.lines = []
        self.diagnostics = []

    def restart(self, limits: Limits) -> None:
        """Begin counting for a new test or program."""
        self.start()
        self.limits = limits
        self.exceeded = False
        self._bytes = 0
        self._messages = 0

    def mark(self) -> tuple[int, int]:
        """Where the output stands now, for ``take_back``."""
        return len(self.lines), len(self.diagnostics)

    def take_back(self, mark: tuple[int, int]) -> None:
        """Forget what was printed since: it will be again."""
        del self.lines[mark[0] :]
        del self.diagnostics[mark[1] :]

    def receive(self, message: PGresult) -> None:
        """Take a message of the server; called by the driver."""
        text = message.error_field(DiagnosticField.MESSAGE_PRIMARY) or b""
        self._bytes += len(text)
        self._messages += 1
        if self.exceeded:
            return
        limits = self.limits
        if self._bytes > limits.output_bytes or self._messages > limits.output_lines:
            self.exceeded = True
            return
        severity = message.error_field(DiagnosticField.SEVERITY_NONLOCALIZED)
        shown = text.decode("utf-8", "replace")
        if severity in _PRINTED and message.error_field(DiagnosticField.SOURCE_FUNCTION) == _RAISE:
            self.lines.extend(shown.split("\n"))
            if len(self.lines) > limits.output_lines:
                del self.lines[limits.output_lines :]
                self.exceeded = True
        elif len(self.diagnostics) < _MOST_DIAGNOSTICS:
            code = message.error_field(DiagnosticField.SQLSTATE) or b"01000"
            self.diagnostics.append(
                Diagnostic(code=code.decode("ascii", "replace"), message=shown, severity="warning")
            )
