"""Shared test fixtures."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from warm_python import WarmPython

# no deadlines, how long an example takes is the machine's doing; and on CI the same examples in every run
hypothesis.settings.register_profile(
    "ours", deadline=None, derandomize="PLSQLBENCH_SAME_EXAMPLES" in os.environ, print_blob=True
)
hypothesis.settings.load_profile("ours")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # of a job in the background; a process started by a test would inherit it, and Ctrl-C would do nothing
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ("pytester",)

_ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def no_step_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside of tests do not write to the summary of the CI job that runs the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmPython]:
    """The process that runs are forked from."""
    with WarmPython() as python:
        yield python


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real third-party material beside the checkout; skips where it is absent."""
    folder = Path(os.environ.get("PLSQLBENCH_SHARED", _ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("the third-party data folder ../shared is not here")
    return folder
