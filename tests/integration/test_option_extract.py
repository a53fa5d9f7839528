"""``--plsql-extract``: programs out of answers, recorded; without it, as published."""

from __future__ import annotations

import pytest
from bench_suite import Suite


def answer(suite: Suite) -> str:
    return suite.predict(
        {
            "instance_id": "double-it",
            "generated_plsql": f"Here is the function:\n\n```sql\n{suite.DOUBLE}```\nIt doubles numbers.",
        }
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_fenced_program_is_taken_out_and_that_is_recorded(suite: Suite, workers: tuple[str, ...]) -> None:
    suite.run(answer(suite), "--plsql-extract", "-k", "double", *workers).assert_outcomes(passed=1)
    (result,) = suite.results()
    assert result["solved"]
    assert "fence" in " ".join(result["extracted"])


def test_without_the_option_it_is_no_program(suite: Suite) -> None:
    suite.run(answer(suite), "-k", "double").assert_outcomes(failed=1, deselected=3)
    (result,) = suite.results()
    assert {t["subcategory"] for t in result["tests"]} == {"not_a_program"}
    assert result["extracted"] == []


def test_a_program_is_left_alone(suite: Suite) -> None:
    suite.run(suite.predict(*suite.right()), "--plsql-extract").assert_outcomes(passed=4)
    assert all(result["extracted"] == [] for result in suite.results())


def test_a_refusal_has_no_program(suite: Suite) -> None:
    option = suite.predict({"instance_id": "double-it", "generated_plsql": "I'm sorry, I cannot do that."})
    suite.run(option, "--plsql-extract", "-k", "double").assert_outcomes(failed=1, deselected=3)
    (result,) = suite.results()
    assert any("refusal" in step for step in result["extracted"])


def test_the_ini_file_takes_true_or_false(suite: Suite) -> None:
    (suite.folder / "tox.ini").write_text("[pytest]\ntestpaths = tasks\nplsql_extract = true\n")
    suite.run(answer(suite), "-k", "double").assert_outcomes(passed=1, deselected=3)
    (suite.folder / "tox.ini").write_text("[pytest]\ntestpaths = tasks\nplsql_extract = maybe\n")
    result = suite.run(answer(suite))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: plsql_extract in tox.ini: 'maybe' is neither true nor false"])
