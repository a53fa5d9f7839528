"""What both script readers share: a cursor over tokens that can step past raw lines, and what they gather."""

from __future__ import annotations

from collections import deque

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.finding import Finding, Severity
from pytest_plsqlbench.sql.lexer import Lexer, Token
from pytest_plsqlbench.sql.statement import Script, ScriptStatement

_UNTERMINATED = {
    "/": ("unterminated_comment", "a comment is opened here and never closed"),
    '"': ("unterminated_identifier", "a quoted identifier is opened here and never closed"),
    "$": ("unterminated_string", "a dollar-quoted string is opened here and never closed"),
}
_UNTERMINATED_STRING = ("unterminated_string", "a string is opened here and never closed")


class Cursor:
    """Significant tokens one by one; blanks and comments are passed over, but their newlines are seen."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.text = text
        self.dialect = dialect
        self.statements: list[ScriptStatement] = []
        self.findings: list[Finding] = []
        self._lexer = Lexer(text, dialect)
        self._tokens = iter(self._lexer)
        self._ahead: deque[tuple[Token, bool]] = deque()
        self._fresh_line = True

    def result(self) -> Script:
        """All that was gathered, findings in the order of the text."""
        return Script(
            tuple(self.statements), tuple(sorted(self.findings, key=lambda finding: finding.offset))
        )

    def next(self) -> tuple[Token, bool] | None:
        """The next significant token, and whether it is the first thing on its line."""
        return self._ahead.popleft() if self._ahead else self._read()

    def peek(self) -> tuple[Token, bool] | None:
        """The next significant token, left in place."""
        if not self._ahead:
            entry = self._read()
            if entry is None:
                return None
            self._ahead.append(entry)
        return self._ahead[0]

    def head(self, first: Token, length: int = 12) -> list[Token]:
        """The first significant tokens of a statement, left in place, up to a ``;`` or ``/``."""
        tokens = [first]
        for entry, _ in self._ahead:
            tokens.append(entry)
        while len(tokens) < length and tokens[-1].value not in {";", "/"} and tokens[-1].kind != "broken":
            entry_read = self._read()
            if entry_read is None:
                break
            self._ahead.append(entry_read)
            tokens.append(entry_read[0])
        return tokens

    def back(self, entry: tuple[Token, bool]) -> None:
        """Put a token back."""
        self._ahead.appendleft(entry)

    def skip_to(self, end: int) -> None:
        """Go on at an index of the text; allowed only while nothing lies ahead."""
        if end > self._lexer.position:
            passed = self._lexer.skip_to(end)
            self._fresh_line = passed.endswith("\n")
        self._tokens = iter(self._lexer)

    def find(self, code: str, message: str, at: Token, severity: Severity = "warning") -> None:
        """Record a finding at a token."""
        self.findings.append(Finding(code, message, severity, at.offset, at.line, at.column))

    def add_client(self, first: Token, end: int, command: str, arguments: str, *, refused: bool) -> None:
        """Record a command for the client and go on behind it.

        Args:
            first: its first token.
            end: index of the text behind it, with blanks that belong to its line.
            command: its name.
            arguments: what follows the name.
            refused: it is not run here.
        """
        text = self.text[first.offset : end].rstrip()
        self.statements.append(
            ScriptStatement(
                text=text,
                kind="client",
                offset=first.offset,
                end=first.offset + len(text),
                line=first.line,
                column=first.column,
                command=command,
                arguments=arguments,
                refused=refused,
            )
        )
        self.skip_to(end)

    def _read(self) -> tuple[Token, bool] | None:
        for token in self._tokens:
            if token.kind == "blank":
                if "\n" in token.text:
                    self._fresh_line = True
                continue
            fresh, self._fresh_line = self._fresh_line, False
            if token.kind == "comment":
                continue
            if token.kind == "broken":
                code, message = _UNTERMINATED.get(token.text[0], _UNTERMINATED_STRING)
                self.find(code, message, token, "error")
            return token, fresh
        return None
