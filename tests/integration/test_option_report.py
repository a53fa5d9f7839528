"""``--plsql-report``: the files a run leaves."""

from __future__ import annotations

import sys

import pytest
from bench_suite import Suite

from pytest_plsqlbench.reporting.texts import read_texts


def test_files_go_where_the_option_says(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()), "--plsql-report=out/of/here")
    result.assert_outcomes(passed=4)
    assert len(suite.results("out/of/here")) == 4
    assert not (suite.folder / "reports").exists()
    result.stdout.fnmatch_lines(["*out/of/here*"])


def test_results_are_sorted_and_say_what_was_compared(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()), "-n", "2")
    results = suite.results()
    assert [r["turn_id"] for r in results] == sorted(r["turn_id"] for r in results)
    first = results[0]
    assert first["schema_version"] == 1
    assert first["comparator"].startswith("published/")
    assert first["engine"]["name"] == "postgres"
    assert len(first["program_sha256"]) == len(first["reference_sha256"]) == 64


def test_a_usage_error_leaves_the_files_of_an_earlier_run(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()))
    before = (suite.folder / "reports" / "results.jsonl").read_bytes()
    result = suite.run(suite.predict(b"nonsense\n"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (suite.folder / "reports" / "results.jsonl").read_bytes() == before


def test_collect_only_writes_nothing(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()), "--collect-only")
    assert not (suite.folder / "reports").exists()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_folder_that_cannot_be_written_is_one_line_before_anything_runs(
    suite: Suite, workers: tuple[str, ...]
) -> None:
    (suite.folder / "file").write_text("")
    line = suite.refused(suite.predict(*suite.right()), "--plsql-report=file/below", *workers)
    assert "file/below" in line


def test_nothing_is_left_beside_the_files(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()))
    assert sorted(p.name for p in (suite.folder / "reports").iterdir()) == [
        "report.html",
        "results.jsonl",
        "summary.json",
        "turns.jsonl",
    ]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_prompt_program_and_reference_are_kept(suite: Suite, workers: tuple[str, ...]) -> None:
    rows = suite.right()
    rows[0]["generated_plsql"] = "SELECT 'wrong';"
    suite.run(suite.predict(*rows[:2]), *workers)
    texts = read_texts(suite.folder / "reports" / "turns.jsonl")
    assert [(key.task, key.turn) for key in texts] == [(r["task"], r["turn"]) for r in suite.results()]
    double, step, two_steps, _ = texts.values()
    assert double.program == "SELECT 'wrong';"
    assert double.reference == suite.DOUBLE
    assert double.prompt is not None
    assert double.prompt.startswith("Write a function double_it(n)")
    assert double.calls == ("SELECT double_it(2);", "SELECT double_it(NULL);")
    assert step.program == suite.TALK[0]
    assert two_steps.program is None


def test_the_page_of_the_run_is_the_one_that_is_made_of_its_files(suite: Suite) -> None:
    rows = suite.right()
    rows[1]["generated_plsql"] = "CREATE FUNCTION step() RETURNS integer LANGUAGE sql AS 'SELECT 5';"
    result = suite.run(suite.predict(*rows), "--plsql-gate=coverage >= 0.5")
    result.stdout.fnmatch_lines(["files: reports/results.jsonl, summary.json and report.html beside it"])
    page = suite.folder / "reports" / "report.html"
    written = page.read_bytes()
    page.unlink()
    command = "from pytest_plsqlbench.cli import main; main(['report', 'reports'])"
    again = suite.pytester.run(sys.executable, "-c", command)
    again.stdout.fnmatch_lines(["reports/report.html: 4 turns of 1 run, *"])
    assert page.read_bytes() == written
    assert b"coverage &gt;= 0.5" in written


def test_the_page_beside_a_baseline_is_made_again_with_the_same_option(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()), "--plsql-report=old")
    suite.run(suite.predict(*suite.right()), "--plsql-baseline=old")
    page = suite.folder / "reports" / "report.html"
    written = page.read_bytes()
    page.unlink()
    command = "from pytest_plsqlbench.cli import main; main(['report', 'reports', '--baseline', 'old'])"
    suite.pytester.run(sys.executable, "-c", command)
    assert page.read_bytes() == written


def test_what_a_reference_is_like_stands_beside_the_verdict(suite: Suite) -> None:
    suite.run(suite.predict(suite.right()[0]))
    first, *talk = suite.results()
    assert first["reference"] == {
        "statements": 2,
        "cyclomatic": 1,
        "constructs": ["function", "raise", "printed_output"],
    }
    assert all(test["reference_ms"] > 0 for test in first["tests"])
    assert {turn["status"] for turn in talk} == {"missing"}
    assert all(turn["reference"]["statements"] == 1 for turn in talk)
