"""Result sets: one value, rows in order, up to ties, and as a bag."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_plsqlbench.bench.comparison import Outcome, UnjudgeableError, compare
from pytest_plsqlbench.bench.observation import CallObservation, Cell, Observation, ResultSet
from pytest_plsqlbench.bench.task import Comparison, Expectation, Mode, Test
from pytest_plsqlbench.bench.values import Reading

Row = tuple[Cell, ...]
READINGS: list[Reading] = ["published", "normalized"]
NULL: Cell = None


def num(value: object) -> Cell:
    return ("numeric", str(value))


def text(value: str) -> Cell:
    return ("text", value)


def result(*rows: Row, columns: Sequence[str] | None = None, truncated: bool = False) -> ResultSet:
    names = tuple(columns) if columns is not None else tuple("abcdefgh"[: len(rows[0]) if rows else 1])
    return ResultSet(names, rows, truncated)


def returning(*calls: Sequence[ResultSet]) -> Observation:
    return Observation(calls=tuple(CallObservation(results=tuple(results)) for results in calls))


def judge(
    expected: Observation | None,
    actual: Observation,
    mode: Mode,
    reading: Reading = "published",
    keys: tuple[int, ...] | None = None,
    tolerance: float | None = None,
    expect: Expectation | None = None,
) -> Outcome:
    rule = Comparison(mode, order_keys=keys, tolerance=tolerance)
    return compare(Test(name="t", compare=(rule,), expect=expect), expected, actual, reading)


def rows(
    expected: Sequence[Row],
    actual: Sequence[Row],
    mode: Mode,
    reading: Reading = "published",
    keys: tuple[int, ...] | None = None,
    tolerance: float | None = None,
) -> Outcome:
    return judge(returning([result(*expected)]), returning([result(*actual)]), mode, reading, keys, tolerance)


ONE, TWO, THREE = (num(1),), (num(2),), (num(3),)


@pytest.mark.parametrize("mode", ["list", "bag"])
class TestResultSets:
    def test_names_of_columns_do_not_count_but_their_number_does(self, mode: Mode) -> None:
        named = returning([result((num(1), num(2)), columns=["x", "y"])])
        assert judge(named, returning([result((num(1), num(2)), columns=["p", "q"])]), mode).passed
        outcome = judge(named, returning([result((num(1), num(2), num(3)))]), mode)
        assert (outcome.kind, outcome.expected, outcome.actual) == ("column_count", "2 columns", "3 columns")
        empty = returning([result(columns=["x", "y"])])
        assert not judge(empty, returning([result(columns=["x"])]), mode).passed
        assert judge(empty, returning([result(columns=["p", "q"])]), mode).passed

    def test_the_number_of_result_sets_counts(self, mode: Mode) -> None:
        one, two = returning([result(ONE)]), returning([result(ONE), result(ONE)])
        assert judge(two, one, mode).kind == "result_missing"
        assert judge(one, two, mode).kind == "result_extra"
        assert judge(two, two, mode).passed
        assert judge(one, returning([]), mode).kind == "result_missing"

    def test_the_result_set_that_differs_is_named(self, mode: Mode) -> None:
        outcome = judge(returning([result(ONE), result(TWO)]), returning([result(ONE), result(ONE)]), mode)
        assert outcome.detail is not None
        assert outcome.detail.startswith("result set 2, row")

    def test_call_by_call(self, mode: Mode) -> None:
        expected = returning([result(ONE)], [result(TWO)])
        assert judge(expected, returning([result(ONE)], [result(TWO)]), mode).passed
        outcome = judge(expected, returning([result(TWO)], [result(ONE)]), mode)
        assert (outcome.kind, outcome.mode, outcome.detail) == ("different_value", mode, outcome.detail)
        assert outcome.detail is not None
        assert outcome.detail.startswith("call 1, ")
        assert judge(expected, returning([result(ONE), result(TWO)], []), mode).kind == "result_extra"

    def test_a_truncated_result_equals_nothing_not_even_itself(self, mode: Mode) -> None:
        cut = returning([result(ONE, truncated=True)])
        whole = returning([result(ONE)])
        for reading in READINGS:
            assert judge(cut, cut, mode, reading).kind == "truncated"
            assert judge(whole, cut, mode, reading).kind == "truncated"
            assert judge(cut, whole, mode, reading).kind == "truncated"

    def test_empty_is_equal_to_empty_only(self, mode: Mode) -> None:
        assert rows([], [], mode).passed
        assert rows([ONE], [], mode).kind == "row_missing"
        assert rows([], [ONE], mode).kind == "row_extra"
        assert not rows([(NULL,)], [], mode).passed

    def test_null_is_not_zero_nor_empty(self, mode: Mode) -> None:
        for other in (num(0), text(""), text("NULL"), ("bool", "f")):
            for reading in READINGS:
                assert not rows([(NULL,)], [(other,)], mode, reading).passed
        assert rows([(NULL,)], [(NULL,)], mode).passed

    def test_types(self, mode: Mode) -> None:
        assert rows([(("int", "1"),)], [(num("1.00"),)], mode).passed
        assert rows([(("float", "1"),)], [(num("1"),)], mode).formatting_only
        assert not rows([(("bool", "t"),)], [(num(1),)], mode, "normalized").passed
        assert not rows([(text("1"),)], [(num(1),)], mode, "normalized").passed


class TestList:
    def test_every_row_has_its_place(self) -> None:
        assert rows([ONE, TWO], [ONE, TWO], "list").passed
        outcome = rows([ONE, TWO, THREE], [ONE, THREE, TWO], "list")
        assert (outcome.kind, outcome.expected, outcome.actual, outcome.detail) == (
            "order",
            "(2)",
            "(3)",
            "row 2",
        )

    @pytest.mark.parametrize(
        ("expected", "actual", "kind"),
        [
            ([ONE, TWO, THREE], [ONE, TWO], "row_missing"),
            ([ONE, TWO, THREE], [ONE, THREE], "row_missing"),
            ([ONE, TWO], [ONE, TWO, TWO], "row_extra"),
            ([ONE, THREE], [ONE, TWO, THREE], "row_extra"),
            ([ONE, TWO], [ONE, THREE], "different_value"),
            ([ONE, ONE, TWO], [ONE, TWO, TWO], "different_value"),
        ],
    )
    def test_kinds(self, expected: list[Row], actual: list[Row], kind: str) -> None:
        assert rows(expected, actual, "list").kind == kind
        assert not rows(expected, actual, "list", keys=(0,)).passed

    def test_where_and_what(self) -> None:
        outcome = rows([(num(1), text("a"))], [(num(1), text("b")), ONE + ONE], "list")
        assert (outcome.expected, outcome.actual) == ("(1, 'a')", "(1, 'b')")
        assert outcome.detail == "row 1, column 2 (1 row expected, 2 found)"

    def test_rows_that_look_alike_are_shown_with_their_types(self) -> None:
        outcome = rows([(num(1), NULL, num("1"))], [(num(1), NULL, ("float", "1"))], "list")
        assert (outcome.expected, outcome.actual) == ("column 3: 1::numeric", "column 3: 1::float")

    def test_ties(self) -> None:
        expected = [(num(1), text("a")), (num("1.0"), text("b")), (num(2), text("c")), (num(2), text("d"))]
        swapped = [expected[1], expected[0], expected[3], expected[2]]
        assert rows(expected, swapped, "list", keys=(0,)).passed
        assert rows(swapped, expected, "list", keys=(0,)).passed
        assert not rows(expected, swapped, "list").passed
        assert not rows(expected, swapped, "list", keys=(0, 1)).passed
        crossed = [expected[0], expected[2], expected[1], expected[3]]
        outcome = rows(expected, crossed, "list", keys=(0,))
        assert (outcome.kind, outcome.expected, outcome.actual) == ("order", "(1.0, 'b')", "(2, 'c')")
        assert not rows(expected, [*expected[:3], expected[2]], "list", keys=(0,)).passed
        assert not rows(expected, expected[:3], "list", keys=(0,)).passed
        assert not rows(expected, [*expected, expected[3]], "list", keys=(0,)).passed

    def test_no_order_keys_at_all_is_a_bag(self) -> None:
        assert rows([ONE, TWO], [TWO, ONE], "list", keys=()).passed
        assert not rows([ONE, TWO], [TWO, TWO], "list", keys=()).passed

    def test_floats_sort_zeros_together(self) -> None:
        zero, minus = (("float", "0"), text("a")), (("float", "-0"), text("b"))
        assert rows([zero, minus], [minus, zero], "list", keys=(0,)).passed  # type: ignore[list-item]

    def test_an_order_key_that_is_no_column(self) -> None:
        with pytest.raises(UnjudgeableError, match="orders by column 1"):
            rows([ONE], [ONE], "list", keys=(1,))

    def test_tolerance(self) -> None:
        expected = [(num("1.00"), text("a")), (num("2.00"), text("b"))]
        near = [(num("1.01"), text("a")), (num("1.99"), text("b"))]
        assert rows(expected, near, "list", tolerance=0.01).passed
        assert not rows(expected, near, "list", tolerance=0.009).passed
        assert not rows(expected, near[::-1], "list", tolerance=0.01).passed
        tied = [(num("1.00"), text("a")), (num("1.00"), text("b"))]
        assert rows(
            tied, [(num("1.01"), text("b")), (num("0.99"), text("a"))], "list", keys=(0,), tolerance=0.01
        ).passed


class TestBag:
    def test_duplicates_count(self) -> None:
        assert rows([ONE, TWO, ONE], [TWO, ONE, ONE], "bag").passed
        assert rows([ONE, TWO, ONE], [TWO, ONE, TWO], "bag").kind == "different_value"
        assert rows([ONE, ONE], [ONE], "bag").kind == "row_missing"
        assert rows([ONE], [ONE, ONE], "bag").kind == "row_extra"

    def test_order_keys_do_not_matter(self) -> None:
        assert rows([ONE, TWO], [TWO, ONE], "bag", keys=(0,)).passed

    def test_values_stay_in_their_rows(self) -> None:
        assert not rows(
            [(num(1), num(2)), (num(3), num(4))], [(num(1), num(4)), (num(3), num(2))], "bag"
        ).passed

    def test_what_is_missing_and_what_is_too_many(self) -> None:
        outcome = rows([ONE, TWO, THREE], [THREE, (num(4),), ONE], "bag")
        assert (outcome.expected, outcome.actual, outcome.detail) == ("(2)", "(4)", "rows in any order")

    def test_tolerance(self) -> None:
        assert rows([ONE, (num("1.5"),)], [(num("1.5"),), (num("2"),)], "bag", tolerance=0.5).passed
        assert not rows([ONE, (num("1.5"),)], [(num("2"),), (num("2"),)], "bag", tolerance=0.5).passed


class TestValue:
    def test_the_first_cell_of_the_last_call_that_returns_one(self) -> None:
        expected = returning([result(ONE)], [result(TWO)], [])
        assert judge(expected, returning([result(THREE)], [result(TWO, THREE)], []), "value").passed
        assert judge(expected, returning([result(TWO)], [result(ONE)], []), "value").kind == "different_value"
        assert judge(expected, returning([], [], [result(TWO)]), "value").passed
        assert judge(returning([result(ONE), result(TWO)]), returning([result(ONE)]), "value").passed

    def test_more_columns_of_the_candidate_do_not_count(self) -> None:
        assert judge(returning([result(ONE)]), returning([result((num(1), num(2)))]), "value").passed

    def test_all_expected_cells_of_the_row_count(self) -> None:
        expected = returning([result((num(1), num(2)))])
        assert judge(expected, returning([result((num(1), num("2.0")))]), "value").passed
        outcome = judge(expected, returning([result((num(1), num(3)))]), "value")
        assert (outcome.kind, outcome.detail, outcome.actual) == ("different_value", "column 2", "3")
        assert judge(expected, returning([result(ONE)]), "value").kind == "column_count"

    def test_no_result_no_row_and_null_are_three_things(self) -> None:
        nothing, no_row, null = returning([]), returning([result()]), returning([result((NULL,))])
        assert judge(no_row, no_row, "value").passed
        assert judge(null, null, "value").passed
        assert judge(no_row, nothing, "value").kind == "result_missing"
        assert judge(null, nothing, "value").kind == "result_missing"
        assert judge(null, no_row, "value").kind == "row_missing"
        assert judge(no_row, null, "value").kind == "row_extra"

    def test_null_is_not_zero_nor_empty(self) -> None:
        null = returning([result((NULL,))])
        for other in (num(0), text(""), ("bool", "f")):
            assert judge(null, returning([result((other,))]), "value").kind == "different_value"

    def test_shown_with_types_where_they_differ(self) -> None:
        outcome = judge(returning([result((num(1),))]), returning([result((text("1"),))]), "value")
        assert (outcome.expected, outcome.actual) == ("1::numeric", "'1'::text")

    def test_truncated(self) -> None:
        cut, whole = returning([result(ONE, truncated=True)]), returning([result(ONE)])
        for expected, actual in ((cut, cut), (cut, whole), (whole, cut)):
            assert judge(expected, actual, "value").kind == "truncated"

    def test_tolerance(self) -> None:
        expected = returning([result((num("1.00"),))])
        assert judge(expected, returning([result((("float", "1.01"),))]), "value", tolerance=0.01).passed
        assert not judge(expected, returning([result((("float", "1.02"),))]), "value", tolerance=0.01).passed
        assert not judge(expected, returning([result((("float", "1"),))]), "value").passed

    def test_a_reference_without_a_value_cannot_judge(self) -> None:
        with pytest.raises(UnjudgeableError, match="its reference returned none"):
            judge(returning([]), returning([result(ONE)]), "value")


class TestStated:
    def test_rows_without_types(self) -> None:
        expect = Expectation(rows=((1, "a", True, None, 2.5),))
        row: Row = (("int", "1"), text("a"), ("bool", "t"), NULL, num("2.50"))
        actual = returning([], [result(row)])
        for mode in ("list", "bag", "value"):
            assert judge(None, actual, mode, expect=expect).passed
        assert compare(Test(name="t", expect=expect), None, actual, "published").passed

    @pytest.mark.parametrize("mode", ["list", "bag", "value"])
    def test_other_rows(self, mode: Mode) -> None:
        expect = Expectation(rows=((1, "a"),))
        for row in (
            (num(2), text("a")),
            (num(1), text("b")),
            (num(1), NULL),
            (text("1"), text("a")),
            (num(1),),
        ):
            assert not judge(None, returning([result(row)]), mode, expect=expect).passed

    def test_exactly_one_result_set(self) -> None:
        expect = Expectation(rows=((1,),))
        assert (
            judge(None, returning([result(ONE)], [result(ONE)]), "list", expect=expect).kind == "result_extra"
        )
        assert judge(None, returning([]), "list", expect=expect).kind == "result_missing"

    def test_no_rows(self) -> None:
        expect = Expectation(rows=())
        assert judge(None, returning([result(columns=["a", "b", "c"])]), "list", expect=expect).passed
        assert judge(None, returning([result(ONE)]), "list", expect=expect).kind == "row_extra"

    def test_dates_with_or_without_midnight(self) -> None:
        rows_ = (("2024-01-15", "2024-01-15 10:30:00"),)
        row: Row = (("timestamp", "2024-01-15 00:00:00"), ("timestamp", "2024-01-15 10:30:00"))
        assert judge(None, returning([result(row)]), "list", expect=Expectation(rows=rows_)).passed

    def test_what_cannot_be_stated(self) -> None:
        actual = returning([result(ONE)])
        with pytest.raises(UnjudgeableError, match="different lengths"):
            judge(None, actual, "list", expect=Expectation(rows=((1,), (1, 2))))
        with pytest.raises(UnjudgeableError, match="must be a number, text, boolean or null"):
            judge(None, actual, "list", expect=Expectation(rows=(([1],),)))
        with pytest.raises(UnjudgeableError, match="compares bag but does not state"):
            judge(None, actual, "bag", expect=Expectation(lines=()))

    def test_in_order_by_default(self) -> None:
        expect = Expectation(rows=((1,), (2,)))
        assert judge(None, returning([result(ONE, TWO)]), "list", expect=expect).passed
        assert (
            compare(Test(name="t", expect=expect), None, returning([result(TWO, ONE)]), "published").kind
            == "order"
        )
        assert judge(None, returning([result(TWO, ONE)]), "bag", expect=expect).passed


class TestGold:
    def test_result_sets_against_a_gold_query(self) -> None:
        gold = returning([result(ONE, TWO)])
        test = Test(name="t", gold="SELECT", compare=(Comparison("bag"),))
        assert compare(test, gold, returning([], [result(TWO, ONE)]), "published").passed
        assert not compare(test, gold, returning([result(ONE)], [result(TWO)]), "published").passed
        value = Test(name="t", gold="SELECT", compare=(Comparison("value"),))
        assert compare(value, gold, returning([result(TWO)], [result(ONE)]), "published").passed

    def test_what_a_gold_query_cannot_say(self) -> None:
        test = Test(name="t", gold="SELECT", compare=(Comparison("lines"),))
        with pytest.raises(UnjudgeableError, match="say nothing about lines"):
            compare(test, returning([result(ONE)]), returning([]), "published")
