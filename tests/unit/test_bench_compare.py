"""Two runs side by side: may they be compared, what is the difference, what changed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import msgspec
import pytest
from bench_rows import single, talk
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.baseline.comparable import CommonPart, common_part
from pytest_plsqlbench.bench.baseline.compare import Comparison, compare
from pytest_plsqlbench.bench.metrics import Unit
from pytest_plsqlbench.bench.result import EngineInfo, TurnResult
from pytest_plsqlbench.bench.statistics.formulas import holm, mcnemar, paired_score
from pytest_plsqlbench.bench.statistics.pairing import compare_pairs
from pytest_plsqlbench.bench.task import UserError

Z = 1.959963984540054


def part(old: Sequence[TurnResult], new: Sequence[TurnResult], *, common: bool = False) -> CommonPart:
    return common_part(old, new, baseline="old.jsonl", common=common, way="--common")


def compared(old: Sequence[TurnResult], new: Sequence[TurnResult]) -> Comparison:
    return compare(part(old, new, common=True), "old.jsonl")


def changed(row: TurnResult, **more: object) -> TurnResult:
    return msgspec.structs.replace(row, **more)


# -- may they be compared --------------------------------------------------------------------------------

ROWS = [single("a", 1), single("b", 0), *talk("c", 1, 0)]


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (ROWS[1:], "1 task of it is not in this run (the first is mbpp task 'a' in postgres)"),
        (
            [*ROWS, single("x", 1), single("y", 1)],
            "2 tasks of this run are not in it (the first is mbpp task 'x'",
        ),
        (
            [*ROWS[:3], changed(ROWS[3], reference_sha256="s")],
            "1 task differs (talks task 'c' in postgres: another",
        ),
        ([single("a", 1, 3), *ROWS[1:]], "another number of tests"),
        (ROWS[:3], "other turns"),
        (
            [changed(row, engine=EngineInfo("postgres", "19.1", "dsn")) for row in ROWS],
            "postgres was played by postgres 18.0 there and by postgres 19.1 here",
        ),
    ],
)
def test_another_run_is_refused_with_the_reason(new: list[TurnResult], why: str) -> None:
    with pytest.raises(UserError) as error:
        part(ROWS, new)
    assert str(error.value).startswith("the baseline old.jsonl is of another run: ")
    assert why in str(error.value)
    assert "; --common compares the common part (" in str(error.value)
    assert part(ROWS, new, common=True).notes


def test_other_addresses_times_and_models_are_the_same_run() -> None:
    new = [
        changed(row, engine=EngineInfo("postgres", "18.0", "dsn"), model="n", elapsed_ms=9.0) for row in ROWS
    ]
    assert part(ROWS, new).notes == ()


def test_what_was_never_played_has_no_engine_and_no_tests_to_differ_in() -> None:
    new = [changed(row, status="infrastructure_error", engine=None, reference_sha256=None) for row in ROWS]
    assert part(ROWS, new).notes == ()


def test_the_common_part_holds_whole_tasks() -> None:
    found = part(ROWS, [ROWS[0], *ROWS[2:3], single("x", 1)], common=True)
    assert [row.task for row in found.new] == ["a"]
    assert (found.only_old, found.only_new, found.changed) == (1, 1, 1)


def test_nothing_in_common_is_refused_in_any_case() -> None:
    with pytest.raises(UserError, match="no task in common with this run: 1 task of it is not"):
        part([single("a", 1)], [single("b", 1)], common=True)
    with pytest.raises(UserError, match="judged by other rules: published/1 there, normalized/1 here"):
        part(ROWS, [changed(row, comparator="normalized/1") for row in ROWS], common=True)


# -- the difference --------------------------------------------------------------------------------------


def test_single_tasks_are_compared_by_mcnemar_and_tango() -> None:
    old = [single(f"t{n:02}", int(n < 10)) for n in range(30)]
    new = [single(f"t{n:02}", int(n < 20 and n != 3)) for n in range(30)]
    found = compared(old, new).metrics["mbpp"]["suite_pass@1"]
    assert (found.gained, found.lost, found.n, found.clusters, found.test) == (10, 1, 30, 30, "mcnemar")
    assert found.p == mcnemar(10, 1)
    assert (found.baseline, found.value) == (10 / 30, 19 / 30)
    score = paired_score(10, 1, 30, Z)
    assert found.low <= round(score.low, 6)
    assert found.high >= round(score.high, 6)
    assert (found.low, found.high) == pytest.approx(tuple(score), abs=0.04)


def test_databases_are_compared_as_wholes() -> None:
    """Ten databases, each better or worse as a whole: as good as ten tasks."""

    def rows(solved: Sequence[int]) -> list[TurnResult]:
        return [
            single(f"d{place}t{n}", value, database=f"d{place}")
            for place, value in enumerate(solved)
            for n in range(8)
        ]

    found = compared(rows([0] * 7 + [1] * 3), rows([1] * 7 + [0] * 3)).metrics["mbpp"]["suite_pass@1"]
    assert (found.gained, found.lost, found.clusters, found.test) == (56, 24, 10, "sign_flip")
    assert found.p == pytest.approx(mcnemar(7, 3))
    assert found.low < 0 < found.high


@pytest.mark.parametrize(("few", "most"), [(1, 0.5), (2, 0.35), (10, 0.15)])
def test_a_small_subset_leaves_as_much_open_as_its_share_of_the_mean(few: int, most: float) -> None:
    large = [single(f"t{n:03}", int(n % 3 > 0)) for n in range(200)]
    small = [single(f"s{n}", 1, subset="small") for n in range(few)]
    same = compared([*large, *small], [*large, *small]).overall["solved@1"]
    assert -most < same.low < 0 < same.high < most
    worse = [changed(row, solved=False, passed=0, tests=()) for row in large[:60]]
    less = compared([*large, *small], [*worse, *large[60:], *small]).overall["solved@1"]
    assert -0.1 - 1.2 * most < less.low < less.difference < less.high < -0.1 + 1.2 * most
    alone = compared(large, large).overall["solved@1"]
    assert same.high > alone.high  # and no less


def test_holm_is_over_the_subsets_of_a_metric() -> None:
    def rows(*solved: int) -> list[TurnResult]:
        return [
            single(f"s{s}t{n}", int(n < k), subset=f"s{s}") for s, k in enumerate(solved) for n in range(20)
        ]

    metrics = compared(rows(5, 5, 5), rows(15, 12, 5)).metrics
    p = [metrics[f"s{n}"]["suite_pass@1"].p for n in range(3)]
    assert [metrics[f"s{n}"]["suite_pass@1"].p_holm for n in range(3)] == holm(p)


def test_solved_counts_tasks_and_conversations() -> None:
    old = [single("a", 1), single("b", 0, subset="talks"), *talk("c", 1, 1), *talk("d", 0, 1)]
    found = compared(old, old)
    assert found.metrics["talks"]["solved@1"].n == 3
    assert found.overall["solved@1"].baseline == pytest.approx((1 + 1 / 3) / 2)
    assert found.overall["solved@1"].n == 4
    assert next(iter(found.overall)) == "solved@1"


def test_tasks_that_one_run_lost_are_not_compared() -> None:
    new = [single("a", 0, status="infrastructure_error"), *ROWS[1:]]
    found = compared(ROWS, new)
    assert (found.compared, found.unpaired) == (2, 1)
    assert found.metrics["mbpp"]["suite_pass@1"].n == 1
    assert found.changes == ()


def test_samples_are_averaged_first() -> None:
    old = [single("a", 1, sample=0), single("a", 0, sample=1), single("b", 0)]
    new = [single("a", 1), *(single("b", int(n < 3), sample=n) for n in range(4))]
    found = compared(old, new).metrics["mbpp"]["suite_pass@1"]
    assert (found.baseline, found.value, found.n) == (0.25, 0.875, 2)
    kinds = {change.task: change.kind for change in compared(old, new).changes}
    assert kinds == {"a": "improved", "b": "newly_solved"}


def test_nothing_to_compare() -> None:
    assert compare_pairs([], {}) is None
    assert compare_pairs([{}], {}) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from("abcdefgh"), st.integers(0, 4), st.integers(0, 4)),
        min_size=1,
        max_size=30,
    ),
    st.randoms(use_true_random=False),
)
def test_a_difference_mirrors_and_does_not_depend_on_order(
    drawn: list[tuple[str, str, int, int]], dice: random.Random
) -> None:
    subsets: dict[str, dict[Unit, tuple[Fraction, Fraction]]] = {}
    keys: dict[Unit, str] = {}
    for place, (subset, database, old, new) in enumerate(drawn):
        unit: Unit = (subset, f"t{place}", "postgres")
        keys[unit] = database
        subsets.setdefault(subset, {})[unit] = (Fraction(old, 4), Fraction(new, 4))
    found = compare_pairs(list(subsets.values()), keys)
    assert found is not None
    assert found.low <= found.difference + 1e-6
    assert found.difference - 1e-6 <= found.high
    assert found.high - found.low > 1e-3
    assert 0 < found.p <= 1
    assert found.detectable > 0
    swapped = [{unit: (new, old) for unit, (old, new) in pairs.items()} for pairs in subsets.values()]
    mirror = compare_pairs(swapped, keys)
    assert mirror is not None
    assert mirror.difference == -found.difference
    assert mirror.p == pytest.approx(found.p)
    assert (mirror.low, mirror.high) == pytest.approx((-found.high, -found.low), abs=2e-6)
    assert (mirror.gained, mirror.lost) == (found.lost, found.gained)
    shuffled = []
    for pairs in subsets.values():
        items = list(pairs.items())
        dice.shuffle(items)
        shuffled.append(dict(items))
    assert compare_pairs(shuffled, keys) == found


# -- what changed ----------------------------------------------------------------------------------------


def test_what_changed() -> None:
    old = [
        single("same", 1),
        single("fixed", 0),
        single("broken", 2, 2),
        single("more", 1, 3),
        single("less", 2, 3),
        single("otherwise", 0, category="interface/unknown_table"),
        single("answered", 0, status="missing"),
        single("lost", 1),
    ]
    new = [
        single("same", 1),
        single("fixed", 1),
        single("broken", 1, 2),
        single("more", 2, 3),
        single("less", 0, 3),
        single("otherwise", 0, category="invalid_program/syntax_error"),
        single("answered", 1),
        single("lost", 0, status="infrastructure_error"),
    ]
    found = compared(old, new)
    assert [(change.kind, change.task) for change in found.changes] == [
        ("newly_broken", "broken"),
        ("newly_solved", "answered"),
        ("newly_solved", "fixed"),
        ("worsened", "less"),
        ("improved", "more"),
        ("category", "otherwise"),
    ]
    assert found.kinds == {"newly_broken": 1, "newly_solved": 2, "worsened": 1, "improved": 1, "category": 1}
    assert {(move.before, move.after): move.turns for move in found.moves} == {
        ("solved", "wrong_result/output_mismatch"): 1,
        ("missing", "solved"): 1,
        ("wrong_result/output_mismatch", "solved"): 1,
        ("interface/unknown_table", "invalid_program/syntax_error"): 1,
    }
    broken = found.changes[0]
    assert (broken.before.passed, broken.after.passed, broken.after.state) == (
        1.0,
        0.5,
        "wrong_result/output_mismatch",
    )
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found
