"""``--plsql-shard`` and ``plsqlbench merge``: parts of a run, joined, are the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench_suite import Suite
from click.testing import CliRunner, Result

from pytest_plsqlbench.cli.merge import command


@pytest.fixture
def bigger_suite(suite: Suite) -> Suite:
    """Ten tasks, five of them conversations, some in a second file."""
    for number in range(4):
        suite.task({**suite.DOUBLE_TASK, "id": f"double-{number}"}, "more.jsonl")
        suite.task({**suite.TALK_TASK, "id": f"steps-{number}"}, "more.jsonl")
    return suite


def predictions(suite: Suite) -> str:
    """Right, wrong and missing programs; two samples of one task."""
    rows = suite.right()
    rows.append({"instance_id": "double-it", "sample": 1, "generated_plsql": "BROKEN"})
    for number in range(3):
        program = suite.DOUBLE if number % 2 else suite.DOUBLE.replace("n * 2", "n * 3")
        rows.append({"instance_id": f"double-{number}", "generated_plsql": program})
        for index, text in enumerate(suite.TALK, 1):
            rows.append({"conversation_id": f"steps-{number}", "turn_index": index, "generated_plsql": text})
    return suite.predict(*rows)


def merge(suite: Suite, *parts: str, out: str = "joined") -> Result:
    folders = [str(suite.folder / part) for part in parts]
    return CliRunner().invoke(command, [*folders, "--out", str(suite.folder / out)])


def content(suite: Suite, folder: str, name: str) -> bytes:
    return (suite.folder / folder / name).read_bytes()


def keys(suite: Suite, folder: str) -> set[tuple[Any, ...]]:
    rows = suite.results(folder)
    return {(row["task"], row["turn"], row["sample"]) for row in rows}


def run_file(suite: Suite, folder: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(content(suite, folder, "run.json"))
    return read


@pytest.mark.parametrize("workers", ["0", "2"])
def test_joined_parts_are_the_undivided_run(bigger_suite: Suite, workers: str) -> None:
    suite, option = bigger_suite, predictions(bigger_suite)
    suite.run(option, "--plsql-report=whole", "-n", workers)
    parts = [f"parts/{index}" for index in (1, 2, 3)]
    for index, part in enumerate(parts, 1):
        result = suite.run(option, f"--plsql-shard={index}/3", f"--plsql-report={part}", "-n", workers)
        result.stdout.fnmatch_lines([f"plsqlbench: shard {index}/3 of the turns"])
        assert "incomplete" not in result.stdout.str()
        assert json.loads(content(suite, part, "summary.json"))["complete"] is True
    found = [keys(suite, part) for part in parts]
    assert sum(map(len, found)) == len(set().union(*found)) == len(suite.results("whole")) == 21
    tasks = [{task for task, _, _ in part} for part in found]
    assert sum(map(len, tasks)) == len(set().union(*tasks)) == 10
    for order in (parts, parts[::-1], ["parts"]):
        done = merge(suite, *order)
        assert done.exit_code == 0, done.output
        assert content(suite, "joined", "summary.json") == content(suite, "whole", "summary.json")
        assert content(suite, "joined", "report.html").startswith(b"<!DOCTYPE html>")


def test_every_worker_count_makes_the_same_run_file(bigger_suite: Suite) -> None:
    option = predictions(bigger_suite)
    for workers in ("0", "2"):
        bigger_suite.run(option, "--plsql-shard=2/3", f"--plsql-report=n{workers}", "-n", workers)
    assert content(bigger_suite, "n0", "run.json") == content(bigger_suite, "n2", "run.json")


@pytest.mark.parametrize("workers", ["0", "2"])
def test_parts_without_turns_join_too(suite: Suite, workers: str) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "--plsql-report=whole")
    for index in (1, 2, 3):
        result = suite.run(option, f"--plsql-shard={index}/3", f"--plsql-report=parts/{index}", "-n", workers)
        assert result.ret == 0
        said = f"part {index}/3 has no turns: there are fewer tasks than parts" in result.outlines
        assert said != (suite.folder / "parts" / str(index) / "results.jsonl").exists()
    empty = [part for part in (suite.folder / "parts").iterdir() if not (part / "results.jsonl").exists()]
    assert len(empty) == 1
    done = merge(suite, "parts")
    assert done.exit_code == 0, done.output
    assert content(suite, "joined", "summary.json") == content(suite, "whole", "summary.json")


def test_a_selection_of_nothing_is_a_fault_in_every_part(suite: Suite) -> None:
    result = suite.run("--plsql-predictions=gold", "--plsql-shard=1/2", "-k", "no_such_task")
    assert result.ret == 5
    assert "has no turns" not in result.stdout.str()


def test_a_selection_by_name_is_divided_after_it(bigger_suite: Suite) -> None:
    suite, option = bigger_suite, predictions(bigger_suite)
    suite.run(option, "--plsql-report=whole", "-k", "double")
    for index in (1, 2):
        suite.run(option, f"--plsql-shard={index}/2", f"--plsql-report=parts/{index}", "-k", "double")
    assert sorted(len(keys(suite, f"parts/{index}")) for index in (1, 2)) == [2, 4]
    assert merge(suite, "parts").exit_code == 0
    assert content(suite, "joined", "summary.json") == content(suite, "whole", "summary.json")


def test_parts_of_another_selection_are_refused(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "--plsql-shard=1/2", "--plsql-report=parts/1")
    suite.run(option, "--plsql-shard=2/2", "--plsql-report=parts/2", "-k", "steps")
    assert "is not of the same run" in str(merge(suite, "parts").exception)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_part_that_stopped_early_is_refused(bigger_suite: Suite, workers: str) -> None:
    option = predictions(bigger_suite)
    bigger_suite.run(option, "--plsql-shard=1/1", "-x", "-n", workers)
    assert "is incomplete" in str(merge(bigger_suite, "reports").exception)


def test_the_description_of_an_earlier_run_does_not_outlive_it(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "--plsql-shard=1/1")
    assert run_file(suite, "reports")["shard"] == {"index": 1, "count": 1}
    suite.run(option)
    assert sorted(p.name for p in (suite.folder / "reports").iterdir()) == [
        "report.html",
        "results.jsonl",
        "summary.json",
        "turns.jsonl",
    ]


def test_listing_shows_the_part_and_writes_nothing(suite: Suite) -> None:
    listed: list[str] = []
    for index in (1, 2):
        result = suite.run("--plsql-predictions=gold", f"--plsql-shard={index}/2", "--collect-only", "-q")
        mine = [line for line in result.outlines if "::" in line]
        assert len(mine) in {1, 3}
        listed += mine
    assert len(set(listed)) == 4
    assert not (suite.folder / "reports").exists()


def test_other_tests_run_in_every_part(suite: Suite) -> None:
    suite.pytester.makepyfile(**{"tasks/test_other": "def test_it() -> None: pass"})
    for index in (1, 2):
        result = suite.run("--plsql-predictions=gold", f"--plsql-shard={index}/2", "--collect-only", "-q")
        result.stdout.fnmatch_lines(["*test_other.py::test_it"])


def test_the_scheduler_tells_the_part(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_SHARD", "auto/2")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "2")
    suite.run("--plsql-predictions=gold")
    assert run_file(suite, "reports")["shard"] == {"index": 2, "count": 2}


def test_a_database_that_differs_is_refused(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    for index in (1, 2):
        suite.run(option, f"--plsql-shard={index}/2", f"--plsql-report=parts/{index}")
        path: Path = suite.folder / f"parts/{index}/run.json"
        part = json.loads(path.read_bytes())
        path.write_text(json.dumps({**part, "databases": {"postgres/shop": str(index)}}))
    assert "the database postgres/shop differs" in str(merge(suite, "parts").exception)


@pytest.mark.parametrize("shard", ["0/3", "4/3", "1", "a/b", "1/0", "auto/3"])
def test_a_part_that_is_none_is_one_line(suite: Suite, shard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"):
        monkeypatch.delenv(variable, raising=False)
    assert suite.refused("--plsql-predictions=gold", f"--plsql-shard={shard}").startswith("--plsql-shard: ")
