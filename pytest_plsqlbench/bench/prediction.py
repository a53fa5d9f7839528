"""Predictions: the programs a model wrote, one a turn, dialect and sample."""

from __future__ import annotations

from typing import Any

import msgspec

from pytest_plsqlbench.bench.task import Dialect, Source


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a predictions file (see docs/predictions.md)."""

    id: str
    """Task id, conversation id, or instance id of a turn."""
    turn: int | None = None
    """Turn index from 1, where ``id`` names a conversation."""
    program: str
    model: str | None = None
    dialect: Dialect | None = None
    """None: every dialect that the task has."""
    sample: int = 0
    """Number of this program among several for the same turn, from 0."""
    latency_seconds: float | None = None
    usage: dict[str, Any] | None = None
    extra: dict[str, Any] = {}
    """Unknown keys of the row, kept for the results."""
    source: Source = Source("<memory>")
