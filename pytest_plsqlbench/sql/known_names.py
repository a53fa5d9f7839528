"""Names as the server resolves them, for comparison with tables of names in upper case."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.signature import closing, fold, read_parameters


def known_names(tokens: Sequence[Token], dialect: Dialect) -> list[str]:
    """For each token the name that it is, in upper case; empty where it is none that the server ships.

    An unquoted word is folded by the server; a quoted name meets a shipped one only in upper case on Oracle
    and in lower case on PostgreSQL.
    """
    return [_known(tokens, at, dialect) for at in range(len(tokens))]


def _known(tokens: Sequence[Token], at: int, dialect: Dialect) -> str:
    token = tokens[at]
    if token.kind == "word":
        return token.value
    if token.kind != "quoted":
        return ""
    name = fold(token, dialect)
    if dialect == "oracle":
        return name if name == name.upper() else ""
    if token.text[0] in "uU":
        escape = "\\"
        if after_name(tokens, at) == at + 3:
            escape = tokens[at + 2].text[1:-1]
        name = _unescaped(name, escape)
    return name.upper() if name == name.lower() else ""


def after_name(tokens: Sequence[Token], at: int) -> int:
    """The index after the name at ``at``, its ``UESCAPE`` passed over."""
    if (
        tokens[at].kind == "quoted"
        and at + 2 < len(tokens)
        and tokens[at + 1].value == "UESCAPE"
        and tokens[at + 2].kind == "string"
    ):
        return at + 3
    return at + 1


def _unescaped(name: str, escape: str) -> str:
    """PostgreSQL manual, 4.1.1: four digits after the escape, or six after escape and plus."""
    pieces = name.split(escape) if escape else [name]
    text = [pieces[0]]
    for piece in pieces[1:]:
        digits, rest = (piece[1:7], piece[7:]) if piece[:1] == "+" else (piece[:4], piece[4:])
        try:
            text.append(chr(int(digits, 16)) + rest)
        except (ValueError, OverflowError):
            text.append(piece)
    return "".join(text)


class Locals:
    """Variables, parameters and loop records of PL/SQL code, by the range in which they hide other names."""

    def __init__(self, code: Code, dialect: Dialect) -> None:
        self._ranges: dict[str, list[tuple[int, int]]] = {}
        if dialect != "oracle":
            return
        whole = (0, len(code.tokens))
        for routine in code.routines:
            extent = (routine.start, routine.end if routine.end >= 0 else whole[1])
            header = range(routine.start, min(routine.header_end, whole[1]))
            opening = next((at for at in header if code.tokens[at].value == "("), None)
            if opening is not None:
                close = closing(code.tokens, opening, whole[1])
                for parameter in read_parameters(code.tokens, opening + 1, close, dialect):
                    if parameter.name:
                        self._ranges.setdefault(parameter.name, []).append(extent)
        for declaration in code.declarations:
            if declaration.kind in {"variable", "constant", "cursor"}:
                name = (
                    declaration.name.strip('"') if declaration.name[:1] == '"' else declaration.name.upper()
                )
                extent = whole
                if declaration.routine >= 0:
                    routine = code.routines[declaration.routine]
                    extent = (routine.start, routine.end if routine.end >= 0 else whole[1])
                self._ranges.setdefault(name, []).append(extent)
        for statement in code.statements:
            if statement.kind == "for" and statement.start + 1 < whole[1]:
                routine = code.routines[statement.routine]
                extent = (statement.start, routine.end if routine.end >= 0 else whole[1])
                self._ranges.setdefault(fold(code.tokens[statement.start + 1], dialect), []).append(extent)

    def hides(self, name: str, at: int) -> bool:
        """Whether the name at this token is a local one."""
        return any(start <= at < end for start, end in self._ranges.get(name, ()))
