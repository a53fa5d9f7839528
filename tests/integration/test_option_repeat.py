"""``--plsql-repeat``: turns that are played several times, and those whose verdict varies."""

from __future__ import annotations

import json

import pytest
from bench_suite import Suite

CHANCE = """CREATE FUNCTION double_it(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  IF {} THEN RAISE NOTICE 'doubling %', n; END IF;
  RETURN n * 2;
END;
$$;
"""
VARYING = [
    CHANCE.format("random() < 0.5"),
    CHANCE.format("(extract(epoch FROM clock_timestamp()) * 1000000)::bigint % 2 = 0"),
]


@pytest.mark.parametrize("program", VARYING, ids=["random", "clock"])
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_program_that_varies_is_not_right(suite: Suite, program: str, workers: str) -> None:
    rows = suite.right()
    rows[0]["generated_plsql"] = program
    result = suite.run(
        suite.predict(*rows), "--plsql-repeat=20", "-k", "double", "-n", workers, "--junitxml=out.xml"
    )
    result.assert_outcomes(failed=1, deselected=0 if workers == "2" else 3)
    result.stdout.fnmatch_lines(
        [
            "plsqlbench: each turn is played 20 times",
            "*0 of 2 tests passed in each of 20 plays; wrong_result",
            "*passed in * of 20 plays; line 1*",
            "varying: 1 of 1 turn, each played 20 times",
            "  double-it (postgres): solved in * of 20 plays",
        ]
    )
    [row] = suite.results()
    assert (row["solved"], row["flags"], len(row["repeats"])) == (False, ["varies"], 20)
    assert {verdict for play in row["repeats"] for verdict in play} == {"passed", "failed"}
    assert suite.summary()["flags"] == {"varies": 1}
    assert '<property name="plays" value="20"' in (suite.folder / "out.xml").read_text()
    assert not (suite.folder / "reports/quarantine.jsonl").exists()


COUNTING = """CREATE SEQUENCE plays;
CREATE FUNCTION double_it(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  IF nextval('plays') = 1 THEN RAISE NOTICE 'doubling %', n; END IF;
  RETURN n * 2;
END;
$$;
"""


def test_steady_programs_keep_their_verdicts(suite: Suite) -> None:
    rows = suite.right()
    rows[0]["generated_plsql"] = COUNTING  # each play counts anew
    rows[3]["generated_plsql"] = "BROKEN"
    result = suite.run(suite.predict(*rows), "--plsql-repeat=3")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["varying: 0 of 4 turns, each played 3 times"])
    assert suite.results()[0]["repeats"] == [["passed", "passed"]] * 3
    assert suite.results()[3]["repeats"] == [["failed"]] * 3


def test_one_play_is_the_default_and_says_nothing(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()), "--plsql-repeat=1")
    assert "each turn" not in result.stdout.str()
    assert "varying" not in result.stdout.str()
    assert all(row["repeats"] == [] for row in suite.results())


def test_another_number_of_plays_is_graded_again(suite: Suite) -> None:
    suite.pytester.makeconftest(
        "import pytest_plsqlbench.grading.content as content\ncontent.judging_version = lambda: '1'"
    )
    option = suite.predict(*suite.right())
    suite.run(option, "--plsql-repeat=2")
    for times, reused in (("2", 4), ("3", 0)):
        result = suite.run(option, f"--plsql-repeat={times}", "--plsql-resume")
        result.stdout.fnmatch_lines([f"resumed: {reused} of 4 turns reused"])
    assert all(len(row["repeats"]) == 3 for row in suite.results())


def test_the_number_is_told_to_other_parts_of_the_run(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()), "--plsql-shard=1/1", "--plsql-repeat=2", "-k", "double")
    part = json.loads((suite.folder / "reports/run.json").read_bytes())
    assert part["run"]["settings"]["repeat"] == 2


@pytest.mark.parametrize("value", ["0", "101", "0001000", "²"])
def test_a_number_that_is_none_is_one_line(suite: Suite, value: str) -> None:
    message = suite.refused("--plsql-predictions=gold", f"--plsql-repeat={value}")
    assert message == f"--plsql-repeat: {value!r} is not a number of plays from 1 to 100"
