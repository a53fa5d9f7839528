"""Values and conditions of a gold query, built for PostgreSQL (see ``translation``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from sqlglot import exp

from pytest_plsqlbench.datasets.plsqlbench.gold_query import UntranslatableError
from pytest_plsqlbench.datasets.spider.functions import FUNCTIONS
from pytest_plsqlbench.datasets.spider.types import (
    Kind,
    Value,
    align,
    as_number,
    literal,
    only,
    ordered,
    shown,
)


class Names(Protocol):
    """What the values of a query may refer to."""

    def column(self, node: exp.Column) -> Value:
        """Bind a column."""
        ...

    def rows(self, node: exp.Expr) -> tuple[exp.Query, tuple[Kind, ...]]:
        """Build a subquery that sees the columns around it."""
        ...


class ValueBuilder:
    """Builds values and conditions over the names of one query."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._in_aggregate = False

    # ---- conditions ------------------------------------------------------------------------------

    def condition(self, node: exp.Expr) -> exp.Expr:
        """Build a condition.

        Raises:
            UntranslatableError: nothing here builds it.
        """
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
                raise UntranslatableError(f"the condition {shown(node)}")

    def _compare(self, make: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
        first, second = align(self._operand(left), self._operand(right))
        return make(this=first.node, expression=second.node)

    def _operand(self, node: exp.Expr) -> Value:
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
            raise UntranslatableError(f"{shown(node)} of {inner.kind}")
        return Value(type(node)(this=inner.node), "folded", padded=inner.kind == "char")

    def _like(self, node: exp.Expr) -> exp.Expr:
        like = node.this if isinstance(node, exp.Escape) else node
        if not isinstance(like, exp.Like):
            raise UntranslatableError(f"the condition {shown(node)}")
        only(like, "this", "expression", "negate")
        built = self._pattern(like)
        if isinstance(node, exp.Escape):
            only(node, "this", "expression")
            if not isinstance(node.expression, exp.Literal) or len(node.expression.name) != 1:
                raise UntranslatableError("LIKE with an odd ESCAPE")
            built = exp.Escape(this=built, expression=exp.Literal.string(node.expression.name))
        elif "\\" in built.expression.name:
            # A backslash escapes in PostgreSQL unless told otherwise; to Oracle it is plain text.
            built = exp.Escape(this=built, expression=exp.Literal.string(""))
        return exp.Not(this=built) if like.args.get("negate") else built

    def _pattern(self, like: exp.Like) -> exp.Expr:
        value, pattern = self._operand(like.this), self._operand(like.expression)
        text = pattern.constant
        if text is None:
            raise UntranslatableError("LIKE with a pattern that is not constant")
        if value.kind not in {"text", "char", "folded"} or value.constant is not None:
            raise UntranslatableError(f"LIKE on {value.kind}")
        if value.kind == "folded" and not text.isascii():
            raise UntranslatableError("UPPER or LOWER compared with something other than an ASCII constant")
        # The padding of CHAR must not decide: by a blank, a _, or where the pattern ends.
        if (value.kind == "char" or value.padded) and (not text.endswith("%") or set(text) & {" ", "_"}):
            raise UntranslatableError("LIKE on CHAR, where the padding counts")
        return exp.Like(this=value.node, expression=exp.Literal.string(text))

    def _in(self, node: exp.In) -> exp.Expr:
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
        column = exp.column(_name("c"), _name("q"))
        first, second = align(left, Value(column, kinds[0]))
        if second.node is not column:
            # The subquery's values are converted one by one, outside of it.
            source = exp.Subquery(this=query, alias=exp.TableAlias(this=_name("q"), columns=[_name("c")]))
            query = exp.Select(expressions=[second.node])
            query.set("from_", exp.From(this=source))
        return exp.In(this=first.node, query=exp.Subquery(this=query))

    # ---- values ----------------------------------------------------------------------------------

    def value(self, node: exp.Expr) -> Value:
        """Build a value.

        Raises:
            UntranslatableError: nothing here builds it.
        """
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
            case exp.Count() | exp.Sum() | exp.Avg() | exp.Min() | exp.Max():
                return self._aggregate(node)
        build = FUNCTIONS.get(type(node))
        if build is None:
            raise UntranslatableError(f"the expression {shown(node)}")
        return build(self, node)

    def ordered(self, node: exp.Expr, *, flip: bool = False) -> exp.Ordered:
        """Build a sort key; ``flip`` turns it round, NULLs too."""
        return ordered(self.value(node.this).node, node, flip=flip)

    def number(self, node: exp.Expr) -> exp.Expr:
        """Build a value that Oracle uses as a number; text is converted as Oracle would."""
        return as_number(self.value(node)).node

    def plain_text(self, node: exp.Expr) -> exp.Expr:
        """Build a value that Oracle uses as text; only VARCHAR2 and CLOB are taken."""
        value = self.value(node)
        if value.kind not in {"text", "null"}:
            raise UntranslatableError(f"{value.kind} used as text")
        return value.node

    def _aggregate(self, node: exp.Expr) -> Value:
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
        if isinstance(node, exp.Sum | exp.Avg):
            value = as_number(value)
        if value.kind == "null" or value.constant is not None:
            raise UntranslatableError("an aggregate of a text or NULL constant")
        inner = exp.Distinct(expressions=[value.node]) if distinct else value.node
        return Value(type(node)(this=inner), "number" if isinstance(node, exp.Count) else value.kind)


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _any(conditions: Iterable[exp.Expr]) -> exp.Expr:
    joined: exp.Expr | None = None
    for condition in conditions:
        joined = condition if joined is None else exp.Or(this=joined, expression=condition)
    if joined is None:
        raise UntranslatableError("IN an empty list")
    return exp.Paren(this=joined)
