"""Numbers in the reasons of verdicts: rounded for people, never so that they contradict the verdict.

A number is shown with as many decimals as it takes to lie on the same side of whatever it was held against as
the number itself. Lower bounds are rounded down and upper bounds up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import count

from pytest_plsqlbench.bench.plural import numbered

Number = Fraction | float
MOST_DIGITS = 40
"""Decimals of what can be told from a limit by no fewer: limits have at most 30 digits."""


def percent(value: Number, *limits: Number) -> str:
    """A share in per cent, to the nearest tenth: 0.25 is 25%.

    Args:
        value: the share.
        limits: what it was held against, beside 0 and 1: what is not quite all is never shown as 100%.
    """
    return _trimmed(value, round, (0, 1, *limits))


def lower(value: Number, *limits: Number) -> str:
    """The lower bound of a share in per cent: not above the true one, as it stands to each limit."""
    return _trimmed(value, math.floor, limits)


def upper(value: Number, *limits: Number) -> str:
    """The upper bound of a share in per cent: not below the true one, as it stands to each limit."""
    return _trimmed(value, math.ceil, limits)


def points(value: Number, *limits: Number) -> str:
    """A difference of shares in percentage points, with its sign; none that there is is shown as 0.0."""
    return _signed(value, round, (0, *limits))


def at_least(value: float) -> str:
    """A difference in percentage points that another one must reach: rounded up."""
    return _signed(round(value, 6), math.ceil, (0,))  # bounds have six digits, what follows is noise


def written(value: Fraction) -> str:
    """A number that was given, with all its decimals."""
    return _decimal(value, round, (value,))


def points_between(low: Number, high: Number, *limits: Number) -> str:
    """The interval of a difference, as ``point_bounds`` has its ends."""
    return f"[{', '.join(point_bounds(low, high, *limits))}]"


def point_bounds(low: Number, high: Number, *limits: Number) -> tuple[str, str]:
    """The ends of the interval of a difference in percentage points: not narrower than the true one.

    Args:
        low: its lower bound.
        high: its upper bound.
        limits: what the bounds were held against, beside 0.
    """
    return _signed(low, math.floor, (0, *limits)), _signed(high, math.ceil, (0, *limits))


def chance(value: float, limit: Number) -> str:
    """A probability, rounded up to two digits that count, or to as many as it takes to stand to the limit."""
    if value <= 0:
        return "0"
    leading = max(-math.floor(math.log10(value)), 0) + 1
    text = _decimal(exact(value), math.ceil, (exact(limit),), fewest=leading)
    return text.rstrip("0").rstrip(".")


def tasks(number: int) -> str:
    """A number of tasks."""
    return numbered(number, "task")


def independent(clusters: int, n: int) -> tuple[str, int]:
    """What more is needed of, and how many there are: more tasks on the same databases show little more."""
    return ("database", clusters) if clusters < n else ("task", n)


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


def exact(value: Number) -> Fraction:
    """The number as it is written: of a float its shortest decimals, as gates compare it."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


def _trimmed(value: Number, rounding: Callable[[Fraction], int], limits: tuple[Number, ...]) -> str:
    text = _decimal(exact(value) * 100, rounding, tuple(exact(limit) * 100 for limit in limits))
    return f"{text.rstrip('0').rstrip('.')}%"


def _signed(value: Number, rounding: Callable[[Fraction], int], limits: tuple[Number, ...]) -> str:
    text = _decimal(exact(value) * 100, rounding, tuple(exact(limit) * 100 for limit in limits))
    return f"+{text}" if value > 0 and float(text) else text


def _decimal(
    value: Fraction,
    rounding: Callable[[Fraction], int],
    limits: tuple[Fraction, ...],
    *,
    fewest: int = 1,
) -> str:
    """The number with the fewest decimals that keep it on its side of each limit."""
    for digits in count(fewest):
        scale = 10**digits
        scaled = rounding(value * scale)
        shown = Fraction(scaled, scale)
        if digits >= MOST_DIGITS or all(_side(shown, limit) == _side(value, limit) for limit in limits):
            break
    whole, rest = divmod(abs(scaled), scale)
    return f"{'-' * (scaled < 0)}{whole}.{rest:0{digits}d}"


def _side(value: Fraction, limit: Fraction) -> int:
    return (value > limit) - (value < limit)
