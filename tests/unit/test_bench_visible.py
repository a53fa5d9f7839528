"""Nothing that people are shown holds characters they cannot see, or that move a cursor."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.visible import escape, visible

_ANY = st.text(st.characters(codec=None))
_HIDDEN = "\x00\x07\x08\x0b\x1b\x7f\x85\x9b\x9d\u200b\u200e\u2028\u202e\u2066\ufeff\ufffe\ud800\U000e0041"


@given(_ANY)
def test_nothing_unprintable_is_left_but_what_is_kept(text: str) -> None:
    assert {char for char in visible(text) if not char.isprintable()} <= {"\n"}
    assert visible(text, keep="").isprintable()
    assert escape(text).isprintable()
    visible(text).encode("utf-8")


@given(_ANY, _ANY)
def test_one_line_escapes_tell_texts_apart(one: str, two: str) -> None:
    assert (escape(one) == escape(two)) == (one == two)


@given(st.text(st.characters(exclude_categories=["C", "Z"])))
def test_printable_text_is_not_touched(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("char", _HIDDEN)
def test_hidden_characters_are_named(char: str) -> None:
    shown = visible(f"a{char}b")
    assert shown[0] + shown[-1] == "ab"
    assert f"{ord(char):x}" in shown


def test_newlines_stay_where_they_are_meant() -> None:
    assert visible("a\n\tb\\n\r\x1b[31m") == "a\n\\tb\\n\\r\\x1b[31m"
    assert visible("a\n\tb", keep="\n\t") == "a\n\tb"
    assert visible("a\nb", keep="") == "a\\nb"
