"""Suites of tasks for pytester."""

from __future__ import annotations

from pathlib import Path

import pytest
import scipy.special  # noqa: F401 (pytester drops what a test imports, and numpy cannot be imported again)
from bench_suite import DOUBLE_TASK, TALK_TASK, Suite
from warm_python import WarmPython


@pytest.fixture(scope="session")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of this test session's own: warm after its first run, and never the user's."""
    return tmp_path_factory.getbasetemp() / "plsqlbench-cache"


@pytest.fixture
def empty_suite(
    pytester: pytest.Pytester, cache_dir: Path, monkeypatch: pytest.MonkeyPatch, warm: WarmPython
) -> Suite:
    """A folder without tasks."""
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(cache_dir))
    monkeypatch.setenv("PLSQLBENCH_ORACLE", "none")  # no container where Docker answers
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    return Suite(pytester, monkeypatch, warm)


@pytest.fixture
def suite(empty_suite: Suite) -> Suite:
    """A single-turn task with two tests and a conversation of three turns."""
    empty_suite.task(DOUBLE_TASK)
    empty_suite.task(TALK_TASK)
    return empty_suite
