"""Differences: how a value, row or line is shown to people, short and with nothing invisible in it."""

from __future__ import annotations

from pytest_plsqlbench.bench.observation import Cell, Kind
from pytest_plsqlbench.bench.values import Row
from pytest_plsqlbench.bench.visible import escape as escape  # noqa: PLC0414 (others have it from here)

WIDTH = 120
"""Characters shown of a text; the rest is cut around the first difference."""

_BARE = ("int", "numeric", "float", "bool")


def show_cell(cell: Cell) -> str:
    """Show a cell: NULL, numbers bare, everything else in quotes."""
    if cell is None:
        return "NULL"
    return _value(cell[0], _clip(cell[1], 0))


def show_row(row: Row) -> str:
    """Show a row in parentheses, cut where it is too long."""
    shown = ", ".join(show_cell(cell) for cell in row[:50])
    shown = f"({shown}{', …' if len(row) > 50 else ''})"
    return shown if len(shown) <= 2 * WIDTH else shown[: 2 * WIDTH] + "…"


def show_lines(expected: str | None, actual: str | None) -> tuple[str | None, str | None]:
    """Show two lines, both cut around the first place where they differ; in quotes where blanks matter."""
    if expected is None or actual is None:
        one = expected if actual is None else actual
        shown = None if one is None else _line(_clip(one, 0), quoted=_needs_quotes(one))
        return (shown, None) if actual is None else (None, shown)
    at = _first_difference(expected, actual)
    quoted = (
        _needs_quotes(expected)
        or _needs_quotes(actual)
        or "".join(expected.split()) == "".join(actual.split())
    )
    return _line(_clip(expected, at), quoted=quoted), _line(_clip(actual, at), quoted=quoted)


def show_rows(expected: Row | None, actual: Row | None, column: int) -> tuple[str | None, str | None]:
    """Show two rows that differ in a column (from 0); only that column where the rows look alike."""
    left, right = (None if row is None else show_row(row) for row in (expected, actual))
    if left == right and expected and actual:
        left, right = show_cells(expected[column], actual[column])
        return f"column {column + 1}: {left}", f"column {column + 1}: {right}"
    return left, right


def show_cells(expected: Cell, actual: Cell) -> tuple[str, str]:
    """Show two cells; long ones around their first difference, with types where they would look alike."""
    if expected is None or actual is None:
        return show_cell(expected), show_cell(actual)
    at = _first_difference(expected[1], actual[1])
    left, right = (_value(cell[0], _clip(cell[1], at)) for cell in (expected, actual))
    if left == right or expected[0] != actual[0]:
        return f"{left}::{expected[0]}", f"{right}::{actual[0]}"
    return left, right


def _value(kind: Kind, text: str) -> str:
    return escape(text) if kind in _BARE else f"'{escape(text)}'"


def _needs_quotes(text: str) -> bool:
    return not text or text != text.strip()


def _line(text: str, *, quoted: bool) -> str:
    return f'"{escape(text)}"' if quoted else escape(text)


def _first_difference(expected: str, actual: str) -> int:
    shorter = min(len(expected), len(actual))
    if expected[:shorter] == actual[:shorter]:
        return shorter
    low, high = 0, shorter
    while high - low > 1:
        middle = (low + high) // 2
        if expected[low:middle] == actual[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _clip(text: str, at: int) -> str:
    if len(text) <= WIDTH:
        return text
    start = max(0, min(at - WIDTH // 2, len(text) - WIDTH))
    end = start + WIDTH
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
