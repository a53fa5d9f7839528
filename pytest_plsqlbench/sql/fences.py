"""Markdown fences in an answer. Fence lines inside a string or comment of the program close nothing."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import islice

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.lexer import Lexer
from pytest_plsqlbench.sql.plausible import plausible

_OPENING = re.compile(
    r"^([ \t]*+(?:>[ \t]*+)*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)?+)(`{3,}+|~{3,}+)[ \t]*+([^`\n]*+)"
    r"(?:(?P<same>\2)[ \t\r]*+)?$",
    re.MULTILINE,
)
"""A fence, also on a line of a list or in a quote; one line may hold all of a block."""
_QUOTED_LINE = re.compile(r"[ \t]*+>[^\n]*+(?:\n|\Z)")
_QUOTE = re.compile(r"^(?:[ \t]*+>)++[ \t]?", re.MULTILINE)
_CLOSING = re.compile(r"^[ \t]*+(`{3,}+|~{3,}+)[ \t\r]*+$", re.MULTILINE)
_MOST = 500
"""Fences read in one answer; what follows is left alone, so that no answer takes long to read."""
_HEAD = 13
_ALONE = frozenset(("BEGIN", "DECLARE", "SELECT"))
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
    closings = _closings(text)
    fences: list[Fence] = []
    at = 0
    while len(fences) < _MOST and (opening := _OPENING.search(text, at)) is not None:
        start = min(opening.end() + 1, len(text))
        indent, mark, info = opening.group(1, 2, 3)
        line = text.count("\n", 0, opening.start()) + 1
        language, content = _info(info, dialect)
        if ">" in indent:  # the lines of a quote are read once, without its marks
            at = _quote_end(text, opening.start())
            inner = read_fences(_QUOTE.sub("", text[opening.start() : at]), dialect)
            fences.extend(replace(fence, line=fence.line + line - 1) for fence in inner)
            continue
        if opening["same"] is not None:
            fences.append(Fence(language, content, line, closed=True))
            at = start
            continue
        end, at, closed = _block_end(text, start, mark, closings, dialect)
        body = text[start:end]
        content = f"{content}\n" * bool(content) + _dedent(body, len(indent))
        fences.append(Fence(language, content, line, closed=closed))
    return fences


_Closing = tuple[int, int, str]


def _closings(text: str) -> list[_Closing]:
    return [(found.start(), found.end(), found.group(1)) for found in _CLOSING.finditer(text)]


def _block_end(
    text: str, start: int, mark: str, closings: list[_Closing], dialect: Dialect
) -> tuple[int, int, bool]:
    """Where a block's content ends, where its closing fence ends, and whether it has one."""
    first = bisect_left(closings, (start, 0, ""))
    candidates = [c for c in closings[first : first + _MOST] if c[2][0] == mark[0] and len(c[2]) >= len(mark)]
    if not candidates:
        return len(text), len(text), False
    end, after, _ = candidates[_first_outside(text, start, [c[0] for c in candidates], dialect)]
    return end, after, True


def _info(info: str, dialect: Dialect) -> tuple[str, str]:
    """The language that an opening fence names, and the code that stands on its line."""
    words = info.split(None, 1)
    if not words:
        return "", ""
    if len(words) > 1 and _is_code(words[1], dialect):
        return words[0].lower(), words[1].strip()
    if _is_code(info, dialect):
        return "", info.strip()
    return words[0].lower(), ""


def _is_code(text: str, dialect: Dialect) -> bool:
    """Whether code begins so; of single words only those that stand alone on a line of a program do."""
    head = list(islice(Lexer(text, dialect, significant=True), _HEAD))
    alone = len(head) == 1 and head[0].value not in _ALONE
    return not alone and plausible(head, dialect)


def _quote_end(text: str, start: int) -> int:
    """Where the lines end that a quote has from ``start`` on."""
    at = start
    while (line := _QUOTED_LINE.match(text, at)) is not None and line.end() > at:
        at = line.end()
    return at


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
