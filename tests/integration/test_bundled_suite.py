"""The bundled suite is complete and right by its own references; the examples show every outcome."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_plsqlbench.datasets.bundled import bundled_path
from pytest_plsqlbench.datasets.readers import load_path


def test_gold_is_100_percent(suite):
    result = suite.run(str(bundled_path("tasks")), "--plsql-predictions=gold", "-n", "2")
    assert result.ret == 0
    summary = suite.summary()
    assert set(summary["statuses"]) == {"graded"}
    values = [metric["value"] for metrics in summary["metrics"].values() for metric in metrics.values()]
    assert values
    assert set(values) == {1.0}


def test_it_holds_what_it_promises():
    tasks = [task for task in load_path(bundled_path("tasks")).tasks if task.dialect == "postgres"]
    subsets = Counter(task.subset for task in tasks)
    assert len(tasks) >= 30
    assert sum(subsets[name] for name in ("functions", "procedures", "reports")) >= 16
    assert subsets["call_suites"] >= 8
    talks = [task for task in tasks if task.conversation]
    assert len(talks) >= 6
    assert all(3 <= len(task.turns) <= 5 for task in talks)


def test_the_example_predictions_show_every_kind_of_outcome(suite):
    file = bundled_path("examples") / "predictions.jsonl"
    tasks = str(bundled_path("tasks"))
    result = suite.run(tasks, f"--plsql-predictions={file}", "-n", "2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    results = suite.results()
    assert {r["status"] for r in results} == {"graded", "missing"}
    assert {r["solved"] for r in results} == {True, False}
    categories = {t["category"] for r in results for t in r["tests"] if t["verdict"] == "failed"}
    assert categories == {"wrong_result", "invalid_program", "interface", "limit"}
    assert any(0 < r["passed"] < r["total"] for r in results)


def test_the_path_command_names_folders_that_exist(suite):
    for what in ("tasks", "fixtures", "examples"):
        result = suite.pytester.run("plsqlbench", "path", what)
        assert Path(result.outlines[0]).is_dir()
