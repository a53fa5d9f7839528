"""Native tasks: YAML files of one task, JSONL files of one task a line; the same schema (docs/tasks.md)."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from pytest_plsqlbench.bench import task as task_module
from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Source, Task, UserError
from pytest_plsqlbench.cachefolder import cache_root
from pytest_plsqlbench.datasets import validation, yamlfile
from pytest_plsqlbench.datasets.cache import EntryCache, cache_file
from pytest_plsqlbench.datasets.dataset import Dataset, at, check_unique, shown_path
from pytest_plsqlbench.datasets.fixtures import databases as fixtures
from pytest_plsqlbench.datasets.native import build
from pytest_plsqlbench.datasets.native import schema as native_schema
from pytest_plsqlbench.datasets.native.build import build_tasks
from pytest_plsqlbench.datasets.native.schema import NativeTask
from pytest_plsqlbench.datasets.task_cache import decoded, encoded
from pytest_plsqlbench.datasets.validation import Fault
from pytest_plsqlbench.datasets.yamlfile import decode_utf8, exact_number, parse_yaml, read_bytes

_decode_native = msgspec.json.Decoder(NativeTask, float_hook=exact_number).decode


def read_yaml(path: Path, content: bytes | None = None) -> Dataset:
    """Read a file of one task.

    Args:
        path: of the file.
        content: of the file, where it has been read already.

    Raises:
        UserError: what is wrong, with file, line and key.
    """
    content = read_bytes(path) if content is None else content
    cache = _cache_of(cache_root(), os.path.dirname(os.path.abspath(path)))  # noqa: PTH100, PTH120 (faster)
    key = hashlib.sha256(_code_version() + content).digest()
    entry = cache.get(key)
    tasks = None if entry is None else decoded(entry)
    if not tasks:
        tasks = _parse_task(content, path)
        entry = encoded(tasks)
        if entry is not None:
            cache.put(key, entry)
    name = shown_path(path)
    tasks = tuple(msgspec.structs.replace(task, source=Source(name, task.source.line)) for task in tasks)
    if tasks and tasks[0].database is not None:
        fixtures.require(tasks[0].database, path, lambda: parse_yaml(content, path).source(("database",)))
    return Dataset(tasks, _databases_beside(path))


def read_jsonl(path: Path, content: bytes | None = None) -> Dataset:
    """Read a file of one task a line; empty lines do not count.

    Args:
        path: of the file.
        content: of the file, where it has been read already.

    Raises:
        UserError: what is wrong, with file, line and key.
    """
    content = read_bytes(path) if content is None else content
    decode_utf8(content, path)
    tasks: list[Task] = []
    name = shown_path(path)
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if line.strip():
            tasks += _parse_line(line, path, Source(name, number))
    check_unique(tasks)
    return Dataset(tuple(tasks), _databases_beside(path))


def _parse_line(line: bytes, path: Path, source: Source) -> tuple[Task, ...]:
    try:
        native = _decode_native(line)
        tasks = build_tasks(native, lambda _: source)
    except msgspec.ValidationError as error:
        raise UserError(str(validation.fault(error, NativeTask)), source) from None
    except msgspec.DecodeError as error:
        raise UserError(f"is not valid JSON: {error}", source) from None
    except RecursionError:
        raise UserError("is nested too deeply", source) from None
    except Fault as fault:
        raise UserError(str(fault), source) from None
    if native.database is not None:
        fixtures.require(native.database, path, lambda: source)
    return tasks


def _parse_task(content: bytes, path: Path) -> tuple[Task, ...]:
    document = parse_yaml(content, path)
    if document.data is None:
        raise UserError("is empty: a task is expected (docs/tasks.md)", at(path))
    try:
        native = validation.check(document.data, NativeTask)
        return build_tasks(native, document.source)
    except Fault as fault:
        raise UserError(str(fault), document.source(fault.keys)) from None


@functools.lru_cache(maxsize=256)
def _cache_of(root: Path, folder: str) -> EntryCache:  # noqa: ARG001 (another root, another file)
    """The cache of the task files of a folder."""
    return EntryCache(cache_file(folder))


def _databases_beside(path: Path) -> Callable[[Task], Database | None]:
    path = path.absolute()

    def database(task: Task) -> Database | None:
        return None if task.database is None else fixtures.database(task.database, path, task.dialect)

    return database


@functools.cache
def _code_version() -> bytes:
    """Digest over the code that turns a file into tasks: an entry of other code is not reused."""
    digest = hashlib.sha256(msgspec.__version__.encode())
    for module in (task_module, native_schema, build, validation, yamlfile):
        assert module.__file__ is not None
        digest.update(Path(module.__file__).read_bytes())
    return digest.digest()
