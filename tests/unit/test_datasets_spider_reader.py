"""The Spider reader: a release where it lies, the tasks of both dialects, the databases, the cache."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Dialect, Task, UserError
from pytest_plsqlbench.datasets.dataset import Dataset
from pytest_plsqlbench.datasets.readers import load_path
from pytest_plsqlbench.datasets.spider import reader as spider
from pytest_plsqlbench.datasets.spider.reader import read_spider

DDL = [
    (
        "Zoo_1",
        """CREATE TABLE ZOO_1.ANIMAL ("ID" NUMBER, "NAME" VARCHAR2(20), "SIZE" CHAR(5) NOT NULL, "BORN" DATE,
        CONSTRAINT P PRIMARY KEY ("ID"), FOREIGN KEY ("ID") REFERENCES ZOO_1.X ("ID"))""",
    ),
    ("ZOO_1", "ALTER TABLE ZOO_1.ANIMAL DROP COLUMN NAME"),
    ("ZOO_1", 'ALTER TABLE ZOO_1.ANIMAL ADD "NAME" VARCHAR2(30)'),
    ("ZOO_1", 'CREATE TABLE ZOO_1.FILM ("ID" NUMBER, "DATA" BLOB)'),
    ("ZOO_1", "CREATE TABLE OTHER.ANIMAL (ID NUMBER)"),
    ("SHOP", "CREATE TABLE SHOP.ANIMAL (ID NUMBER)"),
]
INSERT = (
    'INSERT INTO ZOO_1.ANIMAL ("ID", "NAME", "SIZE", "BORN") VALUES (1, \'cat\', \'S \', DATE \'2020-02-29\')'
)
GOLD = "SELECT NAME FROM ZOO_1.ANIMAL ORDER BY ID DESC FETCH FIRST 1 ROWS ONLY"
QUESTION = "Which animal came last?\nWrite PL/SQL code.\n\nOutput requirements:\n- one line a row"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))


def row(number: int = 0, **changes: Any) -> dict[str, Any]:
    record = {
        "instance_id": f"spider_{number}",
        "db_id": "zoo_1",
        "tables": ["ZOO_1.ANIMAL"],
        "question": QUESTION,
        "reference_answer": "BEGIN\n  NULL;\nEND;\n /",
        "gold_sql_query": GOLD,
    }
    return record | changes


def release(root: Path, *rows: dict[str, Any], packed: bool = False) -> Path:
    """Write a release; the path of its tasks."""
    suffix = ".gz" if packed else ""
    ddl = [{"db_id": db, "table": "OLD_NAME", "sql": sql} for db, sql in DDL]
    dml = {"metadata": {}, "tables": {"ANIMAL": {"insert_statements": [INSERT]}}}
    texts = {
        f"schema/spider/spider_ddl.jsonl{suffix}": "\n".join(map(json.dumps, ddl)),
        f"schema/spider/spider_dml.json{suffix}": json.dumps(dml),
        "datasets/spider/spider1.jsonl": "\n".join(map(json.dumps, rows)) + "\n",
    }
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return root / "datasets" / "spider" / "spider1.jsonl"


def task_of(dataset: Dataset, dialect: Dialect) -> Task:
    return next(task for task in dataset.tasks if task.dialect == dialect)


def database_of(dataset: Dataset, dialect: Dialect) -> Database:
    found = dataset.database(task_of(dataset, dialect))
    assert found is not None
    return found


def test_each_row_becomes_a_task_of_each_dialect(tmp_path: Path) -> None:
    dataset = read_spider(release(tmp_path, row(0), row(1)))
    assert [(task.id, task.dialect) for task in dataset.tasks] == [
        ("spider_0", "oracle"),
        ("spider_0", "postgres"),
        ("spider_1", "oracle"),
        ("spider_1", "postgres"),
    ]
    assert {task.subset for task in dataset.tasks} == {"spider"}
    assert {task.database for task in dataset.tasks} == {"zoo_1"}


def test_the_test_of_a_task(tmp_path: Path) -> None:
    task = task_of(read_spider(release(tmp_path, row())), "postgres")
    assert task.title == "Which animal came last?"
    (turn,) = task.turns
    assert turn.unsupported is None
    assert turn.prompt.startswith("Which animal came last?\n")
    assert "RAISE NOTICE" in turn.prompt
    assert "PL/SQL" not in turn.prompt
    (test,) = turn.tests
    assert test.calls == ()
    assert test.compare[0].mode == "permuted"
    assert test.compare[0].order_keys == (1,)
    assert test.compare[0].hidden_columns == 1
    assert test.gold is not None
    assert test.gold.endswith("FETCH FIRST 1 ROWS ONLY")
    assert test.gold_with_ties == test.gold.replace("ONLY", "WITH TIES")
    assert turn.reference is not None
    assert 'r."name"' in turn.reference
    assert 'r."sort_key_1"' not in turn.reference


def test_oracle_keeps_the_published_request_and_plays_the_gold(tmp_path: Path) -> None:
    (turn,) = task_of(read_spider(release(tmp_path, row())), "oracle").turns
    assert turn.prompt == QUESTION
    assert turn.reference is not None
    assert GOLD in turn.reference
    assert turn.tests[0].gold == GOLD.replace("NAME FROM", "NAME, ID AS sort_key_1 FROM")


def test_a_gold_that_cannot_be_judged_is_said_and_kept(tmp_path: Path) -> None:
    dataset = read_spider(
        release(
            tmp_path,
            row(0, gold_sql_query="SELECT ID / 2 FROM ZOO_1.ANIMAL"),
            row(1, gold_sql_query="SELECT FROM ZOO_1.ANIMAL"),
        )
    )
    oracle, postgres, first, second = (task.turns[0] for task in dataset.tasks)
    assert oracle.unsupported is None
    assert postgres.unsupported == "a division, whose last digits differ"
    assert (postgres.tests, postgres.reference) == ((), None)
    assert first.unsupported == second.unsupported == "a query without columns"


def test_a_ddl_that_is_not_understood_makes_its_tasks_unsupported(tmp_path: Path) -> None:
    path = release(tmp_path, row())
    ddl = tmp_path / "schema" / "spider" / "spider_ddl.jsonl"
    more = {"db_id": "ZOO_1", "table": "X", "sql": "CREATE VIEW ZOO_1.V AS SELECT 1 AS A FROM DUAL"}
    ddl.write_text(ddl.read_text() + "\n" + json.dumps(more))
    reason = task_of(read_spider(path), "postgres").turns[0].unsupported
    assert reason is not None
    assert "spider_ddl.jsonl:7 is not understood" in reason


def test_the_postgres_database(tmp_path: Path) -> None:
    found = database_of(read_spider(release(tmp_path, row())), "postgres")
    assert found.name == "zoo_1"
    assert found.schemas == ("zoo_1",)
    assert [statement.text.splitlines()[0] for statement in found.before] == [
        'CREATE SCHEMA "zoo_1"',
        'CREATE TABLE "zoo_1"."animal" (',
    ]
    (data,) = found.data
    assert (data.schema, data.table, data.columns) == ("zoo_1", "animal", ("id", "size", "born", "name"))
    assert list(data.rows()) == [("1", "S", "2020-02-29", "cat")]
    assert list(data.rows()) == [("1", "S", "2020-02-29", "cat")], "rows can be read again"
    assert [statement.text for statement in found.after] == [
        'ALTER TABLE "zoo_1"."animal" ADD PRIMARY KEY ("id")'
    ]
    assert found.notes == (
        "no rows are given for FILM",
        "left out: the type BLOB of ZOO_1.FILM.DATA has no equal in PostgreSQL",
        "foreign keys are not kept: ANIMAL",
    )


def test_the_oracle_database_is_as_published(tmp_path: Path) -> None:
    found = database_of(read_spider(release(tmp_path, row())), "oracle")
    assert found.schemas == ("ZOO_1",)
    assert [statement.text for statement in found.before] == [
        sql for db, sql in DDL if db.upper() == "ZOO_1" and "OTHER" not in sql
    ]
    assert [data.table for data in found.data] == ["ANIMAL", "FILM"]
    assert list(found.data[0].rows()) == [("1", "S ", "2020-02-29", "cat")]


def test_the_fingerprint_follows_what_is_loaded(tmp_path: Path) -> None:
    path = release(tmp_path, row())
    first = database_of(read_spider(path), "postgres").fingerprint
    assert database_of(read_spider(path), "postgres").fingerprint == first
    assert database_of(read_spider(path), "oracle").fingerprint != first
    dml = tmp_path / "schema" / "spider" / "spider_dml.json"
    dml.write_text(dml.read_text().replace("'cat'", "'dog'"))
    assert database_of(read_spider(path), "postgres").fingerprint != first


def test_packed_schema_files_and_a_folder(tmp_path: Path) -> None:
    release(tmp_path, row(), packed=True)
    dataset = read_spider(tmp_path)
    assert len(dataset.tasks) == 2
    assert len(list(database_of(dataset, "postgres").data[0].rows())) == 1


def test_the_folder_is_found_like_other_tasks(tmp_path: Path) -> None:
    release(tmp_path, row())
    assert len(load_path(tmp_path).tasks) == 2


def test_annotations_of_the_release(tmp_path: Path) -> None:
    path = release(tmp_path, row())
    notes = tmp_path / "metadata" / "spider1.jsonl"
    notes.parent.mkdir()
    notes.write_text(
        json.dumps({"instance_id": "spider_0", "difficulty": "hard", "reasoning_types": ["order"]})
    )
    task = read_spider(path).tasks[0]
    assert (task.difficulty, task.reasoning_types) == ("hard", ("order",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"instance_id": "a"', r"spider1\.jsonl:1: is not JSON"),
        ("[1]", r"spider1\.jsonl:1: is not a JSON object"),
        (
            "\n" + json.dumps(row(gold_sql_query=None)),
            r"spider1\.jsonl:2: needs a text under the key 'gold_sql_query'",
        ),
        (json.dumps(row(question=" ")), r"spider1\.jsonl:1: needs a text under the key 'question'"),
    ],
)
def test_wrong_rows_are_told_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    path = release(tmp_path)
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_spider(path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = release(tmp_path)
    path.write_bytes(json.dumps(row(question="x\u00e9"), ensure_ascii=False).encode("latin-1"))
    with pytest.raises(UserError, match=r"spider1\.jsonl:1: is not"):
        read_spider(path)


@pytest.mark.parametrize("name", ["schema/spider/spider_ddl.jsonl", "schema/spider/spider_dml.json"])
def test_without_a_schema_file_tasks_are_listed_and_say_what_is_missing(tmp_path: Path, name: str) -> None:
    path = release(tmp_path, row(0), row(1))
    (tmp_path / name).unlink()
    dataset = read_spider(path)
    assert [task.id for task in dataset.tasks] == ["spider_0", "spider_0", "spider_1", "spider_1"]
    for task in dataset.tasks:
        assert task.turns[0].unsupported == f"the release's file {name} is missing in {tmp_path}"
        assert task.turns[0].tests == ()
    assert [f"{name} is missing" in note for note in dataset.notes] == [True]


# ---- cache ----------------------------------------------------------------------------------------


def test_an_unchanged_release_is_not_translated_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = release(tmp_path, row())
    first = read_spider(path)
    monkeypatch.setattr(spider, "_build", lambda *_: pytest.fail("translated again"))
    assert read_spider(path).tasks == first.tasks


@pytest.mark.parametrize("name", ["datasets/spider/spider1.jsonl", "schema/spider/spider_ddl.jsonl"])
def test_a_changed_release_is(tmp_path: Path, name: str) -> None:
    path = release(tmp_path, row())
    read_spider(path)
    file = tmp_path / name
    file.write_text(file.read_text().replace("ZOO_1.ANIMAL", "ZOO_1.BEAST"))
    reasons = {task.turns[0].unsupported for task in read_spider(path).tasks}
    assert len(reasons) == 1
    assert "wrong table name" in str(reasons) or "is not understood" in str(reasons)


def test_every_module_that_makes_tasks_is_part_of_the_key() -> None:
    """What a fresh interpreter imports to build tasks is watched by the cache."""
    program = (
        "import sys, pytest_plsqlbench.datasets.spider.tasks;"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('pytest_plsqlbench.')))"
    )
    output = subprocess.run(
        [sys.executable, "-I", "-c", program], check=True, capture_output=True, text=True
    ).stdout
    used = {Path(file) for file in output.split() if not file.endswith("__init__.py")}
    unrelated = {"bench/database.py", "bench/redaction.py", "bench/visible.py", "datasets/cache.py"}
    package = Path(spider.__file__).parents[2]
    assert used - {package / name for name in unrelated} <= set(spider.watched_files())


def test_a_broken_cache_entry_is_not_believed(tmp_path: Path) -> None:
    path = release(tmp_path, row())
    first = read_spider(path)
    for file in (tmp_path / "cache").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[:-20] + b"x" * 20)
    assert read_spider(path).tasks == first.tasks
