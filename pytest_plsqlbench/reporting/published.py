"""Scores that the benchmarks' papers publish: figures with their source, to show a run beside them.

They were measured on other versions of other engines, and are never compared by a test of significance.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import msgspec

from pytest_plsqlbench.bench.task import Dialect


class PublishedSource(msgspec.Struct, frozen=True):
    """Where figures come from."""

    title: str
    source: str
    engine: str


class PublishedModel(msgspec.Struct, frozen=True):
    """What a paper reports of one model in one dialect."""

    model: str
    source: str
    """Key among the sources."""
    dialect: Dialect
    scores: dict[str, dict[str, float]]
    """By subset (as this package names it) and metric, in percent. For conversations the paper's Mean Test
    Pass stands as ``episode_test_pass@1``."""


class Published(msgspec.Struct, frozen=True):
    """All published figures."""

    sources: dict[str, PublishedSource]
    tasks: dict[str, int]
    """Number of tasks and conversations of each subset of PLSQLBench, as published."""
    models: tuple[PublishedModel, ...]


@cache
def published() -> Published:
    """The figures, as they ship with the package."""
    data = files("pytest_plsqlbench.reporting").joinpath("data/published.json").read_bytes()
    return msgspec.json.decode(data, type=Published)
