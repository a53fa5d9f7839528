"""Files that look like tasks by their names and cannot be read so: nobody should miss them in silence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.datasets.dataset import UTF16_MARKS, at
from pytest_plsqlbench.datasets.readers import TASK_SUFFIXES

_ALMOST = (".jsonl.gz", ".json", ".json.gz", ".ndjson", ".yaml.gz", ".yml.gz")


def is_almost_tasks(path: Path) -> bool:
    """Whether the name says that tasks may be in it, in a form that is not read."""
    return path.name.lower().endswith(_ALMOST)


def why_passed_over(path: Path) -> str | None:
    """Why a file in a folder, which no reader takes, is passed over; None where it need not be said.

    Args:
        path: of the file; whatever is not named as tasks are is somebody else's.
    """
    if path.suffix.lower() not in TASK_SUFFIXES:
        return None
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        return _note(path, f"cannot be read: {error.strerror or error}")
    if head.startswith(UTF16_MARKS):
        return _note(path, "is UTF-16 text: save it as UTF-8")
    return None if head.strip() else _note(path, "is empty")


def broken_links(folder: Path) -> Iterator[str]:
    """Links named as tasks are that lead nowhere: pytest shows them to nobody."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink() and path.suffix.lower() in TASK_SUFFIXES and not path.exists():
            yield _note(path, "is a link to a file that is not there")


def _note(path: Path, what: str) -> str:
    return f"passed over: {UserError(what, at(path))}"
