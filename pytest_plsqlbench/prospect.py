"""Dialects that a run may hold turns of, judged by the files it will collect: servers start before that.

Under xdist the workers collect, and they must know the servers' addresses when they start.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.task import DIALECTS, UserError
from pytest_plsqlbench.datasets.readers import TASK_SUFFIXES, dialects_in, reader_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

    from pytest_plsqlbench.bench.dialect import Dialect
    from pytest_plsqlbench.bench.task import Task

ALL: frozenset[Dialect] = frozenset(DIALECTS)
_OF_ITEM = re.compile(r"\[(oracle|postgres)(?:-s\d+)?\]$")


def dialects_ahead(config: pytest.Config) -> frozenset[Dialect]:
    """The dialects of all tasks below what the command line, or ``testpaths``, names.

    Files are not parsed: a dialect too many may be among them, none is missing that pytest would collect.
    """
    found: set[Dialect] = set()
    for arg in config.args:
        place, _, item = str(arg).partition("::")
        path = config.invocation_params.dir / place
        if (named := _OF_ITEM.search(item)) is not None:
            found |= {dialect for dialect in DIALECTS if dialect == named[1]}
        elif path.is_file():
            found |= dialects_in(path)
        elif path.is_dir():
            found |= _below(path, config.getini("norecursedirs"), found)
        else:
            return ALL
        if found == ALL:
            break
    return frozenset(found)


def _below(folder: Path, skipped: Iterable[str], known: Iterable[Dialect]) -> frozenset[Dialect]:
    found = set(known)
    for path in _files(folder, tuple(skipped), frozenset()):
        if path.suffix.lower() in TASK_SUFFIXES and reader_of(path) is not None:
            found |= dialects_in(path)
            if found == ALL:
                break
    return frozenset(found)


def _files(folder: Path, skipped: tuple[str, ...], above: frozenset[str]) -> Iterator[Path]:
    real = os.path.realpath(folder)
    if real in above:  # a link that leads back
        return
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    yield from (Path(entry.path) for entry in entries if entry.is_file())
    for entry in entries:
        if entry.is_dir() and entry.name != "__pycache__":
            path = Path(entry.path)
            if not any(fnmatchcase(entry.name, pattern) for pattern in skipped):
                yield from _files(path, skipped, above | {real})


def check_foreseen(tasks: Iterable[Task], foreseen: frozenset[Dialect]) -> None:
    """See that no task is in a dialect that no server was looked for.

    Raises:
        UserError: one is: it lies where pytest looked, and we did not.
    """
    for task in tasks:
        if task.dialect not in foreseen:
            raise UserError(
                f"holds tasks in dialect {task.dialect}, which were not expected there:"
                " name the file on the command line",
                task.source,
            )
