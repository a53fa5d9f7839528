"""The same results however the work is spread; crashed workers lose nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from bench_suite import Suite

from pytest_plsqlbench.workers import conversation_of

VARYING = ("elapsed_ms", "work")
ALONE: dict[str, object] = {}
"""Results and metrics of the bigger suite without workers, the same in every test: run once."""


def stable(results: Any) -> Any:
    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: strip(v) for k, v in value.items() if k not in VARYING}
        return [strip(v) for v in value] if isinstance(value, list) else value

    return strip(results)


@pytest.fixture
def bigger_suite(suite: Suite) -> Suite:
    for number in range(4):
        suite.task({**suite.DOUBLE_TASK, "id": f"double-{number}"})
        suite.task({**suite.TALK_TASK, "id": f"steps-{number}"})
    return suite


def predictions(suite: Suite) -> list[dict[str, Any]]:
    rows = suite.right()
    for number in range(4):
        program = suite.DOUBLE if number % 2 else suite.DOUBLE.replace("n * 2", "n * 3")
        rows.append({"instance_id": f"double-{number}", "generated_plsql": program})
        for index, text in enumerate(suite.TALK, 1):
            rows.append({"conversation_id": f"steps-{number}", "turn_index": index, "generated_plsql": text})
    return rows


@pytest.mark.parametrize(
    "how",
    [
        ("-n", "2"),
        ("-n", "8"),
        ("-n", "2", "--dist", "worksteal"),
        ("-n", "2", "--dist", "loadfile"),
        ("-n", "2", "--dist", "loadgroup"),
        ("-n", "2", "--dist", "loadscope"),
        ("-n", "2", "--maxschedchunk=1"),
    ],
    ids=" ".join,
)
def test_results_do_not_depend_on_the_workers(bigger_suite: Suite, how: tuple[str, ...]) -> None:
    option = bigger_suite.predict(*predictions(bigger_suite))
    if not ALONE:
        bigger_suite.run(option, "--plsql-report=alone").assert_outcomes(passed=18, failed=2)
        ALONE["results"] = stable(bigger_suite.results("alone"))
        ALONE["summary"] = bigger_suite.summary("alone")
    bigger_suite.run(option, *how).assert_outcomes(passed=18, failed=2)
    assert stable(bigger_suite.results()) == ALONE["results"]
    assert bigger_suite.summary() == ALONE["summary"]


def test_conversations_stay_whole_under_the_default_schedule(bigger_suite: Suite) -> None:
    bigger_suite.pytester.makeconftest(
        """
        import os

        def pytest_runtest_logreport(report) -> None:
            worker = os.environ.get("PYTEST_XDIST_WORKER")
            if worker and report.when == "call":
                with open(f"ran-{worker}.txt", "a") as file:
                    file.write(report.nodeid + "\\n")
        """
    )
    option = bigger_suite.predict(*predictions(bigger_suite))
    bigger_suite.run(option, "-n", "3").assert_outcomes(passed=18, failed=2)
    where: dict[str | None, set[str]] = {}
    for file in bigger_suite.folder.glob("ran-*.txt"):
        for nodeid in file.read_text().split():
            where.setdefault(conversation_of(nodeid), set()).add(file.name)
    where.pop(None)
    assert len(where) == 5
    assert all(len(workers) == 1 for workers in where.values())


CRASH = """
    import os
    import pathlib

    import pytest

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(item) -> None:
        mark = pathlib.Path(__file__).with_name("crashed.txt")
        if item.name == "steps-1_q02[postgres]" and (ALWAYS or not mark.exists()):
            mark.write_text("")
            os._exit(1)
"""


def test_a_turn_whose_worker_dies_is_graded_once_more(bigger_suite: Suite) -> None:
    bigger_suite.pytester.makeconftest(CRASH.replace("ALWAYS", "False"))
    option = bigger_suite.predict(*predictions(bigger_suite))
    result = bigger_suite.run(option, "-n", "2")
    assert result.parseoutcomes()["passed"] == 18
    assert len(bigger_suite.results()) == 20
    assert {r["status"] for r in bigger_suite.results()} == {"graded"}


def test_a_turn_that_kills_its_worker_twice_is_an_infrastructure_error(bigger_suite: Suite) -> None:
    bigger_suite.pytester.makeconftest(CRASH.replace("ALWAYS", "True"))
    option = bigger_suite.predict(*predictions(bigger_suite))
    result = bigger_suite.run(option, "-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    results = bigger_suite.results()
    assert len(results) == 20
    assert [r["turn_id"] for r in results if r["status"] == "infrastructure_error"] == ["steps-1_q02"]
    assert bigger_suite.summary()["statuses"] == {"graded": 19, "infrastructure_error": 1}


def test_the_plugin_works_where_xdist_is_switched_off(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()), "-p", "no:xdist").assert_outcomes(passed=4)


def test_two_runs_side_by_side_do_not_clash(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    command = [sys.executable, "-m", "pytest", option, "-n", "2"]
    null = subprocess.DEVNULL
    with (
        subprocess.Popen([*command, "--plsql-report=r0"], cwd=suite.folder, stdout=null) as first,
        subprocess.Popen([*command, "--plsql-report=r1"], cwd=suite.folder, stdout=null) as second,
    ):
        assert first.wait(120) == 0
        assert second.wait(120) == 0
    assert stable(suite.results("r0")) == stable(suite.results("r1"))


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("a/b.jsonl::steps_q01[postgres]", "a/b.jsonl::stepspostgres"),
        ("a/b.jsonl::plsql-multiturn-0007_q02[oracle-s3]", "a/b.jsonl::plsql-multiturn-0007oracle-s3"),
        ("a/b.jsonl::double-it[postgres]", None),
        ("test_x.py::test_t1", None),
    ],
)
def test_turns_of_a_conversation_are_known_by_their_ids(nodeid: str, group: str | None) -> None:
    assert conversation_of(nodeid) == group
