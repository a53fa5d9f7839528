"""``--plsql-quarantine``, and the list that ``gold`` with ``--plsql-repeat`` writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench_suite import Suite
from click.testing import CliRunner

from pytest_plsqlbench.cli.merge import command as merge

SOMETIMES = """CREATE FUNCTION double_it(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RETURN n * 2 + (random() < 0.1)::integer;
END;
$$;
"""


def variant(suite: Suite, reference: str, name: str) -> dict[str, Any]:
    """The small task with another reference."""
    postgres = {**suite.DOUBLE_TASK["variants"]["postgres"], "reference": reference}  # type: ignore[index]
    return {**suite.DOUBLE_TASK, "id": name, "variants": {"postgres": postgres}}


@pytest.fixture
def uneven_suite(suite: Suite) -> Suite:
    """The small suite, and two tasks whose references vary: one in every play, one now and then."""
    always = suite.DOUBLE.replace("n * 2", "(random() * 1000000)::integer")
    suite.task(variant(suite, always, "always"))
    suite.task(variant(suite, SOMETIMES, "sometimes"))
    return suite


def listed(suite: Suite, folder: str = "reports") -> list[dict[str, Any]]:
    text = (suite.folder / folder / "quarantine.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_the_self_check_lists_what_varies_and_later_runs_leave_it_out(
    uneven_suite: Suite, workers: str
) -> None:
    suite = uneven_suite
    result = suite.run("--plsql-predictions=gold", "--plsql-repeat=60", "-n", workers)
    result.stdout.fnmatch_lines(["quarantine: 2 turns, reports/quarantine.jsonl"])
    rows = listed(suite)
    places = [(row["subset"], row["task"], row["dialect"], row["turn"]) for row in rows]
    assert places == [("functions", "always", "postgres", 1), ("functions", "sometimes", "postgres", 1)]
    assert rows[0]["reason"].startswith("test 'two': the reference varies between two plays")
    assert rows[1]["reason"].startswith("test '")

    predictions = [{"instance_id": name, "generated_plsql": suite.DOUBLE} for name in ("always", "sometimes")]
    option = suite.predict(*suite.right(), *predictions[:1])  # the other one has no prediction
    result = suite.run(
        option, "--plsql-quarantine=reports/quarantine.jsonl", "--plsql-report=later", "-n", workers
    )
    result.assert_outcomes(passed=4, skipped=2)
    result.stdout.fnmatch_lines(
        [
            "plsqlbench: quarantine: quarantine.jsonl names 2 turns, which are not graded",
            "*  reference_error: *",
            "quarantine: 2 turns of this run not graded, as quarantine.jsonl says",
        ]
    )
    found = {row["task"]: row for row in suite.results("later") if row["status"] == "reference_error"}
    assert {task: row["reason"] for task, row in found.items()} == {r["task"]: r["reason"] for r in rows}
    assert all("quarantined" in row["flags"] for row in found.values())
    assert suite.summary("later")["metrics"]["functions"]["suite_pass@1"]["n"] == 1
    assert len(listed(suite)) == 2


def test_a_list_is_carried_on_by_the_next_self_check(suite: Suite) -> None:
    entry = {"task": "steps", "subset": "talks", "dialect": "postgres", "turn": 2, "reason": "by hand"}
    (suite.folder / "list.jsonl").write_text(json.dumps(entry) + "\n\n")
    args = ("--plsql-predictions=gold", "--plsql-repeat=2", "--plsql-quarantine=list.jsonl")
    suite.run(*args).assert_outcomes(passed=3, skipped=1)
    assert listed(suite) == [{"schema_version": 1, **entry}]


def test_the_lists_of_parts_are_joined(suite: Suite) -> None:
    entry = {"task": "steps", "subset": "talks", "dialect": "postgres", "turn": 2, "reason": "by hand"}
    (suite.folder / "list.jsonl").write_text(json.dumps(entry))
    for index in (1, 2):
        suite.run(
            "--plsql-predictions=gold",
            "--plsql-repeat=2",
            "--plsql-quarantine=list.jsonl",
            f"--plsql-shard={index}/2",
            f"--plsql-report=parts/{index}",
        )
    arguments = [str(suite.folder / "parts"), "--out", str(suite.folder / "joined")]
    assert CliRunner().invoke(merge, arguments).exit_code == 0
    assert listed(suite, "joined") == [{"schema_version": 1, **entry}]


BROKEN_OFF = """
import pytest

def pytest_runtest_logreport(report):
    if report.when == "teardown":
        pytest.exit("enough")
"""
GOLD = ("--plsql-predictions=gold", "--plsql-repeat=2")


@pytest.fixture
def varying_suite(suite: Suite) -> Suite:
    """The small suite and two tasks that vary, as a self-check has found out."""
    reference = suite.DOUBLE.replace("n * 2", "(random() * 1000000)::integer")
    for name in ("one", "other"):
        suite.task(variant(suite, reference, name), f"{name}.jsonl")
    suite.run(*GOLD)
    assert names(suite) == ["one", "other"]
    return suite


def names(suite: Suite) -> list[str]:
    return [row["task"] for row in listed(suite)]


@pytest.mark.parametrize(
    "args",
    [
        ("-k", "double-it"),
        ("-k", "double-it", "--plsql-resume"),
        ("tasks/tasks.jsonl",),
        ("-k", "one", "--plsql-resume", "-n", "2"),
        ("tasks/one.jsonl",),
    ],
    ids=" ".join,
)
def test_a_part_of_a_self_check_keeps_what_is_known_of_the_rest(
    varying_suite: Suite, args: tuple[str, ...]
) -> None:
    before = listed(varying_suite)
    result = varying_suite.run(*GOLD, *args)
    result.stdout.fnmatch_lines(["quarantine: 2 turns, reports/quarantine.jsonl"])
    assert listed(varying_suite) == before


def test_a_self_check_that_is_broken_off_keeps_the_list(varying_suite: Suite) -> None:
    (varying_suite.folder / "conftest.py").write_text(BROKEN_OFF)
    result = varying_suite.run(*GOLD, "tasks/tasks.jsonl", "tasks/one.jsonl")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert len(varying_suite.results()) == 1
    assert names(varying_suite) == ["one", "other"]


def test_a_mended_turn_leaves_the_list_once_it_was_played(varying_suite: Suite) -> None:
    suite = varying_suite
    (suite.folder / "tasks/one.jsonl").write_text(json.dumps(variant(suite, suite.DOUBLE, "one")))
    suite.run(*GOLD, "-k", "other")
    assert names(suite) == ["one", "other"]
    suite.run(*GOLD, "-k", "one")
    assert names(suite) == ["other"]


def test_a_resumed_self_check_lists_what_the_folder_knows(varying_suite: Suite) -> None:
    suite = varying_suite
    (suite.folder / "reports/quarantine.jsonl").unlink()  # as after a kill
    suite.run(*GOLD, "--plsql-resume", "-k", "one")
    assert names(suite) == ["one", "other"]
    (suite.folder / "reports/quarantine.jsonl").unlink()
    suite.run(*GOLD, "--plsql-resume", "-k", "double-it")  # now of earlier.jsonl alone
    assert names(suite) == ["one", "other"]


def test_a_list_that_cannot_be_added_to_is_one_line_before_anything_runs(suite: Suite) -> None:
    (suite.folder / "reports").mkdir()
    (suite.folder / "reports/quarantine.jsonl").write_text("garbage\n")
    result = suite.run(*GOLD)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: *quarantine.jsonl:1: not a line *; nothing was changed: mend or move the file"]
    )
    assert [path.name for path in (suite.folder / "reports").iterdir()] == ["quarantine.jsonl"]
    suite.run("--plsql-predictions=gold").assert_outcomes(passed=4)  # which lists nothing


def test_a_steady_suite_has_an_empty_list(suite: Suite) -> None:
    suite.run("--plsql-predictions=gold", "--plsql-repeat=2").assert_outcomes(passed=4)
    assert listed(suite) == []
    (suite.folder / "reports/quarantine.jsonl").unlink()
    suite.run("--plsql-predictions=gold")
    assert not (suite.folder / "reports/quarantine.jsonl").exists()


def test_a_verdict_of_a_listed_turn_is_not_reused(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    suite.run(option)
    entry = {"task": "double-it", "subset": "functions", "dialect": "postgres", "reason": "by hand"}
    (suite.folder / "list.jsonl").write_text(json.dumps(entry))
    result = suite.run(option, "--plsql-resume", "--plsql-quarantine=list.jsonl")
    result.assert_outcomes(passed=3, skipped=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "--plsql-quarantine: list.jsonl does not exist"),
        ("garbage", "list.jsonl:1: not a line of a quarantine list: "),
        ('{"task": "t"}', "list.jsonl:1: not a line of a quarantine list: "),
        (
            '\n{"schema_version": 9, "task": "t", "subset": "s", "dialect": "oracle", "reason": "x"}',
            "list.jsonl:2: schema_version 9 is not 1",
        ),
    ],
)
def test_a_list_that_is_none_is_one_line(suite: Suite, content: str | None, message: str) -> None:
    if content is not None:
        (suite.folder / "list.jsonl").write_text(content)
    shown = suite.refused("--plsql-predictions=gold", "--plsql-quarantine=list.jsonl")
    assert message in shown


ENTRY = {"task": "steps", "subset": "talks", "dialect": "postgres", "turn": 2, "reason": "by hand"}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "step"}, "there is no task 'step'; did you mean 'steps'?"),
        ({"subset": "talk"}, "task 'steps' is of subset 'talks', not 'talk'"),
        ({"dialect": "oracle"}, "task 'steps' has no oracle variant"),
        ({"turn": 4}, "'steps' has no turn 4: its turns are 1 to 3"),
        (
            {"task": "double-it", "subset": "functions"},
            "'double-it' has no turn 2: it has one turn",
        ),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else "",
)
def test_an_entry_for_no_turn_is_refused(
    suite: Suite, workers: tuple[str, ...], change: dict[str, object], message: str
) -> None:
    lines = [ENTRY, {**ENTRY, **change}]
    (suite.folder / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = suite.refused("--plsql-predictions=gold", "--plsql-quarantine=list.jsonl", *workers)
    assert f"list.jsonl:2: {message}: mend or remove the line" in shown


@pytest.mark.parametrize("args", [("-k", "double-it"), ("tasks/more.jsonl",)], ids=" ".join)
def test_an_entry_for_a_turn_outside_the_selection_waits(suite: Suite, args: tuple[str, ...]) -> None:
    suite.task({**suite.DOUBLE_TASK, "id": "double-it-too"}, "more.jsonl")
    (suite.folder / "list.jsonl").write_text(json.dumps(ENTRY))
    result = suite.run("--plsql-predictions=gold", "--plsql-quarantine=list.jsonl", *args)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["quarantine: 0 turns of this run not graded, as list.jsonl says"])


def test_a_run_without_tasks_asks_nothing_of_a_list(suite: Suite) -> None:
    (suite.folder / "list.jsonl").write_text(json.dumps({**ENTRY, "task": "strange"}))
    suite.pytester.makepyfile(test_other="def test_it(): pass")
    result = suite.run("--plsql-predictions=gold", "--plsql-quarantine=list.jsonl", "test_other.py")
    result.assert_outcomes(passed=1)
