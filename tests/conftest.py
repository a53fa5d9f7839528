"""Shared test fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ("pytester",)

_ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def no_step_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside of tests do not write to the summary of the CI job that runs the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real third-party material beside the checkout; skips where it is absent."""
    folder = Path(os.environ.get("PLSQLBENCH_SHARED", _ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip("the third-party data folder ../shared is not here")
    return folder
