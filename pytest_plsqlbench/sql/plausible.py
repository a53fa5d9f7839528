"""Whether a statement begins as one: the line between programs and prose.

Only what no server accepts is called implausible; everything else is the server's to judge.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.classify import CREATE_MODIFIERS
from pytest_plsqlbench.sql.lexer import Token


def _words(*lists: str) -> frozenset[str]:
    return frozenset(word for words in lists for word in words.split())


_COMMON = (
    "ALTER ANALYZE CALL COMMENT COMMIT CREATE DELETE DROP EXPLAIN GRANT INSERT LOCK MERGE REVOKE ROLLBACK "
    "SAVEPOINT SELECT SET TRUNCATE UPDATE WITH BEGIN DECLARE ("
)
_STARTS: dict[Dialect, frozenset[str]] = {
    "oracle": _words(
        _COMMON,
        "ADMINISTER ASSOCIATE AUDIT DISASSOCIATE FLASHBACK NOAUDIT PURGE RENAME <<",
    ),
    "postgres": _words(
        _COMMON,
        "ABORT CHECKPOINT CLOSE CLUSTER COPY DEALLOCATE DISCARD DO END EXECUTE FETCH IMPORT LISTEN LOAD "
        "MOVE NOTIFY PREPARE REASSIGN REFRESH REINDEX RELEASE RESET SECURITY SHOW START TABLE UNLISTEN "
        "VACUUM VALUES",
    ),
}
_OBJECTS = _words(
    "ACCESS AGGREGATE ANALYTIC ASSERTION ATTRIBUTE AUDIT BITMAP CAST CLUSTER COLLATION CONTEXT CONTROLFILE "
    "CONVERSION DATABASE DATA DEFAULT DIMENSION DIRECTORY DISKGROUP DOMAIN EDITION EXTENSION FLASHBACK "
    "FUNCTION GROUP HIERARCHY INDEX INDEXTYPE INMEMORY JAVA JSON LANGUAGE LARGE LIBRARY LOCKDOWN LOGICAL "
    "MATERIALIZED MLE MULTIVALUE OPERATOR OUTLINE OWNED PACKAGE PFILE PLUGGABLE POLICY PROCEDURAL PROCEDURE "
    "PROFILE PROPERTY PUBLIC PUBLICATION RESOURCE RESTORE ROLE ROLLBACK ROUTINE RULE SCHEMA SEQUENCE SERVER "
    "SESSION SNAPSHOT SPFILE STATISTICS SUBSCRIPTION SYNONYM SYSTEM TABLE TABLESPACE TEXT TRANSFORM TRIGGER "
    "TRUE TYPE UNDO UNIFIED UNIQUE USER VECTOR VIEW EVENT FOREIGN"
)


def plausible(tokens: Sequence[Token], dialect: Dialect) -> bool:
    """Whether a statement could begin with these significant tokens (the first dozen are enough)."""
    if not tokens:
        return False
    first = tokens[0]
    if first.kind == "broken" or (first.kind != "word" and first.value not in {"(", "<<"}):
        return False
    if first.value not in _STARTS[dialect]:
        return False
    check = _CHECKS.get(first.value)
    return check is None or check([token.value for token in tokens[1:12]], tokens[1:])


def _object(words: list[str], tokens: Sequence[Token]) -> bool:
    del tokens
    at = 0
    while at < len(words) and words[at] in CREATE_MODIFIERS:
        at += 1
    return at < len(words) and words[at] in _OBJECTS


def _with(words: list[str], tokens: Sequence[Token]) -> bool:
    if words[:1] in (["FUNCTION"], ["PROCEDURE"]):
        return True
    at = 1 if words[:1] == ["RECURSIVE"] else 0
    return len(words) > at + 1 and tokens[at].kind in {"word", "quoted"} and words[at + 1] in {"AS", "("}


def _call(words: list[str], tokens: Sequence[Token]) -> bool:
    del tokens
    at = 1
    while at + 1 < len(words) and words[at] == ".":
        at += 2
    return at < len(words) and words[at] in {"(", "@"}


_CHECKS = {
    "ALTER": _object,
    "CALL": _call,
    "COMMENT": lambda words, _: words[:1] == ["ON"],
    "CREATE": _object,
    "DROP": _object,
    "INSERT": lambda words, _: words[:1] in (["INTO"], ["ALL"], ["FIRST"]),
    "MERGE": lambda words, _: words[:1] == ["INTO"],
    "WITH": _with,
}
