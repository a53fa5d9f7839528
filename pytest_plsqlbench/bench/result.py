"""Results: verdicts of tests, statuses of turns; one record a turn and sample (``results.jsonl``)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pytest_plsqlbench.bench.blame import Blame
from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.bench.task import Dialect

SCHEMA_VERSION = 1

Verdict = Literal["passed", "failed"]
Status = Literal[
    "graded", "missing", "reference_error", "infrastructure_error", "unsupported", "engine_unavailable"
]
"""Only ``graded`` and ``missing`` enter a metric; the others are counted and shown beside it."""


class TestResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Verdict of one test."""

    __test__ = False  # not a pytest class

    name: str
    verdict: Verdict
    category: str | None = None
    subcategory: str | None = None
    expected: str | None = None
    """The first difference: what was expected there, one line or a few."""
    actual: str | None = None
    detail: str | None = None
    normalized: Verdict | None = None
    """Verdict of the other reading, where it differs from this one (``published`` against ``normalized``)."""
    strict: Verdict | None = None
    """Verdict of the strict reading, where the mode has one and it differs."""
    elapsed_ms: float = 0.0
    work: int | None = None
    reference_ms: float | None = None
    """Time that the reference took in this test when it was observed, perhaps in an earlier run."""
    reference_work: int | None = None


class ReferenceFacts(msgspec.Struct, frozen=True):
    """What the reference program of a turn is like, by the rules of docs/sql-reading.md."""

    statements: int
    cyclomatic: int
    constructs: tuple[str, ...] = ()


class EngineInfo(msgspec.Struct, frozen=True):
    """The engine that graded a turn."""

    name: str
    version: str
    server: str


class TurnResult(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``results.jsonl``: one turn and sample."""

    schema_version: int = SCHEMA_VERSION
    task: str
    subset: str
    dialect: Dialect
    conversation: bool
    turn: int
    turns: int
    """Number of turns of the task."""
    turn_id: str
    sample: int = 0
    model: str | None = None
    status: Status
    passed: int
    total: int
    solved: bool
    tests: tuple[TestResult, ...] = ()
    strict_tests: tuple[TestResult, ...] = ()
    """Tests that only the strict reading counts; not among ``passed`` and ``total``."""
    diagnostics: tuple[Diagnostic, ...] = ()
    reason: str | None = None
    """Why a turn was not graded, one line."""
    engine: EngineInfo | None = None
    comparator: str
    """``<reading>/<version>``, for example ``published/1``."""
    program_sha256: str | None = None
    reference_sha256: str | None = None
    reference: ReferenceFacts | None = None
    """Of the reference program; None where the benchmark has none."""
    database: str | None = None
    difficulty: str | None = None
    reasoning_types: tuple[str, ...] = ()
    constructs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    """Findings about the turn: ``candidate_not_called``, ``retried``, ``isolated_copy`` …"""
    extracted: tuple[str, ...] = ()
    """What ``--plsql-extract`` did to the answer before it was played, in order."""
    content_sha256: str | None = None
    """Of all that the verdict depends on (see ``grading.content``); None where none was reached."""
    repeats: tuple[tuple[Verdict, ...], ...] = ()
    """With ``--plsql-repeat``: the verdicts of all tests in each play, in order; empty where played once."""
    blame: Blame | None = None
    """With ``--plsql-blame``: where the failure of a turn of a conversation comes from."""
    latency_seconds: float | None = None
    usage: dict[str, Any] | None = None
    extra: dict[str, Any] = {}
    elapsed_ms: float = 0.0
