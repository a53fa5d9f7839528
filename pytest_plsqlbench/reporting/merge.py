"""Joining the parts of a run: they must belong together, and nothing may be missing or double."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.run import RunPart, turns_digest
from pytest_plsqlbench.bench.shard import Shard, TurnKey, key_of
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.quarantine import entries, write_quarantine
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE, RUN_FILE, read_run, start_part
from pytest_plsqlbench.reporting.store import encode_results, read_results, result_key, write_atomically
from pytest_plsqlbench.reporting.summary import write_summary
from pytest_plsqlbench.reporting.texts import TEXTS_FILE, encode_texts, read_texts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.bench.summary import Summary


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a run, as it was read."""

    folder: Path
    described: RunPart
    results: tuple[TurnResult, ...]

    def __str__(self) -> str:
        return f"shard {self.described.shard} ({self.folder})"


def read_part(folder: Path) -> Part:
    """Read a part.

    Raises:
        UserError: a file is missing or is not what a run writes.
    """
    if not (folder / RUN_FILE).exists():
        raise UserError(
            f"{folder} has no {RUN_FILE}: its run had no --plsql-shard, or not all files were copied;"
            " only the parts of a divided run can be joined"
        )
    described = read_run(folder)
    if not described.turns and not (folder / RESULTS_FILE).exists():
        return Part(folder, described, ())  # more shards than tasks
    return Part(folder, described, tuple(read_results(folder / RESULTS_FILE)))


def check_parts(parts: Sequence[Part]) -> None:
    """Check that the parts are all parts of one run, each once and each complete.

    Raises:
        UserError: they are not; the first fault, by which part it is in.
    """
    _check_same_run(parts)
    _check_shards(parts)
    for part in parts:
        _check_complete(part)
    _check_whole(parts)
    _check_engines(parts)
    _check_databases(parts)


def _check_same_run(parts: Sequence[Part]) -> None:
    first = parts[0]
    mine = msgspec.structs.asdict(first.described.run)
    for part in parts[1:]:
        for name, value in msgspec.structs.asdict(part.described.run).items():
            if value != mine[name]:
                raise UserError(
                    f"{part.folder} is not of the same run as {first.folder}:"
                    f" {name} is {_short(value)} there and {_short(mine[name])} here"
                )


def _check_shards(parts: Sequence[Part]) -> None:
    first = parts[0]
    count = first.described.shard.count
    seen: dict[int, Part] = {}
    for part in parts:
        if part.described.shard.count != count:
            whole = next((one for one in (first, part) if one.described.shard.count == 1), None)
            if whole is not None:
                raise UserError(f"{whole.folder} holds the whole run, not a part of it: leave it out")
            raise UserError(f"{part} and {first} are of different divisions of the run: take one of them")
        other = seen.setdefault(part.described.shard.index, part)
        if other is not part:
            raise UserError(
                f"shard {part.described.shard} is there twice, {other.folder} and {part.folder}: give one"
            )
    missing = [index for index in range(1, count + 1) if index not in seen]
    if missing:
        some = ", ".join(map(str, missing[:10])) + (" …" if len(missing) > 10 else "")
        raise UserError(
            f"{len(missing)} of {count} shards are missing: {some};"
            f" run them with --plsql-shard={missing[0]}/{count} and so on"
        )


def _check_complete(part: Part) -> None:
    found = Counter(key_of(result) for result in part.results)
    expected = set(part.described.turns)
    double = sorted(key for key, times in found.items() if times > 1)
    if double:
        raise UserError(f"{part} holds {_turn(double[0])} {found[double[0]]} times")
    strange = sorted(found.keys() - expected)
    if strange:
        raise UserError(f"{part} holds {_turn(strange[0])}, which its {RUN_FILE} does not name")
    missing = sorted(expected - found.keys())
    if missing:
        raise UserError(
            f"{part} is incomplete: {numbered(len(missing), 'turn')} of {len(expected)} without a result,"
            f" the first is {_turn(missing[0])}; run it again with --plsql-shard={part.described.shard}"
        )
    comparators = {result.comparator for result in part.results} - {part.described.run.comparator}
    if comparators:
        raise UserError(
            f"{part} has results of the comparator {min(comparators)}, not {part.described.run.comparator}"
        )


def _check_whole(parts: Sequence[Part]) -> None:
    keys: dict[TurnKey, Part] = {}
    for part in parts:
        for key in part.described.turns:
            other = keys.setdefault(key, part)
            if other is not part:
                raise UserError(f"{_turn(key)} is in both {other} and {part}")
    run = parts[0].described.run
    if len(keys) != run.turns or turns_digest(keys) != run.turns_sha256:
        raise UserError(
            f"the shards together have {numbered(len(keys), 'turn')}, which are not the {run.turns} of the"
            " whole run: they were not divided by the same version"
        )


def _check_engines(parts: Sequence[Part]) -> None:
    """An engine must have the same version everywhere; servers may have different addresses."""
    versions: defaultdict[tuple[str, str], dict[str, Part]] = defaultdict(dict)
    for part in parts:
        for result in part.results:
            if result.engine is not None:
                versions[result.dialect, result.engine.name].setdefault(result.engine.version, part)
    for (_dialect, engine), places in versions.items():
        if len(places) > 1:
            (one, first), (other, second) = sorted(places.items())[:2]
            raise UserError(f"engine {engine} has version {one} in {first} and {other} in {second}")


def _check_databases(parts: Sequence[Part]) -> None:
    seen: dict[str, tuple[str, Part]] = {}
    for part in parts:
        for name, fingerprint in part.described.databases.items():
            other = seen.setdefault(name, (fingerprint, part))
            if other[0] != fingerprint:
                raise UserError(f"the database {name} differs between {other[1]} and {part}")


class Joined(NamedTuple):
    """A run that was divided, whole again."""

    described: RunPart
    results: list[TurnResult]
    """Of all parts, in the order of the file."""
    summary: Summary


def merge(folders: Sequence[Path], out: Path) -> Joined:
    """Join the parts of a run into a report folder as one run on its own writes it.

    ``summary.json`` is byte for byte that of an undivided run with the same verdicts, in whatever order the
    parts are given.

    Args:
        folders: those of the parts.
        out: the report folder, made if need be.

    Raises:
        UserError: the parts are not one complete run, or the folder cannot be written.
    """
    parts = sorted(
        (read_part(folder) for folder in folders), key=lambda part: (part.described.shard, part.folder)
    )
    check_parts(parts)
    results = sorted((result for part in parts for result in part.results), key=result_key)
    first = parts[0].described
    joined = RunPart(
        predictions=first.predictions,
        run=first.run,
        shard=Shard(),
        turns=tuple(sorted(key for part in parts for key in part.described.turns)),
        databases=dict(sorted(pair for part in parts for pair in part.described.databases.items())),
    )
    start_part(out, joined)
    write_atomically(out / RESULTS_FILE, encode_results(results))
    texts = [text for part in parts for text in read_texts(part.folder / TEXTS_FILE).values()]
    if texts:
        write_atomically(out / TEXTS_FILE, encode_texts(texts))
    if joined.run.predictions_sha256 is None and joined.run.settings.get("repeat"):  # a self-check
        write_quarantine(out, entries(results))
    return Joined(joined, results, write_summary(out, results, collected=joined.run.turns))


def _turn(key: TurnKey) -> str:
    sample = f", sample {key.sample}" if key.sample else ""
    return f"{key.subset} task {key.task!r} ({key.dialect}), turn {key.turn}{sample}"


def _short(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:59]}…"


__all__ = ["Joined", "Part", "check_parts", "merge", "read_part"]
