"""Spider tasks on a real PostgreSQL server: translated golds give Oracle's rows, references print them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.observation import CallObservation, ResultSet
from pytest_plsqlbench.bench.task import Task
from pytest_plsqlbench.datasets.spider.convert import convert_spider
from pytest_plsqlbench.datasets.spider.reader import DDL_NAME, DML_NAME, TASKS_NAME, read_spider
from pytest_plsqlbench.engines.postgres.lane import PostgresLane
from pytest_plsqlbench.engines.protocol import Limits, Play, Played

DDL = """CREATE TABLE ZOO.ANIMAL ("ID" NUMBER, "NAME" VARCHAR2(20), "CODE" CHAR(5), "KG" NUMBER(9,2),
"RATE" VARCHAR2(9), "BORN" DATE, "SEEN" TIMESTAMP, "NOTE" CLOB, CONSTRAINT P PRIMARY KEY ("ID"))"""
INSERT = r"""INSERT INTO ZOO.ANIMAL VALUES
(1, 'ape', 'ab   ', 12.5, '9', DATE '2020-02-29', TIMESTAMP '2020-02-29 10:11:12', 'first
line'),
(2, 'Bear', 'ab', 12.50, '10', DATE '2019-12-31', NULL, NULL),
(3, 'cat, small', 'b c', NULL, '.5', NULL, TIMESTAMP '2021-01-01 00:00:00', 'a\b'),
(4, 'Émeu', 'x', 100, NULL, DATE '2020-02-29', NULL, ''),
(5, '', NULL, 0.25, '1e1', NULL, NULL, '100%')"""

ROWS: dict[str, list[tuple[str | None, ...]]] = {
    # text sorts by code point, NULL is the greatest
    "SELECT NAME FROM ZOO.ANIMAL ORDER BY NAME": [("Bear",), ("ape",), ("cat, small",), ("Émeu",), (None,)],
    "SELECT NAME FROM ZOO.ANIMAL ORDER BY NAME DESC FETCH FIRST 2 ROWS ONLY": [(None,), ("Émeu",)],
    "SELECT MIN(NAME), MAX(NAME) FROM ZOO.ANIMAL": [("Bear", "Émeu")],
    "SELECT ID FROM ZOO.ANIMAL WHERE NAME < 'a'": [("2",)],
    # '' is NULL
    "SELECT ID FROM ZOO.ANIMAL WHERE NAME IS NULL": [("5",)],
    "SELECT COUNT(*), COUNT(NAME), COUNT(NOTE) FROM ZOO.ANIMAL": [("5", "4", "3")],
    "SELECT ID FROM ZOO.ANIMAL WHERE NAME <> ''": [],
    "SELECT COUNT(*) FROM ZOO.ANIMAL WHERE NOT NAME = ''": [("0",)],
    # text against numbers: as numbers; text against text: as text
    "SELECT ID FROM ZOO.ANIMAL WHERE RATE > 9 ORDER BY ID": [("2",), ("5",)],
    "SELECT ID FROM ZOO.ANIMAL WHERE RATE > '10' ORDER BY ID": [("1",), ("5",)],
    "SELECT ID FROM ZOO.ANIMAL WHERE RATE IN (10, 9) ORDER BY ID": [("1",), ("2",), ("5",)],
    "SELECT ID FROM ZOO.ANIMAL WHERE ID IN (SELECT RATE FROM ZOO.ANIMAL WHERE RATE = '9')": [],
    "SELECT SUM(RATE), MAX(RATE) FROM ZOO.ANIMAL": [("29.5", "9")],
    "SELECT MAX(TO_NUMBER(RATE)) FROM ZOO.ANIMAL": [("10",)],
    "SELECT ID FROM ZOO.ANIMAL ORDER BY RATE": [("3",), ("2",), ("5",), ("1",), ("4",)],
    # CHAR compares without its padding
    "SELECT ID FROM ZOO.ANIMAL WHERE CODE = 'ab' ORDER BY ID": [("1",), ("2",)],
    "SELECT ID FROM ZOO.ANIMAL WHERE CODE = 'ab  ' ORDER BY ID": [("1",), ("2",)],
    "SELECT CODE, COUNT(*) FROM ZOO.ANIMAL GROUP BY CODE HAVING COUNT(*) > 1": [("ab", "2")],
    "SELECT ID FROM ZOO.ANIMAL WHERE CODE LIKE '%b%' ORDER BY ID": [("1",), ("2",), ("3",)],
    # LIKE
    r"SELECT ID FROM ZOO.ANIMAL WHERE NOTE LIKE 'a\b'": [("3",)],
    "SELECT ID FROM ZOO.ANIMAL WHERE NOTE LIKE '%!%' ESCAPE '!'": [("5",)],
    "SELECT ID FROM ZOO.ANIMAL WHERE NAME LIKE '%A%'": [],
    "SELECT ID FROM ZOO.ANIMAL WHERE UPPER(NAME) LIKE UPPER('%a%') ORDER BY ID": [("1",), ("2",), ("3",)],
    # numbers: SUM keeps the scale of NUMBER(9,2), AVG is exact enough to compare with
    "SELECT ID FROM ZOO.ANIMAL WHERE KG = 12.5 ORDER BY ID": [("1",), ("2",)],
    "SELECT SUM(KG), ROUND(AVG(KG), 1) FROM ZOO.ANIMAL": [("125.25", "31.3")],
    "SELECT ID FROM ZOO.ANIMAL WHERE KG > (SELECT AVG(KG) FROM ZOO.ANIMAL)": [("4",)],
    # || and SUBSTR know no empty text
    "SELECT NAME || NOTE FROM ZOO.ANIMAL WHERE ID IN (2, 5) ORDER BY ID": [("Bear",), ("100%",)],
    "SELECT SUBSTR(NAME, 5, 2), NVL(NAME, 'none') FROM ZOO.ANIMAL WHERE ID IN (1, 3, 5) ORDER BY ID": [
        (None, "ape"),
        (" s", "cat, small"),
        (None, "none"),
    ],
    # dates and timestamps
    "SELECT BORN FROM ZOO.ANIMAL WHERE BORN >= TO_DATE('2020-02-29', 'YYYY-MM-DD')": [
        ("2020-02-29",),
        ("2020-02-29",),
    ],
    "SELECT SEEN, EXTRACT(YEAR FROM SEEN) FROM ZOO.ANIMAL WHERE SEEN > TIMESTAMP '2020-02-29 10:11:11'"
    " ORDER BY SEEN": [("2020-02-29 10:11:12", "2020"), ("2021-01-01 00:00:00", "2021")],
    # set operations go from left to right
    "SELECT ID FROM ZOO.ANIMAL WHERE ID < 3 UNION SELECT ID FROM ZOO.ANIMAL WHERE ID > 4"
    " INTERSECT SELECT ID FROM ZOO.ANIMAL WHERE ID > 1 ORDER BY ID": [("2",), ("5",)],
    "SELECT BORN FROM ZOO.ANIMAL MINUS SELECT BORN FROM ZOO.ANIMAL WHERE ID = 3": [
        ("2019-12-31",),
        ("2020-02-29",),
    ],
    # of the rows last in a key
    "SELECT MAX(NAME) KEEP (DENSE_RANK LAST ORDER BY BORN) FROM ZOO.ANIMAL": [("cat, small",)],
    "SELECT MIN(ID) KEEP (DENSE_RANK FIRST ORDER BY KG DESC) FROM ZOO.ANIMAL": [("3",)],
    # a star is in the order of the columns
    "SELECT * FROM ZOO.ANIMAL WHERE ID = 2": [("2", "Bear", "ab", "12.50", "10", "2019-12-31", None, None)],
    "SELECT 'x' FROM DUAL": [("x",)],
}
TIES = {
    "SELECT ID FROM ZOO.ANIMAL ORDER BY BORN DESC FETCH FIRST 2 ROWS ONLY": False,
    "SELECT ID FROM ZOO.ANIMAL ORDER BY BORN DESC FETCH FIRST 3 ROWS ONLY": True,
    "SELECT ID FROM ZOO.ANIMAL ORDER BY BORN DESC, ID FETCH FIRST 3 ROWS ONLY": False,
    "SELECT ID FROM ZOO.ANIMAL FETCH FIRST 3 ROWS ONLY": True,
    "SELECT ID FROM ZOO.ANIMAL FETCH FIRST 5 ROWS ONLY": False,
    "SELECT NAME, NAME FROM ZOO.ANIMAL WHERE BORN = (SELECT MAX(BORN) FROM ZOO.ANIMAL WHERE ID IN"
    " (SELECT ID FROM ZOO.ANIMAL ORDER BY BORN FETCH FIRST 1 ROWS ONLY))": False,
    "SELECT COUNT(*) FROM ZOO.ANIMAL WHERE ID = (SELECT ID FROM ZOO.ANIMAL ORDER BY CODE FETCH FIRST 1"
    " ROWS ONLY)": True,
    "SELECT NAME FROM ZOO.ANIMAL WHERE KG = (SELECT KG FROM ZOO.ANIMAL ORDER BY CODE FETCH FIRST 1 ROWS"
    " ONLY) ORDER BY ID FETCH FIRST 1 ROWS ONLY": True,
}


class Release(NamedTuple):
    """A release of one database whose tasks are the queries above."""

    tasks: dict[str, Task]
    database: Database


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Release:
    root = tmp_path_factory.mktemp("release")
    golds = [*ROWS, *TIES]
    rows = [
        {"instance_id": f"q{number}", "db_id": "zoo", "question": "?", "gold_sql_query": gold}
        for number, gold in enumerate(golds)
    ]
    contents = {
        TASKS_NAME: "\n".join(map(json.dumps, rows)),
        DDL_NAME: json.dumps({"db_id": "ZOO", "table": "T", "sql": DDL}),
        DML_NAME: json.dumps({"tables": {"ANIMAL": {"insert_statements": [INSERT]}}}),
    }
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLSQLBENCH_CACHE_DIR", str(root / "cache"))
        dataset = read_spider(root)
    tasks = [task for task in dataset.tasks if task.dialect == "postgres"]
    database = dataset.database(tasks[0])
    assert database is not None
    return Release(dict(zip(golds, tasks, strict=True)), database)


def play(lane: PostgresLane, task: Task, database: Database) -> Played:
    (turn,) = task.turns
    assert turn.unsupported is None
    assert turn.reference is not None
    return lane.play(
        Play(
            side="reference",
            programs=(turn.reference,),
            tests=turn.tests,
            database=database,
            limits=Limits(time=20),
        )
    )


def result_of(call: CallObservation) -> ResultSet:
    assert call.error is None
    (result,) = call.results
    return result


def shown(task: Task, result: ResultSet) -> list[tuple[str | None, ...]]:
    """The rows without their hidden columns."""
    hidden = task.turns[0].tests[0].compare[0].hidden_columns
    rows = [tuple(None if cell is None else cell[1] for cell in row) for row in result.rows]
    return [row[: len(row) - hidden] for row in rows]


@pytest.mark.parametrize("gold", ROWS)
def test_rows_are_oracles(module_lane: PostgresLane, zoo: Release, gold: str) -> None:
    task = zoo.tasks[gold]
    played = play(module_lane, task, zoo.database)
    found = shown(task, result_of(played.tests[0].calls[0]))
    if not task.turns[0].tests[0].compare[0].order_keys:
        assert Counter(found) == Counter(ROWS[gold])
    else:
        assert found == ROWS[gold]


@pytest.mark.parametrize("gold", ROWS)
def test_references_print_the_rows(module_lane: PostgresLane, zoo: Release, gold: str) -> None:
    played = play(module_lane, zoo.tasks[gold], zoo.database)
    printed = [line for row in ROWS[gold] for line in ",".join(cell or "" for cell in row).split("\n")]
    (program,) = played.programs
    assert program.error is None
    assert Counter(program.lines) == Counter(printed)


@pytest.mark.parametrize("gold", TIES)
def test_ties_are_seen(module_lane: PostgresLane, zoo: Release, gold: str) -> None:
    exact, loose = play(module_lane, zoo.tasks[gold], zoo.database).tests[0].calls
    assert (len(result_of(loose).rows) > len(result_of(exact).rows)) is TIES[gold]


def test_the_database_of_a_release_is_loaded_with_its_keys(module_lane: PostgresLane, zoo: Release) -> None:
    program = """DO $$
    BEGIN
      INSERT INTO zoo.animal (id) VALUES (1);
    END $$;"""
    played = module_lane.play(Play(side="candidate", programs=(program,), tests=(), database=zoo.database))
    assert played.programs[0].error is not None


# ---- the shared pairs -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def converted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("spider") / "out"
    data = shared / "data"
    convert_spider(
        [data / "spider_oracle" / "spider_dev_pairs.jsonl"],
        data / "spider_oracle" / "spider_ddl.jsonl",
        [data / "spider1_original" / "spider1_rows_dev.jsonl.gz"],
        out,
    )
    return out


def test_the_shared_pairs_are_graded(converted: Path, pytester: pytest.Pytester) -> None:
    """The references of all 629 pairs: each passes, or is told with the reason of docs/spider.md."""
    pytester.runpytest_subprocess(str(converted), "--plsql-predictions=gold", "-q", "-n", "2")
    lines = (pytester.path / "reports" / "results.jsonl").read_text().splitlines()
    results: list[dict[str, Any]] = [json.loads(line) for line in lines]
    outcomes = Counter((result["status"], result["solved"], _reason(result)) for result in results)
    assert outcomes == {
        ("graded", True, ""): 576,
        ("reference_error", False, "order_dependent"): 30,
        ("reference_error", False, "22P02"): 8,
        ("unsupported", False, "wrong column name"): 10,
        ("unsupported", False, "wrong table name"): 5,
    }


def _reason(result: dict[str, Any]) -> str:
    reason = result.get("reason") or ""
    known = ("order_dependent", "22P02", "wrong column name", "wrong table name")
    return next((name for name in known if name in reason), reason)
