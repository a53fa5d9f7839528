"""The same results however the work is spread; crashed workers lose nothing."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from bench_suite import Suite
from click.testing import CliRunner

from pytest_plsqlbench.cli.gate import command as gate
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


OUTSIDE = "--rootdir=elsewhere"
"""Has pytest shorten the ids of the suite's items to file and turn: no path leads from them to the tasks."""


@pytest.fixture
def elsewhere(bigger_suite: Suite) -> Suite:
    (bigger_suite.folder / "elsewhere").mkdir()
    return bigger_suite


@pytest.mark.parametrize(
    "how",
    [
        (),
        (OUTSIDE,),
        (OUTSIDE, "--dist", "worksteal"),
        ("--dist", "loadgroup"),
        (OUTSIDE, "--dist", "loadfile"),
    ],
    ids=" ".join,
)
def test_a_turn_whose_worker_dies_is_graded_once_more(elsewhere: Suite, how: tuple[str, ...]) -> None:
    elsewhere.pytester.makeconftest(CRASH.replace("ALWAYS", "False"))
    option = elsewhere.predict(*predictions(elsewhere))
    result = elsewhere.run(option, "-n", "2", *how)
    assert result.parseoutcomes()["passed"] == 18
    assert len(elsewhere.results()) == 20
    assert {r["status"] for r in elsewhere.results()} == {"graded"}
    assert elsewhere.summary()["complete"] is True


@pytest.mark.parametrize("how", [(), (OUTSIDE,)], ids=" ".join)
def test_a_turn_that_kills_its_worker_twice_is_an_infrastructure_error(
    elsewhere: Suite, how: tuple[str, ...]
) -> None:
    elsewhere.pytester.makeconftest(CRASH.replace("ALWAYS", "True"))
    option = elsewhere.predict(*predictions(elsewhere))
    result = elsewhere.run(option, "-n", "2", *how)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    results = elsewhere.results()
    assert len(results) == 20
    assert [r["turn_id"] for r in results if r["status"] == "infrastructure_error"] == ["steps-1_q02"]
    assert elsewhere.summary()["statuses"] == {"graded": 19, "infrastructure_error": 1}


DIE_AT_SECOND = """
    import os

    begun = []

    def pytest_runtest_call(item) -> None:
        begun.append(item)
        if len(begun) == 2 and "PYTEST_XDIST_WORKER" in os.environ:
            os._exit(1)
"""


@pytest.mark.parametrize("gates", [(), ("--plsql-gate=coverage >= 0.99",)], ids=["alone", "gated"])
@pytest.mark.parametrize("how", [(), (OUTSIDE,)], ids=" ".join)
def test_a_run_that_loses_its_workers_is_incomplete(
    elsewhere: Suite, how: tuple[str, ...], gates: tuple[str, ...]
) -> None:
    elsewhere.pytester.makeconftest(DIE_AT_SECOND)
    option = elsewhere.predict(*predictions(elsewhere))
    result = elsewhere.run(option, "-n", "2", "--max-worker-restart=0", *gates, *how)
    assert result.ret == (6 if gates else pytest.ExitCode.TESTS_FAILED)
    result.assert_outcomes(passed=1, failed=1, errors=2)
    summary = elsewhere.summary()
    assert (summary["complete"], summary["turns_collected"]) == (False, 20)
    assert summary["statuses"] == {"graded": 2, "infrastructure_error": 2}
    lost = [r["reason"] for r in elsewhere.results() if r["status"] == "infrastructure_error"]
    assert all("crashed while running" in reason and "no worker was left" in reason for reason in lost)


INTERRUPT = """
    import os
    import signal

    import pytest

    seen = []

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(report) -> None:
        if report.when == "call":
            seen.append(report)
            if len(seen) == 2 and "PYTEST_XDIST_WORKER" not in os.environ:
                os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize("how", [(), (OUTSIDE,)], ids=" ".join)
def test_a_run_that_is_interrupted_is_incomplete(elsewhere: Suite, how: tuple[str, ...]) -> None:
    elsewhere.pytester.makeconftest(INTERRUPT)
    option = elsewhere.predict(*predictions(elsewhere))
    result = elsewhere.run(option, "-n", "2", "--plsql-gate=solved@1 >= 0", *how)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*incomplete*2 of 20 turns*"])
    summary = elsewhere.summary()
    assert (summary["complete"], summary["turns_collected"]) == (False, 20)
    assert [entry["verdict"] for entry in summary["gates"]] == ["not_enough_evidence"]
    saved = CliRunner().invoke(gate, [str(elsewhere.folder / "reports"), "--gate", "solved@1 >= 0"])
    assert saved.exit_code == 6, saved.output


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
