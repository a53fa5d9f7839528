"""The terminal summary: what it says, and that it fits."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.result import TestResult, TurnResult
from pytest_plsqlbench.bench.summary import summarize
from pytest_plsqlbench.reporting.terminal import _percent, summary_lines, summary_title


def result(task: str, subset: str, passed: int, total: int, **more: object) -> TurnResult:
    tests = [
        {"name": str(n), "verdict": "passed"}
        if n < passed
        else {
            "name": str(n),
            "verdict": "failed",
            "category": "wrong_result",
            "subcategory": "output_mismatch",
        }
        for n in range(total)
    ]
    values: dict[str, object] = {
        "task": task,
        "subset": subset,
        "dialect": "postgres",
        "conversation": False,
        "turn": 1,
        "turns": 1,
        "turn_id": task,
        "status": "graded",
        "model": "m",
        "passed": passed,
        "total": total,
        "solved": passed == total,
        "tests": tests,
        "comparator": "published/1",
    }
    return msgspec.convert(values | more, TurnResult)


def lines(*results: TurnResult, collected: int | None = None, **left_out: int) -> list[str]:
    count = len(results) if collected is None else collected
    return list(
        summary_lines(summarize(results), collected=count, left_out=left_out, files="reports/results.jsonl")
    )


def test_timeouts_have_a_line_where_there_are_any() -> None:
    late = {"name": "late", "verdict": "failed", "category": "limit", "subcategory": "time_limit"}
    text = lines(result("a", "functions", 0, 2, tests=[late, late]), result("b", "functions", 1, 1))
    assert "timeouts: 2 tests, 1 turn" in text
    assert not [line for line in lines(result("b", "functions", 1, 1)) if "timeouts" in line]


def test_the_table_holds_metrics_coverage_and_an_overall_row() -> None:
    text = lines(
        result("a", "functions", 1, 2),
        result("b", "functions", 0, 2, status="missing", tests=[]),
        result("c", "call_suites", 1, 1),
    )
    assert [line.split() for line in text[:4]] == [
        ["subset", "tasks", "coverage", "Mean", "Test", "Pass@1", "Suite", "Pass@1", "EX@1"],
        ["call_suites", "1", "100.0%", "100.0%", "100.0%"],
        ["functions", "2", "50.0%", "25.0%", "0.0%"],
        ["overall", "3", "62.5%", "0.0%", "100.0%"],
    ]
    assert "turns: 2 graded, 1 missing" in text
    assert "      1  wrong_result/output_mismatch" in text


def test_conversations_have_a_table_of_their_own() -> None:
    talk = [
        result("t", "talks", 1, 1, conversation=True, turn=n, turns=2, turn_id=f"t_q0{n}") for n in (1, 2)
    ]
    text = lines(*talk)
    assert [line.split() for line in text[:2]] == [
        ["subset", "episodes", "coverage", "Episode", "Pass@1", "Turn", "Suite@1", "Episode", "Test@1"],
        ["talks", "1", "100.0%", "100.0%", "100.0%", "100.0%"],
    ]


def test_a_run_that_was_stopped_says_so() -> None:
    assert "incomplete: 1 of 5 turns were graded before the run ended" in lines(
        result("a", "s", 1, 1), collected=5
    )


def test_turns_that_are_not_counted_are_named_with_a_legend() -> None:
    text = lines(result("a", "s", 0, 1, status="reference_error", tests=[], reason="varies"), oracle=3)
    assert "turns: 1 reference_error" in text
    assert "  reference_error: the reference fails or varies; not counted" in text
    assert "left out: 3 turns in dialect oracle, whose engine is not at hand" in text


def test_verdicts_that_formatting_decides_are_counted() -> None:
    loose = TestResult(
        name="0",
        verdict="failed",
        category="wrong_result",
        subcategory="output_mismatch",
        normalized="passed",
    )
    text = lines(result("a", "s", 0, 1, tests=[msgspec.to_builtins(loose)]))
    assert "would pass if only formatting were ignored: 1 test, 1 turn" in text


@given(
    st.lists(
        st.tuples(st.text("abcdefghij_", min_size=1, max_size=60), st.booleans()), min_size=1, max_size=6
    )
)
def test_the_tables_fit_80_columns(subsets: list[tuple[str, bool]]) -> None:
    results = [
        result(f"t{n}", f"{n}{subset}", 1, 1, conversation=talk) for n, (subset, talk) in enumerate(subsets)
    ]
    assert max(len(line) for line in lines(*results)) <= 80


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.0, "0.0%"), (1.0, "100.0%"), (0.9999, "99.9%"), (0.0001, "0.1%"), (0.12345, "12.3%")],
)
def test_percentages_never_round_to_all_or_nothing(value: float | None, shown: str) -> None:
    assert _percent(value) == shown


def test_the_title_names_model_and_rules() -> None:
    assert summary_title(summarize([result("a", "s", 1, 1)])) == "plsqlbench: m, published/1"
