"""``--plsql-blame``: whether a failed turn fails on the references' state, too; the verdict stands."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from bench_suite import Suite

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
BAD_STEP = "CREATE FUNCTION step() RETURNS integer LANGUAGE sql AS 'SELECT 5';"
BAD_TWO = "CREATE FUNCTION two_steps() RETURNS integer LANGUAGE sql AS 'SELECT 7';"


def talk(suite: Suite, *programs: str | None) -> str:
    """Predictions of the conversation: these programs, or the right ones where there is None."""
    rows = [
        {"conversation_id": "steps", "turn_index": n, "generated_plsql": program or right}
        for n, (program, right) in enumerate(zip(programs, suite.TALK, strict=True), 1)
    ]
    return suite.predict(*rows)


def blames(suite: Suite) -> list[dict[str, Any] | None]:
    """The blame of each turn, without the time that it took."""
    found = [result["blame"] for result in suite.results()]
    return [blame and {k: v for k, v in blame.items() if k != "elapsed_ms"} for blame in found]


@WORKERS
def test_a_failure_that_the_references_state_mends_is_inherited(
    suite: Suite, workers: tuple[str, ...]
) -> None:
    result = suite.run(talk(suite, BAD_STEP, None, None), "-k", "steps", "--plsql-blame", *workers)
    result.assert_outcomes(passed=1, failed=2)
    assert blames(suite) == [{"failure": "own"}, {"failure": "inherited", "passed": 1}, None]
    assert [r["solved"] for r in suite.results()] == [False, False, True]
    assert suite.summary()["counts"]["blame"] == {
        "own": 1,
        "inherited": 1,
        "unknown": 0,
        "replays": 1,
        "inherited_share": 0.5,
    }
    result.stdout.fnmatch_lines(
        [
            "*inherited: passes 1 of 1 test on the references' state",
            "blame: 1 inherited (50.0%), 1 own; 1 turn replayed in *s",
        ]
    )


def test_a_failure_that_stays_is_own(suite: Suite) -> None:
    suite.run(talk(suite, BAD_STEP, BAD_TWO, None), "-k", "steps", "--plsql-blame")
    assert blames(suite) == [
        {"failure": "own"},
        {"failure": "own", "passed": 0},
        {"failure": "inherited", "passed": 1},
    ]


def test_a_turn_on_the_references_own_state_is_not_played_again(suite: Suite) -> None:
    suite.run(talk(suite, None, BAD_TWO, None), "-k", "steps", "--plsql-blame")
    assert blames(suite) == [None, {"failure": "own", "passed": 0}, {"failure": "inherited", "passed": 1}]
    assert suite.summary()["counts"]["blame"]["replays"] == 1


def test_an_earlier_turn_without_a_prediction_can_be_to_blame(suite: Suite) -> None:
    rows = suite.right()
    suite.run(suite.predict(rows[0], rows[2], rows[3]), "--plsql-blame", "-k", "steps")
    statuses = [r["status"] for r in suite.results()]
    assert statuses == ["missing", "graded", "graded"]
    assert blames(suite)[:2] == [None, {"failure": "inherited", "passed": 1}]


def test_single_turns_and_solved_turns_have_none(suite: Suite) -> None:
    rows = suite.right()
    rows[0]["generated_plsql"] = "SELECT 1;"
    result = suite.run(suite.predict(*rows), "--plsql-blame")
    result.assert_outcomes(passed=3, failed=1)
    assert blames(suite) == [None] * 4
    assert suite.summary()["counts"]["blame"] is None
    assert "blame:" not in result.stdout.str()


def test_without_the_option_nothing_is_played_twice(suite: Suite) -> None:
    result = suite.run(talk(suite, BAD_STEP, None, None), "-k", "steps")
    assert blames(suite) == [None] * 3
    assert "blame" not in result.stdout.str()


FAULTS = {
    "crash": ("raise RuntimeError('nobody foresaw this')", "RuntimeError: nobody foresaw this"),
    "loss": ("raise InfrastructureError('the server is gone')", "infrastructure_error: the server is gone"),
    "refusal": ("raise UnsupportedError('cannot do that')", "unsupported: cannot do that"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_the_replay_leaves_verdict_and_later_turns_alone(suite: Suite, kind: str) -> None:
    raised, reason = FAULTS[kind]
    suite.pytester.makeconftest(
        f"""
        from pytest_plsqlbench.engines.postgres.lane import PostgresLane
        from pytest_plsqlbench.engines.protocol import InfrastructureError, UnsupportedError

        play = PostgresLane.play

        def faulty(self, asked):
            reference_first = asked.programs and "SELECT 1" in asked.programs[0]
            if asked.side == "candidate" and reference_first and len(asked.programs) == 2:
                {raised}
            return play(self, asked)

        PostgresLane.play = faulty
        """
    )
    result = suite.run(talk(suite, BAD_STEP, None, None), "-k", "steps", "--plsql-blame")
    result.assert_outcomes(passed=1, failed=2)
    assert blames(suite) == [{"failure": "own"}, {"failure": "unknown", "reason": reason}, None]
    assert [r["status"] for r in suite.results()] == ["graded"] * 3
    assert suite.summary()["counts"]["blame"]["inherited_share"] == 0.0
    result.stdout.fnmatch_lines(["blame: 0 inherited (0.0%), 1 own, 1 unknown; 1 turn replayed in * s"])


def test_each_sample_is_judged_by_its_own_program(suite: Suite) -> None:
    rows = [
        {"conversation_id": "steps", "turn_index": n, "sample": sample, "generated_plsql": program}
        for sample, second in enumerate((suite.TALK[1], BAD_TWO))
        for n, program in enumerate((BAD_STEP, second, suite.TALK[2]), 1)
    ]
    suite.run(suite.predict(*rows), "-k", "steps_q02", "--plsql-blame")
    assert [b and b["failure"] for b in blames(suite)] == ["inherited", "own"]


def test_extracted_programs_are_replayed_as_they_were_played(suite: Suite) -> None:
    fenced = f"```sql\n{suite.TALK[1]}```"
    suite.run(talk(suite, BAD_STEP, fenced, None), "-k", "steps", "--plsql-blame", "--plsql-extract")
    assert blames(suite)[1] == {"failure": "inherited", "passed": 1}


@WORKERS
def test_a_resumed_run_finds_out_what_is_not_known_yet(suite: Suite, workers: tuple[str, ...]) -> None:
    args = (talk(suite, BAD_STEP, BAD_TWO, None), "-k", "steps", "--plsql-resume", *workers)
    suite.run(*args).assert_outcomes(failed=3)
    suite.run(*args, "--plsql-blame").stdout.fnmatch_lines(["*3 of 3 turns reused*"])
    found = [result["blame"] for result in suite.results()]
    assert [blame["failure"] for blame in found] == ["own", "own", "inherited"]
    suite.run(*args, "--plsql-blame")
    assert [result["blame"] for result in suite.results()] == found  # the times, too: not played again
    suite.run(*args)
    assert blames(suite) == [None] * 3


def test_junit_xml_says_it_too(suite: Suite) -> None:
    suite.run(talk(suite, BAD_STEP, None, None), "-k", "steps", "--plsql-blame", "--junitxml=junit.xml")
    found = {
        case.get("name"): prop.get("value")
        for case in ET.parse(suite.folder / "junit.xml").iter("testcase")
        for prop in case.iter("property")
        if prop.get("name") == "blame"
    }
    assert found == {"steps_q01[postgres]": "own", "steps_q02[postgres]": "inherited"}


def test_environment_and_ini_file_turn_it_on(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_BLAME", "true")
    suite.run(talk(suite, BAD_STEP, None, None), "-k", "steps")
    assert json.loads(json.dumps(blames(suite)))[1] == {"failure": "inherited", "passed": 1}
