"""``--plsql-gate`` and ``plsqlbench gate``: what a run must show, and what its exit code says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench_suite import Suite
from click.testing import CliRunner, Result

from pytest_plsqlbench.cli.gate import command


def gate(suite: Suite, *args: str, results: str = "reports") -> Result:
    return CliRunner().invoke(command, [str(suite.folder / results), *args])


def verdicts(suite: Suite) -> dict[str, str]:
    return {entry["gate"]: entry["verdict"] for entry in suite.summary()["gates"]}


def half_right(suite: Suite) -> str:
    """The single task wrong, the conversation right."""
    return suite.predict({"instance_id": "double-it", "generated_plsql": "BROKEN"}, *suite.right()[1:])


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_gates_decide_the_exit_code(suite: Suite, workers: tuple[str, ...]) -> None:
    held = suite.run(half_right(suite), "--plsql-gate=talks.episode_pass@1 >= 1", *workers)
    assert held.ret == 0  # although a test has failed
    held.assert_outcomes(passed=3, failed=1)
    held.stdout.fnmatch_lines(["gates: 1 held", "held *talks.episode_pass@1 >= 1"])
    broken = suite.run(half_right(suite), "--plsql-gate=functions.suite_pass@1 >= 50%", *workers)
    assert broken.ret == 1
    broken.stdout.fnmatch_lines(
        ["BROKEN *functions.suite_pass@1 >= 50%", "*0% [[]0%, 79.4%], n = 1; asked for >= 50%"]
    )
    unknown = suite.run(half_right(suite), "--plsql-gate=low(talks.episode_pass@1) >= 0.5", *workers)
    assert unknown.ret == 6
    unknown.stdout.fnmatch_lines(["NOT ENOUGH EVIDENCE *low(talks*", "*enough would be:*"])


def test_a_solved_run_can_break_a_gate(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()), "--plsql-gate=solved@1 < 1")
    result.assert_outcomes(passed=4)
    assert result.ret == 1


def test_gates_add_up_from_all_places(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.pytester.makeini(
        "[pytest]\ntestpaths = tasks\n"
        "plsql_gates =\n    coverage >= 0.99\n    # a comment\n    timeouts == 0\n"
    )
    monkeypatch.setenv("PLSQLBENCH_GATES", "turns == 4; missing == 0")
    result = suite.run(suite.predict(*suite.right()), "--plsql-gate=solved@1 == 1")
    assert result.ret == 0
    assert verdicts(suite) == dict.fromkeys(
        ("coverage >= 0.99", "timeouts == 0", "turns == 4", "missing == 0", "solved@1 == 1"), "held"
    )


def test_saved_results_give_the_same_verdicts_and_words(suite: Suite) -> None:
    gates = [
        "functions.suite_pass@1 >= 0.5",
        "low(overall.mean_test_pass@1) >= 0.1",
        "share(syntax_error) <= 0.5",
        "coverage >= 0.9",
        "infrastructure_errors == 0",
    ]
    run = suite.run(half_right(suite), *(f"--plsql-gate={text}" for text in gates))
    saved = gate(suite, *(part for text in gates for part in ("--gate", text)))
    assert saved.exit_code == run.ret == 1
    printed = run.stdout.str()
    assert saved.output.startswith("gates: ")
    assert saved.output.strip() in printed
    as_json = gate(suite, *(part for text in gates for part in ("--gate", text)), "--json")
    content: dict[str, Any] = json.loads(as_json.output)
    assert content["gates"] == suite.summary()["gates"]
    assert (content["exit_code"], content["comparison"]) == (1, None)


def test_missing_predictions_are_no_bad_verdict(suite: Suite) -> None:
    result = suite.run(
        suite.predict(suite.right()[0]), "--plsql-gate=coverage >= 99%", "--plsql-gate=solved@1 >= 1"
    )
    assert result.ret == 6  # nobody may say of a quarter of the answers that the rest is bad
    assert "BROKEN" not in result.stdout.str()
    assert verdicts(suite) == dict.fromkeys(("coverage >= 99%", "solved@1 >= 1"), "not_enough_evidence")
    result.stdout.fnmatch_lines(["*coverage is 25% (1 of 4 turns)*", "*predictions for 3 more turns"])


def test_a_run_that_was_stopped_is_not_judged(suite: Suite) -> None:
    result = suite.run(half_right(suite), "-x", "--plsql-gate=solved@1 >= 0", "--plsql-gate=timeouts == 0")
    assert result.ret == 6
    assert set(verdicts(suite).values()) == {"not_enough_evidence"}
    result.stdout.fnmatch_lines(["*the run is incomplete: 1 of 4 turns have a result*"])
    saved = gate(suite, "--gate", "solved@1 >= 0")
    assert saved.exit_code == 6
    assert "1 of 4 turns" in saved.output


def test_a_lost_engine_is_no_verdict(suite: Suite) -> None:
    variants = {"oracle": {**suite.DOUBLE_TASK["variants"]["postgres"]}}  # type: ignore[index]
    suite.task({**suite.DOUBLE_TASK, "id": "oracle-only", "variants": variants})
    rows = [*suite.right(), {"instance_id": "oracle-only", "generated_plsql": "BEGIN NULL; END;"}]
    result = suite.run(
        suite.predict(*rows), "--plsql-oracle=none", "--plsql-dialect=all", "--plsql-gate=solved@1 >= 0.9"
    )
    assert result.ret == 6
    result.stdout.fnmatch_lines(["NOT ENOUGH EVIDENCE*", "*verdicts of 1 task lost to servers or engines"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spider.suite_pas@1 >= 1", "column 8, at 'suite_pas@1': *did you mean suite_pass@1?"),
        ("", "--plsql-gate: the gate is empty, it would demand nothing"),
        ("# later", "column 1, at '#': not expected"),
        (
            "function.suite_pass@1 >= 0",
            "no turn is of subset 'function'; did you mean functions? there are functions, talks",
        ),
        (
            "solved@1[difficulty=simpel] >= 0",
            "no task has difficulty=simpel; did you mean simple? there is simple",
        ),
        ("talks.timeouts[database=shop] == 0", "no task of talks has database=shop; none is named"),
        (
            "functions.ex@1 >= 0",
            "no task of functions has ex@1; there are mean_test_pass@1, suite_pass@1",
        ),
        ("suite_pass^3 >= 0", "no task has 3 samples, which suite_pass^3 needs; the most are 1"),
        ("no_worse_than(baseline, subset=x)", "name one with --plsql-baseline"),
        ("solved@1 >= 25", "column 13, at '25': *write 25% or 0.25*"),
        ("no_worse_than(baseline)", "*name one with --plsql-baseline"),
    ],
)
def test_a_gate_that_is_none_is_one_line_before_anything_runs(suite: Suite, text: str, why: str) -> None:
    from fnmatch import fnmatch

    line = suite.refused(suite.predict(*suite.right()), f"--plsql-gate={text}")
    assert fnmatch(line, f"*{why}".replace("?", "[?]")), line


def test_the_place_of_a_bad_gate_is_named(suite: Suite) -> None:
    suite.pytester.makeini("[pytest]\ntestpaths = tasks\nplsql_gates =\n    solved@1 >>= 1\n")
    assert suite.refused(suite.predict(*suite.right())).startswith("plsql_gates in tox.ini: 'solved@1 >>= 1'")


def test_a_part_of_a_run_is_not_judged(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    assert "plsqlbench merge" in suite.refused(option, "--plsql-shard=1/2", "--plsql-gate=solved@1 >= 1")
    suite.run(option, "--plsql-shard=1/2")
    refused = CliRunner().invoke(command, [str(suite.folder / "reports"), "--gate", "solved@1 >= 1"])
    assert "plsqlbench merge" in str(refused.exception)


def test_collecting_judges_nothing(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()), "--collect-only", "--plsql-gate=solved@1 >= 1")
    assert result.ret == 0
    assert "gates:" not in result.stdout.str()


def test_gates_of_a_file_are_named_by_line(suite: Suite, tmp_path: Any) -> None:
    suite.run(suite.predict(*suite.right()))
    gates = tmp_path / "gates.txt"
    gates.write_text("# release\nsolved@1 >= 0.5\n\ncoverage >= 1\n")
    assert gate(suite, "--gates-file", str(gates)).exit_code == 0
    gates.write_text("# release\nsolved@1 >= half\n")
    result = gate(suite, "--gates-file", str(gates))
    assert f"{gates}:2: 'solved@1 >= half': column 13" in str(result.exception)


def test_nothing_to_judge_by(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()))
    assert "give --gate" in str(gate(suite).exception)
    assert "name one with --baseline" in str(gate(suite, "--gate", "better_than(baseline)").exception)
