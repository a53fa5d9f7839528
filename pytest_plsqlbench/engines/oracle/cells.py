"""Driver values into typed cells, whose text is what Oracle itself prints under the pinned settings."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from pytest_plsqlbench.bench.observation import Cell
from pytest_plsqlbench.engines.oracle.port import ObjectValue, Rows

_NUMBER_WIDTH = 40
"""Characters that TO_CHAR gives a NUMBER at most, without sign, before it turns to the form with exponent."""
_NESTED_ROWS = 1000


def cell(value: Any, kind: str) -> Cell:
    """The cell of a value.

    Args:
        value: as the driver gives it; None is NULL (so is the empty string, in Oracle).
        kind: the driver's name of the type: ``NUMBER``, ``TIMESTAMP_TZ`` …
    """
    if value is None or value == "":
        return None
    special = _BY_KIND.get(kind)
    if special is not None and not isinstance(value, ObjectValue):
        return special(value)
    return _by_value(value)


def number_text(value: Decimal | float) -> str:
    """A NUMBER as TO_CHAR without a format prints it: no zero before the point, 40 characters at most."""
    number = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        return "~" if number > 0 else "-~"
    sign = "-" if number < 0 else ""
    plain = format(abs(number).normalize(), "f")
    if plain == "0":
        return "0"
    if plain.startswith("0."):
        plain = plain[1:]
    if len(plain) > _NUMBER_WIDTH:
        plain = _with_exponent(abs(number))
    return sign + plain


def _with_exponent(number: Decimal) -> str:
    _, digits, _ = number.as_tuple()
    power = number.adjusted()
    tail = f"E{'-' if power < 0 else '+'}{abs(power):02d}"
    room = _NUMBER_WIDTH - 2 - len(tail)
    fraction = "".join(map(str, digits))[1:].ljust(room, "0")[:room]
    return f"{digits[0]}.{fraction}{tail}"


def _number(value: Any) -> Cell:
    return "numeric", number_text(value)


def _binary(digits: int) -> Callable[[Any], Cell]:
    """BINARY_FLOAT and BINARY_DOUBLE: as many digits as bring the same bits back."""

    def convert(value: Any) -> Cell:
        number = float(value)
        if number != number:  # noqa: PLR0124 (NaN)
            return "float", "Nan"
        if number in (float("inf"), float("-inf")):
            return "float", "Inf" if number > 0 else "-Inf"
        if number == 0:
            return "float", "-0" if struct.pack(">d", number)[0] else "0"
        mantissa, _, exponent = f"{number:.{digits - 1}E}".partition("E")
        whole, _, fraction = mantissa.partition(".")
        power = int(exponent)
        return "float", f"{whole}.{fraction.rstrip('0') or '0'}E{'-' if power < 0 else '+'}{abs(power):03d}"

    return convert


def _date(value: Any) -> Cell:
    """DATE: Oracle's holds a time of day, which is shown where it is not midnight."""
    if not isinstance(value, dt.datetime):
        return "date", _day(value)
    midnight = (value.hour, value.minute, value.second) == (0, 0, 0)
    return "date", _day(value) if midnight else _moment(value)


def _day(value: dt.date) -> str:
    return f"{value.year:04d}-{value.month:02d}-{value.day:02d}"


def _moment(value: dt.datetime) -> str:
    part = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
    return f"{_day(value)} {value.hour:02d}:{value.minute:02d}:{value.second:02d}{part}"


def _timestamp(value: Any) -> Cell:
    return "timestamp", _moment(value)


def _with_zone(value: Any) -> Cell:
    """A timestamp with zone: the driver's thin mode gives local fields and, as far as known, no zone."""
    offset = value.utcoffset()
    if offset is None:
        return "timestamp", _moment(value)
    minutes = int(offset.total_seconds() // 60)
    sign = "-" if minutes < 0 else "+"
    return "timestamptz", f"{_moment(value)}{sign}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _interval(value: Any) -> Cell:
    if isinstance(value, dt.timedelta):
        sign = "-" if value < dt.timedelta() else "+"
        value = abs(value)
        hours, rest = divmod(value.seconds, 3600)
        minutes, seconds = divmod(rest, 60)
        text = f"{sign}{value.days:02d} {hours:02d}:{minutes:02d}:{seconds:02d}.{value.microseconds:06d}"
        return "interval", text
    years, months = int(value.years), int(value.months)
    sign = "-" if years < 0 or months < 0 else "+"
    return "interval", f"{sign}{abs(years):02d}-{abs(months):02d}"


def _bytes(value: Any) -> Cell:
    return "bytes", bytes(value).hex().upper()


def _json(value: Any) -> Cell:
    return "json", json.dumps(value, ensure_ascii=False, default=_json_text)


def _json_text(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex().upper()
    return str(value)


def _vector(value: Any) -> Cell:
    return "other", "[" + ",".join(str(part) for part in value) + "]"


def _bool(value: Any) -> Cell:
    return "bool", "TRUE" if value else "FALSE"


def _by_value(value: Any) -> Cell:
    if isinstance(value, bool):
        return _bool(value)
    if isinstance(value, Decimal | int | float):
        return _number(value)
    if isinstance(value, dt.date):
        return _date(value) if not isinstance(value, dt.datetime) else _timestamp(value)
    if isinstance(value, dt.timedelta):
        return _interval(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(value)
    if isinstance(value, ObjectValue):
        return "other", _object(value)
    if hasattr(value, "fetch"):
        return "other", _cursor(value)
    return "text", str(value)


def _object(value: ObjectValue) -> str:
    """As SQL*Plus writes it: ``TYPE(value, 'text', NULL)``, and a collection's elements alike."""
    parts = value.elements if value.attributes is None else tuple(part for _, part in value.attributes)
    return f"{value.type}({', '.join(map(_part, parts))})"


def _part(value: Any) -> str:
    inner = _by_value(value) if value is not None and value != "" else None
    if inner is None:
        return "NULL"
    kind, text = inner
    return "'" + text.replace("'", "''") + "'" if kind in ("text", "date", "timestamp") else text


def _cursor(value: Rows) -> str:
    """A nested cursor: its rows as one text; of those after the first thousand, how many and a digest."""
    kinds = [column.type for column in value.columns]
    texts: list[str] = []
    more, digest = 0, hashlib.sha256()
    try:
        while rows := value.fetch(_NESTED_ROWS):
            for row in rows:
                parts = (cell(part, kind) for part, kind in zip(row, kinds, strict=True))
                text = "(" + ", ".join("NULL" if part is None else part[1] for part in parts) + ")"
                if len(texts) < _NESTED_ROWS:
                    texts.append(text)
                else:
                    more += 1
                    digest.update(text.encode("utf-8", "surrogatepass"))
    finally:
        value.close()
    if more:
        texts.append(f"and {more} more, {digest.hexdigest()}")
    return "CURSOR[" + ", ".join(texts) + "]"


_BY_KIND: dict[str, Callable[[Any], Cell]] = {
    "NUMBER": _number,
    "BINARY_INTEGER": _number,
    "BINARY_FLOAT": _binary(9),
    "BINARY_DOUBLE": _binary(17),
    "DATE": _date,
    "TIMESTAMP": _timestamp,
    "TIMESTAMP_TZ": _with_zone,
    "TIMESTAMP_LTZ": _with_zone,
    "INTERVAL_DS": _interval,
    "INTERVAL_YM": _interval,
    "RAW": _bytes,
    "LONG_RAW": _bytes,
    "BLOB": _bytes,
    "BOOLEAN": _bool,
    "JSON": _json,
    "VECTOR": _vector,
}
