"""``--plsql-baseline``: a run compared with an earlier one, task by task."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench_suite import Suite
from click.testing import CliRunner

from pytest_plsqlbench.cli.gate import command


@pytest.fixture
def older(suite: Suite) -> Suite:
    """A suite of ten single tasks and the conversation, and an earlier run that solves the first eight."""
    for number in range(9):
        suite.task({**suite.DOUBLE_TASK, "id": f"double-{number}"}, "more.jsonl")
    suite.run(answers(suite, 8, name="old.jsonl"), "--plsql-report=old").assert_outcomes(passed=11, failed=2)
    return suite


def answers(suite: Suite, right: int, *, name: str = "out.jsonl", model: str = "older") -> str:
    """Predictions that solve the conversation and the first of the ten single tasks."""
    wrong = suite.DOUBLE.replace("n * 2", "n * 3")
    ids = ["double-it", *(f"double-{number}" for number in range(9))]
    rows = [
        {"instance_id": id_, "generated_plsql": suite.DOUBLE if place < right else wrong}
        for place, id_ in enumerate(ids)
    ]
    return suite.predict(*[{**row, "model": model} for row in (*rows, *suite.right()[1:])], name=name)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_what_changed(older: Suite, workers: tuple[str, ...]) -> None:
    result = older.run(answers(older, 6, model="newer"), "--plsql-baseline=old", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED  # a baseline alone decides nothing
    result.stdout.fnmatch_lines(
        [
            "against old: older there, newer here",
            "*turns: 2 newly broken",
            "*newly broken: double-5, double-6",
        ]
    )
    comparison = older.summary()["comparison"]
    assert comparison["models"] == [["older"], ["newer"]]
    assert comparison["metrics"]["functions"]["suite_pass@1"]["difference"] == pytest.approx(-0.2)
    assert (comparison["compared"], comparison["kinds"]["newly_broken"]) == (11, 2)


def test_saved_results_compare_as_the_run_did(older: Suite) -> None:
    gates = ["no_worse_than(baseline, margin=0.02)", "better_than(baseline, subset=functions)"]
    run = older.run(
        answers(older, 6), "--plsql-baseline=old/results.jsonl", *(f"--plsql-gate={text}" for text in gates)
    )
    assert run.ret == 6
    base = str(older.folder / "old" / "results.jsonl")
    arguments = [str(older.folder / "reports" / "results.jsonl"), "--baseline", base]
    arguments += [part for text in gates for part in ("--gate", text)]
    saved = CliRunner().invoke(command, [*arguments, "--json"])
    assert saved.exit_code == 6
    content = json.loads(saved.output)
    summary = older.summary()
    assert len(content["comparison"].pop("changes")) == 2
    assert summary["comparison"].pop("changes") == []
    for part in (content, summary):
        part["comparison"].pop("baseline")  # named as the user named it
        for verdict in part["gates"]:
            verdict["reason"] = verdict["reason"].replace(base, "old/results.jsonl")
    assert content["comparison"] == summary["comparison"]
    assert content["gates"] == summary["gates"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_another_task_set_is_refused_before_anything_runs(older: Suite, workers: tuple[str, ...]) -> None:
    older.task({**older.DOUBLE_TASK, "id": "one-more"}, "more.jsonl")
    result = older.run(answers(older, 8), "--plsql-baseline=old", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stdout.str() + result.stderr.str()
    assert "ERROR: the baseline old is of another run: 1 task of this run is not in it" in text
    assert "--plsql-baseline-common compares the common part (11 tasks)" in text
    assert not (older.folder / "reports").exists()


def test_the_common_part(older: Suite) -> None:
    older.task({**older.DOUBLE_TASK, "id": "one-more"}, "more.jsonl")
    older.run(answers(older, 7), "--plsql-baseline=old", "--plsql-baseline-common").stdout.fnmatch_lines(
        ["*only the common part: 1 task of this run is not in it*", "*newly broken: double-6"]
    )
    comparison = older.summary()["comparison"]
    assert (comparison["only_run"], comparison["only_baseline"], comparison["compared"]) == (1, 0, 11)
    selected = older.run(answers(older, 7), "--plsql-baseline=old", "-k", "double-6")
    assert selected.ret == pytest.ExitCode.USAGE_ERROR


def test_another_reference_is_another_task(older: Suite) -> None:
    path = older.folder / "tasks" / "more.jsonl"
    lines = path.read_text().splitlines()
    lines[0] = lines[0].replace("RETURN n * 2", "RETURN n + n")
    path.write_text("\n".join(lines) + "\n")
    assert "another reference" in refused(older, answers(older, 8), "--plsql-baseline=old")


def test_other_rules_have_nothing_in_common(older: Suite) -> None:
    line = refused(
        older,
        answers(older, 8),
        "--plsql-baseline=old",
        "--plsql-baseline-common",
        "--plsql-compare=normalized",
    )
    assert "judged by other rules: published/" in line


def test_another_engine_version(older: Suite) -> None:
    path = older.folder / "old" / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        row["engine"]["version"] = "9.6"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "was played by postgres 9.6, this run is" in refused(
        older, answers(older, 8), "--plsql-baseline=old"
    )
    result = older.run(answers(older, 8), "--plsql-baseline=old", "--plsql-baseline-common")
    result.stdout.fnmatch_lines(["*only the common part: postgres was played by postgres 9.6 there*"])


def test_a_baseline_that_cannot_be_read(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    assert suite.refused(option, "--plsql-baseline=nowhere") == "--plsql-baseline: nowhere does not exist"
    Path(suite.folder / "empty.jsonl").write_text("")
    assert (
        suite.refused(option, "--plsql-baseline=empty.jsonl") == "the baseline empty.jsonl holds no results"
    )
    Path(suite.folder / "bad.jsonl").write_text("{}\n{}\n")
    assert "bad.jsonl:1: not a result" in suite.refused(option, "--plsql-baseline=bad.jsonl")


def refused(suite: Suite, *args: str) -> str:
    result = suite.run(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR, result.stdout.str()
    lines = [line for line in (*result.outlines, *result.errlines) if line.startswith("ERROR: ")]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_baseline_that_contradicts_itself_is_one_line(suite: Suite, workers: tuple[str, ...]) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "--plsql-report=old")
    file = suite.folder / "old" / "results.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, lines[0]]))
    line = suite.refused(option, "--plsql-baseline=old", "--plsql-gate=solved@1 >= 0", *workers)
    assert "two results for task" in line


def test_a_baseline_of_other_turns_is_refused_without_a_verdict(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "--plsql-report=old")
    result = suite.run(option, "--plsql-baseline=old", "--plsql-gate=solved@1 >= 0", "-k", "double")
    assert result.ret == 4
    assert "gates:" not in result.stdout.str()
