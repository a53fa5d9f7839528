"""The reader of Spider2-ST and Spider2-MT: PL/SQL on given databases, single requests and conversations.

Rows ``{"instance_id", "db_id", "tables", "question", "reference_answer", "tests"}``, in conversations also
``"conversation_id", "turn_index", "turn_count"``, one row a turn. A test is a SQL*Plus script; what it must
show is what it shows after the reference answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.task import Comparison, Source, Task, Test, Turn, UserError
from pytest_plsqlbench.datasets.dataset import Dataset, at, check_unique
from pytest_plsqlbench.datasets.plsqlbench.release import (
    CODE,
    Annotations,
    annotation_files,
    spider2_databases,
    subset_of,
    whole_number,
)
from pytest_plsqlbench.datasets.plsqlbench.spider2_calls import read_answer, text_faults, vacuity
from pytest_plsqlbench.datasets.task_cache import remembered
from pytest_plsqlbench.datasets.textfile import json_lines, text_fields
from pytest_plsqlbench.sql.units import Program, read_program

_KEYS = ("instance_id", "db_id", "question", "reference_answer")
_SINGLE, _TALK = "spider2_st", "spider2_mt"
_TURN_ID = re.compile(r"(.+)_q([0-9]{1,4})", re.DOTALL)
"""As the release names a turn; other ids say nothing of their turn."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of a file."""

    id: str
    database: str
    question: str
    answer: str
    tests: tuple[str, ...]
    tables: tuple[str, ...]
    source: Source
    conversation: str | None
    index: int
    count: int | None


def read_spider2(path: Path) -> Dataset:
    """Read the tasks of a file, single requests or conversations.

    The schema files are looked for when the first database is asked for (``schema/spider2_plsql`` beside the
    release's ``datasets``).

    Raises:
        UserError: the file cannot be read, a row is wrong, or a conversation lacks or repeats a turn; with
            file and line.
    """
    annotations = annotation_files(path)
    tasks = remembered(path, annotations, CODE, lambda: _build(path, annotations))
    names = {task.database for task in tasks if task.database is not None}
    cut = [task.id for task in tasks if task.turn_count is not None]
    return Dataset(tasks, spider2_databases(path, names), tuple(_cut_note(path, cut)))


def _build(path: Path, annotation_files: Sequence[Path]) -> tuple[Task, ...]:
    annotations = Annotations(annotation_files)
    talks: dict[str, list[_Row]] = {}
    order: list[str | _Row] = []
    for source, record in json_lines(path):
        row = _row(record, source)
        if row.conversation is None:
            order.append(row)
        else:
            if row.conversation not in talks:
                order.append(row.conversation)
            talks.setdefault(row.conversation, []).append(row)
    tasks = []
    for entry in order:
        if isinstance(entry, _Row):
            tasks.append(_task(entry.id, [entry], None, path, annotations))
        else:
            rows, count = _in_order(entry, talks[entry])
            tasks.append(_task(entry, rows, count, path, annotations))
    check_unique(tasks)
    return tuple(tasks)


def _cut_note(path: Path, cut: Sequence[str]) -> Iterator[str]:
    if cut:
        shown = ", ".join(cut[:3]) + (" …" if len(cut) > 3 else "")
        yield (
            f"{at(path)}: {len(cut)} conversations lack their last turns ({shown}):"
            " their episodes enter no metric"
        )


def _row(record: dict[str, Any], source: Source) -> _Row:
    identity, database, question, answer = text_fields(record, _KEYS, source)
    tests = record.get("tests")
    if not isinstance(tests, list) or not tests:
        raise UserError("tests: must be a list with at least one script", source)
    for number, test in enumerate(tests, 1):
        if not isinstance(test, str) or not test.strip():
            raise UserError(f"tests: test {number} is not a script", source)
    tables = record.get("tables")
    conversation = record.get("conversation_id")
    index = whole_number(record, "turn_index", source)
    if conversation is None:
        if index is not None:
            raise UserError("conversation_id: is missing beside turn_index", source)
    else:
        (conversation,) = text_fields(record, ("conversation_id",), source)
        if index is None:
            raise UserError("turn_index: is missing beside conversation_id", source)
        told = _TURN_ID.fullmatch(identity)
        if told and (told[1], int(told[2])) != (conversation, index):
            raise UserError(
                f"instance_id {identity!r} is not that of turn {index} of conversation {conversation!r}",
                source,
            )
    return _Row(
        id=identity,
        database=database,
        question=question,
        answer=answer,
        tests=tuple(tests),
        tables=tuple(map(str, tables)) if isinstance(tables, list) else (),
        source=source,
        conversation=conversation,
        index=index or 1,
        count=whole_number(record, "turn_count", source),
    )


def _in_order(conversation: str, rows: Sequence[_Row]) -> tuple[list[_Row], int | None]:
    """The turns of a conversation by index, and how many it should have where the last ones are missing.

    Raises:
        UserError: a turn stands twice, one before the last is missing, or the rows contradict each other.
    """
    turns: dict[int, _Row] = {}
    first = rows[0]
    for row in rows:
        other = turns.setdefault(row.index, row)
        if other is not row:
            what = f"turn {row.index} of conversation {conversation!r} is already at {other.source}"
            raise UserError(f"{what}: each turn has one row", row.source)
        if row.database != first.database:
            what = f"db_id {row.database!r} is not that of conversation {conversation!r}, {first.database!r}"
            raise UserError(f"{what} ({first.source})", row.source)
        if row.count != first.count:
            what = f"turn_count {row.count} is not that of conversation {conversation!r}, {first.count}"
            raise UserError(f"{what} ({first.source})", row.source)
    ordered = [turns[index] for index in sorted(turns)]
    last = ordered[-1]
    if missing := [index for index in range(1, last.index) if index not in turns]:
        raise UserError(
            f"conversation {conversation!r} has no turn {missing[0]} before this one", last.source
        )
    if first.count is not None and last.index > first.count:
        length = numbered(first.count, "turn")
        raise UserError(
            f"turn {last.index} of conversation {conversation!r}, which has {length}", last.source
        )
    return ordered, first.count if first.count is not None and last.index < first.count else None


def _task(
    identity: str, rows: Sequence[_Row], count: int | None, path: Path, annotations: Annotations
) -> Task:
    first = rows[0]
    talk = first.conversation is not None
    turns = []
    earlier: set[str] = set()
    for row in rows:
        answer = read_program(row.answer, "oracle")
        turns.append(_turn(row, answer, frozenset(earlier)))
        earlier |= read_answer(answer).names
    subset = _TALK if talk else _SINGLE
    ids = (identity, *(row.id for row in rows))
    return Task(
        id=identity,
        subset=subset_of(path, subset, {"test": f"{subset}_test"}),
        dialect="oracle",
        turns=tuple(turns),
        source=first.source,
        database=first.database,
        conversation=talk,
        turn_count=count,
        difficulty=annotations.difficulty(*ids),
        reasoning_types=annotations.reasoning_types(*ids),
    )


def _turn(row: _Row, answer: Program, earlier: frozenset[str]) -> Turn:
    """One turn; ``earlier``: names that the answers of earlier turns define."""
    offered = read_answer(answer)
    tests = [read_program(test, "oracle") for test in row.tests]
    notes = [f"text_fault: the answer, {fault}" for fault in text_faults(answer)]
    for number, test in enumerate(tests, 1):
        notes += [f"text_fault: test {number}, {fault}" for fault in text_faults(test)]
    strict: tuple[Test, ...] = ()
    if offered.certain:
        vacuous = [vacuity(test, offered.names) for test in tests]
        if all(vacuous):
            why = "no test calls what the answer defines" if offered.names else "the answer defines nothing"
            notes.append(f"candidate_not_called: {why}")
            if offered.runs:
                strict = (
                    Test(name="printed while installed", compare=(Comparison("lines"),), may_fail=True),
                )
        else:
            if earlier:
                vacuous = [vacuity(test, offered.names | earlier) for test in tests]
            notes += [f"vacuous_test: test {n} {reason}" for n, reason in enumerate(vacuous, 1) if reason]
    schemas = {name.partition(".")[0].upper() for name in row.tables if "." in name}
    if others := sorted(schemas - {row.database.upper()}):
        notes.append(f"other_schema: its tables lie in {', '.join(others)}, not only in {row.database}")
    return Turn(
        index=row.index,
        id=row.id,
        prompt=row.question,
        reference=row.answer,
        tests=tuple(
            Test(
                name=f"test {number}",
                calls=(script,),
                compare=(Comparison("lines"), Comparison("list")),
                may_fail=True,
            )
            for number, script in enumerate(row.tests, 1)
        ),
        strict_tests=strict,
        notes=tuple(notes),
    )
