"""The pytest hooks: each hands on to a session object; inert unless predictions are named.

Reference: https://docs.pytest.org/en/stable/reference/reference.html#hooks
"""

from __future__ import annotations

import os
import sys

import pytest

from pytest_plsqlbench import options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options; this is all that happens in a run that is not ours."""
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the session of this run, in the controller and in every worker, where the run is ours."""
    handed_over = getattr(config, "workerinput", {}).get("plsqlbench")
    if handed_over is None and not options.is_active(config):
        return
    from pytest_plsqlbench.discretion import Discretion  # noqa: PLC0415
    from pytest_plsqlbench.session import open_session  # noqa: PLC0415 (keeps foreign runs fast)
    from pytest_plsqlbench.unloading import Unloading  # noqa: PLC0415

    config.pluginmanager.register(Discretion(), "plsqlbench-discretion")  # first: to open a session may fail
    config.pluginmanager.register(open_session(config, handed_over), "plsqlbench-session")
    config.pluginmanager.register(Unloading(config), "plsqlbench-unloading")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """``-n auto``: as many workers as suit the servers of the run; None: as xdist likes."""
    if os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS") or not options.is_active(config):
        return None
    from pytest_plsqlbench.hosts import suitable_workers  # noqa: PLC0415 (keeps foreign runs fast)

    try:
        return suitable_workers(options.read_settings(config))
    except KeyboardInterrupt:  # pytest itself takes it from the start of its session on
        print("plsqlbench: interrupted while looking for an Oracle server", file=sys.stderr)  # noqa: T201
        sys.exit(pytest.ExitCode.INTERRUPTED)
