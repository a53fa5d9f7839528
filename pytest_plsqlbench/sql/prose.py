"""Whether a text is a program as it stands: the published rule on fences, prose and wrapped answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.lexer import Lexer, Token
from pytest_plsqlbench.sql.plausible import plausible
from pytest_plsqlbench.sql.script import ScriptStatement, read_script

_SHOWN = 40
_HEAD = 13
FENCES = ("```", "~~~")
_PROCEDURAL = frozenset(
    (
        "ASSERT", "CASE", "CONTINUE", "ELSE", "ELSIF", "ELSEIF", "EXCEPTION", "EXIT", "FOR", "FOREACH",
        "FORALL", "GET", "GOTO", "IF", "LOOP", "NULL", "OPEN", "PERFORM", "PRAGMA", "RAISE", "RETURN", "WHEN",
        "WHILE",
    )
)  # fmt: skip
"""Words that begin statements of procedural code."""


def published_problem(text: str, dialect: Dialect) -> str | None:
    """Why a text is "not a program" by the published rules, in one line; None where it is one.

    Nothing is stripped: fences and prose make an answer an invalid artifact (PLSQLBench asks for executable
    PL/SQL only, no Markdown). Only what no server accepts is named; the rest is left to the server.

    Args:
        text: a model's answer, as it came.
        dialect: how it is read.
    """
    if not text.lstrip("\ufeff").strip():
        return "the answer is empty"
    script = read_script(text, dialect)
    fence = _fence(text, dialect)
    if fence is not None:
        return f"a Markdown fence stands at line {fence.line}"
    for at, statement in enumerate(script.statements):
        head = statement_head(statement, dialect)
        if statement.kind == "client" or plausible(head, dialect):
            continue
        if _is_prose(head, first=at == 0):
            return _problem(statement, head)
    for finding in script.findings:
        if finding.code == "stray_text" and text[finding.offset].isalpha():
            return f"text that is no statement at line {finding.line}: {_shown(text[finding.offset :])}"
    if not any(statement.kind != "client" for statement in script.statements):
        return "the answer holds no statement"
    return None


def statement_head(statement: ScriptStatement, dialect: Dialect) -> list[Token]:
    """The first significant tokens of a statement."""
    tokens = (token for token in Lexer(statement.text, dialect) if not token.silent)
    return list(islice(tokens, _HEAD))


def _is_prose(head: Sequence[Token], *, first: bool) -> bool:
    """Whether what begins no statement is prose, rather than a slip in a program, for the server to name.

    What stands first in an answer is no program, whatever it is, unless it is procedural code without its
    frame. Later on prose shows itself by three words in a row.
    """
    words = [token.value for token in head[:3] if token.kind == "word"]
    if (head and head[0].value in _PROCEDURAL) or ":=" in {token.value for token in head[:2]}:
        return False
    return first or len(words) == 3


def _problem(statement: ScriptStatement, head: Sequence[Token]) -> str:
    if head and head[0].value in {"{", "["}:
        return f"the answer is wrapped in JSON at line {statement.line}"
    return f"text that is no statement at line {statement.line}: {_shown(statement.text)}"


def _shown(text: str) -> str:
    line = text.split("\n", 1)[0].strip()
    return f"`{line[:_SHOWN]}…`" if len(line) > _SHOWN else f"`{line}`"


def _fence(text: str, dialect: Dialect) -> Token | None:
    """The first fence line outside of strings and comments."""
    fresh = True
    for token in Lexer(text, dialect):
        if token.kind == "blank":
            fresh = fresh or "\n" in token.text
            continue
        if fresh and text.startswith(FENCES, token.offset) and not token.silent:
            return token
        fresh = False
    return None
