"""The published Oracle conversion of Spider, turned into a dataset folder in PLSQLBench's own layout.

Input: pairs ``{"db_name", "question", "query"}``, DDL rows ``{"db_id", "table", "sql"}`` and the original
rows ``{"db_id", "table", "columns", "rows"}``, one line a table. Output: ``datasets/spider/spider1.jsonl``,
``schema/spider/spider_ddl.jsonl`` and ``schema/spider/spider_dml.json``.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.datasets.dataset import at
from pytest_plsqlbench.datasets.plsqlbench.dml import BATCH
from pytest_plsqlbench.datasets.plsqlbench.gold_query import GoldReader, UntranslatableError, bare_query
from pytest_plsqlbench.datasets.plsqlbench.oracle_gold import to_oracle
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import OracleType
from pytest_plsqlbench.datasets.plsqlbench.oracle_values import Given, MisfitError, converter, literal
from pytest_plsqlbench.datasets.plsqlbench.schema import Catalog, DdlRow, Table, read_ddl, replay
from pytest_plsqlbench.datasets.spider.programs import oracle_program, printed, prompt
from pytest_plsqlbench.datasets.spider.reader import DDL_NAME, DML_NAME, TASKS_NAME
from pytest_plsqlbench.datasets.spider.translation import output_kinds
from pytest_plsqlbench.datasets.textfile import json_lines, text_fields


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with its gold query."""

    database: str
    question: str
    query: str
    source: Source


@dataclass(slots=True)
class Conversion:
    """What was converted, for the report."""

    tasks: int = 0
    databases: int = 0
    rows: int = 0
    left_out: list[str] = field(default_factory=list)
    """Rows that Oracle's columns do not take, one line each: file:line, table, row, column, reason."""
    remarks: list[str] = field(default_factory=list)
    """Other findings: tables without rows, rows without a table."""


def convert_spider(
    pairs: Sequence[Path], ddl: Path, rows: Sequence[Path], out: Path, *, force: bool = False
) -> Conversion:
    """Write the dataset folder ``out``; only databases that the pairs name.

    The folder appears whole or not at all: it is built beside its place and moved there.

    Raises:
        UserError: an input is wrong (file and line), or ``out`` holds something and ``force`` is not set.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())) and not force:
        raise UserError("is there and not empty; name another folder or give --force", at(out))
    asked = [pair for path in pairs for pair in read_pairs(path)]
    if not asked:
        raise UserError("holds no pairs", at(pairs[0]))
    statements = read_ddl(ddl, {pair.database for pair in asked})
    catalog = replay(statements)
    done = Conversion(tasks=len(asked), databases=len({pair.database for pair in asked}))
    _check_databases(asked, catalog, ddl, done)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as temporary:
            folder = Path(temporary) / "new"
            _write_lines(folder / TASKS_NAME, _task_rows(asked, catalog))
            _write_lines(folder / DDL_NAME, _ddl_rows(statements))
            _write_json(folder / DML_NAME, _dml(rows, asked, catalog, done))
            if out.exists():
                out.replace(Path(temporary) / "old") if out.is_dir() else out.unlink()
            folder.replace(out)
    except OSError as error:
        raise UserError(f"cannot be written: {error.strerror}", at(out)) from None
    return done


def read_pairs(path: Path) -> list[Pair]:
    """Read a file of pairs, plain or gzip.

    Raises:
        UserError: a line is not a pair.
    """
    pairs = []
    for source, record in json_lines(path):
        database, question, query = text_fields(record, ("db_name", "question", "query"), source)
        pairs.append(Pair(database, question, query, source))
    return pairs


def _check_databases(pairs: Sequence[Pair], catalog: Catalog, ddl: Path, done: Conversion) -> None:
    unknown = [pair for pair in pairs if not catalog.of_schema(pair.database.upper())]
    if len(unknown) == len(pairs):
        raise UserError(f"{ddl} has no tables of the database {pairs[0].database!r}", pairs[0].source)
    for name in dict.fromkeys(pair.database for pair in unknown):
        count = sum(pair.database == name for pair in unknown)
        done.remarks.append(f"{at(ddl)}: no tables of {name}; its {numbered(count, 'task')} cannot be graded")


# ---- tasks ---------------------------------------------------------------------------------------


def _task_rows(pairs: Sequence[Pair], catalog: Catalog) -> Iterator[dict[str, object]]:
    golds = GoldReader(catalog)
    numbers: dict[str, int] = {}
    for pair in pairs:
        # Not the release's running numbers: its predictions must not meet other questions here.
        number = numbers[pair.database] = numbers.get(pair.database, -1) + 1
        query = bare_query(pair.query)
        tables, answer = _reference(query, golds, pair.database.upper())
        yield {
            "instance_id": f"spider_{pair.database.lower()}_{number:03}",
            "db_id": pair.database,
            "tables": tables,
            "question": prompt(" ".join(pair.question.split()), "oracle"),
            "reference_answer": answer,
            "gold_sql_query": query,
        }


def _reference(query: str, golds: GoldReader, schema: str) -> tuple[list[str], str]:
    """The tables that a gold reads, and a program that prints its rows; empty where the gold is broken."""
    try:
        gold = golds.read(query, schema)
        to_oracle(gold)
    except UntranslatableError:
        return [], ""
    return [table.qualified for table in gold.tables], oracle_program(query, printed(output_kinds(gold)))


def _ddl_rows(statements: Sequence[DdlRow]) -> Iterator[dict[str, object]]:
    for row in statements:
        yield {"db_id": row.database, "table": row.table, "sql": row.sql}


# ---- rows ----------------------------------------------------------------------------------------


def _dml(
    paths: Sequence[Path], pairs: Sequence[Pair], catalog: Catalog, done: Conversion
) -> dict[str, object]:
    wanted = {pair.database.upper(): pair.database for pair in pairs}
    tables: dict[str, object] = {}
    counts: dict[str, int] = {}
    seen: dict[tuple[str, str], Source] = {}
    for path in paths:
        for source, record in json_lines(path):
            name, title = text_fields(record, ("db_id", "table"), source)
            if name.upper() not in wanted:
                continue
            key = (name.upper(), title.upper())
            if key in seen:
                raise UserError(f"the table {name}.{title} was already given in {seen[key]}", source)
            seen[key] = source
            table = catalog.tables.get(key)
            if table is None:
                done.remarks.append(f"{source}: {name}.{title} is not in the DDL; its rows are left out")
                continue
            rows = _TableRows(table, record, source, done)
            texts = list(rows.inserts())
            counts[name] = counts.get(name, 0) + rows.written
            tables[table.qualified] = {
                "insert_statements": texts,
                "source_table": title,
                "source_database": name,
                "total_rows": rows.written,
            }
    for schema, name in wanted.items():
        tables_of = [table.name for table in catalog.of_schema(schema)]
        if empty := [table for table in tables_of if (schema, table) not in seen]:
            done.remarks.append(f"{name}: no rows are given for {', '.join(empty)}")
    done.rows = sum(counts.values())
    metadata = {
        "database_type": "oracle",
        "batch_size": BATCH,
        "rows_by_source_database": counts,
        "left_out": done.left_out,
    }
    return {"metadata": metadata, "tables": tables}


class _TableRows:
    """The rows of one table, as INSERT statements; rows that Oracle refuses are left out and reported."""

    def __init__(self, table: Table, record: dict[str, Any], source: Source, done: Conversion) -> None:
        self.table = table
        self.written = 0
        self._source = source
        self._done = done
        rows = record.get("rows")
        names = record.get("columns")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise UserError("needs a list of texts under the key 'columns'", source)
        if not isinstance(rows, list):
            raise UserError("needs a list of rows under the key 'rows'", source)
        self._rows = rows
        self._names = [name.upper() for name in names]
        for name in self._names:
            if name not in table.columns:
                raise UserError(f"the column {name} is not in the DDL of {table.qualified}", source)
        if missing := table.required.difference(self._names):
            raise UserError(f"lacks the column {min(missing)}, which may not be NULL", source)
        declared = record.get("sqlite_types")
        self._declared = (
            declared if isinstance(declared, list) and len(declared) == len(names) else [""] * len(names)
        )
        self._keys: set[tuple[str | None, ...]] = set()

    def inserts(self) -> Iterator[str]:
        """Statements of up to ``BATCH`` rows."""
        columns = ", ".join(f'"{name}"' for name in self._names)
        head = f"INSERT /*+ APPEND */ INTO {self.table.qualified} ({columns}) VALUES "
        batch: list[str] = []
        for row in self._literals():
            batch.append(row)
            if len(batch) == BATCH:
                yield head + ", ".join(batch)
                batch = []
        if batch:
            yield head + ", ".join(batch)

    def _literals(self) -> Iterator[str]:
        kinds = [self.table.columns[name].type for name in self._names]
        required = self.table.required
        makers = [
            converter(kind, "oracle", required=name in required)
            for kind, name in zip(kinds, self._names, strict=True)
        ]
        for number, row in enumerate(self._rows, 1):
            if not isinstance(row, list) or len(row) != len(kinds):
                raise UserError(f"row {number} is not a list of {len(kinds)} values", self._source)
            values: list[str | None] = []
            try:
                for place, given in enumerate(row):
                    values.append(makers[place](_given(given, kinds[place], str(self._declared[place]))))
                self._check_key(values)
            except MisfitError as misfit:
                name = f", {self._names[len(values)]}" if len(values) < len(kinds) else ""
                where = f"{self._source}: {self.table.qualified}, row {number}{name}"
                self._done.left_out.append(f"{where}: {misfit}")
                continue
            self.written += 1
            yield "(" + ", ".join(map(literal, values, kinds)) + ")"

    def _check_key(self, values: list[str | None]) -> None:
        if not self.table.primary_key:
            return
        key = tuple(values[self._names.index(name)] for name in self.table.primary_key)
        if key in self._keys:
            raise MisfitError("the primary key stands twice")
        self._keys.add(key)


def _given(value: Any, kind: OracleType, declared: str) -> Given:
    """A JSON value as what the column is given; a number in a text column keeps its spelling."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise MisfitError(f"{json.dumps(value)} is neither text nor number nor null")
    if kind.family == "number":
        if isinstance(value, str) and declared.upper().startswith("BOOL") and value.upper() in {"T", "F"}:
            return Decimal(value.upper() == "T")
        return value if value is None or isinstance(value, str) else Decimal(repr(value))
    return value if value is None or isinstance(value, str) else repr(value)


# ---- files ---------------------------------------------------------------------------------------


def _write_lines(path: Path, rows: Iterator[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_json(path: Path, content: dict[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        json.dump(content, file, ensure_ascii=False, indent=1)
        file.write("\n")
