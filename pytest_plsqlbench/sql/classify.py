"""What kind of statement begins with these words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from pytest_plsqlbench.bench.task import Dialect

StatementKind = Literal[
    "create_function",
    "create_procedure",
    "create_package",
    "create_package_body",
    "create_type",
    "create_type_body",
    "create_trigger",
    "create_view",
    "create_table",
    "create_other",
    "block",
    "query",
    "dml",
    "call",
    "transaction",
    "session",
    "copy",
    "ddl_other",
    "other",
    "client",
]
STATEMENT_KINDS: tuple[StatementKind, ...] = get_args(StatementKind)

CREATE_MODIFIERS = frozenset(
    (
        "OR", "REPLACE", "AND", "RESOLVE", "COMPILE", "FORCE", "NOFORCE", "NO", "EDITIONABLE",
        "NONEDITIONABLE", "EDITIONING", "GLOBAL", "LOCAL", "PRIVATE", "TEMPORARY", "TEMP", "UNLOGGED",
        "RECURSIVE", "CONSTRAINT", "EVENT", "FOREIGN", "IMMUTABLE", "BLOCKCHAIN", "SHARDED", "DUPLICATED",
        "TRUSTED", "HYBRID",
    )
)  # fmt: skip
_CREATED: dict[str, StatementKind] = {
    "FUNCTION": "create_function",
    "PROCEDURE": "create_procedure",
    "PACKAGE": "create_package",
    "TYPE": "create_type",
    "TRIGGER": "create_trigger",
    "VIEW": "create_view",
    "TABLE": "create_table",
}
_COMMON: dict[str, StatementKind] = {
    "SELECT": "query",
    "WITH": "query",
    "(": "query",
    "INSERT": "dml",
    "UPDATE": "dml",
    "DELETE": "dml",
    "MERGE": "dml",
    "CALL": "call",
    "COMMIT": "transaction",
    "ROLLBACK": "transaction",
    "SAVEPOINT": "transaction",
    "SET": "session",
    "ALTER": "ddl_other",
    "DROP": "ddl_other",
    "GRANT": "ddl_other",
    "REVOKE": "ddl_other",
    "TRUNCATE": "ddl_other",
    "COMMENT": "ddl_other",
}
_ORACLE: dict[str, StatementKind] = _COMMON | {
    "BEGIN": "block",
    "DECLARE": "block",
    "<<": "block",
    "RENAME": "ddl_other",
    "PURGE": "ddl_other",
    "FLASHBACK": "ddl_other",
    "AUDIT": "ddl_other",
    "NOAUDIT": "ddl_other",
    "ANALYZE": "ddl_other",
    "ASSOCIATE": "ddl_other",
    "DISASSOCIATE": "ddl_other",
    "ADMINISTER": "ddl_other",
}
_POSTGRES: dict[str, StatementKind] = _COMMON | {
    "DO": "block",
    "VALUES": "query",
    "TABLE": "query",
    "EXPLAIN": "query",
    "SHOW": "query",
    "FETCH": "query",
    "BEGIN": "transaction",
    "START": "transaction",
    "END": "transaction",
    "ABORT": "transaction",
    "RELEASE": "transaction",
    "RESET": "session",
    "DISCARD": "session",
    "COPY": "copy",
    "IMPORT": "ddl_other",
    "SECURITY": "ddl_other",
    "REASSIGN": "ddl_other",
    "REINDEX": "ddl_other",
    "REFRESH": "ddl_other",
}


def classify(words: Sequence[str], dialect: Dialect) -> StatementKind:
    """Kind by the first words and signs of a statement (words in upper case, no blanks or comments)."""
    if not words:
        return "other"
    first = words[0]
    if first == "CREATE":
        return _created(words)
    second = words[1] if len(words) > 1 else ""
    if dialect == "oracle":
        if first == "ALTER" and second == "SESSION":
            return "session"
        return _ORACLE.get(first, "other")
    if first == "PREPARE" and second == "TRANSACTION":
        return "transaction"
    return _POSTGRES.get(first, "other")


def _created(words: Sequence[str]) -> StatementKind:
    at = 1
    while at < len(words) and words[at] in CREATE_MODIFIERS:
        at += 1
    kind = _CREATED.get(words[at], "create_other") if at < len(words) else "create_other"
    body = at + 1 < len(words) and words[at + 1] == "BODY"
    if body and kind == "create_package":
        return "create_package_body"
    if body and kind == "create_type":
        return "create_type_body"
    return kind
