"""Values: when two typed cells are equal. Every reading maps a cell to a key; equal keys are equal values.

Published (ProcArena's EX, see docs/comparison.md): numbers by value, floats bit for bit, text exactly, NULL
only equals NULL. Normalized keys are a function of what the published key stands for, so whatever is equal as
published is equal when normalized.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal

from pytest_plsqlbench.bench.observation import Cell, Kind
from pytest_plsqlbench.bench.spelling import canonical_line, canonical_number, plain

Reading = Literal["published", "normalized", "strict"]
"""How tolerant a comparison is; ``strict`` compares values as ``published`` does, and more besides."""

Row = tuple[Cell, ...]
Split = tuple[Hashable, tuple[Decimal, ...]]
"""What must be equal exactly, and the finite numbers that may differ by the tolerance."""

_MOMENT = re.compile(
    r"([0-9]{4,6})-([0-9]{2})-([0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r"(?: ?(Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?))?"
)
_MAX_POWER = 200_000
"""Beyond PostgreSQL's and Oracle's numbers: no power of ten that a subtraction would have to write out."""
_USUAL_NUMBER = re.compile(r"(-?[1-9][0-9]*)(?:\.([0-9]*))?")
_NOT_FINITE = {
    "nan": "nan",
    "inf": "inf",
    "+inf": "inf",
    "infinity": "inf",
    "+infinity": "inf",
    "-inf": "-inf",
    "-infinity": "-inf",
}
_MOMENT_KINDS: frozenset[Kind] = frozenset({"date", "timestamp"})
_TRUTH = {"t": True, "true": True, "1": True, "f": False, "false": False, "0": False}


def cell_key(cell: Cell, reading: Reading) -> Hashable:
    """Give the key of a cell: two cells are equal in a reading exactly when their keys are."""
    return None if cell is None else _KEYS[reading][cell[0]](cell[1])


def row_key(row: Row, reading: Reading) -> Hashable:
    """Give the key of a row of cells."""
    keys = _KEYS[reading]
    return tuple([None if cell is None else keys[cell[0]](cell[1]) for cell in row])


def tie_key(cell: Cell, reading: Reading) -> Hashable:
    """Give the key under which a database sorts two cells as equals: as ``cell_key``, but -0.0 is 0.0."""
    key = cell_key(cell, reading)
    return ("float", "0x0.0p+0") if key == ("float", "-0x0.0p+0") else key


def split_cell(cell: Cell, reading: Reading) -> Split:
    """Take a cell apart for a comparison with tolerance; int, numeric and float are all numbers there."""
    if cell is None or cell[0] not in ("int", "numeric", "float"):
        return cell_key(cell, reading), ()
    kind, text = cell
    number = _finite(repr(float(text)) if kind == "float" and _is_float(text) else text)
    if number is None or abs(number.adjusted()) > _MAX_POWER:
        return _number(text), ()
    return "number", (number,)


def split_row(row: Row, reading: Reading) -> Split:
    """Take a row apart for a comparison with tolerance."""
    parts = [split_cell(cell, reading) for cell in row]
    return tuple(key for key, _ in parts), tuple(number for _, numbers in parts for number in numbers)


def stated_cell(value: object) -> Cell:
    """Give the cell that a value stated in a task stands for.

    Raises:
        TypeError: the value is none of the types that a task can state.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "bool", "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return "numeric", repr(value) if isinstance(value, float) else _int_text(value)
    if isinstance(value, str):
        return "text", value
    if isinstance(value, dt.datetime):
        return "text", value.isoformat(" ")
    if isinstance(value, dt.date | dt.time):
        return "text", value.isoformat()
    raise TypeError(f"a stated value must be a number, text, boolean or null, not {type(value).__name__}")


def untyped(stated: Sequence[Row], observed: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Give the forms in which stated and observed rows meet.

    A task states numbers, text and booleans without the database's types: a float counts as the number that
    it is spelled as, and everything that is neither number nor boolean as its text. In a column that holds
    dates or timestamps, stated texts are read as such: midnight may be left out.
    """
    kinds: list[set[Kind]] = [set() for _ in range(max(map(len, observed), default=0))]
    for row in observed:
        for column, cell in enumerate(row):
            if cell is not None:
                kinds[column].add(cell[0])
    moments = {column for column, seen in enumerate(kinds) if seen and seen <= _MOMENT_KINDS}
    return (
        [tuple([_stated(cell, column in moments) for column, cell in enumerate(row)]) for row in stated],
        [tuple([_untyped(cell, column in moments) for column, cell in enumerate(row)]) for row in observed],
    )


def _stated(cell: Cell, moment: bool) -> Cell:  # noqa: FBT001 - private
    return ("timestamp", cell[1]) if moment and cell is not None and cell[0] == "text" else cell


def _untyped(cell: Cell, moment: bool) -> Cell:  # noqa: FBT001 - private
    if cell is None:
        return None
    kind, text = cell
    if moment:
        return "timestamp", text
    if kind == "float":
        return "numeric", repr(float(text)) if _is_float(text) else text
    return cell if kind in ("int", "numeric", "bool", "text") else ("text", text)


def _int_text(value: int | Decimal) -> str:
    # str() refuses integers of more than 4300 digits; Decimal does not.
    return str(Decimal(value))


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _finite(text: str) -> Decimal | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def _number(text: str) -> Hashable:
    """Number by value, written in one form: a text is hashed once, and compared without arithmetic."""
    match = _USUAL_NUMBER.fullmatch(text)
    if match is not None:
        whole, fraction = match[1], (match[2] or "").rstrip("0")
        return "number", f"{whole}.{fraction}" if fraction else whole
    value = canonical_number(text)
    if value is not None:
        return "number", plain(value, _MAX_POWER)
    special = _NOT_FINITE.get(text.lower())
    return ("number", special) if special else ("number?", text)


def _numbers(text: str) -> Hashable:
    """Array of numbers, each by value. It has no quotes, so braces and commas are its structure."""
    return "numbers", tuple([_number(part) for part in re.split(r"([{},])", text)])


def _float(text: str) -> Hashable:
    return ("float", float(text).hex()) if _is_float(text) else ("float?", text)


def _float_as_number(text: str) -> Hashable:
    return _number(repr(float(text))) if _is_float(text) else ("float?", text)


def _bool(text: str) -> Hashable:
    return "bool", _TRUTH.get(text.lower(), text)


def _exact(kind: str) -> Callable[[str], Hashable]:
    return lambda text: (kind, text)


def _moment(kind: str) -> Callable[[str], Hashable]:
    """Date or timestamp without zone: its fields, where they can be read; its text otherwise."""

    def key(text: str) -> Hashable:
        match = _MOMENT.fullmatch(text)
        if match is None or match[8] is not None:
            return kind, text
        year, month, day, hour, minute, second, part = match.groups("")[:7]
        time = (hour or "00", minute or "00", second or "00", part.rstrip("0"))
        return kind, (year.lstrip("0"), month, day, *time)

    return key


def _instant(text: str) -> Hashable:
    """Timestamp with time zone: the instant, whatever zone it is shown in."""
    match = _MOMENT.fullmatch(text)
    if match is None or match[8] is None:
        return "instant", text
    year, month, day, hour, minute, second, part = match.groups("")[:7]
    zone = match[8].replace(":", "")
    offset = dt.timedelta()
    if zone != "Z":
        padded = zone[1:].ljust(6, "0")
        offset = dt.timedelta(hours=int(padded[:2]), minutes=int(padded[2:4]), seconds=int(padded[4:]))
        offset = -offset if zone[0] == "-" else offset
    try:
        local = dt.datetime(  # noqa: DTZ001 - the zone is taken off by hand below
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0)
        )
        return "instant", ((local - offset).isoformat(), part.rstrip("0"))
    except (ValueError, OverflowError):
        return "instant", text


def _json(text: str) -> Hashable:
    """JSON by content: blanks, order of members and spelling of numbers do not count."""
    try:
        parsed = json.loads(
            text,
            parse_float=_JsonNumber,
            parse_int=_JsonNumber,
            object_pairs_hook=lambda pairs: ("object", pairs),
        )
        return "json", _freeze(parsed)
    except (ValueError, RecursionError):
        return "json?", canonical_line(text)


class _JsonNumber:
    def __init__(self, text: str) -> None:
        self.text = text


def _freeze(value: object) -> Hashable:
    if isinstance(value, _JsonNumber):
        return _number(value.text)
    if isinstance(value, tuple):
        members = [(name, _freeze(member)) for name, member in value[1]]
        return "object", tuple(sorted(members, key=lambda member: member[0]))
    if isinstance(value, list):
        return "array", tuple([_freeze(member) for member in value])
    if isinstance(value, str):
        return "string", value
    return "literal", repr(value)


_PUBLISHED: dict[str, Callable[[str], Hashable]] = {
    "int": _number,
    "numeric": _number,
    "float": _float,
    "text": lambda text: text,
    "bool": _bool,
    "date": _moment("date"),
    "timestamp": _moment("timestamp"),
    "timestamptz": _instant,
    "time": _exact("time"),
    "interval": _exact("interval"),
    "bytes": _exact("bytes"),
    "json": _exact("json"),
    "numbers": _numbers,
    "other": _exact("other"),
}
_NORMALIZED = _PUBLISHED | {
    "float": _float_as_number,
    "text": canonical_line,
    "date": _moment("moment"),
    "timestamp": _moment("moment"),
    "json": _json,
    "other": lambda text: ("other", canonical_line(text)),
}
_KEYS = {"published": _PUBLISHED, "strict": _PUBLISHED, "normalized": _NORMALIZED}
