"""Gold queries from Oracle's SQL to PostgreSQL's, exactly or not at all.

The PostgreSQL query is built anew from the parsed one, node by node. Only node types and arguments that have
a builder can get through, so nothing is carried over that was not thought of. The claim of each builder:
where Oracle returns rows, PostgreSQL returns the same rows over the same data, or raises. All else raises
``UntranslatableError`` with the reason. docs/spider.md lists what is translated, and why it is equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sqlglot import exp

from pytest_plsqlbench.datasets.plsqlbench.gold_query import (
    Cut,
    GoldQuery,
    UntranslatableError,
    cut_of,
    output_position,
)
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import (
    Family,
    exact_name,
    fits_postgres,
    postgres_name,
)
from pytest_plsqlbench.datasets.plsqlbench.schema import Table, postgres_problem
from pytest_plsqlbench.datasets.spider.scopes import Built, Scope
from pytest_plsqlbench.datasets.spider.types import ColumnKind, Kind, Value, only, ordered, same_column
from pytest_plsqlbench.datasets.spider.values import ValueBuilder

_KINDS: dict[Family, Kind] = {
    "number": "number",
    "varchar": "text",
    "clob": "text",
    "char": "char",
    "date": "date",
    "timestamp": "timestamp",
}

_SELECT_PARTS = (
    *("expressions", "from_", "joins", "where", "group", "having", "distinct", "order", "limit"),
    "hint",  # hints do not change rows
)
_PSEUDO_COLUMNS = frozenset({"ROWNUM", "LEVEL", "ROWID"})


@dataclass(frozen=True, slots=True)
class PostgresGold:
    """A gold query in PostgreSQL's SQL."""

    sql: str
    """Shown columns first, then the hidden sort keys; column names are unique."""
    with_ties: str | None
    """The same without arbitrary cuts: more rows than ``sql`` has mean that a cut chose among equals."""
    columns: tuple[str, ...]
    """Names of the shown columns."""


def to_postgres(gold: GoldQuery) -> PostgresGold:
    """Translate a gold query.

    Raises:
        UntranslatableError: it, or a table it reads, has no proven equal in PostgreSQL.
    """
    for table in gold.tables:
        if problem := postgres_problem(table):
            raise UntranslatableError(problem)
    return _Translation(gold).run()


@dataclass(slots=True)
class _Translation:
    """One run over one gold query."""

    gold: GoldQuery
    probes: list[str] = field(default_factory=list)
    """Queries that return a row where an inner cut chose among equals."""

    def run(self) -> PostgresGold:
        tree = self.gold.tree
        ctes: dict[str, dict[str, ColumnKind]] = {}
        definitions = self._definitions(tree, ctes)
        scope = Scope(None, ctes)
        built = self.build(tree, scope, hidden=self.gold.hidden)
        order = self._order_by_position()
        body = built.query
        if order is not None:
            body.set("order", order)
        prefix = f"WITH {', '.join(_sql(d) for d in definitions)} " if definitions else ""
        cut = self.gold.cut
        loose = body.copy()
        if cut is not None:
            body.set("limit", _fetch(Cut(cut.count, cut.ties and order is not None)))
            if order is not None:
                loose.set("limit", _fetch(Cut(cut.count, ties=True)))
        sql = prefix + _sql(body)
        with_ties = None
        if self.probes:
            with_ties = prefix + _with_probes(_sql(loose), _sql(body), self.probes)
        elif cut is not None and not cut.ties:
            with_ties = prefix + _sql(loose)
        return PostgresGold(sql, with_ties, built.emitted[: self.gold.columns])

    def _definitions(self, tree: exp.Query, ctes: dict[str, dict[str, ColumnKind]]) -> list[exp.CTE]:
        clause = tree.args.get("with_")
        if clause is None:
            return []
        only(clause, "expressions")
        definitions = []
        for cte in clause.expressions:
            only(cte, "this", "alias")
            only(cte.args["alias"], "this")
            name = exact_name(cte.args["alias"].this)
            built = self.build(cte.this, Scope(None, dict(ctes)))
            ctes[name] = built.columns()
            definitions.append(exp.CTE(this=built.query, alias=exp.TableAlias(this=_identifier(name))))
        return definitions

    def _order_by_position(self) -> exp.Order | None:
        if not self.gold.ordered:
            return None
        order = self.gold.tree.args["order"]
        keys, hidden = [], self.gold.columns
        for item in order.expressions:
            position = output_position(item.this, self.gold.tree)
            if position is None:
                position, hidden = hidden, hidden + 1
            keys.append(ordered(exp.Literal.number(position + 1), item))
        return exp.Order(expressions=keys)

    # ---- queries ---------------------------------------------------------------------------------

    def build(self, node: exp.Expr, scope: Scope, *, hidden: Iterable[exp.Expr] | None = None) -> Built:
        """Build a query; ``hidden`` (not None) marks the outermost one, whose order and cut are set apart."""
        outermost = hidden is not None
        match node:
            case exp.Subquery():
                only(node, "this")
                return self.build(node.this, scope, hidden=hidden)
            case exp.Select():
                return self._select(node, scope, tuple(hidden or ()), outermost=outermost)
            case exp.SetOperation():
                return self._set_operation(node, scope, outermost=outermost)
            case _:
                raise UntranslatableError(f"the query {type(node).__name__}")

    def _set_operation(self, node: exp.SetOperation, scope: Scope, *, outermost: bool) -> Built:
        only(node, "this", "expression", "distinct", "order", "limit", *(["with_"] if outermost else []))
        inner = [Scope(scope.parent, scope.ctes), Scope(scope.parent, scope.ctes)]
        first, second = (
            self.build(side, names) for side, names in zip((node.this, node.expression), inner, strict=True)
        )
        scope.correlated = any(names.correlated for names in inner)
        if len(first.kinds) != len(second.kinds):
            raise UntranslatableError("a set operation over different numbers of columns")
        kinds = tuple(same_column(a, b) for a, b in zip(first.kinds, second.kinds, strict=True))
        make = next(kind for kind in (exp.Union, exp.Except, exp.Intersect) if isinstance(node, kind))
        query = make(
            this=_operand(first.query),
            expression=_operand(second.query),
            distinct=bool(node.args.get("distinct")),
        )
        built = Built(query, first.names, first.emitted, kinds)
        if not outermost:
            self._inner_cut(node, built, scope, None)
        return built

    def _select(
        self, node: exp.Select, scope: Scope, hidden: tuple[exp.Expr, ...], *, outermost: bool
    ) -> Built:
        only(node, *_SELECT_PARTS, *(["with_"] if outermost else []))
        query = exp.Select()
        self._from(node, query, scope)
        values = ValueBuilder(_Names(self, scope))
        names, kinds, outputs = [], [], []
        for select in node.expressions:
            value = values.value(select.unalias())
            names.append(select.alias_or_name)
            kinds.append(ColumnKind(value.kind, value.length))
            outputs.append(value.node)
            same = isinstance(select.unalias(), exp.Column) and select.unalias().name == select.alias_or_name
            scope.outputs[select.alias_or_name] = value if same else None
        outputs += [values.value(key).node for key in hidden]
        emitted = _unique_names(names)
        aliases = [*emitted, *(f"sort_key_{number + 1}" for number in range(len(hidden)))]
        query.set("expressions", [_aliased(o, a) for o, a in zip(outputs, aliases, strict=True)])
        if where := node.args.get("where"):
            query.set("where", exp.Where(this=values.condition(where.this)))
        if group := node.args.get("group"):
            only(group, "expressions")
            query.set("group", exp.Group(expressions=[values.value(item).node for item in group.expressions]))
        if having := node.args.get("having"):
            query.set("having", exp.Having(this=values.condition(having.this)))
        if distinct := node.args.get("distinct"):
            only(distinct)
            query.set("distinct", exp.Distinct())
        built = Built(query, tuple(names), emitted, tuple(kinds))
        if not outermost:
            self._inner_cut(node, built, scope, values)
        return built

    def _inner_cut(self, node: exp.Query, built: Built, scope: Scope, values: ValueBuilder | None) -> None:
        """Order and cut of an inner query. Without a cut its order means nothing, and is left out."""
        cut = cut_of(node)
        if cut is None:
            return
        order = node.args.get("order")
        if order is not None:
            keys = []
            for item in order.expressions:
                position = output_position(item.this, node)
                if position is not None:
                    keys.append(ordered(exp.Literal.number(position + 1), item))
                elif values is None or node.args.get("distinct"):
                    raise UntranslatableError("an inner query orders by what its rows do not show")
                else:
                    keys.append(values.ordered(item))
            built.query.set("order", exp.Order(expressions=keys))
        if not cut.ties:
            if scope.correlated:
                raise UntranslatableError("a cut in a subquery that depends on the row around it")
            loose = built.query.copy()
            if order is not None:
                loose.set("limit", _fetch(Cut(cut.count, ties=True)))
            self.probes.append(f"SELECT 1 FROM ({_sql(loose)}) AS probe OFFSET {cut.count}")
        built.query.set("limit", _fetch(cut))

    # ---- sources ---------------------------------------------------------------------------------

    def _from(self, node: exp.Select, query: exp.Select, scope: Scope) -> None:
        clause = node.args.get("from_")
        if clause is None:
            raise UntranslatableError("a query without FROM")
        only(clause, "this")
        joins = node.args.get("joins") or []
        if (
            isinstance(clause.this, exp.Table)
            and not clause.this.db
            and exact_name(clause.this.this) == "DUAL"
        ):
            if joins:
                raise UntranslatableError("DUAL joined")
            return
        query.set("from_", exp.From(this=self._source(clause.this, scope)))
        built = []
        for join in joins:
            only(join, "this", "on", "side", "kind")
            side, kind = join.side.upper(), join.kind.upper()
            if side not in {"", "LEFT", "RIGHT", "FULL"} or kind not in {"", "INNER", "OUTER", "CROSS"}:
                raise UntranslatableError(f"{side} {kind} JOIN".strip())
            new = exp.Join(this=self._source(join.this, scope), side=side or None, kind=kind or None)
            if join.args.get("on"):
                new.set("on", ValueBuilder(_Names(self, scope)).condition(join.args["on"]))
            elif side or kind not in {"", "CROSS"}:
                raise UntranslatableError("a join without a condition")
            built.append(new)
        query.set("joins", built)

    def _source(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        alias = exact_alias(node)
        match node:
            case exp.Table():
                only(node, "this", "db", "alias")
                name = exact_name(node.this)
                if not node.db and name in scope.ctes:
                    columns = scope.ctes[name]
                    built: exp.Expr = exp.Table(this=_identifier(name))
                else:
                    table = self._table(node)
                    columns = {
                        c.name: ColumnKind(_KINDS[c.type.family], c.type.length)
                        for c in table.columns.values()
                        if c.type.family in _KINDS
                    }
                    built = exp.Table(this=_identifier(name), db=_identifier(table.schema))
            case exp.Subquery():
                only(node, "this", "alias")
                inner = self.build(node.this, Scope(None, scope.ctes))
                columns = inner.columns()
                built = exp.Subquery(this=inner.query)
            case _:
                raise UntranslatableError(f"the source {type(node).__name__}")
        if any(postgres_name(alias) == postgres_name(other) for other in scope.sources):
            raise UntranslatableError(f"two sources named {alias}")
        scope.sources[alias] = columns
        built.set("alias", exp.TableAlias(this=_identifier(alias)))
        return built

    def _table(self, node: exp.Table) -> Table:
        name = exact_name(node.this)
        for table in self.gold.tables:
            if table.name == name and (not node.db or table.schema == exact_name(node.args["db"])):
                return table
        raise UntranslatableError(f"wrong table name: {name}")


@dataclass(frozen=True, slots=True)
class _Names:
    """What the values of one query may refer to."""

    translation: _Translation
    scope: Scope

    def column(self, node: exp.Column) -> Value:
        only(node, "this", "table", "db")
        if not isinstance(node.this, exp.Identifier):
            raise UntranslatableError("a star whose columns are not sure")
        if not node.table:
            return self._bare(node.name)
        return self._owned(node.table, node.name)

    def _owned(self, source: str, name: str) -> Value:
        found = self.scope.find(source, name)
        return Value(exp.column(_identifier(name), _identifier(source)), found.kind, length=found.length)

    def _bare(self, name: str) -> Value:
        """A name that was left without its table, as under HAVING."""
        if name in _PSEUDO_COLUMNS:
            raise UntranslatableError(name)
        if name in self.scope.outputs:
            value = self.scope.outputs[name]
            if value is None:
                raise UntranslatableError(f"the name {name} has two readings")
            return replace(value, node=value.node.copy())
        owners = [source for source, columns in self.scope.sources.items() if name in columns]
        if len(owners) != 1:
            raise UntranslatableError(f"the name {name} has {'two readings' if owners else 'no reading'}")
        return self._owned(owners[0], name)

    def rows(self, node: exp.Expr) -> tuple[exp.Query, tuple[Kind, ...]]:
        inner = Scope(self.scope, self.scope.ctes)
        built = self.translation.build(node, inner)
        return built.query, tuple(column.kind for column in built.kinds)


def exact_alias(node: exp.Expr) -> str:
    """The name that the columns of a bound source carry."""
    alias = node.args.get("alias")
    if alias is None:
        raise UntranslatableError("a source without a name")
    only(alias, "this")
    return str(alias.this.name)


def _identifier(name: str) -> exp.Identifier:
    if not fits_postgres(name):
        raise UntranslatableError(f"the name {name} is too long for PostgreSQL")
    return exp.to_identifier(postgres_name(name), quoted=True)


def _aliased(node: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=node, alias=_identifier(name))


def _operand(query: exp.Query) -> exp.Expr:
    """A side of a set operation; parentheses, for INTERSECT binds tighter in PostgreSQL than in Oracle."""
    plain = isinstance(query, exp.Select) and not query.args.get("order") and not query.args.get("limit")
    return query if plain else exp.Subquery(this=query)


def _fetch(cut: Cut) -> exp.Fetch:
    options = exp.LimitOptions(rows=True, with_ties=cut.ties)
    return exp.Fetch(direction="FIRST", count=exp.Literal.number(cut.count), limit_options=options)


def _unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of output columns, each once; a name that is taken or too long gives way to a numbered one."""
    result: list[str] = []
    for number, name in enumerate(names, 1):
        wanted = postgres_name(name)
        if wanted in result or not fits_postgres(name):
            wanted = f"column_{number}"
        while wanted in result:
            wanted += "_"
        result.append(wanted)
    return tuple(result)


def _with_probes(loose: str, exact: str, probes: list[str]) -> str:
    found = " UNION ALL ".join(f"({probe})" for probe in probes)
    return (
        f"SELECT g.* FROM ({loose}) AS g UNION ALL "
        f"SELECT g.* FROM ({found}) AS found LEFT JOIN ({exact}) AS g ON FALSE"
    )


def _sql(node: exp.Expr) -> str:
    return node.sql("postgres")


def output_kinds(gold: GoldQuery) -> tuple[Kind | None, ...]:
    """What the shown columns of a gold query hold; None where it is not known."""
    try:
        kinds = _Translation(gold).build(gold.tree, Scope(None, {}), hidden=()).kinds
    except UntranslatableError:
        return (None,) * gold.columns
    return tuple(column.kind for column in kinds)
