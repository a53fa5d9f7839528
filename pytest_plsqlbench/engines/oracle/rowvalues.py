"""Rows of text into values to bind, by the type of their column.

Nothing is left to the server's conversions.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

_TIMESTAMP = re.compile(r"TIMESTAMP(?:\(\d+\))?(?P<zone> WITH (?:LOCAL )?TIME ZONE)?")
_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?")
_TRUE, _FALSE = frozenset(("TRUE", "T", "1", "YES")), frozenset(("FALSE", "F", "0", "NO"))

Convert = Callable[[str], Any]


def converter(data_type: str) -> tuple[Convert, str | None]:
    """How text becomes a value of a column, and the driver's type to bind it as (None: as the value says).

    Args:
        data_type: as DBA_TAB_COLS names it.
    """
    timestamp = _TIMESTAMP.fullmatch(data_type)
    if timestamp:
        return (str, None) if timestamp["zone"] else (_moment, "TIMESTAMP")
    return _BY_TYPE.get(data_type, (str, None))


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None


def _moment(text: str) -> dt.datetime:
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a date: write YYYY-MM-DD or YYYY-MM-DD HH:MI:SS")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    microsecond = int((match[7] or "0").ljust(6, "0"))
    return dt.datetime(year, month, day, hour, minute, second, microsecond)  # noqa: DTZ001 (has none)


def _bool(text: str) -> bool:
    word = text.strip().upper()
    if word not in _TRUE | _FALSE:
        raise ValueError(f"{text!r} is not a boolean")
    return word in _TRUE


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("\\x"))


_BY_TYPE: dict[str, tuple[Convert, str | None]] = {
    "NUMBER": (_number, "NUMBER"),
    "FLOAT": (_number, "NUMBER"),
    "BINARY_FLOAT": (float, "BINARY_FLOAT"),
    "BINARY_DOUBLE": (float, "BINARY_DOUBLE"),
    "DATE": (_moment, "DATE"),
    "BOOLEAN": (_bool, "BOOLEAN"),
    "RAW": (_bytes, "RAW"),
    "BLOB": (_bytes, "BLOB"),
    "CLOB": (str, "CLOB"),
    "NCLOB": (str, "NCLOB"),
}
