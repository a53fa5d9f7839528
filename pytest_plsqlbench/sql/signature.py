"""Names, parameters and types in the headers of routines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.lexer import Token

Mode = Literal["in", "out", "in out", "variadic", "table"]
"""``table``: a column of RETURNS TABLE, as PostgreSQL counts it."""


class Parameter(msgspec.Struct, frozen=True):
    """One parameter."""

    name: str | None
    """As the server keeps it (unquoted names folded); None where PostgreSQL lets it out."""
    mode: Mode
    type: str
    """Unquoted words folded, single spaces."""
    default: str | None = None
    """The expression as written, single spaces; None without one."""

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is None and self.mode not in {"table", "variadic"}


class Name(msgspec.Struct, frozen=True):
    """A name with its schema, as the server keeps it."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name


_ORACLE_TYPE_ENDS = frozenset(
    (
        "DETERMINISTIC", "PIPELINED", "PARALLEL_ENABLE", "RESULT_CACHE", "AUTHID", "ACCESSIBLE", "AGGREGATE",
        "IS", "AS", "SQL_MACRO", "DEFAULT", "SHARING", "USING", ";",
    )
)  # fmt: skip
_POSTGRES_TYPE_ENDS = frozenset(
    (
        "LANGUAGE", "AS", "IMMUTABLE", "STABLE", "VOLATILE", "STRICT", "CALLED", "RETURNS", "SECURITY",
        "EXTERNAL", "COST", "ROWS", "PARALLEL", "LEAKPROOF", "NOT", "WINDOW", "TRANSFORM", "SUPPORT", "SET",
        "BEGIN", "RETURN", ";",
    )
)  # fmt: skip
_TYPE_CONTINUES: dict[str, set[str]] = {
    "DOUBLE": {"PRECISION"},
    "CHARACTER": {"VARYING"},
    "CHAR": {"VARYING"},
    "BIT": {"VARYING"},
    "NATIONAL": {"CHARACTER", "CHAR"},
    "TIMESTAMP": {"WITH", "WITHOUT"},
    "TIME": {"WITH", "WITHOUT"},
    "INTERVAL": {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"},
}
"""PostgreSQL types of several words; what may follow the first."""
_UNIT_WORDS = frozenset(("FUNCTION", "PROCEDURE", "PACKAGE", "TYPE", "TRIGGER", "VIEW", "TABLE"))
_DEFAULTS = frozenset((":=", "DEFAULT", "="))
_OPENING = frozenset("([")
_CLOSING = frozenset(")]")


def fold(token: Token, dialect: Dialect) -> str:
    """The name as the server keeps it: quotes taken away, or the word folded."""
    if token.kind == "quoted":
        return token.text[token.text.index('"') + 1 : -1].replace('""', '"')
    return token.value if dialect == "oracle" else token.text.lower()


def read_name(tokens: Sequence[Token], at: int, end: int, dialect: Dialect) -> tuple[Name | None, int]:
    """The name at ``at``, schema-qualified or not, and the index after it."""
    parts: list[str] = []
    while at < end and tokens[at].kind in {"word", "quoted"}:
        parts.append(fold(tokens[at], dialect))
        at += 1
        if at < end and tokens[at].value == "." and len(parts) < 3:
            at += 1
        else:
            break
    if not parts:
        return None, at
    return Name(parts[-2] if len(parts) > 1 else None, parts[-1]), at


def spell(tokens: Sequence[Token], dialect: Dialect | None = None) -> str:
    """Tokens joined with single spaces where they need one; words folded if a dialect is given."""
    pieces: list[str] = []
    previous = ""
    for token in tokens:
        text = fold(token, dialect) if dialect and token.kind == "word" else token.text
        glued = (
            token.value in {",", ")", "]", ".", "%", ";", "(", "["}
            or previous in {"", "(", "[", ".", "%", "::"}
            or token.value == "::"
        )
        if not glued:
            pieces.append(" ")
        pieces.append(text)
        previous = token.value
    return "".join(pieces)


def closing(tokens: Sequence[Token], at: int, end: int) -> int:
    """Index of the parenthesis that closes the one at ``at``; ``end`` where none does."""
    depth = 0
    for index in range(at, end):
        value = tokens[index].value
        if value in _OPENING:
            depth += 1
        elif value in _CLOSING:
            depth -= 1
            if depth == 0:
                return index
    return end


def split_list(tokens: Sequence[Token], start: int, end: int) -> list[tuple[int, int]]:
    """Ranges between the commas of ``tokens[start:end]`` that stand outside of parentheses."""
    ranges: list[tuple[int, int]] = []
    depth, first = 0, start
    for index in range(start, end):
        value = tokens[index].value
        if value in _OPENING:
            depth += 1
        elif value in _CLOSING:
            depth -= 1
        elif value == "," and depth == 0:
            ranges.append((first, index))
            first = index + 1
    if first < end or ranges:
        ranges.append((first, end))
    return [(low, high) for low, high in ranges if low < high]


def read_parameters(tokens: Sequence[Token], start: int, end: int, dialect: Dialect) -> tuple[Parameter, ...]:
    """The parameters between the parentheses whose inside is ``tokens[start:end]``."""
    read = _oracle_parameter if dialect == "oracle" else _postgres_parameter
    return tuple(read(tokens[low:high]) for low, high in split_list(tokens, start, end))


def _split_default(tokens: Sequence[Token]) -> tuple[Sequence[Token], str | None]:
    depth = 0
    for index, token in enumerate(tokens):
        if token.value in _OPENING:
            depth += 1
        elif token.value in _CLOSING:
            depth -= 1
        elif depth == 0 and index and token.value in _DEFAULTS:
            return tokens[:index], spell(tokens[index + 1 :])
    return tokens, None


def _oracle_parameter(tokens: Sequence[Token]) -> Parameter:
    """``name [IN] [OUT] [NOCOPY] type [:= expression]``."""
    tokens, default = _split_default(tokens)
    at, modes = 1, []
    while at < len(tokens) and tokens[at].value in {"IN", "OUT", "NOCOPY"}:
        if tokens[at].value != "NOCOPY":
            modes.append(tokens[at].value.lower())
        at += 1
    mode: Mode = "in out" if modes == ["in", "out"] else "out" if modes == ["out"] else "in"
    return Parameter(fold(tokens[0], "oracle"), mode, spell(tokens[at:], "oracle"), default)


def _postgres_parameter(tokens: Sequence[Token]) -> Parameter:
    """``[mode] [name] type [DEFAULT expression]``; the mode may also stand after the name."""
    tokens, default = _split_default(tokens)
    modes: dict[str, Mode] = {"IN": "in", "OUT": "out", "INOUT": "in out", "VARIADIC": "variadic"}
    mode: Mode = "in"
    rest = list(tokens)
    for at in (0, 1):
        if len(rest) > at + 1 and rest[at].value in modes and rest[at].kind == "word":
            mode = modes[rest.pop(at).value]
            if mode == "in" and len(rest) > at + 1 and rest[at].value == "OUT":
                rest.pop(at)
                mode = "in out"
            break
    name = None
    if _has_name(rest):
        name = fold(rest[0], "postgres")
        rest = rest[1:]
    return Parameter(name, mode, spell(rest, "postgres"), default)


def _has_name(tokens: Sequence[Token]) -> bool:
    """Whether a name stands before the type."""
    if (
        len(tokens) < 2
        or tokens[0].kind not in {"word", "quoted"}
        or tokens[1].kind not in {"word", "quoted"}
    ):
        return False
    if tokens[0].kind == "quoted":
        return True
    first = tokens[0].value
    return first != "SETOF" and tokens[1].value not in _TYPE_CONTINUES.get(first, ())


def read_returns(tokens: Sequence[Token], at: int, end: int, dialect: Dialect) -> str | None:
    """The type after RETURN or RETURNS, from ``at`` on; None where the header has none."""
    opener, ends = ("RETURN", _ORACLE_TYPE_ENDS) if dialect == "oracle" else ("RETURNS", _POSTGRES_TYPE_ENDS)
    while at < end and tokens[at].value != opener:
        if tokens[at].value == "(":
            at = closing(tokens, at, end)
        if tokens[at : at + 1] and tokens[at].kind == "string":
            return None
        at += 1
    first = at = at + 1
    while at < end and (tokens[at].value not in ends or tokens[at].kind == "quoted"):
        if tokens[at].value == "SELF":  # RETURN SELF AS RESULT
            at = min(end, at + 3)
            break
        at = closing(tokens, at, end) + 1 if tokens[at].value == "(" else at + 1
    return spell(tokens[first : min(at, end)], dialect) or None if first < end else None


def read_unit_name(tokens: Sequence[Token], dialect: Dialect) -> tuple[Name | None, int]:
    """The unit's name, and the index after it."""
    at = 1
    while at < len(tokens) and tokens[at].value not in _UNIT_WORDS:
        at += 1
    at += 1
    if at < len(tokens) and tokens[at].value == "BODY":
        at += 1
    if at + 2 < len(tokens) and tokens[at].value == "IF" and tokens[at + 1].value == "NOT":
        at += 3
    return read_name(tokens, at, len(tokens), dialect)


def read_signature(
    tokens: Sequence[Token], at: int, end: int, dialect: Dialect, kind: str
) -> tuple[tuple[Parameter, ...], str | None]:
    """Parameters and return type of a header, ``at`` being the index after the name."""
    if kind not in {"function", "procedure"}:
        return (), None
    parameters: tuple[Parameter, ...] = ()
    if at < end and tokens[at].value == "(":
        close = closing(tokens, at, end)
        parameters = read_parameters(tokens, at + 1, close, dialect)
        at = close + 1
    return parameters, read_returns(tokens, at, end, dialect) if kind == "function" else None


def read_target(tokens: Sequence[Token], at: int, dialect: Dialect) -> str:
    """The table of a trigger."""
    while at < len(tokens) and tokens[at].value not in {"ON", "BEGIN", "DECLARE", "EXECUTE"}:
        at += 1
    if at >= len(tokens) or tokens[at].value != "ON":
        return ""
    name, _ = read_name(tokens, at + 1, len(tokens), dialect)
    return str(name) if name else ""
