"""Where an Oracle unit ends: a small stack machine over the block structure, without recursion.

Used by the script reader, so that a unit whose last ``/`` is missing still ends where its ``END;`` is. It reads
any text: what it does not know leaves the stack as it is.
"""

from __future__ import annotations

from enum import Enum, auto

from pytest_plsqlbench.sql.lexer import Token


class Frame(Enum):
    """What is open."""

    SUBPROGRAM = auto()
    """Header of a function or procedure, up to IS or AS."""
    START = auto()
    """Before the block of a trigger or an anonymous block: header or labels."""
    HOLDER = auto()
    """Header of a package or type body, up to IS or AS."""
    MEMBERS = auto()
    """Members of a package, type body or compound trigger, up to END or BEGIN."""
    DECLARATIONS = auto()
    """Declarations of a block, up to BEGIN."""
    BODY = auto()
    IF = auto()
    LOOP = auto()
    CASE = auto()
    FLAT = auto()
    """No blocks inside: ends at the next semicolon."""
    OPAQUE = auto()
    """Foreign source (Java, JavaScript): only a ``/`` ends it."""


_BEGINS_STATEMENT = frozenset(("BEGIN", "THEN", "ELSE", "LOOP", "EXCEPTION"))
_CLOSING_WORDS = frozenset(("IF", "LOOP", "CASE"))
_DECLARING = frozenset((Frame.MEMBERS, Frame.DECLARATIONS))
_MEMBER_WORDS = frozenset(
    ("MEMBER", "STATIC", "CONSTRUCTOR", "MAP", "ORDER", "FINAL", "INSTANTIABLE", "OVERRIDING", "NOT")
)


class Nesting:
    """Fed with the tokens of one unit after its first words; ``feed`` says when the unit is complete."""

    def __init__(self, first: Frame) -> None:
        self.stack = [first]
        self.complete = False
        self._parens = 0
        self._previous = ""
        self._after_end: Frame | None = None

    @property
    def statement_start(self) -> bool:
        """Whether the next token begins a statement or declaration."""
        return self._previous in {";", "", ">>"} or self._previous in _BEGINS_STATEMENT

    @property
    def after_semicolon(self) -> bool:
        """Whether a semicolon was the last thing."""
        return self._previous == ";"

    @property
    def between_members(self) -> bool:
        """Whether only declarations are open, and the last one has ended."""
        return self.after_semicolon and self.stack == [Frame.DECLARATIONS]

    @property
    def opaque(self) -> bool:
        """Whether foreign source is read, of which we know no structure."""
        return self.stack == [Frame.OPAQUE]

    def feed(self, token: Token) -> bool:
        """Take a token (no blanks, no comments); True for the semicolon that completes the unit."""
        value = token.value
        if token.kind == "word":
            if self._previous not in {".", "%"}:
                self._word(value)
            else:
                value = "name"
        elif token.kind == "punct":
            if value == "(":
                self._parens += 1
            elif value == ")":
                self._parens = max(0, self._parens - 1)
            elif value == ";":
                self._semicolon()
        else:
            value = "name" if token.kind != "directive" else ";"
        self._previous = value
        return self.complete

    def _semicolon(self) -> None:
        self._parens = 0
        self._after_end = None
        if self.stack and self.stack[-1] in {Frame.FLAT, Frame.SUBPROGRAM}:
            self.stack.pop()
        if not self.stack:
            self.complete = True

    def _word(self, word: str) -> None:
        handler = _HANDLERS.get(word)
        if self._previous == "END" and word in _CLOSING_WORDS:
            # A CASE expression may end right before the LOOP that its range or condition belongs to.
            if word != "LOOP" or self._after_end is not Frame.CASE:
                return
        if handler is not None and self.stack:
            handler(self, self.stack[-1])

    def _begin(self, top: Frame) -> None:
        if top in {Frame.START, Frame.DECLARATIONS, Frame.MEMBERS}:
            self.stack[-1] = Frame.BODY
        elif top not in {Frame.SUBPROGRAM, Frame.HOLDER, Frame.FLAT, Frame.OPAQUE}:
            self.stack.append(Frame.BODY)

    def _declare(self, top: Frame) -> None:
        if top is Frame.START:
            self.stack[-1] = Frame.DECLARATIONS
        elif top is Frame.BODY or top in {Frame.IF, Frame.LOOP, Frame.CASE}:
            self.stack.append(Frame.DECLARATIONS)

    def _is_or_as(self, top: Frame) -> None:
        if self._parens:
            return
        if top is Frame.SUBPROGRAM:
            self.stack[-1] = Frame.DECLARATIONS
        elif top is Frame.HOLDER:
            self.stack[-1] = Frame.MEMBERS
        elif top is Frame.MEMBERS and self._previous in {"STATEMENT", "ROW"}:
            self.stack.append(Frame.DECLARATIONS)

    def _foreign(self, top: Frame) -> None:
        if top is Frame.DECLARATIONS and self._previous in {"IS", "AS"}:
            self.stack[-1] = Frame.FLAT  # call specification

    def _subprogram(self, top: Frame) -> None:
        if top in _DECLARING and (
            self._previous in {";", "IS", "AS", "DECLARE", "", "TRIGGER", "WITH"}
            or self._previous in _MEMBER_WORDS
        ):
            self._parens = 0
            self.stack.append(Frame.SUBPROGRAM)

    def _compound(self, top: Frame) -> None:
        if top is Frame.START and self._previous == "COMPOUND":
            self.stack[-1] = Frame.MEMBERS

    def _call(self, top: Frame) -> None:
        if top is Frame.START and not self._parens:
            self.stack[-1] = Frame.FLAT

    def _if(self, top: Frame) -> None:
        if top in _EXECUTABLE and self.statement_start:
            self.stack.append(Frame.IF)

    def _loop(self, top: Frame) -> None:
        if top in _EXECUTABLE:
            self.stack.append(Frame.LOOP)

    def _case(self, top: Frame) -> None:
        if top not in {Frame.FLAT, Frame.OPAQUE}:
            self.stack.append(Frame.CASE)

    def _end(self, top: Frame) -> None:
        if top in {Frame.FLAT, Frame.OPAQUE, Frame.SUBPROGRAM, Frame.START, Frame.HOLDER}:
            return
        self._after_end = self.stack.pop()


_EXECUTABLE = frozenset((Frame.BODY, Frame.IF, Frame.LOOP, Frame.CASE))
_HANDLERS = {
    "BEGIN": Nesting._begin,
    "DECLARE": Nesting._declare,
    "IS": Nesting._is_or_as,
    "AS": Nesting._is_or_as,
    "LANGUAGE": Nesting._foreign,
    "EXTERNAL": Nesting._foreign,
    "MLE": Nesting._foreign,
    "PROCEDURE": Nesting._subprogram,
    "FUNCTION": Nesting._subprogram,
    "TRIGGER": Nesting._compound,
    "CALL": Nesting._call,
    "IF": Nesting._if,
    "LOOP": Nesting._loop,
    "CASE": Nesting._case,
    "END": Nesting._end,
}
