"""Tolerances and many rows: a program cannot print or return its way out of a verdict."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from pytest_plsqlbench.bench import matching
from pytest_plsqlbench.bench.comparison import compare, reference_fault
from pytest_plsqlbench.bench.judging import judge
from pytest_plsqlbench.bench.observation import CallObservation, Observation, ResultSet, TableState
from pytest_plsqlbench.bench.task import Comparison, Expectation, Mode, Test
from pytest_plsqlbench.bench.values import Row


def row(*numbers: object) -> Row:
    return tuple([("numeric", str(number)) for number in numbers])


def showing(rows: Sequence[Row]) -> Observation:
    """What shows the same rows in every way: returned, printed, left in a table."""
    columns = tuple("abc"[: len(rows[0])])
    lines = tuple([",".join([cell[1] for cell in row if cell is not None]) for row in rows])
    call = CallObservation(lines=lines, results=(ResultSet(columns, tuple(rows)),))
    return Observation(calls=(call,), state=(TableState(name="t", columns=columns, rows=tuple(rows)),))


def a_test(mode: Mode, keys: tuple[int, ...] | None = None, tolerance: float = 0.01) -> Test:
    return Test(name="t", compare=(Comparison(mode, tolerance=tolerance, order_keys=keys),))


def by_gold(test: Test) -> Test:
    return msgspec.structs.replace(test, gold="SELECT 1")


PAIRING = [a_test("bag"), a_test("lines_bag"), a_test("list", ()), a_test("state")]
NEAR = [row(1 + n / 100_000, 2 + n / 100_000) for n in range(40)]
"""Any of them could stand for any other."""


@pytest.mark.parametrize(
    ("test", "many", "kind"),
    [(a_test("bag"), 40_000, "row_extra"), (a_test("lines_bag"), 19_000, "extra_line")],
)
def test_too_many_equal_rows_are_a_wrong_result(test: Test, many: int, kind: str) -> None:
    expected = showing([row("1.0", "2.0")] * 300)
    assert reference_fault(test, expected) is None
    outcome = judge(test, expected, showing([row("1.0", "2.0")] * many), "published").outcome
    assert (outcome.verdict, outcome.kind, outcome.expected) == ("failed", kind, None)
    assert outcome.actual in ("(1.0, 2.0)", "1.0,2.0")
    assert f"300 {'rows' if kind == 'row_extra' else 'lines'} expected, {many}" in str(outcome.detail)


@pytest.mark.parametrize("test", PAIRING)
def test_too_many_to_say_which_are_counted(test: Test, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS", 1700)
    monkeypatch.setattr(matching, "MAX_PAIRS_SHOWN", 100)
    expected = showing(NEAR)
    assert reference_fault(test, expected) is None
    fewer, more = NEAR[1:], [*NEAR, *NEAR]
    mode = test.compare[0].mode
    for rows, what in (fewer, "missing"), (more, "extra"):
        outcome = judge(test, expected, showing(rows), "published").outcome
        assert outcome.verdict == "failed"
        assert (outcome.expected, outcome.actual) == (None, None)
        assert outcome.kind in ("state", f"row_{what}", f"{what}_line")
        assert (
            f"40 {'lines' if mode == 'lines_bag' else 'rows'} expected, {len(rows)} " in f"{outcome.detail} "
        )


@pytest.mark.parametrize("test", [*PAIRING, by_gold(a_test("bag")), a_test("list", (2,))])
def test_a_task_that_allows_too_many_pairs_is_refused_before_any_program(
    test: Test, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(*near, ("int", "7")) for near in NEAR]
    monkeypatch.setattr(matching, "MAX_PAIRS", 1500)
    assert "the tolerance 0.01 lets 1600 pairs" in str(reference_fault(test, showing(rows)))
    narrow = msgspec.structs.replace(test, compare=(a_test("bag", tolerance=0.000001).compare[0],))
    assert reference_fault(narrow, showing(rows)) is None
    apart = [(*near, ("int", str(n))) for n, near in enumerate(NEAR)]
    assert reference_fault(test, showing(apart)) is None


def test_a_task_that_states_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS", 1500)
    rows = tuple([(1 + n / 100_000, 2.0) for n in range(40)])
    stated = msgspec.structs.replace(a_test("bag"), expect=Expectation(rows=rows))
    assert "1600 pairs" in str(reference_fault(stated, None))
    lines = tuple([f"{one} and {two}" for one, two in rows])
    stated = msgspec.structs.replace(a_test("lines_bag"), expect=Expectation(lines=lines))
    assert "1600 pairs" in str(reference_fault(stated, None))


@pytest.mark.parametrize("keys", [(), (1,)])
def test_rows_to_be_printed_are_refused_in_the_same_way(
    keys: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS", 1500)
    rows = [row(1 + n / 100_000, 2) for n in range(40)]
    gold = by_gold(a_test("permuted", keys))
    assert "1600 pairs" in str(reference_fault(gold, showing(rows)))
    assert reference_fault(by_gold(a_test("permuted", None)), showing(rows)) is None
    assert reference_fault(gold, showing(rows[:30])) is None


@pytest.mark.parametrize("mode", ["lines", "list"])
def test_what_is_compared_in_order_is_never_refused(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_PAIRS", 10)
    monkeypatch.setattr(matching, "MAX_PAIRS_SHOWN", 10)
    test = a_test(mode)
    rows = [row(n / 100_000, 3 * (n % 2)) for n in range(40)]
    swapped = [*rows[1:], rows[0]]
    assert reference_fault(test, showing(rows)) is None
    outcome = compare(test, showing(rows), showing(swapped), "published")
    assert not outcome.passed
    turned = [row(n / 100_000, 3 * ((n + 1) % 2)) for n in range(40)]
    outcome = compare(test, showing(rows), showing(turned), "published")
    assert outcome.kind in ("different_line", "different_value")  # not called another order unless found out
