"""The psql reader: PostgreSQL scripts into statements."""

from __future__ import annotations

import re

from pytest_plsqlbench.sql.classify import StatementKind, classify
from pytest_plsqlbench.sql.cursor import Cursor
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.remembering import remember
from pytest_plsqlbench.sql.statement import Script, ScriptStatement

_META = re.compile(r"\\([^\s]*)([^\n]*)")
_COPY_END = re.compile(r"^\\\.[ \t\r]*$", re.MULTILINE)
_CHANGES = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE"))
_ROUTINES = frozenset(("create_function", "create_procedure"))


@remember(short=64, long=1)
def read_postgres(text: str) -> Script:
    """A PostgreSQL script cut into its statements."""
    return PostgresReader(text).read()


class _Parens:
    """Depth of parentheses, and the outermost that is open."""

    def __init__(self) -> None:
        self.depth = 0
        self.opened: Token | None = None

    def feed(self, token: Token) -> None:
        if token.value == "(":
            self.opened = self.opened or token
            self.depth += 1
        elif token.value == ")" and self.depth:
            self.depth -= 1
            self.opened = self.opened if self.depth else None


class PostgresReader(Cursor):
    """Reads one script."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "postgres")
        self._no_copy_end = False

    def read(self) -> Script:
        """The statements."""
        while (entry := self.next()) is not None:
            first, _ = entry
            if first.value == ";":
                continue
            if first.value == "\\":
                self._meta(first)
            else:
                self._statement(first)
        return self.result()

    def _meta(self, first: Token) -> None:
        found = _META.match(self.text, first.offset)
        assert found is not None
        name, arguments = found.groups()
        command = f"\\{name}"
        self._refuse(first, command)
        self.add_client(first, found.end(), command, arguments.strip(), refused=True)

    def _refuse(self, at: Token, command: str) -> None:
        self.find("refused_command", f"the psql command {command} is not run here: take it out", at, "error")

    def _statement(self, first: Token) -> None:
        words = [token.value for token in self.head(first)]
        kind = classify(words, "postgres")
        parens = _Parens()
        parens.feed(first)
        last, nested, stdin = first, 0, False
        while (entry := self.next()) is not None:
            token, _ = entry
            if token.value == ";" and parens.depth == 0 and nested == 0:
                self._emit(first, last, kind, self._copy_data(token) if stdin else None)
                return
            parens.feed(token)
            if token.value == "\\":
                self._refuse(token, "\\")
            elif token.kind == "word" and parens.depth == 0:
                if kind in _ROUTINES:
                    nested = self._nested(nested, last.value, token.value)
                elif kind == "copy":
                    stdin = stdin or (last.value, token.value) == ("FROM", "STDIN")
                elif words[0] == "WITH" and token.value in _CHANGES and last.value != "FOR":
                    kind = "dml"
            last = token
        if parens.opened is not None:
            self.find(
                "unclosed_parenthesis",
                "a parenthesis is opened here and never closed",
                parens.opened,
                "error",
            )
        elif nested:
            self.find("unclosed_unit", "the text ends inside BEGIN ATOMIC … END", last, "error")
        self._emit(first, last, kind, None)

    @staticmethod
    def _nested(depth: int, previous: str, word: str) -> int:
        """Depth of BEGIN ATOMIC … END and of CASE … END inside it."""
        if depth == 0:
            return int(previous == "BEGIN" and word == "ATOMIC")
        if word == "CASE":
            return depth + 1
        return depth - 1 if word == "END" else depth

    def _copy_data(self, end: Token) -> str | None:
        r"""The lines after ``COPY … FROM STDIN;`` where a ``\.`` ends them."""
        newline = self.text.find("\n", end.end)
        closing = None
        if newline >= 0 and not self._no_copy_end:
            closing = _COPY_END.search(self.text, newline + 1)
        if closing is None:
            self._no_copy_end = True
            self.find("copy_without_data", "COPY FROM STDIN has no data lines ended by \\.", end, "error")
            return None
        self.skip_to(closing.end())
        return self.text[newline + 1 : closing.start()]

    def _emit(self, first: Token, last: Token, kind: StatementKind, data: str | None) -> None:
        self.statements.append(
            ScriptStatement(
                text=self.text[first.offset : last.end],
                kind=kind,
                offset=first.offset,
                end=last.end,
                line=first.line,
                column=first.column,
                data=data,
            )
        )
