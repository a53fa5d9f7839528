"""The databases of the Spider subset: DDL and rows of a release, rendered for a dialect when asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.task import Dialect, Source, Task
from pytest_plsqlbench.datasets.plsqlbench.dml import DmlFile
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import postgres_name, postgres_quoted
from pytest_plsqlbench.datasets.plsqlbench.schema import (
    Catalog,
    DdlRow,
    Table,
    postgres_ddl,
    postgres_key,
    postgres_problem,
    replay,
)

LOADER_VERSION = 1
"""Raised when the same files are to load as something else: databases kept from before are not used then."""


class SpiderDatabases:
    """The databases of one release."""

    def __init__(self, ddl: Sequence[DdlRow], *dml: Path) -> None:
        self._ddl = ddl
        self._dml_paths = dml
        self._files: tuple[Catalog, DmlFile] | None = None
        self._known: dict[tuple[str, Dialect], Database] = {}

    def of_task(self, task: Task) -> Database | None:
        """The database of a task.

        Raises:
            UserError: the file of rows cannot be read.
        """
        if task.database is None:
            return None
        key = (task.database, task.dialect)
        if key not in self._known:
            self._known[key] = self._read(*key)
        return self._known[key]

    def _read(self, name: str, dialect: Dialect) -> Database:
        if self._files is None:
            self._files = replay(self._ddl), DmlFile(*self._dml_paths)
        catalog, dml = self._files
        schema = name.upper()
        tables = catalog.of_schema(schema)
        remarks = _remarks(tables, dml, dialect)
        if dialect == "postgres":
            tables = [table for table in tables if postgres_problem(table) is None]
            schema = postgres_name(schema)
        before, after = _structure(catalog, name.upper(), tables, dialect)
        return Database(
            name=name,
            dialect=dialect,
            schemas=(schema,),
            before=before,
            data=tuple(_data(table, dml, dialect) for table in tables),
            after=after,
            fingerprint=_fingerprint(schema, dialect, before, after, [dml.digest(table) for table in tables]),
            notes=remarks,
        )


def _structure(
    catalog: Catalog, schema: str, tables: Sequence[Table], dialect: Dialect
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """Statements before and after the rows: Oracle's as published, PostgreSQL's from what they leave."""
    if dialect == "oracle":
        return tuple(Statement(row.sql, row.source) for row in catalog.statements.get(schema, ())), ()
    place = tables[0].source if tables else Source("<no tables>")
    before = [Statement(f"CREATE SCHEMA {postgres_quoted(schema)}", place)]
    before += [Statement(postgres_ddl(table), table.source) for table in tables]
    keys = ((postgres_key(table), table.source) for table in tables)
    return tuple(before), tuple(Statement(key, source) for key, source in keys if key is not None)


def _data(table: Table, dml: DmlFile, dialect: Dialect) -> TableData:
    fold = postgres_name if dialect == "postgres" else str
    return TableData(
        schema=fold(table.schema),
        table=fold(table.name),
        columns=tuple(map(fold, table.columns)),
        rows=partial(dml.rows, table, dialect),
        source=table.source,
    )


def _fingerprint(
    schema: str,
    dialect: Dialect,
    before: Sequence[Statement],
    after: Sequence[Statement],
    rows: Sequence[str],
) -> str:
    texts = [[statement.text for statement in part] for part in (before, after)]
    identity = json.dumps([LOADER_VERSION, dialect, schema, texts, list(rows)])
    return hashlib.sha256(identity.encode()).hexdigest()


def _remarks(tables: Sequence[Table], dml: DmlFile, dialect: Dialect) -> tuple[str, ...]:
    filled = set(dml.tables())
    remarks = []
    if empty := [table.name for table in tables if (table.schema, table.name) not in filled]:
        remarks.append(f"no rows are given for {', '.join(empty)}")
    if dialect == "postgres":
        remarks += [f"left out: {problem}" for table in tables if (problem := postgres_problem(table))]
        if linked := [table.name for table in tables if table.foreign_keys]:
            remarks.append(f"foreign keys are not kept: {', '.join(linked)}")
    return tuple(remarks)
