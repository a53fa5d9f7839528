"""Whether a text is a program as it stands: the published rule on fences, prose and wrapped answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise

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
        if statement.kind == "client":
            continue
        head = statement_head(statement, dialect)
        if plausible(head, dialect):
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
    return list(islice(Lexer(statement.text, dialect, significant=True), _HEAD))


def _is_prose(head: Sequence[Token], *, first: bool) -> bool:
    """Whether what begins no statement is prose, rather than a slip in a program, for the server to name.

    What stands first in an answer is no program, whatever it is, unless it is procedural code without its
    frame. Later on prose shows itself by three words in a row, a colon right after the first word
    (``Note: …``), an apostrophe inside a word (``It's``), or a mark
    of Markdown (``**Note**``, ``### Notes``).
    """
    words = [token.value for token in head[:3] if token.kind == "word"]
    if (head and head[0].value in _PROCEDURAL) or ":=" in {token.value for token in head[:2]}:
        return False
    return first or len(words) == 3 or any(sign(head) for sign in (_is_label, _is_marked, _has_apostrophe))


def _is_label(head: Sequence[Token]) -> bool:
    """Whether the first word has a colon right after it, and text after that."""
    if len(head) < 3 or head[0].kind != "word" or head[1].value != ":":
        return False
    return head[1].offset == head[0].end and head[2].offset > head[1].end


def _is_marked(head: Sequence[Token]) -> bool:
    """Whether a heading, an emphasis or an item of a list of Markdown begins here."""
    marks = len(head) > 1 and not head[0].value.strip("*#")
    return marks and (head[1].kind == "word" or head[1].value == head[0].value)


def _has_apostrophe(head: Sequence[Token]) -> bool:
    """Whether one of the words goes on after an apostrophe; the lexer reads a string there."""
    return any(
        word.kind == "word"
        and after.kind in {"string", "broken"}
        and after.offset == word.end
        and after.text[:1] == "'"
        and after.text[1:2].isalpha()
        for word, after in pairwise(head)
    )


def _problem(statement: ScriptStatement, head: Sequence[Token]) -> str:
    if head and head[0].value in {"{", "["}:
        return f"the answer is wrapped in JSON at line {statement.line}"
    return f"text that is no statement at line {statement.line}: {_shown(statement.text)}"


def _shown(text: str) -> str:
    line = text.split("\n", 1)[0].strip()
    return f"`{line[:_SHOWN]}…`" if len(line) > _SHOWN else f"`{line}`"


def _fence(text: str, dialect: Dialect) -> Token | None:
    """The first fence line outside of strings and comments."""
    if not any(mark in text for mark in FENCES):
        return None
    fresh = True
    for token in Lexer(text, dialect):
        if token.kind == "blank":
            fresh = fresh or "\n" in token.text
            continue
        if fresh and text.startswith(FENCES, token.offset) and not token.silent:
            return token
        fresh = False
    return None
