"""Size and cyclomatic complexity of programs, by one set of rules for both dialects.

ProcArena (arXiv 2609.06527) reports "statements" and "cyclomatic" per program without printing its counting
rules; these are ours, after McCabe (1976), and docs/sql-reading.md explains them:

- **statements**: every executable statement counts one: simple statements, and each IF, CASE statement and
  loop as a whole. BEGIN … END counts nothing, nor do declarations. The statements of a LANGUAGE sql body
  count, and so do SQL statements that stand in the script by themselves.
- **cyclomatic**: for every routine with a body 1 + its decisions; a program with several has the sum.
  Decisions: IF, ELSIF, each WHEN of a CASE statement, each WHEN of a CASE expression in procedural code,
  FOR, WHILE, FOREACH and FORALL, EXIT WHEN, CONTINUE WHEN, and each exception handler. A bare LOOP and ELSE
  decide nothing. CASE inside SQL is the query's, not the program's.
- **conditions**: the AND and OR in those conditions, counted apart (cyclomatic + conditions is the extended
  form).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pytest_plsqlbench.sql.code import Code, CodeStatement
from pytest_plsqlbench.sql.signature import closing
from pytest_plsqlbench.sql.unit import ProgramUnit
from pytest_plsqlbench.sql.units import Program

_DECIDING = frozenset(("if", "for", "while", "foreach", "forall"))
_LEAVING = frozenset(("exit", "continue"))
_PROCEDURAL = frozenset(
    (
        "assert", "assignment", "call", "case", "continue", "exit", "for", "if", "pipe_row", "raise",
        "return", "while",
    )
)  # fmt: skip
"""Statements whose expressions are procedural code."""
_CONDITIONAL = frozenset(("if", "while", "exit", "continue"))


class Complexity(msgspec.Struct, frozen=True):
    """Size of a program or unit."""

    statements: int
    cyclomatic: int
    conditions: int
    declarations: int
    max_depth: int
    """Greatest nesting of compound statements; 0 for a flat body."""

    def __add__(self, other: Complexity) -> Complexity:
        return Complexity(
            self.statements + other.statements,
            self.cyclomatic + other.cyclomatic,
            self.conditions + other.conditions,
            self.declarations + other.declarations,
            max(self.max_depth, other.max_depth),
        )


_NOTHING = Complexity(0, 0, 0, 0, 0)


def program_complexity(program: Program) -> Complexity:
    """Size of all that a program holds."""
    total = sum((unit_complexity(unit) for unit in program.units), _NOTHING)
    units = {unit.statement.offset for unit in program.units}
    alone = sum(
        statement.kind != "client" and statement.offset not in units
        for statement in program.script.statements
    )
    return total + Complexity(alone, 0, 0, 0, 0)


def unit_complexity(unit: ProgramUnit) -> Complexity:
    """Size of one unit."""
    code = unit.code
    bodies = sum(routine.has_body for routine in code.routines)
    if unit.body is not None:
        return Complexity(len(unit.body.statements), 1, 0, 0, 0)
    statements = [statement for statement in code.statements if statement.kind != "block"]
    decisions = sum(_decisions(code, statement) for statement in statements)
    decisions += sum(branch.kind != "else" for branch in code.branches)
    decisions += sum(_case_whens(code, branch.start, branch.end) for branch in code.branches)
    blocks = _blocks_above(code)
    return Complexity(
        statements=len(statements) + (unit.kind == "query"),
        cyclomatic=bodies + decisions,
        conditions=sum(_conditions(code, start, end) for start, end in _condition_ranges(code, statements)),
        declarations=len(code.declarations),
        max_depth=max(
            (statement.depth - blocks[at] for at, statement in enumerate(code.statements)), default=0
        ),
    )


def _decisions(code: Code, statement: CodeStatement) -> int:
    deciding = int(statement.kind in _DECIDING)
    if statement.kind in _LEAVING:
        values = (
            code.tokens[at].value for at in range(statement.start, min(statement.end, statement.start + 3))
        )
        deciding = int("WHEN" in values)
    if statement.kind in _PROCEDURAL:
        deciding += _case_whens(code, statement.start, statement.end)
    return deciding


def _case_whens(code: Code, start: int, end: int) -> int:
    """WHEN of the CASE expressions in a range, those in subqueries left out."""
    found, depth = 0, 0
    tokens, at = code.tokens, start + 1
    while at < end:
        word = tokens[at].value
        if word == "(" and at + 1 < end and tokens[at + 1].value in {"SELECT", "WITH"}:
            at = closing(tokens, at, end)
        elif word == "CASE":
            depth += 1
        elif word == "END" and depth:
            depth -= 1
        elif word == "WHEN" and depth:
            found += 1
        at += 1
    return found


def _condition_ranges(code: Code, statements: Iterable[CodeStatement]) -> list[tuple[int, int]]:
    ranges = [(s.start, s.end) for s in statements if s.kind in _CONDITIONAL]
    return ranges + [(b.start, b.end) for b in code.branches if b.kind in {"elsif", "when"}]


def _conditions(code: Code, start: int, end: int) -> int:
    """AND and OR in a range; the AND of BETWEEN is none."""
    found, between = 0, 0
    for at in range(start, end):
        word = code.tokens[at].value
        if word == "BETWEEN":
            between += 1
        elif word == "AND" and between:
            between -= 1
        elif word in {"AND", "OR"}:
            found += 1
    return found


def _blocks_above(code: Code) -> list[int]:
    """For each statement how many of the statements around it are blocks."""
    above: list[int] = []
    for statement in code.statements:
        parent = statement.parent
        above.append(0 if parent < 0 else above[parent] + (code.statements[parent].kind == "block"))
    return above
