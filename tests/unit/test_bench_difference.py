"""Differences as people read them: short, and with nothing invisible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.difference import (
    WIDTH,
    escape,
    show_cell,
    show_cells,
    show_lines,
    show_row,
    show_rows,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("a\tb\n", "a\\tb\\n"),
        ("\x00\x1b[31m", "\\x00\\x1b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("a\u00a0b", "a\\xa0b"),
        ("back\\slash", "back\\\\slash"),
        ("\U000e0001", "\\U000e0001"),
        ("\ud800", "\\ud800"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert escape(text) == shown


@given(st.text(), st.text())
def test_escapes_tell_all_texts_apart(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)
    assert escape(one).isprintable()


@pytest.mark.parametrize(
    ("expected", "actual", "shown"),
    [
        ("a", "b", ("a", "b")),
        ("a ", "a", ('"a "', '"a"')),
        ("a  b", "a b", ('"a  b"', '"a b"')),
        ("", "a", ('""', '"a"')),
        ("a\tb", "a b", ('"a\\tb"', '"a b"')),
        (None, "a", (None, "a")),
        ("a", None, ("a", None)),
        (None, "", (None, '""')),
        (None, None, (None, None)),
    ],
)
def test_lines(expected: str | None, actual: str | None, shown: tuple[str | None, str | None]) -> None:
    assert show_lines(expected, actual) == shown


def test_long_lines_are_cut_around_the_first_difference() -> None:
    left, right = show_lines("x" * 500 + "A" + "y" * 500, "x" * 500 + "B" + "y" * 500)
    assert left is not None
    assert right is not None
    assert "xAy" in left
    assert "xBy" in right
    assert left.startswith("…")
    assert left.endswith("…")
    assert len(left) == WIDTH + 2
    left, right = show_lines("x" * 500, "x" * 499)
    assert left is not None
    assert left.endswith("x")
    left, right = show_lines("A" + "x" * 500, "B")
    assert (left, right) == ("A" + "x" * (WIDTH - 1) + "…", "B")


@given(st.text(alphabet="ab", max_size=600), st.text(alphabet="ab", max_size=600))
def test_different_lines_are_shown_differently(one: str, other: str) -> None:
    left, right = show_lines(one, other)
    assert (left == right) == (one == other)


def test_cells_and_rows() -> None:
    assert show_cell(None) == "NULL"
    assert show_cell(("int", "1")) == "1"
    assert show_cell(("text", "NULL")) == "'NULL'"
    assert (
        show_row((None, ("numeric", "1.50"), ("text", "a\nb"), ("bool", "t"))) == "(NULL, 1.50, 'a\\nb', t)"
    )
    assert show_row(()) == "()"
    assert len(show_row((("text", "x" * 10_000_000),) * 1000)) < 3 * WIDTH
    assert show_row((("int", "1"),) * 60).endswith("1, …)")
    assert show_cells(None, ("text", "")) == ("NULL", "''")
    assert show_cells(("text", "1"), ("int", "1")) == ("'1'::text", "1::int")
    assert show_cells(("text", "a"), ("text", "b")) == ("'a'", "'b'")


def test_rows_that_look_alike_show_the_column_that_differs() -> None:
    long = "x" * 300
    one, other = (("int", "1"), ("text", long + "A")), (("int", "1"), ("text", long + "B"))
    left, right = show_rows(one, other, 1)  # type: ignore[arg-type]
    assert left is not None
    assert right is not None
    assert left.startswith("column 2: '…")
    assert left.endswith("A'")
    assert right.endswith("B'")
    assert show_rows((("int", "1"),), None, 0) == ("(1)", None)
