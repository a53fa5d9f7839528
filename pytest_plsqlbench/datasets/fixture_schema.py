"""The description of a database (docs/fixtures.md): read from its file, checked, ready to be rendered."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from pytest_plsqlbench.bench.task import DIALECTS, Dialect, UserError
from pytest_plsqlbench.datasets.dataset import at
from pytest_plsqlbench.datasets.fixture_checks import check_condition
from pytest_plsqlbench.datasets.fixture_names import check_name
from pytest_plsqlbench.datasets.fixture_types import ColumnType, parse_type
from pytest_plsqlbench.datasets.validation import Fault, KeyPath, check, close_match
from pytest_plsqlbench.datasets.yamlfile import Document, decode_utf8, read_bytes

Row = tuple[str | None, ...]
"""Cells as the file spells them; None is NULL."""


class Default(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A default that is no constant: the next number of a sequence, or the current date or time."""

    next: str | None = None
    current: Literal["date", "timestamp"] | None = None


class _Column(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: str
    nullable: bool = False
    identity: bool = False
    default: str | Default | None = None


class _ForeignKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    columns: tuple[str, ...]
    references: str
    referenced_columns: tuple[str, ...] | None = None


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    columns: dict[str, Any]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[_ForeignKey, ...] = ()
    checks: tuple[str, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    rows: tuple[tuple[str | None, ...], ...] | str = ()


class Sequence_(msgspec.Struct, frozen=True, forbid_unknown_fields=True):  # noqa: N801 (Sequence is taken)
    """A sequence generator."""

    start: int = 1
    increment: int = 1


class _Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tables: dict[str, Any]
    about: str | None = None
    dialects: tuple[Dialect, ...] = DIALECTS
    sequences: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: ColumnType
    nullable: bool
    identity: bool
    default: str | Default | None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A foreign key of a table."""

    columns: tuple[str, ...]
    table: str
    referenced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its rows."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]
    foreign_keys: tuple[ForeignKey, ...]
    checks: tuple[str, ...]
    indexes: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]
    line: int
    """Of the table in the description."""
    rows_path: Path
    rows_line: int

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True, slots=True)
class Description:
    """A database, described once for both dialects."""

    path: Path
    about: str | None
    dialects: tuple[Dialect, ...]
    sequences: dict[str, Sequence_]
    tables: tuple[Table, ...]


def read_description(document: Document) -> Description:
    """Check a description file.

    Raises:
        UserError: what is wrong, with file, line and key.
    """
    if document.data is None:
        raise UserError(
            "is empty: a description of a database is expected (docs/fixtures.md)", document.source()
        )
    try:
        return _Checker(document).description()
    except Fault as fault:
        raise UserError(str(fault), document.source(fault.keys)) from None


class _Checker:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._raw = check(document.data, _Description, strict=False)
        self._tables = {
            name: check(data, _Table, ("tables", name), strict=False)
            for name, data in self._raw.tables.items()
        }
        self._sequences = {
            name: check(data or {}, Sequence_, ("sequences", name), strict=False)
            for name, data in self._raw.sequences.items()
        }

    def description(self) -> Description:
        if not self._tables:
            raise Fault(("tables",), "is empty: a database has at least one table")
        if not self._raw.dialects:
            raise Fault(("dialects",), "is empty: leave it out for both dialects")
        for name, sequence in self._sequences.items():
            check_name(name, ("sequences", name))
            if name in self._tables:
                raise Fault(("sequences", name), "has the name of a table")
            if sequence.increment == 0:
                raise Fault(("sequences", name, "increment"), "must not be zero")
        tables = tuple(self._table(name, raw) for name, raw in self._tables.items())
        by_name = {table.name: table for table in tables}
        for table in tables:
            for number, key in enumerate(table.foreign_keys):
                self._check_reference(table, key, by_name, ("tables", table.name, "foreign_keys", number))
        return Description(self._document.path, self._raw.about, self._raw.dialects, self._sequences, tables)

    def _table(self, name: str, raw: _Table) -> Table:
        keys: KeyPath = ("tables", name)
        check_name(name, keys)
        if not raw.columns:
            raise Fault((*keys, "columns"), "is empty")
        columns = tuple(
            self._column(column, data, (*keys, "columns", column)) for column, data in raw.columns.items()
        )
        if sum(column.identity for column in columns) > 1:
            raise Fault((*keys, "columns"), "has more than one identity column: Oracle allows one")
        by_name = {column.name: column for column in columns}
        if raw.primary_key:
            self._check_key(raw.primary_key, by_name, (*keys, "primary_key"))
        for column in raw.primary_key:
            if by_name[column].nullable:
                raise Fault((*keys, "columns", column), "is part of the primary key: it cannot be nullable")
        indexed = [raw.primary_key]
        for kind, lists in (("unique", raw.unique), ("indexes", raw.indexes)):
            for number, names in enumerate(lists):
                here = (*keys, kind, number)
                self._check_key(names, by_name, here)
                if names in indexed:
                    raise Fault(here, "these columns have a key or an index already")
                indexed.append(names)
        for number, condition in enumerate(raw.checks):
            check_condition(condition, columns, (*keys, "checks", number))
        path, line, rows = self._rows(raw, columns, keys)
        return Table(
            name=name,
            columns=columns,
            primary_key=raw.primary_key,
            unique=raw.unique,
            foreign_keys=tuple(
                self._foreign_key(key, by_name, (*keys, "foreign_keys", number))
                for number, key in enumerate(raw.foreign_keys)
            ),
            checks=raw.checks,
            indexes=raw.indexes,
            rows=rows,
            line=self._document.line(keys),
            rows_path=path,
            rows_line=line,
        )

    def _column(self, name: str, data: Any, keys: KeyPath) -> Column:
        check_name(name, keys)
        raw = _Column(data) if isinstance(data, str) else check(data, _Column, keys, strict=False)
        try:
            kind = parse_type(raw.type)
        except ValueError as error:
            raise Fault(keys, str(error)) from None
        default = raw.default
        if raw.identity and (kind.name not in {"integer", "bigint"} or raw.nullable or default is not None):
            raise Fault(keys, "an identity column is integer or bigint, not nullable, and has no default")
        if isinstance(default, str):
            problem = self._cell_problem(default, kind)
            if problem:
                raise Fault((*keys, "default"), problem)
        elif default is not None:
            self._check_default(default, kind, (*keys, "default"))
        return Column(name, kind, raw.nullable, raw.identity, default)

    def _check_default(self, default: Default, kind: ColumnType, keys: KeyPath) -> None:
        if (default.next is None) == (default.current is None):
            raise Fault(keys, "is a constant, {next: SEQUENCE} or {current: date} or {current: timestamp}")
        if default.next is not None:
            if default.next not in self._sequences:
                known = self._sequences
                raise Fault(keys, f"there is no sequence {default.next!r}{close_match(default.next, known)}")
            if kind.name not in {"integer", "bigint", "numeric"}:
                raise Fault(keys, f"a sequence gives numbers, the column is {kind}")
        elif default.current != kind.name:
            raise Fault(keys, f"the column is {kind}, not {default.current}")

    def _check_key(self, names: Sequence[str], columns: dict[str, Column], keys: KeyPath) -> None:
        if not names:
            raise Fault(keys, "names no column")
        for name in names:
            if name not in columns:
                raise Fault(keys, f"there is no column {name!r}{close_match(name, columns)}")
            if columns[name].type.name == "text":
                raise Fault(keys, f"column {name!r} is text (CLOB on Oracle), which no key or index takes")
        if len(set(names)) < len(names):
            raise Fault(keys, "names a column twice")

    def _foreign_key(self, raw: _ForeignKey, columns: dict[str, Column], keys: KeyPath) -> ForeignKey:
        self._check_key(raw.columns, columns, (*keys, "columns"))
        target = self._tables.get(raw.references)
        if target is None:
            message = f"there is no table {raw.references!r}{close_match(raw.references, self._tables)}"
            raise Fault((*keys, "references"), message)
        referenced = target.primary_key if raw.referenced_columns is None else raw.referenced_columns
        if not referenced or referenced not in (target.primary_key, *target.unique):
            raise Fault(
                keys, f"refers to columns of {raw.references} that are neither primary key nor unique"
            )
        if len(referenced) != len(raw.columns):
            raise Fault(keys, f"has {len(raw.columns)} columns, the referenced key has {len(referenced)}")
        return ForeignKey(raw.columns, raw.references, referenced)

    def _check_reference(
        self, table: Table, key: ForeignKey, tables: dict[str, Table], keys: KeyPath
    ) -> None:
        target = tables[key.table]
        for name, other in zip(key.columns, key.referenced, strict=True):
            ours, theirs = table.column(name).type, target.column(other).type
            if ours != theirs:
                raise Fault(keys, f"{name} is {ours}, but {key.table}.{other} is {theirs}")

    def _cell_problem(self, cell: str, kind: ColumnType) -> str | None:
        problem = kind.problem(cell)
        if problem:
            return f"{cell[:40]!r} {problem}"
        if cell == "" and kind.textual and "oracle" in self._raw.dialects:
            return "is an empty text, which Oracle reads as NULL: use null, or set 'dialects: [postgres]'"
        return None

    def _rows(
        self, raw: _Table, columns: Sequence[Column], keys: KeyPath
    ) -> tuple[Path, int, tuple[Row, ...]]:
        keys = (*keys, "rows")
        if not isinstance(raw.rows, str):
            for number, row in enumerate(raw.rows):
                problem = self._row_problem(row, columns)
                if problem:
                    raise Fault((*keys, number), problem)
            return self._document.path, self._document.line(keys), raw.rows
        folder = self._document.path.parent
        path = folder / raw.rows
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Fault(keys, f"{raw.rows!r} lies outside the folder of the description")
        if not path.is_file():
            raise Fault(keys, f"there is no file {raw.rows!r} beside the description")
        rows = []
        for line, row in read_csv(path, [column.name for column in columns]):
            problem = self._row_problem(row, columns)
            if problem:
                raise UserError(problem, at(path, line))
            rows.append(row)
        return path, 2, tuple(rows)

    def _row_problem(self, row: Row, columns: Sequence[Column]) -> str | None:
        if len(row) != len(columns):
            return f"has {len(row)} values for {len(columns)} columns"
        for cell, column in zip(row, columns, strict=True):
            if cell is None:
                if not column.nullable:
                    return f"{column.name} is NULL, but the column is not nullable"
                continue
            problem = self._cell_problem(cell, column.type)
            if problem:
                return f"{column.name}: {problem}"
        return None


def read_csv(path: Path, columns: Sequence[str]) -> Iterable[tuple[int, Row]]:
    """Rows of a CSV file (RFC 4180, UTF-8), each with its line, cells in the order of the columns.

    Empty fields are NULL.

    Raises:
        UserError: the header does not name the columns, or a row is broken.
    """
    text = decode_utf8(read_bytes(path), path)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if sorted(header) != sorted(columns):
            raise UserError(f"the first line must name the columns {', '.join(columns)}", at(path, 1))
        order = [header.index(column) for column in columns]
        line = reader.line_num + 1
        for fields in reader:
            if len(fields) != len(header):
                raise UserError(f"has {len(fields)} values for {len(header)} columns", at(path, line))
            yield line, tuple([fields[place] or None for place in order])
            line = reader.line_num + 1
    except csv.Error as error:
        raise UserError(f"is not valid CSV: {error}", at(path, reader.line_num)) from None
