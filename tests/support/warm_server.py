"""A script that imports what runs of pytest import, and forks into a process for each run that is asked for.

A request is a line of JSON on standard input, its answer an exit status on standard output; the script ends
with its input. What a run of pytest imports is imported in a run of pytest, so that asserts are rewritten.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import sys
import tempfile
import time
from typing import Any

import pytest
from warm_workers import WarmWorkers

TOO = (
    "execnet.gateway",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "psycopg",
    "scipy.special",
    "yaml",
)
"""What our modules import in their functions."""


class Ahead:
    """A plugin of a run without tests: what is imported while it is configured is imported as plugins are."""

    def pytest_configure(self) -> None:
        import pytest_plsqlbench

        ours = pkgutil.walk_packages(pytest_plsqlbench.__path__, "pytest_plsqlbench.")
        for name in (*TOO, *(module.name for module in ours)):
            importlib.import_module(name)
        from pytest_plsqlbench.reporting.page.render import _environment

        _environment().get_template("report.html.j2")  # to compile it takes longer than all else of a page


def import_ahead() -> None:
    """Import what a run imports."""
    with (
        tempfile.TemporaryDirectory() as nothing,
        open(os.devnull, "w") as unread,  # noqa: PTH123
        contextlib.redirect_stdout(unread),
    ):
        options = ("-p", "no:hypothesispytest", "--rootdir", nothing, "-c", os.devnull)
        ended = pytest.main([*options, nothing], [Ahead()])
    assert ended == pytest.ExitCode.NO_TESTS_COLLECTED, ended
    gc.collect()
    gc.freeze()  # what is here now stays, and is shared


def serve() -> dict[str, Any]:
    """Fork for each request; returns it in the process that is to do it, and ends where there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for those who ask
    with open(0, "rb", closefd=False) as requests:
        while line := requests.readline():
            child = os.fork()
            if not child:
                request: dict[str, Any] = json.loads(line)
                return request
            _, status = os.waitpid(child, 0)
            os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))
    sys.exit()


def become(request: dict[str, Any], searched: list[str]) -> None:
    """Be as a process that was started with ``python -m`` in the request's folder and environment."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for target, name in enumerate((os.devnull, request["stdout"], request["stderr"])):
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC if target else os.O_RDONLY, 0o666)
        os.dup2(file, target)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # what has been found in the environment before is found anew
    time.tzset()
    named = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    sys.path[:] = [request["folder"], *named, *searched]
    sys.argv = [request["module"], *request["arguments"]]


def main() -> None:
    """Serve, and in each process run the module of the request."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    searched = [folder for folder in sys.path[1:] if folder not in named]
    import_ahead()
    request = serve()
    become(request, searched)
    if "-n" in request["arguments"]:
        WarmWorkers().install()
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
