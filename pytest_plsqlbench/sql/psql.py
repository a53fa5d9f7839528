"""The psql reader: PostgreSQL scripts into statements."""

from __future__ import annotations

import re

from pytest_plsqlbench.sql.classify import StatementKind, classify
from pytest_plsqlbench.sql.cursor import Cursor
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.statement import Script, ScriptStatement

_META = re.compile(r"\\([^\s]*)([^\n]*)")
_COPY_END = re.compile(r"^\\\.[ \t\r]*$", re.MULTILINE)
_CHANGES = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE"))
_ROUTINES = frozenset(("create_function", "create_procedure"))


class PostgresReader(Cursor):
    """Reads one script."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "postgres")

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
        self.statements.append(
            ScriptStatement(
                text=found.group().rstrip(),
                kind="client",
                offset=first.offset,
                end=found.end(),
                line=first.line,
                column=first.column,
                command=command,
                arguments=arguments.strip(),
                refused=True,
            )
        )
        self.skip_to(found.end())

    def _refuse(self, at: Token, command: str) -> None:
        self.find("refused_command", f"the psql command {command} is not run here: take it out", at, "error")

    def _statement(self, first: Token) -> None:
        words = [token.value for token in self.head(first)]
        kind = classify(words, "postgres")
        routine = kind in _ROUTINES
        last, depth, nested = first, int(first.value == "("), 0
        opened: Token | None = first if depth else None
        stdin = previous = ""
        while (entry := self.next()) is not None:
            token, _ = entry
            value = token.value
            if token.kind == "punct":
                if value == "(":
                    opened = token if depth == 0 else opened
                    depth += 1
                elif value == ")":
                    depth = max(0, depth - 1)
                elif value == ";" and depth == 0 and nested == 0:
                    self._emit(first, last, kind, self._copy_data(kind, stdin, token))
                    return
            elif token.kind == "word" and depth == 0:
                if routine:
                    nested = self._nested(nested, previous, value)
                elif kind == "query" and words[0] == "WITH" and value in _CHANGES and previous != "FOR":
                    kind = "dml"
                elif value in {"STDIN", "STDOUT"}:
                    stdin = f"{previous} {value}"
            elif value == "\\":
                self._refuse(token, "\\")
            previous = value
            last = token
        if depth and opened is not None:
            self.find(
                "unclosed_parenthesis", "a parenthesis is opened here and never closed", opened, "error"
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

    def _copy_data(self, kind: StatementKind, stdin: str, end: Token) -> str | None:
        """The lines after ``COPY … FROM STDIN;`` where a ``\\.`` ends them."""
        if kind != "copy" or stdin != "FROM STDIN":
            return None
        newline = self.text.find("\n", end.end)
        closing = _COPY_END.search(self.text, newline + 1) if newline >= 0 else None
        if closing is None:
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
