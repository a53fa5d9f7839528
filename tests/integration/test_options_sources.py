"""Command line over environment over ini file; values that cannot be used are one line."""

from __future__ import annotations

import pytest
from bench_suite import Suite


def test_environment_activates_and_the_command_line_wins(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.predict(*suite.right(), name="env.jsonl")
    monkeypatch.setenv("PLSQLBENCH_PREDICTIONS", "env.jsonl")
    suite.run().assert_outcomes(passed=4)
    suite.run(suite.predict(suite.right()[0])).assert_outcomes(passed=1, failed=3)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_ini_file_activates_and_the_environment_wins(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    suite.predict(*suite.right())
    (suite.folder / "pytest.ini").write_text(
        "[pytest]\nplsql_predictions = out.jsonl\nplsql_report = first\n"
    )
    suite.run("tasks", *workers).assert_outcomes(passed=4)
    monkeypatch.setenv("PLSQLBENCH_REPORT", "second")
    suite.run("tasks", *workers).assert_outcomes(passed=4)
    assert len(suite.results("first")) == len(suite.results("second")) == 4


def test_paths_in_the_ini_file_are_relative_to_it(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.predict(*suite.right())
    (suite.folder / "pytest.ini").write_text("[pytest]\nplsql_predictions = out.jsonl\n")
    monkeypatch.chdir(suite.folder / "tasks")
    suite.run(".").assert_outcomes(passed=4)


@pytest.mark.parametrize("value", ["soon", "0", "0.01", "-1", "nan", "inf", "86401"])
def test_a_timeout_that_is_no_time(suite: Suite, value: str) -> None:
    line = suite.refused("--plsql-predictions=gold", f"--plsql-timeout={value}")
    assert line.startswith(f"--plsql-timeout: {value!r} is not a number of seconds")


def test_the_place_of_a_bad_value_is_named(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_COMPARE", "loosely")
    line = suite.refused("--plsql-predictions=gold")
    assert line == ("environment variable PLSQLBENCH_COMPARE: 'loosely' is not one of published, normalized")


def test_a_choice_that_does_not_exist(suite: Suite) -> None:
    result = suite.run("--plsql-predictions=gold", "--plsql-dialect=mysql")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--plsql-dialect*invalid choice: 'mysql'*"])
