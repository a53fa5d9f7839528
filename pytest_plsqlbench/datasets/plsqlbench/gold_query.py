"""A gold query of Spider, read: its tables, its columns, how it orders, where it cuts. Oracle's dialect.

sqlglot parses the query and binds every column to its table; what cannot be bound surely is not taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope
from sqlglot.schema import MappingSchema

from pytest_plsqlbench.datasets.plsqlbench.oracle_types import exact_name
from pytest_plsqlbench.datasets.plsqlbench.schema import Catalog, Table
from pytest_plsqlbench.sql.lexer import significant_tokens


class UntranslatableError(Exception):
    """A query that is not known to mean the same elsewhere, or to mean anything; the message is why."""


@dataclass(frozen=True, slots=True)
class Cut:
    """``FETCH FIRST count ROWS``: of rows that tie at the cut, the engine keeps which it likes."""

    count: int
    ties: bool
    """WITH TIES: nothing is left to chance."""


@dataclass(frozen=True, slots=True)
class GoldQuery:
    """A gold query, read."""

    text: str
    tree: exp.Query
    """Each column carries its table's alias, stars are expanded, set operations are in parentheses."""
    tables: tuple[Table, ...]
    """Tables it reads, each once, in order of first mention."""
    columns: int
    """Of a row of its result."""
    ordered: bool
    order_keys: tuple[int, ...]
    """Where the sort keys stand in the rows, from 0; keys beyond ``columns`` are hidden ones, in order."""
    hidden: tuple[exp.Expr, ...]
    """Sort keys that the rows do not show."""
    cut: Cut | None


class GoldReader:
    """Reads gold queries over the tables of one catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._schemas: dict[str, MappingSchema] = {}

    def read(self, text: str, schema: str) -> GoldQuery:
        """Read a gold query of the database with this (exact) schema.

        Raises:
            UntranslatableError: it is no query, names what the DDL lacks, or leaves room for two readings.
        """
        text = bare_query(text)
        if schema in self._catalog.problems:
            raise UntranslatableError(self._catalog.problems[schema])
        raw = _parse(text)
        tables = _tables(raw, self._catalog, schema)
        _refuse_positions(raw)
        _refuse_merged_columns(raw)
        _refuse_wrong_owners(raw, tables)
        tree = self._bind(raw, text, tables, schema)
        if not tree.selects:
            raise UntranslatableError("a query without columns")
        if any(isinstance(select, exp.Star) or select.is_star for select in tree.selects):
            raise UntranslatableError("a star whose columns are not sure")
        keys, hidden = _sort_keys(tree)
        return GoldQuery(text, tree, tables, len(tree.selects), bool(keys), keys, hidden, cut_of(tree))

    def _bind(self, tree: exp.Query, text: str, tables: tuple[Table, ...], schema: str) -> exp.Query:
        try:
            bound = qualify(tree, schema=self._mapping(schema), dialect="oracle", quote_identifiers=False)
        except SqlglotError as error:
            # Binding changes the tree as far as it comes, so the text is read once more for the reason.
            raise UntranslatableError(_wrong_name(_parse(text), tables, error)) from None
        while isinstance(bound, exp.Subquery):
            if any(value for name, value in bound.args.items() if name != "this"):
                raise UntranslatableError("a query in parentheses with more behind it")
            bound = bound.this
        if not isinstance(bound, exp.Query):
            raise UntranslatableError("the gold is not one query")
        return bound

    def _mapping(self, schema: str) -> MappingSchema:
        if schema not in self._schemas:
            tables: dict[str, object] = {
                table.name: {column.name: column.type.text for column in table.columns.values()}
                for table in self._catalog.of_schema(schema)
            }
            # The names are exact, and all of them are upper case or never named without quotes.
            self._schemas[schema] = MappingSchema({schema: tables}, dialect="oracle", normalize=False)
        return self._schemas[schema]


def bare_query(text: str) -> str:
    """A query without what stands around it: blanks, comments, the semicolon."""
    tokens = significant_tokens(text, "oracle")
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return text[tokens[0].offset : tokens[-1].end] if tokens else ""


def _sort_keys(tree: exp.Query) -> tuple[tuple[int, ...], tuple[exp.Expr, ...]]:
    """Where the keys of the outermost ORDER BY stand in the rows, and those that the rows do not show."""
    order = tree.args.get("order")
    # A query that aggregates without groups has one row: there is nothing to order.
    if order is None or (isinstance(tree, exp.Select) and _has_one_row(tree)):
        return (), ()
    hidden: list[exp.Expr] = []
    keys = []
    for item in order.expressions:
        found = output_position(item.this, tree)
        if found is None:
            if isinstance(tree, exp.SetOperation) or tree.args.get("distinct"):
                raise UntranslatableError(
                    "it orders by what its rows do not show, though it removes duplicates"
                )
            found = len(tree.selects) + len(hidden)
            hidden.append(item.this)
        keys.append(found)
    return tuple(dict.fromkeys(keys)), tuple(hidden)


def _has_one_row(select: exp.Select) -> bool:
    if select.args.get("group"):
        return False
    return any(
        aggregate.find_ancestor(exp.Select) is select and not isinstance(aggregate.parent, exp.Window)
        for output in select.selects
        for aggregate in output.find_all(exp.AggFunc)
    )


def _parse(text: str) -> exp.Query:
    try:
        trees = sqlglot.parse(text, read="oracle")
    except SqlglotError:
        raise UntranslatableError("the gold query is not readable SQL") from None
    except RecursionError:
        raise UntranslatableError("the gold query is nested too deeply") from None
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise UntranslatableError("the gold is not one query")
    return trees[0]


def _tables(tree: exp.Query, catalog: Catalog, schema: str) -> tuple[Table, ...]:
    """The tables of the catalog that a query reads; every name must be one, or a WITH name, or DUAL."""
    named = {exact_name(cte.args["alias"].this) for cte in tree.find_all(exp.CTE)}
    found = {}
    for node in tree.find_all(exp.Table):
        if not isinstance(node.this, exp.Identifier):
            raise UntranslatableError("a table function")
        name = exact_name(node.this)
        owner = exact_name(node.args["db"]) if node.args.get("db") else None
        if owner is None and (name in named or name == "DUAL"):
            continue
        key = (owner or schema, name)
        if key[0] != schema:
            raise UntranslatableError(f"wrong table name: {'.'.join(key)} is no table of {schema}")
        if key not in catalog.tables:
            raise UntranslatableError(f"wrong table name: {'.'.join(key)} is not in the DDL")
        found[key] = catalog.tables[key]
    return tuple(found.values())


def _refuse_merged_columns(tree: exp.Query) -> None:
    """USING and NATURAL merge columns, and put them first under a star."""
    for join in tree.find_all(exp.Join):
        if join.args.get("using") or join.args.get("method"):
            raise UntranslatableError("a join that merges columns")


def _refuse_positions(tree: exp.Query) -> None:
    """A number under GROUP BY is a constant to Oracle and a position to others."""
    for group in tree.find_all(exp.Group):
        if any(isinstance(item, exp.Literal) for item in group.expressions):
            raise UntranslatableError("GROUP BY a constant")


def _refuse_wrong_owners(tree: exp.Query, tables: tuple[Table, ...]) -> None:
    """``schema.table.column`` must name a table that the query reads."""
    known = {(table.schema, table.name) for table in tables}
    for column in tree.find_all(exp.Column):
        owner = column.args.get("db")
        if owner and (exact_name(owner), exact_name(column.args["table"])) not in known:
            raise UntranslatableError(f"wrong column name: {column.sql('oracle')}")


def _wrong_name(tree: exp.Query, tables: tuple[Table, ...], error: SqlglotError) -> str:
    """Why names could not be bound: the first column that no table has, else what the parser says."""
    known = {name for table in tables for name in table.columns}
    known |= {exact_name(alias.args["alias"]) for alias in tree.find_all(exp.Alias)}
    for column in tree.find_all(exp.Column):
        if isinstance(column.this, exp.Identifier) and exact_name(column.this) not in known:
            return f"wrong column name: {column.sql('oracle')}"
    return f"a name cannot be bound: {str(error).splitlines()[0].partition('. Line:')[0].rstrip('.')}"


def output_position(key: exp.Expr, query: exp.Query) -> int | None:
    """Which output of a bound query a sort key is, from 0; None where it is none of them.

    Raises:
        UntranslatableError: two outputs have the name.
    """
    if isinstance(key, exp.Column) and not key.table:
        found = [index for index, select in enumerate(query.selects) if select.alias_or_name == key.name]
        if len({query.selects[index].unalias() for index in found}) > 1:
            raise UntranslatableError(f"ORDER BY {key.name} fits two columns")
        if found:
            return found[0]
        raise UntranslatableError(f"ORDER BY {key.name} fits no column")
    if isinstance(query, exp.SetOperation):
        return None
    return next((index for index, select in enumerate(query.selects) if select.unalias() == key), None)


def cut_of(query: exp.Query) -> Cut | None:
    """Where a query cuts its rows.

    Raises:
        UntranslatableError: OFFSET, PERCENT, or a count that is not a plain number.
    """
    if query.args.get("offset"):
        raise UntranslatableError("OFFSET")
    limit = query.args.get("limit")
    if limit is None:
        return None
    options = limit.args.get("limit_options") if isinstance(limit, exp.Fetch) else None
    if options is None or options.args.get("percent"):
        raise UntranslatableError("a cut other than FETCH FIRST n ROWS")
    count = limit.args.get("count")
    # Without an order, WITH TIES adds nothing.
    ties = bool(options.args.get("with_ties") and query.args.get("order"))
    if count is None:
        return Cut(1, ties)
    if not isinstance(count, exp.Literal) or not count.name.isdecimal():
        raise UntranslatableError("FETCH FIRST with a count that is not a plain number")
    return Cut(int(count.name), ties)


def inner_cuts(gold: GoldQuery) -> list[tuple[exp.Query, Cut]]:
    """Queries inside the gold that cut without WITH TIES, so that chance may choose their rows.

    Raises:
        UntranslatableError: one depends on the row around it, so that its ties cannot be looked at alone.
    """
    found: list[tuple[exp.Query, Cut]] = []
    if all(fetch.parent is gold.tree for fetch in gold.tree.find_all(exp.Fetch)):
        return found
    for scope in traverse_scope(gold.tree):
        query = scope.expression
        if query is gold.tree or not isinstance(query, exp.Query):
            continue
        cut = cut_of(query)
        if cut is None or cut.ties:
            continue
        if scope.external_columns:
            raise UntranslatableError("a cut in a subquery that depends on the row around it")
        found.append((query, cut))
    return found
