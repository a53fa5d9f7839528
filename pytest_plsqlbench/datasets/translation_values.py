"""Values and conditions of a gold query, built for PostgreSQL (see ``translation``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal, Protocol

from sqlglot import exp

from pytest_plsqlbench.datasets.gold_query import UntranslatableError
from pytest_plsqlbench.datasets.oracle_types import oracle_type

Kind = Literal["number", "text", "char", "date", "timestamp", "null", "folded"]
"""What a value is to Oracle's comparison rules. ``char``: blank-padded text; ``folded``: UPPER or LOWER of text,
good for comparisons with ASCII constants only, since the two systems map other letters differently."""

_TIMES: frozenset[Kind] = frozenset({"date", "timestamp"})

_EXTRACTS = {
    "YEAR": _TIMES,
    "MONTH": _TIMES,
    "DAY": _TIMES,
    "HOUR": frozenset({"timestamp"}),
    "MINUTE": frozenset({"timestamp"}),
}
_TO_CHAR_FORMATS = frozenset(
    {"YYYY", "MM", "DD", "YYYY-MM", "YYYY-MM-DD", "HH24", "MI", "SS", "YYYY-MM-DD HH24:MI:SS"}
)
_TO_DATE_FORMATS = frozenset(
    {"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%d", "%m/%d/%Y", "%d-%m-%Y"}
)


@dataclass(frozen=True, slots=True)
class Value:
    """A built value."""

    node: exp.Expression
    kind: Kind
    constant: str | None = None
    """Text of a string literal. Oracle's literals are CHAR, but compare like VARCHAR2 with a VARCHAR2 column."""
    padded: bool = False
    """Of ``folded``: it is CHAR."""


class Names(Protocol):
    """What the values of a query may refer to."""

    def column(self, node: exp.Column) -> Value:
        """Bind a column."""
        ...

    def rows(self, node: exp.Expression) -> tuple[exp.Query, tuple[Kind, ...]]:
        """Build a subquery that sees the columns around it."""
        ...


def only(node: exp.Expression, *names: str) -> None:
    """Refuse a node that carries an argument besides these: whatever it says would be lost."""
    for name, argument in node.args.items():
        if name not in names and argument not in (None, False, []):
            raise UntranslatableError(f"{type(node).__name__} with {name.rstrip('_')}")


def same_kind(first: Kind, second: Kind) -> Kind:
    """The kind of a column that two set operands, or two branches, fill.

    Raises:
        UntranslatableError: Oracle refuses the pair, or pads one side.
    """
    if first == second or second == "null":
        return first
    if first == "null":
        return second
    raise UntranslatableError(f"{first} and {second} in one column")


class ValueBuilder:
    """Builds values and conditions over the names of one query."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._in_aggregate = False

    # ---- conditions ------------------------------------------------------------------------------------------

    def condition(self, node: exp.Expression) -> exp.Expression:
        """Build a condition."""
        match node:
            case exp.And() | exp.Or():
                only(node, "this", "expression")
                return type(node)(this=self.condition(node.this), expression=self.condition(node.expression))
            case exp.Not() | exp.Paren():
                only(node, "this")
                return type(node)(this=self.condition(node.this))
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                only(node, "this", "expression")
                return self._compare(type(node), node.this, node.expression)
            case exp.Between():
                only(node, "this", "low", "high")
                low = self._compare(exp.GTE, node.this, node.args["low"])
                high = self._compare(exp.LTE, node.this, node.args["high"])
                return exp.Paren(this=exp.And(this=low, expression=high))
            case exp.Is():
                only(node, "this", "expression")
                if not isinstance(node.expression, exp.Null):
                    raise UntranslatableError("IS with something other than NULL")
                return exp.Is(this=self.value(node.this).node, expression=exp.Null())
            case exp.Exists():
                only(node, "this")
                return exp.Exists(this=self._names.rows(node.this)[0])
            case exp.Like() | exp.Escape():
                return self._like(node)
            case exp.In():
                return self._in(node)
            case _:
                raise UntranslatableError(f"the condition {_shown(node)}")

    def _compare(
        self, make: type[exp.Expression], left: exp.Expression, right: exp.Expression
    ) -> exp.Expression:
        first, second = align(self._operand(left), self._operand(right))
        return make(this=first.node, expression=second.node)

    def _operand(self, node: exp.Expression) -> Value:
        """A value on one side of a comparison, where UPPER and LOWER may stand too."""
        if isinstance(node, exp.Paren):
            return self._operand(node.this)
        if not isinstance(node, exp.Upper | exp.Lower):
            return self.value(node)
        only(node, "this")
        inner = self.value(node.this)
        if inner.constant is not None and inner.constant.isascii():
            folded = inner.constant.upper() if isinstance(node, exp.Upper) else inner.constant.lower()
            return Value(exp.Literal.string(folded), "text", folded)
        if inner.kind not in {"text", "char"}:
            raise UntranslatableError(f"{_shown(node)} of {inner.kind}")
        return Value(type(node)(this=inner.node), "folded", padded=inner.kind == "char")

    def _like(self, node: exp.Expression) -> exp.Expression:
        like = node.this if isinstance(node, exp.Escape) else node
        if not isinstance(like, exp.Like):
            raise UntranslatableError(f"the condition {_shown(node)}")
        only(like, "this", "expression", "negate")
        if isinstance(node, exp.Escape):
            only(node, "this", "expression")
        built = self._like_pattern(node, like)
        return exp.Not(this=built) if like.args.get("negate") else built

    def _like_pattern(self, node: exp.Expression, like: exp.Like) -> exp.Expression:
        value, pattern = self._operand(like.this), self._operand(like.expression)
        text = pattern.constant
        if text is None:
            raise UntranslatableError("LIKE with a pattern that is not constant")
        match value.kind:
            case "text":
                pass
            case "folded" if text.isascii() and not value.padded:
                pass
            case "char" | "folded" if text.isascii() and text.endswith("%") and not set(text) & {" ", "_"}:
                pass  # the padding cannot decide
            case _:
                raise UntranslatableError(f"LIKE on {value.kind}")
        built = exp.Like(this=value.node, expression=exp.Literal.string(text))
        if isinstance(node, exp.Escape):
            escape = node.expression
            if not isinstance(escape, exp.Literal) or len(escape.name) != 1:
                raise UntranslatableError("LIKE with an odd ESCAPE")
            return exp.Escape(this=built, expression=exp.Literal.string(escape.name))
        # A backslash escapes in PostgreSQL unless told otherwise; in Oracle it is a character like others.
        return exp.Escape(this=built, expression=exp.Literal.string("")) if "\\" in text else built

    def _in(self, node: exp.In) -> exp.Expression:
        only(node, "this", "expressions", "query")
        left = self._operand(node.this)
        if not node.args.get("query"):
            pairs = [align(left, self._operand(item)) for item in node.expressions]
            if all(first.node == pairs[0][0].node for first, _ in pairs):
                return exp.In(this=pairs[0][0].node, expressions=[second.node for _, second in pairs])
            return _any(exp.EQ(this=first.node.copy(), expression=second.node) for first, second in pairs)
        query, kinds = self._names.rows(node.args["query"])
        if len(kinds) != 1:
            raise UntranslatableError("IN with a subquery of several columns")
        column = exp.column(exp.to_identifier("c", quoted=True), exp.to_identifier("q", quoted=True))
        first, second = align(left, Value(column, kinds[0]))
        if second.node is not column:
            name = exp.TableAlias(
                this=exp.to_identifier("q", quoted=True), columns=[exp.to_identifier("c", quoted=True)]
            )
            query = exp.Select(expressions=[second.node])
            query.set(
                "from_", exp.From(this=exp.Subquery(this=self._names.rows(node.args["query"])[0], alias=name))
            )
        return exp.In(this=first.node, query=exp.Subquery(this=query))

    # ---- values ----------------------------------------------------------------------------------------------

    def value(self, node: exp.Expression) -> Value:
        """Build a value."""
        match node:
            case exp.Column():
                return self._names.column(node)
            case exp.Literal():
                return literal(node)
            case exp.Null():
                return Value(exp.Null(), "null")
            case exp.Paren():
                only(node, "this")
                inner = self.value(node.this)
                return Value(exp.Paren(this=inner.node), inner.kind, inner.constant)
            case exp.Subquery():
                only(node, "this")
                query, kinds = self._names.rows(node.this)
                if len(kinds) != 1:
                    raise UntranslatableError("a scalar subquery of several columns")
                return Value(exp.Subquery(this=query), kinds[0])
            case exp.AggFunc():
                return self._aggregate(node)
            case exp.Window():
                return self._keep(node)
            case _:
                return self._function(node)

    def number(self, node: exp.Expression) -> exp.Expression:
        """Build a value that Oracle uses as a number; text is converted as Oracle would."""
        return as_number(self.value(node)).node

    def _aggregate(self, node: exp.Expression) -> Value:
        if not isinstance(node, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max):
            raise UntranslatableError(f"the aggregate {_shown(node)}")
        only(node, "this", "big_int")
        if self._in_aggregate:
            raise UntranslatableError("an aggregate of an aggregate")
        argument = node.this
        distinct = isinstance(argument, exp.Distinct)
        if distinct:
            only(argument, "expressions")
            if len(argument.expressions) != 1:
                raise UntranslatableError("DISTINCT over several columns in an aggregate")
            argument = argument.expressions[0]
        if isinstance(node, exp.Count) and isinstance(argument, exp.Star):
            return Value(exp.Count(this=exp.Star()), "number")
        self._in_aggregate = True
        try:
            value = self.value(argument)
        finally:
            self._in_aggregate = False
        kind: Kind = "number" if isinstance(node, exp.Count) else value.kind
        if isinstance(node, exp.Sum | exp.Avg):
            value = as_number(value)
            kind = "number"
        if kind == "null":
            raise UntranslatableError("an aggregate of NULL")
        inner = exp.Distinct(expressions=[value.node]) if distinct else value.node
        return Value(type(node)(this=inner), kind)

    def _keep(self, node: exp.Window) -> Value:
        """``MAX(x) KEEP (DENSE_RANK LAST ORDER BY k)``: of the rows last in k, the greatest x that is not NULL."""
        only(node, "this", "order", "alias", "over", "first")
        alias = node.args.get("alias")
        order = node.args.get("order")
        if (
            node.args.get("over") != "KEEP"
            or alias is None
            or alias.name.upper() != "DENSE_RANK"
            or order is None
        ):
            raise UntranslatableError("a window function")
        inner = node.this
        if not isinstance(inner, exp.Max | exp.Min):
            raise UntranslatableError(f"KEEP with {_shown(inner)}")
        only(inner, "this")
        only(order, "expressions")
        last = not node.args.get("first")
        keys = [self.ordered(item, flip=last) for item in order.expressions]
        value = self.value(inner.this)
        keys.append(exp.Ordered(this=value.node.copy(), desc=isinstance(inner, exp.Max), nulls_first=False))
        array = exp.Anonymous(this="ARRAY_AGG", expressions=[exp.Order(this=value.node, expressions=keys)])
        return Value(exp.Bracket(this=exp.Paren(this=array), expressions=[exp.Literal.number(0)]), value.kind)

    def ordered(self, node: exp.Expression, *, flip: bool = False) -> exp.Ordered:
        """Build a sort key; ``flip`` turns it round, NULLs too."""
        only(node, "this", "desc", "nulls_first")
        return ordered(self.value(node.this).node, node, flip=flip)

    def _function(self, node: exp.Expression) -> Value:
        match node:
            case exp.Add() | exp.Sub() | exp.Mul():
                only(node, "this", "expression")
                first, second = self.value(node.this), self.value(node.expression)
                if {first.kind, second.kind} & _TIMES:
                    raise UntranslatableError("date arithmetic")
                left, right = as_number(first).node, as_number(second).node
                return Value(type(node)(this=left, expression=right), "number")
            case exp.Neg():
                only(node, "this")
                return Value(exp.Neg(this=self.number(node.this)), "number")
            case exp.Abs():
                only(node, "this")
                return Value(exp.Abs(this=self.number(node.this)), "number")
            case exp.Round():
                only(node, "this", "decimals")
                digits = node.args.get("decimals") or exp.Literal.number(0)
                if not isinstance(digits, exp.Literal) or not digits.name.isdecimal():
                    raise UntranslatableError("ROUND to digits that are not constant")
                # Only numeric rounds halves away from zero as NUMBER does; double precision would not.
                rounded = exp.Round(
                    this=_numeric(self.number(node.this)), decimals=exp.Literal.number(digits.name)
                )
                return Value(rounded, "number")
            case exp.ToNumber():
                only(node, "this")
                return as_number(self.value(node.this))
            case exp.Cast():
                return self._cast(node)
            case exp.Coalesce():
                only(node, "this", "expressions", "is_nvl")
                values = [self.value(item) for item in (node.this, *node.expressions)]
                kind = _branches(values)
                return Value(
                    exp.Coalesce(this=values[0].node, expressions=[v.node for v in values[1:]]), kind
                )
            case exp.Case():
                return self._case(node)
            case exp.Length():
                only(node, "this")
                return Value(exp.Length(this=self._plain_text(node.this)), "number")
            case exp.Substring():
                return self._substring(node)
            case exp.DPipe():
                only(node, "this", "expression", "safe")
                parts = [self._plain_text(node.this), self._plain_text(node.expression)]
                # CONCAT passes over NULL, as Oracle's || does; an empty result is NULL to Oracle.
                joined = exp.Anonymous(this="CONCAT", expressions=parts)
                return Value(_null_if_empty(joined), "text")
            case _:
                return self._time(node)

    def _plain_text(self, node: exp.Expression) -> exp.Expression:
        value = self.value(node)
        if value.kind not in {"text", "null"}:
            raise UntranslatableError(f"{value.kind} used as text")
        return value.node

    def _cast(self, node: exp.Cast) -> Value:

        only(node, "this", "to")
        target = oracle_type(node.to)
        if target.family != "number":
            raise UntranslatableError(f"CAST to {target.text}")
        kind = exp.DataType.build(target.postgres() or "", dialect="postgres")
        return Value(exp.Cast(this=_numeric(self.number(node.this)), to=kind), "number")

    def _case(self, node: exp.Case) -> Value:
        only(node, "ifs", "default")
        branches = [self.value(item.args["true"]) for item in node.args["ifs"]]
        conditions = [self.condition(item.this) for item in node.args["ifs"]]
        default = self.value(node.args["default"]) if node.args.get("default") else None
        kind = _branches([*branches, *([default] if default else [])])
        ifs = [exp.If(this=test, true=value.node) for test, value in zip(conditions, branches, strict=True)]
        return Value(exp.Case(ifs=ifs, default=default.node if default else None), kind)

    def _substring(self, node: exp.Substring) -> Value:
        only(node, "this", "start", "length")
        bounds = [node.args.get("start"), node.args.get("length")]
        if any(
            b is not None and not (isinstance(b, exp.Literal) and b.name.isdecimal() and int(b.name))
            for b in bounds
        ):
            raise UntranslatableError("SUBSTR with a start or length that is not a plain positive number")
        start, length = (exp.Literal.number(b.name) if b is not None else None for b in bounds)
        piece = exp.Substring(this=self._plain_text(node.this), start=start, length=length)
        return Value(_null_if_empty(piece), "text")

    def _time(self, node: exp.Expression) -> Value:
        match node:
            case exp.DateStrToDate() if isinstance(node.this, exp.Literal):
                return _moment(node.this.name, "%Y-%m-%d")
            case exp.StrToDate() | exp.StrToTime():
                only(node, "this", "format")
                text, pattern = node.this, node.args.get("format")
                if not isinstance(text, exp.Literal) or not isinstance(pattern, exp.Literal):
                    raise UntranslatableError("TO_DATE of something that is not constant")
                return _moment(text.name, pattern.name)
            case exp.Extract():
                only(node, "this", "expression")
                value, part = self.value(node.expression), node.this.name.upper()
                if value.kind not in _EXTRACTS.get(part, frozenset()):
                    raise UntranslatableError(f"EXTRACT({part}) of {value.kind}")
                return Value(_numeric(exp.Extract(this=exp.Var(this=part), expression=value.node)), "number")
            case exp.ToChar():
                only(node, "this", "format")
                value, pattern = self.value(node.this), node.args.get("format")
                if (
                    value.kind not in _TIMES
                    or pattern is None
                    or pattern.name.upper() not in _TO_CHAR_FORMATS
                ):
                    raise UntranslatableError(f"TO_CHAR of {value.kind} in an unproven format")
                call = exp.Anonymous(
                    this="TO_CHAR", expressions=[value.node, exp.Literal.string(pattern.name.upper())]
                )
                return Value(_binary(call), "text")
            case exp.CurrentTimestamp() | exp.CurrentDate():
                raise UntranslatableError("it depends on the clock")
            case _:
                raise UntranslatableError(f"the expression {_shown(node)}")


def literal(node: exp.Literal) -> Value:
    """A number or text constant; empty text is NULL."""
    if not node.is_string:
        if _decimal(node.name) is None:
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
    if "null" in {first.kind, second.kind}:
        return first, second
    if "folded" in {first.kind, second.kind}:
        other = second if first.kind == "folded" else first
        if other.constant is None or not other.constant.isascii():
            raise UntranslatableError("UPPER or LOWER compared with something other than an ASCII constant")
        if not first.padded and not second.padded:
            return first, second
        return (first, _unpadded(second)) if first.kind == "folded" else (_unpadded(first), second)
    if first.constant is not None and second.constant is not None:
        raise UntranslatableError("two constants compared as text")
    kinds = {first.kind, second.kind}
    if first.constant is not None or second.constant is not None:
        return _with_constant(first, second)
    if len(kinds) == 1 or kinds == _TIMES:
        return first, second
    if kinds in ({"number", "text"}, {"number", "char"}):
        return as_number(first), as_number(second)
    if kinds == {"char", "text"}:
        raise UntranslatableError("CHAR compared with VARCHAR2, where the padding counts")
    raise UntranslatableError(f"{first.kind} compared with {second.kind}")


def _with_constant(first: Value, second: Value) -> tuple[Value, Value]:
    value, constant = (second, first) if first.constant is not None else (first, second)
    match value.kind:
        case "text":
            return first, second
        case "number":
            return as_number(first), as_number(second)
        case "char":
            constant = _unpadded(constant)
            return (constant, value) if first.constant is not None else (value, constant)
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
        text = value.constant.strip(" ")
        if _decimal(text) is None:
            raise UntranslatableError(f"the text {value.constant!r} used as a number")
        return Value(exp.Literal.number(text), "number")
    if value.kind not in {"text", "char"}:
        raise UntranslatableError(f"{value.kind} used as a number")
    return Value(_numeric(value.node), "number")


def ordered(built: exp.Expression, source: exp.Expression, *, flip: bool = False) -> exp.Ordered:
    """A sort key over a built value, with the direction of the source's key."""
    descending, nulls_first = bool(source.args.get("desc")), bool(source.args.get("nulls_first"))
    return exp.Ordered(this=built, desc=descending != flip, nulls_first=nulls_first != flip)


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text) if text.isascii() and "_" not in text else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None


def _branches(values: Iterable[Value]) -> Kind:
    kind: Kind = "null"
    for value in values:
        if value.kind == "char":
            raise UntranslatableError("CHAR mixed into an expression, where the padding counts")
        kind = same_kind(kind, value.kind)
    return kind


def _moment(text: str, pattern: str) -> Value:
    if pattern not in _TO_DATE_FORMATS:
        raise UntranslatableError("TO_DATE in an unproven format")
    if pattern.endswith(".%f") and "." not in text:
        pattern = pattern.removesuffix(".%f")
    try:
        moment = datetime.strptime(text.strip(" "), pattern)  # noqa: DTZ007 (Oracle's DATE has no zone)
    except ValueError:
        raise UntranslatableError(f"the date {text!r}") from None
    node = exp.Cast(this=exp.Literal.string(moment.isoformat(" ")), to=exp.DataType.build("TIMESTAMP"))
    return Value(node, "timestamp")


def _numeric(node: exp.Expression) -> exp.Expression:
    return exp.Cast(this=node, to=exp.DataType.build("DECIMAL"))


def _binary(node: exp.Expression) -> exp.Expression:
    return exp.Collate(this=node, expression=exp.to_identifier("C", quoted=True))


def _null_if_empty(node: exp.Expression) -> exp.Expression:
    return exp.Nullif(this=node, expression=exp.Literal.string(""))


def _any(conditions: Iterable[exp.Expression]) -> exp.Expression:
    joined: exp.Expression | None = None
    for condition in conditions:
        joined = condition if joined is None else exp.Or(this=joined, expression=condition)
    if joined is None:
        raise UntranslatableError("IN an empty list")
    return exp.Paren(this=joined)


def _shown(node: exp.Expression) -> str:
    text = node.sql("oracle").split("(", 1)[0].strip()
    return text if text and len(text) < 40 and text.replace("_", "").isalnum() else type(node).__name__
