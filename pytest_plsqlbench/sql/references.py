"""What a test script calls: names with the shape of their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.signature import fold
from pytest_plsqlbench.sql.units import Program, program_tokens, read_program

_ARROWS = frozenset(("=>", ":="))


class Reference(msgspec.Struct, frozen=True):
    """One place where a script names something that could be called."""

    path: tuple[str, ...]
    """The parts of the name, as the server keeps them: ``("PK", "F")``."""
    arguments: int | None
    """Number of arguments; None where no parentheses follow."""
    names: tuple[str, ...]
    """Names of the arguments that are passed by name."""
    statement: bool
    """It stands as a statement of its own: a procedure is called."""
    line: int
    performed: bool = False
    """It stands after PERFORM: a statement that calls a function."""

    @property
    def shown(self) -> str:
        """The name for people, in lower case."""
        return ".".join(self.path).lower()


def read_references(script: str, dialect: Dialect) -> list[Reference]:
    """Every name in a script with what follows it, in order. Local names of the script are left out."""
    program = read_program(script, dialect)
    local = _local_names(program)
    called = {
        statement.token.offset
        for unit in program.units
        for statement in unit.code.statements
        if statement.kind in {"call", "sql"}
    }
    found: dict[int, Reference] = {}
    for tokens in program_tokens(program):
        after_call = tokens[:1] and tokens[0].value == "CALL"
        takes_result = after_call and any(token.value == "INTO" for token in tokens)  # CALL f(…) INTO :x
        for at, reference in _names(tokens, dialect):
            offset = tokens[at].offset
            statement = offset in called or (bool(after_call) and at == 1)
            before = tokens[at - 1].value if at else ""
            performed = before == "PERFORM"
            statement = (statement or performed or before == "CALL") and not takes_result
            if reference.path[0] not in local:
                found[offset] = msgspec.structs.replace(reference, statement=statement, performed=performed)
    return [found[offset] for offset in sorted(found)]


def _names(tokens: Sequence[Token], dialect: Dialect) -> Iterator[tuple[int, Reference]]:
    given = _arguments(tokens, dialect)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind not in {"word", "quoted"} or (at and tokens[at - 1].value in {".", ":", "@"}):
            at += 1
            continue
        start = at
        path = [fold(token, dialect)]
        at += 1
        while at + 1 < len(tokens) and tokens[at].value == "." and tokens[at + 1].kind in {"word", "quoted"}:
            path.append(fold(tokens[at + 1], dialect))
            at += 2
        arguments: int | None = None
        names: tuple[str, ...] = ()
        if at < len(tokens) and tokens[at].value == "(":
            after, arguments, names = given.get(at, (len(tokens), 0, ()))
            if _is_column_list(tokens, start, after):
                arguments, names = None, ()
        yield start, Reference(tuple(path), arguments, names, statement=False, line=token.line)


def _is_column_list(tokens: Sequence[Token], at: int, after: int) -> bool:
    """Whether the parentheses after a name hold columns or types: no call stands there.

    Args:
        tokens: significant tokens of a statement.
        at: where the name begins.
        after: the token after the closing parenthesis.
    """
    before = tokens[at - 1].value if at else ""
    earlier = tokens[at - 2].value if at > 1 else ""
    if earlier == "EXECUTE" and before in {"FUNCTION", "PROCEDURE"}:
        return False  # what a trigger calls
    if before in _BEFORE_COLUMNS or (at and tokens[at - 1].kind == "quoted"):
        return True  # targets, tables that are created, routines that are dropped; aliases
    if earlier in {"FROM", "JOIN"} and tokens[at - 1].kind == "word" and before not in _BEFORE_CALL:
        return True  # FROM t x(a, b)
    if before == "ON" and any(token.value == "INDEX" for token in tokens[:4]):
        return tokens[0].value == "CREATE"
    if before in {"WITH", "RECURSIVE", ","}:
        following = [token.value for token in tokens[after : after + 3]]
        return following[:2] == ["AS", "("] and following[2:] != [] and following[2] in _QUERIES
    return False


_BEFORE_COLUMNS = frozenset(
    (
        ")",
        "AS",
        "INTO",
        "TABLE",
        "VIEW",
        "REFERENCES",
        "FUNCTION",
        "PROCEDURE",
        "ROUTINE",
        "AGGREGATE",
        "EXISTS",
    )
)
_BEFORE_CALL = frozenset(("CASE", "LATERAL", "NOT", "ONLY", "PRIOR", "ROWS"))
"""Words of the language that may stand between FROM and a call."""
_QUERIES = frozenset(("SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE", "TABLE", "("))


def _arguments(tokens: Sequence[Token], dialect: Dialect) -> dict[int, tuple[int, int, tuple[str, ...]]]:
    """For each opening parenthesis: where it goes on after the closing one, the number of arguments inside,
    and the names of those passed by name.
    """
    found: dict[int, tuple[int, int, tuple[str, ...]]] = {}
    opened: list[tuple[int, int, list[str]]] = []  # where, commas so far, names so far
    for at, token in enumerate(tokens):
        if token.value == "(":
            opened.append((at, 0, []))
        elif opened and token.value == ")":
            start, commas, names = opened.pop()
            found[start] = (at + 1, 0 if at == start + 1 else commas + 1, tuple(names))
        elif opened and token.value == ",":
            start, commas, names = opened[-1]
            opened[-1] = (start, commas + 1, names)
        elif opened and token.value in _ARROWS and tokens[at - 2].value in {"(", ","}:
            opened[-1][2].append(fold(tokens[at - 1], dialect))
    return found


def _local_names(program: Program) -> set[str]:
    """Variables, nested subprograms and the like that the script declares itself."""
    names: set[str] = set()
    for unit in program.units:
        names.update(routine.name for routine in unit.nested)
        names.update(_declared(unit.code, program.dialect))
        if unit.name is not None:
            names.add(unit.name.name)
    return names


def _declared(code: Code, dialect: Dialect) -> Iterator[str]:
    for declaration in code.declarations:
        name = declaration.name
        if name.startswith('"'):
            yield name.strip('"')
        else:
            yield name.upper() if dialect == "oracle" else name.lower()
    for statement in code.statements:
        if statement.kind in {"for", "foreach", "forall"} and statement.start + 1 < statement.end:
            yield fold(code.tokens[statement.start + 1], dialect)
