"""CHECK conditions of described databases: a subset of SQL that means the same in both dialects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_plsqlbench.datasets.validation import Fault, KeyPath, close_match
from pytest_plsqlbench.sql.lexer import tokenize

if TYPE_CHECKING:
    from pytest_plsqlbench.datasets.fixture_schema import Column

WORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "NULL", "BETWEEN", "LIKE", "DATE", "TIMESTAMP"})
SIGNS = frozenset({"(", ")", ",", "=", "<>", "<", ">", "<=", ">=", "+", "-", "*"})
"""Not ``/``: PostgreSQL divides whole numbers without a remainder, Oracle does not."""


def check_condition(condition: str, columns: Sequence[Column], keys: KeyPath) -> None:
    """Check that a condition uses only columns of its table and what both dialects read alike.

    Raises:
        Fault: naming the first word or sign that does not belong there.
    """
    by_name = {column.name: column for column in columns}
    tokens = [token for token in tokenize(condition, "postgres") if token.kind != "blank"]
    if not tokens:
        raise Fault(keys, "is empty")
    depth = 0
    for token in tokens:
        if token.kind in {"number", "string"} and token.text[0] in "'.0123456789":
            if token.text == "''":
                raise Fault(keys, "an empty text is NULL on Oracle")
            continue
        if token.kind == "punct" and token.text in SIGNS:
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth < 0:
                break
            continue
        if token.kind == "word" and token.value in WORDS:
            continue
        if token.kind != "word":
            raise Fault(
                keys, f"{token.text!r} is not part of what both dialects read alike (docs/fixtures.md)"
            )
        column = by_name.get(token.text)
        if column is None:
            raise Fault(keys, f"there is no column {token.text!r}{close_match(token.text, by_name)}")
        if column.type.name in {"boolean", "text"}:
            raise Fault(
                keys, f"column {column.name!r} is {column.type}, which the dialects compare differently"
            )
    if depth:
        raise Fault(keys, "has a parenthesis without its partner")
