"""Whether the tests of a turn can tell anything about its program: judged on structure, for the self-check.

Some published tests are vacuous: they define what the program should define, they raise before they call
it, or they call nothing of it. In doubt a test counts as one that calls the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_plsqlbench.sql.lexer import Token, string_content, tokenize
from pytest_plsqlbench.sql.signature import fold
from pytest_plsqlbench.sql.statement import ScriptStatement
from pytest_plsqlbench.sql.unit import ProgramUnit
from pytest_plsqlbench.sql.units import Program, statement_tokens

_NAMED = frozenset(("function", "procedure", "package", "package_body", "type", "view", "table"))
_SILENT = frozenset(("client", "session", "transaction"))
_SHOWING = frozenset(("block", "query", "dml", "call"))
"""Statements that do something while the program is installed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program offers to tests."""

    names: frozenset[str]
    """Of what it defines, as the server keeps them."""
    certain: bool
    """Whether nothing else of it can show in a test (no triggers, no DDL that is not read)."""
    runs: bool
    """Whether something of it runs while it is installed."""


def read_answer(read: Program) -> Answer:
    """Read what a program defines."""
    names = {unit.name.name for unit in read.units if unit.name is not None and unit.kind in _NAMED}
    units = {unit.statement.offset for unit in read.units if unit.kind in _NAMED}
    others = [s for s in read.script.statements if s.offset not in units and s.kind not in _SILENT]
    return Answer(
        names=frozenset(names),
        certain=all(s.kind in _SHOWING for s in others),
        runs=any(s.kind in _SHOWING for s in others),
    )


def vacuity(read: Program, names: Iterable[str]) -> str | None:
    """Why a test cannot tell anything about a program that defines these names; None where it may."""
    wanted = frozenset(names)
    own = {unit.name.name for unit in read.units if unit.name is not None}
    if carried := sorted(own & wanted):
        return f"defines {', '.join(carried).lower()} itself"
    units = {unit.statement.offset: unit for unit in read.units}
    cut = False
    for statement in read.script.statements:
        if statement.kind == "client":
            continue
        unit = units.get(statement.offset)
        stop, handlers, fails = _stop(unit)
        tokens = statement_tokens(statement, "oracle")
        places = list(_places(tokens, wanted, unit))
        if any(at < stop or at >= handlers for at in places):
            return None
        cut = cut or bool(places)
        if fails:  # and a test ends at its first error
            rest = (later for later in read.script.statements if later.offset > statement.offset)
            cut = cut or any(_names_any(later, wanted, units) for later in rest)
            break
    return (
        "raises or returns before it calls the program" if cut else "calls nothing that the program defines"
    )


def _names_any(statement: ScriptStatement, wanted: frozenset[str], units: dict[int, ProgramUnit]) -> bool:
    tokens = statement_tokens(statement, "oracle")
    return any(True for _ in _places(tokens, wanted, units.get(statement.offset)))


def _stop(unit: ProgramUnit | None) -> tuple[int, int, bool]:
    """Where a block surely goes no further, where its handlers begin, and whether it fails there.

    The first two are indexes of tokens, greater than any where there is no such place.
    """
    never = 1 << 60
    if unit is None or unit.kind != "block":
        return never, never, False
    code = unit.code
    handlers = min(
        (b.start for b in code.branches if b.kind == "handler" and b.statement == 0), default=never
    )
    for s in code.statements[1:]:
        if s.routine == 0 and s.parent == 0 and s.start < handlers:
            raises = s.kind == "raise" or code.tokens[s.start].value == "RAISE_APPLICATION_ERROR"
            if raises or s.kind == "return":
                return s.start, handlers, raises and handlers == never
    return never, handlers, False


def _places(tokens: Sequence[Token], wanted: frozenset[str], unit: ProgramUnit | None) -> Iterator[int]:
    """Where a statement names one of these; in its texts, too, where it may run them."""
    local = {routine.name for routine in unit.nested} if unit is not None else set()
    dynamic = any(token.value in {"EXECUTE", "DBMS_SQL"} for token in tokens if token.kind == "word")
    for at, token in enumerate(tokens):
        if _is_one(token, wanted - local):
            yield at
        elif dynamic and token.kind == "string":
            content = string_content(token, "oracle") or ""
            if any(_is_one(inner, wanted) for inner in tokenize(content, "oracle")):
                yield at


def _is_one(token: Token, wanted: frozenset[str]) -> bool:
    return token.kind in {"word", "quoted"} and fold(token, "oracle") in wanted


def text_faults(read: Program) -> Iterator[str]:
    """What the script reader could not make certain in a text, one sentence each."""
    for finding in read.findings:
        if finding.severity == "error":
            yield f"line {finding.line}: {finding.message}"
