"""Whether a program would behave differently inside a transaction that someone else holds open.

The PostgreSQL engine plays most programs inside one open transaction and rolls back. That is sound only for
programs that neither end transactions nor do what depends on where a transaction ends; in doubt the answer
here is yes, which costs time, never truth.
"""

from __future__ import annotations

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.lexer import Lexer, Token, significant_tokens, string_content
from pytest_plsqlbench.sql.psql import read_postgres
from pytest_plsqlbench.sql.statement import ScriptStatement

_MAX_DEPTH = 6
"""Levels of strings in strings that are read; what lies deeper counts as doubt."""
_STARTS = frozenset(("", ";", "BEGIN", "THEN", "ELSE", "LOOP", ">>", "IS", "AS", "ATOMIC", "DO"))
"""What stands before a statement."""
_ENDING = frozenset(("COMMIT", "ROLLBACK", "ABORT"))
_OUTSIDE = frozenset(("LOCK", "DECLARE", "VACUUM", "DISCARD"))
"""First words of PostgreSQL statements that need a transaction, or refuse one."""
_PAIRS = frozenset(
    (
        ("ON", "COMMIT"),  # temporary tables emptied or dropped at the end
        ("INITIALLY", "DEFERRED"),
        ("ALL", "DEFERRED"),
        ("SET", "CONSTRAINTS"),
        ("SET", "TRANSACTION"),
        ("SET", "LOCAL"),
        ("PREPARE", "TRANSACTION"),
        ("ALTER", "SYSTEM"),
        ("CREATE", "DATABASE"),
        ("DROP", "DATABASE"),
        ("CREATE", "TABLESPACE"),
        ("DROP", "TABLESPACE"),
        ("CREATE", "SUBSCRIPTION"),
        ("DROP", "SUBSCRIPTION"),
        ("PRAGMA", "AUTONOMOUS_TRANSACTION"),
    )
)
"""Two words in a row whose effect is tied to the end of a transaction, or that refuse to run inside one."""
_WORDS = frozenset(("CONCURRENTLY", "SET_CONFIG"))
_NEEDLES = tuple(word.lower() for word in {*_ENDING, *_WORDS, *(second for _, second in _PAIRS)})


def ends_transactions(text: str, dialect: Dialect) -> bool:
    """Whether the text controls transactions, or depends on where they end. Judged on tokens; True in doubt.

    Read are the statements, the bodies of routines and DO blocks, and strings that could be dynamic SQL.
    """
    if dialect == "postgres" and any(_stands_out(statement) for statement in read_postgres(text).statements):
        return True
    if not _may_control(text):
        return False
    pending = [(text, 0)]
    while pending:
        piece, depth = pending.pop()
        tokens = significant_tokens(piece, dialect)
        if _controls(tokens):
            return True
        for token in tokens:
            content = string_content(token, dialect)
            if content is None or not _may_control(content):
                continue
            if depth >= _MAX_DEPTH:
                return True
            pending.append((content, depth + 1))
    return False


def _may_control(text: str) -> bool:
    """Whether one of the words stands in the text at all, in whatever case and place."""
    lower, upper = text.lower(), text.upper()
    return any(needle in lower or needle.upper() in upper for needle in _NEEDLES)


def _stands_out(statement: ScriptStatement) -> bool:
    """Whether a statement of a script controls transactions, or needs or refuses one."""
    return statement.kind == "transaction" or next(iter(Lexer(statement.text, "postgres"))).value in _OUTSIDE


def _controls(tokens: list[Token]) -> bool:
    previous, last = "", len(tokens) - 1
    for at, token in enumerate(tokens):
        word = token.value
        if token.kind == "word" and previous != ".":
            if previous in _STARTS and word in _ENDING:
                savepoint = word == "ROLLBACK" and any(
                    after.value == "TO" for after in tokens[at + 1 : at + 3]
                )
                if not savepoint:
                    return True
            if (previous, word) in _PAIRS or (word in _WORDS and at < last):
                return True
        previous = word
    return False
