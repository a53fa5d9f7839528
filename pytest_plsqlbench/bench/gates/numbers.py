"""Numbers in the reasons of verdicts."""

from __future__ import annotations

import math
from fractions import Fraction

Number = Fraction | float


def percent(value: Number, digits: int = 1) -> str:
    """A share in per cent: 0.25 is 25%."""
    text = f"{float(value) * 100:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}%"


def points(value: Number) -> str:
    """A difference of shares in percentage points, with its sign."""
    text = f"{float(value) * 100:+.1f}"
    return text if float(text) else "0.0"


def tasks(number: int) -> str:
    """A number of tasks."""
    return numbered(number, "task")


def numbered(number: int, kind: str) -> str:
    """A number of things."""
    return f"{number} {kind}{'s' * (number != 1)}"


def independent(clusters: int, n: int) -> tuple[str, int]:
    """What more is needed of, and how many there are: more tasks on the same databases show little more."""
    return ("database", clusters) if clusters < n else ("task", n)


def close(value: Number, limit: Number) -> str:
    """A share in per cent, with as many digits as tell it from a limit that it is not."""
    for digits in range(1, 7):
        shown = percent(value, digits)
        if shown != percent(limit, digits) or float(value) == float(limit):
            return shown
    return percent(value, 7)


def tasks_needed(n: int, half: float, gap: float, *, unvaried: bool = False) -> int:
    """How many tasks make an interval narrow enough: its width falls with the square root of their number.

    Args:
        n: tasks now.
        half: distance from the value to the bound that is too far away.
        gap: distance from the value to what the bound must not cross, above 0.
        unvaried: all tasks did the same; the distance is then z²/(n + z²).
    """
    factor = half / (1 - half) * (1 - gap) / gap if unvaried and half < 1 else (half / gap) ** 2
    return max(n + 1, math.ceil(n * factor))
