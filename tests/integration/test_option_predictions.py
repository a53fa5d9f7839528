"""``--plsql-predictions``: every outcome, and every kind of bad file."""

from __future__ import annotations

import json

import pytest
from bench_suite import Suite


def row(program: str, **more: object) -> dict[str, object]:
    return {"instance_id": "double-it", "generated_plsql": program, **more}


def test_right_programs_pass(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()))
    result.assert_outcomes(passed=4)
    assert result.ret == 0
    assert [r["status"] for r in suite.results()] == ["graded"] * 4
    assert suite.summary()["metrics"]["functions"]["suite_pass@1"]["value"] == 1.0


def test_gold_plays_the_references(suite: Suite) -> None:
    result = suite.run("--plsql-predictions=gold")
    result.assert_outcomes(passed=4)
    assert {r["model"] for r in suite.results()} == {"gold"}


def test_a_wrong_program_fails_with_partial_credit(suite: Suite) -> None:
    wrong = suite.DOUBLE.replace("RETURN n * 2", "RETURN coalesce(n, 0) * 2")
    suite.run(suite.predict(*suite.right()[1:], row(wrong))).assert_outcomes(passed=3, failed=1)
    result = next(r for r in suite.results() if r["task"] == "double-it")
    assert (result["passed"], result["total"], result["solved"]) == (1, 2, False)
    assert [t["verdict"] for t in result["tests"]] == ["passed", "failed"]
    assert result["tests"][1]["category"] == "wrong_result"
    assert suite.summary()["metrics"]["functions"]["mean_test_pass@1"]["value"] == 0.5


@pytest.mark.parametrize(
    ("program", "category", "subcategory"),
    [
        ("CREATE FUNCTION double_it(n integer) RETRNS integer", "invalid_program", "syntax_error"),
        ("Here is the function you asked for.", "invalid_program", "not_a_program"),
        ("```sql\nSELECT 1;\n```", "invalid_program", "not_a_program"),
        ("CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE sql AS 'SELECT 2*n';", "interface", None),
        ("CREATE FUNCTION double_it(n text) RETURNS integer LANGUAGE sql AS 'SELECT 4';", None, None),
        ("SELECT 1/0;", "wrong_result", "runtime_error"),
        ("SELECT 'a\0b';", "invalid_program", None),
        ("", "invalid_program", None),
    ],
    ids=["syntax", "prose", "fence", "other-name", "other-type", "raises", "nul", "empty"],
)
def test_a_broken_program_passes_no_test(
    suite: Suite, program: str, category: str | None, subcategory: str | None
) -> None:
    suite.run(suite.predict(row(program)), "-k", "double").assert_outcomes(failed=1, deselected=3)
    (result,) = suite.results()
    assert (result["status"], result["passed"], result["total"]) == ("graded", 0, 2)
    if category:
        assert {t["category"] for t in result["tests"]} == {category}
    if subcategory:
        assert {t["subcategory"] for t in result["tests"]} == {subcategory}


def test_a_missing_prediction_is_scored_zero_and_shown_as_coverage(suite: Suite) -> None:
    result = suite.run(suite.predict(suite.right()[0]))
    result.assert_outcomes(passed=1, failed=3)
    assert [r["status"] for r in suite.results()].count("missing") == 3
    result.stdout.fnmatch_lines(["*missing: no prediction for this turn*"])
    assert suite.summary()["statuses"] == {"graded": 1, "missing": 3}
    assert suite.summary()["metrics"]["talks"]["episode_pass@1"]["value"] == 0.0


def test_a_later_turn_sees_the_candidates_own_earlier_programs(suite: Suite) -> None:
    own = [*suite.TALK]
    own[0] = own[0].replace("SELECT 1", "SELECT 5")
    rows = [{"conversation_id": "steps", "turn_index": i, "generated_plsql": p} for i, p in enumerate(own, 1)]
    suite.run(suite.predict(*rows), "-k", "steps").assert_outcomes(passed=1, failed=2, deselected=1)
    assert [r["solved"] for r in suite.results()] == [False, False, True]


def test_a_missing_earlier_turn_leaves_its_program_out(suite: Suite) -> None:
    rows = suite.right()
    del rows[2]
    suite.run(suite.predict(*rows), "-k", "steps").assert_outcomes(passed=1, failed=2, deselected=1)
    assert [r["status"] for r in suite.results()] == ["graded", "missing", "graded"]


def test_several_samples_of_a_task_are_items_of_their_own(suite: Suite) -> None:
    wrong = suite.DOUBLE.replace("n * 2", "n * 3")
    rows = [row(suite.DOUBLE, sample=0), row(wrong, sample=1)]
    result = suite.run(suite.predict(*rows), "-k", "double", "-v")
    result.assert_outcomes(passed=1, failed=1, deselected=3)
    result.stdout.fnmatch_lines(["*double-it[[]postgres[]] PASSED*", "*double-it[[]postgres-s1[]] FAILED*"])
    assert suite.summary()["metrics"]["functions"]["mean_test_pass@1"]["value"] == 0.75


def test_unknown_keys_are_kept(suite: Suite) -> None:
    suite.run(suite.predict(row(suite.DOUBLE, temperature=0.0, latency_seconds=1.5)), "-k", "double")
    (result,) = suite.results()
    assert result["extra"] == {"temperature": 0.0}
    assert result["latency_seconds"] == 1.5


def test_bom_crlf_and_blank_lines_are_read(suite: Suite) -> None:
    text = json.dumps(row(suite.DOUBLE.replace("\n", "\r\n")))
    option = suite.predict(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    suite.run(option, "-k", "double").assert_outcomes(passed=1, deselected=3)


def test_a_program_of_5_mb_is_graded(suite: Suite) -> None:
    suite.run(suite.predict(row(suite.DOUBLE + "-- " + "x" * 5_000_000)), "-k", "double").assert_outcomes(
        passed=1, deselected=3
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "out.jsonl*no predictions*"),
        (b'{"instance_id": "double-it", "generated_plsql": "x"\n', "out.jsonl:1: *"),
        (b'{"instance_id": "double-it", "generated_plsql": "\xff"}\n', "out.jsonl:1: *UTF-8*"),
        (b"[1]\n", "out.jsonl:1: *"),
        (b'{"instance_id": "double-it", "solution": "x", "solution": "y"}\n', "out.jsonl:1: *twice*"),
        (b'{"instance_id": "double-it", "e": 1' + b"0" * 6000 + b"}\n", "out.jsonl:1: *too many digits*"),
        (b'\n{"instance_id": "double-it"}\n', "out.jsonl:2: *"),
        (b'{"generated_plsql": "SELECT 1"}\n', "out.jsonl:1: *"),
        (b'{"instance_id": "double-ti", "generated_plsql": "x"}\n', "out.jsonl:1: *double-ti*double-it*"),
        (b'{"instance_id": "double-it", "generated_plsql": "x"}\n' * 2, "out.jsonl:2: *out.jsonl:1*"),
        (b'{"conversation_id": "steps", "turn_index": 9, "generated_plsql": "x"}\n', "out.jsonl:1: *9*"),
        (
            b'{"instance_id": "double-it", "dialect": "mysql", "generated_plsql": "x"}\n',
            "out.jsonl:1: *mysql*",
        ),
    ],
    ids=[
        "empty",
        "bad-json",
        "bad-utf8",
        "not-an-object",
        "doubled-key",
        "endless-number",
        "no-program",
        "no-id",
        "unknown-id",
        "duplicate",
        "unknown-turn",
        "unknown-dialect",
    ],
)
def test_a_bad_file_is_one_line_before_anything_runs(
    suite: Suite, workers: tuple[str, ...], content: bytes, message: str
) -> None:
    line = suite.refused(suite.predict(content), *workers)
    pytest.LineMatcher([line]).fnmatch_lines([message])


def test_a_missing_file_and_a_folder_are_named(suite: Suite) -> None:
    assert "nowhere.jsonl does not exist" in suite.refused("--plsql-predictions=nowhere.jsonl")
    assert "is a folder" in suite.refused("--plsql-predictions=tasks")
