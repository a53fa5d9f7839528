"""Nouns that go with a number."""

from __future__ import annotations


def numbered(number: int, singular: str, plural: str = "") -> str:
    """A number of things: "1 turn", "2 turns"."""
    return f"{number} {noun(number, singular, plural)}"


def grouped(number: int, singular: str, plural: str = "") -> str:
    """A number of things, with its thousands apart: "2,594 turns"."""
    return f"{number:,} {noun(number, singular, plural)}"


def noun(number: int, singular: str, plural: str = "") -> str:
    """The form that goes with a number.

    Args:
        number: of things.
        singular: for one of them; also a verb.
        plural: for any other number; by default with an s.
    """
    return singular if number == 1 else plural or f"{singular}s"
