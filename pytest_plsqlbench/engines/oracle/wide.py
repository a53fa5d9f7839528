"""Column types that are wider than a server with standard strings takes."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_plsqlbench.sql.lexer import significant_tokens

_LIMITS = {
    "VARCHAR2": (4000, "CLOB"),
    "VARCHAR": (4000, "CLOB"),
    "NVARCHAR2": (2000, "NCLOB"),
    "RAW": (2000, "BLOB"),
}
"""Greatest size of a column with MAX_STRING_SIZE=STANDARD, and the type that takes its place."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table statement that fits, and how many columns had to change their type."""

    text: str
    changed: int


def fit_columns(text: str) -> Fitted:
    """Give a statement on a table with every too wide column as a LOB; others as they are."""
    tokens = significant_tokens(text, "oracle")
    words = [token.value for token in tokens[:4]]
    if not words or words[0] not in {"CREATE", "ALTER"} or "TABLE" not in words:
        return Fitted(text, 0)
    pieces, last, changed = [], 0, 0
    for at, token in enumerate(tokens):
        limit = _LIMITS.get(token.value) if token.kind == "word" else None
        if limit is None or at + 3 >= len(tokens) or tokens[at + 1].value != "(":
            continue
        close = next((i for i in range(at + 2, min(at + 5, len(tokens))) if tokens[i].value == ")"), None)
        size = tokens[at + 2]
        if close is None or size.kind != "number" or int(float(size.value)) <= limit[0]:
            continue
        pieces += [text[last : token.offset], limit[1]]
        last = tokens[close].end
        changed += 1
    return Fitted("".join([*pieces, text[last:]]), changed)
