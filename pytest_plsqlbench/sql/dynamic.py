"""Dynamic SQL: where a text is given to the server to be run, and what of it stands in the program.

Adjacent literals are folded; what only the run knows becomes a hole. Sources: Oracle Database PL/SQL Language
Reference, "PL/SQL Dynamic SQL"; PL/SQL Packages and Types Reference; PostgreSQL manual, 43.5.4 and 9.15.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.lexer import Token, string_content
from pytest_plsqlbench.sql.signature import closing, split_list

HOLE = "\ufffc"
"""Stands in ``SpokenText.text`` for what is built at run time."""


class SpokenText(msgspec.Struct, frozen=True):
    """A text that the program has the server run."""

    at: Token
    """The word that runs it."""
    text: str
    """What is known of it, with holes."""
    literal: Token | None
    """The literal that it is, if it is a single one."""

    @property
    def known(self) -> bool:
        """Whether all of it stands in the program."""
        return HOLE not in self.text


_TEXT_ENDS = frozenset(("INTO", "BULK", "USING", "RETURNING", "RETURN", "LOOP", ";"))
_QUERY_STARTS = frozenset(("SELECT", "WITH", "EXECUTE"))
_CALLS: dict[Dialect, dict[tuple[str, ...], tuple[int, str]]] = {
    "oracle": {
        ("DBMS_SQL", "PARSE"): (1, "STATEMENT"),
        ("DBMS_UTILITY", "EXEC_DDL_STATEMENT"): (0, "PARSE_STRING"),
        ("DBMS_XMLGEN", "GETXML"): (0, "SQLQUERY"),
        ("DBMS_XMLGEN", "NEWCONTEXT"): (0, "QUERYSTRING"),
    },
    "postgres": {
        ("QUERY_TO_XML",): (0, "QUERY"),
        ("QUERY_TO_XMLSCHEMA",): (0, "QUERY"),
        ("QUERY_TO_XML_AND_XMLSCHEMA",): (0, "QUERY"),
    },
}
"""Routines that run a text: place and name of the argument."""


def run_texts(code: Code, dialect: Dialect) -> Iterator[SpokenText]:
    """The texts that the dynamic statements of procedural code run."""
    for statement in code.statements:
        if statement.kind in {"execute", "open", "for", "return"}:
            tokens = code.tokens[statement.start : statement.end]
            start = _text_start(tokens, statement.kind, dialect)
            if start is not None:
                yield _spoken(tokens[0], tokens[start : _text_end(tokens, start)], dialect)


def _text_start(tokens: Sequence[Token], kind: str, dialect: Dialect) -> int | None:
    """Index of the first token of the text; None where the statement is static."""
    values = [token.value if token.kind != "quoted" else "" for token in tokens]
    if kind == "execute":
        return 2 if values[1:2] == ["IMMEDIATE"] and dialect == "oracle" else 1
    if kind == "open" and dialect == "oracle":
        if "FOR" not in values:
            return None
        start = first = values.index("FOR") + 1
        while values[first : first + 1] == ["("]:
            first += 1
        return None if values[first : first + 1] and values[first] in _QUERY_STARTS else start
    before = {"open": "FOR", "for": "IN", "return": "QUERY"}[kind]
    for at in range(1, len(values)):
        if values[at] == "EXECUTE" and values[at - 1] in {before, "("}:
            return at + 2 if values[at + 1 : at + 2] == ["IMMEDIATE"] else at + 1
    return None


def _text_end(tokens: Sequence[Token], start: int) -> int:
    depth = 0
    for at in range(start, len(tokens)):
        depth += (tokens[at].value == "(") - (tokens[at].value == ")")
        if depth < 0 or (depth == 0 and tokens[at].value in _TEXT_ENDS):
            return at
    return len(tokens)


def called_texts(tokens: Sequence[Token], names: Sequence[str], dialect: Dialect) -> Iterator[SpokenText]:
    """The texts given to routines that run them; ``names`` are the known names of the tokens."""
    for call, (place, argument) in _CALLS[dialect].items():
        for at in range(len(tokens)):
            if names[at] != call[0]:
                continue
            last = at + 2 * (len(call) - 1)
            if last + 1 >= len(tokens) or tokens[last + 1].value != "(":
                continue
            if len(call) > 1 and (tokens[at + 1].value != "." or names[last] != call[1]):
                continue
            close = closing(tokens, last + 1, len(tokens))
            ranges = split_list(tokens, last + 2, close)
            given = [
                (low + 2, high)
                for low, high in ranges
                if tokens[low].value == argument and tokens[min(low + 1, close - 1)].value in {"=>", ":="}
            ]
            for low, high in given or ranges[place : place + 1]:
                yield _spoken(tokens[at], tokens[low:high], dialect)


def _spoken(at: Token, expression: Sequence[Token], dialect: Dialect) -> SpokenText:
    pieces = list(_folded(expression, dialect))
    literals = [token for token in expression if token.kind == "string"]
    literal = literals[0] if len(literals) == 1 and pieces != [HOLE] else None
    return SpokenText(at, "".join(pieces) or HOLE, literal)


def _folded(tokens: Sequence[Token], dialect: Dialect) -> Iterator[str]:
    """The operands of ``||`` one by one: what a literal holds, or a hole."""
    if all(token.kind == "string" or token.value in _JOINING for token in tokens):
        yield from (_content(token, dialect) for token in tokens if token.kind == "string")
        return
    for _ in range(_MOST_WRAPPED):
        if tokens[0].value != "(" or closing(tokens, 0, len(tokens)) != len(tokens) - 1:
            break
        tokens = tokens[1:-1]
    for operand in _operands(tokens):
        if operand and all(token.kind == "string" or token.value in _JOINING for token in operand):
            yield from (_content(token, dialect) for token in operand if token.kind == "string")
        elif (
            dialect == "postgres"
            and len(operand) > 2
            and operand[0].value == "FORMAT"
            and operand[1].value == "("
            and operand[2].kind == "string"
        ):
            yield _formatted(_content(operand[2], dialect))
        else:
            yield HOLE


_JOINING = frozenset(("||", "(", ")"))
_MOST_WRAPPED = 8
"""Parentheses around a whole expression that are taken away; more would cost time and mean nothing."""


def _operands(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    depth, first = 0, 0
    for at, token in enumerate(tokens):
        depth += (token.value == "(") - (token.value == ")")
        if depth == 0 and token.value == "||":
            yield tokens[first:at]
            first = at + 1
    yield tokens[first:]


def _content(token: Token, dialect: Dialect) -> str:
    content = (string_content(token, dialect) or "").replace(HOLE, "\ufffd")
    if dialect == "postgres" and token.text[:1] in "eEuU":
        for written, meant in (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r")):
            content = content.replace(written, meant)
        if "\\" in content:  # other escapes are not read
            return content[: content.index("\\")] + HOLE
    return content


def _formatted(template: str) -> str:
    """What ``format`` makes of a template: each of its places a hole."""
    pieces: list[str] = []
    at = 0
    while (found := template.find("%", at)) >= 0:
        pieces.append(template[at:found])
        at = found + 1
        while at < len(template) and template[at] in "0123456789$-*":
            at += 1
        pieces.append("%" if template[at : at + 1] == "%" else HOLE)
        at += 1
    return "".join((*pieces, template[at:]))
