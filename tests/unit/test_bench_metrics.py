"""Metrics: the paper's worked examples, and what must hold for any results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.metrics import (
    EPISODE_PASS,
    EPISODE_TEST_PASS,
    EX,
    MEAN_TEST_PASS,
    SUITE_PASS,
    TURN_SUITE_PASS,
    Exact,
    InconsistentResultsError,
    exact_metrics,
    metric_value,
    overall_metrics,
    score,
)
from pytest_plsqlbench.bench.result import Status, TestResult, TurnResult
from pytest_plsqlbench.bench.task import Dialect


def single(
    task: str,
    passed: int,
    total: int,
    *,
    status: Status = "graded",
    subset: str = "mbpp",
    sample: int = 0,
    dialect: Dialect = "postgres",
    model: str | None = "m",
) -> TurnResult:
    return TurnResult(
        task=task,
        subset=subset,
        dialect=dialect,
        conversation=False,
        turn=1,
        turns=1,
        turn_id=task,
        sample=sample,
        model=model,
        status=status,
        passed=passed,
        total=total,
        solved=passed == total and status == "graded",
        comparator="published/1",
    )


def episode(
    task: str,
    *turns: tuple[int, int],
    sample: int = 0,
    subset: str = "mt",
    model: str | None = "m",
    **statuses: Status,
) -> list[TurnResult]:
    """Turns as (passed, total); a status other than graded as ``t2="missing"``."""
    rows = []
    for number, (passed, total) in enumerate(turns, 1):
        status = statuses.get(f"t{number}", "graded")
        row = single(task, passed, total, status=status, subset=subset, sample=sample)
        named = None if status == "missing" else model
        rows.append(
            msgspec.structs.replace(row, conversation=True, turn=number, turns=len(turns), model=named)
        )
    return rows


def values(results: Sequence[TurnResult]) -> dict[str, Fraction]:
    return {name: exact.value for name, exact in exact_metrics(results).items()}


class TestPaper:
    """PLSQLBench, Appendix C."""

    def test_single_turn_tasks(self) -> None:
        results = [single("a", 2, 3), single("b", 1, 3)]
        assert values(results) == {MEAN_TEST_PASS: Fraction(1, 2), SUITE_PASS: 0}

    def test_an_episode_of_three_turns_and_six_tests(self) -> None:
        results = episode("e", (2, 2), (2, 2), (1, 2))
        assert values(results) == {
            EPISODE_PASS: 0,
            TURN_SUITE_PASS: Fraction(2, 3),
            EPISODE_TEST_PASS: Fraction(5, 6),
        }

    def test_tests_of_an_episode_are_added_up_not_averaged_by_turn(self) -> None:
        assert values(episode("e", (1, 1), (0, 9)))[EPISODE_TEST_PASS] == Fraction(1, 10)

    def test_episodes_are_averaged(self) -> None:
        results = episode("e", (1, 1), (1, 1)) + episode("f", (0, 1), (0, 1), (1, 1))
        assert values(results) == {
            EPISODE_PASS: Fraction(1, 2),
            TURN_SUITE_PASS: Fraction(2, 3),  # (1 + 1/3) / 2, not 3/5
            EPISODE_TEST_PASS: Fraction(2, 3),
        }

    def test_a_program_that_does_not_compile_passes_no_test(self) -> None:
        assert values([single("a", 0, 5), single("b", 5, 5)])[MEAN_TEST_PASS] == Fraction(1, 2)

    def test_overall_is_the_mean_of_the_test_sets(self) -> None:
        large = exact_metrics([single(f"t{n}", 1, 1) for n in range(9)])
        small = exact_metrics([single("u", 0, 1, subset="spider")])
        overall = overall_metrics({"mbpp": large, "spider": small})
        assert overall[SUITE_PASS].value == 0.5
        assert overall[SUITE_PASS].n == 10
        assert overall[SUITE_PASS].subsets == 2

    def test_overall_skips_subsets_without_the_metric(self) -> None:
        subsets = {
            "mbpp": exact_metrics([single("a", 1, 1)]),
            "mt": exact_metrics(episode("e", (0, 1))),
            "lost": exact_metrics([single("b", 0, 1, status="reference_error", subset="lost")]),
        }
        overall = overall_metrics(subsets)
        assert overall[SUITE_PASS].value == 1.0
        assert overall[SUITE_PASS].subsets == 1
        assert overall[EPISODE_PASS].value == 0.0


class TestRulings:
    def test_a_missing_task_counts_as_zero(self) -> None:
        exact = exact_metrics([single("a", 1, 1), single("b", 0, 1, status="missing")])
        assert exact[SUITE_PASS] == Exact(Fraction(1, 2), 2)

    @pytest.mark.parametrize(
        "status", ["reference_error", "infrastructure_error", "unsupported", "engine_unavailable"]
    )
    def test_other_statuses_enter_no_metric(self, status: Status) -> None:
        exact = exact_metrics([single("a", 1, 1), single("b", 0, 1, status=status)])
        assert exact[SUITE_PASS] == Exact(Fraction(1), 1)
        assert exact_metrics([single("b", 0, 0, status=status)])[SUITE_PASS].n == 0
        talk = exact_metrics(episode("e", (1, 1), (0, 1), t2=status) + episode("f", (1, 1), (0, 1)))
        assert talk[EPISODE_PASS] == Exact(Fraction(0), 1)
        assert talk[TURN_SUITE_PASS] == Exact(Fraction(1, 2), 1)

    def test_a_missing_turn_counts_as_zero_in_its_episode(self) -> None:
        exact = exact_metrics(episode("e", (1, 1), (0, 3), t2="missing"))
        assert exact == {
            EPISODE_PASS: (0, 1),
            TURN_SUITE_PASS: (Fraction(1, 2), 1),
            EPISODE_TEST_PASS: (Fraction(1, 4), 1),
        }

    def test_an_episode_without_all_its_results_is_left_out(self) -> None:
        exact = exact_metrics(episode("e", (1, 1), (1, 1))[:1] + episode("f", (0, 1)))
        assert exact[EPISODE_PASS] == Exact(Fraction(0), 1)

    def test_samples_are_averaged_within_their_task(self) -> None:
        results = [single("a", 1, 1, sample=0), single("a", 0, 1, sample=1), single("a", 0, 1, sample=2)]
        exact = exact_metrics([*results, single("b", 1, 1)])
        assert exact[SUITE_PASS] == Exact(Fraction(2, 3), 2)  # (1/3 + 1) / 2
        talks = episode("e", (1, 1), (1, 1)) + episode("e", (1, 1), (0, 1), sample=1) + episode("f", (0, 1))
        assert exact_metrics(talks)[EPISODE_PASS] == Exact(Fraction(1, 4), 2)

    def test_a_sample_that_enters_no_metric_does_not_take_its_task_along(self) -> None:
        results = [single("a", 1, 1), single("a", 0, 1, sample=1, status="infrastructure_error")]
        assert exact_metrics(results)[SUITE_PASS] == Exact(Fraction(1), 1)

    def test_dialects_of_a_task_are_two_tasks(self) -> None:
        results = [single("a", 1, 1), single("a", 0, 1, dialect="oracle")]
        assert exact_metrics(results)[SUITE_PASS] == Exact(Fraction(1, 2), 2)

    def test_models_have_episodes_of_their_own(self) -> None:
        results = episode("e", (1, 1), (1, 1)) + episode("e", (1, 1), (0, 1), model="other")
        assert exact_metrics(results)[EPISODE_PASS] == Exact(Fraction(1, 2), 1)

    @pytest.mark.parametrize("subset", ["procarena_a1", "procarena", "call_suites"])
    def test_subsets_judged_by_state_name_their_score_ex(self, subset: str) -> None:
        exact = exact_metrics([single("a", 2, 2, subset=subset), single("b", 1, 2, subset=subset)])
        assert exact == {MEAN_TEST_PASS: (Fraction(3, 4), 2), EX: (Fraction(1, 2), 2)}

    def test_nothing_almost_perfect_is_rounded_to_perfect(self) -> None:
        almost = metric_value(Exact(1 - Fraction(1, 10**30), 1)).value
        hardly = metric_value(Exact(Fraction(1, 10**400), 1)).value
        assert almost is not None
        assert hardly is not None
        assert 0 < hardly < almost < 1
        assert metric_value(Exact(Fraction(1), 1)).value == 1.0
        assert metric_value(Exact(Fraction(0), 1)).value == 0.0
        assert metric_value(Exact(Fraction(0), 0)).value is None

    def test_no_results(self) -> None:
        assert exact_metrics([]) == {}
        assert overall_metrics({}) == {}


class TestReadings:
    tests = (
        TestResult(name="a", verdict="passed", strict="failed"),
        TestResult(name="b", verdict="failed", normalized="passed"),
        TestResult(name="c", verdict="failed"),
    )

    def test_of_a_published_result(self) -> None:
        row = msgspec.structs.replace(single("t", 1, 3), tests=self.tests)
        assert score(row) == score(row, "published") == (1, 3)
        assert score(row, "normalized") == (2, 3)
        assert score(row, "strict") == (0, 3)

    def test_of_a_normalized_result(self) -> None:
        tests = (
            TestResult(name="a", verdict="passed", normalized="failed"),  # failed as published, so strictly
            TestResult(name="b", verdict="passed", strict="failed"),
            TestResult(name="c", verdict="passed"),
        )
        row = msgspec.structs.replace(single("t", 3, 3), tests=tests, comparator="normalized/1")
        assert score(row) == score(row, "normalized") == (3, 3)
        assert score(row, "published") == (2, 3)
        assert score(row, "strict") == (1, 3)

    def test_the_readings_have_their_own_metrics(self) -> None:
        row = msgspec.structs.replace(single("t", 1, 3), tests=self.tests)
        assert exact_metrics([row], "normalized")[MEAN_TEST_PASS].value == Fraction(2, 3)
        assert exact_metrics([row], "strict")[MEAN_TEST_PASS].value == 0


class TestInconsistent:
    @pytest.mark.parametrize(
        "change",
        [
            {"passed": 4},
            {"passed": -1},
            {"total": 0, "passed": 0},
            {"solved": True},
            {"passed": 3},
            {"status": "missing"},
            {"tests": (TestResult(name="a", verdict="passed"),)},
            {"tests": (TestResult(name="a", verdict="failed"),) * 3},
        ],
    )
    def test_counts_that_contradict_each_other(self, change: dict[str, object]) -> None:
        row = msgspec.structs.replace(single("t", 1, 3), **change)
        with pytest.raises(InconsistentResultsError, match="task 't', turn 1"):
            exact_metrics([row])

    def test_duplicates(self) -> None:
        with pytest.raises(
            InconsistentResultsError, match=r"two results for task 'a' \(postgres\), turn 1, sample 0"
        ):
            exact_metrics([single("a", 1, 1), single("a", 0, 1)])
        with pytest.raises(InconsistentResultsError, match="two results for task 'e'"):
            exact_metrics(episode("e", (1, 1)) + episode("e", (0, 1)))

    def test_several_turns_that_are_no_conversation(self) -> None:
        for change in ({"turn": 2}, {"turns": 2}):
            with pytest.raises(InconsistentResultsError, match="is no conversation"):
                exact_metrics([msgspec.structs.replace(single("a", 1, 1), **change)])

    def test_turns_that_do_not_fit_their_conversation(self) -> None:
        rows = episode("e", (1, 1), (1, 1))
        for broken in (
            [rows[0], msgspec.structs.replace(rows[1], turns=3)],
            [msgspec.structs.replace(rows[0], turn=0), rows[1]],
            [rows[0], msgspec.structs.replace(rows[1], turn=3)],
        ):
            with pytest.raises(InconsistentResultsError, match="conversation 'e'"):
                exact_metrics(broken)


_STATUSES: list[Status] = [*["graded"] * 6, "missing", "reference_error", "infrastructure_error"]  # type: ignore[list-item]
_STATUS = st.sampled_from(_STATUSES)


@st.composite
def _counts(draw: st.DrawFn, status: str) -> tuple[int, int]:
    total = draw(st.integers(1, 9))
    return (draw(st.integers(0, total)) if status == "graded" else 0), total


@st.composite
def results(draw: st.DrawFn) -> list[TurnResult]:
    rows: list[TurnResult] = []
    for task in range(draw(st.integers(0, 5))):
        for sample in range(draw(st.integers(1, 2))):
            status: Status = draw(_STATUS)
            rows.append(single(f"s{task}", *draw(_counts(status)), status=status, sample=sample))
    for task in range(draw(st.integers(0, 3))):
        for sample in range(draw(st.integers(1, 2))):
            statuses = draw(st.lists(_STATUS, min_size=1, max_size=3))
            turns = [draw(_counts(status)) for status in statuses]
            named: dict[str, Status] = {f"t{number}": status for number, status in enumerate(statuses, 1)}
            rows += episode(f"e{task}", *turns, sample=sample, **named)
    return rows


def _passes_all(row: TurnResult) -> TurnResult:
    return msgspec.structs.replace(row, passed=row.total, solved=True)


@settings(deadline=None)
@given(results())
def test_a_metric_is_a_share_and_one_only_if_all_passed(rows: list[TurnResult]) -> None:
    for exact in exact_metrics(rows).values():
        assert 0 <= exact.value <= 1
        assert exact.n <= len({(row.conversation, row.task) for row in rows})
    graded = [row for row in rows if row.status == "graded"]
    for part in ([row for row in rows if row.conversation is talk] for talk in (False, True)):
        judged = exact_metrics(part)
        if all(row.status in ("graded", "missing") for row in part) and part:
            perfect = all(row.solved for row in part)
            assert all((exact.value == 1) == perfect for exact in judged.values())
            nothing = all(row.passed == 0 for row in part)
            assert not nothing or all(exact.value == 0 for exact in judged.values())
    for exact in exact_metrics([_passes_all(row) for row in graded]).values():
        assert exact.n == 0 or exact.value == 1


@settings(deadline=None)
@given(results(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_neither_order_nor_sharding_changes_a_metric(
    rows: list[TurnResult], shuffled: random.Random, shards: int
) -> None:
    whole = exact_metrics(rows)
    parts = [[row for place, row in enumerate(rows) if place % shards == shard] for shard in range(shards)]
    shuffled.shuffle(parts)
    for part in parts:
        shuffled.shuffle(part)
    assert exact_metrics([row for part in parts for row in part]) == whole


@settings(deadline=None)
@given(results(), st.data())
def test_one_more_test_passed_never_lowers_a_metric(rows: list[TurnResult], data: st.DataObject) -> None:
    chances = [place for place, row in enumerate(rows) if row.status == "graded" and not row.solved]
    if not chances:
        return
    place = data.draw(st.sampled_from(chances))
    better = msgspec.structs.replace(
        rows[place], passed=rows[place].passed + 1, solved=rows[place].passed + 1 == rows[place].total
    )
    before = exact_metrics(rows)
    after = exact_metrics([*rows[:place], better, *rows[place + 1 :]])
    assert before.keys() == after.keys()
    for name, exact in after.items():
        assert exact.value >= before[name].value
        assert exact.n == before[name].n


@settings(deadline=None)
@given(results())
def test_episode_pass_is_the_hardest_and_tests_the_easiest(rows: list[TurnResult]) -> None:
    exact = exact_metrics(rows)
    if SUITE_PASS in exact:
        assert exact[SUITE_PASS].value <= exact[MEAN_TEST_PASS].value
    if EPISODE_PASS in exact:
        assert exact[EPISODE_PASS].value <= exact[TURN_SUITE_PASS].value
        assert exact[EPISODE_PASS].value <= exact[EPISODE_TEST_PASS].value


def test_a_sum_of_thirds_is_exact() -> None:
    """In floats 0.1 added ten times is not 1; and no order of adding must show."""
    results_ = [single(f"t{n}", 1, 10) for n in range(10)] + [single("u", 1, 3), single("v", 2, 3)]
    assert values(results_)[MEAN_TEST_PASS] == Fraction(2, 12)
