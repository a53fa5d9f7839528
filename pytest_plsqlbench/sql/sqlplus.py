"""The SQL*Plus reader: Oracle scripts into statements."""

from __future__ import annotations

import re

from pytest_plsqlbench.sql.classify import StatementKind, classify
from pytest_plsqlbench.sql.client import REFUSED, WHOLE_LINE, client_command
from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.cursor import Cursor
from pytest_plsqlbench.sql.headers import UnitShape
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.remembering import remember
from pytest_plsqlbench.sql.statement import Script, ScriptStatement
from pytest_plsqlbench.sql.structure import Structure

_REST_IS_BLANK = re.compile(r"[ \t\r\f\v]*+(?:\n|\Z)")
_LINE_PIECE = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|--|/\*|;")
_STARTERS = frozenset(
    (
        "CREATE", "BEGIN", "DECLARE", "SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "MERGE", "CALL",
        "COMMIT", "ROLLBACK", "SAVEPOINT", "ALTER", "DROP", "GRANT", "REVOKE", "TRUNCATE", "COMMENT",
        "EXPLAIN", "LOCK", "<<", "@",
    )
)  # fmt: skip
"""Words with which a statement begins right after a unit that lacks its ``/``."""
UNIT_SHAPES: dict[StatementKind, UnitShape] = {
    "create_function": UnitShape.ROUTINE,
    "create_procedure": UnitShape.ROUTINE,
    "create_package": UnitShape.HOLDER,
    "create_package_body": UnitShape.HOLDER,
    "create_type_body": UnitShape.HOLDER,
    "create_type": UnitShape.FLAT,
    "create_trigger": UnitShape.TRIGGER,
    "block": UnitShape.BLOCK,
}
_FOREIGN_SOURCE = frozenset(("JAVA", "MLE"))
_ENDS_EXEC = frozenset(("EXEC", "EXECUTE", "CREATE", "DECLARE", "SELECT", "PROMPT", "SHOW", "SET"))


@remember(short=64, long=1)
def read_oracle(text: str) -> Script:
    """An Oracle script cut into its statements."""
    return OracleReader(text).read()


class OracleReader(Cursor):
    """Reads one script."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "oracle")
        self.codes: dict[int, Code] = {}
        """What the units hold, by the index of their first character."""

    def read(self) -> Script:
        """The statements."""
        while (entry := self.next()) is not None:
            first, fresh = entry
            if first.value == ";":
                continue
            if first.value == "/":
                self._slash_alone(first)
            elif first.value in {"@", "!", "$"} and fresh:
                self._client(first, first.value)
            elif (
                first.kind == "word"
                and (name := client_command(first.value, self.text, first.end)) is not None
            ):
                self._client(first, name)
            else:
                self._statement(first)
        return self.result()

    def _slash_alone(self, slash: Token) -> None:
        """A ``/`` with nothing before it: SQL*Plus would run its buffer once more."""
        if self.statements and self.statements[-1].kind != "client":
            self.find(
                "slash_ignored", "this `/` would run the statement before it once more; it is left out", slash
            )

    # -- SQL and PL/SQL -------------------------------------------------------------------------------------

    def _statement(self, first: Token) -> None:
        words = [token.value for token in self.head(first)]
        kind = classify(words, "oracle")
        if kind in UNIT_SHAPES:
            self._unit(first, kind, Structure(UNIT_SHAPES[kind], "oracle"))
        elif words[0] == "CREATE" and not _FOREIGN_SOURCE.isdisjoint(words[1:6]):
            self._unit(first, kind, Structure(UnitShape.FOREIGN, "oracle"))
        elif words[0] == "WITH" and words[1:2] in (["FUNCTION"], ["PROCEDURE"]):
            self._unit(first, kind, Structure(UnitShape.WITH, "oracle"), query=True)
        else:
            self._plain(first, first, kind)

    def _plain(self, first: Token, last: Token, kind: StatementKind) -> bool:
        """Plain SQL, up to ``;``, a lone ``/`` or the end; whether a ``;`` ended it."""
        while (entry := self.next()) is not None:
            token, fresh = entry
            value = token.value
            if value == ";" or (value == "/" and fresh and self._rest_is_blank(token)):
                self._emit(first, last, kind)
                return bool(value == ";")
            last = token
        self._emit(first, last, kind)
        return False

    def _pass_slash(self) -> None:
        """A query that declares functions is run by the ``/`` after it, as a block is, not by its ``;``."""
        entry = self.peek()
        if entry is not None and entry[1] and entry[0].value == "/" and self._rest_is_blank(entry[0]):
            self.next()

    def _unit(self, first: Token, kind: StatementKind, structure: Structure, *, query: bool = False) -> None:
        """A PL/SQL unit, up to a lone ``/``, or to its own end where that is missing."""
        last = first
        structure.feed(first)
        stray = False
        while (entry := self.next()) is not None:
            token, fresh = entry
            if token.value == "/" and fresh and self._rest_is_blank(token):
                self._close(first, last, kind, structure)
                return
            if structure.complete and not stray:
                if token.value == "/":
                    self.find("slash_with_text", "this `/` shares its line with other text", token)
                    self._close(first, last, kind, structure)
                    return
                if self._begins_statement(token, fresh=fresh):
                    self.back(entry)
                    break
                stray = True
                self.find(
                    "stray_text", "text follows the end of the unit, up to the next `/`", token, "error"
                )
            elif token.value == "CREATE" and structure.after_semicolon and not structure.foreign:
                self.back(entry)
                break
            elif query and structure.between_members and token.value not in {"FUNCTION", "PROCEDURE"}:
                self.back(entry)
                self.codes[first.offset] = structure.finish()
                if self._plain(first, last, "query"):
                    self._pass_slash()
                return
            if not stray:
                structure.feed(token)
            last = token
        if structure.complete and not stray:
            self.find("missing_slash", "the unit that ends here has no `/` after it", last)
        self._close(first, last, kind, structure, recovered=True)

    def _begins_statement(self, token: Token, *, fresh: bool) -> bool:
        """Whether a statement or command begins with this token, right after a unit that lacks its ``/``."""
        if token.value in _STARTERS:
            return True
        return (
            fresh and token.kind == "word" and client_command(token.value, self.text, token.end) is not None
        )

    def _close(
        self, first: Token, last: Token, kind: StatementKind, structure: Structure, *, recovered: bool = False
    ) -> None:
        """Record a unit, and what its structure lacks."""
        code = self.codes[first.offset] = structure.finish()
        self.findings.extend(code.findings)
        if structure.lacks_semicolon:
            self.find(
                "missing_semicolon", "the last END of the unit has no semicolon after it", last, "error"
            )
        elif (
            not (structure.complete or structure.needs_no_semicolon or structure.foreign)
            and kind != "create_type"
        ):
            message = f"the unit that begins at line {first.line} is not closed here"
            self.find("unclosed_unit", message, last, "error" if recovered else "warning")
        self._emit(first, last, kind, recovered=recovered)

    def _rest_is_blank(self, token: Token) -> bool:
        return _REST_IS_BLANK.match(self.text, token.end) is not None

    def _emit(self, first: Token, last: Token, kind: StatementKind, *, recovered: bool = False) -> None:
        self.statements.append(
            ScriptStatement(
                text=self.text[first.offset : last.end],
                kind=kind,
                offset=first.offset,
                end=last.end,
                line=first.line,
                column=first.column,
                recovered=recovered,
            )
        )

    # -- commands of the client -----------------------------------------------------------------------------

    def _client(self, first: Token, name: str) -> None:
        if name == "EXECUTE":
            self._exec(first)
            return
        end = self._line_end(first.end)
        if name not in WHOLE_LINE and name not in REFUSED:
            end = self._split_at_semicolon(first, end)
        line = self.text[first.end : end]
        if name == "@" and line.startswith("@"):
            name, line = "@@", line[1:]
        refused = name in REFUSED
        if refused:
            self.find(
                "refused_command", f"the client command {name} is not run here: take it out", first, "error"
            )
        arguments = line.strip()
        if name not in WHOLE_LINE:
            arguments = arguments.rstrip(";").rstrip()
        self.add_client(first, end, name, arguments, refused=refused)

    def _line_end(self, start: int) -> int:
        """End of the line, and of those that a ``-`` at its end joins to it."""
        text = self.text
        while True:
            end = text.find("\n", start)
            if end < 0:
                return len(text)
            if not text[start:end].rstrip().endswith("-"):
                return end
            start = end + 1

    def _split_at_semicolon(self, first: Token, end: int) -> int:
        for piece in _LINE_PIECE.finditer(self.text, first.end, end):
            if piece.group() in {"--", "/*"}:
                return end
            if piece.group() == ";":
                rest = self.text[piece.end() : end].strip()
                if not rest or rest.startswith("--"):
                    return end
                self.find(
                    "command_split", "a statement follows a client command on its line; both are read", first
                )
                return piece.end()
        return end

    def _exec(self, first: Token) -> None:
        """``EXEC …``: what follows, up to the end of the line, in BEGIN … END."""
        tokens: list[Token] = []
        dashes: list[int] = []
        depth, continued = 0, False
        while (entry := self.peek()) is not None:
            token, fresh = entry
            if fresh and tokens:
                if tokens[-1].value == "-":
                    dashes.append(tokens.pop().offset)
                elif depth > 0:
                    if not continued:
                        self.find("exec_continued", "EXEC goes on over several lines without `-`", token)
                    continued = True
                else:
                    break
            elif fresh:
                break
            if tokens and tokens[-1].value == ";" and depth == 0 and token.value in _ENDS_EXEC:
                self.find("command_split", "a statement follows EXEC on its line; both are read", token)
                break
            if token.kind == "punct":
                depth = max(0, depth + (token.value == "(") - (token.value == ")"))
            tokens.append(token)
            self.next()
        if not tokens:
            self.find("empty_exec", "EXEC without a statement", first, "error")
            return
        start, end = tokens[0].offset, tokens[-1].end
        body = (
            "".join(" " if start + at in dashes else sign for at, sign in enumerate(self.text[start:end]))
            if dashes
            else self.text[start:end]
        )
        self.statements.append(
            ScriptStatement(
                text=f"BEGIN {body}{'' if body.endswith(';') else ';'} END;",
                kind="block",
                offset=start,
                end=end,
                line=tokens[0].line,
                column=tokens[0].column,
                from_exec=True,
            )
        )
