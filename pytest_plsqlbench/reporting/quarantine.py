"""``quarantine.jsonl``: turns that cannot be graded, their references not being deterministic, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.plural import noun, numbered
from pytest_plsqlbench.bench.result import SCHEMA_VERSION
from pytest_plsqlbench.bench.task import Dialect, Source, UserError
from pytest_plsqlbench.reporting.store import result_key, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_plsqlbench.bench.result import TurnResult

QUARANTINE_FILE = "quarantine.jsonl"
QUARANTINED = "quarantined"
"""Flag of a turn that was on the list, and so not played."""

Place = tuple[str, str, str, int]
"""Subset, task, dialect, turn."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line: a turn that is not to be graded."""

    schema_version: int = SCHEMA_VERSION
    task: str
    subset: str
    dialect: Dialect
    turn: int = 1
    reason: str

    @property
    def place(self) -> Place:
        """Names the turn."""
        return self.subset, self.task, self.dialect, self.turn


def read_quarantine(path: Path) -> dict[Place, str]:
    """Reasons by turn; of two lines for the same turn the later one counts, so that lists can be joined.

    Raises:
        UserError: the file cannot be read, or a line is no entry (file:line).
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    found: dict[Place, str] = {}
    decoder = msgspec.json.Decoder(Entry)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"not a line of a quarantine list: {error}", Source(str(path), number)) from None
        if entry.schema_version != SCHEMA_VERSION:
            raise UserError(
                f"schema_version {entry.schema_version} is not {SCHEMA_VERSION}, which this version reads",
                Source(str(path), number),
            )
        found[entry.place] = entry.reason
    return found


def entries(results: Iterable[TurnResult]) -> list[Entry]:
    """The turns of a self-check (``gold``) whose references are not deterministic, and why, in order."""
    found = []
    for result in sorted(results, key=result_key):
        reason = _reason(result)
        if reason is not None:
            found.append(
                Entry(
                    task=result.task,
                    subset=result.subset,
                    dialect=result.dialect,
                    turn=result.turn,
                    reason=reason,
                )
            )
    return found


def write_quarantine(folder: Path, results: Iterable[TurnResult]) -> int:
    """Write ``quarantine.jsonl``, also where nothing is on it; how many turns are.

    Raises:
        UserError: the file cannot be written.
    """
    found = entries(results)
    encoder = msgspec.json.Encoder()
    write_atomically(folder / QUARANTINE_FILE, b"".join(encoder.encode(entry) + b"\n" for entry in found))
    return len(found)


def _reason(result: TurnResult) -> str | None:
    """Why the turn must not be graded; None where nothing speaks against it."""
    if result.status == "reference_error" and {"reference_varies", QUARANTINED} & set(result.flags):
        return result.reason
    if "varies" not in result.flags:
        return None
    varying = [
        (test.name, verdicts.count("passed"))
        for test, verdicts in zip(result.tests, zip(*result.repeats, strict=True), strict=True)
        if len(set(verdicts)) > 1
    ]
    name, passed = varying[0]
    more = len(varying) - 1
    others = f"; so {noun(more, 'does', 'do')} {numbered(more, 'more test')}" if more else ""
    return f"test {name!r} varies: the reference passed in {passed} of {len(result.repeats)} plays{others}"
