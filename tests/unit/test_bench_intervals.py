"""Intervals of metrics: what they are clustered by, and cases in which little is known."""

from __future__ import annotations

import random
from fractions import Fraction

import msgspec
import pytest
from bench_rows import single
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.metrics import SUITE_PASS, Unit, unit_samples
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.statistics.formulas import Interval, wilson
from pytest_plsqlbench.bench.statistics.intervals import cluster_keys, mean_interval
from pytest_plsqlbench.bench.statistics.samples import k_names, k_samples
from pytest_plsqlbench.bench.summary import summarize

Z = 1.959963984540054


def interval(rows: list[TurnResult], metric: str = SUITE_PASS) -> Interval:
    found = mean_interval([unit_samples(rows)[metric]], cluster_keys(rows))
    assert found is not None
    return found


def on(database: str | None, *solved: int, total: int = 1) -> list[TurnResult]:
    """Tasks on a database, of which so many tests pass."""
    name = database or "none"
    return [single(f"{name}{place}", passed, total, database=database) for place, passed in enumerate(solved)]


def test_tasks_without_a_database_are_independent_and_wilson_is_exact() -> None:
    assert interval(on(None, 1, 1, 1, 0)) == pytest.approx(wilson(0.75, 4, Z), abs=1e-6)


def test_a_single_database_speaks_of_its_tasks() -> None:
    assert interval(on("a", 1, 1, 1, 0)) == pytest.approx(wilson(0.75, 4, Z), abs=1e-6)


def test_databases_that_are_unlike_widen_the_interval() -> None:
    alike = [row for name in "abcdefgh" for row in on(name, 1, 0, 1, 0)]
    unlike = [row for place, name in enumerate("abcdefgh") for row in on(name, *[place % 2] * 4)]
    low, high = interval(unlike)
    assert interval(alike).low > low
    assert interval(alike).high < high
    assert high - low > 0.6  # eight databases that are all or nothing: as good as eight tasks


def test_two_dialects_of_a_task_are_one_cluster() -> None:
    rows = [
        msgspec.structs.replace(row, dialect=dialect)
        for row in on(None, *([1] * 6 + [0] * 6))
        for dialect in ("postgres", "oracle")
    ]
    half = interval(rows[::2])
    low, high = interval(rows)
    assert low <= half.low + 0.01
    assert high >= half.high - 0.01
    assert len(set(cluster_keys(rows).values())) == 12


def test_the_same_database_in_two_subsets_is_one_cluster() -> None:
    rows = on("a", 1) + on("b", 0)
    more = [msgspec.structs.replace(row, subset="other") for row in rows]
    assert set(cluster_keys([*rows, *more]).values()) == {"database\0a", "database\0b"}
    assert len(set(cluster_keys([*rows, *more], "task").values())) == 4


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("databases", [1, 2, 6, 20])
def test_all_alike_is_not_certain(value: int, databases: int) -> None:
    rows = [row for place in range(databases) for row in on(f"d{place}", *[value] * 3)]
    low, high = interval(rows)
    assert low <= value <= high
    assert high - low > 0.01
    assert value in {low, high}


def test_one_more_failure_never_raises_the_lower_bound() -> None:
    """All passed must not look worse than all but one."""
    bounds = []
    for failed in range(8):
        rows = [row for place in range(10) for row in on(f"d{place}", *[int(place >= failed)] + [1] * 7)]
        bounds.append(interval(rows).low)
    assert bounds == sorted(bounds, reverse=True)


def test_nothing_has_no_interval() -> None:
    assert mean_interval([], {}) is None
    assert mean_interval([{("s", "t", "postgres"): []}], {("s", "t", "postgres"): "c"}) is None


def test_a_macro_mean_of_certain_and_certain_not() -> None:
    """Subsets without any spread of their own are no proof of having none."""
    units: list[dict[Unit, list[Fraction]]] = [
        {(name, "t", "postgres"): [Fraction(value)]} for name, value in (("a", 0), ("b", 1))
    ]
    low, high = mean_interval(units, {unit: unit[0] for part in units for unit in part}) or (1, 0)
    assert low < 0.2
    assert high > 0.8


rows_of_any_kind = st.lists(
    st.tuples(
        st.sampled_from(["mbpp", "spider", "call_suites"]),
        st.sampled_from([None, "a", "b", "c", "d"]),
        st.integers(1, 3).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(rows_of_any_kind, st.randoms(use_true_random=False))
def test_intervals_hold_the_value_and_do_not_depend_on_order(
    kinds: list[tuple[str, str | None, tuple[int, int], int]], dice: random.Random
) -> None:
    rows = [
        single(f"t{place}", passed, total, subset=subset, database=database, sample=sample)
        for place, (subset, database, (passed, total), samples) in enumerate(kinds)
        for sample in range(samples + 1)
    ]
    summary = summarize(rows)
    shuffled = rows[:]
    dice.shuffle(shuffled)
    assert msgspec.json.encode(summarize(shuffled)) == msgspec.json.encode(summary)
    for metrics in (*summary.metrics.values(), summary.overall, *summary.samples.values()):
        for metric in metrics.values():
            assert metric.value is not None
            assert metric.low is not None
            assert metric.high is not None
            assert 0 <= metric.low <= metric.value + 1e-6
            assert metric.value - 1e-6 <= metric.high <= 1
            assert metric.high - metric.low > 1e-3


def test_several_samples() -> None:
    solved = {"a": (1, 1, 0, 0), "b": (0, 0, 0, 0), "c": (1, 1, 1, 1)}
    rows = [single(task, s, 1, sample=n) for task, found in solved.items() for n, s in enumerate(found)]
    summary = summarize(rows)
    metrics = summary.samples["mbpp"]
    assert list(metrics) == [f"suite_pass{sign}{k}" for k in (2, 4) for sign in "@^"]
    assert metrics["suite_pass@2"].value == pytest.approx((5 / 6 + 0 + 1) / 3)
    assert metrics["suite_pass^2"].value == pytest.approx((1 / 6 + 0 + 1) / 3)
    assert (metrics["suite_pass@4"].value, metrics["suite_pass^4"].value) == (2 / 3, 1 / 3)
    assert summary.metrics["mbpp"][SUITE_PASS].value == 0.5
    assert summarize(rows[::4]).samples == {}


def test_samples_that_are_too_few_do_not_count() -> None:
    one: Unit = ("s", "a", "postgres")
    many: Unit = ("s", "b", "postgres")
    samples = {SUITE_PASS: {one: [Fraction(1)], many: [Fraction(0)] * 12}}
    assert k_names(samples) == [f"suite_pass{sign}{k}" for k in (2, 5, 10, 12) for sign in "@^"]
    assert k_samples(samples, "suite_pass@5") == {many: [Fraction(0)]}
    for name in ("suite_pass@0", "suite_pass", "ex@2", "mean_test_pass@2", "suite_pass@x"):
        assert k_samples(samples, name) is None


@pytest.mark.parametrize("solved", [5, 6])
def test_what_was_seen_is_not_ruled_out(solved: int) -> None:
    """Halves without the one database where all is solved do not make it possible that nothing ever is."""
    values: dict[Unit, list[Fraction]] = {
        ("s", f"t{n}", "postgres"): [Fraction(int(n < solved))] for n in range(11)
    }
    keys = {unit: "all" if place < solved else f"d{place}" for place, unit in enumerate(values)}
    found = mean_interval([values], keys)
    assert found is not None
    assert 0.01 < found.low < solved / 11 < found.high
    failed = {unit: [1 - value for value in part] for unit, part in values.items()}
    mirrored = mean_interval([failed], keys)
    assert mirrored is not None
    assert found.low == pytest.approx(1 - mirrored.high, abs=0.02)
    assert mirrored.high < 0.99
