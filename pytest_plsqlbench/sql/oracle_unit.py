"""Oracle units from their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pytest_plsqlbench.sql.code import Code
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.signature import (
    Parameter,
    closing,
    fold,
    read_name,
    read_signature,
    read_target,
    read_unit_name,
    spell,
    split_list,
)
from pytest_plsqlbench.sql.statement import ScriptStatement
from pytest_plsqlbench.sql.unit import ProgramUnit, Routine, UnitKind


def oracle_unit(kind: UnitKind, statement: ScriptStatement, tokens: list[Token], code: Code) -> ProgramUnit:
    """The unit that a statement with these significant tokens and this code is."""
    name, after = read_unit_name(tokens, "oracle") if kind not in {"block", "query"} else (None, 0)
    parameters, returns = read_signature(tokens, after, len(tokens), "oracle", kind)
    routines = [_routine(code, index) for index in _subprograms(code, unit=kind in {"function", "procedure"})]
    holder = kind in {"package", "package_body", "type_body"}
    members = tuple(routine for routine in routines if holder and routine.depth == 0)
    nested = tuple(routine for routine in routines if not (holder and routine.depth == 0))
    attributes: tuple[Parameter, ...] = ()
    detail = ""
    if kind == "type":
        detail, attributes, members = _oracle_type(tokens, after)
    elif kind == "trigger":
        detail = read_target(tokens, after, "oracle")
    return ProgramUnit(
        kind=kind,
        name=name,
        parameters=parameters,
        returns=returns,
        language=None,
        members=members,
        nested=nested,
        attributes=attributes,
        detail=detail,
        code=code,
        statement=statement,
    )


def _subprograms(code: Code, *, unit: bool) -> list[int]:
    """Indexes of the functions and procedures; not the unit itself."""
    return [
        index
        for index, routine in enumerate(code.routines)
        if routine.kind in {"function", "procedure"} and not (unit and index == 0)
    ]


def _routine(code: Code, index: int) -> Routine:
    routine = code.routines[index]
    tokens = code.tokens
    end = routine.header_end if routine.header_end >= 0 else len(tokens)
    at = routine.start
    while at < end and tokens[at].value not in {"FUNCTION", "PROCEDURE"}:
        at += 1
    name, after = read_name(tokens, at + 1, end, "oracle")
    kind: Literal["function", "procedure"] = "function" if routine.kind == "function" else "procedure"
    parameters, returns = read_signature(tokens, after, end, "oracle", kind)
    place = tokens[min(at + 1, len(tokens) - 1)]
    depth = routine.depth - (
        1 if code.routines[0].kind in {"block", "trigger"} or _is_routine_unit(code) else 0
    )
    return Routine(
        kind=kind,
        name=name.name if name else "",
        parameters=parameters,
        returns=returns,
        has_body=routine.has_body,
        depth=max(0, depth),
        line=place.line,
        column=place.column,
    )


def _is_routine_unit(code: Code) -> bool:
    return bool(code.tokens) and code.tokens[0].value == "CREATE" and code.routines[0].start == 0


def _oracle_type(tokens: Sequence[Token], at: int) -> tuple[str, tuple[Parameter, ...], tuple[Routine, ...]]:
    """What a type is, its attributes and its methods."""
    end = len(tokens) - (1 if tokens and tokens[-1].value == ";" else 0)
    while at < end and tokens[at].value not in {"(", "OBJECT", "TABLE", "VARRAY", "VARYING", "UNDER"}:
        at += 1
    if at >= end:
        return "incomplete", (), ()
    if tokens[at].value in {"TABLE", "VARRAY", "VARYING"}:
        return spell(tokens[at:end], "oracle").lower(), (), ()
    detail = "object" if tokens[at].value == "OBJECT" else "subtype"
    while at < end and tokens[at].value != "(":
        at += 1
    attributes: list[Parameter] = []
    methods: list[Routine] = []
    for low, high in split_list(tokens, at + 1, closing(tokens, at, end)):
        words = [token.value for token in tokens[low:high]]
        keyword = next(
            (index for index, word in enumerate(words[:6]) if word in {"FUNCTION", "PROCEDURE"}), None
        )
        if keyword is None:
            attributes.append(
                Parameter(fold(tokens[low], "oracle"), "in", spell(tokens[low + 1 : high], "oracle"))
            )
            continue
        kind: Literal["function", "procedure"] = "function" if words[keyword] == "FUNCTION" else "procedure"
        name, after = read_name(tokens, low + keyword + 1, high, "oracle")
        parameters, returns = read_signature(tokens, after, high, "oracle", kind)
        place = tokens[low]
        methods.append(
            Routine(
                kind,
                name.name if name else "",
                parameters,
                returns,
                has_body=False,
                depth=0,
                line=place.line,
                column=place.column,
            )
        )
    return detail, tuple(attributes), tuple(methods)
