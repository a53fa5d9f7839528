"""Functions and operators of a gold query, built for PostgreSQL (see ``translation``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from pytest_plsqlbench.datasets.plsqlbench.gold_query import UntranslatableError
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import oracle_type
from pytest_plsqlbench.datasets.spider.types import (
    TIMES,
    Kind,
    Value,
    as_number,
    numeric,
    only,
    same_kind,
    shown,
)

if TYPE_CHECKING:
    from pytest_plsqlbench.datasets.spider.values import ValueBuilder

_EXTRACTS: dict[str, frozenset[Kind]] = {
    "YEAR": TIMES,
    "MONTH": TIMES,
    "DAY": TIMES,
    "HOUR": frozenset({"timestamp"}),
    "MINUTE": frozenset({"timestamp"}),
}
_TO_CHAR_FORMATS = frozenset(
    {"YYYY", "MM", "DD", "YYYY-MM", "YYYY-MM-DD", "HH24", "MI", "SS", "YYYY-MM-DD HH24:MI:SS"}
)
_TO_DATE_FORMATS = frozenset(
    {"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%d", "%m/%d/%Y", "%d-%m-%Y"}
)
"""Formats that name a whole day: TO_DATE('2001', 'YYYY') would be a day of the current month."""


def _keep(values: ValueBuilder, node: exp.Window) -> Value:
    """``MAX(x) KEEP (DENSE_RANK LAST ORDER BY k)``: of the rows last in k, the greatest x not NULL."""
    only(node, "this", "order", "alias", "over", "first")
    name, order, inner = node.args.get("alias"), node.args.get("order"), node.this
    if node.args.get("over") != "KEEP" or order is None or name is None or name.name.upper() != "DENSE_RANK":
        raise UntranslatableError("a window function")
    if not isinstance(inner, exp.Max | exp.Min):
        raise UntranslatableError(f"KEEP with {shown(inner)}")
    only(inner, "this")
    only(order, "expressions")
    last = not node.args.get("first")
    keys = [values.ordered(item, flip=last) for item in order.expressions]
    value = values.value(inner.this)
    keys.append(exp.Ordered(this=value.node.copy(), desc=isinstance(inner, exp.Max), nulls_first=False))
    array = exp.Anonymous(this="ARRAY_AGG", expressions=[exp.Order(this=value.node, expressions=keys)])
    first = exp.Bracket(this=exp.Paren(this=array), expressions=[exp.Literal.number(0)])
    return Value(first, value.kind)


def _arithmetic(values: ValueBuilder, node: exp.Binary) -> Value:
    only(node, "this", "expression")
    first, second = values.value(node.this), values.value(node.expression)
    if {first.kind, second.kind} & TIMES:
        raise UntranslatableError("date arithmetic")
    left, right = as_number(first).node, as_number(second).node
    return Value(type(node)(this=left, expression=right), "number")


def _of_number(values: ValueBuilder, node: exp.Expr) -> Value:
    only(node, "this")
    return Value(type(node)(this=values.number(node.this)), "number")


def _round(values: ValueBuilder, node: exp.Round) -> Value:
    only(node, "this", "decimals")
    digits = node.args.get("decimals") or exp.Literal.number(0)
    if not isinstance(digits, exp.Literal) or not digits.name.isdecimal():
        raise UntranslatableError("ROUND to digits that are not constant")
    # Only numeric rounds halves away from zero as NUMBER does; double precision would not.
    decimals = exp.Literal.number(digits.name)
    return Value(exp.Round(this=numeric(values.number(node.this)), decimals=decimals), "number")


def _to_number(values: ValueBuilder, node: exp.ToNumber) -> Value:
    only(node, "this")
    return as_number(values.value(node.this))


def _cast(values: ValueBuilder, node: exp.Cast) -> Value:
    only(node, "this", "to")
    target = oracle_type(node.to)
    name = target.postgres()
    if target.family != "number" or name is None:
        raise UntranslatableError(f"CAST to {target.text}")
    kind = exp.DataType.build(name, dialect="postgres")
    return Value(exp.Cast(this=numeric(values.number(node.this)), to=kind), "number")


def _coalesce(values: ValueBuilder, node: exp.Coalesce) -> Value:
    only(node, "this", "expressions", "is_nvl")
    parts = [values.value(item) for item in (node.this, *node.expressions)]
    first, *others = (part.node for part in parts)
    return Value(exp.Coalesce(this=first, expressions=others), _branches(parts))


def _case(values: ValueBuilder, node: exp.Case) -> Value:
    only(node, "ifs", "default")
    branches = [values.value(item.args["true"]) for item in node.args["ifs"]]
    conditions = [values.condition(item.this) for item in node.args["ifs"]]
    default = values.value(node.args["default"]) if node.args.get("default") else None
    kind = _branches([*branches, *([default] if default else [])])
    ifs = [exp.If(this=test, true=value.node) for test, value in zip(conditions, branches, strict=True)]
    return Value(exp.Case(ifs=ifs, default=default.node if default else None), kind)


def _length(values: ValueBuilder, node: exp.Length) -> Value:
    only(node, "this")
    return Value(exp.Length(this=values.plain_text(node.this)), "number")


def _substring(values: ValueBuilder, node: exp.Substring) -> Value:
    only(node, "this", "start", "length")
    bounds = []
    for bound in (node.args.get("start"), node.args.get("length")):
        if bound is not None and not (isinstance(bound, exp.Literal) and bound.name.strip("0").isdecimal()):
            raise UntranslatableError("SUBSTR with a start or length that is not a plain positive number")
        bounds.append(None if bound is None else exp.Literal.number(bound.name))
    piece = exp.Substring(this=values.plain_text(node.this), start=bounds[0], length=bounds[1])
    return Value(_null_if_empty(piece), "text")


def _concatenate(values: ValueBuilder, node: exp.DPipe) -> Value:
    only(node, "this", "expression", "safe")
    parts = [values.plain_text(node.this), values.plain_text(node.expression)]
    # CONCAT passes over NULL, as Oracle's || does; an empty result is NULL to Oracle.
    return Value(_null_if_empty(exp.Anonymous(this="CONCAT", expressions=parts)), "text")


def _extract(values: ValueBuilder, node: exp.Extract) -> Value:
    only(node, "this", "expression")
    value, part = values.value(node.expression), node.this.name.upper()
    if value.kind not in _EXTRACTS.get(part, frozenset()):
        raise UntranslatableError(f"EXTRACT({part}) of {value.kind}")
    return Value(numeric(exp.Extract(this=exp.Var(this=part), expression=value.node)), "number")


def _to_char(values: ValueBuilder, node: exp.ToChar) -> Value:
    only(node, "this", "format")
    value, pattern = values.value(node.this), node.args.get("format")
    if value.kind not in TIMES or pattern is None or pattern.name.upper() not in _TO_CHAR_FORMATS:
        raise UntranslatableError(f"TO_CHAR of {value.kind} in an unproven format")
    parts = [value.node, exp.Literal.string(pattern.name.upper())]
    call = exp.Anonymous(this="TO_CHAR", expressions=parts)
    return Value(exp.Collate(this=call, expression=exp.to_identifier("C", quoted=True)), "text")


def _moment(_: ValueBuilder, node: exp.Expr) -> Value:
    """``TO_DATE('…', '…')``, ``TO_TIMESTAMP('…', '…')``, ``DATE '…'`` and ``TIMESTAMP '…'``."""
    only(node, "this", "format")
    text, pattern = node.this, node.args.get("format", exp.Literal.string("%Y-%m-%d"))
    if not isinstance(text, exp.Literal) or not isinstance(pattern, exp.Literal):
        raise UntranslatableError("TO_DATE of something that is not constant")
    return _constant_moment(text.name, pattern.name)


def _clock(_: ValueBuilder, node: exp.Expr) -> Value:
    raise UntranslatableError(f"{shown(node)}, which depends on the clock")


def _branches(values: Iterable[Value]) -> Kind:
    kind: Kind = "null"
    for value in values:
        if value.kind == "char":
            raise UntranslatableError("CHAR mixed into an expression, where the padding counts")
        kind = same_kind(kind, value.kind)
    return kind


def _constant_moment(text: str, pattern: str) -> Value:
    if pattern not in _TO_DATE_FORMATS:
        raise UntranslatableError("TO_DATE in an unproven format")
    if "." not in text:
        pattern = pattern.removesuffix(".%f")
    try:
        moment = datetime.strptime(text.strip(" "), pattern)  # noqa: DTZ007 (Oracle's DATE has no zone)
    except ValueError:
        raise UntranslatableError(f"the date {text!r}") from None
    node = exp.Cast(this=exp.Literal.string(moment.isoformat(" ")), to=exp.DataType.build("TIMESTAMP"))
    return Value(node, "timestamp")


def _null_if_empty(node: exp.Expr) -> exp.Expr:
    return exp.Nullif(this=node, expression=exp.Literal.string(""))


def _division(_: ValueBuilder, __: exp.Expr) -> Value:
    raise UntranslatableError("a division, whose last digits differ")


FUNCTIONS: dict[type[exp.Expr], Callable[[ValueBuilder, Any], Value]] = {
    exp.Window: _keep,
    exp.Add: _arithmetic,
    exp.Sub: _arithmetic,
    exp.Mul: _arithmetic,
    exp.Div: _division,
    exp.Neg: _of_number,
    exp.Abs: _of_number,
    exp.Round: _round,
    exp.ToNumber: _to_number,
    exp.Cast: _cast,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
    exp.Length: _length,
    exp.Substring: _substring,
    exp.DPipe: _concatenate,
    exp.Extract: _extract,
    exp.ToChar: _to_char,
    exp.StrToDate: _moment,
    exp.StrToTime: _moment,
    exp.DateStrToDate: _moment,
    exp.CurrentTimestamp: _clock,
    exp.CurrentDate: _clock,
}
"""Functions and operators by exact node type."""
