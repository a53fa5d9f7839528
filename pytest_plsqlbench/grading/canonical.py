"""One form in bytes for each value that a content key stands for: different values never share one.

The usual encodings are made for readers who know the types: in them ``1.5`` and ``"1.5"`` may be the same.
Here every value carries its type and its length, so that nothing in it can be taken for something beside it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec


def canonical(value: Any) -> bytes:
    """The bytes of a value.

    Two values have the same bytes exactly when they are of the same types, all the way down, and equal.
    Floats are equal bit by bit (-0.0 is not 0.0), decimals digit by digit (1.0 is not 1.00). Tuples and lists
    alone are not told apart: which of the two holds a sequence decides nothing.

    Args:
        value: None, a boolean, number, text, bytes, date, time; a tuple, list, struct or dataclass of such.

    Raises:
        TypeError: it is, or holds, something else.
    """
    parts: list[bytes] = []
    _write(value, parts.append)
    return b"".join(parts)


def _write(value: Any, add: Callable[[bytes], None]) -> None:
    kind: Any = type(value)
    if kind is str:  # most values are; some hundred are written for a turn
        content = value.encode("utf-8", "surrogatepass")
        add(b"s%d:" % len(content))
        add(content)
    elif kind is tuple or kind is list:
        add(b"(%d:" % len(value))
        for part in value:
            _write(part, add)
    elif kind in _SCALARS:
        tag, form = _SCALARS[kind]
        content = form(value)
        add(b"%b%d:%b" % (tag, len(content), content))
    else:
        head, fields = _record(kind)
        add(head)
        for name, mark, default in fields:
            part = getattr(value, name)
            if part is not default:
                add(mark)
                _write(part, add)
        add(b"}")


@functools.cache
def _record(kind: type) -> tuple[bytes, tuple[tuple[str, bytes, object], ...]]:
    """What stands before the fields of a type of records; of each field the name, mark and default.

    A field is left out where it has its default, if that is None, True or False: each is one object.
    """
    if issubclass(kind, msgspec.Struct):
        fields = [(field.name, field.default) for field in msgspec.structs.fields(kind)]
    elif dataclasses.is_dataclass(kind):
        fields = [(field.name, field.default) for field in dataclasses.fields(kind)]
    else:
        raise TypeError(f"{kind.__name__} has no form for content keys")
    title = " ".join((f"{kind.__module__}.{kind.__qualname__}", *(name for name, _ in fields))).encode()
    return b"{%d:%b" % (len(title), title), tuple(
        (name, b"%d=" % place, default if default is None or isinstance(default, bool) else _NO_DEFAULT)
        for place, (name, default) in enumerate(fields)
    )


def _moment(value: dt.datetime | dt.date | dt.time) -> bytes:
    return f"{value.isoformat()} {getattr(value, 'fold', 0)}".encode()


_NO_DEFAULT = object()
_SCALARS: dict[type, tuple[bytes, Callable[[Any], bytes]]] = {
    type(None): (b"n", lambda _: b""),
    bool: (b"b", lambda value: b"1" if value else b"0"),
    int: (b"i", lambda value: b"%x" % value),  # decimal digits have a limit in Python
    float: (b"f", struct.Struct(">d").pack),
    Decimal: (b"d", lambda value: str(value).encode()),
    bytes: (b"y", bytes),
    dt.datetime: (b"m", _moment),
    dt.date: (b"a", _moment),
    dt.time: (b"t", _moment),
}
