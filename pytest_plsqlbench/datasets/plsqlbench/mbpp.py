"""The reader of MBPP-PLSQL: functions without a database, tested by assertions.

Rows ``{"task_id", "entry_point_py", "test", "prompt", "prompt_py", "test_py", "canonical_solution_py",
"type_ddl_info"}``. The published solution is Python: there is no reference program. Each case of the test
block is a test that must end without an error; the types are installed before the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_plsqlbench.bench.task import Comparison, Expectation, Source, Task, Test, Turn, UserError
from pytest_plsqlbench.datasets.dataset import Dataset, check_unique
from pytest_plsqlbench.datasets.plsqlbench.mbpp_cases import CaseSplit, split_cases, wide_number
from pytest_plsqlbench.datasets.plsqlbench.release import CODE, Annotations, annotation_files, subset_of
from pytest_plsqlbench.datasets.task_cache import remembered
from pytest_plsqlbench.datasets.textfile import json_lines, text_fields
from pytest_plsqlbench.sql.references import read_references

SUBSET = "mbpp"
_PRIVATE = {"plus": "mbpp_plus", "mbppplus": "mbpp_plus", "+": "mbpp_plus"}
_NUMBER_DIGITS = 38
"""Digits that Oracle's NUMBER is sure to keep (Database Reference, "Datatype Limits")."""


def read_mbpp(path: Path) -> Dataset:
    """Read the tasks of a file.

    Raises:
        UserError: the file cannot be read or a row is wrong, with file and line.
    """
    subset = subset_of(path, SUBSET, _PRIVATE)
    annotations = annotation_files(path)
    return Dataset(remembered(path, annotations, CODE, lambda: _build(path, subset, annotations)))


def _build(path: Path, subset: str, annotation_files: Sequence[Path]) -> tuple[Task, ...]:
    annotations = Annotations(annotation_files)
    tasks = tuple(_task(record, subset, annotations, source) for source, record in json_lines(path))
    check_unique(tasks)
    return tasks


def _task(record: dict[str, Any], subset: str, annotations: Annotations, source: Source) -> Task:
    number = record.get("task_id")
    if isinstance(number, int) and not isinstance(number, bool):
        record = record | {"task_id": str(number)}
    identity, block, prompt = text_fields(record, ("task_id", "test", "prompt"), source)
    split = split_cases(block)
    tests = tuple(
        Test(
            name=case.name,
            calls=(case.script,),
            compare=(Comparison("outcome"),),
            expect=Expectation(),
            vacuous_line=split.vacuous_line,
        )
        for case in split.cases
    )
    turn = Turn(
        index=1,
        id=identity,
        prompt=prompt,
        reference=None,
        tests=tests,
        setup=_types(record.get("type_ddl_info"), source),
        notes=tuple(_notes(record, block, split)),
    )
    return Task(
        id=identity,
        subset=subset,
        dialect="oracle",
        turns=(turn,),
        source=source,
        title=record.get("entry_point_py") if isinstance(record.get("entry_point_py"), str) else None,
        difficulty=annotations.difficulty(identity),
        reasoning_types=annotations.reasoning_types(identity),
    )


def _types(given: Any, source: Source) -> tuple[str, ...]:
    """The statements of ``[[name, CREATE TYPE …], …]``, in order."""
    if given is None:
        return ()
    pairs = given if isinstance(given, list) else None
    statements = []
    for pair in pairs if pairs is not None else (None,):
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
            raise UserError("type_ddl_info: must be a list of [name, CREATE TYPE statement]", source)
        statements.append(f"{pair[1].strip()}\n/")
    return tuple(statements)


def _notes(record: dict[str, Any], block: str, split: CaseSplit) -> Iterator[str]:
    """Findings about the published test, ``code: sentence``."""
    if split.whole is not None:
        yield f"not_split: {split.whole}; its cases count as one test"
    if split.vacuous_line is None:
        yield "null_not_observed: whether an assertion compared with NULL is not seen in this block"
    if nulls := [case.name for case in split.cases if case.null_expected]:
        yield f"null_expected: {', '.join(nulls)} expects a NULL, which the published assertion cannot tell"
    if (digits := wide_number(block)) > _NUMBER_DIGITS:
        yield f"wide_number: a number of {digits} digits, of which NUMBER keeps {_NUMBER_DIGITS} to 40"
    name = record.get("entry_point_py")
    if isinstance(name, str) and name.strip():
        called = {reference.path[-1] for reference in read_references(block, "oracle")}
        if name.strip().upper() not in called and name.strip() not in called:
            yield f"candidate_not_called: the test does not call {name.strip()}"
