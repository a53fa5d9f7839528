"""The layout of a PLSQLBench release: annotations and schema files, found from a tasks file."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Source, Task, UserError
from pytest_plsqlbench.datasets.dataset import at, shown_path
from pytest_plsqlbench.datasets.textfile import json_lines

if TYPE_CHECKING:
    from pytest_plsqlbench.datasets.plsqlbench.databases import SpiderDatabases

SCHEMA_FOLDER = "schema/spider2_plsql"
_PARTS = ("bigquery", "snowflake_sqlite")
_DDL = "OUTPUT_DDL_*.jsonl*"
_WORD = re.compile(r"[a-z]+|\+")

CODE = (
    "bench/dialect.py",
    "bench/task.py",
    "datasets/dataset.py",
    "datasets/plsqlbench/*.py",
    "datasets/task_cache.py",
    "datasets/textfile.py",
    "sql/*.py",
)
"""The modules that decide what the tasks of MBPP and Spider2 are (see ``task_cache``)."""

DIFFICULTIES = ("simple", "medium", "hard")


class Annotations:
    """The release's annotations by instance id; they are optional."""

    def __init__(self, files: Iterable[Path]) -> None:
        """Read files of annotations; a later one replaces what an earlier one says of the same id.

        Raises:
            UserError: such a file cannot be read, or a line of it is not a JSON object.
        """
        self._records: dict[str, dict[str, Any]] = {}
        for file in files:
            for _, record in json_lines(file):
                identity = record.get("instance_id", record.get("conversation_id", record.get("task_id")))
                if isinstance(identity, str):
                    self._records[identity] = record

    def difficulty(self, *ids: str) -> str | None:
        """The difficulty of the first id that has one; of several turns the greatest."""
        found = [value for key in ids if isinstance(value := self._get(key, "difficulty"), str)]
        known = [value for value in found if value in DIFFICULTIES]
        return max(known, key=DIFFICULTIES.index) if known else next(iter(found), None)

    def reasoning_types(self, *ids: str) -> tuple[str, ...]:
        """The reasoning types of all ids, each once."""
        lists = (self._get(key, "reasoning_types") for key in ids)
        return tuple(dict.fromkeys(str(kind) for kinds in lists if isinstance(kinds, list) for kind in kinds))

    def _get(self, identity: str, key: str) -> Any:
        return self._records.get(identity, {}).get(key)


def annotation_files(tasks: Path) -> list[Path]:
    """``metadata/*.jsonl`` of the release, and ``*metadata*.jsonl`` beside the tasks file."""
    folder = tasks.absolute().parent
    found = {file for root in _roots(tasks) for file in (root / "metadata").glob("*.jsonl")}
    found |= {file for file in folder.glob("*metadata*.jsonl") if file != tasks.absolute()}
    return sorted(found)


def _roots(tasks: Path) -> list[Path]:
    """Folders that may hold the whole release: the nearest first."""
    folder = tasks.absolute().parent
    roots = [folder]
    for above in folder.parents:
        if roots[-1].name == "datasets" or len(roots) > 2:
            break
        roots.append(above)
    if roots[-1].name == "datasets":
        roots.append(roots[-1].parent)
    return roots


def subset_of(tasks: Path, public: str, private: dict[str, str]) -> str:
    """The subset of a file: the public one, unless a word of the file's name says another.

    Args:
        tasks: the file.
        public: the subset of the published file.
        private: subsets of holdout files by the word that their name holds (``test``, ``plus``, ``+``).
    """
    words = _WORD.findall(tasks.name.lower().partition(".")[0])
    return next((subset for word, subset in private.items() if word in words), public)


def spider2_databases(tasks: Path, names: Iterable[str]) -> Callable[[Task], Database | None]:
    """The way to the databases of Spider2 tasks, whose files are read when the first of them is asked for.

    Args:
        tasks: the tasks file.
        names: the ``db_id`` of all its rows.

    The callable raises UserError where the release's schema files are not there, or do not hold a database.
    """
    wanted = frozenset(name.upper() for name in names)

    @functools.cache
    def release() -> tuple[SpiderDatabases, frozenset[str], str]:
        from pytest_plsqlbench.datasets.plsqlbench.databases import SpiderDatabases  # noqa: PLC0415
        from pytest_plsqlbench.datasets.plsqlbench.schema import read_ddl  # noqa: PLC0415 (with sqlglot)

        files = _schema_files(tasks)
        rows = []
        dml = []
        for ddl, own_dml in files:
            own = read_ddl(ddl, wanted)
            rows += own
            if own:
                dml.append(_must_exist(own_dml, ddl))
        return (
            SpiderDatabases(rows, *dml),
            frozenset(row.database.upper() for row in rows),
            ", ".join(shown_path(ddl) for ddl, _ in files),
        )

    def database(task: Task) -> Database | None:
        if task.database is None:
            return None
        databases, known, files = release()
        if task.database.upper() not in known:
            raise UserError(f"the database {task.database!r} is not in {files}", task.source)
        return databases.of_task(task)

    return database


def _schema_files(tasks: Path) -> list[tuple[Path, Path | None]]:
    """The DDL files of the release, each with the file of its rows."""
    for root in _roots(tasks):
        folders = [root / SCHEMA_FOLDER / part for part in _PARTS] + [root]
        found = [
            (ddl, _dml_of(ddl)) for folder in folders if folder.is_dir() for ddl in sorted(folder.glob(_DDL))
        ]
        if found:
            return found
    parts = ",".join(_PARTS)
    raise UserError(
        f"the release's schema files {SCHEMA_FOLDER}/{{{parts}}}/OUTPUT_DDL_dev.jsonl are missing"
        " beside its folder 'datasets': put them there",
        at(tasks),
    )


def _dml_of(ddl: Path) -> Path | None:
    base = ddl.name.removesuffix(".gz").replace("OUTPUT_DDL_", "OUTPUT_DML_", 1)
    stem = base.removesuffix(".jsonl")
    names = (f"{stem}{suffix}{packed}" for suffix in (".jsonl", ".json") for packed in ("", ".gz"))
    return next((ddl.with_name(name) for name in names if ddl.with_name(name).is_file()), None)


def _must_exist(dml: Path | None, ddl: Path) -> Path:
    if dml is None:
        name = ddl.name.removesuffix(".gz").replace("OUTPUT_DDL_", "OUTPUT_DML_", 1)
        raise UserError(f"the file of rows {name} is missing beside it", at(ddl))
    return dml


def whole_number(record: dict[str, Any], key: str, source: Source) -> int | None:
    """A whole number from 1 under a key; None where the key is missing or null.

    Raises:
        UserError: it is something else.
    """
    value = record.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UserError(f"{key}: must be a whole number from 1", source)
    return value
