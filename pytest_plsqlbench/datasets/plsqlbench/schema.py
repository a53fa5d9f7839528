"""PLSQLBench's schema files: Oracle DDL rows, replayed into tables that can be rendered for PostgreSQL.

A row is ``{"db_id", "table", "sql"}`` with one statement; rows are played in file order. Only the structure
that the last statement leaves counts: columns, types, NOT NULL, primary keys. Defaults and foreign keys are
not kept: rows always name every column, and published rows do not satisfy every foreign key.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from pytest_plsqlbench.bench.task import Source
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import (
    OracleType,
    exact_name,
    exact_word,
    fits_postgres,
    oracle_type,
    postgres_name,
    postgres_quoted,
)
from pytest_plsqlbench.datasets.textfile import json_lines, text_fields
from pytest_plsqlbench.sql.lexer import Lexer


@dataclass(slots=True)
class Column:
    """A column; ``name`` is exact (already folded as Oracle folds it)."""

    name: str
    type: OracleType
    not_null: bool = False


@dataclass(slots=True)
class Table:
    """A table as the replayed statements leave it."""

    schema: str
    name: str
    columns: dict[str, Column]
    primary_key: tuple[str, ...]
    source: Source
    database: str
    """The ``db_id`` of its rows."""
    foreign_keys: int = 0
    """How many it declares; they are not kept."""

    @property
    def required(self) -> frozenset[str]:
        """Columns that may not be NULL."""
        return frozenset(c.name for c in self.columns.values() if c.not_null) | set(self.primary_key)

    @property
    def qualified(self) -> str:
        """``SCHEMA.TABLE``."""
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class DdlRow:
    """One row of a DDL file."""

    database: str
    table: str
    sql: str
    source: Source


@dataclass(slots=True)
class Catalog:
    """What replayed DDL rows leave: tables by (schema, name), both exact."""

    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    statements: dict[str, list[DdlRow]] = field(default_factory=dict)
    """Per (exact) schema: the rows whose statement is about one of its tables, in order."""
    problems: dict[str, str] = field(default_factory=dict)
    """Per schema: why a statement could not be replayed, so that none of its tables is sure."""

    def of_schema(self, schema: str) -> list[Table]:
        """Tables of a schema in order of creation."""
        return [table for table in self.tables.values() if table.schema == schema]


def read_ddl(path: Path, schemas: Iterable[str] | None = None) -> list[DdlRow]:
    """Read the rows of a DDL file, plain or gzip.

    Args:
        path: JSON lines of ``{"db_id", "table", "sql"}``.
        schemas: keep only rows of these databases (upper case); None: all.

    Raises:
        UserError: the file cannot be read, or a line is not such a row.
    """
    wanted = None if schemas is None else {schema.upper() for schema in schemas}
    rows = []
    for source, record in json_lines(path):
        database, table, sql = text_fields(record, ("db_id", "table", "sql"), source)
        if wanted is None or database.upper() in wanted:
            rows.append(DdlRow(database, table, sql.strip().removesuffix(";").rstrip(), source))
    return rows


def replay(rows: Iterable[DdlRow]) -> Catalog:
    """Play DDL rows in order. A statement that is not understood marks its schema; nothing is guessed."""
    catalog = Catalog()
    with _quiet_parser():
        for row in rows:
            _Replay(catalog, row).play()
    return catalog


def postgres_problem(table: Table) -> str | None:
    """Why a table has no equal in PostgreSQL, None where it has one."""
    if not table.columns:
        return f"{table.qualified} has no columns"
    for column in table.columns.values():
        if column.type.postgres() is None:
            return (
                f"the type {column.type.text} of {table.qualified}.{column.name} has no equal in PostgreSQL"
            )
    names = [table.schema, table.name, *table.columns]
    for name in names:
        if not fits_postgres(name):
            return f"the name {name} is too long for PostgreSQL"
    if len({postgres_name(name) for name in table.columns}) < len(table.columns):
        return f"{table.qualified} has columns whose names differ only in case"
    return None


def postgres_ddl(table: Table) -> str:
    """``CREATE TABLE`` for PostgreSQL, without the key, of a table that has no ``postgres_problem``."""
    lines = [
        f"  {postgres_quoted(column.name)} {column.type.postgres()}{' NOT NULL' if column.not_null else ''}"
        for column in table.columns.values()
    ]
    name = f"{postgres_quoted(table.schema)}.{postgres_quoted(table.name)}"
    return f"CREATE TABLE {name} (\n" + ",\n".join(lines) + "\n)"


def postgres_key(table: Table) -> str | None:
    """The statement that adds the primary key once the rows are there."""
    if not table.primary_key:
        return None
    columns = ", ".join(map(postgres_quoted, table.primary_key))
    name = f"{postgres_quoted(table.schema)}.{postgres_quoted(table.name)}"
    return f"ALTER TABLE {name} ADD PRIMARY KEY ({columns})"


@contextmanager
def _quiet_parser() -> Iterator[None]:
    # sqlglot logs a warning for each statement that it keeps as plain text (MODIFY); those are read below.
    logger = logging.getLogger("sqlglot")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


class _NotUnderstoodError(Exception):
    """A statement, or a part of one, has no known effect on the tables."""


_HARMLESS = (
    ("COMMENT", "ON"),
    ("CREATE", "INDEX"),
    ("CREATE", "UNIQUE", "INDEX"),
    ("CREATE", "BITMAP", "INDEX"),
    ("CREATE", "SEQUENCE"),
)


def _leaves_tables_alone(sql: str) -> bool:
    """Whether a statement is of a kind that changes no table."""
    tokens = (token.value for token in Lexer(sql, "oracle", significant=True))
    words = tuple(islice(tokens, max(map(len, _HARMLESS))))
    return any(words[: len(start)] == start for start in _HARMLESS)


def _near(error: Exception) -> str:
    """At which word the parser gave up, where it tells."""
    found = error.errors if isinstance(error, ParseError) else []
    word = next((entry.get("highlight") for entry in found if entry.get("highlight")), None)
    return f", near {word!r}" if word else ""


class _Replay:
    """Plays one row on a catalog."""

    def __init__(self, catalog: Catalog, row: DdlRow) -> None:
        self.catalog = catalog
        self.row = row
        self.schema = row.database.upper()
        """Of the table that the statement is about."""

    def play(self) -> None:
        try:
            if not _leaves_tables_alone(self.row.sql):
                self._effect(sqlglot.parse_one(self.row.sql, read="oracle"))
        except (SqlglotError, _NotUnderstoodError) as error:
            reason = f"the DDL of table {self.row.table} at {self.row.source} is not understood{_near(error)}"
            self.catalog.problems.setdefault(self.row.database.upper(), reason)
        self.catalog.statements.setdefault(self.schema, []).append(self.row)

    def _effect(self, tree: exp.Expr) -> None:
        match tree:
            case exp.Create() if tree.kind == "TABLE":
                self._create(tree)
            case exp.Alter() if tree.kind == "TABLE":
                self._alter(tree)
            case exp.Drop() if tree.args.get("kind") == "TABLE":
                for name in tree.args["tables"]:
                    self.catalog.tables.pop(self._key(name), None)
            case exp.Command():
                self._modify()
            case _:
                raise _NotUnderstoodError

    def _key(self, node: exp.Expr) -> tuple[str, str]:
        if not isinstance(node, exp.Table) or node.args.get("catalog"):
            raise _NotUnderstoodError
        schema = exact_name(node.args["db"]) if node.args.get("db") else self.row.database.upper()
        self.schema = schema
        return schema, exact_name(node.this)

    def _create(self, tree: exp.Create) -> None:
        body = tree.this
        if not isinstance(body, exp.Schema) or tree.expression is not None:
            raise _NotUnderstoodError
        schema, name = self._key(body.this)
        table = Table(schema, name, {}, (), self.row.source, self.row.database)
        self.catalog.tables[schema, name] = table
        for part in body.expressions:
            if isinstance(part, exp.ColumnDef):
                self._add(table, part)
            else:
                self._constraint(table, part)

    def _alter(self, tree: exp.Alter) -> None:
        table = self._table(self._key(tree.this))
        for action in tree.args["actions"]:
            match action:
                case exp.ColumnDef():
                    self._add(table, action)
                case exp.Schema():
                    for part in action.expressions:
                        if not isinstance(part, exp.ColumnDef):
                            raise _NotUnderstoodError
                        self._add(table, part)
                case exp.Drop(kind="COLUMN"):
                    for column in action.args["tables"]:
                        self._drop(table, exact_name(column.this))
                case exp.AddConstraint():
                    for part in action.expressions:
                        self._constraint(table, part)
                case _:
                    raise _NotUnderstoodError

    def _table(self, key: tuple[str, str]) -> Table:
        if key not in self.catalog.tables:
            raise _NotUnderstoodError
        return self.catalog.tables[key]

    def _drop(self, table: Table, name: str) -> None:
        if table.columns.pop(name, None) is None:
            raise _NotUnderstoodError
        if name in table.primary_key:
            table.primary_key = ()

    def _add(self, table: Table, part: exp.ColumnDef) -> None:
        name = exact_name(part.this)
        if name in table.columns or not isinstance(part.kind, exp.DataType):
            raise _NotUnderstoodError
        column = Column(name, oracle_type(part.kind))
        table.columns[name] = column
        for constraint in part.args.get("constraints") or ():
            match constraint.kind:
                case exp.NotNullColumnConstraint():
                    column.not_null = not constraint.kind.args.get("allow_null")
                case exp.PrimaryKeyColumnConstraint():
                    table.primary_key = (name,)
                case (
                    exp.DefaultColumnConstraint()
                    | exp.CheckColumnConstraint()
                    | exp.CommentColumnConstraint()
                ):
                    pass
                case exp.UniqueColumnConstraint():
                    pass
                case exp.Reference():
                    table.foreign_keys += 1
                case _:
                    raise _NotUnderstoodError

    def _constraint(self, table: Table, part: exp.Expr) -> None:
        for item in part.expressions if isinstance(part, exp.Constraint) else [part]:
            match item:
                case exp.PrimaryKey():
                    table.primary_key = tuple(exact_name(column) for column in item.expressions)
                    if not set(table.primary_key) <= set(table.columns):
                        raise _NotUnderstoodError
                case exp.ForeignKey():
                    table.foreign_keys += 1
                case exp.UniqueColumnConstraint() | exp.CheckColumnConstraint():
                    pass
                case _:
                    raise _NotUnderstoodError

    def _modify(self) -> None:
        """``ALTER TABLE t MODIFY c …`` and ``MODIFY (c …, …)``, which sqlglot keeps as plain text."""
        tokens = sqlglot.tokenize(self.row.sql, read="oracle")
        words = [token.text.upper() for token in tokens]
        if words[:2] != ["ALTER", "TABLE"] or "MODIFY" not in words:
            raise _NotUnderstoodError
        at = words.index("MODIFY")
        owner = self.row.sql[tokens[2].start : tokens[at - 1].end + 1]
        table = self._table(self._key(sqlglot.parse_one(owner, into=exp.Table, read="oracle")))
        rest = tokens[at + 1 :]
        if rest and rest[0].text == "(" and rest[-1].text == ")":
            rest = rest[1:-1]
        nullable = {("NULL",): False, ("NOT", "NULL"): True}.get(
            tuple(token.text.upper() for token in rest[1:])
        )
        if nullable is not None:
            name = self.row.sql[rest[0].start : rest[0].end + 1]
            self._column(table, exact_word(name)).not_null = nullable
            return
        if not rest:
            raise _NotUnderstoodError
        definitions = self.row.sql[rest[0].start : rest[-1].end + 1]
        tree = sqlglot.parse_one(f"CREATE TABLE t ({definitions})", read="oracle")
        for part in tree.this.expressions:
            if not isinstance(part, exp.ColumnDef) or not isinstance(part.kind, exp.DataType):
                raise _NotUnderstoodError
            column = self._column(table, exact_name(part.this))
            column.type = oracle_type(part.kind)
            for constraint in part.args.get("constraints") or ():
                if not isinstance(constraint.kind, exp.NotNullColumnConstraint):
                    raise _NotUnderstoodError
                column.not_null = not constraint.kind.args.get("allow_null")

    def _column(self, table: Table, name: str) -> Column:
        if name not in table.columns:
            raise _NotUnderstoodError
        return table.columns[name]
