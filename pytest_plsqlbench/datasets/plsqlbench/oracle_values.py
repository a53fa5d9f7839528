"""Values of Oracle columns: from what a row gives to the text that is stored, and to SQL literals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Context, Decimal, InvalidOperation

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import OracleType

Given = str | Decimal | datetime | None
"""A value as a row gives it: text, a number, a moment, or NULL."""

_NUMBER_DIGITS = 38
"""Digits that a NUMBER surely keeps."""
_EXACT = Context(prec=2 * 126 + _NUMBER_DIGITS)
"""Decimal's default context would round what it computes."""
_LITERAL_BYTES = 4000
"""Longest text literal of Oracle, in bytes, with standard string size."""
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


class MisfitError(ValueError):
    """A value that its column does not take; the message is the reason."""


def converter(kind: OracleType, dialect: Dialect, *, required: bool = False) -> Callable[[Given], str | None]:
    """What turns a given value into the text that the column stores; None is NULL, as '' is to Oracle.

    Numbers are written plainly, moments as ``YYYY-MM-DD HH:MM:SS[.ffffff]``, dates without their time where
    it is midnight. In PostgreSQL, CHAR values are kept without trailing blanks, and a DATE has no time.

    Raises (when called):
        MisfitError: the column does not take the value, would change it, or is ``required`` and gets NULL.
    """
    store = _of_family(kind, dialect)
    return _required(store) if required else store


def _required(store: Callable[[Given], str | None]) -> Callable[[Given], str]:
    def convert(value: Given) -> str:
        stored = store(value)
        if stored is None:
            raise MisfitError("may not be NULL")
        return stored

    return convert


def _of_family(kind: OracleType, dialect: Dialect) -> Callable[[Given], str | None]:
    match kind.family:
        case "number":
            return lambda value: _number(value, kind)
        case "varchar" | "clob":
            return lambda value: _text(value, kind)
        case "char":
            return lambda value: _char(value, kind, dialect)
        case "date":
            return lambda value: _date(value, dialect)
        case "timestamp":
            return lambda value: _timestamp(value, kind)
        case _:
            raise MisfitError(f"values of {kind.text} are not known")


def _number(value: Given, kind: OracleType) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        raise MisfitError("a moment in a number column")
    number = as_decimal(value) if isinstance(value, str) else value
    if number is None:
        raise MisfitError(f"{value!r} is not a number")
    if kind.precision is not None:
        scaled = _EXACT.scaleb(number, kind.scale or 0)
        if scaled != scaled.to_integral_value() or scaled.copy_abs() >= Decimal(10) ** kind.precision:
            raise MisfitError(f"{value} does not fit {kind.text}")
    elif len(_EXACT.normalize(number).as_tuple().digits) > _NUMBER_DIGITS:
        raise MisfitError(f"{value} has more digits than a NUMBER keeps")
    return plain_number(number)


def as_decimal(text: str) -> Decimal | None:
    """The number that a text spells, None where it is none."""
    try:
        number = Decimal(text.strip(" ")) if text.isascii() and "_" not in text else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None


def plain_number(number: Decimal) -> str:
    """A number without exponent and without zeros at the end of its fraction."""
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in {"-0", ""} else text


def number_as_text(number: Decimal) -> str:
    """A number as Oracle's TO_CHAR spells it: no zero before the point."""
    text = plain_number(number)
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _text(value: Given, kind: OracleType) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        raise MisfitError("a moment in a text column, spelled as the session says")
    text = number_as_text(value) if isinstance(value, Decimal) else value
    if "\0" in text:
        raise MisfitError("text with a NUL character")
    if kind.length is not None and (len(text) if kind.characters else len(text.encode())) > kind.length:
        raise MisfitError(f"{_shortened(text)} is longer than {kind.text}")
    return text


def _char(value: Given, kind: OracleType, dialect: Dialect) -> str | None:
    text = _text(value, kind)
    return text if text is None or dialect == "oracle" else text.rstrip(" ")


def _timestamp(value: Given, kind: OracleType) -> str | None:
    moment = _moment(value)
    if moment is None:
        return None
    digits = 6 if kind.precision is None else kind.precision
    if moment.microsecond % 10 ** (6 - digits):
        raise MisfitError(f"{value} has more digits than {kind.text}")
    return moment.isoformat(" ")


def _date(value: Given, dialect: Dialect) -> str | None:
    moment = _moment(value)
    if moment is None:
        return None
    if moment.microsecond:
        raise MisfitError(f"{value} has a fraction of a second, which DATE lacks")
    if moment.time() == moment.min.time():
        return moment.date().isoformat()
    if dialect == "postgres":
        raise MisfitError(f"{value} has a time of day, which PostgreSQL's date lacks")
    return moment.isoformat(" ")


def _moment(value: Given) -> datetime | None:
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value
    if isinstance(value, Decimal):
        raise MisfitError(f"the number {value} in a date column")
    moment = as_moment(value)
    if moment is None:
        raise MisfitError(f"{_shortened(value)} is not a date that can be read surely")
    return moment


def as_moment(text: str) -> datetime | None:
    """A moment spelled in ISO form or as ``DD-MON-YYYY`` (English), None where it is another text."""
    parts = text.strip().split("-")
    if len(parts) == 3 and parts[1].upper() in _MONTHS and parts[0].isdecimal() and len(parts[2]) == 4:
        text = f"{parts[2]}-{_MONTHS.index(parts[1].upper()) + 1:02}-{int(parts[0]):02}"
    elif len(parts) != 3 or len(parts[0]) != 4:
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo is None else None


def literal(value: str | None, kind: OracleType) -> str:
    """A stored text as an Oracle literal."""
    if value is None:
        return "NULL"
    match kind.family:
        case "number":
            return value
        case "date" if len(value) == len("YYYY-MM-DD"):
            return f"DATE '{value}'"
        case "date" | "timestamp":
            return f"TIMESTAMP '{value}'"
        case _:
            return _text_literal(value)


def _text_literal(value: str) -> str:
    pieces = [""]
    size = 0
    for character in value:
        width = len(character.encode())
        if size + width > _LITERAL_BYTES:
            pieces.append("")
            size = 0
        pieces[-1] += character
        size += width
    quoted = ["'" + piece.replace("'", "''") + "'" for piece in pieces]
    return quoted[0] if len(quoted) == 1 else " || ".join(f"TO_CLOB({piece})" for piece in quoted)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
