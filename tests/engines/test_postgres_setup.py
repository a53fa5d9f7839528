"""Native tasks with setup programs, graded on PostgreSQL: types that the tests use, installed first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_plsqlbench.bench.prediction import Prediction
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import Source
from pytest_plsqlbench.datasets.native.reader import read_yaml
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.protocol import Limits
from pytest_plsqlbench.grading.answers import Answers, gold_answers
from pytest_plsqlbench.grading.cache import ReferenceCache
from pytest_plsqlbench.grading.grader import Grader
from pytest_plsqlbench.grading.reference import ReferenceBook

TASK = """
id: spans
subset: functions
variants:
  postgres:
    setup:
      - CREATE TYPE span AS (low integer, high integer);
      - CREATE FUNCTION width_of(s span) RETURNS integer LANGUAGE sql AS 'SELECT s.high - s.low';
    turns:
      - prompt: Write widest(spans span[]).
        reference: &first |
          CREATE FUNCTION widest(spans span[]) RETURNS span LANGUAGE sql AS
          'SELECT s FROM unnest(spans) AS s ORDER BY width_of(s) DESC LIMIT 1';
        tests:
          - name: of two
            call: SELECT width_of(widest(ARRAY[(1, 2)::span, (1, 9)::span]));
      - prompt: Write narrow(s span).
        reference: |
          CREATE FUNCTION narrow(s span) RETURNS span LANGUAGE sql AS
          'SELECT (s.low + 1, s.high - 1)::span';
        tests:
          - name: after the first turn
            call: SELECT narrow(widest(ARRAY[(1, 2)::span, (1, 9)::span]));
"""
WRONG = """CREATE FUNCTION widest(spans span[]) RETURNS span LANGUAGE sql AS
'SELECT s FROM unnest(spans) AS s ORDER BY width_of(s) LIMIT 1';"""
OWN_TYPE = """CREATE TYPE span AS (low integer, high integer);
CREATE FUNCTION widest(spans span[]) RETURNS span LANGUAGE sql AS 'SELECT spans[1]';"""
COMMITS = """CREATE PROCEDURE nothing() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END; $$;
CREATE FUNCTION widest(spans span[]) RETURNS span LANGUAGE sql AS
'SELECT s FROM unnest(spans) AS s ORDER BY width_of(s) DESC LIMIT 1';
CALL nothing();"""


@pytest.fixture
def grade(
    engine: PostgresEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., TurnResult]]:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))
    book = ReferenceBook(ReferenceCache(tmp_path / "references"), Limits())
    grader = Grader(lambda _: engine, book, worker="setup", reading="published", limits=Limits())

    def run(text: str, turn: int, program: str | None = None) -> TurnResult:
        path = tmp_path / "task.yaml"
        path.write_text(text, encoding="utf-8")
        (task,) = read_yaml(path).tasks
        chosen = task.turns[turn - 1]
        answers = gold_answers(task, chosen)
        if program is not None:
            prediction = Prediction(id=task.id, turn=turn, program=program, source=Source("p", 1))
            answers = Answers(dict(answers.programs) | {turn: program}, prediction)
        return grader.grade(task, chosen, answers, lambda: None)

    yield run
    grader.close()


def test_the_references_pass_in_both_turns(grade: Callable[..., TurnResult]) -> None:
    for turn in (1, 2):
        result = grade(TASK, turn)
        assert (result.status, result.solved) == ("graded", True), result.reason


def test_a_wrong_program_fails_and_the_setup_does_not_hide_it(grade: Callable[..., TurnResult]) -> None:
    result = grade(TASK, 1, WRONG)
    assert (result.status, result.passed) == ("graded", 0)
    assert (result.tests[0].expected, result.tests[0].actual) == ("(8)", "(1)")


def test_a_program_that_defines_the_types_again_fails_itself(grade: Callable[..., TurnResult]) -> None:
    result = grade(TASK, 1, OWN_TYPE)
    assert (result.status, result.solved) == ("graded", False)
    assert result.diagnostics[0].code == "42710"


def test_the_setup_is_there_in_copies_too(grade: Callable[..., TurnResult]) -> None:
    result = grade(TASK, 1, COMMITS)
    assert (result.status, result.solved, result.flags) == ("graded", True, ("isolated_copy",))


def test_a_setup_that_fails_is_a_reference_error(grade: Callable[..., TurnResult]) -> None:
    broken = TASK.replace("CREATE TYPE span AS (low", "CREATE TYPE span AS (low nothing,")
    result = grade(broken, 1, WRONG)
    assert result.status == "reference_error"
    assert (result.reason or "").startswith("the task's setup does not run: 42")
