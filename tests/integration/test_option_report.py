"""``--plsql-report``: the files a run leaves."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from bench_suite import Suite
from click.testing import CliRunner

from pytest_plsqlbench.cli.merge import command as merge
from pytest_plsqlbench.reporting.lock import FolderLock
from pytest_plsqlbench.reporting.store import read_results
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


TAKE_AWAY = """
import os, pathlib, shutil, pytest

turns = 0

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    global turns
    turns += report.when == "call" and "PYTEST_XDIST_WORKER" not in os.environ
    if report.when == "call" and turns == {turn}:
        shutil.rmtree("out")
        {then}
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
@pytest.mark.parametrize("turn", [1, 4])
def test_a_folder_that_is_removed_while_the_run_goes_on_is_made_again(
    suite: Suite, turn: int, workers: tuple[str, ...]
) -> None:
    (suite.folder / "conftest.py").write_text(TAKE_AWAY.format(turn=turn, then=""))
    result = suite.run(suite.predict(*suite.right()), "--plsql-report=out/reports", *workers)
    assert result.ret == 0
    [line] = [line for line in result.outlines if "out/reports was removed" in line]
    assert line.startswith("WARNING: ")
    assert line.endswith("; it was made again with all 4 results of this run")
    assert len(suite.results("out/reports")) == 4
    assert suite.summary("out/reports")["complete"]
    texts = read_texts(suite.folder / "out" / "reports" / "turns.jsonl")
    assert [bool(text.program and text.prompt) for text in texts.values()] == [True] * 4
    assert (suite.folder / "out" / "reports" / "report.html").exists()


def test_a_part_whose_folder_is_removed_can_be_merged(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "--plsql-report=parts/1", "--plsql-shard=1/2")
    (suite.folder / "conftest.py").write_text(TAKE_AWAY.format(turn=1, then=""))
    suite.run(option, "--plsql-report=out/2", "--plsql-shard=2/2")
    done = CliRunner().invoke(
        merge, [*(str(suite.folder / part) for part in ("parts/1", "out/2")), "--out", "all"]
    )
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("turn", [1, 4])
def test_results_whose_folder_cannot_be_made_again_are_kept_elsewhere(
    suite: Suite, turn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = suite.folder / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    then = "pathlib.Path('out').write_text('')"
    (suite.folder / "conftest.py").write_text(TAKE_AWAY.format(turn=turn, then=then))
    result = suite.run(suite.predict(*suite.right()), "--plsql-report=out/reports")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in (*result.outlines, *result.errlines) if line.startswith("ERROR: ")]
    found = re.fullmatch(r"ERROR: cannot write \S+: \S.*; (\d) results are kept in (\S+)", line)
    assert found, line
    assert "Traceback" not in result.stdout.str() + result.stderr.str()
    kept = read_results(Path(found[2]))
    assert len(kept) == int(found[1]) == min(turn + 1, 4)
    assert Path(found[2]).is_relative_to(temporary)


IN_THE_WAY = """
import pathlib, pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    pathlib.Path("out").touch()
"""


def test_the_first_result_is_kept_where_the_folder_cannot_even_be_begun(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(suite.folder))
    (suite.folder / "conftest.py").write_text(IN_THE_WAY)
    result = suite.run(suite.predict(*suite.right()), "--plsql-report=out/reports")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in (*result.outlines, *result.errlines) if line.startswith("ERROR: ")]
    assert "; 1 result is kept in " in line
    assert len(read_results(Path(line.rpartition(" ")[2]))) == 1


def test_a_folder_in_the_place_of_the_results_loses_none(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(suite.folder))
    (suite.folder / "reports" / "results.jsonl").mkdir(parents=True)
    result = suite.run(suite.predict(*suite.right()))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in (*result.outlines, *result.errlines) if line.startswith("ERROR: ")]
    assert "results.jsonl" in line or "reports" in line
    assert "; 1 result is kept in " in line
    assert len(read_results(Path(line.rpartition(" ")[2]))) == 1


ANOTHER_FILE = """
import os, pathlib, shutil, pytest

turns = 0
results = pathlib.Path("reports/results.jsonl")

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    global turns
    turns += report.when == "call"
    if report.when == "call" and turns == 2:
        pathlib.Path("another").write_text("another run's\\n")
        os.replace("another", results)

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    shutil.copy(results, "as-a-kill-would-leave-it")
"""


def test_another_run_that_ends_in_the_folder_takes_no_result_away(suite: Suite) -> None:
    (suite.folder / "conftest.py").write_text(ANOTHER_FILE)
    result = suite.run(suite.predict(*suite.right()))
    assert result.ret == 0
    assert len(read_results(suite.folder / "as-a-kill-would-leave-it")) == 4
    assert len(suite.results()) == 4
    [line] = [line for line in result.outlines if line.startswith("WARNING: ")]
    assert "reports was removed, moved or used by another run while this one went on; " in line
    assert line.endswith("it was made again with all 4 results of this run")


@pytest.mark.parametrize("args", [(), ("-n", "2"), ("--plsql-resume",)], ids=["n0", "n2", "resumed"])
def test_one_run_at_a_time_writes_to_a_folder(suite: Suite, args: tuple[str, ...]) -> None:
    option = suite.predict(*suite.right())
    suite.run(option)
    reports = suite.folder / "reports"
    lock = FolderLock(reports, "reports")
    lock.take()
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in reports.iterdir()}
    result = suite.run(option, *args)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in reports.iterdir()} == before
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    words = f"another run, pid {os.getpid()}, writes to reports; name another folder with --plsql-report"
    assert result.errlines == [f"ERROR: {words}", ""]
    suite.run(option, "--collect-only").stdout.fnmatch_lines(["*4 tests collected*"])
    lock.release()
    suite.run(option, *args).assert_outcomes(passed=4)
    assert sorted(path.name for path in reports.iterdir()) == [
        "report.html",
        "results.jsonl",
        "summary.json",
        "turns.jsonl",
    ]


QUICKER = """
import pathlib, pytest
from pytest_plsqlbench.reporting.lock import FolderLock

lock = FolderLock(pathlib.Path("reports"), "reports")

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    pathlib.Path("reports").mkdir(exist_ok=True)
    lock.take()
"""


@pytest.mark.parametrize(
    ("args", "kept"),
    [((), "1 result is kept in (.*)"), (("--plsql-shard=1/1",), "no turn had a result yet()")],
    ids=["whole", "part"],
)
def test_a_run_that_was_quicker_in_a_new_folder_has_it(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], kept: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(suite.folder))
    (suite.folder / "conftest.py").write_text(QUICKER)
    result = suite.run(suite.predict(*suite.right()), *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in (*result.outlines, *result.errlines) if line.startswith("ERROR: ")]
    words = r"ERROR: another run, pid \d+, writes to reports; name another folder with --plsql-report; "
    found = re.fullmatch(words + kept, line)
    assert found, line
    if found[1]:
        assert len(read_results(Path(found[1]))) == 1
    assert {path.name for path in (suite.folder / "reports").iterdir()} <= {".plsqlbench.lock"}


def test_a_name_of_two_lines_is_shown_on_one(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()), "--plsql-report=two\nlines")
    assert (suite.folder / "two\nlines" / "report.html").exists()
    line = r"files: two\nlines/results.jsonl, summary.json and report.html beside it"
    assert line in result.outlines
