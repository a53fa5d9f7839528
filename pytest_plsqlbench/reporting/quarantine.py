"""``quarantine.jsonl``: turns that cannot be graded, their references not being deterministic, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.plural import noun, numbered
from pytest_plsqlbench.bench.result import SCHEMA_VERSION
from pytest_plsqlbench.bench.task import Dialect, Source, UserError
from pytest_plsqlbench.bench.visible import shorten
from pytest_plsqlbench.reporting.store import natural, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.bench.task import Task

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


class QuarantineList:
    """The turns of a list, and where they stand in it.

    Of two lines for the same turn the later one counts, so that lists can be joined.
    """

    def __init__(self, lines: Iterable[tuple[Entry, Source]] = ()) -> None:
        self.entries: dict[Place, Entry] = {}
        self._sources: dict[Place, Source] = {}
        for entry, source in lines:
            self.entries[entry.place] = entry
            self._sources[entry.place] = source

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def reasons(self) -> dict[Place, str]:
        """Why turns are not to be graded."""
        return {place: entry.reason for place, entry in self.entries.items()}

    def check(self, tasks: Iterable[Task]) -> None:
        """Hold every entry against the tasks of a run, as predictions are.

        An entry for none of them must be for another task of the same suites, which this run has not
        selected. Anything else is a fault: the turn that was meant would be graded. A run that has no tasks
        at all grades none.

        Args:
            tasks: that the run read.

        Raises:
            UserError: an entry is for no turn (file:line).
        """
        tasks = tuple(tasks)
        left = self.entries.keys() - _places(tasks)
        if not left or not tasks:
            return
        from pytest_plsqlbench.datasets.readers import suite_tasks  # noqa: PLC0415 (only where some are left over)

        whole = suite_tasks(dict.fromkeys(Path(task.source.path) for task in tasks))
        strangers = sorted(self._sources[place] for place in left - _places(whole))
        if not strangers:
            return
        entry = next(entry for entry in self.entries.values() if self._sources[entry.place] == strangers[0])
        more = f" (and {len(strangers) - 1} more such lines)" if len(strangers) > 1 else ""
        raise UserError(f"{_why_none(entry, (*tasks, *whole))}: mend or remove the line{more}", strangers[0])


def _places(tasks: Iterable[Task]) -> set[Place]:
    return {(task.subset, task.id, task.dialect, turn.index) for task in tasks for turn in task.turns}


def _why_none(entry: Entry, tasks: Iterable[Task]) -> str:
    """Why an entry is for none of the tasks."""
    named = [task for task in tasks if task.id == entry.task]
    if not named:
        import difflib  # noqa: PLC0415 (only where it is needed)

        close = difflib.get_close_matches(entry.task, {task.id: None for task in tasks}, n=3, cutoff=0.75)
        choice = f"; did you mean {' or '.join(repr(word) for word in close)}?" if close else ""
        return f"there is no task {shorten(entry.task, 80)!r}{choice}"
    here = [task for task in named if task.subset == entry.subset]
    if not here:
        return f"task {entry.task!r} is of subset {named[0].subset!r}, not {shorten(entry.subset, 80)!r}"
    task = next((task for task in here if task.dialect == entry.dialect), None)
    if task is None:
        return f"task {entry.task!r} has no {entry.dialect} variant"
    count = len(task.turns)
    turns = f"its turns are 1 to {count}" if count > 1 else "it has one turn"
    return f"{entry.task!r} has no turn {entry.turn}: {turns}"


def read_quarantine(path: Path) -> QuarantineList:
    """Read a list.

    Raises:
        UserError: the file cannot be read, or a line is no entry (file:line).
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return QuarantineList(_decoded(lines, path))


def _decoded(lines: Iterable[bytes], path: Path) -> Iterator[tuple[Entry, Source]]:
    decoder = msgspec.json.Decoder(Entry)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        source = Source(str(path), number)
        try:
            entry = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(f"not a line of a quarantine list: {error}", source) from None
        if entry.schema_version != SCHEMA_VERSION:
            raise UserError(
                f"schema_version {entry.schema_version} is not {SCHEMA_VERSION}, which this version reads",
                source,
            )
        yield entry, source


def read_former(folder: Path) -> QuarantineList:
    """The list that earlier self-checks have left in a report folder; an empty one where there is none.

    Raises:
        UserError: it cannot be read, or a line is no entry (file:line).
    """
    path = folder / QUARANTINE_FILE
    if not path.exists():
        return QuarantineList()
    try:
        return read_quarantine(path)
    except UserError as error:
        raise UserError(f"{error}; nothing was changed: mend or move the file") from None


def entries(results: Iterable[TurnResult]) -> list[Entry]:
    """The turns of a self-check (``gold``) whose references are not deterministic, and why, in order."""
    found = []
    for result in results:
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
    return sorted(found, key=_order)


def joined(
    results: Sequence[TurnResult],
    *,
    former: Mapping[Place, Entry] | None = None,
    earlier: Iterable[TurnResult] = (),
) -> list[Entry]:
    """The list of a report folder after a self-check, in order.

    What was on it stays, apart from turns that this run has found to be steady: a run that was broken off, or
    was about some of the tasks, says nothing about the others.

    Args:
        results: of the run.
        former: the list before it.
        earlier: results of earlier runs that the folder holds; those of self-checks count.
    """
    found = {entry.place: entry for entry in entries(results)}
    graded = {
        (result.subset, result.task, result.dialect, result.turn)
        for result in results
        if result.status == "graded"
    }
    known = {entry.place: entry for entry in entries(r for r in earlier if r.model == "gold")}
    known |= former or {}
    kept = {place: entry for place, entry in known.items() if place not in graded}
    return sorted((kept | found).values(), key=_order)


def write_quarantine(folder: Path, listed: Iterable[Entry]) -> None:
    """Write ``quarantine.jsonl``, also where nothing is on it.

    Raises:
        UserError: the file cannot be written.
    """
    encoder = msgspec.json.Encoder()
    write_atomically(folder / QUARANTINE_FILE, b"".join(encoder.encode(entry) + b"\n" for entry in listed))


def _order(entry: Entry) -> tuple[object, ...]:
    """As results are ordered."""
    return (entry.subset, natural(entry.task), entry.task, entry.dialect, entry.turn)


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
