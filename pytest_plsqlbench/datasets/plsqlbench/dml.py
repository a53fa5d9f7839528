"""PLSQLBench's rows: files of Oracle INSERT statements, read into typed rows and written.

Two forms are read: one JSON object ``{"tables": {NAME: {"insert_statements": […]}}}``, and JSON lines
``{"db_id", "table", "sql"}`` or ``{"db_id", "table", "insert_statements"}``. The table that rows belong to is
the one their statement names, never the key: in the published file tables of one name share a key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TypeGuard

import msgspec

from pytest_plsqlbench.bench.task import Dialect, Source, UserError
from pytest_plsqlbench.datasets.dataset import at
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import exact_word
from pytest_plsqlbench.datasets.plsqlbench.oracle_values import Given, MisfitError, as_moment, converter
from pytest_plsqlbench.datasets.plsqlbench.schema import Table
from pytest_plsqlbench.datasets.textfile import json_lines, read_bytes
from pytest_plsqlbench.sql.lexer import Lexer, Token, string_content

BATCH = 500
"""Rows of one INSERT statement, as published."""

_FORMATS = {
    "YYYY-MM-DD": "%Y-%m-%d",
    "YYYY-MM-DD HH24:MI:SS": "%Y-%m-%d %H:%M:%S",
    "YYYY-MM-DD HH24:MI:SS.FF": "%Y-%m-%d %H:%M:%S.%f",
    "YYYY-MM-DD HH24:MI:SS.FF6": "%Y-%m-%d %H:%M:%S.%f",
}
_MOMENT_WORDS = frozenset({"DATE", "TIMESTAMP", "TO_DATE", "TO_TIMESTAMP"})


@dataclass(frozen=True, slots=True)
class Insert:
    """One INSERT statement of a file."""

    schema: str | None
    table: str
    text: str
    place: str
    """Where it stands, for messages."""
    path: Path
    """The file."""


class DmlFile:
    """The INSERT statements of one or more files, by table; rows are parsed when they are asked for."""

    def __init__(self, *paths: Path) -> None:
        self._inserts: dict[tuple[str, str], list[Insert]] = {}
        for path in paths:
            for database, place, text in _statements(path):
                insert = _head(path, place, text)
                key = (insert.schema or (database or "").upper(), insert.table)
                self._inserts.setdefault(key, []).append(insert)

    def tables(self) -> Iterator[tuple[str, str]]:
        """(schema, table) of all statements, exact."""
        return iter(self._inserts)

    def digest(self, table: Table) -> str:
        """SHA-256 over a table's statements."""
        digest = hashlib.sha256()
        for insert in self._inserts.get((table.schema, table.name), ()):
            digest.update(insert.text.encode() + b"\0")
        return digest.hexdigest()

    def rows(self, table: Table, dialect: Dialect) -> Iterator[tuple[str | None, ...]]:
        """Rows of a table, values in the order of its columns.

        Raises (while iterating):
            UserError: a statement is no plain multi-row INSERT, or a column does not take a value.
        """
        order = {name: index for index, name in enumerate(table.columns)}
        required = table.required
        makers = [converter(c.type, dialect, required=c.name in required) for c in table.columns.values()]
        number = 0
        for insert in self._inserts.get((table.schema, table.name), ()):
            reader = _InsertReader(insert, at(insert.path))
            names = reader.columns() or list(table.columns)
            for name in names:
                if name not in order or names.count(name) > 1:
                    raise reader.error(f"names the column {name}, which is not once there")
            if missing := required.difference(names):
                raise reader.error(f"does not name the column {min(missing)}, which may not be NULL")
            places = [order[name] for name in names]
            for values in reader.values():
                number += 1
                if len(values) != len(places):
                    raise reader.error(f"row {number} has {len(values)} values for {len(places)} columns")
                row: list[str | None] = [None] * len(makers)
                for place, value in zip(places, values, strict=True):
                    try:
                        row[place] = makers[place](value)
                    except MisfitError as misfit:
                        name = list(table.columns)[place]
                        raise reader.error(f"row {number} of {table.qualified}, {name}: {misfit}") from None
                yield tuple(row)


def _statements(path: Path) -> Iterator[tuple[str | None, str, str]]:
    """(db_id where the row says it, place, statement) of all statements of a file."""
    content = read_bytes(path)
    try:
        whole = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        whole = None
    if isinstance(whole, dict) and "tables" in whole:
        yield from _table_form(path, whole["tables"])
        return
    for source, record in json_lines(path):
        database, table = record.get("db_id"), record.get("table")
        texts: object = [record["sql"]] if "sql" in record else record.get("insert_statements")
        if not (isinstance(database, str) and isinstance(table, str) and _all_text(texts)):
            raise UserError("is neither {'tables': …} nor a row with db_id, table and sql", source)
        for number, text in enumerate(texts, 1):
            yield database, f"line {source.line}, statement {number}", text


def _table_form(path: Path, tables: object) -> Iterator[tuple[str | None, str, str]]:
    if not isinstance(tables, dict):
        raise UserError("'tables' is not an object", at(path))
    for name, entry in tables.items():
        texts = entry.get("insert_statements") if isinstance(entry, dict) else None
        if not _all_text(texts):
            raise UserError(f"table {name}: needs a list of texts under 'insert_statements'", at(path))
        database = entry.get("source_database")
        for number, text in enumerate(texts, 1):
            yield database if isinstance(database, str) else None, f"table {name}, statement {number}", text


def _all_text(texts: object) -> TypeGuard[list[str]]:
    return isinstance(texts, list) and all(isinstance(text, str) for text in texts)


def _head(path: Path, place: str, text: str) -> Insert:
    reader = _InsertReader(Insert(None, "", text, place, path), at(path))
    return Insert(*reader.target, text, place, path)


class _InsertReader:
    """Reads ``INSERT INTO [schema.]table [(columns)] VALUES (…), (…)`` token by token."""

    def __init__(self, insert: Insert, source: Source) -> None:
        self._insert = insert
        self._source = source
        self._tokens = iter(Lexer(insert.text, "oracle", significant=True))
        self._token = next(self._tokens, None)
        self._word("INSERT")
        self._word("INTO")
        name = self._name()
        self.target: tuple[str | None, str] = (None, name)
        if self._is("."):
            self._step()
            self.target = (name, self._name())

    def error(self, message: str) -> UserError:
        return UserError(f"{self._insert.place}: {message}", self._source)

    def columns(self) -> list[str]:
        names: list[str] = []
        if self._is("("):
            self._step()
            names.append(self._name())
            while self._is(","):
                self._step()
                names.append(self._name())
            self._expect(")")
        return names

    def values(self) -> Iterator[list[Given]]:
        self._word("VALUES")
        while True:
            self._expect("(")
            row = [self._value()]
            while self._is(","):
                self._step()
                row.append(self._value())
            self._expect(")")
            yield row
            if not self._is(","):
                break
            self._step()
        if self._is(";"):
            self._step()
        if self._token is not None:
            raise self._unexpected("the end of the statement")

    def _value(self) -> Given:
        token = self._step()
        if token.kind == "number":
            return Decimal(token.text.rstrip("fFdD"))
        if token.kind == "string":
            return string_content(token, "oracle") or ""
        if token.kind == "punct" and token.text in {"-", "+"}:
            number = self._step()
            if number.kind == "number":
                return Decimal(token.text + number.text.rstrip("fFdD"))
        elif token.kind == "word":
            if token.value == "NULL":
                return None
            if token.value in _MOMENT_WORDS:
                return self._moment(token)
            if token.value == "TO_CLOB":
                return self._clob()
        raise self._unexpected("a value", token)

    def _clob(self) -> str:
        text = ""
        while True:
            self._expect("(")
            text += self._string()
            self._expect(")")
            if not self._is("||"):
                return text
            self._step()
            self._word("TO_CLOB")

    def _moment(self, word: Token) -> datetime:
        if word.value in {"DATE", "TIMESTAMP"}:
            text = self._string()
            moment = as_moment(text)
        else:
            self._expect("(")
            text = self._string()
            self._expect(",")
            pattern = _FORMATS.get(self._string().upper())
            self._expect(")")
            try:
                moment = datetime.strptime(text, pattern) if pattern else None  # noqa: DTZ007 (DATE has no zone)
            except ValueError:
                moment = None
        if moment is None:
            raise self.error(f"{word.text} of {text!r} is not read")
        return moment

    # ---- tokens ----------------------------------------------------------------------------------

    def _is(self, text: str) -> bool:
        return self._token is not None and self._token.kind == "punct" and self._token.text == text

    def _step(self) -> Token:
        token = self._token
        if token is None:
            raise self.error("the statement ends too early")
        self._token = next(self._tokens, None)
        return token

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise self._unexpected(text)
        self._step()

    def _word(self, word: str) -> None:
        if self._token is None or self._token.kind != "word" or self._token.value != word:
            raise self._unexpected(word)
        self._step()

    def _name(self) -> str:
        token = self._step()
        if token.kind not in {"word", "quoted"}:
            raise self._unexpected("a name", token)
        return exact_word(token.text)

    def _string(self) -> str:
        token = self._step()
        if token.kind != "string":
            raise self._unexpected("a text", token)
        return string_content(token, "oracle") or ""

    def _unexpected(self, wanted: str, found: Token | None = None) -> UserError:
        token = found or self._token
        shown = repr(token.text[:40]) if token else "the end"
        return self.error(
            f"expected {wanted}, found {shown}: only INSERT … VALUES rows of constants are read"
        )
