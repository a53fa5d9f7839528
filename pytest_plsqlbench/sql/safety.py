"""A first fence: statements that a task may not contain, judged on structure, with the place and the reason.

Words in comments, names and ordinary strings mean nothing here. Literals of dynamic SQL (what follows EXECUTE
IMMEDIATE or EXECUTE, and what ``format`` or a concatenation begins with there) are read like statements.
Isolation does not depend on this check: it explains, and it lets a run name such programs before they play.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.classify import CREATE_MODIFIERS, classify
from pytest_plsqlbench.sql.forbidden import EXPLANATIONS, FUNCTIONS, LANGUAGES, PACKAGES, STATEMENTS
from pytest_plsqlbench.sql.lexer import Token, tokenize_content
from pytest_plsqlbench.sql.signature import read_name
from pytest_plsqlbench.sql.units import Program, statement_tokens

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
    dynamic: bool = False


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
    checker = _Checker(program, access, frozenset(own_schemas))
    found = {
        (violation.rule, violation.what, violation.line, violation.column): violation for violation in checker
    }
    return tuple(sorted(found.values(), key=lambda violation: (violation.line, violation.column)))


class _Checker:
    def __init__(self, program: Program, access: Access, own_schemas: frozenset[str]) -> None:
        self._program = program
        self._dialect: Dialect = program.dialect
        self._access = access
        self._own_schemas = own_schemas
        self._pieces = list(_pieces(program))
        self._own = set(self._created())

    def __iter__(self) -> Iterator[Violation]:
        for unit in self._program.units:
            yield from self._names(unit.code.tokens)
            if unit.language in LANGUAGES:
                first = statement_tokens(unit.statement, self._dialect)[0]
                yield _violation("language", f"LANGUAGE {unit.language}", first)
        for piece in self._pieces:
            yield from self._names(piece.tokens)
            yield from self._statement(piece)
        yield from self._unjudged()

    # -- names ----------------------------------------------------------------------------------------------

    def _names(self, tokens: Sequence[Token]) -> Iterator[Violation]:
        packages, functions = PACKAGES[self._dialect], FUNCTIONS[self._dialect]
        for at in range(len(tokens) - 1):
            token, following = tokens[at], tokens[at + 1].value
            if token.kind != "word" or following not in {".", "("}:
                continue
            table = packages if following == "." else functions
            for rule, names in table.items():
                if token.value in names and token.value not in self._own:
                    yield _violation(rule, token.value, token)

    # -- statements -----------------------------------------------------------------------------------------

    def _statement(self, piece: _Piece) -> Iterator[Violation]:
        tokens = piece.tokens
        if not tokens:
            return
        words = _words(tokens)
        for rule, shapes in STATEMENTS[self._dialect].items():
            for shape in shapes:
                if tuple(words[: len(shape)]) == shape:
                    yield _violation(rule, " ".join(shape), tokens[0])
                    return
        if words[:3] == ["CREATE", "DATABASE", "LINK"]:
            yield _violation("network", "CREATE DATABASE LINK", tokens[0])
        elif words[:1] in (["CREATE"], ["ALTER"], ["DROP"], ["TRUNCATE"], ["COMMENT"]):
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
            if name.schema is not None and name.schema not in self._own_schemas and kind != "TRIGGER":
                yield _violation("foreign_schema", shown, tokens[0])
            if kind == "TRIGGER" and self._dialect == "oracle" and _on_schema(tokens):
                yield _violation("system_trigger", shown, tokens[0])
        elif name.name not in self._own and kind not in {"SESSION", "INDEX"}:
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

    def _created(self) -> Iterator[str]:
        """Names of what the program creates itself, and of its packages and routines."""
        for unit in self._program.units:
            if unit.name is not None:
                yield unit.name.name
        for piece in self._pieces:
            if piece.tokens and piece.tokens[0].value == "CREATE":
                _, at = _object_kind(piece.tokens)
                name, _ = read_name(piece.tokens, at, len(piece.tokens), self._dialect)
                if name is not None:
                    yield name.name

    def _unjudged(self) -> Iterator[Violation]:
        for unit in self._program.units:
            code = unit.code
            for statement in code.statements:
                if statement.kind == "execute" and not any(
                    token.kind == "string" for token in code.tokens[statement.start : statement.end]
                ):
                    yield _violation("dynamic_sql", "dynamic SQL", statement.token, severity="note")


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


def _pieces(program: Program) -> Iterator[_Piece]:
    """Every SQL statement of a program: its own, those inside its code, and literals of dynamic SQL."""
    dialect = program.dialect
    for statement in program.script.statements:
        if statement.kind not in {"client", "block"}:
            yield _Piece(statement_tokens(statement, dialect))
    for unit in program.units:
        if unit.body is not None:
            for inner in unit.body.statements:
                yield _Piece(statement_tokens(inner, dialect))
        code = unit.code
        for code_statement in code.statements:
            tokens = code.tokens[code_statement.start : code_statement.end]
            if code_statement.kind in _SQL_KINDS:
                yield _Piece(tokens)
            if code_statement.kind in {"execute", "open", "for", "return"}:
                yield from _dynamic(tokens, dialect)


def _dynamic(tokens: Sequence[Token], dialect: Dialect) -> Iterator[_Piece]:
    """The literals of a statement that runs dynamic SQL, each read as a statement."""
    for token in tokens:
        if token.value == "USING":
            return
        if token.kind == "string":
            inner = [piece for piece in tokenize_content(token, dialect) if not piece.silent]
            if inner:
                yield _Piece(inner, dynamic=True)


def _violation(rule: str, what: str, at: Token, severity: Literal["error", "note"] = "error") -> Violation:
    return Violation(rule, what, at.line, at.column, severity)
