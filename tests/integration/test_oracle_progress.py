"""Loading data into Oracle is told where the user looks, from workers too; the server is a double."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench_suite import Suite

SUPPORT = Path(__file__).resolve().parents[1] / "support"
CONFTEST = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
import oracledb
from oracle_double import FakeOracle, Reply
from pytest_plsqlbench.engines.oracle import loader
server = FakeOracle()
server.on("^BEGIN show", Reply(lines=["2"]))
oracledb.connect = server.connect
loader.TELL_EVERY = 0.0
"""
TOLD = [f"plsqlbench: loading {name} into Oracle" for name in ("PEARS", "PLUMS")]


@pytest.fixture
def fruit(empty_suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Suite:
    """Four published tasks on two databases, and a server that is a double in each process."""
    monkeypatch.delenv("PLSQLBENCH_ORACLE")
    schema = empty_suite.folder / "schema" / "spider2_plsql" / "bigquery"
    schema.mkdir(parents=True)
    tasks, tables, rows = [], [], []
    for number, name in enumerate(("PEARS", "PLUMS", "PEARS", "PLUMS"), 1):
        procedure = "CREATE PROCEDURE show IS BEGIN DBMS_OUTPUT.PUT_LINE(2); END;\n/"
        tasks.append(
            {
                "instance_id": f"fruit_{number}",
                "db_id": name,
                "tables": ["TREES"],
                "question": "Show how many.",
                "reference_answer": procedure,
                "tests": ["EXEC show"],
            }
        )
    for name in ("PEARS", "PLUMS"):
        tables.append(
            {"db_id": name, "table": "TREES", "sql": f"CREATE TABLE {name}.TREES (ID NUMBER, KIND NUMBER)"}
        )
        rows += [
            {"db_id": name, "table": "TREES", "sql": f"INSERT INTO {name}.TREES VALUES ({number}, 1)"}
            for number in (1, 2)
        ]
    for path, content in (
        (empty_suite.folder / "fruit.jsonl", tasks),
        (schema / "OUTPUT_DDL_dev.jsonl", tables),
        (schema / "OUTPUT_DML_dev.jsonl", rows),
    ):
        path.write_text("".join(json.dumps(row) + "\n" for row in content))
    (empty_suite.folder / "conftest.py").write_text(CONFTEST)
    return empty_suite


def run(fruit: Suite, *arguments: str) -> pytest.RunResult:
    return fruit.run(
        "fruit.jsonl",
        "--plsql-predictions=gold",
        "--plsql-oracle=oracle://system:secret@localhost:1521/FREEPDB1",
        "--junitxml=junit.xml",
        *arguments,
    )


@pytest.mark.parametrize("arguments", [(), ("-v",), ("-s",), ("-p", "no:terminalreporter")])
def test_a_line_a_database_while_it_is_loaded(fruit: Suite, arguments: tuple[str, ...]) -> None:
    result = run(fruit, *arguments)
    assert [row["status"] for row in fruit.results()] == ["graded"] * 4
    told = [line for line in result.outlines if "loading" in line and "so far" not in line]
    assert told == ([] if "-p" in arguments else TOLD)
    assert 'tests="4"' in (fruit.folder / "junit.xml").read_text(), "what is told counts nowhere"


def test_long_loads_say_how_many_rows(fruit: Suite) -> None:
    result = run(fruit)
    result.stdout.fnmatch_lines(["plsqlbench: loading PEARS.TREES into Oracle: 2 rows so far"])
    result.assert_outcomes(passed=4)


def test_what_workers_load_is_told_by_the_controller(fruit: Suite) -> None:
    result = run(fruit, "-n", "2")
    result.assert_outcomes(passed=4)
    assert {line for line in result.outlines if line in TOLD}
    assert "secret" not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("workers", ["0", "2"])
def test_quiet_runs_are_quiet(fruit: Suite, workers: str) -> None:
    result = run(fruit, "-q", "-n", workers)
    result.assert_outcomes(passed=4)
    assert "loading" not in result.stdout.str()


def test_an_oracle_server_gets_four_workers_at_most(fruit: Suite) -> None:
    conftest = fruit.folder / "conftest.py"
    conftest.write_text(conftest.read_text() + "import os\nos.cpu_count = lambda: 64\n")
    result = run(fruit, "-n", "auto")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(
        [
            "plsqlbench: * workers suit this server (* CPUs): more only stretch the times of all;*",
            "created: 4/4 workers",
        ]
    )
