"""What was read from texts, kept for who asks again: several stages of a turn read the same ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, update_wrapper
from typing import TypeVar

SHORT = 8_192
"""Characters up to which a text counts as short."""

_T = TypeVar("_T")


def remember(*, short: int, long: int) -> Callable[[Callable[[str], _T]], Callable[[str], _T]]:
    """Keep what a function made of the texts that it was given last; so much, and never more.

    Short texts are many, and small however many they are; of long ones, which may have megabytes, a few. What
    is kept must not be changed by anybody.

    Args:
        short: of how many short texts (``SHORT``).
        long: of how many others.
    """

    def decorate(read: Callable[[str], _T]) -> Callable[[str], _T]:
        of_short, of_long = lru_cache(short)(read), lru_cache(long)(read)

        def remembered(text: str) -> _T:
            return (of_short if len(text) <= SHORT else of_long)(text)

        update_wrapper(remembered, read)
        return remembered

    return decorate
