"""``--plsql-resume``: what is unchanged keeps its verdict, what has changed is graded again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_suite import Suite
from click.testing import CliRunner

from pytest_plsqlbench.cli.merge import command as merge

TIMES = ("elapsed_ms", "reference_ms")
Row = dict[str, Any]
Key = tuple[str, int, int]


PIN = """
import pytest_plsqlbench.grading.content as content
content.judging_version = lambda: "1"
"""


@pytest.fixture
def suite(suite: Suite) -> Suite:
    """The small suite, graded by code that counts as the same though somebody edits it meanwhile."""
    suite.pytester.makeconftest(PIN)
    return suite


@pytest.fixture
def bigger_suite(suite: Suite) -> Suite:
    """Six tasks, three of them conversations."""
    for number in range(2):
        suite.task({**suite.DOUBLE_TASK, "id": f"double-{number}"}, "more.jsonl")
        suite.task({**suite.TALK_TASK, "id": f"steps-{number}"}, "more.jsonl")
    return suite


def mixed(suite: Suite) -> list[Row]:
    """Right, wrong and missing programs; two samples of one task."""
    rows: list[Row] = suite.right()
    rows.append({"instance_id": "double-it", "sample": 1, "generated_plsql": "BROKEN"})
    rows.append({"instance_id": "double-0", "generated_plsql": suite.DOUBLE.replace("n * 2", "n * 3")})
    for index, text in enumerate(suite.TALK, 1):
        rows.append({"conversation_id": "steps-0", "turn_index": index, "generated_plsql": text})
    return rows


def key(row: Row) -> Key:
    return row["task"], row["turn"], row["sample"]


def timeless(rows: list[Row]) -> list[Row]:
    """Results without what was measured."""
    return [
        {
            **{name: value for name, value in row.items() if name not in TIMES},
            "tests": [{n: v for n, v in test.items() if n not in TIMES} for test in row["tests"]],
        }
        for row in rows
    ]


_DONE: dict[bytes, bytes] = {}


def finish(suite: Suite, option: str) -> None:
    """Have the suite graded, and ``mark`` the results; equal suites are graded once for all tests."""
    files = sorted((suite.folder / "tasks").iterdir())
    predictions = b"gold" if option.endswith("gold") else (suite.folder / "out.jsonl").read_bytes()
    content = b"".join((*(path.read_bytes() for path in files), predictions))
    folder = suite.folder / "reports"
    if content not in _DONE:
        suite.run(option)
        _DONE[content] = (folder / "results.jsonl").read_bytes()
    folder.mkdir(exist_ok=True)
    (folder / "results.jsonl").write_bytes(_DONE[content])
    mark(suite)


def mark(suite: Suite, folder: str = "reports") -> None:
    """Give every verdict a duration that no play has: one that still has it was not found out again."""
    rows = suite.results(folder)
    write(
        suite, [{**row, "elapsed_ms": 123456.0} if row["status"] == "graded" else row for row in rows], folder
    )


def write(suite: Suite, rows: list[Row], folder: str = "reports") -> None:
    """Write results as a run does."""
    lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
    (suite.folder / folder / "results.jsonl").write_text("".join(lines))


def graded_again(suite: Suite, folder: str = "reports") -> set[Key]:
    """Turns with a program that were played since ``mark``."""
    rows = suite.results(folder)
    return {key(row) for row in rows if row["status"] == "graded" and row["elapsed_ms"] != 123456.0}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_finished_run_is_not_graded_again(bigger_suite: Suite, workers: str) -> None:
    suite, option = bigger_suite, bigger_suite.predict(*mixed(bigger_suite))
    first = suite.run(option, "-n", workers, "--junitxml=one.xml")
    mark(suite)
    before, summary = suite.results(), (suite.folder / "reports/summary.json").read_bytes()
    again = suite.run(option, "--plsql-resume", "-n", workers, "--junitxml=two.xml")
    assert suite.results() == before
    assert (suite.folder / "reports/summary.json").read_bytes() == summary
    assert again.parseoutcomes() == first.parseoutcomes()
    again.stdout.fnmatch_lines(
        ["plsqlbench: resumed: 13 earlier results in reports", "resumed: 9 of 13 turns reused"]
    )
    assert failures(again) == failures(first)
    assert len(failures(first)) > 20
    assert properties(suite, "two.xml") == properties(suite, "one.xml")
    assert {p.name for p in (suite.folder / "reports").glob("*.jsonl")} <= {"results.jsonl", "turns.jsonl"}


def failures(result: pytest.RunResult) -> list[str]:
    """The lines of the report that say what failed, in any order, whichever worker was told so."""
    text = result.stdout.str()
    text = text[text.index("= FAILURES =") : text.index("plsqlbench: no model named")]
    return sorted(line for line in text.splitlines() if not line.startswith(("[gw", "- generated", "====")))


def properties(suite: Suite, name: str) -> list[str]:
    text = (suite.folder / name).read_text()
    return sorted(part.partition("/>")[0] for part in text.split("<property ")[1:])


def test_without_the_option_everything_is_graded(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    result = suite.run(option)
    assert len(graded_again(suite)) == 4
    assert "resumed" not in result.stdout.str()


def test_nothing_to_resume_is_a_run_as_any_other(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()), "--plsql-resume")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["plsqlbench: resumed: 0 earlier*", "resumed: 0 of 4 turns reused"])


def retask(suite: Suite, change: Callable[[Row], None], task: str = "steps") -> None:
    """Change a task of the suite in its file."""
    path = suite.folder / "tasks/tasks.jsonl"
    tasks = [json.loads(line) for line in path.read_text().splitlines()]
    for content in tasks:
        if content["id"] == task:
            change(content)
    path.write_text("".join(json.dumps(content) + "\n" for content in tasks))


def turn(content: Row, index: int) -> Row:
    found: Row = content["variants"]["postgres"]["turns"][index - 1]
    return found


def change_test(content: Row) -> None:
    turn(content, 2)["tests"][0]["call"] = "SELECT two_steps() + 0;"


def change_reference(content: Row) -> None:
    turn(content, 2)["reference"] += "-- as before\n"


def change_words(content: Row) -> None:
    content["difficulty"] = "hard"
    turn(content, 1)["prompt"] = "Write step(), please."


TASK_CHANGES: list[tuple[Callable[[Row], None], set[int]]] = [
    (change_test, {2}),
    (change_reference, {2, 3}),  # what the third turn shows depends on the second's program
    (change_words, set()),
]


@pytest.mark.parametrize(("change", "again"), TASK_CHANGES, ids=["test", "reference", "words"])
def test_what_a_changed_task_decides_is_graded_again(
    suite: Suite, change: Callable[[Row], None], again: set[int]
) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    retask(suite, change)
    suite.run(option, "--plsql-resume").assert_outcomes(passed=4)
    assert graded_again(suite) == {("steps", index, 0) for index in again}
    assert {row["difficulty"] for row in suite.results() if row["task"] == "steps"} == (
        {"hard"} if change is change_words else {None}
    )


def test_a_changed_program_is_graded_again_with_the_turns_after_it(suite: Suite) -> None:
    rows: list[Row] = suite.right()
    finish(suite, suite.predict(*rows))
    rows[2]["generated_plsql"] = "BROKEN"
    result = suite.run(suite.predict(*rows), "--plsql-resume")
    assert graded_again(suite) == {("steps", 2, 0), ("steps", 3, 0)}
    result.assert_outcomes(passed=2, failed=2)


def test_moving_a_task_changes_nothing(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    path = suite.folder / "tasks/tasks.jsonl"
    path.write_text("\n\n" + "".join(reversed(path.read_text().splitlines(keepends=True))))
    path.rename(path.with_name("moved.jsonl"))
    suite.run(option, "--plsql-resume").assert_outcomes(passed=4)
    assert graded_again(suite) == set()


NEW_COMPARATOR = """
import pytest_plsqlbench.bench.comparison as comparison
comparison.COMPARATOR_VERSION = "2"
"""
NEW_ENGINE = """
import msgspec
from pytest_plsqlbench.hosts import Hosts

Hosts.addresses = property(
    lambda self: tuple(msgspec.structs.replace(s.address, version="99.1") for s in self._servers)
)
"""
NEW_CODE = """
content.judging_version = lambda: "2"
"""


@pytest.mark.parametrize(
    ("conftest", "workers"), [(NEW_COMPARATOR, "0"), (NEW_ENGINE, "0"), (NEW_ENGINE, "2"), (NEW_CODE, "0")]
)
def test_another_comparator_engine_or_code_grades_everything(
    suite: Suite, conftest: str, workers: str
) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    suite.pytester.makeconftest(PIN + conftest)
    suite.run(option, "--plsql-resume", "-n", workers).assert_outcomes(passed=4)
    assert len(graded_again(suite)) == 4


@pytest.mark.parametrize("args", ["--plsql-compare=normalized", "--plsql-limit=rows=1000"])
def test_another_comparison_or_limit_grades_everything(suite: Suite, args: str) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    suite.run(option, "--plsql-resume", args).assert_outcomes(passed=4)
    assert len(graded_again(suite)) == 4


def test_what_is_no_verdict_is_looked_at_again(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    statuses = iter(("infrastructure_error", "reference_error", "engine_unavailable", "graded"))
    write(suite, [{**row, "status": next(statuses)} for row in suite.results()])
    suite.run(option, "--plsql-resume").assert_outcomes(passed=4)
    assert len(graded_again(suite)) == 3


def test_a_result_that_no_play_can_give_is_not_believed(suite: Suite) -> None:
    option = suite.predict({"instance_id": "double-it", "generated_plsql": "BROKEN"})
    finish(suite, option)
    rows = [{**row, "solved": True, "passed": 2} if row["tests"] else row for row in suite.results()]
    write(suite, rows)
    suite.run(option, "--plsql-resume").assert_outcomes(failed=4)
    assert graded_again(suite) == {("double-it", 1, 0)}


def test_a_selection_keeps_what_it_leaves_out_for_the_next_run(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    before = suite.results()
    suite.run(option, "--plsql-resume", "-k", "double")
    assert [row["task"] for row in suite.results()] == ["double-it"]
    suite.run(option, "--plsql-resume").stdout.fnmatch_lines(["resumed: 4 of 4 turns reused"])
    assert suite.results() == before
    assert not (suite.folder / "reports/earlier.jsonl").exists()


def test_a_run_anew_forgets_what_was_kept(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    suite.run(option, "--plsql-resume", "-k", "double")
    assert (suite.folder / "reports/earlier.jsonl").exists()
    suite.run(option)
    assert not (suite.folder / "reports/earlier.jsonl").exists()


def test_a_run_that_stops_early_keeps_the_rest(suite: Suite) -> None:
    rows = suite.right()
    rows[0]["generated_plsql"] = "BROKEN"
    option = suite.predict(*rows)
    finish(suite, option)
    before = suite.results()
    suite.run(option, "--plsql-resume", "-x").assert_outcomes(failed=1)
    assert len(suite.results()) == 1
    suite.run(option, "--plsql-resume")
    assert suite.results() == before


def test_what_failed_last_is_run_again_alone(suite: Suite) -> None:
    rows = suite.right()
    rows[0]["generated_plsql"] = "BROKEN"
    suite.run(suite.predict(*rows))
    mark(suite)
    suite.run(suite.predict(*suite.right()), "--plsql-resume", "--lf").assert_outcomes(passed=1)
    suite.run(suite.predict(*suite.right()), "--plsql-resume").assert_outcomes(passed=4)
    assert graded_again(suite) == {("double-it", 1, 0)}


def test_gold_is_resumed(suite: Suite) -> None:
    finish(suite, "--plsql-predictions=gold")
    suite.run("--plsql-predictions=gold", "--plsql-resume").assert_outcomes(passed=4)
    assert graded_again(suite) == set()


def test_a_shard_is_resumed(bigger_suite: Suite) -> None:
    suite, option = bigger_suite, bigger_suite.predict(*mixed(bigger_suite))
    for args in ((), ("--plsql-resume",)):
        for index in (1, 2):
            folder = f"--plsql-report=parts/{index}"
            suite.run(option, f"--plsql-shard={index}/2", folder, *args)
            if not args:
                mark(suite, f"parts/{index}")
    assert graded_again(suite, "parts/1") == graded_again(suite, "parts/2") == set()
    arguments = [str(suite.folder / "parts"), "--out", str(suite.folder / "joined")]
    assert CliRunner().invoke(merge, arguments).exit_code == 0
    assert len(suite.results("joined")) == 13


def test_a_line_cut_short_costs_one_turn(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    path = suite.folder / "reports/results.jsonl"
    path.write_bytes(path.read_bytes()[:-300])
    suite.run(option, "--plsql-resume").assert_outcomes(passed=4)
    assert graded_again(suite) == {("steps", 3, 0)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"garbage", "reports/results.jsonl:1: not a result"),
        (b"{}\n", "reports/results.jsonl:1: not a result"),
        (b"\x00\x01\n", "reports/results.jsonl:1: not a result"),
        (None, "reports/results.jsonl:1: schema_version 99 is not 1"),
    ],
)
def test_a_file_that_is_no_results_is_left_alone(suite: Suite, content: bytes | None, message: str) -> None:
    option = suite.predict(*suite.right())
    path = suite.folder / "reports/results.jsonl"
    finish(suite, option)
    if content is None:
        content = path.read_bytes().replace(b'"schema_version":1', b'"schema_version":99')
    path.write_bytes(content)
    names = sorted(p.name for p in path.parent.iterdir())
    result = suite.run(option, "--plsql-resume", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = [line for line in (*result.outlines, *result.errlines) if line.startswith("ERROR: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "nothing was changed" in errors[0]
    assert path.read_bytes() == content
    assert sorted(p.name for p in path.parent.iterdir()) == names


def test_the_option_has_three_names(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    option = suite.predict(*suite.right())
    finish(suite, option)
    suite.pytester.makeini("[pytest]\ntestpaths = tasks\nplsql_resume = true\n")
    suite.run(option).stdout.fnmatch_lines(["resumed: 4 of 4 turns reused"])
    monkeypatch.setenv("PLSQLBENCH_RESUME", "no")
    assert "resumed" not in suite.run(option).stdout.str()
    monkeypatch.setenv("PLSQLBENCH_RESUME", "maybe")
    assert "neither true nor false" in suite.run(option).stderr.str()


# ---- killed ---------------------------------------------------------------------------------------


SLOW = """CREATE FUNCTION double_it(n integer) RETURNS integer LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_sleep(0.1); {} $$;"""


@pytest.fixture
def slow_suite(suite: Suite) -> Suite:
    """Forty turns of about a fifth of a second, and four fast ones."""
    for number in range(40):
        suite.task({**suite.DOUBLE_TASK, "id": f"slow-{number}"}, "slow.jsonl")
    return suite


def slow_predictions(suite: Suite) -> str:
    ends = ("RETURN n * 2; END;", "RAISE NOTICE 'doubling %', n; RETURN n * 2; END;")
    rows = [
        {"instance_id": f"slow-{number}", "generated_plsql": SLOW.format(ends[number % 2])}
        for number in range(40)
    ]
    return suite.predict(*suite.right(), *rows)


def kill_at(suite: Suite, lines: int, *args: str) -> list[Row]:
    """Start a run, kill its controller once it has written some results; those results."""
    path = suite.folder / "reports/results.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *args],
        cwd=suite.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while count_lines(path) < lines:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_for_orphans(process.pid)
    return suite.results()


def wait_for_orphans(session: int) -> None:
    """Workers end once they find that their controller is gone; kill those that do not in time."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(session, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(session, signal.SIGKILL)


def count_lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_killed_run_goes_on_where_it_was(slow_suite: Suite, workers: str) -> None:
    suite, option = slow_suite, slow_predictions(slow_suite)
    suite.run(option, "--plsql-report=whole", "-n", "2")
    first = kill_at(suite, 6, option, "-n", workers)
    mark(suite)
    found = {key(row) for row in first}
    second = kill_at(suite, 9, option, "--plsql-resume", "-n", workers)
    files = [suite.folder / "reports" / name for name in ("results.jsonl", "earlier.jsonl")]
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    assert found <= {key(row) for row in lines}, "a finished turn was lost"
    new = {key(row) for row in second if row["elapsed_ms"] != 123456.0}
    result = suite.run(option, "--plsql-resume", "-n", workers)
    reused = {key(row) for row in suite.results() if row["elapsed_ms"] == 123456.0}
    assert reused == found
    assert f"resumed: {len(found | new)} of 44 turns reused" in result.stdout.str()
    assert timeless(suite.results()) == timeless(suite.results("whole"))
    assert suite.summary() == suite.summary("whole")
    assert not files[1].exists()
