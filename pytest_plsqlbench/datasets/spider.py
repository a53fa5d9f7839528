"""The reader of PLSQLBench's Spider subset: the published release, or a folder that ``convert spider`` wrote.

Rows ``{"instance_id", "db_id", "tables", "question", "reference_answer", "gold_sql_query"}``. Expected are
the rows of the gold query; the published answers are not relied on. Each row becomes a task for Oracle and
one for PostgreSQL. Where the gold does not allow a sure verdict, the turn says so (``Turn.unsupported``).
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Source, Task, UserError
from pytest_plsqlbench.cachefolder import cache_root
from pytest_plsqlbench.datasets.cache import EntryCache
from pytest_plsqlbench.datasets.dataset import Dataset, at, shown_path
from pytest_plsqlbench.datasets.textfile import json_lines, read_bytes, text_fields

if TYPE_CHECKING:
    from pytest_plsqlbench.datasets.spider_databases import SpiderDatabases

DDL_NAME = "schema/spider/spider_ddl.jsonl"
DML_NAME = "schema/spider/spider_dml.json"
TASKS_NAME = "datasets/spider/spider1.jsonl"

_KEYS = ("instance_id", "db_id", "question", "gold_sql_query")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Task, ...]).decode


def read_spider(path: Path) -> Dataset:
    """Read Spider tasks: the file ``…/datasets/spider/spider1.jsonl``, or the folder above ``datasets``.

    The schema files are found in ``schema/spider`` beside ``datasets``; they may be packed (``.gz``).

    Raises:
        UserError: a file is missing or a row is wrong, with file and line.
    """
    if path.is_dir():
        path /= TASKS_NAME
    root = path.absolute().parent.parent.parent
    ddl, dml = _beside(root, DDL_NAME, path), _beside(root, DML_NAME, path)
    notes = sorted((root / "metadata").glob("spider1*.jsonl"))
    place = hashlib.sha256(str(path.absolute()).encode(errors="surrogateescape")).hexdigest()[:24]
    cache = EntryCache(cache_root() / "tasks" / f"spider-{place}")
    key = _key([path, ddl, *notes])
    tasks = _from_cache(cache, key)
    if tasks is None:
        tasks = _build(path, ddl, notes)
        cache.put(key, _encode(tasks))
    name = shown_path(path)
    tasks = tuple(msgspec.structs.replace(task, source=Source(name, task.source.line)) for task in tasks)
    return Dataset(tasks, _databases(ddl, dml, {str(task.database) for task in tasks}))


def _beside(root: Path, name: str, tasks: Path) -> Path:
    for candidate in (root / name, root / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise UserError(f"the release's file {name} is missing in {shown_path(root)}", at(tasks))


def _build(path: Path, ddl: Path, notes: list[Path]) -> tuple[Task, ...]:
    from pytest_plsqlbench.datasets.plsqlbench_schema import read_ddl  # noqa: PLC0415 (with sqlglot)
    from pytest_plsqlbench.datasets.spider_tasks import SpiderRow, build_tasks  # noqa: PLC0415

    rows = []
    for source, record in json_lines(path):
        identity, database, question, gold = text_fields(record, _KEYS, source)
        rows.append(SpiderRow(identity, database, question, gold, source))
    annotations: dict[str, dict[str, Any]] = {}
    for file in notes:
        annotations |= {str(record.get("instance_id")): record for _, record in json_lines(file)}
    return build_tasks(rows, read_ddl(ddl, {row.database for row in rows}), annotations)


def _databases(ddl: Path, dml: Path, names: set[str]) -> Callable[[Task], Database | None]:
    """The databases of a release, which are read when the first of them is asked for."""

    @functools.cache
    def release() -> SpiderDatabases:
        from pytest_plsqlbench.datasets.plsqlbench_schema import read_ddl  # noqa: PLC0415 (with sqlglot)
        from pytest_plsqlbench.datasets.spider_databases import SpiderDatabases  # noqa: PLC0415

        return SpiderDatabases(read_ddl(ddl, names), dml)

    return lambda task: release().of_task(task)


# ---- cache ---------------------------------------------------------------------------------------


def _key(files: list[Path]) -> bytes:
    digest = hashlib.sha256(_code_version())
    for file in files:
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    return digest.digest()


def _from_cache(cache: EntryCache, key: bytes) -> tuple[Task, ...] | None:
    entry = cache.get(key)
    if entry is None:
        return None
    try:
        return _decode(entry)
    except (msgspec.DecodeError, ValueError):
        return None


@functools.cache
def _code_version() -> bytes:
    """Digest over the code that turns a release into tasks: an entry of other code is not reused."""
    versions = [importlib.metadata.version(package) for package in ("sqlglot", "msgspec")]
    digest = hashlib.sha256(" ".join(versions).encode())
    for file in watched_files():
        digest.update(file.read_bytes())
    return digest.digest()


def watched_files() -> list[Path]:
    """The modules whose code decides what the tasks of a release are."""
    package = Path(__file__).parent.parent
    return sorted(file for pattern in _CODE for file in package.glob(pattern))


_CODE = (
    "bench/dialect.py",
    "bench/task.py",
    "datasets/dataset.py",
    "datasets/gold_query.py",
    "datasets/oracle_*.py",
    "datasets/plsqlbench_schema.py",
    "datasets/spider*.py",
    "datasets/textfile.py",
    "datasets/translation*.py",
    "sql/lexer.py",
)
