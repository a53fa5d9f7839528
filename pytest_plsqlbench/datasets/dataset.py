"""Datasets: tasks, and the way to the databases they run on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Dialect, Source, Task, UserError

UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""With which UTF-16 text begins."""


def _no_database(task: Task) -> Database | None:
    """For datasets none of whose tasks names a database."""
    assert task.database is None
    return None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Tasks that were read, in the order of their files, and their databases, read when asked for."""

    tasks: tuple[Task, ...]
    databases: Callable[[Task], Database | None] = _no_database
    """Finds the database of one of these tasks; None where the task names none."""
    notes: tuple[str, ...] = ()
    """What a user should know about the files: one line each, for the header of a run."""

    def database(self, task: Task) -> Database | None:
        """The database of a task of this dataset, in the task's dialect; None where it runs on an empty one.

        Raises:
            UserError: the database's description is wrong.
        """
        return self.databases(task)


def join(parts: Iterable[Dataset]) -> Dataset:
    """One dataset of several; every task keeps the databases of the dataset it came from.

    Raises:
        UserError: two tasks have the same id.
    """
    parts = tuple(parts)
    if len(parts) == 1:
        check_unique(parts[0].tasks)
        return parts[0]
    tasks = tuple(task for part in parts for task in part.tasks)
    check_unique(tasks)
    origin = {(task.id, task.dialect): part for part in parts for task in part.tasks}
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    return Dataset(tasks, lambda task: origin[task.id, task.dialect].database(task), notes)


def check_unique(tasks: Iterable[Task]) -> None:
    """Check that no id is used twice: by two files, by two rows, or by a turn and another task.

    Two dialect variants of one file share their id; that is no clash.

    Raises:
        UserError: naming both places.
    """
    seen: dict[tuple[str, Dialect], Task] = {}
    files: dict[str, Task] = {}
    for task in tasks:
        first = seen.setdefault((task.id, task.dialect), task)
        if first is task:
            first = files.setdefault(task.id, task)
        if first is not task and (first.dialect == task.dialect or first.source.path != task.source.path):
            _clash(f"task id {task.id!r}", first, task)
    owners: dict[str, Task] = {}
    for task in files.values():
        for turn in task.turns:
            first = files.get(turn.id, task)
            if first.id == task.id:
                first = owners.setdefault(turn.id, task)
            if first.id != task.id:
                _clash(f"turn id {turn.id!r}", first, task)


def _clash(what: str, first: Task, second: Task) -> None:
    raise UserError(f"{what} is already used in {first.source}: ids must be unique", second.source)


def shown_path(path: Path) -> str:
    """A path as messages show it: relative to the working directory where it lies inside, else as given."""
    text = os.fspath(path)
    try:
        inside = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118 (called for every task: pathlib is slow here)
    except OSError:
        return text
    return text.removeprefix(inside) or "."


def at(path: Path, line: int = 0) -> Source:
    """The place in a file, for messages."""
    return Source(shown_path(path), line)
