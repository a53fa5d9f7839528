"""The turns of a report, as its script reads them: a small index, and texts in chunks opened on demand."""

from __future__ import annotations

import base64
import gzip
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from pytest_plsqlbench.bench.visible import visible
from pytest_plsqlbench.reporting.store import result_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_plsqlbench.bench.observation import Diagnostic
    from pytest_plsqlbench.bench.result import TestResult, TurnResult
    from pytest_plsqlbench.bench.shard import TurnKey
    from pytest_plsqlbench.reporting.page.source import SavedRun
    from pytest_plsqlbench.reporting.texts import TurnText

CHUNK = 250_000
"""Bytes of JSON that are packed together, about: opening a turn unpacks one chunk."""
BUDGET = 8_500_000
"""Bytes that all packed chunks may take, so that the page stays under 10 MB."""
LINE = 90
"""Characters of a prompt in the list."""
LONGEST_DETAIL = 1_000


class Level(NamedTuple):
    """How much of the texts a report keeps."""

    longest: int
    """Characters of a prompt, program or reference."""
    solved: bool
    """Whether turns that every run has solved keep their texts."""


LEVELS = (
    Level(20_000, solved=True),
    Level(6_000, solved=True),
    Level(20_000, solved=False),
    Level(6_000, solved=False),
    Level(2_000, solved=False),
    Level(0, solved=False),
)
"""The first one that fits is taken."""


_BLAME = {
    "own": "the turn's own: it fails on the reference's state, too",
    "inherited": "inherited: on the reference's state it is solved",
    "unknown": "unknown",
}


class Packed(NamedTuple):
    """The data blocks of a page."""

    turns: str
    chunks: list[str]
    level: Level

    @property
    def note(self) -> str:
        """What was left out to keep the page small; empty where nothing was."""
        longest, solved = self.level
        if longest == 0:
            return (
                "Texts are left out of this page, which would be too large with them; turns.jsonl has them."
            )
        parts = [] if longest == LEVELS[0].longest else [f"texts are cut at {longest:,} characters"]
        if not solved:
            parts.append("turns that were solved come without their texts")
        return f"To keep this page small, {' and '.join(parts)}; turns.jsonl has them." if parts else ""


def pack(runs: Sequence[SavedRun], changes: Mapping[TurnKey, str] | None = None) -> Packed:
    """The turns of all runs, one row a turn and sample, with what each run made of it.

    Args:
        runs: of the report.
        changes: turns that are other than in the baseline, with a word each (``broken`` …).
    """
    rows = row_keys(runs)
    chunks: list[str] = []
    sizes: list[int] = []
    level = LEVELS[0]
    most = BUDGET * 100
    for level in LEVELS:
        details = [msgspec.json.encode(_detail(key, runs, level)) for key in rows]
        length = sum(map(len, details))
        if length > most and level is not LEVELS[-1]:
            continue  # it would be too large again
        sizes, chunks = _chunks(details)
        packed = sum(map(len, chunks))
        if packed <= BUDGET:
            break
        most = length * BUDGET // packed
    return Packed(_pack(msgspec.json.encode(_index(rows, runs, sizes, changes or {}))), chunks, level)


def row_keys(runs: Iterable[SavedRun]) -> list[TurnKey]:
    """All turns and samples that any run has, in the order of result files."""
    order: dict[TurnKey, tuple[object, ...]] = {}
    for run in runs:
        for key, result in run.by_key.items():
            if key not in order:
                order[key] = result_key(result)
    return sorted(order, key=order.__getitem__)


def failure_kind(result: TurnResult) -> str:
    """Category and subcategory of the first failed test, or the status of a turn that was not graded."""
    if result.status != "graded":
        return result.status
    failed = next((test for test in result.tests if test.verdict == "failed"), None)
    if failed is None:
        return ""
    return f"{failed.category or 'unclassified'}/{failed.subcategory or 'unclassified'}"


def one_line(text: str, width: int) -> str:
    """The first line that says something, cut where it is too long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = visible(line, keep="")
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


class _Names:
    """Texts that occur again and again, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    @property
    def all(self) -> list[str]:
        return list(self.numbers)


def _index(
    rows: Sequence[TurnKey], runs: Sequence[SavedRun], sizes: list[int], changes: Mapping[TurnKey, str]
) -> dict[str, Any]:
    names = {name: _Names() for name in ("subset", "dialect", "difficulty", "status", "kind", "change")}
    first = {key: _first(key, runs) for key in rows}
    columns: dict[str, list[Any]] = {
        "subset": [names["subset"][key.subset] for key in rows],
        "task": [key.task for key in rows],
        "dialect": [names["dialect"][key.dialect] for key in rows],
        "turn": [key.turn for key in rows],
        "turns": [first[key].turns for key in rows],
        "sample": [key.sample for key in rows],
        "difficulty": [names["difficulty"][first[key].difficulty or ""] for key in rows],
        "line": [one_line(text.prompt or "", LINE) if (text := _text(key, runs)) else "" for key in rows],
        "change": [names["change"][changes.get(key, "")] for key in rows],
    }
    cells = [
        [
            [names["status"][found.status], found.passed, found.total, names["kind"][failure_kind(found)]]
            if (found := run.by_key.get(key))
            else 0
            for key in rows
        ]
        for run in runs
    ]
    return {
        "models": [run.label for run in runs],
        "names": {name: numbers.all for name, numbers in names.items()},
        "rows": columns,
        "cells": cells,
        "chunks": sizes,
    }


def _first(key: TurnKey, runs: Sequence[SavedRun]) -> TurnResult:
    return next(found for run in runs if (found := run.by_key.get(key)))


def _text(key: TurnKey, runs: Sequence[SavedRun]) -> TurnText | None:
    return next((found for run in runs if (found := run.texts.get(key))), None)


def _chunks(details: Sequence[bytes]) -> tuple[list[int], list[str]]:
    """Number of rows of each chunk, and the chunks."""
    sizes: list[int] = []
    packed: list[str] = []
    pending: list[bytes] = []
    length = 0
    for number, detail in enumerate(details, 1):
        pending.append(detail)
        length += len(detail)
        if length >= CHUNK or number == len(details):
            sizes.append(len(pending))
            packed.append(_pack(b"[" + b",".join(pending) + b"]"))
            pending, length = [], 0
    return sizes, packed


def _pack(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 6, mtime=0)).decode()


def _detail(key: TurnKey, runs: Sequence[SavedRun], level: Level) -> dict[str, Any]:
    """All that the page shows of a turn once it is opened."""
    found = [run.by_key.get(key) for run in runs]
    keeps = level.longest > 0 and (level.solved or any(r is not None and not r.solved for r in found))
    text = _text(key, runs)
    detail: dict[str, Any] = {"runs": [None if r is None else _result(r) for r in found]}
    if text is not None and keeps:
        detail["prompt"] = _cut(text, "prompt", level)
        detail["reference"] = _cut(text, "reference", level)
        detail["calls"] = [call[: level.longest] for call in text.calls]
    for run, shown in zip(runs, detail["runs"], strict=True):
        own = run.texts.get(key)
        if shown is not None and own is not None and keeps:
            shown["program"] = _cut(own, "program", level)
    return detail


def _cut(text: TurnText, name: str, level: Level) -> list[Any] | None:
    """The text, with its full length where it is cut; None where there is none."""
    content: str | None = getattr(text, name)
    if content is None:
        return None
    full = text.cut.get(name, len(content))
    return [content] if full <= level.longest else [content[: level.longest], full]


def _result(result: TurnResult) -> dict[str, Any]:
    shown: dict[str, Any] = {"tests": [_test(test) for test in result.tests]}
    if result.strict_tests:
        shown["strict"] = [_test(test) for test in result.strict_tests]
    if result.diagnostics:
        played = any(test.elapsed_ms for test in result.tests)
        shown["messages"] = [_message(entry, result.dialect, played=played) for entry in result.diagnostics]
    for name in ("reason", "flags", "extracted", "difficulty", "reasoning_types", "database"):
        if value := getattr(result, name):
            shown[name] = value
    if result.blame is not None:
        shown["blame"] = _BLAME[result.blame.failure]
    if result.engine is not None:
        shown["engine"] = f"{result.engine.name} {result.engine.version}"
    return shown


def _test(test: TestResult) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": test.name}
    if test.verdict == "failed":
        shown["kind"] = f"{test.category or 'unclassified'}/{test.subcategory or 'unclassified'}"
        for name in ("expected", "actual", "detail"):
            text = getattr(test, name)
            if text is not None:
                shown[name] = text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…"
    if test.normalized == "passed":
        shown["formatting"] = True
    if test.strict == "failed":
        shown["strict"] = True
    for name in ("elapsed_ms", "reference_ms"):
        if value := getattr(test, name):
            shown[name] = round(value, 1)
    for name in ("work", "reference_work"):
        if value := getattr(test, name):
            shown[name] = value
    return shown


def _message(entry: Diagnostic, dialect: str, *, played: bool) -> dict[str, Any]:
    """A message of the database; ``at`` where its line is one of the program's, not one of a test's call.

    While the program is installed every line is the program's; afterwards those that the engine has placed
    in a routine, which have no column, and Oracle's compile messages.
    """
    shown: dict[str, Any] = {"severity": entry.severity, "code": entry.code, "message": entry.message}
    for name in ("detail", "hint", "line", "column", "where"):
        if value := getattr(entry, name):
            shown[name] = value
    compiled = dialect == "oracle" and entry.code.startswith("PLS-")
    if entry.line is not None and (not played or entry.column is None or compiled):
        shown["at"] = entry.line
    return shown
