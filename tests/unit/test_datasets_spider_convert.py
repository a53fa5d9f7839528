"""``plsqlbench convert spider``: a folder in the release's layout, whole or not at all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_plsqlbench import cli
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.datasets.spider import convert as spider_convert
from pytest_plsqlbench.datasets.spider.convert import Conversion, convert_spider
from pytest_plsqlbench.datasets.spider.reader import DDL_NAME, DML_NAME, TASKS_NAME, read_spider

PAIRS: list[dict[str, Any]] = [
    {"db_name": "zoo_1", "question": "How many\nanimals?", "query": "SELECT COUNT(*) FROM ZOO_1.ANIMAL;"},
    {"db_name": "zoo_1", "question": "Names?", "query": "SELECT NAME, BORN FROM ZOO_1.ANIMAL ORDER BY ID"},
    {"db_name": "zoo_1", "question": "Broken?", "query": "SELECT X FROM ZOO_1.NOPE"},
]
DDL: list[dict[str, Any]] = [
    {
        "db_id": "ZOO_1",
        "table": "ZOO_1_ANIMAL",
        "sql": """CREATE TABLE ZOO_1.ANIMAL ("ID" NUMBER, "NAME" VARCHAR2(5) NOT NULL, "BORN" DATE,
        "WILD" NUMBER(1), "SIZE" CLOB, "EXTRA" CLOB, CONSTRAINT P PRIMARY KEY ("ID"))""",
    },
    {"db_id": "ZOO_1", "table": "ZOO_1_FOOD", "sql": "CREATE TABLE ZOO_1.FOOD (ID NUMBER)"},
    {"db_id": "SHOP", "table": "SHOP_X", "sql": "CREATE TABLE SHOP.X (ID NUMBER)"},
]
ANIMALS = [
    [1, "cat", "2020-02-29", "T", 1.5],
    [2, "it's", None, "F", "big"],
    [3.0, "dog", "", None, None],
]
ROWS: list[dict[str, Any]] = [
    {
        "db_id": "Zoo_1",
        "table": "Animal",
        "columns": ["id", "Name", "born", "wild", "size"],
        "sqlite_types": ["INT", "TEXT", "DATE", "bool", "TEXT"],
        "rows": ANIMALS,
    },
    {"db_id": "shop", "table": "x", "columns": ["nope"], "rows": [["not needed, so not read"]]},
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))


def write(path: Path, records: Iterable[object]) -> Path:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def convert(
    folder: Path, *, rows: list[Any] = ROWS, pairs: list[Any] = PAIRS, ddl: list[Any] = DDL, **options: Any
) -> Conversion:
    return convert_spider(
        [write(folder / "pairs.jsonl.gz", pairs)],
        write(folder / "ddl.jsonl", ddl),
        [write(folder / "rows.jsonl.gz", rows)],
        folder / "out",
        **options,
    )


def with_animals(*animals: list[Any]) -> list[Any]:
    return [ROWS[0] | {"rows": list(animals)}]


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    done = convert(tmp_path)
    assert (done.tasks, done.databases, done.rows, done.left_out) == (3, 1, 3, [])
    dataset = read_spider(tmp_path / "out")
    assert [task.id for task in dataset.tasks if task.dialect == "postgres"] == [
        "spider_zoo_1_000",
        "spider_zoo_1_001",
        "spider_zoo_1_002",
    ]
    database = dataset.database(dataset.tasks[1])
    assert database is not None
    animal = next(table for table in database.data if table.table == "animal")
    assert animal.columns == ("id", "name", "born", "wild", "size", "extra")
    assert list(animal.rows()) == [
        ("1", "cat", "2020-02-29", "1", "1.5", None),
        ("2", "it's", None, "0", "big", None),
        ("3", "dog", None, None, None, None),
    ]


def test_rows_of_the_tasks_file_have_the_published_keys(tmp_path: Path) -> None:
    convert(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "out" / TASKS_NAME).read_text().splitlines()]
    assert {tuple(line) for line in lines} == {
        ("instance_id", "db_id", "tables", "question", "reference_answer", "gold_sql_query")
    }
    count, names, broken = lines
    assert count["gold_sql_query"] == "SELECT COUNT(*) FROM ZOO_1.ANIMAL"
    assert count["question"].startswith("How many animals?\n")
    assert "DBMS_OUTPUT" in count["question"]
    assert names["tables"] == ["ZOO_1.ANIMAL"]
    assert "TO_CHAR(v2, 'YYYY-MM-DD')" in names["reference_answer"]
    assert names["reference_answer"].endswith("END;\n/\n")
    assert (broken["tables"], broken["reference_answer"]) == ([], "")


def test_the_schema_files_hold_only_what_is_needed(tmp_path: Path) -> None:
    convert(tmp_path)
    out = tmp_path / "out"
    assert [json.loads(line) for line in (out / DDL_NAME).read_text().splitlines()] == DDL[:2]
    dml = json.loads((out / DML_NAME).read_text())
    assert list(dml["tables"]) == ["ZOO_1.ANIMAL"]
    entry = dml["tables"]["ZOO_1.ANIMAL"]
    assert (entry["source_database"], entry["source_table"], entry["total_rows"]) == ("Zoo_1", "Animal", 3)
    (statement,) = entry["insert_statements"]
    head, _, values = statement.partition(" VALUES ")
    assert head == 'INSERT /*+ APPEND */ INTO ZOO_1.ANIMAL ("ID", "NAME", "BORN", "WILD", "SIZE")'
    assert values == (
        "(1, 'cat', DATE '2020-02-29', 1, '1.5'), (2, 'it''s', NULL, 0, 'big'), (3, 'dog', NULL, NULL, NULL)"
    )


def test_tables_of_one_name_do_not_meet(tmp_path: Path) -> None:
    ddl = [*DDL, {"db_id": "FARM", "table": "X", "sql": "CREATE TABLE FARM.ANIMAL (ID NUMBER)"}]
    pairs = [*PAIRS, {"db_name": "farm", "question": "?", "query": "SELECT ID FROM FARM.ANIMAL"}]
    rows = [*ROWS, {"db_id": "farm", "table": "animal", "columns": ["id"], "rows": [[7]]}]
    convert(tmp_path, ddl=ddl, pairs=pairs, rows=rows)
    dml = json.loads((tmp_path / "out" / DML_NAME).read_text())
    assert list(dml["tables"]) == ["ZOO_1.ANIMAL", "FARM.ANIMAL"]


def test_long_tables_are_written_in_batches(tmp_path: Path) -> None:
    animals = [[number, "cat", None, None, None] for number in range(1001)]
    done = convert(tmp_path, rows=with_animals(*animals))
    dml = json.loads((tmp_path / "out" / DML_NAME).read_text())
    statements = dml["tables"]["ZOO_1.ANIMAL"]["insert_statements"]
    assert [statement.count("'cat'") for statement in statements] == [500, 500, 1]
    assert done.rows == 1001


@pytest.mark.parametrize(
    ("animal", "reason"),
    [
        (["nil", "cat", None, None, None], "row 2, ID: 'nil' is not a number"),
        ([2, "leopard", None, None, None], "row 2, NAME: 'leopard' is longer than VARCHAR2(5)"),
        ([2, None, None, None, None], "row 2, NAME: may not be NULL"),
        ([2, "", None, None, None], "row 2, NAME: may not be NULL"),
        ([None, "cat", None, None, None], "row 2, ID: may not be NULL"),
        ([1, "cat", None, None, None], "row 2: the primary key stands twice"),
        (
            [2, "cat", "June 2020", None, None],
            "row 2, BORN: 'June 2020' is not a date that can be read surely",
        ),
        ([2, "cat", None, "yes", None], "row 2, WILD: 'yes' is not a number"),
        ([2, "cat", None, 12, None], "row 2, WILD: 12 does not fit NUMBER(1)"),
        ([2, "cat", None, None, [1]], "row 2, SIZE: [1] is neither text nor number nor null"),
    ],
)
def test_rows_that_oracle_does_not_take_are_left_out_and_told(
    tmp_path: Path, animal: list[Any], reason: str
) -> None:
    first, last = [1, "cat", None, None, None], [9, "last", None, None, None]
    done = convert(tmp_path, rows=with_animals(first, animal, last))
    (line,) = done.left_out
    assert line.endswith(f"rows.jsonl.gz:1: ZOO_1.ANIMAL, {reason}")
    assert done.rows == 2
    assert json.loads((tmp_path / "out" / DML_NAME).read_text())["metadata"]["left_out"] == [line]


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    pairs = [*PAIRS, {"db_name": "moon", "question": "?", "query": "SELECT 1 FROM DUAL"}]
    rows = [*ROWS, {"db_id": "zoo_1", "table": "ghost", "columns": ["id"], "rows": [[7]]}]
    done = convert(tmp_path, pairs=pairs, rows=rows)
    assert [remark.rpartition(": ")[2] for remark in done.remarks] == [
        "no tables of moon; its 1 task cannot be graded",
        "zoo_1.ghost is not in the DDL; its rows are left out",
        "no rows are given for FOOD",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"pairs": [{"db_name": "zoo_1", "question": "?"}]},
            "pairs.jsonl.gz:1: needs a text under the key 'query'",
        ),
        ({"pairs": []}, "pairs.jsonl.gz: holds no pairs"),
        ({"pairs": [PAIRS[0] | {"db_name": "moon"}]}, "has no tables of the database 'moon'"),
        ({"pairs": ["text"]}, "pairs.jsonl.gz:1: is not a JSON object"),
        ({"ddl": [{"db_id": "ZOO_1"}]}, "ddl.jsonl:1: needs a text under the key 'table'"),
        (
            {"rows": [ROWS[0] | {"columns": None}]},
            "rows.jsonl.gz:1: needs a list of texts under the key 'columns'",
        ),
        ({"rows": [ROWS[0] | {"rows": {}}]}, "rows.jsonl.gz:1: needs a list of rows under the key 'rows'"),
        ({"rows": [ROWS[0] | {"rows": [[1]]}]}, "rows.jsonl.gz:1: row 1 is not a list of 5 values"),
        ({"rows": [ROWS[0] | {"columns": ["x"] * 5}]}, "rows.jsonl.gz:1: the column X is not in the DDL"),
        (
            {"rows": [{"db_id": "zoo_1", "table": "animal", "columns": ["id"], "rows": []}]},
            "rows.jsonl.gz:1: lacks the column NAME, which may not be NULL",
        ),
        ({"rows": [ROWS[0], ROWS[0]]}, "rows.jsonl.gz:2: the table Zoo_1.Animal was already given in"),
    ],
)
def test_wrong_input_is_told_with_its_place_and_nothing_is_written(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        convert(tmp_path, **change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ddl.jsonl",
        "pairs.jsonl.gz",
        "rows.jsonl.gz",
    ]


def test_a_torn_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}" * 100)[:-20])
    with pytest.raises(UserError, match=r"pairs\.jsonl\.gz: is not a whole gzip file"):
        spider_convert.read_pairs(path)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "out" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("keep")
    with pytest.raises(UserError, match="not empty; name another folder or give --force"):
        convert(tmp_path)
    assert mine.read_text() == "keep"
    convert(tmp_path, force=True)
    assert not mine.exists()
    assert len(read_spider(tmp_path / "out").tasks) == 6


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    convert(tmp_path)
    assert len(read_spider(tmp_path / "out").tasks) == 6


def test_a_failure_while_writing_leaves_the_old_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(tmp_path)
    before = (tmp_path / "out" / DML_NAME).read_text()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spider_convert, "_write_json", fail)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        convert(tmp_path, force=True)
    assert (tmp_path / "out" / DML_NAME).read_text() == before
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = write(tmp_path / "more.jsonl", PAIRS[:1])
    first = write(tmp_path / "pairs.jsonl", PAIRS)
    ddl = write(tmp_path / "ddl.jsonl", DDL)
    rows = write(tmp_path / "rows.jsonl", with_animals([1, "leopard", None, None, None]))
    out = tmp_path / "out"
    arguments = ["--pairs", str(first), str(more), "--ddl", str(ddl), "--rows", str(rows), "--out", str(out)]
    with pytest.raises(SystemExit) as ended:
        cli.main(["convert", "spider", *arguments])
    assert ended.value.code == 0
    shown = capsys.readouterr()
    assert shown.out == f"{out}: 4 tasks, 1 database, 0 rows, 1 row left out\n"
    assert "rows.jsonl:1: ZOO_1.ANIMAL, row 1, NAME: 'leopard' is longer" in shown.err
    with pytest.raises(SystemExit) as ended:
        cli.main(["convert", "spider", *arguments])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"plsqlbench: error: {out}: is there and not empty; name another folder or give --force\n"
    )


def test_the_shared_pairs(shared: Path, tmp_path: Path) -> None:
    """The real input as a whole: every pair is a task, every row fits."""
    data = shared / "data"
    done = convert_spider(
        [data / "spider_oracle" / "spider_dev_pairs.jsonl"],
        data / "spider_oracle" / "spider_ddl.jsonl",
        [data / "spider1_original" / "spider1_rows_dev.jsonl.gz"],
        tmp_path / "out",
    )
    assert (done.tasks, done.databases, done.rows, done.left_out) == (629, 13, 8069, [])
