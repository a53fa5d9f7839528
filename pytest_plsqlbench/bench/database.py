"""Databases that tasks run on: structure and rows, already rendered for one dialect. Pure description."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pytest_plsqlbench.bench.task import Dialect, Source


@dataclass(frozen=True, slots=True)
class Statement:
    """One DDL or DML statement, without terminator, with where it came from."""

    text: str
    source: Source


@dataclass(frozen=True, slots=True)
class TableData:
    """Rows of one table, in the dialect's text form; None is NULL."""

    schema: str
    table: str
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[tuple[str | None, ...]]]
    source: Source


@dataclass(frozen=True, slots=True)
class Database:
    """A database: ``before`` (schemas, tables), then ``data``, then ``after`` (keys, indexes, views).

    Identifiers in ``schemas``, ``data`` are exact (already folded for the dialect).
    """

    name: str
    dialect: Dialect
    schemas: tuple[str, ...]
    """Schemas that hold the data; programs see them on their search path, after their own work schema."""
    before: tuple[Statement, ...]
    data: tuple[TableData, ...]
    after: tuple[Statement, ...]
    fingerprint: str
    """SHA-256 over everything above: equal fingerprints hold equal databases."""
    notes: tuple[str, ...] = field(default=())
