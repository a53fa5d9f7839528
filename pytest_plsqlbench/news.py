"""Lines that a grading process tells while a turn has to wait, such as on data that is being loaded."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

NEWS = "plsqlbench_news"
"""Attribute of a report: a line for the terminal."""


def send_news(item: pytest.Item, line: str) -> None:
    """Tell the process that owns the terminal, this one or the controller of this xdist worker.

    A report is what reaches both at once. One more about a set-up that passed is not shown by pytest, and
    counts nowhere.

    Args:
        item: the one that is running.
        line: what to tell.
    """
    report = pytest.TestReport(item.nodeid, item.location, {}, "passed", None, "setup")
    setattr(report, NEWS, line)
    capture = item.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        item.ihook.pytest_runtest_logreport(report=report)


def news_of(report: pytest.TestReport) -> str | None:
    """The line that a report was sent for; None for all others."""
    line: str | None = getattr(report, NEWS, None)
    return line
