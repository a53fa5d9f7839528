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
        ["plsqlbench: quarantine: 2 turns of quarantine.jsonl are not graded", "*  reference_error: *"]
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
