"""Progress in the terminal: a line below pytest's own on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_plsqlbench.items import RESULT_ATTRIBUTE, REUSED_ATTRIBUTE
from pytest_plsqlbench.news import news_of
from pytest_plsqlbench.reporting.progress import Pace, Tally, progress_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TextIO

LINE_EVERY = 30.0
"""Seconds between two lines where lines cannot be redrawn."""
DRAW_AFTER = 1.0
"""Seconds before the status line appears: what ends sooner needs none."""
DRAW_EVERY = 0.2
"""Seconds between two estimates that are shown."""


def wants_progress(config: pytest.Config) -> bool:
    """Whether pytest itself would say how far it is: not with ``-q``, ``-s`` or the style ``classic``."""
    style = config.getini("console_output_style")
    shown = config.getoption("capture", "no") != "no" or style == "progress-even-when-capture-no"
    quiet = config.option.verbose < 0 or style == "classic"
    silent = quiet or config.option.collectonly or config.getoption("setupshow", default=False)
    return shown and not silent


def may_redraw(config: pytest.Config, reporter: pytest.TerminalReporter) -> bool:
    """Whether control sequences can be used: on a terminal with markup that nobody else draws on."""
    others = any(config.getoption(name, default=None) for name in ("log_cli_level", "usepdb", "trace"))
    alone = not (others or _ini(config, "log_cli") or _ini(config, "log_cli_level"))
    on_ci = bool(os.environ.get("CI") or os.environ.get("BUILD_NUMBER"))  # pytest's own two signs
    return bool(reporter.isatty) and reporter.hasmarkup and alone and not on_ci


def _ini(config: pytest.Config, name: str) -> bool:
    try:
        return bool(config.getini(name))
    except (KeyError, ValueError):  # its plugin is switched off
        return False


class StatusLine:
    """A line below the one that pytest writes on; it is gone before anybody else begins a new line."""

    def __init__(self, reporter: pytest.TerminalReporter, file: TextIO) -> None:
        self._writer = reporter._tw  # noqa: SLF001 (every plugin that draws uses it; there is no other way)
        self._file = file
        self._shown = False

    def erase(self) -> None:
        """Take the line away; the cursor stays where pytest has it."""
        if self._shown:
            self._file.write("\x1b[J")  # from the cursor to the end of the screen
            self._file.flush()
            self._shown = False

    def draw(self, text: str) -> None:
        """Write the line below the current one, and go back to where pytest goes on."""
        width = shutil.get_terminal_size().columns  # the writer's own is never less than 40
        written = self._writer.width_of_current_line
        if written and written % width == 0:
            return  # at the edge no terminal agrees with another about where the cursor is
        text = text[: width - 1]
        self._file.write(f"\n\r\x1b[2m{text}\x1b[0m\x1b[K\x1b[A\x1b[{written % width + 1}G")
        self._file.flush()
        self._shown = True


class Progress:
    """Follows the reports of a run, in the process that owns the terminal."""

    def __init__(self, config: pytest.Config, clock: Callable[[], float] = time.monotonic) -> None:
        """Draw nothing yet.

        Args:
            config: of a process with a terminal reporter.
            clock: seconds.
        """
        self._clock = clock
        self._session: pytest.Session | None = None
        self._reporter: pytest.TerminalReporter = config.pluginmanager.getplugin("terminalreporter")
        self._tally = Tally()
        self._pace = Pace()
        self._unit = "turns"
        self._said = clock()
        self._begun = clock()
        self._line: StatusLine | None = None
        self._text = ""
        file = getattr(self._reporter._tw, "_file", None)  # noqa: SLF001 (as above; without it: plain lines)
        if file is not None and may_redraw(config, self._reporter):
            self._line = StatusLine(self._reporter, file)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """The time counts from here; nothing is left on the screen when all tests have ended."""
        self._session = session
        self._begun = self._said = self._clock()
        try:
            return (yield)
        finally:
            self._erase()
            self._session = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None]:
        """Pytest may begin a line."""
        self._erase()
        yield
        if self._line is not None:
            self._draw()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """Count; say how far the run is once pytest has written its dot or line."""
        if report.passed and report.when != "call" and news_of(report) is None:
            return (yield)  # of these nothing is written
        self._erase()
        self._count(report)  # while it still carries its result
        yield
        self._draw()
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_exception_interact(self) -> None:
        """Debuggers and others may write now."""
        self._erase()

    @pytest.hookimpl(tryfirst=True)
    def pytest_enter_pdb(self) -> None:
        """A debugger takes the screen over."""
        self._erase()
        self._line = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self) -> None:
        """Pytest writes what went wrong."""
        self._erase()

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self) -> None:
        """The controller may write that a worker has died."""
        self._erase()

    def _count(self, report: pytest.TestReport) -> None:
        if report.outcome not in {"passed", "failed", "skipped"}:
            return  # to be run once more
        ended = report.when == "call" or not report.passed
        if not ended:
            return
        if not hasattr(report, RESULT_ATTRIBUTE) and report.when != "teardown":
            self._unit = "tests"  # not all of them are ours
        wrong = report.failed
        called = report.when == "call"
        news = self._tally.add(report.nodeid, failed=wrong and called, error=wrong and not called)
        if news and not getattr(report, REUSED_ATTRIBUTE, False):  # those take no time, the others will
            self._pace.advance(self._clock())

    def _erase(self) -> None:
        if self._line is not None:
            self._line.erase()

    def _draw(self) -> None:
        """Redraw the status line, or write a plain one where it is time for the next."""
        if self._session is None:
            return
        now = self._clock()
        if self._line is None:
            if now - self._said >= LINE_EVERY and self._tally.done:
                self._said = now
                self._write(f"plsqlbench: {self._describe(now)}")
        elif now - self._begun >= DRAW_AFTER:
            if not self._text or now - self._said >= DRAW_EVERY:
                self._said = now
                self._text = self._describe(now)
            self._line.draw(self._text)

    def _write(self, text: str) -> None:
        """Write a line of its own, also after dots that pytest has not noted as a line that is begun."""
        self._reporter.ensure_newline()
        if self._reporter._tw.width_of_current_line:  # noqa: SLF001 (as above)
            self._reporter.line("")
        self._reporter.line(text)

    def _describe(self, now: float) -> str:
        assert self._session is not None
        total = max(self._session.testscollected, self._tally.done)
        left = self._pace.seconds_left(now, total - self._tally.done)
        return progress_text(self._tally, total, left, self._unit)


def follow(config: pytest.Config) -> None:
    """Show the progress of a run where its user would want it shown."""
    if config.pluginmanager.hasplugin("terminalreporter") and wants_progress(config):
        config.pluginmanager.register(Progress(config), "plsqlbench-progress")
