"""YAML files: typed as YAML 1.2's core schema has it, every key once, every value with its line.

PyYAML's own resolver follows YAML 1.1, where ``no`` is false, ``12:30`` is 750 and ``2024-02-29`` a date.
Here only ``null``, ``true``, ``false`` and decimal numbers are more than text (YAML 1.2.2, section 10.3.2,
without octal and hexadecimal numbers, infinities and numbers with leading zeros, all of which stay text).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from yaml import CSafeLoader
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.datasets.dataset import UTF16_MARKS, at
from pytest_plsqlbench.datasets.validation import KeyPath

_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_BOOL = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_WHOLE = r"(?:0|[1-9][0-9]*)"
_INT = re.compile(rf"[-+]?{_WHOLE}\Z")
_FLOAT = re.compile(rf"[-+]?(?:{_WHOLE}\.[0-9]*|\.[0-9]+|{_WHOLE}(?=[eE]))(?:[eE][-+]?[0-9]+)?\Z")


def _resolvers(*rules: tuple[str, re.Pattern[str], str]) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, pattern, firsts in rules:
        for first in [*firsts, ""] if tag == "null" else firsts:
            table.setdefault(first, []).append((f"tag:yaml.org,2002:{tag}", pattern))
    return table


class _TypedLoader(CSafeLoader):
    """The core schema."""

    yaml_implicit_resolvers = _resolvers(
        ("null", _NULL, "~nN"),
        ("bool", _BOOL, "tTfF"),
        ("int", _INT, "-+0123456789"),
        ("float", _FLOAT, "-+.0123456789"),
    )

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        mapping: dict[Hashable, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=deep)
            if not isinstance(key, str):
                raise _bad_key(key_node, "keys are text: put it in quotes")
            if key in mapping:
                raise _bad_key(key_node, f"the key {key!r} stands here twice")
            mapping[key] = self.construct_object(value_node, deep=deep)
        return mapping


def exact_number(text: str) -> float | Decimal:
    """The number that a text spells: a float, or a Decimal where a float would lose digits or range."""
    number = float(text)
    exact = Decimal(text)
    return number if Decimal(repr(number)) == exact else exact


def _scalar(
    pattern: re.Pattern[str], build: Callable[[str], Any]
) -> Callable[[CSafeLoader, ScalarNode], Any]:
    def construct(loader: CSafeLoader, node: ScalarNode) -> Any:
        text = loader.construct_scalar(node)
        if not pattern.match(text):  # only where the file names a tag
            raise _bad_key(node, f"{text!r} does not fit its tag: leave the tag out")
        try:
            return build(text)
        except ValueError as error:
            raise _bad_key(node, f"{text[:20]!r}… cannot be read: {error}") from None

    return construct


_BUILDERS = {
    "null": _scalar(_NULL, lambda _: None),
    "bool": _scalar(_BOOL, lambda text: text.lower() == "true"),
    "int": _scalar(_INT, int),
    "float": _scalar(_FLOAT, exact_number),
}
_KEPT = ("str", "seq", "map")
_TypedLoader.yaml_constructors = {
    None: CSafeLoader.construct_undefined,
    **{
        f"tag:yaml.org,2002:{tag}": CSafeLoader.yaml_constructors[f"tag:yaml.org,2002:{tag}"] for tag in _KEPT
    },
    **{f"tag:yaml.org,2002:{tag}": build for tag, build in _BUILDERS.items()},
}


class _TextLoader(_TypedLoader):
    """Every scalar is its own text; only ``null`` is more. For databases, whose columns give the types."""

    yaml_implicit_resolvers = _resolvers(("null", _NULL, "~nN"))


def _bad_key(node: Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file that was read."""

    path: Path
    data: Any
    """Dicts with text keys, lists, and scalars."""
    root: Node | None

    def line(self, keys: KeyPath) -> int:
        """Line, from 1, of the value at a path: of its key in a mapping; of the deepest part that exists."""
        node, line = self.root, 1
        for key in keys:
            if isinstance(node, MappingNode) and isinstance(key, str):
                found = next(((k, v) for k, v in node.value if k.value == key), None)
                if found is None:
                    break
                line, node = found[0].start_mark.line + 1, found[1]
            elif isinstance(node, SequenceNode) and isinstance(key, int) and key < len(node.value):
                node = node.value[key]
                line = node.start_mark.line + 1
            else:
                break
        return line

    def source(self, keys: KeyPath = ()) -> Source:
        """The place of a value, for messages."""
        return at(self.path, self.line(keys))


def read_bytes(path: Path) -> bytes:
    """Content of a file.

    Raises:
        UserError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", at(path)) from None


def decode_utf8(content: bytes, path: Path) -> str:
    """Text of a UTF-8 file, without its byte order mark.

    Raises:
        UserError: naming the line of the first byte that is not UTF-8.
    """
    if content.startswith(UTF16_MARKS):
        raise UserError("is UTF-16 text: save it as UTF-8", at(path, 1))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise UserError(f"is not UTF-8 (byte 0x{byte:02x}): save it as UTF-8", at(path, line)) from None


def parse_yaml(content: bytes, path: Path, *, typed: bool = True) -> Document:
    """Read a YAML file of one document.

    Args:
        content: of the file.
        path: for messages.
        typed: whether numbers and booleans are recognised; otherwise every scalar but null is text.

    Raises:
        UserError: bad UTF-8, bad YAML, a key that stands twice, or more than one document.
    """
    text = decode_utf8(content, path)
    loader = (_TypedLoader if typed else _TextLoader)(text)
    try:
        root = loader.get_single_node()
        data = None if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise UserError(_explain(error, text), at(path, mark.line + 1 if mark else 0)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"a control character (U+{int(error.character):04X}) cannot stand in YAML"
        raise UserError(message, at(path, line)) from None
    except RecursionError:
        raise UserError("is nested too deeply", at(path)) from None
    finally:
        loader.dispose()
    return Document(path, data, root)


def _explain(error: yaml.MarkedYAMLError, text: str) -> str:
    problem = error.problem or "cannot be read"
    mark = error.problem_mark
    if isinstance(error, yaml.constructor.ConstructorError):
        if "constructor for the tag" in problem:
            return "tags (!…) are not used here: put the text in quotes"
        return problem
    if "found another document" in problem:
        return "a second document begins here: one task a file; many tasks go into a .jsonl file"
    if mark is not None:
        line = [*text.split("\n"), ""][mark.line]
        if "cannot start any token" in problem and "\t" in line[: mark.column + 1]:
            return "a tab cannot indent YAML: use blanks"
    context = f" {error.context}" if error.context else ""
    return f"is not valid YAML: {problem}{context}"
