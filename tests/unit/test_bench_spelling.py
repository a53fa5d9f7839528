"""The normalized form of printed text: what it ignores, and what it must not."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.spelling import ZERO, canonical_line, canonical_number, split_numbers


@pytest.mark.parametrize(
    "spellings",
    [
        ["1.5", "1.50", "1.500000", "15E-1", "0.15e1", "1.5e+0"],
        ["0.5", ".5", "0.50", "5e-1"],
        ["1000", "1E3", "1e+3", "1000.00", "10.0e2"],
        ["-2", "-2.0", "-20e-1"],
        ["0", "0.0", "-0", "-0.00", ".0", "0e5"],
        ["a b", "a  b", "a\tb", " a b ", "a \t b  ", "a\u00a0b", "a b\r"],
        ["1,2,3", "1, 2, 3", "1,  2,\t3", " 1, 2,3"],
        ["x,", "x, "],
        [
            "2024-01-15",
            "2024/01/15",
            "2024-1-15",
            "15-JAN-2024",
            "15-Jan-24",
            "15 Jan 2024",
            "15 January 2024",
        ],
        [
            "2024-01-15",
            "January 15, 2024",
            "Jan 15,2024",
            "JAN 15 2024",
            "2024-01-15 00:00:00",
            "2024-01-15 00:00",
        ],
        ["2024-01-15", "2024-01-15T00:00:00.000"],
        ["1960-02-29", "29-FEB-60"],
        ["2024-01-15 10:30:00", "2024-01-15T10:30:00", "15-JAN-2024 10:30:00.000", "2024-01-15 10:30"],
        ["2024-01-15 10:30:00.5", "2024-01-15 10:30:00.500000"],
        ["total: $1.50", "total: $1.5"],
        ["(1.0)", "(1)"],
        ["[-1.0]", "[-1]"],
        ["50.0%", "50%"],
        ["x=-1.0", "x=-1"],
    ],
)
def test_spellings_of_the_same_text(spellings: list[str]) -> None:
    assert len({canonical_line(spelling) for spelling in spellings}) == 1, spellings


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.5", "1.51"),
        ("1", "-1"),
        ("10", "1"),
        ("1e3", "1e4"),
        ("007", "7"),  # a code with leading zeros is no number
        ("01234", "1234"),
        ("00", "0"),
        ("1,000", "1000"),
        ("1.50.3", "1.5.3"),  # a version
        ("10.0.0.1", "10.0.0.10"),
        ("v1.50", "v1.5"),
        ("1.50m", "1.5m"),
        ("a1.0", "a1"),
        ("5.", "5"),
        ("+5", "5"),
        ("1_000", "1000"),
        ("a b", "ab"),
        ("ab", "aB"),
        ("", "0"),
        ("a,b", "a b"),
        ("a ,b", "a,b"),
        ("01/02/2024", "2024-02-01"),  # ambiguous: February or January
        ("01/02/2024", "2024-01-02"),
        ("01/02/2024", "02/01/2024"),
        ("20240115", "2024-01-15"),
        ("2024-01-15", "2024-01-16"),
        ("2024-13-01", "2025-01-01"),
        ("2023-02-29", "2023-03-01"),
        ("2024-01-15 10:30:00", "2024-01-15 10:30:01"),
        ("2024-01-15 10:30:00", "2024-01-15"),
        ("3-4.0", "3--4"),
        ("x-1", "x 1"),
        ("12:30", "12:3"),
        ("Infinity", "inf"),
        ("t", "true"),
        ("é", "e\u0301"),
        ("\u0661", "1"),  # other scripts' digits are text
    ],
)
def test_what_differs_by_more_than_spelling(one: str, other: str) -> None:
    assert canonical_line(one) != canonical_line(other)


def test_huge_numbers_take_linear_time() -> None:
    huge = "1" + "0" * 131_071
    assert canonical_number(huge) == canonical_number("1e131071") == (False, "1", 131_071)
    assert canonical_number("9" * 200_000 + "." + "0" * 200_000) == (False, "9" * 200_000, 0)
    assert canonical_number("1e999999999") == (False, "1", 999_999_999)
    assert canonical_number("1e9999999999") is None  # no number of any engine
    assert canonical_line("1" * 200_000 + ".0") == canonical_line("1" * 200_000)


@pytest.mark.parametrize(
    "text", ["-" * 50_000, "1." * 50_000, "0" * 100_000, "2024-" * 20_000, " ," * 50_000]
)
def test_hostile_lines_take_linear_time(text: str) -> None:
    canonical_line(text)


@pytest.mark.parametrize(
    "text", ["", ".", "-", "e5", "1e", "1.2.3", "0x1", "1 ", " 1", "nan", "1,5", "--1", "1_0", "\u0661"]
)
def test_what_is_no_number(text: str) -> None:
    assert canonical_number(text) is None


def test_zero_has_one_form() -> None:
    assert {canonical_number(text) for text in ("0", "-0", "0.000", ".0", "0e9", "+0", "-0e-5")} == {ZERO}


@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
def test_canonical_numbers_are_equal_as_the_numbers_are(one: Decimal, other: Decimal) -> None:
    assert (canonical_number(str(one)) == canonical_number(str(other))) == (one == other)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**6), max_value=10**6))
def test_trailing_zeros_of_a_number_in_a_line_do_not_count(number: Decimal) -> None:
    text = format(number, "f")
    assert canonical_line(f"a,{text},b") == canonical_line(f"a, {text}000, b")


@given(st.text(), st.text(alphabet=" \t", max_size=3))
def test_trailing_blanks_never_count(text: str, blanks: str) -> None:
    assert canonical_line(text + blanks) == canonical_line(text)


def test_numbers_are_taken_out_and_dates_are_not() -> None:
    between, numbers = split_numbers("on 2024-01-15 paid -1.50 of 20, id 007  ", normalized=False)
    assert numbers == (Decimal("-1.50"), Decimal(20))
    assert between == ("on 2024-01-15 paid ", " of ", ", id 007")
    assert split_numbers("on 15-JAN-2024 paid  -1.5 of 20.0,  id 007", normalized=True) == (
        ("on 2024-01-15 paid ", " of ", ",id 007"),
        (Decimal("-1.5"), Decimal(20)),
    )
    assert split_numbers("", normalized=False) == (("",), ())
    assert split_numbers("5 \0", normalized=False) != split_numbers("\0 5", normalized=False)


@given(st.text(alphabet="a1.- ,\0"), st.booleans())
def test_nothing_is_lost_with_the_numbers(line: str, normalized: bool) -> None:
    between, numbers = split_numbers(line, normalized=normalized)
    assert len(between) == len(numbers) + 1
    if not normalized:
        spelled = [number for number in re.findall(r"[0-9]*\.?[0-9]+", line) if number]
        assert len(numbers) <= len(spelled)
        rest = line.rstrip()
        for text in between:
            assert text in rest
            rest = rest[rest.index(text) + len(text) :]
