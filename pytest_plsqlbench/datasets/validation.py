"""Plain data checked against types, with faults that name the key and say the mend."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

KeyPath = tuple[str | int, ...]
"""Keys and indexes from the top of a document down to a value."""

_STEP = re.compile(r"\.(?P<key>[A-Za-z_][A-Za-z0-9_]*)|\[(?P<index>[0-9]+)\]")
_AT = re.compile(r"(?P<what>.*) - at `(?:key in )?\$(?P<path>[^`]*)`\Z", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<expected>[^`]*)`, got `(?P<got>[^`]*)`\Z")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`\Z", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]*)`\Z")
_ENUM = re.compile(r"Invalid enum value (?P<value>.*)\Z", re.DOTALL)

_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}


class Fault(Exception):  # noqa: N818 (becomes a UserError where the file and line are known)
    """What is wrong with a value, and where it stands in its document."""

    def __init__(self, keys: KeyPath, problem: str) -> None:
        self.keys = keys
        self.problem = problem
        super().__init__(f"{shown(keys)}: {problem}" if keys else problem)


def shown(keys: KeyPath) -> str:
    """A key path as people write it: ``variants.postgres.tests[0].compare``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.removeprefix(".")


def close_match(word: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where a known word is close, else nothing."""
    found = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]!r}?" if found else ""


def check(data: Any, kind: type[T], keys: KeyPath = (), *, strict: bool = True) -> T:
    """The data as a value of the type.

    Args:
        data: dicts, lists and scalars of a document.
        kind: the type it must be.
        keys: where the data stands in its document.
        strict: whether text that spells a number or a boolean is not taken for one.

    Raises:
        Fault: the first thing that does not fit.
    """
    try:
        return msgspec.convert(data, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise fault(error, kind, keys) from None
    except RecursionError:
        raise Fault(keys, "is nested too deeply") from None


def fault(error: msgspec.ValidationError, kind: Any, above: KeyPath = ()) -> Fault:
    """What a validation error of msgspec says, in our words."""
    text = str(error)
    keys: KeyPath = ()
    if match := _AT.match(text):
        text = match["what"]
        keys = tuple(
            step["key"] if step["key"] is not None else int(step["index"])
            for step in _STEP.finditer(match["path"])
        )
    if match := _UNKNOWN.match(text):
        known = _fields(kind, keys)
        choice = close_match(match["name"], known) or f"; known keys: {', '.join(known)}"
        return Fault((*above, *keys, match["name"]), f"is not a known key{choice}")
    if match := _MISSING.match(text):
        return Fault((*above, *keys), f"the key {match['name']!r} is missing")
    if match := _ENUM.match(text):
        value = match["value"].strip("'")
        choices = _choices(kind, keys)
        return Fault(
            (*above, *keys), f"{value!r} is not one of {', '.join(choices)}{close_match(value, choices)}"
        )
    if match := _EXPECTED.match(text):
        expected = " or ".join(_words(match["expected"]))
        got = " or ".join(_words(match["got"]))
        quotable = {part.strip() for part in match["expected"].split("|")} <= {"str", "null"}
        mend = ": put it in quotes" if quotable and match["got"] in {"int", "float", "bool"} else ""
        return Fault((*above, *keys), f"must be {expected}, not {got}{mend}")
    return Fault((*above, *keys), text[:1].lower() + text[1:])


def _words(types: str) -> list[str]:
    parts = [part.strip() for part in types.split("|")]
    optional = len(parts) > 1
    return [_WORDS.get(part, part) for part in parts if not (optional and part == "null")]


def _walk(kind: Any, keys: KeyPath) -> list[msgspec.inspect.Type]:
    """The types that may stand at a key path."""
    types = _alternatives(msgspec.inspect.type_info(kind))
    for key in keys:
        below: list[msgspec.inspect.Type] = []
        for info in types:
            if isinstance(key, int):
                if isinstance(info, msgspec.inspect.CollectionType):
                    below += _alternatives(info.item_type)
            elif isinstance(info, msgspec.inspect.StructType):
                below += [
                    t for field in info.fields if field.encode_name == key for t in _alternatives(field.type)
                ]
        types = below
    return types


def _alternatives(info: msgspec.inspect.Type) -> list[msgspec.inspect.Type]:
    if isinstance(info, msgspec.inspect.Metadata):
        return _alternatives(info.type)
    return list(info.types) if isinstance(info, msgspec.inspect.UnionType) else [info]


def _fields(kind: Any, keys: KeyPath) -> list[str]:
    structs = [info for info in _walk(kind, keys) if isinstance(info, msgspec.inspect.StructType)]
    return [field.encode_name for info in structs for field in info.fields]


def _choices(kind: Any, keys: KeyPath) -> list[str]:
    literals = [info for info in _walk(kind, keys) if isinstance(info, msgspec.inspect.LiteralType)]
    return [str(value) for info in literals for value in info.values]
