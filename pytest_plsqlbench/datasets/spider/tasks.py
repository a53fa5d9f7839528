"""Tasks of the Spider subset, made of its rows and its DDL: the slow part, whose results are cached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_plsqlbench.bench.task import DIALECTS, Comparison, Dialect, Source, Task, Test, Turn
from pytest_plsqlbench.datasets.plsqlbench.gold_query import GoldQuery, GoldReader, UntranslatableError
from pytest_plsqlbench.datasets.plsqlbench.oracle_gold import to_oracle
from pytest_plsqlbench.datasets.plsqlbench.schema import DdlRow, replay
from pytest_plsqlbench.datasets.spider.programs import (
    oracle_program,
    postgres_program,
    printed,
    prompt,
    question_of,
)
from pytest_plsqlbench.datasets.spider.translation import output_kinds, to_postgres

SUBSET = "spider"


@dataclass(frozen=True, slots=True)
class SpiderRow:
    """One row of the tasks file."""

    id: str
    database: str
    question: str
    gold: str
    source: Source


def build_tasks(
    rows: Iterable[SpiderRow], ddl: Sequence[DdlRow], notes: Mapping[str, Mapping[str, Any]]
) -> tuple[Task, ...]:
    """Two tasks of each row, for Oracle and for PostgreSQL.

    Args:
        rows: the tasks file.
        ddl: the DDL rows of their databases.
        notes: the release's annotations by instance id (``difficulty``, ``reasoning_types``).
    """
    golds = GoldReader(replay(ddl))
    return tuple(task for row in rows for task in _pair(row, golds, notes.get(row.id, {})))


def unsupported_tasks(rows: Iterable[SpiderRow], reason: str) -> tuple[Task, ...]:
    """Two tasks of each row, none of which can be judged, for one reason."""
    return tuple(task for row in rows for task in _both(row, None, reason, {}))


def _pair(row: SpiderRow, golds: GoldReader, notes: Mapping[str, Any]) -> Iterable[Task]:
    gold: GoldQuery | None = None
    reason: str | None = None
    try:
        gold = golds.read(row.gold, row.database.upper())
    except UntranslatableError as error:
        reason = str(error)
    yield from _both(row, gold, reason, notes)


def _both(
    row: SpiderRow, gold: GoldQuery | None, reason: str | None, notes: Mapping[str, Any]
) -> Iterable[Task]:
    difficulty, reasoning = notes.get("difficulty"), notes.get("reasoning_types")
    for dialect in DIALECTS:
        yield Task(
            id=row.id,
            subset=SUBSET,
            dialect=dialect,
            turns=(_turn(row, gold, reason, dialect),),
            source=row.source,
            database=row.database,
            title=question_of(row.question),
            difficulty=difficulty if isinstance(difficulty, str) else None,
            reasoning_types=tuple(map(str, reasoning)) if isinstance(reasoning, list) else (),
        )


def _turn(row: SpiderRow, gold: GoldQuery | None, reason: str | None, dialect: Dialect) -> Turn:
    # Oracle's request is the published one; it speaks of PL/SQL, so PostgreSQL's keeps the question alone.
    text = row.question if dialect == "oracle" else prompt(question_of(row.question), dialect)
    reference: str | None = None
    tests: tuple[Test, ...] = ()
    if gold is not None:
        try:
            reference, sql, with_ties = _oracle(gold) if dialect == "oracle" else _postgres(gold)
        except UntranslatableError as error:
            reason = str(error)
        else:
            rule = Comparison("permuted", order_keys=gold.order_keys, hidden_columns=len(gold.hidden))
            tests = (Test(name="rows", gold=sql, gold_with_ties=with_ties, compare=(rule,)),)
    return Turn(index=1, id=row.id, prompt=text, reference=reference, tests=tests, unsupported=reason)


def _postgres(gold: GoldQuery) -> tuple[str, str, str | None]:
    built = to_postgres(gold)
    return postgres_program(built.sql, built.columns), built.sql, built.with_ties


def _oracle(gold: GoldQuery) -> tuple[str, str, str | None]:
    built = to_oracle(gold)
    return oracle_program(gold.text, printed(output_kinds(gold))), built.sql, built.with_ties
