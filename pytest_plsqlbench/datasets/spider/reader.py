"""The reader of PLSQLBench's Spider subset: the published release, or a folder that ``convert spider`` wrote.

Rows ``{"instance_id", "db_id", "tables", "question", "reference_answer", "gold_sql_query"}``. Expected are
the rows of the gold query; the published answers are not relied on. Each row becomes a task for Oracle and
one for PostgreSQL. Where the gold does not allow a sure verdict, the turn says so (``Turn.unsupported``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Task
from pytest_plsqlbench.datasets.dataset import Dataset, at, shown_path
from pytest_plsqlbench.datasets.task_cache import code_files, remembered
from pytest_plsqlbench.datasets.textfile import json_lines, text_fields

if TYPE_CHECKING:
    from pytest_plsqlbench.datasets.plsqlbench.databases import SpiderDatabases
    from pytest_plsqlbench.datasets.spider.tasks import SpiderRow

DDL_NAME = "schema/spider/spider_ddl.jsonl"
DML_NAME = "schema/spider/spider_dml.json"
TASKS_NAME = "datasets/spider/spider1.jsonl"

_KEYS = ("instance_id", "db_id", "question", "gold_sql_query")


def read_spider(path: Path) -> Dataset:
    """Read Spider tasks: the file ``…/datasets/spider/spider1.jsonl``, or the folder above ``datasets``.

    The schema files are found in ``schema/spider`` beside ``datasets``; they may be packed (``.gz``). Without
    them no gold can be read: then every turn is ``unsupported`` and says which file is missing.

    Raises:
        UserError: the tasks file is missing or a row is wrong, with file and line.
    """
    if path.is_dir():
        path /= TASKS_NAME
    root = path.absolute().parent.parent.parent
    ddl, dml = _beside(root, DDL_NAME), _beside(root, DML_NAME)
    notes = sorted((root / "metadata").glob("spider1*.jsonl"))
    if ddl is None or dml is None:
        missing = f"the release's file {DML_NAME if ddl else DDL_NAME} is missing in {shown_path(root)}"
        return Dataset(_unreadable(path, missing), lambda _: None, (f"{at(path)}: {missing}",))
    tasks = remembered(path, [ddl, *notes], _CODE, lambda: _build(path, ddl, notes))
    return Dataset(tasks, _databases(ddl, dml, {str(task.database) for task in tasks}))


def _beside(root: Path, name: str) -> Path | None:
    candidates = (root / name, root / f"{name}.gz")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _rows(path: Path) -> list[SpiderRow]:
    from pytest_plsqlbench.datasets.spider.tasks import SpiderRow  # noqa: PLC0415 (with sqlglot)

    rows = []
    for source, record in json_lines(path):
        identity, database, question, gold = text_fields(record, _KEYS, source)
        rows.append(SpiderRow(identity, database, question, gold, source))
    return rows


def _unreadable(path: Path, reason: str) -> tuple[Task, ...]:
    from pytest_plsqlbench.datasets.spider.tasks import unsupported_tasks  # noqa: PLC0415 (with sqlglot)

    return unsupported_tasks(_rows(path), reason)


def _build(path: Path, ddl: Path, notes: list[Path]) -> tuple[Task, ...]:
    from pytest_plsqlbench.datasets.plsqlbench.schema import read_ddl  # noqa: PLC0415 (with sqlglot)
    from pytest_plsqlbench.datasets.spider.tasks import build_tasks  # noqa: PLC0415

    rows = _rows(path)
    annotations: dict[str, dict[str, Any]] = {}
    for file in notes:
        annotations |= {str(record.get("instance_id")): record for _, record in json_lines(file)}
    return build_tasks(rows, read_ddl(ddl, {row.database for row in rows}), annotations)


def _databases(ddl: Path, dml: Path, names: set[str]) -> Callable[[Task], Database | None]:
    """The databases of a release, which are read when the first of them is asked for."""

    @functools.cache
    def release() -> SpiderDatabases:
        from pytest_plsqlbench.datasets.plsqlbench.databases import SpiderDatabases  # noqa: PLC0415
        from pytest_plsqlbench.datasets.plsqlbench.schema import read_ddl  # noqa: PLC0415 (with sqlglot)

        return SpiderDatabases(read_ddl(ddl, names), dml)

    return lambda task: release().of_task(task)


def watched_files() -> list[Path]:
    """The modules whose code decides what the tasks of a release are."""
    return code_files(_CODE)


_CODE = (
    "bench/dialect.py",
    "bench/task.py",
    "datasets/dataset.py",
    "datasets/plsqlbench/*.py",
    "datasets/spider/*.py",
    "datasets/task_cache.py",
    "datasets/textfile.py",
    "sql/lexer.py",
)
