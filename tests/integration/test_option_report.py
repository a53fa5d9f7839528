"""``--plsql-report``: the files a run leaves."""

from __future__ import annotations

import pytest


def test_files_go_where_the_option_says(suite):
    result = suite.run(suite.predict(*suite.right()), "--plsql-report=out/of/here")
    result.assert_outcomes(passed=4)
    assert len(suite.results("out/of/here")) == 4
    assert not (suite.folder / "reports").exists()
    result.stdout.fnmatch_lines(["*out/of/here*"])


def test_results_are_sorted_and_say_what_was_compared(suite):
    suite.run(suite.predict(*suite.right()), "-n", "2")
    results = suite.results()
    assert [r["turn_id"] for r in results] == sorted(r["turn_id"] for r in results)
    first = results[0]
    assert first["schema_version"] == 1
    assert first["comparator"].startswith("published/")
    assert first["engine"]["name"] == "postgres"
    assert len(first["program_sha256"]) == len(first["reference_sha256"]) == 64


def test_a_usage_error_leaves_the_files_of_an_earlier_run(suite):
    suite.run(suite.predict(*suite.right()))
    before = (suite.folder / "reports" / "results.jsonl").read_bytes()
    result = suite.run(suite.predict(b"nonsense\n"))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert (suite.folder / "reports" / "results.jsonl").read_bytes() == before


def test_collect_only_writes_nothing(suite):
    suite.run(suite.predict(*suite.right()), "--collect-only")
    assert not (suite.folder / "reports").exists()


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_folder_that_cannot_be_written_is_one_line_before_anything_runs(suite, workers):
    (suite.folder / "file").write_text("")
    line = suite.refused(suite.predict(*suite.right()), "--plsql-report=file/below", *workers)
    assert "file/below" in line


def test_nothing_is_left_beside_the_files(suite):
    suite.run(suite.predict(*suite.right()))
    assert sorted(p.name for p in (suite.folder / "reports").iterdir()) == ["results.jsonl", "summary.json"]
