"""The reader of PLSQLBench's Spider subset: the published release, or a folder that ``convert spider`` wrote.

Rows ``{"instance_id", "db_id", "tables", "question", "reference_answer", "gold_sql_query"}``. The gold is the SQL:
what is expected are its rows. Each row becomes a task for Oracle and one for PostgreSQL; what the gold does not
allow to be judged surely is a turn that says so (``Turn.unsupported``), never a guess.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.task import DIALECTS, Comparison, Dialect, Source, Task, Test, Turn, UserError
from pytest_plsqlbench.datasets.dataset import Dataset, at
from pytest_plsqlbench.datasets.gold_query import GoldQuery, UntranslatableError, read_gold
from pytest_plsqlbench.datasets.oracle_gold import to_oracle
from pytest_plsqlbench.datasets.oracle_types import postgres_name
from pytest_plsqlbench.datasets.plsqlbench_dml import DmlFile
from pytest_plsqlbench.datasets.plsqlbench_schema import (
    Catalog,
    Table,
    postgres_ddl,
    postgres_key,
    postgres_problem,
    read_ddl,
    replay,
)
from pytest_plsqlbench.datasets.spider_programs import (
    oracle_program,
    postgres_program,
    printed,
    prompt,
    question_of,
)
from pytest_plsqlbench.datasets.textfile import json_lines, text_fields
from pytest_plsqlbench.datasets.translation import output_kinds, to_postgres

SUBSET = "spider"
LOADER_VERSION = 1
"""Raise it when the same files load as something else, so that cached databases are made anew."""
DDL_NAME = "schema/spider/spider_ddl.jsonl"
DML_NAME = "schema/spider/spider_dml.json"
TASKS_NAME = "datasets/spider/spider1.jsonl"


@dataclass(frozen=True, slots=True)
class Record:
    """One row of the tasks file."""

    id: str
    database: str
    question: str
    gold: str
    source: Source


def read_spider(path: Path) -> Dataset:
    """Read Spider tasks: the file ``…/datasets/spider/spider1.jsonl``, or the folder that holds it.

    The schema files are found at ``schema/spider`` beside the ``datasets`` folder.

    Raises:
        UserError: a file is missing or a row is wrong, with file and line.
    """
    if path.is_dir():
        path /= TASKS_NAME
    records = _records(path)
    root = path.absolute().parent.parent.parent
    ddl = _schema_file(root, DDL_NAME, path)
    catalog = replay(read_ddl(ddl, {record.database for record in records}))
    databases = _Databases(catalog, root, path)
    notes = _notes(root)
    tasks = []
    for record in records:
        tasks += _tasks(record, catalog, notes.get(record.id))
    return Dataset(tuple(tasks), databases.of_task)


def _records(path: Path) -> list[Record]:
    records = []
    for source, row in json_lines(path):
        keys = ("instance_id", "db_id", "question", "gold_sql_query")
        identity, database, question, gold = text_fields(row, keys, source)
        records.append(Record(identity, database, question, gold, source))
    return records


def _schema_file(root: Path, name: str, tasks: Path) -> Path:
    for candidate in (root / name, root / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise UserError(f"its schema file {name} is missing in {root}", at(tasks))


def _notes(root: Path) -> dict[str, dict[str, object]]:
    """The optional annotations of the release, by instance id."""
    found: dict[str, dict[str, object]] = {}
    for path in sorted((root / "metadata").glob("spider1*.jsonl")):
        for _, row in json_lines(path):
            found[str(row.get("instance_id"))] = row
    return found


# ---- tasks ---------------------------------------------------------------------------------------------------


def _tasks(record: Record, catalog: Catalog, notes: dict[str, object] | None) -> list[Task]:
    schema = record.database.upper()
    gold: GoldQuery | None = None
    reason: str | None = None
    try:
        if schema in catalog.problems:
            raise UntranslatableError(catalog.problems[schema])
        gold = read_gold(record.gold, catalog, schema)
    except UntranslatableError as error:
        reason = str(error)
    difficulty = (notes or {}).get("difficulty")
    reasoning = (notes or {}).get("reasoning_types")
    return [
        Task(
            id=record.id,
            subset=SUBSET,
            dialect=dialect,
            turns=(_turn(record, gold, reason, dialect),),
            source=record.source,
            database=record.database,
            title=question_of(record.question),
            difficulty=difficulty if isinstance(difficulty, str) else None,
            reasoning_types=tuple(map(str, reasoning)) if isinstance(reasoning, list) else (),
        )
        for dialect in DIALECTS
    ]


def _turn(record: Record, gold: GoldQuery | None, reason: str | None, dialect: Dialect) -> Turn:
    # Oracle's request is the published one; its wording is about PL/SQL, so PostgreSQL's keeps the question alone.
    text = record.question if dialect == "oracle" else prompt(question_of(record.question), dialect)
    reference: str | None = None
    tests: tuple[Test, ...] = ()
    if gold is not None:
        try:
            reference, sql, with_ties = _oracle(gold) if dialect == "oracle" else _postgres(gold)
        except UntranslatableError as error:
            reason = str(error)
        else:
            comparison = Comparison("permuted", order_keys=gold.order_keys, hidden_columns=len(gold.hidden))
            tests = (Test(name="rows", gold=sql, gold_with_ties=with_ties, compare=(comparison,)),)
    return Turn(index=1, id=record.id, prompt=text, reference=reference, tests=tests, unsupported=reason)


def _postgres(gold: GoldQuery) -> tuple[str, str, str | None]:
    built = to_postgres(gold)
    return postgres_program(built.sql, built.columns), built.sql, built.with_ties


def _oracle(gold: GoldQuery) -> tuple[str, str, str | None]:
    built = to_oracle(gold)
    program = oracle_program(gold.text, printed(output_kinds(gold)))
    return program, built.sql, built.with_ties


# ---- databases -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Databases:
    """The databases of one release, each read when it is asked for."""

    catalog: Catalog
    root: Path
    tasks: Path
    _dml: DmlFile | None = None
    _known: dict[tuple[str, Dialect], Database] = field(default_factory=dict)

    def of_task(self, task: Task) -> Database | None:
        """The database of a task."""
        assert task.database is not None
        key = (task.database, task.dialect)
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, name: str, dialect: Dialect) -> Database:
        if self._dml is None:
            self._dml = DmlFile(_schema_file(self.root, DML_NAME, self.tasks))
        schema = name.upper()
        tables = self.catalog.of_schema(schema)
        if not tables:
            raise UserError(f"the DDL has no tables of the database {name}", at(self.tasks))
        if dialect == "postgres":
            tables = [table for table in tables if not postgres_problem(table)]
        data = tuple(self._data(table, dialect) for table in tables)
        before, after = self._structure(schema, tables, dialect)
        folded = postgres_name(schema) if dialect == "postgres" else schema
        digests = [self._dml.digest(table) for table in tables]
        identity = [
            LOADER_VERSION,
            dialect,
            folded,
            [s.text for s in before],
            digests,
            [s.text for s in after],
        ]
        fingerprint = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
        return Database(
            name, dialect, (folded,), before, data, after, fingerprint, self._remarks(schema, dialect)
        )

    def _structure(
        self, schema: str, tables: list[Table], dialect: Dialect
    ) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        if dialect == "oracle":
            rows = self.catalog.statements.get(schema, [])
            return tuple(Statement(row.sql, row.source) for row in rows), ()
        before = tuple(Statement(postgres_ddl(table), table.source) for table in tables)
        keys = ((postgres_key(table), table.source) for table in tables)
        return before, tuple(Statement(key, source) for key, source in keys if key)

    def _data(self, table: Table, dialect: Dialect) -> TableData:
        assert self._dml is not None
        fold = postgres_name if dialect == "postgres" else str
        return TableData(
            schema=fold(table.schema),
            table=fold(table.name),
            columns=tuple(map(fold, table.columns)),
            rows=partial(self._dml.rows, table, dialect),
            source=table.source,
        )

    def _remarks(self, schema: str, dialect: Dialect) -> tuple[str, ...]:
        assert self._dml is not None
        tables = self.catalog.of_schema(schema)
        filled = set(self._dml.tables())
        remarks = [f"no rows: {t.qualified}" for t in tables if (t.schema, t.name) not in filled]
        if dialect == "postgres":
            remarks += [f"left out: {problem}" for t in tables if (problem := postgres_problem(t))]
            remarks += [f"foreign keys not kept: {t.qualified}" for t in tables if t.foreign_keys]
        return tuple(remarks)
