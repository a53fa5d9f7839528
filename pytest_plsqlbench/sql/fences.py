"""Markdown fences in an answer. Fence lines inside a string or comment of the program close nothing."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.lexer import Lexer

_OPENING = re.compile(r"^([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([^`\n]*+)$", re.MULTILINE)
_CLOSING = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[ \t\r]*+$", re.MULTILINE)
_MOST = 500
"""Fences read in one answer; what follows is left alone, so that no answer takes long to read."""
_HIDING = frozenset(("string", "comment", "quoted"))


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block."""

    language: str
    """The first word after the opening fence, in lower case; empty without one."""
    content: str
    line: int
    """Line of the opening fence in the answer, from 1."""
    closed: bool


def read_fences(text: str, dialect: Dialect) -> list[Fence]:
    """The fenced blocks of an answer, in order."""
    closings = [(found.start(), found.end(), found.group(1)) for found in _CLOSING.finditer(text)]
    fences: list[Fence] = []
    at = 0
    while len(fences) < _MOST and (opening := _OPENING.search(text, at)) is not None:
        start = min(opening.end() + 1, len(text))
        mark = opening.group(2)
        first = bisect_left(closings, (start, 0, ""))
        candidates = [
            c for c in closings[first : first + _MOST] if c[2][0] == mark[0] and len(c[2]) >= len(mark)
        ]
        end = at = len(text)
        if candidates:
            end, at, _ = candidates[_first_outside(text, start, [c[0] for c in candidates], dialect)]
        words = opening.group(3).split(None, 1)
        content = _dedent(text[start:end], len(opening.group(1)))
        line = text.count("\n", 0, opening.start()) + 1
        fences.append(Fence(words[0].lower() if words else "", content, line, closed=bool(candidates)))
    return fences


def _first_outside(text: str, start: int, offsets: list[int], dialect: Dialect) -> int:
    """Which of the offsets is the first outside of a string or comment; the first where all are inside."""
    lexer = Lexer(text, dialect)
    lexer.skip_to(start)
    at = 0
    for token in lexer:
        while at < len(offsets) and offsets[at] < token.offset:
            at += 1
        if at == len(offsets) or token.kind == "broken":
            return 0
        if offsets[at] < token.end and not (token.kind in _HIDING and token.offset < offsets[at]):
            return at
    return 0


def _dedent(content: str, indent: int) -> str:
    """Take away the indentation that the opening fence has (a fence inside a list)."""
    if not indent:
        return content
    lines = content.split("\n")
    return "\n".join(line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines)
