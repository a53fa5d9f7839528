"""YAML as task files and database descriptions use it."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.datasets.yamlfile import parse_yaml

FILE = Path("some/file.yaml")


def load(text: str | bytes, *, typed: bool = True) -> Any:
    content = text.encode() if isinstance(text, str) else text
    return parse_yaml(content, FILE, typed=typed).data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("Y", "Y"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("Null", None),
        ("none", "none"),
        ("12:30", "12:30"),
        ("12:30:45", "12:30:45"),
        ("2024-02-29", "2024-02-29"),
        ("2024-02-29 10:00:00", "2024-02-29 10:00:00"),
        ("007", "007"),
        ("00000", "00000"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("0", 0),
        ("-0", 0),
        ("+5", 5),
        ("-17", -17),
        ("12345678901234567890123", 12345678901234567890123),
        ("2.50", 2.5),
        ("-0.0", -0.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        (".", "."),
        ("-", None),
        ("1e", "1e"),
        ("2201E", "2201E"),
        (".inf", ".inf"),
        ("=", "="),
        ("<<", "<<"),
        ("'null'", "null"),
        ('"5"', "5"),
    ],
)
def test_plain_scalars_are_what_the_core_schema_says(text: str, value: object) -> None:
    if text == "-":
        assert load("a:\n  -") == {"a": [None]}
        return
    found = load(f"a: {text}")["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["1234567890.12345678901", "0.1000000000000000055511151231257827", "1e400", "9007199254740993.0"]
)
def test_numbers_that_a_float_cannot_hold_stay_exact(text: str) -> None:
    found = load(f"a: {text}")["a"]
    assert found == Decimal(text)
    assert isinstance(found, Decimal)


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_every_decimal_number_keeps_its_value(number: Decimal) -> None:
    text = format(number, "f")
    found = load(f"a: {text}")["a"]
    assert Decimal(repr(found) if isinstance(found, float) else found) == number


def test_untyped_reading_keeps_every_spelling_but_null() -> None:
    text = "a: [1, 2.50, true, 007, 2024-02-29, null, ~, 'null', '']"
    assert load(text, typed=False) == {
        "a": ["1", "2.50", "true", "007", "2024-02-29", None, None, "null", ""]
    }


def test_byte_order_mark_and_windows_line_ends_do_not_count() -> None:
    assert load(b"\xef\xbb\xbfa: |\r\n  x\r\n  y\r\n") == {"a": "x\ny\n"}


def test_aliases_stand_for_their_anchor() -> None:
    assert load("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


def test_characters_outside_the_basic_plane() -> None:
    assert load("a: 📚") == {"a": "📚"}


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: 2\na: 3", 3, "the key 'a' stands here twice"),
        ("a:\n  b: {x: 1, x: 2}", 2, "the key 'x' stands here twice"),
        ("a:\n\tb: 1", 2, "a tab cannot indent YAML"),
        ("a: x\nb: \x01", 2, "control character (U+0001)"),
        ("a: [1,\nb", 3, "is not valid YAML"),
        ("a: 'x\n", 2, "unexpected end of stream"),
        ("a: b: c", 1, "mapping values are not allowed"),
        ("a: 1\n---\nb: 2", 2, "a second document begins here"),
        ("a: !!python/object:os.system x", 1, "tags (!…) are not used"),
        ("a: !mine x", 1, "tags (!…) are not used"),
        ("{a: 1}: 2", 1, "keys are text"),
        ("~: 2", 1, "keys are text"),
        ("x: *nowhere", 1, "is not valid YAML"),
        ("[" * 20_000, 1, "nesting"),
        ("- " * 20_000, 1, "nesting"),
        (b"a: 1\nb: \xff\xff", 2, "is not UTF-8 (byte 0xff)"),
        (b"\xff\xfea\x00", 1, "is UTF-16"),
    ],
)
def test_faults_are_one_line_with_file_and_line(
    text: str | bytes, line: int, words: str, typed: bool
) -> None:
    with pytest.raises(UserError) as caught:
        load(text, typed=typed)
    message = str(caught.value)
    assert message.startswith(f"some/file.yaml:{line}: ")
    assert words in message
    assert "\n" not in message


@pytest.mark.parametrize("text", ["a: !!int x", "a: !!float x", f"a: {'9' * 5000}", "a: !!timestamp x"])
def test_values_that_cannot_be_built_are_faults(text: str) -> None:
    with pytest.raises(UserError, match=r"some/file\.yaml"):
        load(text)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        load(text)
    except UserError as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_every_value_has_its_line() -> None:
    document = parse_yaml(b"a: 1\nb:\n  - x\n  - c: 2\n    d:\n      - 5\n", FILE)
    assert document.line(()) == 1
    assert document.line(("a",)) == 1
    assert document.line(("b",)) == 2
    assert document.line(("b", 1)) == 4
    assert document.line(("b", 1, "d")) == 5
    assert document.line(("b", 1, "d", 0)) == 6
    assert document.line(("b", 1, "nothing", 3)) == 4


def test_loaders_of_others_are_left_alone() -> None:
    assert yaml.load("a: no\nb: 12:30", yaml.CSafeLoader) == {"a": False, "b": 750}
