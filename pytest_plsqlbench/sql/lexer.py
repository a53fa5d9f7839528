"""Tokens of Oracle and PostgreSQL program text.

Lossless (the tokens joined are the text), linear in the length of the text, and total: any text has tokens.
What a token means is decided by the readers; here it is only cut. Sources of the rules: Oracle Database
PL/SQL Language Reference, "Lexical Units", and SQL Language Reference, "Literals"; PostgreSQL manual, 4.1
"Lexical Structure" (with ``standard_conforming_strings`` on, its default).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pytest_plsqlbench.bench.task import Dialect

TokenKind = Literal[
    "blank",
    "comment",
    "word",
    "quoted",
    "string",
    "number",
    "bind",
    "param",
    "directive",
    "punct",
    "broken",
    "unknown",
]
"""``quoted``: a quoted identifier; ``bind``: ``:name`` (Oracle); ``param``: ``$1`` (PostgreSQL);
``directive``: ``$IF`` and ``$$NAME`` (Oracle); ``broken``: a string, comment or quoted identifier that never
ends, up to the end of the text; ``unknown``: a character that starts nothing."""


class Token(NamedTuple):
    """A piece of text."""

    kind: TokenKind
    text: str
    value: str
    """For words the text in upper case; else the text."""
    offset: int
    """Index of the first character, from 0."""
    line: int
    """From 1."""
    column: int
    """From 1, in characters."""

    @property
    def end(self) -> int:
        """Index after the last character."""
        return self.offset + len(self.text)

    @property
    def silent(self) -> bool:
        """Whether it is a blank or a comment."""
        return self.kind in SILENT


SILENT = frozenset(("blank", "comment"))
_CLOSING = {"[": "]", "(": ")", "{": "}", "<": ">"}

# Possessive quantifiers: an unterminated literal must fail at once, not be tried again in shorter forms.
_QUOTED_RUN = r"'[^']*+(?:''[^']*+)*+'"
_ORACLE = re.compile(
    r"""
      (?P<blank>[ \t\r\n\f\v]++)
    | (?P<comment>--[^\n]*+)
    | (?P<block>/\*)
    | (?P<alternative>[nN]?[qQ]'(?=[^ \t\r\n]))
    | (?P<string>[nN]?"""
    + _QUOTED_RUN
    + r""")
    | (?P<open>[nN]?')
    | (?P<word>[^\W\d][\w$#]*+)
    | (?P<number>(?:\d++(?:\.(?!\.)\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?:[fFdD](?![\w$#]))?)
    | (?P<quoted>"[^"]*+")
    | (?P<quote>")
    | (?P<bind>:(?:[^\W\d][\w$#]*+|\d++))
    | (?P<directive>\$\$?[^\W\d][\w$#]*+)
    | (?P<punct>:=|=>|\.\.|\|\||\*\*|<>|!=|\^=|~=|<=|>=|<<|>>|[-+*/=<>().,;:%@&|\[\]{}!^~?$\#\\`])
    """,
    re.VERBOSE,
)

_ESCAPED_RUN = r"'[^'\\]*+(?:(?:''|\\.)[^'\\]*+)*+'"
_NEXT_LINE = r"[ \t\f\v]*+[\n\r](?:[ \t\n\r\f\v]++|--[^\n\r]*+[\n\r])*+"
_POSTGRES = re.compile(
    r"""
      (?P<blank>[ \t\r\n\f\v]++)
    | (?P<comment>--[^\n\r]*+)
    | (?P<block>/\*)
    | (?P<escaped>[eE]"""
    + _ESCAPED_RUN
    + f"(?:{_NEXT_LINE}{_ESCAPED_RUN})*+"
    + r""")
    | (?P<string>(?:[nNbBxX]|[uU]&)?"""
    + _QUOTED_RUN
    + r""")
    | (?P<open>(?:[nNbBxXeE]|[uU]&)?')
    | (?P<quoted>(?:[uU]&)?"[^"]*+(?:""[^"]*+)*+")
    | (?P<quote>(?:[uU]&)?")
    | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*+)
    | (?P<dollar>\$(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*+)?\$)
    | (?P<param>\$\d++)
    | (?P<number>0[xX](?:_?[0-9A-Fa-f])++|0[oO](?:_?[0-7])++|0[bB](?:_?[01])++
        |(?:\d++(?:_\d++)*+(?:\.(?!\.)(?:\d++(?:_\d++)*+)?)?|\.\d++(?:_\d++)*+)(?:[eE][+-]?\d++)?)
    | (?P<punct>::|:=|\.\.|(?:(?!--|/\*)[~!@\#^&|`?+\-*/%<>=])++|[().,;:\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")

_KINDS: dict[str, TokenKind] = {
    "blank": "blank",
    "comment": "comment",
    "string": "string",
    "escaped": "string",
    "word": "word",
    "number": "number",
    "quoted": "quoted",
    "bind": "bind",
    "param": "param",
    "directive": "directive",
    "punct": "punct",
}


class Lexer:
    """Cuts a text from ``position`` on; the reader may move it past raw lines (``skip_to``).

    A text that is a piece of another one is given the place of its first character there (``offset``,
    ``line``, ``column``), so that its tokens carry positions in the whole.
    """

    def __init__(
        self,
        text: str,
        dialect: Dialect,
        *,
        offset: int = 0,
        line: int = 1,
        column: int = 1,
        significant: bool = False,
    ) -> None:
        """Take the text.

        Args:
            text: what is cut.
            dialect: by whose rules.
            offset: of the first character.
            line: of it.
            column: of it.
            significant: leave out blanks and comments, of which a text has as many as of all else.
        """
        self.text = text
        self._left_out: frozenset[str] = SILENT if significant else frozenset()
        self.dialect = dialect
        self.position = 0
        self._pattern = _ORACLE if dialect == "oracle" else _POSTGRES
        self._offset = offset
        self._line = line
        self._line_start = 1 - column
        self._upper: dict[str, str] = {}

    def __iter__(self) -> Iterator[Token]:
        """The tokens from ``position`` on; after ``skip_to`` a new iteration is needed."""
        text, match, upper, kinds = self.text, self._pattern.match, self._upper, _KINDS
        left_out = self._left_out
        new = tuple.__new__  # half the time of calling the class
        start, line, line_start, base = self.position, self._line, self._line_start, self._offset
        kind: TokenKind
        if start == 0 and text.startswith("\ufeff"):  # it belongs to the file, not to the program
            self.position = start = 1
            if not left_out:
                yield new(Token, ("blank", "\ufeff", "\ufeff", base, line, 1 - line_start))
        while (found := match(text, start)) is not None or start < len(text):
            if found is None:
                kind, end = "unknown", start + 1
            else:
                group, end = found.lastgroup or "", found.end()
                if group in kinds:
                    kind = kinds[group]
                else:
                    kind, end = self._open(group, end, found.group())
            if kind in left_out:
                if lines := text.count("\n", start, end):
                    line += lines
                    line_start = text.rfind("\n", start, end) + 1
                self.position, self._line, self._line_start = end, line, line_start
                start = end
                continue
            piece = value = text[start:end]
            if kind == "word":
                value = upper.get(piece) or upper.setdefault(piece, piece.upper())
            token: Token = new(Token, (kind, piece, value, base + start, line, start - line_start + 1))
            if kind in _MANY_LINES and (lines := piece.count("\n")):
                line += lines
                line_start = text.rfind("\n", start, end) + 1
            self.position, self._line, self._line_start = end, line, line_start
            yield token
            start = end

    def skip_to(self, end: int) -> str:
        """Move on to ``end`` without cutting; the text that was passed."""
        start, self.position = self.position, end
        if lines := self.text.count("\n", start, end):
            self._line += lines
            self._line_start = self.text.rfind("\n", start, end) + 1
        return self.text[start:end]

    def _open(self, group: str, end: int, opening: str) -> tuple[TokenKind, int]:
        """Kind and end of a literal or comment whose end is searched for."""
        text = self.text
        close = -1
        kind: TokenKind = "string"
        if group == "block":
            kind = "comment"
            close = self._comment_end(end)
        elif group == "alternative":
            delimiter = text[end]
            closing = _CLOSING.get(delimiter, delimiter) + "'"
            at = text.find(closing, end + 1)
            close = at + 2 if at >= 0 else -1
        elif group == "dollar":
            at = text.find(opening, end)
            close = at + len(opening) if at >= 0 else -1
        return (kind, close) if close >= 0 else ("broken", len(text))

    def _comment_end(self, start: int) -> int:
        if self.dialect == "oracle":
            at = self.text.find("*/", start)
            return at + 2 if at >= 0 else -1
        depth = 1
        for edge in _COMMENT_EDGE.finditer(self.text, start):
            depth += 1 if edge.group() == "/*" else -1
            if depth == 0:
                return edge.end()
        return -1


_MANY_LINES = frozenset(("blank", "comment", "string", "quoted", "broken", "unknown"))


def tokenize(text: str, dialect: Dialect) -> list[Token]:
    """All tokens of a text, blanks and comments too. Never raises."""
    return list(Lexer(text, dialect))


def significant_tokens(text: str, dialect: Dialect) -> list[Token]:
    """The tokens of a text without its blanks and comments. Never raises."""
    return list(Lexer(text, dialect, significant=True))


def tokenize_content(token: Token, dialect: Dialect, *, significant: bool = False) -> list[Token]:
    """The tokens of the text inside a string literal, with positions in the text around it.

    Lines are exact; columns and offsets drift where quotes are doubled inside (never in dollar quotes).
    """
    content = string_content(token, dialect)
    if content is None:
        return []
    opening = token.text.index("$", 1) + 1 if token.text[0] == "$" else token.text.index("'") + 1
    lexer = Lexer(
        content,
        dialect,
        offset=token.offset + opening,
        line=token.line,
        column=token.column + opening,
        significant=significant,
    )
    return list(lexer)


def string_content(token: Token, dialect: Dialect) -> str | None:
    """What a string literal holds, doubled quotes resolved; None for other tokens.

    Backslash escapes of ``E'…'`` are left as they stand, except that of the quote: enough to read the text
    inside.
    """
    if token.kind != "string":
        return None
    text = token.text
    if text[0] == "$":
        tag = text.index("$", 1) + 1
        return text[tag:-tag]
    quote = text.index("'")
    prefix = text[:quote].upper()
    if dialect == "oracle" and prefix.endswith("Q"):
        return text[quote + 2 : -2]
    inner = text[quote + 1 : -1].replace("''", "'")
    return inner.replace("\\'", "'") if prefix == "E" else inner
