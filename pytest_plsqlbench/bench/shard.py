"""Shards: a deterministic part of a run's turns, whole conversations, about the same work in each."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import Dialect, UserError

MOST_SHARDS = 10_000

INDEX_VARIABLES = {"JOB_COMPLETION_INDEX": 0, "SLURM_ARRAY_TASK_ID": 1}
"""Variables that tell a job its place among its siblings (a Kubernetes Indexed Job, a Slurm array), and the
number that the first of them has. A Slurm array must be submitted as 1-N for the part to be right."""

_SHARD = re.compile(r"(?P<index>auto|[0-9]{1,6})/(?P<count>[0-9]{1,6})")


class TurnKey(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Names one result of a run."""

    subset: str
    task: str
    dialect: Dialect
    turn: int
    sample: int = 0


class Unit(NamedTuple):
    """What is never divided: a task in one dialect, with all its turns and samples."""

    subset: str
    task: str
    dialect: Dialect


class Shard(msgspec.Struct, frozen=True, order=True):
    """Part ``index`` (from 1) of ``count``."""

    index: int = 1
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def parse_shard(text: str, environment: Mapping[str, str], name: str = "--plsql-shard") -> Shard:
    """Read ``I/N`` (I from 1), or ``auto/N``: I as the environment tells it.

    Args:
        text: what the user gave.
        environment: variables, for ``auto``; see ``INDEX_VARIABLES``.
        name: where it was given, for messages.

    Raises:
        UserError: it is neither, or the environment does not tell.
    """
    match = _SHARD.fullmatch(text.strip())
    count = int(match["count"]) if match else 0
    if match is None or not 1 <= count <= MOST_SHARDS:
        raise UserError(
            f"{name}: {text!r} is not I/N or auto/N, such as 2/8: part I (from 1) of N (up to {MOST_SHARDS})"
        )
    if match["index"] == "auto":
        return _from_environment(count, environment, name)
    index = int(match["index"])
    if not 1 <= index <= count:
        raise UserError(
            f"{name}: {text!r}: there is no part {index} of {count}, they count from 1 to {count}"
        )
    return Shard(index, count)


def _from_environment(count: int, environment: Mapping[str, str], name: str) -> Shard:
    found = {variable: environment[variable] for variable in INDEX_VARIABLES if environment.get(variable)}
    if len(found) != 1:
        what = (
            f"both {' and '.join(found)} are set" if found else f"none of {', '.join(INDEX_VARIABLES)} is set"
        )
        raise UserError(f"{name}: auto/{count}: {what}; give the part as I/{count}")
    [(variable, value)] = found.items()
    first = INDEX_VARIABLES[variable]
    index = int(value) - first + 1 if value.isascii() and value.isdigit() else 0
    if not 1 <= index <= count:
        raise UserError(
            f"{name}: auto/{count}: {variable} is {value!r}, not a number from {first} to {first + count - 1}"
        )
    return Shard(index, count)


def key_of(result: TurnResult) -> TurnKey:
    """The key of a result."""
    return TurnKey(result.subset, result.task, result.dialect, result.turn, result.sample)


def deal(turns: Iterable[TurnKey], shard: Shard) -> frozenset[TurnKey]:
    """The turns of a shard. Every turn of a run is in exactly one shard, and all turns of a task in the same.

    Units of the same subset, dialect and size are dealt out in the order of a digest of their ids, so that
    each shard gets as many of them as every other, up to one; neighbours in a file, which are often alike,
    part. Depends on nothing but the set of keys.
    """
    units: defaultdict[Unit, list[TurnKey]] = defaultdict(list)
    for key in set(turns):
        units[Unit(key.subset, key.task, key.dialect)].append(key)
    order = sorted(
        units, key=lambda unit: (unit.subset, unit.dialect, -len(units[unit]), _digest(unit), unit)
    )
    mine = order[shard.index - 1 :: shard.count]
    return frozenset(key for unit in mine for key in units[unit])


def _digest(unit: Unit) -> str:
    return hashlib.sha256("\0".join(unit).encode("utf-8", "surrogatepass")).hexdigest()
