"""PostgreSQL units from their tokens."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.headers import UnitShape
from pytest_plsqlbench.sql.lexer import Token, string_content, tokenize_content
from pytest_plsqlbench.sql.script import Script, ScriptStatement, read_script
from pytest_plsqlbench.sql.signature import (
    Parameter,
    closing,
    fold,
    read_parameters,
    read_signature,
    read_target,
    read_unit_name,
)
from pytest_plsqlbench.sql.statement import placed
from pytest_plsqlbench.sql.structure import Structure
from pytest_plsqlbench.sql.unit import ProgramUnit, UnitKind


def postgres_unit(kind: UnitKind, statement: ScriptStatement, tokens: list[Token]) -> ProgramUnit:
    """The unit that a statement with these significant tokens is."""
    name, after = read_unit_name(tokens, "postgres") if kind != "block" else (None, 1)
    parameters, returns = read_signature(tokens, after, len(tokens), "postgres", kind)
    parameters += _table_columns(tokens, after) if kind == "function" else ()
    language: str | None = None
    code, body = Code(), None
    attributes: tuple[Parameter, ...] = ()
    detail = ""
    if kind in {"function", "procedure", "block"}:
        language, code, body = _postgres_body(statement, tokens, after, kind)
    elif kind == "trigger":
        detail = read_target(tokens, after, "postgres")
    elif kind == "type":
        detail, attributes = _postgres_type(tokens, after)
    return ProgramUnit(
        kind=kind,
        name=name,
        parameters=parameters,
        returns=returns,
        language=language,
        members=(),
        nested=(),
        attributes=attributes,
        detail=detail,
        code=code,
        statement=statement,
        body=body,
    )


def _table_columns(tokens: Sequence[Token], at: int) -> tuple[Parameter, ...]:
    """The columns of RETURNS TABLE."""
    for index in range(at, len(tokens) - 2):
        if tokens[index].kind == "string":
            break
        if (tokens[index].value, tokens[index + 1].value, tokens[index + 2].value) == (
            "RETURNS",
            "TABLE",
            "(",
        ):
            close = closing(tokens, index + 2, len(tokens))
            columns = read_parameters(tokens, index + 3, close, "postgres")
            return tuple(Parameter(column.name, "table", column.type) for column in columns)
    return ()


def _postgres_body(
    statement: ScriptStatement, tokens: Sequence[Token], at: int, kind: UnitKind
) -> tuple[str, Code, Script | None]:
    """Language and body of a routine or DO block."""
    language, body, inline = _clauses(tokens, at, kind)
    if inline is not None:
        end = tokens[-1].offset if tokens[-1].value == "END" else statement.end
        return language, Code(), _sql_body(statement, inline, end)
    if body is None:
        return language, Code(), None
    if language == "sql":
        content = tokenize_content(body, "postgres")
        script = read_script(string_content(body, "postgres") or "", "postgres")
        return language, Code(), placed(script, content[0]) if content else script
    if language != "plpgsql":
        return language, Code(), None
    structure = Structure(UnitShape.BLOCK, "postgres")
    for token in tokenize_content(body, "postgres", significant=True):
        structure.feed(token)
    return language, structure.finish(), None


def _clauses(tokens: Sequence[Token], at: int, kind: UnitKind) -> tuple[str, Token | None, Token | None]:
    """The language, the body where it is a string, and the first token of one in the SQL standard's form."""
    language = "plpgsql" if kind == "block" else "sql"
    body: Token | None = None
    depth = 0
    for index in range(at, len(tokens)):
        token, previous = tokens[index], tokens[index - 1]
        depth += (token.value == "(") - (token.value == ")")
        if depth:
            continue
        if previous.value == "LANGUAGE" and token.kind in {"word", "quoted", "string"}:
            language = (string_content(token, "postgres") or fold(token, "postgres")).lower()
        elif body is not None:
            continue
        elif token.kind == "string" and (previous.value == "AS" or kind == "block"):
            body = token
        elif previous.value == "BEGIN" and token.value == "ATOMIC" and index + 1 < len(tokens):
            return language, None, tokens[index + 1]
        elif token.value == "RETURN" and kind == "function":
            return language, None, token
    return language, body, None


def _sql_body(statement: ScriptStatement, first: Token, end: int) -> Script:
    """The statements of a SQL-standard body: from a token up to an index of the script."""
    start = first.offset - statement.offset
    return placed(read_script(statement.text[start : end - statement.offset], "postgres"), first)


def _postgres_type(tokens: Sequence[Token], at: int) -> tuple[str, tuple[Parameter, ...]]:
    """What a type is, and the attributes of a composite one."""
    words = [token.value for token in tokens[at : at + 3]]
    if words[:1] != ["AS"]:
        return "incomplete" if not words else "base", ()
    if words[1:2] == ["("]:
        close = closing(tokens, at + 1, len(tokens))
        return "composite", read_parameters(tokens, at + 2, close, "postgres")
    return words[1].lower() if len(words) > 1 else "incomplete", ()
