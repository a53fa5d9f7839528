"""The terminal summary: what it says, and that it fits."""

from __future__ import annotations

import re
from unittest.mock import ANY

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_results import result

from pytest_plsqlbench.bench.metrics import MetricValue
from pytest_plsqlbench.bench.result import TestResult, TurnResult
from pytest_plsqlbench.bench.summary import summarize
from pytest_plsqlbench.bench.visible import shorten
from pytest_plsqlbench.reporting.headline import interval, percent
from pytest_plsqlbench.reporting.terminal import summary_lines, summary_title


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
    assert [line.split() for line in text[:5]] == [
        ["subset", "tasks", "coverage", "Mean", "Test", "Pass@1", "Suite", "Pass@1", "EX@1"],
        ["call_suites", "1", "100.0%", "100.0%", "20-100", "100.0%", "20-100"],
        ["functions", "2", "50.0%", "25.0%", ANY, "0.0%", "0-66"],
        ["overall", "3", "62.5%", ANY, "0.0%", "0-66", "100.0%", "20-100"],
        ["beside", "each", "score:", "its", "95%", "confidence", "interval,", "in", "percent"],
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
        ["talks", "1", "100.0%", *(["100.0%", "20-100"] * 3)],
    ]


def test_several_samples_have_a_table_of_their_own() -> None:
    solved = {"a": [1, 1, 1], "b": [1, 0, 0]}
    text = lines(
        *(
            result(task, "mbpp", won, 1, sample=n)
            for task, wins in solved.items()
            for n, won in enumerate(wins)
        ),
        result("c", "other", 1, 1),
    )
    start = text.index("several samples a task: at least one of k solves it (@k), all of k do (^k)")
    assert [line.split() for line in text[start + 1 : text.index("")]] == [
        ["subset", "metric", "k", "tasks", "one", "of", "k", "(@k)", "all", "of", "k", "(^k)"],
        ["mbpp", "Suite", "Pass", "2", "2", "83.3%", ANY, "50.0%", ANY],
        ["mbpp", "Suite", "Pass", "3", "2", "100.0%", ANY, "50.0%", ANY],
    ]


def test_one_sample_a_task_has_no_table_of_samples() -> None:
    assert not [line for line in lines(result("a", "mbpp", 1, 1)) if "samples" in line]


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


SUBSETS = st.tuples(
    st.text("abcdefghij_", min_size=1, max_size=60),
    st.sampled_from(["task", "call", "talk"]),
    st.sampled_from([0, 1, 2]),
    st.integers(1, 4),
)


@settings(max_examples=50)
@given(st.lists(SUBSETS, min_size=1, max_size=6), st.sampled_from([1, 11]))
def test_the_tables_fit_80_columns(subsets: list[tuple[str, str, int, int]], samples: int) -> None:
    results = [
        result(
            f"t{n}-{task}",
            f"{'procarena_' if kind == 'call' else ''}{n}{subset}",
            (passed + task + sample) % 3,
            2,
            conversation=kind == "talk",
            sample=sample,
        )
        for n, (subset, kind, passed, tasks) in enumerate(subsets)
        for task in range(tasks)
        for sample in range(samples)
    ]
    text = lines(*results)
    assert max(len(line) for line in text) <= 80
    names = [
        line.split()[0]
        for line in text[: next(n for n, line in enumerate(text) if not line or "samples" in line)]
    ]
    shown = [name for name in names if name not in {"subset", "overall", "beside"}]
    assert len(shown) == len(subsets)


def test_intervals_have_decimals_where_there_is_room() -> None:
    text = lines(*(result(f"t{n}", "functions", n % 2, 1) for n in range(40)))
    assert re.fullmatch(r"functions +40 +100\.0%( +50\.0% 35\.\d-64\.\d){2}", text[1])


@pytest.mark.parametrize(
    ("low", "high", "digits", "shown"),
    [
        (None, None, 1, ""),
        (0.4649, 0.7001, 1, "46.4-70.1"),
        (0.4649, 0.7001, 0, "46-71"),
        (0.0, 1.0, 1, "0.0-100.0"),
        (0.29, 0.29, 0, "29-29"),  # 0.29 * 100 is less than 29
        (0.57, 0.58, 1, "57.0-58.0"),
    ],
)
def test_intervals_are_never_shown_narrower(
    low: float | None, high: float | None, digits: int, shown: str
) -> None:
    assert interval(MetricValue(value=0.5, low=low, high=high, n=1), digits) == shown


def test_long_lists_go_on_in_the_next_line_and_keep_each_word_whole() -> None:
    flags = {f"a_long_name_of_a_flag_{n}": n for n in range(10)}
    text = list(
        summary_lines(summarize([result("a", "s", 1, 1)]), collected=1, left_out={}, files="f", flags=flags)
    )
    start = next(n for n, line in enumerate(text) if line.startswith("flags: "))
    part = text[start:-1]
    assert len(part) > 2
    assert max(map(len, part)) <= 80
    assert all(line.startswith("       ") for line in part[1:])
    assert ", ".join(line.strip().rstrip(",") for line in part) == "flags: " + ", ".join(
        f"{count} {flag}" for flag, count in flags.items()
    )


def test_names_that_a_model_or_a_file_wrote_cannot_reach_the_terminal_raw() -> None:
    evil = summarize([result("a", "s\x1b[31m", 1, 1, model="m\x1b]0;title\x07\n")])
    text = [summary_title(evil), *summary_lines(evil, collected=1, left_out={}, files="f", flags={"\x1b": 1})]
    assert all(line.isprintable() for line in text)
    assert "m\\x1b]0;title\\x07" in text[0]


def test_a_title_names_three_models_at_most() -> None:
    many = summarize([result("a", "s", 1, 1, model=f"model-{n}", sample=n) for n in range(5)])
    assert summary_title(many) == "plsqlbench: model-0, model-1, model-2 and 2 more, published/1"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("abc", 3, "abc"), ("abcdef", 5, "ab…ef"), ("abcdef", 4, "ab…f"), ("spider2_st_a", 7, "spi…t_a")],
)
def test_names_are_cut_in_the_middle(text: str, width: int, shown: str) -> None:
    assert shorten(text, width) == shown
    assert len(shown) <= width


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "-"), (0.0, "0.0%"), (1.0, "100.0%"), (0.9999, "99.9%"), (0.0001, "0.1%"), (0.12345, "12.3%")],
)
def test_percentages_never_round_to_all_or_nothing(value: float | None, shown: str) -> None:
    assert percent(value) == shown


def test_the_title_names_model_and_rules() -> None:
    assert summary_title(summarize([result("a", "s", 1, 1)])) == "plsqlbench: m, published/1"


def test_the_title_is_short_and_safe_whatever_models_are_called() -> None:
    rows = [result("a", "s", 1, 1, model=f"{n}\x1b[2J\u202e" + "long" * 200) for n in range(5)]
    title = summary_title(summarize(rows))
    assert title.isprintable()
    assert len(title) < 200
    assert title.count("…") == 3
