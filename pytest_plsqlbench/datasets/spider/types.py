"""What values are to Oracle's rules, and how two of them meet in a comparison, built for PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from sqlglot import exp

from pytest_plsqlbench.datasets.plsqlbench.gold_query import UntranslatableError
from pytest_plsqlbench.datasets.plsqlbench.oracle_values import as_decimal

Kind = Literal["number", "text", "char", "date", "timestamp", "null", "folded"]
"""What a value is to Oracle's comparison rules. ``char``: blank-padded text; ``folded``: UPPER or LOWER of
text, good for comparisons with ASCII constants only, since the systems map other letters differently."""

TIMES: frozenset[Kind] = frozenset({"date", "timestamp"})


@dataclass(frozen=True, slots=True)
class Value:
    """A built value."""

    node: exp.Expr
    kind: Kind
    constant: str | None = None
    """Text of a string literal. Such a literal is CHAR to Oracle, but compares unpadded with VARCHAR2."""
    length: int | None = None
    """Of ``char``: the declared length, where the value is a column."""
    padded: bool = False
    """Of ``folded``: it is CHAR."""


class ColumnKind(NamedTuple):
    """What a column of a source or of a result holds."""

    kind: Kind
    length: int | None = None
    """Of ``char``: the declared length, where it is known."""


def only(node: exp.Expr, *names: str) -> None:
    """Refuse a node that carries an argument besides these: whatever it says would be lost."""
    for name, argument in node.args.items():
        if name not in names and argument not in (None, False, []):
            raise UntranslatableError(f"{type(node).__name__} with {name.rstrip('_')}")


def same_kind(first: Kind, second: Kind) -> Kind:
    """The kind of a column that two set operands, or two branches, fill.

    Raises:
        UntranslatableError: Oracle refuses the pair, or pads one side.
    """
    if "null" in (first, second):
        return second if first == "null" else first
    if first != second:
        raise UntranslatableError(f"{first} and {second} in one column")
    return first


def same_column(first: ColumnKind, second: ColumnKind) -> ColumnKind:
    """What a column of a set operation holds.

    Raises:
        UntranslatableError: Oracle refuses the pair, or keeps the padding of one side: CHAR of two lengths
            becomes VARCHAR2, padded as each side was.
    """
    kind = same_kind(first.kind, second.kind)
    if (
        kind == "char"
        and first.kind == second.kind
        and (first.length is None or first.length != second.length)
    ):
        raise UntranslatableError("CHAR of different lengths in one column")
    return ColumnKind(kind, first.length if first.kind == kind else second.length)


def literal(node: exp.Literal) -> Value:
    """A number or text constant; empty text is NULL."""
    if not node.is_string:
        if as_decimal(node.name) is None:
            raise UntranslatableError(f"the number {node.name}")
        return Value(exp.Literal.number(node.name), "number")
    if not node.name:
        return Value(exp.Null(), "null")
    return Value(exp.Literal.string(node.name), "text", node.name)


def align(first: Value, second: Value) -> tuple[Value, Value]:
    """Make two values comparable as Oracle compares them.

    Raises:
        UntranslatableError: what Oracle does depends on settings, on padding, or is not known.
    """
    kinds = {first.kind, second.kind}
    if "null" in kinds:
        return first, second
    if "folded" in kinds:
        return _with_folded(first, second)
    if first.constant is not None and second.constant is not None:
        raise UntranslatableError("two constants compared as text")
    if first.constant is not None or second.constant is not None:
        return _with_constant(first, second)
    if len(kinds) == 1 or kinds == TIMES:
        return first, second
    if kinds in ({"number", "text"}, {"number", "char"}):
        return as_number(first), as_number(second)
    if kinds == {"char", "text"}:
        raise UntranslatableError("CHAR compared with VARCHAR2, where the padding counts")
    raise UntranslatableError(f"{first.kind} compared with {second.kind}")


def _with_folded(first: Value, second: Value) -> tuple[Value, Value]:
    other = second if first.kind == "folded" else first
    if other.constant is None or not other.constant.isascii():
        raise UntranslatableError("UPPER or LOWER compared with something other than an ASCII constant")
    if not first.padded and not second.padded:
        return first, second
    return (first, _unpadded(second)) if first.kind == "folded" else (_unpadded(first), second)


def _with_constant(first: Value, second: Value) -> tuple[Value, Value]:
    value = second if first.constant is not None else first
    match value.kind:
        case "text":
            return first, second
        case "number":
            return as_number(first), as_number(second)
        case "char":
            return (_unpadded(first), second) if first.constant is not None else (first, _unpadded(second))
        case _:
            raise UntranslatableError(f"{value.kind} compared with text, which depends on session settings")


def _unpadded(constant: Value) -> Value:
    text = (constant.constant or "").rstrip(" ")
    if not text:
        raise UntranslatableError("CHAR compared with blanks")
    return Value(exp.Literal.string(text), "char", text)


def as_number(value: Value) -> Value:
    """A value as Oracle's implicit TO_NUMBER reads it.

    Raises:
        UntranslatableError: it is a date, or text that is surely no number.
    """
    if value.kind in {"number", "null"}:
        return value
    if value.constant is not None:
        if as_decimal(value.constant) is None:
            raise UntranslatableError(f"the text {value.constant!r} used as a number")
        return Value(exp.Literal.number(value.constant.strip(" ")), "number")
    if value.kind not in {"text", "char"}:
        raise UntranslatableError(f"{value.kind} used as a number")
    return Value(numeric(value.node), "number")


def numeric(node: exp.Expr) -> exp.Expr:
    """A value cast to PostgreSQL's ``numeric``: exact decimal arithmetic, as NUMBER's."""
    return exp.Cast(this=node, to=exp.DataType.build("DECIMAL"))


def ordered(built: exp.Expr, source: exp.Expr, *, flip: bool = False) -> exp.Ordered:
    """A sort key over a built value, with the direction of the source's key; ``flip`` turns it round."""
    only(source, "this", "desc", "nulls_first")
    descending, nulls_first = bool(source.args.get("desc")), bool(source.args.get("nulls_first"))
    return exp.Ordered(this=built, desc=descending != flip, nulls_first=nulls_first != flip)


def shown(node: exp.Expr) -> str:
    """A node as a reason names it: its function or operator."""
    text = node.sql("oracle").split("(", 1)[0].strip()
    return text if text and len(text) < 40 and text.replace("_", "").isalnum() else type(node).__name__
