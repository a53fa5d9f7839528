"""Content keys: what a verdict depends on, in one digest; equal keys stand for equal verdicts."""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.datasets.task_cache import code_version
from pytest_plsqlbench.grading.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_plsqlbench.bench.limits import Limits
    from pytest_plsqlbench.bench.task import Task, Turn

JUDGING_CODE = ("bench/**/*.py", "sql/**/*.py", "grading/**/*.py", "engines/**/*.py")
"""Modules whose code decides what is observed, and what is made of it. Nobody has to remember to raise a
number: what other code found out is found out again."""


@functools.cache
def judging_version() -> str:
    """Digest over the code that plays and judges, the same wherever the same release is installed."""
    return f"{version('pytest-plsqlbench')}/{code_version(JUDGING_CODE).hex()}"


def content_key(*parts: Any) -> str:
    """SHA-256 over the parts, in hexadecimal; equal parts of equal types give equal keys, no others do."""
    return hashlib.sha256(canonical(parts)).hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal; also of one that no encoding can carry (lone surrogates)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def reference_programs(task: Task, turn: Turn) -> tuple[str, ...]:
    """The reference programs of a conversation up to and with this turn."""
    return tuple(t.reference for t in task.turns[: turn.index] if t.reference is not None)


def reference_part(task: Task, turn: Turn, fingerprint: str | None) -> tuple[Any, ...]:
    """What the reference's side of a turn depends on, as far as the task says it.

    Not among it: later turns, tests of earlier turns, and what is no more than said about the task (prompt,
    title, difficulty, place in a file).
    """
    return (
        task.dialect,
        fingerprint,
        turn.setup,
        reference_programs(task, turn),
        turn.reference is not None,
        turn.tests,
        turn.strict_tests,
    )


def turn_content(
    task: Task,
    turn: Turn,
    programs: Sequence[str],
    *,
    engine: tuple[str, str],
    fingerprint: str | None,
    comparator: str,
    limits: Limits,
    repeat: int,
) -> str:
    """The content key of a turn's verdict.

    Args:
        task: the task of the turn.
        turn: the turn.
        programs: of the candidate, up to and with this turn, as they are played.
        engine: name and version.
        fingerprint: of the task's database; None where it has none.
        comparator: name of the deciding reading, with its version.
        limits: of the candidate's plays.
        repeat: how many times the turn is played.
    """
    return content_key(
        judging_version(),
        engine,
        comparator,
        limits,
        repeat,
        reference_part(task, turn, fingerprint),
        turn.unsupported,
        turn.notes,
        [text_digest(program) for program in programs],
    )
