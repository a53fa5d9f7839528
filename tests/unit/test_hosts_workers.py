"""How many workers ``-n auto`` starts."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_plsqlbench import hosts, options, plugin
from pytest_plsqlbench.servers import daemon
from pytest_plsqlbench.settings import Settings

SERVER = "oracle://system:secret@localhost:1521/FREEPDB1"


def settings(oracle: str, *dialects: str) -> Settings:
    chosen: Any = frozenset(dialects) or None
    return Settings(None, chosen, "embedded", 5.0, "published", Path("reports"), oracle=oracle)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """64 CPUs, a Docker daemon, no server in the environment."""
    monkeypatch.delenv("PLSQLBENCH_ORACLE_DSN", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(daemon, "daemon_answers", lambda: True)


@pytest.mark.parametrize(
    ("oracle", "dialects", "workers"),
    [
        (SERVER, (), 4),
        (SERVER, ("oracle",), 4),
        (SERVER, ("postgres", "oracle"), 4),
        (SERVER, ("postgres",), None),
        ("container", (), 4),
        ("none", ("oracle",), None),
        ("auto", ("oracle",), 4),
        ("auto", (), None),
        ("no such thing", (), None),
    ],
)
def test_an_oracle_server_bounds_them(oracle: str, dialects: tuple[str, ...], workers: int | None) -> None:
    assert hosts.suitable_workers(settings(oracle, *dialects)) == workers


def test_a_server_named_by_the_environment_bounds_them_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_ORACLE_DSN", SERVER)
    assert hosts.suitable_workers(settings("auto")) == 4


@pytest.mark.parametrize(("cpus", "workers"), [(1, 2), (3, 3), (None, 2)])
def test_small_machines_start_fewer(monkeypatch: pytest.MonkeyPatch, cpus: int | None, workers: int) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cpus)
    assert hosts.suitable_workers(settings(SERVER)) == workers


def test_what_the_user_says_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = SimpleNamespace()
    monkeypatch.setattr(options, "is_active", lambda _config: True)
    monkeypatch.setattr(options, "read_settings", lambda _config: settings(SERVER))
    assert plugin.pytest_xdist_auto_num_workers(config) == 4
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "9")
    assert plugin.pytest_xdist_auto_num_workers(config) is None


def test_runs_that_are_not_ours_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    config: Any = SimpleNamespace()
    monkeypatch.setattr(options, "is_active", lambda _config: False)
    assert plugin.pytest_xdist_auto_num_workers(config) is None
