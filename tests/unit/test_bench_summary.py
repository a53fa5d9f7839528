"""The summary of a run."""

from __future__ import annotations

import json
import random

import msgspec
import pytest

from pytest_plsqlbench.bench.metrics import InconsistentResultsError
from pytest_plsqlbench.bench.result import EngineInfo, Status, TestResult, TurnResult
from pytest_plsqlbench.bench.summary import Summary, summarize


def turn(
    task: str,
    *tests: TestResult,
    status: Status = "graded",
    subset: str = "mbpp",
    turn: int = 1,
    turns: int = 0,
    **more: object,
) -> TurnResult:
    passed = sum(test.verdict == "passed" for test in tests)
    row = TurnResult(
        task=task,
        subset=subset,
        dialect="postgres",
        conversation=turns > 0,
        turn=turn,
        turns=turns or 1,
        turn_id=task,
        model="m",
        status=status,
        passed=passed,
        total=len(tests) or 2,
        solved=bool(tests) and passed == len(tests),
        tests=tests,
        engine=EngineInfo("postgres", "18.0", "embedded"),
        comparator="published/1",
    )
    return msgspec.structs.replace(row, **more)


PASS = TestResult(name="a", verdict="passed")
STRICT = TestResult(name="b", verdict="passed", strict="failed")
FORMAT = TestResult(
    name="c", verdict="failed", category="wrong_result", subcategory="output_mismatch", normalized="passed"
)
SYNTAX = TestResult(name="d", verdict="failed", category="invalid_program", subcategory="syntax_error")

ROWS = [
    turn("t1", PASS, STRICT),
    turn("t2", PASS, FORMAT),
    turn("t3", SYNTAX, SYNTAX),
    turn("t4", status="missing", model=None, engine=None),
    turn("t5", status="infrastructure_error"),
    turn("e1", PASS, subset="mt", turn=1, turns=2),
    turn("e1", FORMAT, subset="mt", turn=2, turns=2),
    turn("e2", PASS, subset="mt", turn=1, turns=2),
    turn("e2", status="reference_error", subset="mt", turn=2, turns=2),
    turn("e3", PASS, subset="mt", turn=1, turns=2),
]


def test_metrics_of_subsets_and_overall() -> None:
    summary = summarize(ROWS)
    assert {name: metric.value for name, metric in summary.metrics["mbpp"].items()} == {
        "mean_test_pass@1": 1.5 / 4,
        "suite_pass@1": 0.25,
    }
    assert summary.metrics["mbpp"]["suite_pass@1"].n == 4
    assert {name: metric.value for name, metric in summary.metrics["mt"].items()} == {
        "episode_pass@1": 0.0,
        "turn_suite_pass@1": 0.5,
        "episode_test_pass@1": 0.5,
    }
    assert summary.overall["suite_pass@1"].value == 0.25
    assert summary.overall["episode_pass@1"].subsets == 1


def test_every_reading_is_scored() -> None:
    readings = summarize(ROWS).readings
    suite = {reading: scores.metrics["mbpp"]["suite_pass@1"].value for reading, scores in readings.items()}
    assert suite == {"published": 0.25, "normalized": 0.5, "strict": 0.0}
    assert readings["normalized"].metrics["mt"]["episode_pass@1"].value == 1.0
    assert readings["published"].metrics == summarize(ROWS).metrics
    assert readings["published"].overall == summarize(ROWS).overall


def test_counts() -> None:
    summary = summarize(ROWS)
    assert summary.statuses == {
        "graded": 7,
        "missing": 1,
        "reference_error": 1,
        "infrastructure_error": 1,
        "unsupported": 0,
        "engine_unavailable": 0,
    }
    assert (summary.coverage.value, summary.coverage.excluded) == (7 / 8, 2)
    assert (summary.counts.tasks, summary.counts.turns) == (8, 10)
    assert (
        summary.counts.episodes,
        summary.counts.episodes_excluded,
        summary.counts.episodes_incomplete,
    ) == (3, 1, 1)
    formatting, strict = summary.counts.formatting_only, summary.counts.strict_only
    assert (formatting.tests, formatting.turns) == (2, 2)
    assert (strict.tests, strict.turns) == (1, 1)
    assert [(c.category, c.subcategory, c.tests, c.turns) for c in summary.categories] == [
        ("invalid_program", "syntax_error", 2, 1),
        ("wrong_result", "output_mismatch", 2, 2),
    ]
    assert summary.subsets["mt"].coverage.value == 1.0
    assert summary.subsets["mbpp"].coverage.value == 0.75
    assert summary.subsets["mbpp"].categories[0].subcategory == "syntax_error"


def test_a_turn_that_only_a_strict_test_fails() -> None:
    row = turn("t1", PASS, strict_tests=(SYNTAX, PASS))
    summary = summarize([row])
    assert (summary.counts.strict_only.tests, summary.counts.strict_only.turns) == (0, 1)
    assert summary.metrics["mbpp"]["suite_pass@1"].value == 1.0
    strict = summary.readings["strict"].metrics["mbpp"]
    assert (strict["suite_pass@1"].value, strict["mean_test_pass@1"].value) == (0.0, 2 / 3)
    assert summary.categories == ()


def test_timeouts_are_counted_apart() -> None:
    late = TestResult(name="late", verdict="failed", category="limit", subcategory="time_limit")
    full = TestResult(name="full", verdict="failed", category="limit", subcategory="row_limit")
    counts = summarize([turn("t1", PASS, late, late), turn("t2", full), turn("t3", late)]).counts
    assert (counts.timeouts.tests, counts.timeouts.turns) == (3, 2)
    assert summarize([turn("t1", PASS)]).counts.timeouts.tests == 0


def test_who_and_what() -> None:
    summary = summarize(ROWS)
    assert (summary.model, summary.models, summary.comparator) == ("m", ("m",), "published/1")
    assert summary.engines == (EngineInfo("postgres", "18.0", "embedded"),)
    two = summarize([*ROWS, turn("t9", PASS, model="other", dialect="oracle")])
    assert (two.model, two.models) == (None, ("m", "other"))
    assert two.dialects["oracle"].metrics["mbpp"]["suite_pass@1"].value == 1.0
    assert two.dialects["postgres"].metrics == summary.metrics


def test_order_does_not_matter() -> None:
    shuffled = list(ROWS)
    for seed in range(5):
        random.Random(seed).shuffle(shuffled)
        assert msgspec.json.encode(summarize(shuffled)) == msgspec.json.encode(summarize(ROWS))


def test_it_is_json_with_the_public_names() -> None:
    text = msgspec.json.encode(summarize(ROWS))
    loaded = json.loads(text)
    public = {
        "schema_version",
        "model",
        "metrics",
        "overall",
        "coverage",
        "statuses",
        "categories",
        "engines",
        "gates",
    }
    assert public <= loaded.keys()
    assert loaded["metrics"]["mbpp"]["suite_pass@1"] == {
        "value": 0.25,
        "low": 0.045587,
        "high": 0.699358,
        "n": 4,
    }
    assert msgspec.json.decode(text, type=Summary) == summarize(ROWS)


def test_half_covered() -> None:
    assert summarize([turn("t1", PASS), turn("t2", status="missing")]).coverage.value == 0.5


def test_nothing_at_all() -> None:
    summary = summarize([])
    assert (summary.model, summary.comparator, summary.metrics, summary.coverage.value) == (
        None,
        None,
        {},
        None,
    )


def test_several_comparators_are_not_added_up() -> None:
    with pytest.raises(InconsistentResultsError, match="normalized/1, published/1"):
        summarize([*ROWS, turn("t9", PASS, comparator="normalized/1")])
