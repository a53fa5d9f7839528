"""What ends a run before its last turn: a signal, or a server that is lost for good.

Either way the run ends as after Ctrl-C: what is done is kept and summed up as incomplete, servers are
stopped, the exit code is pytest's for an interrupted run.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, NoReturn

import msgspec
import pytest

from pytest_plsqlbench.bench.dialect import Dialect
from pytest_plsqlbench.items import RESULT_ATTRIBUTE

if TYPE_CHECKING:
    from types import FrameType

    from pytest_plsqlbench.hosts import Hosts

_SIGNALS = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}
"""Signals that end a run, and who handles them where nobody has chosen to."""
_IMPATIENT = 3
"""So many signals end the process at once: it may be left hanging while it cleans up."""
MOST_IN_A_ROW = 10
"""Infrastructure errors one after another, after which the rest of the run is spared them."""


class _Seen(msgspec.Struct):
    """What is to be known of a result here."""

    status: str
    dialect: Dialect
    reason: str | None = None


class Interruption:
    """Hooks of the process that owns the run."""

    def __init__(self, hosts: Hosts) -> None:
        """Nothing is changed yet.

        Args:
            hosts: know whether a server is lost.
        """
        self._hosts = hosts
        self._before: dict[signal.Signals, object] = {}
        self._signals = 0
        self._ending = False
        self._in_a_row = 0

    # -- signals -----------------------------------------------------------------------------------------

    def pytest_configure(self) -> None:
        """Take over the signals that nobody else has taken over."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number, usual in _SIGNALS.items():
            if signal.getsignal(number) is usual:
                self._before[number] = usual
                signal.signal(number, self._handle)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Give the signals back, once the servers are stopped."""
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type] # as getsignal returned it
        self._before.clear()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        """Interrupt the run at the first signal; let its end be undisturbed by further ones."""
        self._signals += 1
        if not self._ending:
            self._ending = True
            self._interrupt(number)
        elif self._signals >= _IMPATIENT:
            self.pytest_unconfigure()
            self._interrupt(number)

    @staticmethod
    def _interrupt(number: int) -> NoReturn:
        words = () if number == signal.SIGINT else (f"ended by {signal.Signals(number).name}",)
        raise KeyboardInterrupt(*words)

    def pytest_runtest_logstart(self) -> None:
        """An interruption that was swallowed, in a callback of the driver's, comes again."""
        if self._signals:
            raise KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """From here on the run ends by itself."""
        self._ending = True

    # -- servers -----------------------------------------------------------------------------------------

    @pytest.hookimpl(trylast=True)  # the result is kept before
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """End the run where its server is lost: every further turn would wait in vain."""
        text = getattr(report, RESULT_ATTRIBUTE, None)
        if text is None:
            return
        seen = msgspec.json.decode(text, type=_Seen)
        if seen.status != "infrastructure_error":
            self._in_a_row = 0
            return
        self._in_a_row += 1
        why = self._hosts.why_lost(seen.dialect)
        if why is None and self._in_a_row >= MOST_IN_A_ROW:
            why = f"{self._in_a_row} turns in a row could not be graded, the last one because {seen.reason}"
        if why is not None:
            pytest.exit(f"{why}; the turns that are left were not run", pytest.ExitCode.INTERRUPTED)
