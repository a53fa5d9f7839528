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


HELPER = "CREATE OR REPLACE FUNCTION width_of(s span) RETURNS integer LANGUAGE sql AS 'SELECT "
REPLACING = {
    "at once": f"{WRONG}\n{HELPER}8';",
    "dropped and made again": f"{WRONG}\nDROP FUNCTION width_of(span);\n{HELPER}8';",
    "by an overload": """CREATE TYPE mine AS (low integer);
CREATE FUNCTION width_of(s mine) RETURNS integer LANGUAGE sql AS 'SELECT 8';
CREATE FUNCTION widest(spans span[]) RETURNS mine LANGUAGE sql AS 'SELECT ROW(1)::mine';""",
    "when it is called": """CREATE FUNCTION widest(spans span[]) RETURNS span LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'CREATE OR REPLACE FUNCTION width_of(s span) RETURNS integer LANGUAGE sql AS ''SELECT 8''';
  RETURN spans[1];
END;
$$;""",
}
BACK = "CREATE OR REPLACE FUNCTION width_of(s span) RETURNS integer LANGUAGE sql AS ''SELECT s.high - s.low''"
REPLACING["replaced and put back when it is called"] = f"""
CREATE FUNCTION widest(spans span[]) RETURNS span LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE '{BACK}';
  RETURN spans[1];
END;
$$;"""
REPLACING["put back by itself"] = f"""{WRONG}
CREATE OR REPLACE FUNCTION width_of(s span) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE '{BACK}';
  RETURN 8;
END;
$$;"""
COPY = pytest.mark.parametrize("commits", ["", "\nCOMMIT;"], ids=["rolled back", "in a copy"])


@COPY
@pytest.mark.parametrize("program", REPLACING.values(), ids=REPLACING.keys())
def test_what_replaces_an_object_of_the_setup_is_flagged(
    grade: Callable[..., TurnResult], program: str, commits: str
) -> None:
    result = grade(TASK, 1, program + commits)
    assert result.status == "graded"
    assert result.flags == (("isolated_copy", "setup_replaced") if commits else ("setup_replaced",))


@COPY
@pytest.mark.parametrize(
    "more",
    [
        "",
        f"{HELPER}s.high - s.low';",
        "CREATE FUNCTION other(span) RETURNS integer LANGUAGE sql AS 'SELECT 1';",
        "CREATE TABLE mine (s span);",
    ],
)
def test_what_leaves_the_setup_as_it_is_has_no_flag(
    grade: Callable[..., TurnResult], more: str, commits: str
) -> None:
    result = grade(TASK, 1, f"{WRONG}\n{more}{commits}")
    assert result.flags == (("isolated_copy",) if commits else ())


DATA = """
id: stock
subset: functions
variants:
  postgres:
    prompt: Write take(n).
    setup: |
      CREATE TYPE state AS ENUM ('full', 'empty');
      CREATE DOMAIN amount AS integer CHECK (VALUE >= 0);
      CREATE TABLE shelf (item integer, n amount, s state DEFAULT 'full');
      CREATE VIEW seen AS SELECT item, n FROM shelf;
      INSERT INTO shelf VALUES (1, 10);
    reference: |
      CREATE FUNCTION take(k integer) RETURNS integer LANGUAGE sql AS
      'UPDATE shelf SET n = n - k RETURNING n';
    tests:
      - name: three
        calls: ["SELECT take(3);", "SELECT n FROM seen;"]
"""
TAKE = """CREATE FUNCTION take(k integer) RETURNS integer LANGUAGE sql AS
'UPDATE shelf SET n = n - k RETURNING n';"""


@pytest.mark.parametrize(
    ("more", "flagged"),
    [
        ("", False),
        ("INSERT INTO shelf VALUES (2, 1); DELETE FROM shelf WHERE item = 2;", False),
        ("CREATE OR REPLACE VIEW seen AS SELECT item, 7::integer::amount AS n FROM shelf;", True),
        ("CREATE TEMPORARY TABLE seen AS SELECT 1 AS item, 7 AS n;", True),
        ("ALTER TABLE shelf ADD COLUMN more integer;", True),
        ("ALTER TYPE state RENAME VALUE 'empty' TO 'void';", True),
        ("ALTER DOMAIN amount DROP CONSTRAINT amount_check;", True),
        ("DROP VIEW seen;", True),
    ],
)
def test_every_kind_of_object_is_looked_after(
    grade: Callable[..., TurnResult], more: str, flagged: bool
) -> None:
    result = grade(DATA, 1, f"{TAKE}\n{more}")
    assert result.status == "graded"
    assert ("setup_replaced" in result.flags) == flagged
