"""The structure of a unit in one line, for people and for tests.

``F: if{return} select(into) for(range){exit} handler return`` reads: routine F holds an IF with a RETURN in it,
a SELECT INTO, a loop over a range with an EXIT, and a handler of exceptions that returns. Ways of a compound
statement (``elsif``, ``else``, ``when``, ``handler``) stand before what they hold; BEGIN … END of a routine is
left out.
"""

from __future__ import annotations

from pytest_plsqlbench.sql.code import Code, CodeStatement
from pytest_plsqlbench.sql.unit import ProgramUnit

_DETAILED = frozenset(("for", "select", "return", "raise", "fetch", "insert", "update", "delete", "execute"))


def outline(unit: ProgramUnit) -> str:
    """One line; routines after each other, divided by `` | ``; empty for units without code."""
    if unit.body is not None:
        return " ".join(statement.kind for statement in unit.body.statements)
    code = unit.code
    parts = [
        f"{name}: {body}" if name else body
        for index, name in enumerate(_names(unit))
        if (body := _routine(code, index)) or code.routines[index].has_body
    ]
    return " | ".join(parts)


def _names(unit: ProgramUnit) -> list[str]:
    """Names of all routines, as written; the unit's own routine and blocks have none."""
    names: list[str] = []
    for index, routine in enumerate(unit.code.routines):
        at, tokens = routine.start, unit.code.tokens
        end = routine.header_end if routine.header_end >= 0 else len(tokens)
        while at < end and tokens[at].value not in {"FUNCTION", "PROCEDURE"}:
            at += 1
        own = index == 0 and routine.start == 0
        shown = routine.kind in {"function", "procedure"} and not own and at + 1 < end
        names.append(tokens[at + 1].text if shown else "" if own else routine.kind)
    return names


def _routine(code: Code, index: int) -> str:
    outer = next((s for s in code.statements if s.routine == index and s.kind == "block"), None)
    items = [
        (statement.start, statement.depth, _label(statement))
        for statement in code.statements
        if statement.routine == index and statement is not outer
    ]
    items += [
        (branch.start, code.statements[branch.statement].depth + 1, str(branch.kind))
        for branch in code.branches
        if branch.routine == index
    ]
    text: list[str] = []
    level = outer.depth + 1 if outer is not None else 0
    first = level
    for _, depth, label in sorted(items):
        if depth > level:
            text.append("{" * (depth - level))
        elif depth < level:
            text.append("}" * (level - depth) + " ")
        elif text:
            text.append(" ")
        text.append(label)
        level = depth
    text.append("}" * (level - first))
    return "".join(text)


def _label(statement: CodeStatement) -> str:
    if statement.detail and statement.kind in _DETAILED:
        return f"{statement.kind}({statement.detail})"
    return statement.kind
