"""Printed output: in order, as a bag, and as the rows of a gold query."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.comparison import Outcome, UnjudgeableError, compare
from pytest_plsqlbench.bench.observation import CallObservation, Cell, Observation, ResultSet
from pytest_plsqlbench.bench.task import Comparison, Expectation, Mode, Test
from pytest_plsqlbench.bench.values import Reading

Row = tuple[Cell, ...]
READINGS: list[Reading] = ["published", "normalized"]


def printing(*calls: Sequence[str]) -> Observation:
    return Observation(calls=tuple(CallObservation(lines=tuple(lines)) for lines in calls))


def judge(
    expected: Sequence[str],
    actual: Sequence[str],
    mode: Mode = "lines",
    reading: Reading = "published",
    tolerance: float | None = None,
) -> Outcome:
    test = Test(name="t", compare=(Comparison(mode, tolerance=tolerance),))
    return compare(test, printing(expected), printing(actual), reading)


class TestLines:
    @pytest.mark.parametrize(
        ("expected", "actual"),
        [
            (["a", "b"], ["a", "b"]),
            (["a  ", "b\t"], ["a", "b"]),
            (["a", "b", "", "  "], ["a", "b"]),
            ([], ["", " "]),
            (["a\nb"], ["a", "b"]),  # one message of two lines prints as two lines
            (["a", "", "b"], ["a\n\nb\n"]),
            (["\0\x1b[0m"], ["\0\x1b[0m"]),
        ],
    )
    def test_equal(self, expected: list[str], actual: list[str]) -> None:
        for reading in READINGS:
            assert judge(expected, actual, reading=reading).passed
            assert judge(actual, expected, reading=reading).passed

    @pytest.mark.parametrize(
        ("expected", "actual", "kind"),
        [
            (["a", "b"], ["a", "c"], "different_line"),
            (["a", "b"], ["a"], "missing_line"),
            (["a", "b", "c"], ["a", "c"], "missing_line"),
            (["a"], ["a", "b"], "extra_line"),
            (["a", "c"], ["a", "b", "c"], "extra_line"),
            (["a", "b"], ["b", "a"], "order"),
            (["a"], [], "missing_line"),
            ([], ["a"], "extra_line"),
            (["", "a"], ["a"], "missing_line"),  # leading empty lines count
            (["a", "", "b"], ["a", "b"], "missing_line"),  # and inner ones
            (["a"], ["A"], "different_line"),
            (["a"], ["a."], "different_line"),
            (["a"], ["a\0"], "different_line"),
            (["1"], ["2"], "different_line"),
            (["a", "a"], ["a"], "missing_line"),
            (["a", "b"], ["a,b"], "different_line"),
        ],
    )
    def test_different(self, expected: list[str], actual: list[str], kind: str) -> None:
        for reading in READINGS:
            outcome = judge(expected, actual, reading=reading)
            assert (outcome.verdict, outcome.mode, outcome.kind) == ("failed", "lines", kind)
            assert not outcome.formatting_only

    @pytest.mark.parametrize(
        ("expected", "actual"),
        [
            ("1.50", "1.5"),
            ("  a", "a"),
            ("a  b", "a b"),
            ("a, b", "a,b"),
            ("15-JAN-24", "2024-01-15"),
            ("a\r", "a"),
        ],
    )
    def test_only_formatting(self, expected: str, actual: str) -> None:
        outcome = judge(["x", expected], ["x", actual])
        assert not outcome.passed
        assert outcome.formatting_only
        assert judge(["x", expected], ["x", actual], reading="normalized").passed

    def test_where_and_what(self) -> None:
        outcome = judge(["a", "total 10"], ["a", "total 11", "b"])
        assert (outcome.expected, outcome.actual) == ("total 10", "total 11")
        assert outcome.detail == "line 2 (2 lines expected, 3 printed)"
        outcome = judge(["a", "b"], ["a"])
        assert (outcome.expected, outcome.actual) == ("b", None)

    def test_call_by_call(self) -> None:
        test = Test(name="t", compare=(Comparison("lines"),))
        outcome = compare(test, printing(["a"], ["b"]), printing(["a", "b"], []), "published")
        assert (outcome.kind, outcome.call, outcome.detail) == (
            "extra_line",
            0,
            "call 1, line 2 (1 line expected, 2 printed)",
        )
        assert compare(test, printing(["a", ""], ["b"]), printing(["a"], ["b"]), "published").passed

    def test_stated_lines_are_those_of_all_calls(self) -> None:
        test = Test(name="t", compare=(Comparison("lines"),), expect=Expectation(lines=("a", "b")))
        assert compare(test, None, printing(["a "], ["b", ""]), "published").passed
        assert compare(test, printing(["x"]), printing(["a", "b"]), "published").passed  # not the reference's
        assert not compare(test, None, printing(["b"], ["a"]), "published").passed
        bag = Test(name="t", compare=(Comparison("lines_bag"),), expect=Expectation(lines=("a", "b")))
        assert compare(bag, None, printing(["b"], ["a"]), "published").passed

    def test_stated_lines_bring_their_rule(self) -> None:
        test = Test(name="t", expect=Expectation(lines=("a",)))
        assert compare(test, None, printing(["a"]), "published").passed
        assert compare(test, None, printing(["b"]), "published").mode == "lines"

    def test_lines_that_are_not_stated_cannot_be_judged(self) -> None:
        test = Test(name="t", compare=(Comparison("lines"),), expect=Expectation(error="P0001"))
        actual = printing(["a"])
        with pytest.raises(UnjudgeableError, match="compares lines but does not state"):
            compare(
                Test(name="t", compare=(Comparison("lines"),), expect=Expectation(rows=())),
                None,
                actual,
                "published",
            )
        assert compare(test, None, actual, "published").kind == "error_expected"

    @pytest.mark.parametrize(
        ("expected", "actual", "passes"),
        [
            ("mean 1.001 of 3", "mean 1.0019 of 3", True),
            ("mean 1.001 of 3", "mean 1.003 of 3", False),
            ("mean 1.001 of 3", "mean 1.001 of 4", False),
            ("mean -0.0005", "mean 0.0005", True),
            ("mean 1.0", "means 1.0", False),
            ("1 2", "1 2 3", False),
            ("on 2024-01-15", "on 2024-01-16", False),
            ("code 007", "code 007.0001", False),
        ],
    )
    def test_tolerance(self, expected: str, actual: str, passes: bool) -> None:
        for mode in ("lines", "lines_bag"):
            for reading in READINGS:
                assert judge([expected], [actual], mode, reading, tolerance=0.001).passed == passes

    def test_a_tolerance_is_for_numbers_not_for_formatting(self) -> None:
        for expected, actual in (("a  1.0", "a 1.0"), ("a, 1", "a,1"), ("15-JAN-2024 1", "2024-01-15 1")):
            assert not judge([expected], [actual], tolerance=0.5).passed
            assert judge([expected], [actual], reading="normalized", tolerance=0.5).passed

    def test_a_tolerance_of_one_does_not_loosen_dates(self) -> None:
        assert not judge(["2024-01-15 10:30:00"], ["2025-01-15 10:30:00"], tolerance=1.0).passed


class TestLinesBag:
    @pytest.mark.parametrize(
        ("expected", "actual"),
        [
            (["a", "b", "a"], ["a", "a", "b"]),
            (["", "a"], ["a", ""]),  # in a bag every empty line may be a trailing one
            (["", "a"], ["a"]),
            (["a\nb"], ["b", "a"]),
        ],
    )
    def test_equal(self, expected: list[str], actual: list[str]) -> None:
        for reading in READINGS:
            assert judge(expected, actual, "lines_bag", reading).passed

    @pytest.mark.parametrize(
        ("expected", "actual", "kind"),
        [
            (["a", "a", "b"], ["a", "b"], "missing_line"),
            (["a", "b"], ["a", "b", "b"], "extra_line"),
            (["a", "a", "b"], ["a", "b", "b"], "different_line"),
            (["1.5"], ["1.51"], "different_line"),
        ],
    )
    def test_different(self, expected: list[str], actual: list[str], kind: str) -> None:
        for reading in READINGS:
            assert judge(expected, actual, "lines_bag", reading).kind == kind

    def test_spelling(self) -> None:
        assert judge(["1.50", "1.5", "2"], ["2", "1.5", "1.500"], "lines_bag", "normalized").passed
        assert judge(["1.50", "1.5", "2"], ["2", "1.5", "1.500"], "lines_bag").formatting_only


def text(value: str | None) -> Cell:
    return None if value is None else ("text", value)


def gold(*rows: Sequence[str | None], width: int | None = None, truncated: bool = False) -> Observation:
    cells = tuple(tuple(map(text, row)) for row in rows)
    columns = ("c",) * (len(cells[0]) if cells else width or 1)
    return Observation(calls=(CallObservation(results=(ResultSet(columns, cells, truncated),)),))


def permuted(
    expected: Observation,
    *lines: str,
    keys: tuple[int, ...] | None = (),
    hidden: int = 0,
    reading: Reading = "published",
    tolerance: float | None = None,
) -> Outcome:
    rule = Comparison("permuted", order_keys=keys, hidden_columns=hidden, tolerance=tolerance)
    test = Test(name="t", gold="SELECT", compare=(rule,))
    return compare(test, expected, printing(lines), reading)


class TestRowsAsLines:
    def test_any_order_where_the_gold_does_not_order(self) -> None:
        expected = gold(("a", "1"), ("b", "2"), ("a", "1"))
        for lines in itertools.permutations(["a,1", "b,2", "a,1"]):
            assert permuted(expected, *lines).passed
        assert permuted(expected, "a,1", "b,2").kind == "row_missing"
        assert permuted(expected, "a,1", "b,2", "b,2").kind == "different_line"
        assert permuted(expected, "a,1", "b,2", "a,1", "a,1").kind == "row_extra"

    def test_one_permutation_for_all_rows(self) -> None:
        expected = gold(("a", "b", "1"), ("b", "a", "2"))
        for order in itertools.permutations(range(3)):
            lines = [",".join(row[column] for column in order) for row in (("a", "b", "1"), ("b", "a", "2"))]
            assert permuted(expected, *lines).passed
            assert permuted(expected, *lines, keys=None).passed
        assert not permuted(expected, "a,b,1", "a,b,2").passed  # a permutation for each row
        assert not permuted(expected, "a,b,1", "2,b,a").passed

    def test_null_is_the_empty_string(self) -> None:
        expected = gold(("a", None, "c"), (None, None, None))
        assert permuted(expected, "a,,c", ",,").passed
        assert not permuted(expected, "a,NULL,c", ",,").passed

    def test_values_with_commas_and_newlines_are_compared_in_whole_lines(self) -> None:
        expected = gold(("Doe, Jane", "two\nlines"), ("x", "y"))
        assert permuted(expected, "Doe, Jane,two", "lines", "x,y").passed
        assert permuted(expected, "two", "lines,Doe, Jane", "y,x").passed
        assert permuted(expected, "Doe, Jane,two\nlines", "x,y").passed
        assert not permuted(expected, "Doe, Jane", "two", "lines", "x,y").passed

    def test_the_text_of_the_engine_counts(self) -> None:
        expected = Observation(
            calls=(
                CallObservation(results=(ResultSet(("a", "b"), ((("numeric", "1.50"), ("bool", "t")),)),)),
            )
        )
        assert permuted(expected, "1.50,t").passed
        assert permuted(expected, "1.5,t").formatting_only
        assert permuted(expected, "1.5, t", reading="normalized").passed
        assert not permuted(expected, "1.50,true", reading="normalized").passed

    def test_trailing_blanks_and_empty_lines(self) -> None:
        expected = gold(("a  ",), ("b",))
        assert permuted(expected, "a", "b", "", " ").passed
        assert permuted(gold(("a",), (None,)), "a", "").passed
        assert permuted(gold(("a",), (None,)), "a").passed  # the same printed text as the line above
        assert permuted(gold((None,), ("a",)), "a", "").passed
        assert not permuted(gold(("a",), ("b",)), "a", "", "b").passed  # an inner empty line is no row
        assert not permuted(gold(("a",), ("b",)), "", "a", "b").passed

    def test_no_rows(self) -> None:
        assert permuted(gold(width=2)).passed
        assert permuted(gold(width=2), "").passed
        assert permuted(gold(width=2), "no rows selected").kind == "row_extra"
        assert permuted(gold(("a",))).kind == "row_missing"

    def test_order_with_every_row_in_its_place(self) -> None:
        expected = gold(("a", "1"), ("b", "1"), ("c", "2"))
        assert permuted(expected, "a,1", "b,1", "c,2", keys=None).passed
        outcome = permuted(expected, "b,1", "a,1", "c,2", keys=None)
        assert (outcome.kind, outcome.expected, outcome.actual) == ("order", "a,1", "b,1")
        assert permuted(gold((None,), ("a",)), "a", keys=None).kind == "different_line"
        assert permuted(gold((None,), ("a",)), "", "a", keys=None).passed
        assert permuted(gold(("a",), (None,)), "a", keys=None).passed

    def test_order_up_to_ties_in_the_key(self) -> None:
        expected = gold(("a", "1"), ("b", "1"), ("c", "2"), ("d", "3"), ("e", "3"))
        for first in (["a,1", "b,1"], ["b,1", "a,1"]):
            for last in (["d,3", "e,3"], ["e,3", "d,3"]):
                assert permuted(expected, *first, "c,2", *last, keys=(1,)).passed
        outcome = permuted(expected, "a,1", "c,2", "b,1", "d,3", "e,3", keys=(1,))
        assert (outcome.kind, outcome.expected, outcome.actual) == ("order", "b,1", "c,2")
        assert outcome.detail == "line 2"
        assert not permuted(expected, "d,3", "e,3", "c,2", "a,1", "b,1", keys=(1,)).passed
        assert not permuted(expected, "a,1", "a,1", "c,2", "d,3", "e,3", keys=(1,)).passed
        assert permuted(expected, "1,b", "1,a", "2,c", "3,e", "3,d", keys=(1,)).passed

    def test_a_key_of_several_columns(self) -> None:
        expected = gold(("a", "1", "x"), ("b", "1", "x"), ("c", "1", "y"))
        assert permuted(expected, "b,1,x", "a,1,x", "c,1,y", keys=(1, 2)).passed
        assert not permuted(expected, "a,1,x", "c,1,y", "b,1,x", keys=(1, 2)).passed
        assert permuted(expected, "a,1,x", "c,1,y", "b,1,x", keys=(1,)).passed

    def test_ties_are_neighbours_only(self) -> None:
        expected = gold(("a", "1"), ("b", "2"), ("c", "1"))
        assert not permuted(expected, "c,1", "b,2", "a,1", keys=(1,)).passed

    def test_nulls_and_spelling_of_the_key(self) -> None:
        number: list[Cell] = [("numeric", "1.0"), ("numeric", "1.00"), None, None]
        rows = tuple((text(name), key) for name, key in zip("abcd", number, strict=True))
        expected = Observation(calls=(CallObservation(results=(ResultSet(("n", "k"), rows),)),))
        assert permuted(expected, "b,1.00", "a,1.0", "d,", "c,", keys=(1,)).passed
        assert not permuted(expected, "a,1.0", "c,", "b,1.00", "d,", keys=(1,)).passed

    def test_hidden_columns_are_not_printed(self) -> None:
        expected = gold(("a", "1"), ("b", "1"), ("c", "2"))
        assert permuted(expected, "b", "a", "c", keys=(1,), hidden=1).passed
        assert not permuted(expected, "c", "a", "b", keys=(1,), hidden=1).passed
        assert not permuted(expected, "a,1", "b,1", "c,2", keys=(1,), hidden=1).passed

    def test_rows_of_several_lines_stay_in_their_tie(self) -> None:
        expected = gold(("a\nb", "1"), ("c", "1"), ("d", "2"))
        assert permuted(expected, "c,1", "a", "b,1", "d,2", keys=(1,)).passed
        assert not permuted(expected, "a", "c,1", "d,2", "b,1", keys=(1,)).passed

    def test_five_columns_are_permuted_and_six_are_not(self) -> None:
        five, six = list("abcde"), list("abcdef")
        assert permuted(gold(five), "e,d,c,b,a").passed
        assert permuted(gold(six), "a,b,c,d,e,f").passed
        assert not permuted(gold(six), "f,e,d,c,b,a").passed
        assert not permuted(gold(six), "a,b,c,d,f,e").passed

    def test_equal_columns(self) -> None:
        assert permuted(gold(list("aaaaa"), list("bbbbb")), "b,b,b,b,b", "a,a,a,a,a").passed
        assert permuted(gold(list("aab"), list("ccd")), "b,a,a", "d,c,c").passed
        assert not permuted(gold(list("aab"), list("ccd")), "b,a,a", "c,c,d").passed

    def test_the_difference_is_shown_in_the_nearest_order_of_columns(self) -> None:
        expected = gold(("a", "1"), ("b", "2"), ("c", "3"))
        outcome = permuted(expected, "1,a", "2,b", "4,c")
        assert (outcome.expected, outcome.actual) == ("3,c", "4,c")
        assert outcome.detail == "columns in the order 2, 1"

    def test_normalized(self) -> None:
        expected = gold(("1.50", "2024-01-15"), ("x", "2"))
        assert permuted(expected, "15-JAN-2024, 1.5", "2.0, x", reading="normalized").passed
        assert not permuted(expected, "15-JAN-2024, 1.5", "2.1, x", reading="normalized").passed
        assert permuted(expected, "15-JAN-2024, 1.5", "2.0, x").formatting_only

    def test_tolerance(self) -> None:
        expected = gold(("a", "1.00"), ("b", "2.00"), ("c", "2.00"))
        assert permuted(expected, "1.01,a", "2.00,c", "1.99,b", tolerance=0.01).passed
        assert permuted(expected, "1.01,a", "2.00,c", "1.99,b", keys=(1,), tolerance=0.01).passed
        assert not permuted(expected, "1.01,a", "2.00,c", "1.99,b", keys=None, tolerance=0.01).passed
        assert not permuted(expected, "1.02,a", "2.00,c", "1.99,b", tolerance=0.01).passed

    def test_lines_of_all_calls_together(self) -> None:
        test = Test(name="t", gold="SELECT", compare=(Comparison("permuted", order_keys=()),))
        assert compare(test, gold(("a",), ("b",)), printing(["b"], [], ["a"]), "published").passed

    def test_stated_rows(self) -> None:
        rule = Comparison("permuted", order_keys=())
        test = Test(name="t", compare=(rule,), expect=Expectation(rows=(("a", 1), (None, 2.5))))
        assert compare(test, None, printing(["2.5,", "1,a"]), "published").passed
        assert not compare(test, None, printing(["2.5,", "1,b"]), "published").passed

    def test_truncated_rows_match_nothing(self) -> None:
        assert permuted(gold(("a",), truncated=True), "a").kind == "truncated"

    def test_what_cannot_be_judged(self) -> None:
        with pytest.raises(UnjudgeableError, match="orders by column 2"):
            permuted(gold(("a", "1")), "a,1", keys=(2,))
        with pytest.raises(UnjudgeableError, match="hides all columns"):
            permuted(gold(("a", "1")), "a,1", hidden=2)
        with pytest.raises(UnjudgeableError, match="one expected result set, not 0"):
            permuted(printing(["a"]), "a")


_VALUE = st.sampled_from([None, "a", "b", "1", "1.0", "x,y", "p\nq", " ", ""])


@given(
    st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[_VALUE] * width), min_size=1, max_size=5)),
    st.randoms(use_true_random=False),
    st.sampled_from(READINGS),
)
def test_rows_printed_in_any_order_of_rows_and_columns_pass(
    rows: list[tuple[str | None, ...]], random: object, reading: Reading
) -> None:
    shuffle = random.shuffle  # type: ignore[attr-defined]
    order, printed = list(range(len(rows[0]))), list(rows)
    shuffle(order)
    shuffle(printed)
    lines = [",".join(row[column] or "" for column in order) for row in printed]
    assert permuted(gold(*rows), *lines, reading=reading).passed
    in_place = [",".join(row[column] or "" for column in order) for row in rows]
    for keys in (None, (0,), tuple(range(len(rows[0])))):
        assert permuted(gold(*rows), *in_place, keys=keys, reading=reading).passed
    assert not permuted(gold(*rows), *lines, "one more", reading=reading).passed
