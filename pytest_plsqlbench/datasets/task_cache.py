"""Tasks of published files, kept in the cache folder: what takes seconds to read is read once.

An entry is found by the content of all files that it was made of, and by the code that made it.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from pytest_plsqlbench.bench.task import Source, Task
from pytest_plsqlbench.datasets.cache import EntryCache, cache_file
from pytest_plsqlbench.datasets.dataset import shown_path
from pytest_plsqlbench.datasets.textfile import read_bytes

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Task, ...]).decode


def encoded(tasks: tuple[Task, ...]) -> bytes | None:
    """Tasks as an entry; None where the entry would not give back the same.

    A stated cell may be a number that msgpack turns into text (Decimal) or cannot carry (beyond 64 bits).
    """
    try:
        entry = _encode(tasks)
    except (OverflowError, ValueError):
        return None
    return entry if decoded(entry) == tasks else None


def decoded(entry: bytes) -> tuple[Task, ...] | None:
    """The tasks of an entry; None where it holds none."""
    try:
        return _decode(entry)
    except (msgspec.DecodeError, ValueError, RecursionError, MemoryError):
        return None


def remembered(
    path: Path, files: Iterable[Path], code: Sequence[str], build: Callable[[], tuple[Task, ...]]
) -> tuple[Task, ...]:
    """The tasks of a file, from the cache or built and kept there.

    Args:
        path: the tasks file, all of whose rows the tasks come from.
        files: what else the tasks are made of.
        code: the modules whose code decides what the tasks are, as patterns below the package.
        build: reads the files.

    Raises:
        UserError: a file cannot be read; whatever ``build`` raises.
    """
    cache = EntryCache(cache_file(str(path.absolute()), path.stem))
    digest = hashlib.sha256(code_version(tuple(code)))
    for file in (path, *files):
        digest.update(file.name.encode(errors="surrogateescape") + hashlib.sha256(read_bytes(file)).digest())
    key = digest.digest()
    entry = cache.get(key)
    tasks = None if entry is None else decoded(entry)
    if tasks is None:
        tasks = build()
        entry = encoded(tasks)
        if entry is not None:
            cache.put(key, entry)
    name = shown_path(path)
    return tuple(msgspec.structs.replace(task, source=Source(name, task.source.line)) for task in tasks)


def code_files(patterns: Iterable[str]) -> list[Path]:
    """The modules that the patterns name."""
    package = Path(__file__).parent.parent
    return sorted({file for pattern in patterns for file in package.glob(pattern)})


@functools.cache
def code_version(patterns: tuple[str, ...]) -> bytes:
    """Digest over the modules that the patterns name: what other code has made is not reused."""
    versions = [importlib.metadata.version(package) for package in ("sqlglot", "msgspec")]
    digest = hashlib.sha256(" ".join(versions).encode())
    for file in code_files(patterns):
        digest.update(file.read_bytes())
    return digest.digest()
