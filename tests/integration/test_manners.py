"""What a pytest user expects of items: selection, order, stopping, verbosity, JUnit XML."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from bench_suite import Suite


def wrong(suite: Suite) -> list[dict[str, Any]]:
    rows = suite.right()
    rows[2]["generated_plsql"] = "CREATE FUNCTION two_steps() RETURNS integer LANGUAGE sql AS 'SELECT 7';"
    return rows


def test_ids_are_short_stable_and_sorted(suite: Suite) -> None:
    result = suite.run(suite.predict(*suite.right()), "--collect-only", "-q")
    ids = [line for line in result.outlines if "::" in line]
    assert ids == [
        "tasks/tasks.jsonl::double-it[postgres]",
        "tasks/tasks.jsonl::steps_q01[postgres]",
        "tasks/tasks.jsonl::steps_q02[postgres]",
        "tasks/tasks.jsonl::steps_q03[postgres]",
    ]


def test_an_item_can_be_named_alone(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "tasks/tasks.jsonl::steps_q03[postgres]").assert_outcomes(passed=1)


@pytest.mark.parametrize(("word", "count"), [("steps", 3), ("talks", 3), ("functions", 1), ("simple", 1)])
def test_k_selects_by_id_subset_and_difficulty(suite: Suite, word: str, count: int) -> None:
    suite.run(suite.predict(*suite.right()), "-k", word).assert_outcomes(passed=count, deselected=4 - count)


def test_lf_runs_what_failed_with_the_turns_before_it(suite: Suite) -> None:
    option = suite.predict(*wrong(suite))
    suite.run(option).assert_outcomes(passed=2, failed=2)
    suite.run(option, "--lf").assert_outcomes(failed=2)


def test_x_stops_at_the_first_failure_and_the_summary_says_so(suite: Suite) -> None:
    result = suite.run(suite.predict(*wrong(suite)), "-x")
    result.assert_outcomes(passed=2, failed=1)
    assert len(suite.results()) == 3
    result.stdout.fnmatch_lines(["*3 of 4 turns*"])


def test_v_and_q(suite: Suite) -> None:
    option = suite.predict(*suite.right())
    suite.run(option, "-v").stdout.fnmatch_lines(["*tasks.jsonl::steps_q02[[]postgres[]] PASSED*"])
    quiet = suite.run(option, "-q").stdout.str()
    assert "plsqlbench: " not in quiet.split("\n")[0]
    assert "functions" in quiet


def test_a_failure_says_what_and_why_without_s(suite: Suite) -> None:
    result = suite.run(suite.predict(*wrong(suite)), "-k", "q02")
    text = result.stdout.str()
    for words in ("0 of 1 test passed", "prompt: Write two_steps(), using step().", "failed: two steps"):
        assert words in text
    assert "wrong_result/output_mismatch" in text or "wrong_result/" in text
    result.stdout.fnmatch_lines(["*expected: *2*", "*actual: *7*"])
    assert "Traceback" not in text


def test_a_diagnostic_shows_its_line_of_the_program(suite: Suite) -> None:
    bad = suite.DOUBLE.replace("  RETURN n * 2;", "  RETURN n ** 2;\n  RETRN 1;")
    rows = [{"instance_id": "double-it", "generated_plsql": bad}]
    text = suite.run(suite.predict(*rows), "-k", "double").stdout.str()
    assert "(line 5" in text
    assert "5 |   RETRN 1;" in text


def test_control_characters_of_a_program_do_not_reach_the_terminal(suite: Suite) -> None:
    bad = suite.DOUBLE.replace("'doubling %', n", "E'\\x1b[31mred\\x07 %', n")
    rows = [{"instance_id": "double-it", "generated_plsql": bad}]
    result = suite.run(suite.predict(*rows), "-k", "double", "--junitxml=junit.xml", "--color=no")
    assert "\x1b" not in result.stdout.str()
    assert "\x07" not in result.stdout.str()
    ET.parse(suite.folder / "junit.xml")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_junit_xml_carries_properties(suite: Suite, workers: tuple[str, ...]) -> None:
    suite.run(suite.predict(*wrong(suite)), "--junitxml=junit.xml", *workers)
    cases = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in ET.parse(suite.folder / "junit.xml").iter("testcase")
    }
    assert cases["double-it[postgres]"] == {
        "subset": "functions",
        "dialect": "postgres",
        "status": "graded",
        "passed": "2",
        "total": "2",
    }
    assert cases["steps_q02[postgres]"]["category"] == "wrong_result"
    assert cases["steps_q02[postgres]"]["passed"] == "0"


def test_a_turn_that_is_not_graded_is_skipped_with_its_reason(suite: Suite) -> None:
    broken = {
        **suite.DOUBLE_TASK,
        "id": "broken",
        "variants": {
            "postgres": {
                "prompt": "A reference that fails.",
                "reference": "SELECT 1/0;",
                "tests": [{"name": "any", "call": "SELECT 1;", "compare": "value"}],
            }
        },
    }
    suite.task(broken)
    rows = [*suite.right(), {"instance_id": "broken", "generated_plsql": "SELECT 1;"}]
    result = suite.run(suite.predict(*rows), "-rs")
    result.assert_outcomes(passed=4, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] tasks/tasks.jsonl:3: reference_error: *22012*"])
    assert suite.summary()["statuses"] == {"graded": 4, "reference_error": 1}


def test_a_self_check_of_broken_references_only_does_not_end_with_0(empty_suite: Suite) -> None:
    task = json.loads(json.dumps(empty_suite.DOUBLE_TASK))
    task["variants"]["postgres"]["reference"] = "CREATE FUNC;"
    empty_suite.task(task)
    result = empty_suite.run("--plsql-predictions=gold")
    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_two_files_with_the_same_task_are_refused(suite: Suite) -> None:
    suite.task(suite.DOUBLE_TASK, "more.jsonl")
    assert "double-it" in suite.refused(suite.predict(*suite.right()))


def test_a_named_file_that_holds_no_tasks_is_refused(suite: Suite) -> None:
    (suite.folder / "other.jsonl").write_text('{"a": 1}\n')
    assert "other.jsonl" in suite.refused("--plsql-predictions=gold", "other.jsonl")


def test_a_broken_file_beside_what_is_collected_is_not_read(suite: Suite) -> None:
    suite.task({"id": "x", "subset": "y", "variants": {}}, "../beside.jsonl")
    suite.run("--plsql-predictions=gold", "tasks").assert_outcomes(passed=4)


def test_a_broken_task_file_is_one_line(suite: Suite) -> None:
    suite.task({**suite.DOUBLE_TASK, "id": "other", "subsett": "x"})
    assert "tasks.jsonl:3" in suite.refused("--plsql-predictions=gold")
