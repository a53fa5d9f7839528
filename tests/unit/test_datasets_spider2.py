"""Spider2-ST and Spider2-MT: rows into tasks and conversations, vacuous tests, databases of the release."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_plsqlbench.bench.task import Comparison, Task, UserError
from pytest_plsqlbench.datasets.dataset import Dataset
from pytest_plsqlbench.datasets.plsqlbench.spider2 import read_spider2
from pytest_plsqlbench.datasets.plsqlbench.spider2_calls import read_answer, vacuity
from pytest_plsqlbench.datasets.readers import load_path, reader_of
from pytest_plsqlbench.sql.units import read_program

DATA = Path(__file__).resolve().parent.parent / "data" / "plsqlbench"
FUNCTION = "CREATE OR REPLACE FUNCTION f(p NUMBER) RETURN NUMBER IS\nBEGIN\n  RETURN p;\nEND;\n/\n"
PACKAGE = (
    "CREATE OR REPLACE PACKAGE pk IS\n  PROCEDURE p;\nEND;\n/\n"
    "CREATE OR REPLACE PACKAGE BODY pk IS\n  PROCEDURE p IS\n  BEGIN\n    NULL;\n  END;\nEND;\n/\n"
)
BLOCK = "BEGIN\n  DBMS_OUTPUT.PUT_LINE('x');\nEND;\n/"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))


def row(number: int = 1, **changes: Any) -> dict[str, Any]:
    record = {
        "instance_id": f"s_{number}",
        "db_id": "orchard",
        "tables": ["ORCHARD.TREES"],
        "question": "Write f.",
        "reference_answer": FUNCTION,
        "tests": ["SELECT f(1) FROM dual;"],
    } | changes
    return {key: value for key, value in record.items() if value is not ...}


def turn(conversation: str, index: int, count: int | None = None, **changes: Any) -> dict[str, Any]:
    more = {"conversation_id": conversation, "turn_index": index, "turn_count": count}
    return row(instance_id=f"{conversation}_q{index:02d}") | more | changes


def read(folder: Path, *rows: dict[str, Any], name: str = "spider2.jsonl") -> Dataset:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in rows), encoding="utf-8")
    return read_spider2(path)


def notes(dataset: Dataset) -> list[tuple[str, ...]]:
    return [turn.notes for task in dataset.tasks for turn in task.turns]


# ---- rows -----------------------------------------------------------------------------------------


def test_a_row_becomes_a_task(tmp_path: Path) -> None:
    scripts = ["SET SERVEROUTPUT ON\nEXEC p", "BEGIN\n  p;\nEND;"]
    (task,) = read(
        tmp_path, row(reference_answer="CREATE PROCEDURE p IS\nBEGIN\n  NULL;\nEND;", tests=scripts)
    ).tasks
    assert (task.id, task.subset, task.dialect, task.database) == ("s_1", "spider2_st", "oracle", "orchard")
    assert (task.conversation, task.turn_count, task.source.line) == (False, None, 1)
    (only,) = task.turns
    assert (only.index, only.id, only.prompt, only.notes, only.strict_tests) == (1, "s_1", "Write f.", (), ())
    assert only.reference == "CREATE PROCEDURE p IS\nBEGIN\n  NULL;\nEND;"
    assert [test.name for test in only.tests] == ["test 1", "test 2"]
    assert [test.calls for test in only.tests] == [(script,) for script in scripts]
    for test in only.tests:
        assert test.compare == (Comparison("lines"), Comparison("list"))
        assert (test.may_fail, test.on_error, test.expect) == (True, "stop", None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"instance_id": ...}, "needs a text under the key 'instance_id'"),
        ({"db_id": ""}, "needs a text under the key 'db_id'"),
        ({"reference_answer": None}, "needs a text under the key 'reference_answer'"),
        ({"tests": []}, "tests: must be a list with at least one script"),
        ({"tests": "SELECT 1"}, "tests: must be a list with at least one script"),
        ({"tests": ["SELECT 1", " "]}, "tests: test 2 is not a script"),
        ({"tests": [3]}, "tests: test 1 is not a script"),
        ({"turn_index": 1}, "conversation_id: is missing beside turn_index"),
        ({"conversation_id": "c"}, "turn_index: is missing beside conversation_id"),
        (
            {"instance_id": "c_q01", "conversation_id": "c", "turn_index": 2},
            "instance_id 'c_q01' is not that of turn 2 of conversation 'c'",
        ),
        (
            {"instance_id": "d_q01", "conversation_id": "c", "turn_index": 1},
            "instance_id 'd_q01' is not that of turn 1 of conversation 'c'",
        ),
        ({"conversation_id": 4, "turn_index": 1}, "needs a text under the key 'conversation_id'"),
        ({"conversation_id": "c", "turn_index": 0}, "turn_index: must be a whole number from 1"),
        ({"conversation_id": "c", "turn_index": True}, "turn_index: must be a whole number from 1"),
        ({"conversation_id": "c", "turn_index": 1, "turn_count": "3"}, "turn_count: must be a whole number"),
    ],
)
def test_a_wrong_row_is_told_with_its_place(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=rf"spider2\.jsonl:2: {message}"):
        read(tmp_path, row(1), row(2, **changes))


def test_ids_are_unique(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"jsonl:2: task id 's_1' is already used"):
        read(tmp_path, row(1), row(1))
    with pytest.raises(UserError, match="turn id 'x' is already used"):
        read(tmp_path, turn("a", 1, instance_id="x"), turn("b", 1, instance_id="x"))


@pytest.mark.parametrize(
    ("name", "made", "subset"),
    [
        ("spider2_st.jsonl", row(), "spider2_st"),
        ("spider2_st_test.jsonl", row(), "spider2_st_test"),
        ("spider2_mt.jsonl", turn("c", 1), "spider2_mt"),
        ("spider2_mt-test.jsonl", turn("c", 1), "spider2_mt_test"),
        ("latest.jsonl", row(), "spider2_st"),
    ],
)
def test_a_holdout_of_the_same_form_is_a_subset_of_its_own(
    tmp_path: Path, name: str, made: dict[str, Any], subset: str
) -> None:
    (task,) = read(tmp_path, made, name=name).tasks
    assert task.subset == subset


# ---- conversations --------------------------------------------------------------------------------


def test_turns_are_grouped_and_put_in_order(tmp_path: Path) -> None:
    dataset = read(tmp_path, turn("b", 2, 2), row(9), turn("a", 1, 1), turn("b", 1, 2))
    assert [task.id for task in dataset.tasks] == ["b", "s_9", "a"]
    talk = dataset.tasks[0]
    assert [(t.index, t.id) for t in talk.turns] == [(1, "b_q01"), (2, "b_q02")]
    assert (talk.conversation, talk.subset, talk.source.line) == (True, "spider2_mt", 4)
    assert dataset.notes == ()
    assert [task.turn_count for task in dataset.tasks] == [None, None, None]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([turn("c", 1), turn("c", 1)], r":2: turn 1 of conversation 'c' is already at .*jsonl:1"),
        ([turn("c", 1, 3), turn("c", 3, 3)], r":2: conversation 'c' has no turn 2 before this one"),
        ([turn("c", 2)], r":1: conversation 'c' has no turn 1 before this one"),
        ([turn("c", 1, 1), turn("c", 2, 1)], r":2: turn 2 of conversation 'c', which has 1 turn$"),
        ([turn("c", 1, 2), turn("c", 2, 3)], r":2: turn_count 3 is not that of conversation 'c', 2"),
        (
            [turn("c", 1), turn("c", 2, db_id="x")],
            r":2: db_id 'x' is not that of conversation 'c', 'orchard'",
        ),
    ],
)
def test_a_conversation_with_a_hole_is_a_fault(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read(tmp_path, *rows)


def test_a_conversation_that_is_cut_short_is_read_and_counted_as_incomplete(tmp_path: Path) -> None:
    dataset = read(tmp_path, turn("c", 1, 3), turn("c", 2, 3), turn("whole", 1, 1))
    assert [task.turn_count for task in dataset.tasks] == [3, None]
    (note,) = dataset.notes
    assert note.endswith("1 conversations lack their last turns (c): their episodes enter no metric")
    again = read_spider2(tmp_path / "spider2.jsonl")
    assert again.notes == dataset.notes
    assert again.tasks == dataset.tasks


# ---- vacuous tests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "names", "certain", "runs"),
    [
        (FUNCTION, {"F"}, True, False),
        (PACKAGE, {"PK"}, True, False),
        (BLOCK, set(), True, True),
        (FUNCTION + BLOCK, {"F"}, True, True),
        ("CREATE VIEW v AS SELECT 1 AS a FROM dual;", {"V"}, True, False),
        ('CREATE PROCEDURE "Mixed" IS\nBEGIN\n  NULL;\nEND;', {"Mixed"}, True, False),
        ("CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW\nBEGIN\n  NULL;\nEND;\n/", set(), False, False),
        ("CREATE SEQUENCE s;", set(), False, False),
        ("SET SERVEROUTPUT ON\nSELECT 1 FROM dual;", set(), True, True),
    ],
)
def test_what_an_answer_offers(program: str, names: set[str], certain: bool, runs: bool) -> None:
    answer = read_answer(read_program(program, "oracle"))
    assert (set(answer.names), answer.certain, answer.runs) == (names, certain, runs)


CALLING = [
    "SELECT f(1) FROM dual;",
    "SELECT owner.f(1) FROM dual;",
    "EXEC DBMS_OUTPUT.PUT_LINE(F(1))",
    "BEGIN\n  IF 1 = 1 THEN RAISE_APPLICATION_ERROR(-20001, 'x'); END IF;\n  x := f(1);\nEND;",
    "BEGIN\n  RAISE NO_DATA_FOUND;\nEXCEPTION\n  WHEN OTHERS THEN\n    x := f(1);\nEND;",
    "BEGIN\n  x := f(1);\n  RAISE NO_DATA_FOUND;\nEND;",
    "BEGIN\n  RAISE NO_DATA_FOUND;\nEXCEPTION\n  WHEN OTHERS THEN NULL;\nEND;\n/\nSELECT f(1) FROM dual;",
    "BEGIN\n  RETURN;\nEND;\n/\nSELECT f(1) FROM dual;",
    "BEGIN\n  EXECUTE IMMEDIATE 'BEGIN :1 := f(1); END;' USING OUT x;\nEND;",
    "DECLARE\n  FUNCTION g RETURN NUMBER IS\n  BEGIN\n    RETURN f(1);\n  END;\nBEGIN\n  x := g;\nEND;",
]


@pytest.mark.parametrize("test", CALLING)
def test_a_test_that_may_call_the_program_is_not_vacuous(test: str) -> None:
    assert vacuity(read_program(test, "oracle"), {"F"}) is None


@pytest.mark.parametrize(
    ("test", "reason"),
    [
        (FUNCTION + "SELECT f(1) FROM dual;", "defines f itself"),
        ("SELECT 1 FROM dual;", "calls nothing that the program defines"),
        ("SELECT 'f' AS g FROM dual; -- f(1)", "calls nothing that the program defines"),
        ("EXEC DBMS_OUTPUT.PUT_LINE('f(1)')", "calls nothing that the program defines"),
        (
            "DECLARE\n  FUNCTION f RETURN NUMBER IS\n  BEGIN\n    RETURN 1;\n  END;\nBEGIN\n  x := f;\nEND;",
            "calls nothing that the program defines",
        ),
        (
            "BEGIN\n  RAISE NO_DATA_FOUND;\n  x := f(1);\nEND;",
            "raises or returns before it calls the program",
        ),
        ("BEGIN\n  RETURN;\n  x := f(1);\nEND;", "raises or returns before it calls the program"),
        (
            "BEGIN\n  RAISE_APPLICATION_ERROR(-20001, 'x');\nEND;\n/\nSELECT f(1) FROM dual;",
            "raises or returns before it calls the program",
        ),
    ],
)
def test_a_vacuous_test_says_why(test: str, reason: str) -> None:
    assert vacuity(read_program(test, "oracle"), {"F"}) == reason


def test_an_answer_that_no_test_calls_is_flagged_and_has_a_strict_test(tmp_path: Path) -> None:
    dataset = read(tmp_path, row(reference_answer=BLOCK, tests=["SELECT 1 FROM dual;", BLOCK]))
    (only,) = dataset.tasks[0].turns
    assert only.notes == ("candidate_not_called: the answer defines nothing",)
    assert [test.name for test in only.tests] == ["test 1", "test 2"]
    (strict,) = only.strict_tests
    assert (strict.calls, strict.compare) == ((), (Comparison("lines"),))
    assert only.played_tests == (*only.tests, strict)


def test_a_routine_that_no_test_calls_prints_nothing_to_judge(tmp_path: Path) -> None:
    dataset = read(tmp_path, row(tests=["SELECT 1 FROM dual;"]))
    (only,) = dataset.tasks[0].turns
    assert only.notes == ("candidate_not_called: no test calls what the answer defines",)
    assert only.strict_tests == ()


def test_vacuous_tests_among_others_are_named(tmp_path: Path) -> None:
    tests = ["SELECT f(1) FROM dual;", "SELECT 1 FROM dual;", FUNCTION + "SELECT f(2) FROM dual;"]
    assert notes(read(tmp_path, row(tests=tests))) == [
        (
            "vacuous_test: test 2 calls nothing that the program defines",
            "vacuous_test: test 3 defines f itself",
        )
    ]


def test_a_trigger_may_show_in_any_test(tmp_path: Path) -> None:
    answer = "CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW\nBEGIN\n  NULL;\nEND;\n/"
    assert notes(read(tmp_path, row(reference_answer=answer, tests=["SELECT 1 FROM dual;"]))) == [()]


def test_a_later_turn_may_test_what_an_earlier_one_defined(tmp_path: Path) -> None:
    rows = [
        turn("c", 1),
        turn("c", 2, reference_answer=PACKAGE, tests=["EXEC pk.p", "SELECT f(1) FROM dual;"]),
        turn("c", 3, reference_answer=PACKAGE, tests=["SELECT f(1) FROM dual;"]),
    ]
    assert notes(read(tmp_path, *rows)) == [
        (),
        (),
        ("candidate_not_called: no test calls what the answer defines",),
    ]


def test_text_that_is_not_certain_is_noted(tmp_path: Path) -> None:
    dataset = read(tmp_path, row(tests=["SELECT f(1) FROM dual;\n@other.sql"]))
    assert [note.partition(",")[0] for note in notes(dataset)[0]] == ["text_fault: test 1"]


# ---- annotations and databases --------------------------------------------------------------------


def test_annotations_of_a_release_and_beside_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "datasets" / "spider2_st"
    folder.mkdir(parents=True)
    (tmp_path / "metadata").mkdir()
    one = {"instance_id": "s_1", "difficulty": "simple", "reasoning_types": ["A", "B"]}
    two = {"instance_id": "s_2", "difficulty": "odd", "reasoning_types": "A"}
    (tmp_path / "metadata" / "x.jsonl").write_text(json.dumps(one) + "\n" + json.dumps({"n": 1}))
    (folder / "st_metadata.jsonl").write_text(json.dumps(two))
    tasks = read(folder, row(1), row(2), row(3)).tasks
    assert [(t.difficulty, t.reasoning_types) for t in tasks] == [
        ("simple", ("A", "B")),
        ("odd", ()),
        (None, ()),
    ]
    (folder / "st_metadata.jsonl").write_text(json.dumps(two | {"difficulty": "hard"}))
    assert read_spider2(folder / "spider2.jsonl").tasks[1].difficulty == "hard"
    (folder / "st_metadata.jsonl").write_text("[]")
    with pytest.raises(UserError, match=r"st_metadata\.jsonl:1: is not a JSON object"):
        read_spider2(folder / "spider2.jsonl")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    shutil.copytree(DATA, tmp_path / "release")
    return tmp_path / "release"


def databases(root: Path) -> dict[str, list[list[tuple[str | None, ...]]]]:
    dataset = load_path(root / "datasets" / "spider2_st")
    found = {}
    for task in dataset.tasks:
        database = dataset.database(task)
        assert database is not None
        found[database.name] = [list(table.rows()) for table in database.data]
    return found


def test_databases_come_from_both_parts_in_row_form_and_table_form(release: Path) -> None:
    assert databases(release) == {
        "orchard": [[("1", "plum", "2019-03-02 00:00:00"), ("2", "fig", None), ("3", "plum", None)]],
        "weather": [[("2024-02-29", "11.5")]],
    }


def test_a_database_as_published(release: Path) -> None:
    dataset = load_path(release / "datasets" / "spider2_mt")
    database = dataset.database(dataset.tasks[0])
    assert database is not None
    assert (database.dialect, database.schemas) == ("oracle", ("ORCHARD",))
    assert [statement.text[:27] for statement in database.before] == ["CREATE TABLE ORCHARD.TREES "]
    assert database is dataset.database(dataset.tasks[1])


def test_only_the_rows_of_databases_that_are_named_are_needed(release: Path) -> None:
    (release / "schema/spider2_plsql/snowflake_sqlite/OUTPUT_DML_dev.jsonl").unlink()
    dataset = load_path(release / "datasets" / "spider2_mt")
    assert dataset.database(dataset.tasks[0]) is not None


def test_packed_schema_files_and_files_beside_the_tasks(release: Path) -> None:
    for file in list((release / "schema").rglob("*.jsonl")):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    packed = databases(release)
    assert len(packed) == 2
    folder = release / "datasets" / "spider2_st"
    for file in (release / "schema" / "spider2_plsql" / "bigquery").iterdir():
        shutil.move(file, folder)
    shutil.rmtree(release / "schema")
    dataset = load_path(folder)
    assert dataset.database(dataset.tasks[0]) is not None
    with pytest.raises(
        UserError, match=r"spider2_st\.jsonl:5: the database 'weather' is not in .*OUTPUT_DDL"
    ):
        dataset.database(dataset.tasks[4])


def ask(root: Path) -> None:
    dataset = load_path(root / "datasets" / "spider2_st")
    assert len(dataset.tasks) == 5
    dataset.database(dataset.tasks[0])


def test_missing_schema_files_are_told_when_a_database_is_asked_for(release: Path) -> None:
    bigquery = release / "schema" / "spider2_plsql" / "bigquery"
    (bigquery / "OUTPUT_DML_dev.jsonl").unlink()
    with pytest.raises(
        UserError, match=r"OUTPUT_DDL_dev\.jsonl: the file of rows OUTPUT_DML_dev\.jsonl is missing"
    ):
        ask(release)
    shutil.rmtree(bigquery)
    with pytest.raises(UserError, match=r"the database 'orchard' is not in .*snowflake_sqlite"):
        ask(release)
    shutil.rmtree(release / "schema")
    with pytest.raises(UserError, match=r"spider2_st\.jsonl: the release's schema files .* are missing"):
        ask(release)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"rows": []}', r"OUTPUT_DML_dev\.jsonl:1: is neither"),
        ('{"db_id": "ORCHARD", "table": "TREES", "sql": 3}', r"OUTPUT_DML_dev\.jsonl:1: is neither"),
        ("<html>", r"OUTPUT_DML_dev\.jsonl:1: is not JSON"),
        (
            '{"db_id": "ORCHARD", "table": "TREES", "sql": "UPDATE ORCHARD.TREES SET KIND = 1"}',
            r"OUTPUT_DML_dev\.jsonl: line 1, statement 1: expected INSERT, found 'UPDATE'",
        ),
    ],
)
def test_rows_of_another_form_are_a_clear_fault(release: Path, text: str, message: str) -> None:
    (release / "schema/spider2_plsql/bigquery/OUTPUT_DML_dev.jsonl").write_text(text)
    with pytest.raises(UserError, match=message):
        ask(release)


def test_tables_of_another_schema_are_noted(tmp_path: Path) -> None:
    dataset = read(tmp_path, row(tables=["ORCHARD.TREES", "Weather.Days", "x"]))
    assert notes(dataset) == [("other_schema: its tables lie in WEATHER, not only in orchard",)]


# ---- whole files ----------------------------------------------------------------------------------


def test_the_small_files_of_the_project() -> None:
    for subset in ("spider2_st", "spider2_mt"):
        file = DATA / "datasets" / subset / f"{subset}.jsonl"
        reader = reader_of(file)
        assert reader is not None
        assert reader.name == "PLSQLBench Spider2"
    tasks = {task.id: task for task in load_path(DATA / "datasets").tasks}
    assert len(tasks) == 7 + 5 + 2
    flagged = {note.partition(":")[0] for task in tasks.values() for t in task.turns for note in t.notes}
    assert flagged == {"candidate_not_called", "vacuous_test", "other_schema", "null_expected", "wide_number"}
    assert tasks["orchard-talk-1"].difficulty == "hard"
    assert tasks["orchard-talk-1"].reasoning_types == ("Data Retrieval", "Control Flow")


def test_every_record_of_the_real_sample_is_read(shared: Path) -> None:
    folder = shared / "data" / "plsqlbench_public_dev"
    tasks: dict[str, Task] = {}
    for name in ("spider2_st_2_transcribed.jsonl", "spider2_mt_3turns_transcribed.jsonl"):
        dataset = load_path(folder / name)
        tasks |= {task.id: task for task in dataset.tasks}
        records = [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        turns = {turn.id: turn for task in dataset.tasks for turn in task.turns}
        assert list(turns) == [record["instance_id"] for record in records]
        for record in records:
            only = turns[record["instance_id"]]
            assert only.reference == record["reference_answer"]
            assert [test.calls[0] for test in only.tests] == record["tests"]
            assert only.notes == ()
    assert tasks["spider2_single_turn_2"].difficulty == "simple"
    assert tasks["plsql-multiturn-0007"].turn_count == 3
