"""What reports carry, let go once it was taken: pytest keeps all items and reports of a run to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_plsqlbench import workers
from pytest_plsqlbench.items import RESULT_ATTRIBUTE, TEXT_ATTRIBUTE, TurnItem

if TYPE_CHECKING:
    from collections.abc import Generator

CARRIED = (RESULT_ATTRIBUTE, TEXT_ATTRIBUTE, workers.PART)
"""Attributes of reports that can be long."""


class Unloading:
    """Hooks of every process of a run, so that it does not grow with the turns that it has behind it."""

    def __init__(self, config: pytest.Config) -> None:
        """Take note of what keeps reports.

        Args:
            config: of this process.
        """
        self._config = config
        self._is_worker = hasattr(config, "workerinput")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None]:
        """A report has been sent to the controller, or its result has been kept."""
        yield
        for name in CARRIED:
            report.__dict__.pop(name, None)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """A turn is over: what a worker has said of it is the controller's now, who shows and counts it."""
        done = yield
        if self._is_worker and isinstance(item, TurnItem):
            item.user_properties.clear()
            reporter = self._config.pluginmanager.getplugin("terminalreporter")  # of a worker nobody sees it
            for reports in reporter.stats.values() if reporter is not None else ():
                while reports and getattr(reports[-1], "nodeid", None) == item.nodeid:
                    reports.pop()
        return done
