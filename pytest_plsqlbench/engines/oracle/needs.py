"""What a text could want to do, judged on its tokens and on strings that could be dynamic SQL.

In doubt the answer is yes: that costs time (a play that may write runs alone on its data), never truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_plsqlbench.sql.lexer import Token, significant_tokens, string_content

_MAX_DEPTH = 6
_WRITING = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "LOCK"))
_CREATED = {
    "TABLE": "CREATE TABLE",
    "VIEW": "CREATE VIEW",
    "SEQUENCE": "CREATE SEQUENCE",
    "TRIGGER": "CREATE TRIGGER",
    "SYNONYM": "CREATE SYNONYM",
}
_LOOK_AHEAD = 8
"""Words between CREATE and what is created: OR REPLACE EDITIONABLE, GLOBAL TEMPORARY …"""
_FINAL = frozenset(("PROCEDURE", "FUNCTION", "PACKAGE", "TYPE", ";", "(", "IS", "AS"))


@dataclass(frozen=True, slots=True)
class Needs:
    """Rights beyond the base ones, and whether rows of the data may change."""

    rights: tuple[str, ...] = ()
    writes: bool = False


def needs_of(texts: Iterable[str]) -> Needs:
    """What these texts may need, played together."""
    rights: set[str] = set()
    writes = False
    for text in texts:
        pending = [(text, 0)]
        while pending:
            piece, depth = pending.pop()
            tokens = significant_tokens(piece, "oracle")
            writes |= _writes(tokens)
            rights |= _creates(tokens, whole=depth == 0)
            pending += _strings(tokens, depth)
    return Needs(tuple(sorted(rights)), writes)


def _writes(tokens: list[Token]) -> bool:
    previous = ""
    for token in tokens:
        if token.kind == "word" and token.value in _WRITING and previous != ".":
            return True
        previous = token.value
    return False


def _strings(tokens: list[Token], depth: int) -> list[tuple[str, int]]:
    """Contents of strings, which may be dynamic SQL or a part of it (``'UPDATE ' || name || ' SET …'``)."""
    if depth >= _MAX_DEPTH:
        return []
    contents = (string_content(token, "oracle") for token in tokens)
    return [(content, depth + 1) for content in contents if content and not content.isspace()]


def _creates(tokens: list[Token], *, whole: bool) -> set[str]:
    """Rights for what is created; where a part of a statement ends before that is named, for all."""
    found = set()
    for at, token in enumerate(tokens):
        if token.kind != "word" or token.value != "CREATE":
            continue
        following = tokens[at + 1 : at + 1 + _LOOK_AHEAD]
        for after in following:
            if after.value in _FINAL:
                break
            if after.value == "MATERIALIZED":
                found |= {"CREATE MATERIALIZED VIEW", "CREATE TABLE"}
                break
            if after.value in _CREATED:
                found.add(_CREATED[after.value])
                break
        else:
            if not whole and len(following) < _LOOK_AHEAD:
                found |= {*_CREATED.values(), "CREATE MATERIALIZED VIEW"}
    return found


_REDEFINING = frozenset(("CREATE", "ALTER", "DROP", "RENAME", "GRANT", "REVOKE", "COMPILE"))


def may_redefine(programs: Iterable[str], calls: Iterable[str]) -> bool:
    """Whether playing the calls could change stored units: DDL in a call, or in a string of a program.

    The dictionary tells changes only to the second, so a unit that is replaced in the second of its creation
    would go unnoticed; texts like these cost a rebuild between tests instead.
    """
    return any(_redefines(text, 0) for text in calls) or any(_redefines(text, 1) for text in programs)


def _redefines(text: str, least_depth: int) -> bool:
    pending = [(text, 0)]
    while pending:
        piece, depth = pending.pop()
        tokens = significant_tokens(piece, "oracle")
        words = {token.value for token in tokens if token.kind == "word"}
        if depth >= least_depth and not _REDEFINING.isdisjoint(words):
            return True
        pending += _strings(tokens, depth)
    return False
