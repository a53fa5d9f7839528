"""``--plsql-shard`` in a run: the turns of this part, and ``run.json``, by which parts know each other."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.comparison import comparator_name
from pytest_plsqlbench.bench.run import RunPart, describe_run, part_of
from pytest_plsqlbench.reporting.runfile import RUN_FILE, clear, start_part, write_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from pytest_plsqlbench.bench.shard import Shard, TurnKey
    from pytest_plsqlbench.bench.task import Task
    from pytest_plsqlbench.settings import Settings


def describe_part(
    settings: Settings,
    shard: Shard,
    tasks: Iterable[Task],
    turns: Collection[TurnKey],
    left_out: Mapping[str, int],
) -> RunPart:
    """Describe the part of a run that is done here; the same in every worker.

    Args:
        settings: of the run.
        shard: which part.
        tasks: all that were read, selected or not.
        turns: keys of all turns of the whole run, after the selection by name.
        left_out: turns of dialects without an engine at hand, by dialect.
    """
    run = describe_run(
        tasks,
        turns,
        version=version("pytest-plsqlbench"),
        predictions=settings.predictions.read_bytes() if settings.predictions else None,
        comparator=comparator_name(settings.compare),
        settings={
            "dialect": "+".join(sorted(settings.dialects)) if settings.dialects else None,
            "extract": settings.extract,
            "blame": settings.blame,
            "timeout": settings.timeout,
            **({"repeat": settings.repeat} if settings.repeat > 1 else {}),
            **({"quarantine": _digest(settings.quarantine)} if settings.quarantine else {}),
            **{f"limit.{name}": value for name, value in sorted(settings.limits.items())},
        },
        left_out=left_out,
    )
    return part_of(
        run, turns, shard, predictions=settings.predictions.name if settings.predictions else "gold"
    )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def encode_part(part: RunPart) -> str:
    """As JSON text, which reports and ``workeroutput`` carry."""
    return msgspec.json.encode(part).decode()


class RunFile:
    """The ``run.json`` of the process that owns the report folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._part: RunPart | None = None
        self._begun = False

    def begin(self) -> None:
        """The first result is about to be written: what an earlier run left goes before.

        Raises:
            UserError: the folder cannot be written.
        """
        if not self._begun:
            clear(self._folder)
            self._begun = True

    def describe(self, text: str) -> None:
        """Write the description that a process has made; the first one counts, all are equal.

        Raises:
            UserError: the folder cannot be written.
        """
        if self._part is not None:
            return
        self._part = msgspec.json.decode(text, type=RunPart)
        if self._begun:
            write_run(self._folder, self._part)
        else:
            self._begun = True
            start_part(self._folder, self._part)

    def complete(self, databases: Mapping[str, str]) -> None:
        """Add the databases that the part was graded on, once it has ended; also where the file is gone.

        Raises:
            UserError: the folder cannot be written.
        """
        if self._part is not None and (databases or not (self._folder / RUN_FILE).exists()):
            write_run(
                self._folder,
                msgspec.structs.replace(self._part, databases=dict(sorted(databases.items()))),
            )


def empty_part(part: str) -> str | None:
    """Which part of a run it is, where it has no turns though the run has; None otherwise.

    Args:
        part: the content of ``run.json``.
    """
    described = msgspec.json.decode(part, type=RunPart)
    return str(described.shard) if described.run.turns and not described.turns else None
