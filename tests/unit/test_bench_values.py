"""When typed cells are equal."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.observation import Cell, Kind
from pytest_plsqlbench.bench.values import (
    Reading,
    cell_key,
    row_key,
    split_cell,
    split_row,
    stated_cell,
    tie_key,
    untyped,
)

HUGE = "1" + "0" * 131_071


READINGS: tuple[Reading, ...] = ("published", "normalized", "strict")


def same(one: Cell, other: Cell, reading: Reading = "published") -> bool:
    return cell_key(one, reading) == cell_key(other, reading)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("numeric", "11.4"), ("numeric", "11.4000")),
        (("numeric", "5"), ("int", "5")),
        (("numeric", "5.00"), ("int", "5")),
        (("numeric", "-0"), ("numeric", "0.0")),
        (("numeric", "NaN"), ("numeric", "NaN")),
        (("numeric", "Infinity"), ("numeric", "Infinity")),
        (("numeric", HUGE), ("numeric", HUGE + ".0")),
        (("float", "0.1"), ("float", "1e-1")),
        (("float", "1e+20"), ("float", "100000000000000000000")),
        (("float", "NaN"), ("float", "NaN")),
        (("float", "-Infinity"), ("float", "-Infinity")),
        (("text", "a\0b"), ("text", "a\0b")),
        (("bool", "t"), ("bool", "true")),
        (("date", "2024-01-15"), ("date", "2024-01-15")),
        (("timestamp", "2024-01-15 10:00:00.50"), ("timestamp", "2024-01-15 10:00:00.5")),
        (("timestamptz", "2024-01-15 10:00:00+00"), ("timestamptz", "2024-01-15 12:30:00+02:30")),
        (("timestamptz", "2024-01-15 10:00:00.5+00"), ("timestamptz", "2024-01-15T10:00:00.500Z")),
        (("timestamp", "infinity"), ("timestamp", "infinity")),
        (("numbers", "{1.50,NULL,3}"), ("numbers", "{1.5,NULL,3.00}")),
        (("numbers", "{{1},{2.0}}"), ("numbers", "{{1},{2}}")),
        (None, None),
    ],
)
def test_equal_as_published(one: Cell, other: Cell) -> None:
    assert same(one, other)
    assert same(one, other, "strict")
    assert same(one, other, "normalized")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, ("int", "0")),
        (None, ("text", "")),
        (None, ("bool", "f")),
        (None, ("text", "NULL")),
        (("int", "1"), ("bool", "t")),
        (("int", "1"), ("text", "1")),
        (("int", "1"), ("int", "2")),
        (("numeric", "1.50"), ("numeric", "1.51")),
        (("numeric", "0.1"), ("numeric", "0.10000000000000000555")),
        (("numeric", HUGE), ("numeric", HUGE[:-1] + "1")),
        (("numeric", "NaN"), ("numeric", "0")),
        (("numeric", "Infinity"), ("numeric", "-Infinity")),
        (("float", "0.1"), ("float", "0.10000000000000002")),
        (("text", "a"), ("text", "A")),
        (("text", "a"), ("text", "b")),
        (("text", "1,000"), ("text", "1000")),
        (("bool", "t"), ("bool", "f")),
        (("bool", "t"), ("text", "t")),
        (("date", "2024-01-15"), ("date", "2024-01-16")),
        (("date", "2024-01-15"), ("text", "2024-01-15")),
        (("date", "0044-03-15"), ("date", "0044-03-15 BC")),
        (("timestamp", "2024-01-15 10:00:00"), ("timestamptz", "2024-01-15 10:00:00+00")),
        (("timestamptz", "2024-01-15 10:00:00+00"), ("timestamptz", "2024-01-15 10:00:00+01")),
        (("timestamptz", "2024-01-15 10:00:00+02"), ("timestamptz", "2024-01-15 10:00:00-02")),
        (("timestamp", "2024-01-15 10:00:00.5"), ("timestamp", "2024-01-15 10:00:00.05")),
        (("interval", "1 mon"), ("interval", "30 days")),
        (("bytes", "\\x00"), ("bytes", "\\x0000")),
        (("numbers", "{1,2}"), ("numbers", "{2,1}")),
        (("numbers", "{12}"), ("numbers", "{1,2}")),
        (("numbers", "{{1},{2}}"), ("numbers", "{1,2}")),
        (("numbers", "{NULL}"), ("numbers", "{0}")),
        (("json", '{"a": [1, 2]}'), ("json", '{"a": [2, 1]}')),
        (("json", '{"a": "1"}'), ("json", '{"a": 1}')),
        (("json", '{"a": true}'), ("json", '{"a": "True"}')),
        (("json", '{"a": null}'), ("json", "{}")),
        (("json", '{"a": 1, "a": 2}'), ("json", '{"a": 2}')),
        (("json", '["a"]'), ("json", '{"a": "a"}')),
    ],
)
def test_never_equal(one: Cell, other: Cell) -> None:
    assert not same(one, other)
    assert not same(one, other, "normalized")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("float", "2"), ("numeric", "2.00")),
        (("float", "0.1"), ("numeric", "0.1")),
        (("float", "0"), ("float", "-0")),
        (("float", "NaN"), ("numeric", "NaN")),
        (("float", "1e+20"), ("int", "100000000000000000000")),
        (("text", "abc       "), ("text", "abc")),
        (("text", "1.50"), ("text", "1.5")),
        (("text", "15-JAN-2024"), ("text", "2024-01-15")),
        (("date", "2024-01-15"), ("timestamp", "2024-01-15 00:00:00")),
        (("json", '{"a" : 1, "b": 2.50}'), ("json", '{"b": 2.5, "a": 1}')),
        (("json", "[1,  2]"), ("json", "[1,2]")),
        (("json", "{broken  }"), ("json", "{broken }")),
        (("other", "(1.50,abc)"), ("other", "(1.5,abc)")),
    ],
)
def test_equal_only_when_normalized(one: Cell, other: Cell) -> None:
    assert not same(one, other)
    assert same(one, other, "normalized")


@pytest.mark.parametrize(
    "text",
    [
        "1." + "0" * 100_000 + "1",
        "-" + HUGE + "." + "0" * 100_000,
        "0." + "0" * 100_000 + "10",
        "1e" + "0" * 99,
    ],
)
def test_long_numbers_take_linear_time(text: str) -> None:
    kinds: list[Kind] = ["int", "numeric", "float", "numbers", "text"]
    for reading in READINGS:
        for kind in kinds:
            assert same((kind, text), (kind, text), reading)


@pytest.mark.parametrize("depth", [500, 200_000])
def test_deep_json_does_not_break_the_comparison(depth: int) -> None:
    deep: Cell = ("json", "[" * depth + "]" * depth)
    assert same(deep, deep, "normalized")
    assert not same(deep, ("json", "[]"), "normalized")


def test_sort_keys_tie_where_the_database_sees_equals() -> None:
    assert tie_key(("float", "-0"), "published") == tie_key(("float", "0"), "published")
    assert tie_key(("numeric", "1.0"), "published") == tie_key(("int", "1"), "published")
    assert tie_key(None, "published") != tie_key(("int", "0"), "published")


_TEXTS = st.sampled_from(
    [
        *["", " ", "0", "-0", "1", "1.0", "1.50", "1.5", "+1", "1e0", "01", "1.", ".5", "0.5", "NaN", "nan"],
        *["Infinity", "t", "true", "f", "a", "a ", "A", "NULL", "\0", "\n", "2024-01-15", "15-JAN-2024"],
        *["2024-01-15 00:00:00", "2024-01-15 00:00:00+00", "{}", "{1}", "{1.0}", "[1]", "[1.0]"],
        *['{"a":1}', '{"a": 1.0}'],
    ]
)
CELLS: st.SearchStrategy[Cell] = st.none() | st.tuples(
    st.sampled_from(get_args(Kind)), _TEXTS | st.text(max_size=6)
)


@given(CELLS, CELLS)
def test_what_is_equal_as_published_is_equal_when_normalized(one: Cell, other: Cell) -> None:
    if same(one, other):
        assert same(one, other, "normalized")
        assert tie_key(one, "published") == tie_key(other, "published")
    if same(one, other, "normalized"):
        assert tie_key(one, "normalized") == tie_key(other, "normalized")
    if tie_key(one, "published") == tie_key(other, "published"):
        assert tie_key(one, "normalized") == tie_key(other, "normalized")


@given(CELLS, CELLS)
def test_only_null_equals_null(one: Cell, other: Cell) -> None:
    for reading in READINGS:
        assert same(one, one, reading)
        if (one is None) != (other is None):
            assert not same(one, other, reading)


@given(CELLS, CELLS)
def test_with_tolerance_what_is_equal_as_published_stays_together(one: Cell, other: Cell) -> None:
    """The same structure, and numbers that differ by nothing."""
    if same(one, other):
        left, right = split_cell(one, "published"), split_cell(other, "published")
        assert left[0] == right[0]
        assert left[1] == right[1]


@given(st.lists(CELLS, max_size=3), st.lists(CELLS, max_size=3))
def test_rows_are_equal_when_all_their_cells_are(one: list[Cell], other: list[Cell]) -> None:
    expected = len(one) == len(other) and all(map(same, one, other))
    assert (row_key(tuple(one), "published") == row_key(tuple(other), "published")) == expected
    if expected:
        assert split_row(tuple(one), "published")[0] == split_row(tuple(other), "published")[0]


def test_stated_values_meet_every_number_type_but_not_text() -> None:
    stated = [tuple(map(stated_cell, (1.5, 1.5, 3, 3, "x", True, None, "1.5")))]
    observed: list[tuple[Cell, ...]] = [
        (
            ("numeric", "1.50"),
            ("float", "1.5"),
            ("int", "3"),
            ("float", "3"),
            ("text", "x"),
            ("bool", "t"),
            None,
            ("text", "1.5"),
        )
    ]
    wanted, found = untyped(stated, observed)
    assert row_key(wanted[0], "published") == row_key(found[0], "published")


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (1, ("text", "1")),
        ("1", ("int", "1")),
        (1, ("bool", "t")),
        (True, ("int", "1")),
        (0, None),
        ("", None),
        (None, ("text", "")),
        (0.1, ("float", "0.10000000000000002")),
        ("2024-01-15", ("date", "2024-01-16")),
        ("2024-01-15", ("text", "2024-01-15 00:00:00")),
        ("2024-01-15", ("timestamp", "2024-01-15 00:00:01")),
    ],
)
def test_stated_values_that_differ(value: object, cell: Cell) -> None:
    wanted, found = untyped([(stated_cell(value),)], [(cell,)])
    assert row_key(wanted[0], "published") != row_key(found[0], "published")


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("2024-01-15", ("timestamp", "2024-01-15 00:00:00")),  # an Oracle DATE
        ("2024-01-15 00:00:00", ("date", "2024-01-15")),
        ("2024-01-15 10:00", ("timestamp", "2024-01-15 10:00:00")),
        ("{1,2}", ("numbers", "{1,2}")),
        ("a-uuid", ("other", "a-uuid")),
        (1e20, ("numeric", "100000000000000000000")),
    ],
)
def test_stated_values_without_the_types_of_the_database(value: object, cell: Cell) -> None:
    wanted, found = untyped([(stated_cell(value),)], [(cell,)])
    assert row_key(wanted[0], "published") == row_key(found[0], "published")


def test_a_stated_value_is_a_plain_value() -> None:
    with pytest.raises(TypeError, match="not list"):
        stated_cell([1])


def test_a_stated_integer_may_be_long() -> None:
    assert stated_cell(10**5000) == ("numeric", "1" + "0" * 5000)
