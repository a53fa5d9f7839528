"""A first fence: statements that a task may not contain, judged on structure, with the place and the reason.

Words in comments and ordinary strings mean nothing here. Texts that the program has the server run (EXECUTE
IMMEDIATE, EXECUTE, OPEN … FOR, DBMS_SQL.PARSE …) are read like programs as far as they stand in the program.
Isolation does not depend on this check: it explains, and it lets a run name such programs before they play.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.classify import CREATE_MODIFIERS, classify
from pytest_plsqlbench.sql.dynamic import HOLE, SpokenText, called_texts, run_texts
from pytest_plsqlbench.sql.forbidden import EXPLANATIONS, FUNCTIONS, LANGUAGES, PACKAGES, STATEMENTS
from pytest_plsqlbench.sql.known_names import Locals, after_name, known_names
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.signature import read_name
from pytest_plsqlbench.sql.units import Program, read_program, statement_tokens

Access = Literal["read", "write"]
"""``read``: the task must leave the given tables as they are; ``write``: it may change their rows."""


class Violation(msgspec.Struct, frozen=True):
    """One statement or name that the task may not contain."""

    rule: str
    """Stable word, a key of ``forbidden.EXPLANATIONS``."""
    what: str
    """The words found, for example ``UTL_FILE`` or ``DROP TABLE emp``."""
    line: int
    column: int
    severity: Literal["error", "note"] = "error"
    """``note``: nothing forbidden was seen, but not all could be judged."""

    @property
    def message(self) -> str:
        """One line that says what, where and why."""
        return f"line {self.line}, column {self.column}: {self.what}: {EXPLANATIONS[self.rule]}"


class _Piece(msgspec.Struct, frozen=True):
    """One SQL statement, wherever it stands."""

    tokens: Sequence[Token]
    in_code: bool = False
    """It is a part of a unit's code, whose names are judged as a whole."""


def check_safety(
    program: Program, access: Access = "write", own_schemas: Sequence[str] | None = None
) -> tuple[Violation, ...]:
    """What a program may not contain, in the order of the text.

    Args:
        program: the program, read.
        access: what the task allows.
        own_schemas: schemas in which the program may create objects, as the server keeps their names; by
            default ``public`` on PostgreSQL and none by name on Oracle.
    """
    if own_schemas is None:
        own_schemas = ("public", "pg_temp") if program.dialect == "postgres" else ()
    checker = _Checker(program, access, frozenset(own_schemas), _Made(), 0)
    found = {
        (violation.rule, violation.what, violation.line, violation.column): violation for violation in checker
    }
    return tuple(sorted(found.values(), key=lambda violation: (violation.line, violation.column)))


class _Made:
    """What the program creates, in all its texts."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.schemas: set[str] = set()


class _Checker:
    def __init__(
        self, program: Program, access: Access, own_schemas: frozenset[str], made: _Made, depth: int
    ) -> None:
        self._program = program
        self._dialect: Dialect = program.dialect
        self._access = access
        self._own_schemas = own_schemas
        self._depth = depth
        self._made = made
        self._own = made.names
        self._pieces = [self._head(piece) for piece in _pieces(program, depth)]
        self._note_created()
        self._spoken = [(spoken, self._inside(spoken)) for spoken in self._spoken_texts()]

    def __iter__(self) -> Iterator[Violation]:
        for unit in self._program.units:
            yield from self._names(unit.code.tokens, Locals(unit.code, self._dialect))
            if unit.language in LANGUAGES:
                first = statement_tokens(unit.statement, self._dialect)[0]
                yield _violation("language", f"LANGUAGE {unit.language}", first)
        for piece in self._pieces:
            if not piece.in_code:
                yield from self._names(piece.tokens)
            yield from self._statement(piece)
        for spoken, inside in self._spoken:
            yield from _judged(spoken, inside)

    # -- dynamic SQL ----------------------------------------------------------------------------------------

    def _spoken_texts(self) -> Iterator[SpokenText]:
        for unit in self._program.units:
            yield from run_texts(unit.code, self._dialect)
            yield from called_texts(
                unit.code.tokens, known_names(unit.code.tokens, self._dialect), self._dialect
            )
        for piece in self._pieces:
            if not piece.in_code:
                yield from called_texts(piece.tokens, known_names(piece.tokens, self._dialect), self._dialect)

    def _inside(self, spoken: SpokenText) -> _Checker | None:
        """What judges the text; None where nothing of it is known, or it is nested too deep."""
        if self._depth == _DEEPEST or not spoken.text.replace(HOLE, "").strip():
            return None
        program = read_program(spoken.text, self._dialect)
        return _Checker(program, self._access, self._own_schemas, self._made, self._depth + 1)

    def _head(self, piece: _Piece) -> _Piece:
        """The piece up to its first hole; a name that the hole may go on or qualify is left out."""
        tokens = piece.tokens
        hole = next((at for at, token in enumerate(tokens) if HOLE in token.text), None)
        if self._depth == 0 or hole is None:
            return piece
        head = list(tokens[:hole])
        while (
            head
            and (head[-1].value == "." or head[-1].end == tokens[len(head)].offset)
            and (head[-1].value == "." or head[-1].kind in {"word", "quoted", "number"})
        ):
            head.pop()
        return _Piece(head, piece.in_code)

    # -- names ----------------------------------------------------------------------------------------------

    def _names(self, tokens: Sequence[Token], hidden: Locals | None = None) -> Iterator[Violation]:
        packages, functions = PACKAGES[self._dialect], FUNCTIONS[self._dialect]
        names = known_names(tokens, self._dialect)
        for at in range(len(tokens) - 1):
            name = names[at]
            after = after_name(tokens, at)
            if not name or after >= len(tokens) or tokens[after].value not in {".", "("}:
                continue
            glued = (
                self._depth and at and HOLE in tokens[at - 1].text and tokens[at - 1].end == tokens[at].offset
            )
            if glued or self._is_own(tokens, names, at, hidden):
                continue
            table = packages if tokens[after].value == "." else functions
            for rule, listed in table.items():
                if name in listed:
                    yield _violation(rule, name, tokens[at])

    def _is_own(self, tokens: Sequence[Token], names: Sequence[str], at: int, hidden: Locals | None) -> bool:
        """Whether the program itself made what is named here."""
        qualifier = names[at - 2] if at > 1 and tokens[at - 1].value == "." else ""
        if qualifier in {"SYS", "PG_CATALOG"}:
            return False
        if qualifier and hidden is not None and hidden.hides(qualifier, at):
            return True  # a field of a record
        name = names[at] if self._dialect == "oracle" else names[at].lower()
        return name in self._own or (not qualifier and hidden is not None and hidden.hides(name, at))

    # -- statements -----------------------------------------------------------------------------------------

    def _statement(self, piece: _Piece) -> Iterator[Violation]:
        tokens = piece.tokens
        if not tokens:
            return
        words = _words(tokens)
        if words[:3] == ["CREATE", "DATABASE", "LINK"]:  # not a database
            yield _violation("network", "CREATE DATABASE LINK", tokens[0])
            return
        for rule, shapes in STATEMENTS[self._dialect].items():
            for shape in shapes:
                if tuple(words[: len(shape)]) == shape:
                    yield _violation(rule, " ".join(shape), tokens[0])
                    return
        if words[:1] in (["CREATE"], ["ALTER"], ["DROP"], ["TRUNCATE"], ["COMMENT"]):
            yield from self._ddl(words[0], tokens)
        elif self._access == "read":
            yield from self._changes(words, tokens)

    def _ddl(self, verb: str, tokens: Sequence[Token]) -> Iterator[Violation]:
        kind, at = _object_kind(tokens)
        name, _ = read_name(tokens, at, len(tokens), self._dialect)
        if name is None:
            return
        shown = f"{verb} {kind} {name}".replace("  ", " ")
        if verb == "CREATE":
            own_schema = name.schema in self._own_schemas or name.schema in self._made.schemas
            if name.schema is not None and not own_schema and kind != "TRIGGER":
                yield _violation("foreign_schema", shown, tokens[0])
            if kind == "TRIGGER" and self._dialect == "oracle" and _on_schema(tokens):
                yield _violation("system_trigger", shown, tokens[0])
        elif name.name not in (self._made.schemas if kind == "SCHEMA" else self._own) and kind not in {
            "SESSION",
            "INDEX",
        }:
            yield _violation("foreign_object", shown, tokens[0])

    def _changes(self, words: Sequence[str], tokens: Sequence[Token]) -> Iterator[Violation]:
        """Changes of rows and locks, where the task only reads."""
        for at, token in enumerate(tokens):
            verb = token.value
            if token.kind != "word" or (
                at and tokens[at - 1].value in {".", "FOR", "ON", "DO", "KEY", "THEN"}
            ):
                continue
            if verb in _TARGET_BEFORE or (verb == "LOCK" and at == 0):
                name = _target(tokens, at, self._dialect)
                if name is not None and name not in self._own:
                    rule = "read_only_lock" if verb == "LOCK" else "read_only_dml"
                    yield _violation(rule, f"{verb} {name}", token)
                if verb == "MERGE":
                    return
        if classify(words, self._dialect) == "query":
            for at in range(len(tokens) - 1):
                if tokens[at].value == "FOR" and tokens[at + 1].value in {"UPDATE", "SHARE"}:
                    yield _violation("read_only_lock", f"FOR {tokens[at + 1].value}", tokens[at])

    def _note_created(self) -> None:
        """Names of what the program creates itself, and of its packages and routines."""
        for unit in self._program.units:
            if unit.name is not None:
                self._own.add(unit.name.name)
        for piece in self._pieces:
            if piece.tokens and piece.tokens[0].value == "CREATE":
                kind, at = _object_kind(piece.tokens)
                name, _ = read_name(piece.tokens, at, len(piece.tokens), self._dialect)
                if name is not None:
                    (self._made.schemas if kind == "SCHEMA" else self._own).add(name.name)


_DEEPEST = 4
"""Dynamic SQL inside dynamic SQL is followed so far."""


def _judged(spoken: SpokenText, inside: _Checker | None) -> Iterator[Violation]:
    """What was found in a dynamic text, placed where it stands; a note where not all could be judged."""
    found = [] if inside is None else list(inside)
    literal = spoken.literal
    for violation in found:
        line, column = spoken.at.line, spoken.at.column
        if literal is not None:
            line = literal.line + violation.line - 1
            column = violation.column
            if violation.line == 1:
                opening = literal.text.index("$", 1) if literal.text[0] == "$" else literal.text.index("'")
                column += literal.column + opening
        yield Violation(violation.rule, violation.what, line, column, violation.severity)
    if (inside is None or not spoken.known) and not any(v.severity == "error" for v in found):
        yield _violation("dynamic_sql", "dynamic SQL", spoken.at, severity="note")


_TARGET_BEFORE = frozenset(("INSERT", "UPDATE", "DELETE", "MERGE"))
_SKIPPED = frozenset(("INTO", "FROM", "ONLY", "TABLE", "ALL", "FIRST"))


def _target(tokens: Sequence[Token], at: int, dialect: Dialect) -> str | None:
    """The table that a DML verb at ``at`` changes."""
    at += 1
    while at < len(tokens) and tokens[at].value in _SKIPPED:
        at += 1
    name, _ = read_name(tokens, at, len(tokens), dialect)
    return name.name if name else None


def _words(tokens: Sequence[Token]) -> list[str]:
    """The first words of a statement, modifiers of CREATE passed over."""
    values = [token.value for token in tokens[:10]]
    if values[:1] == ["CREATE"]:
        return ["CREATE", *(value for value in values[1:] if value not in _PASSED)]
    return values


_PASSED = CREATE_MODIFIERS - {"EVENT", "FOREIGN"} | {"TRUSTED", "PROCEDURAL"}
_OBJECT_WORDS = frozenset(
    (
        "TABLE", "VIEW", "INDEX", "SEQUENCE", "FUNCTION", "PROCEDURE", "PACKAGE", "TYPE", "TRIGGER",
        "SYNONYM", "SCHEMA", "DOMAIN", "AGGREGATE", "OPERATOR", "RULE", "POLICY", "ROUTINE", "SESSION",
        "COLLATION", "CONVERSION", "CAST", "CLUSTER", "CONTEXT", "COLUMN",
    )
)  # fmt: skip


def _object_kind(tokens: Sequence[Token]) -> tuple[str, int]:
    """The kind of object that a DDL statement names, and the index of its name."""
    at = 1
    while at < min(len(tokens), 10) and tokens[at].value not in _OBJECT_WORDS:
        at += 1
    if at >= min(len(tokens), 10):
        return "", 1  # TRUNCATE t
    kind = tokens[at].value
    at += 1
    while at < len(tokens) and tokens[at].value in {"BODY", "IF", "NOT", "EXISTS", "ONLY", "CONCURRENTLY"}:
        at += 1
    return kind, at


def _on_schema(tokens: Sequence[Token]) -> bool:
    for at in range(len(tokens) - 1):
        if tokens[at].value in {"BEGIN", "DECLARE"}:
            return False
        if tokens[at].value == "ON" and tokens[at + 1].value in {"DATABASE", "SCHEMA", "PLUGGABLE"}:
            return True
    return False


# -- where SQL stands -------------------------------------------------------------------------------------

_SQL_KINDS = frozenset(
    (
        "select",
        "insert",
        "update",
        "delete",
        "merge",
        "ddl",
        "sql",
        "lock",
        "set",
        "open",
        "perform",
        "do",
        "forall",
        "commit",
        "rollback",
    )
)


def _pieces(program: Program, depth: int) -> Iterator[_Piece]:
    """Every SQL statement of a program: its own, and those inside its code."""
    dialect = program.dialect
    coded = {unit.statement.offset for unit in program.units if unit.code.tokens and dialect == "oracle"}
    for statement in program.script.statements:
        if statement.kind != "block" and (statement.kind != "client" or depth):
            yield _Piece(statement_tokens(statement, dialect), statement.offset in coded)
    for unit in program.units:
        if unit.body is not None:
            for inner in unit.body.statements:
                yield _Piece(statement_tokens(inner, dialect))
        for code_statement in unit.code.statements:
            if code_statement.kind in _SQL_KINDS:
                tokens = unit.code.tokens[code_statement.start : code_statement.end]
                yield _Piece(tokens, in_code=True)


def _violation(rule: str, what: str, at: Token, severity: Literal["error", "note"] = "error") -> Violation:
    return Violation(rule, what, at.line, at.column, severity)
