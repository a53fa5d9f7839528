"""Gold queries as Oracle plays them: the published text, with the sort keys that its rows lack spliced in.

The text is cut at tokens and never generated anew, so what is played stays what was published.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from pytest_plsqlbench.datasets.plsqlbench.gold_query import (
    Cut,
    GoldQuery,
    UntranslatableError,
    inner_cuts,
    output_position,
)
from pytest_plsqlbench.sql.lexer import Lexer, Token


@dataclass(frozen=True, slots=True)
class OracleGold:
    """A gold query for Oracle."""

    sql: str
    """Shown columns first, then the hidden sort keys."""
    with_ties: str | None
    """The same without arbitrary cuts: more rows than ``sql`` has mean that a cut chose among equals."""


def to_oracle(gold: GoldQuery) -> OracleGold:
    """The gold query as Oracle plays it.

    Raises:
        UntranslatableError: hidden keys or ties cannot be had from the published text.
    """
    text = _with_hidden(gold) if gold.hidden else gold.text
    loose = text if gold.cut is None or gold.cut.ties else _with_all_ties(text, gold)
    probes = [_probe(query, cut) for query, cut in inner_cuts(gold)]
    if probes:
        if gold.tree.args.get("with_"):
            raise UntranslatableError("a cut inside a query with a WITH clause")
        names = ", ".join(f"c{number}" for number in range(gold.columns + len(gold.hidden)))
        found = " UNION ALL ".join(probes)
        loose = (
            f"WITH g ({names}) AS ({text}), loose ({names}) AS ({loose}), found AS ({found}) "
            "SELECT * FROM loose UNION ALL SELECT g.* FROM found LEFT JOIN g ON 1 = 0"
        )
    return OracleGold(text, None if loose == text else loose)


def _probe(query: exp.Query, cut: Cut) -> str:
    """A query that returns a row where an inner cut chose among equals."""
    loose = query.copy()
    if loose.args.get("order"):
        options = exp.LimitOptions(rows=True, with_ties=True)
        loose.set(
            "limit",
            exp.Fetch(direction="FIRST", count=exp.Literal.number(cut.count), limit_options=options),
        )
    else:
        loose.set("limit", None)
    return f"(SELECT 1 AS one FROM ({loose.sql('oracle')}) OFFSET {cut.count} ROWS)"


def _top_level(text: str) -> list[Token]:
    """Tokens outside all parentheses, without blanks and comments."""
    depth, outer = 0, []
    for token in Lexer(text, "oracle"):
        if token.silent:
            continue
        if token.text == ")":
            depth -= 1
        if depth == 0:
            outer.append(token)
        if token.text == "(":
            depth += 1
    return outer


def _with_hidden(gold: GoldQuery) -> str:
    """Add the hidden sort keys, as the ORDER BY spells them, to the end of the select list."""
    outer = _top_level(gold.text)
    words = [token.value for token in outer]
    starts = [index for index, word in enumerate(words) if word == "SELECT"]
    if not starts or not isinstance(gold.tree, exp.Select):
        raise UntranslatableError("it orders by what its rows do not show, in a form that is not read")
    source = words.index("FROM", starts[-1])
    if any(word == "*" for word in words[starts[-1] : source]):
        raise UntranslatableError("it selects a star and orders by what that does not show")
    keys = ", ".join(f"{key} AS sort_key_{number}" for number, key in enumerate(_key_texts(gold, outer), 1))
    at = outer[source].offset
    return f"{gold.text[:at].rstrip()}, {keys} {gold.text[at:]}"


def _key_texts(gold: GoldQuery, outer: list[Token]) -> list[str]:
    """The texts of the hidden keys in the ORDER BY."""
    words = [token.value for token in outer]
    begin = max(index for index, word in enumerate(words) if word == "ORDER") + 2
    end = next((index for index in range(begin, len(words)) if words[index] == "FETCH"), len(words))
    items: list[list[Token]] = [[]]
    for token in outer[begin:end]:
        if token.text == ",":
            items.append([])
        else:
            items[-1].append(token)
    order = gold.tree.args["order"].expressions
    if len(items) != len(order):
        raise UntranslatableError("an ORDER BY that is not read")
    texts = []
    for item, node in zip(items, order, strict=True):
        if output_position(node.this, gold.tree) is not None:
            continue
        while item[-1].value in {"ASC", "DESC", "NULLS", "FIRST", "LAST"}:
            item.pop()
        texts.append(gold.text[item[0].offset : item[-1].end])
    return texts


def _with_all_ties(text: str, gold: GoldQuery) -> str:
    """The text with its outermost cut loosened: WITH TIES where it orders, else no cut."""
    outer = _top_level(text)
    words = [token.value for token in outer]
    at = max(index for index, word in enumerate(words) if word == "FETCH")
    if not gold.ordered:
        return text[: outer[at].offset].rstrip()
    if words[-1] != "ONLY":
        raise UntranslatableError("a cut other than FETCH FIRST n ROWS ONLY")
    return f"{text[: outer[-1].offset]}WITH TIES{text[outer[-1].end :]}"
