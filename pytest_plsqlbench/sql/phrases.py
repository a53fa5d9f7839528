"""What one procedural statement or declaration is, from its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.code import DeclarationKind, StatementWord
from pytest_plsqlbench.sql.lexer import Token

_COMMON: dict[str, StatementWord] = {
    "CALL": "call",
    "CLOSE": "close",
    "COMMIT": "commit",
    "CONTINUE": "continue",
    "DELETE": "delete",
    "EXECUTE": "execute",
    "EXIT": "exit",
    "FETCH": "fetch",
    "INSERT": "insert",
    "LOCK": "lock",
    "MERGE": "merge",
    "NULL": "null",
    "OPEN": "open",
    "RAISE": "raise",
    "RETURN": "return",
    "ROLLBACK": "rollback",
    "SAVEPOINT": "savepoint",
    "SELECT": "select",
    "SET": "set",
    "UPDATE": "update",
    "WITH": "select",
}
_WORDS: dict[Dialect, dict[str, StatementWord]] = {
    "oracle": _COMMON | {"FORALL": "forall", "GOTO": "goto", "PIPE": "pipe_row"},
    "postgres": _COMMON
    | {
        "ALTER": "ddl",
        "ASSERT": "assert",
        "COMMENT": "ddl",
        "CREATE": "ddl",
        "DO": "do",
        "DROP": "ddl",
        "GET": "get_diagnostics",
        "GRANT": "ddl",
        "MOVE": "move",
        "PERFORM": "perform",
        "REFRESH": "ddl",
        "REVOKE": "ddl",
        "TRUNCATE": "ddl",
    },
}
_CHANGES: dict[str, StatementWord] = {
    "INSERT": "insert",
    "UPDATE": "update",
    "DELETE": "delete",
    "MERGE": "merge",
}
_QUERIES = frozenset(("SELECT", "WITH", "VALUES", "TABLE", "("))


def statement_word(tokens: Sequence[Token], start: int, end: int, dialect: Dialect) -> StatementWord:
    """What the statement in ``tokens[start:end]`` is."""
    first = tokens[start]
    second = tokens[start + 1].value if start + 1 < end else ""
    assigns = {":=", "="} if dialect == "postgres" else {":="}
    if second in assigns:
        return "assignment"
    word = _WORDS[dialect].get(first.value) if first.kind == "word" else None
    if word == "select" and first.value == "WITH":
        return _with(tokens, start, end)
    if word is not None:
        return word
    depth = 0
    for at in range(start, end):
        value = tokens[at].value
        if value in {"(", "["}:
            depth += 1
        elif value in {")", "]"}:
            depth -= 1
        elif depth == 0 and value in assigns:
            return "assignment"
    return "call" if dialect == "oracle" else "sql"


def _with(tokens: Sequence[Token], start: int, end: int) -> StatementWord:
    """A statement with WITH in front is what follows the common table expressions."""
    depth = 0
    for at in range(start, end):
        value = tokens[at].value
        depth += (value == "(") - (value == ")")
        if depth == 0 and value in _CHANGES:
            return _CHANGES[value]
        if depth == 0 and value == "SELECT":
            break
    return "select"


def statement_detail(kind: StatementWord, tokens: Sequence[Token], start: int, end: int) -> str:
    """The finer kind of a statement (see ``CodeStatement.detail``)."""
    if kind == "raise":
        return (
            "".join(
                token.text
                for token in tokens[start + 1 : end]
                if token.kind in {"word", "quoted"} or token.value == "."
            )[:80]
            if end - start <= 4
            else tokens[start + 1].value
        )
    if kind == "return" and start + 1 < end and tokens[start + 1].value in {"NEXT", "QUERY"}:
        return tokens[start + 1].value.lower()
    if kind in {"select", "fetch", "execute", "insert", "update", "delete"}:
        return _into(tokens, start, end)
    return ""


def _into(tokens: Sequence[Token], start: int, end: int) -> str:
    depth = 0
    for at in range(start, end):
        value = tokens[at].value
        depth += (value == "(") - (value == ")")
        if depth == 0 and value == "BULK":
            return "bulk"
        if depth == 0 and value == "INTO" and tokens[at - 1].value not in {"INSERT", "MERGE", "ALL"}:
            return "into"
    return ""


def for_detail(tokens: Sequence[Token], start: int, end: int) -> str:
    """What a FOR loop runs over: ``range``, ``query``, ``dynamic`` or ``cursor``."""
    depth, after_in = 0, -1
    for at in range(start, end):
        value = tokens[at].value
        if value == "(":
            depth += 1
        elif value == ")":
            depth -= 1
        elif value == "IN" and after_in < 0:
            after_in = at + 1
        elif value == ".." and depth == 0:
            return "range"
    if after_in < 0 or after_in >= end:
        return ""
    first = tokens[after_in].value
    if first == "EXECUTE":
        return "dynamic"
    if first == "(":
        while after_in < end - 1 and tokens[after_in].value == "(":
            after_in += 1
        first = tokens[after_in].value
        return "dynamic" if first == "EXECUTE" else "query"
    return "query" if first in _QUERIES else "cursor"


def declaration_of(tokens: Sequence[Token], start: int, end: int) -> tuple[DeclarationKind, str]:
    """Kind and name of the declaration in ``tokens[start:end]``."""
    first = tokens[start]
    values = [token.value for token in tokens[start : min(end, start + 4)]]
    second = values[1] if len(values) > 1 else ""
    third = values[2] if len(values) > 2 else ""
    name = tokens[start + 1].text if len(values) > 1 else ""
    if first.value == "PRAGMA":
        return "pragma", name.upper()
    if first.value in {"TYPE", "SUBTYPE", "CURSOR"} and third in {"IS", "(", "RETURN", ""}:
        kinds: dict[str, DeclarationKind] = {"TYPE": "type", "SUBTYPE": "subtype", "CURSOR": "cursor"}
        return kinds[first.value], name
    if first.kind not in {"word", "quoted"}:
        return "other", ""
    if second == "CURSOR" or (second in {"NO", "SCROLL"} and "CURSOR" in values):
        return "cursor", first.text
    if second == "EXCEPTION":
        return "exception", first.text
    if second == "CONSTANT":
        return "constant", first.text
    if second == "ALIAS":
        return "alias", first.text
    return "variable", first.text
