"""Runs of pytest in processes that need not import everything anew, which takes most of a small one.

One process imports modules, and forks for each run: a process of its own in all that one can see.
Which modules a run imports, and when, must be tested in a process that begins with none.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest


class WarmPython:
    """The process that others are forked from; a context manager."""

    def __init__(self) -> None:
        self._begun_with = _read_at_start()
        ours = ("PLSQLBENCH_", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        environment["OPENBLAS_NUM_THREADS"] = "1"  # a process that forks has one thread
        self._server = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm_server.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.communicate()

    def run(self, folder: Path, module: str, *args: str) -> pytest.RunResult:
        """``python -m`` in the current folder, with an empty standard input.

        Args:
            folder: where its output is kept, in ``stdout`` and ``stderr``.
            module: to run.
            args: for it.
        """
        assert _read_at_start() == self._begun_with, "this needs a process of its own from the start"
        here = str(Path.cwd())
        files = folder / "stdout", folder / "stderr"
        request = {
            "module": module,
            "arguments": args,
            "folder": here,
            "environment": {
                **os.environ,  # and the folder can be imported from, as pytester has it
                "PYTHONPATH": os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")])),
            },
            "stdout": str(files[0]),
            "stderr": str(files[1]),
        }
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, "the process that forks has ended"
        out, err = (file.read_text(encoding="utf-8").splitlines() for file in files)
        for line in (*out, *err):
            print(line)  # noqa: T201 (for whoever looks into a failure)
        status: int = int(answer)
        with contextlib.suppress(ValueError):
            status = pytest.ExitCode(status)
        return pytest.RunResult(status, out, err, 0.0)


def _read_at_start() -> dict[str, str]:
    """Variables that Python reads once, when it starts."""
    once = {name: value for name, value in os.environ.items() if name.startswith(("PYTHON", "LANG", "LC_"))}
    once.pop("PYTHONPATH", None)
    once.pop("PYTHONDONTWRITEBYTECODE", None)
    return once
