"""What a run set out to do, as ``run.json`` says it: by this, parts of one run know each other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from pytest_plsqlbench.bench.result import SCHEMA_VERSION
from pytest_plsqlbench.bench.shard import Shard, TurnKey, deal
from pytest_plsqlbench.bench.task import Source, Task

_NOWHERE = Source("")


class RunDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run, whatever part of it is done where: equal in all of its parts."""

    plsqlbench: str
    """Version of this package."""
    predictions_sha256: str | None
    """Of the file's bytes; None: the references were graded (``gold``)."""
    comparator: str
    """``<reading>/<version>``, as in results."""
    settings: dict[str, str | int | float | bool | None] = {}
    """Further settings that verdicts depend on, by name of the option (``timeout``, ``extract`` …)."""
    tasks: int
    """Tasks and dialects that the run read, before any selection by name or shard."""
    tasks_sha256: str
    """Of the content of those tasks, wherever their files lie."""
    turns: int
    """Results that the whole run has to give: turns and samples, after the selection by name."""
    turns_sha256: str
    """Of the keys of those results."""
    left_out: dict[str, int] = {}
    """Turns of dialects without an engine at hand, by dialect."""


class RunPart(msgspec.Struct, frozen=True, kw_only=True):
    """What ``run.json`` holds: the run, and which part of it the results beside are."""

    schema_version: int = SCHEMA_VERSION
    predictions: str
    """Name of the file, or ``gold``; for people."""
    run: RunDescription
    shard: Shard = Shard()
    turns: tuple[TurnKey, ...]
    """Results that this part has to give, sorted."""
    databases: dict[str, str] = {}
    """Fingerprints of the databases that were loaded, by ``<dialect>/<name>``."""


def describe_run(
    tasks: Iterable[Task],
    turns: Iterable[TurnKey],
    *,
    version: str,
    predictions: bytes | None,
    comparator: str,
    settings: Mapping[str, str | int | float | bool | None],
    left_out: Mapping[str, int] | None = None,
) -> RunDescription:
    """Describe a whole run.

    Args:
        tasks: all that were read.
        turns: keys of all results that the whole run has to give, before it is divided.
        version: of this package.
        predictions: content of the file; None for ``gold``.
        comparator: as in results.
        settings: further settings that verdicts depend on.
        left_out: turns of dialects without an engine at hand, by dialect.
    """
    tasks = tuple(tasks)
    keys = set(turns)
    return RunDescription(
        plsqlbench=version,
        predictions_sha256=_sha256(predictions) if predictions is not None else None,
        comparator=comparator,
        settings=dict(sorted(settings.items())),
        tasks=len(tasks),
        tasks_sha256=tasks_digest(tasks),
        turns=len(keys),
        turns_sha256=turns_digest(keys),
        left_out=dict(sorted((left_out or {}).items())),
    )


def part_of(
    run: RunDescription,
    turns: Iterable[TurnKey],
    shard: Shard = Shard(),  # noqa: B008 (immutable)
    *,
    predictions: str,
    databases: Mapping[str, str] | None = None,
) -> RunPart:
    """Describe the part of a run that is done here.

    Args:
        run: the whole.
        turns: keys of all results of the whole run.
        shard: which part; by default all of it.
        predictions: name of the file, or ``gold``.
        databases: fingerprints of the databases that were loaded, by ``<dialect>/<name>``.
    """
    return RunPart(
        predictions=predictions,
        run=run,
        shard=shard,
        turns=tuple(sorted(deal(turns, shard))),
        databases=dict(sorted((databases or {}).items())),
    )


def tasks_digest(tasks: Iterable[Task]) -> str:
    """SHA-256 of the content of tasks, in any order; where they were read from does not count."""
    contents = (msgspec.json.encode(msgspec.structs.replace(task, source=_NOWHERE)) for task in tasks)
    return _sha256("\n".join(sorted(_sha256(content) for content in contents)).encode())


def turns_digest(turns: Iterable[TurnKey]) -> str:
    """SHA-256 of keys, in any order."""
    return _sha256(msgspec.json.encode(sorted(turns)))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
