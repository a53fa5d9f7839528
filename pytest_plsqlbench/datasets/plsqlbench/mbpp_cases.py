"""The one test block of an MBPP-PLSQL task, split into its cases by structure.

A published block declares a local assertion procedure and then, case by case, calls the function and asserts.
The first failing case ends it, so partial credit needs a block for each case: the declarations, the one case,
the handlers. Where the structure does not make certain that a case means the same on its own, the block stays
whole and the reason is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_plsqlbench.sql.code import Code, CodeStatement
from pytest_plsqlbench.sql.lexer import Token, string_content, tokenize
from pytest_plsqlbench.sql.signature import Parameter, closing, fold, split_list
from pytest_plsqlbench.sql.unit import ProgramUnit, Routine
from pytest_plsqlbench.sql.units import read_program

_NOT_EQUAL = frozenset(("!=", "<>", "^=", "~="))
_FAILED = " failed"
_RAISE = "RAISE_APPLICATION_ERROR"
_OWNER = "SYS.DBMS_STANDARD."
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a block."""

    name: str
    """One line, unique in its block."""
    script: str
    null_expected: bool = False
    """The expected value holds a NULL, so that the published assertion cannot fail."""


@dataclass(frozen=True, slots=True)
class CaseSplit:
    """The cases of a block."""

    cases: tuple[Case, ...]
    whole: str | None = None
    """Why the block is one case; None where it was split."""
    vacuous_line: str | None = None
    """What a case prints where its assertion compared with NULL; None where that is not observed."""


class _WholeError(Exception):
    """The block cannot be split with certainty; says why."""


def split_cases(block: str) -> CaseSplit:
    """Split a test block. Never raises: a block that is not understood is one case, as it stands."""
    try:
        return _Block(block).split()
    except _WholeError as reason:
        return CaseSplit((Case("all cases", block),), whole=str(reason))


def wide_number(block: str) -> int:
    """Most significant digits of a number in the block; beyond 38 Oracle's NUMBER need not keep them."""
    numbers = (token.text for token in tokenize(block, "oracle") if token.kind == "number")
    return max(map(_significant_digits, numbers), default=0)


def _significant_digits(number: str) -> int:
    mantissa = number.lower().rstrip("fd").partition("e")[0]
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction.rstrip("0") if fraction.rstrip("0") else whole.rstrip("0")
    return len(digits.lstrip("0"))


class _Block:
    """Reads one block."""

    def __init__(self, text: str) -> None:
        script = read_program(text, "oracle")
        units = script.units
        if len(script.script.statements) != 1 or len(units) != 1 or units[0].kind != "block":
            raise _WholeError("the test is not one block")
        self._unit: ProgramUnit = units[0]
        self._code: Code = units[0].code
        self._tokens: Sequence[Token] = self._code.tokens
        if not self._code.complete or self._code.findings:
            raise _WholeError("the structure of the block is not certain")
        self._text = text
        self._handlers = min(
            (b.start - 1 for b in self._code.branches if b.kind == "handler" and b.statement == 0),
            default=self._last_end(),
        )
        self._body = [
            s
            for s in self._code.statements[1:]
            if s.parent == 0 and s.routine == 0 and s.start < self._handlers
        ]
        if not self._body:
            raise _WholeError("the block does nothing")
        self._routines = self._subprograms()

    def _last_end(self) -> int:
        return max(at for at, token in enumerate(self._tokens) if token.value == "END")

    def _subprograms(self) -> list[tuple[int, Routine]]:
        """Local procedures and functions of the block with their index, nested ones of these left out."""
        indexes = [
            at for at, routine in enumerate(self._code.routines) if routine.kind in {"function", "procedure"}
        ]
        pairs = zip(indexes, self._unit.nested, strict=True)
        return [(at, routine) for at, routine in pairs if self._code.routines[at].parent == 0]

    # -- the split ------------------------------------------------------------------------------------------

    def split(self) -> CaseSplit:
        assertions = [
            (at, routine) for at, routine in self._routines if routine.has_body and self._raises(at)
        ]
        if not assertions:
            raise _WholeError("no local procedure of the block raises")
        names = {routine.name for _, routine in assertions}
        groups = list(self._groups(names))
        self._check_jumps()
        for number, group in enumerate(groups[1:], 2):
            self._check_apart(number, group, groups)
        line = self._vacuous_line()
        guards = [self._guard(at, routine, line) for at, routine in assertions]
        observed = line if all(guards) else None
        qualified = list(self._qualifiers())
        cases: list[Case] = []
        for number, (start, end, call) in enumerate(groups, 1):
            expected = self._expected(call)
            null = any(token.value == "NULL" and token.kind == "word" for token in expected)
            # A NULL inside the expected collection makes the comparison NULL for the right answer, too.
            guarded = observed is not None and (not null or len(expected) == 1)
            added = [*qualified, *(guard for guard in guards if guard and guarded)]
            script = self._script(start, end, sorted(added))
            cases.append(Case(self._name(number, call, cases), script, null))
        return CaseSplit(tuple(cases), vacuous_line=observed)

    def _raises(self, routine: int) -> bool:
        return any(
            s.routine == routine and (s.kind == "raise" or self._tokens[s.start].value == _RAISE)
            for s in self._code.statements
        )

    def _groups(self, assertions: set[str]) -> Iterator[tuple[int, int, CodeStatement]]:
        """Token ranges of the cases, each with its call of an assertion."""
        ends = [s.start for s in self._body[1:]] + [self._handlers]
        calls = [
            s
            for s in self._code.statements
            if s.routine == 0 and s.kind == "call" and fold(self._tokens[s.start], "oracle") in assertions
        ]
        found: list[tuple[int, int, CodeStatement]] = []
        start = self._body[0].start
        for statement, end in zip(self._body, ends, strict=True):
            inside = [call for call in calls if statement.start <= call.start < end]
            if len(inside) > 1 or (inside and statement.kind in {"loop", "while", "for"}):
                raise _WholeError(f"one statement asserts several times, line {statement.token.line}")
            if inside:
                found.append((start, end, inside[0]))
                start = end
        if not found:
            raise _WholeError("the block asserts nothing")
        first, _, call = found.pop()
        yield from found
        yield first, self._handlers, call  # what follows the last assertion stays with it

    def _check_jumps(self) -> None:
        first = self._body[0].start
        labels = any(token.value in {"<<", ">>"} for token in self._tokens[first - 1 :])
        if labels or any(s.kind == "goto" for s in self._code.statements):
            raise _WholeError("the block has labels or GOTO")

    def _check_apart(
        self,
        number: int,
        group: tuple[int, int, CodeStatement],
        groups: Sequence[tuple[int, int, CodeStatement]],
    ) -> None:
        """See that a case takes no variable as an earlier case left it."""
        start, end, _ = group
        for name in self._variables():
            places = self._places(name, start, end)
            hidden = any(
                self._places(name, self._code.routines[at].start, self._code.routines[at].end)
                for at, _ in self._routines
            )
            if not places and not hidden:
                continue
            if not hidden and not any(
                self._places(name, *other[:2]) for other in groups if other is not group
            ):
                continue
            first = next(s for s in self._body if s.start >= start)
            setter = next((s for s in self._body if places and s.start == places[0]), None)
            fresh = setter is not None and setter.kind == "assignment" and setter.end > places[0] + 1
            fresh = fresh and self._tokens[places[0] + 1].value == ":="
            again = setter is not None and len(self._places(name, setter.start, setter.end)) > 1
            if not fresh or again or (hidden and setter is not first):
                raise _WholeError(f"case {number} uses {name} as an earlier case left it")

    def _variables(self) -> list[str]:
        first = self._body[0].start
        return [
            d.name.strip('"') if d.name.startswith('"') else d.name.upper()
            for d in self._code.declarations
            if d.kind in {"variable", "cursor", "other"} and d.routine == 0 and d.start < first
        ]

    def _places(self, name: str, start: int, end: int) -> list[int]:
        return [
            at
            for at in range(start, end)
            if self._tokens[at].kind in {"word", "quoted"} and fold(self._tokens[at], "oracle") == name
        ]

    # -- the cases ------------------------------------------------------------------------------------------

    def _range(self, statement: CodeStatement) -> Sequence[Token]:
        return self._tokens[statement.start : statement.end]

    def _expected(self, call: CodeStatement) -> Sequence[Token]:
        """The second argument of an assertion."""
        start, end = call.start + 1, call.end
        if start >= end or self._tokens[start].value != "(":
            return ()
        arguments = split_list(self._tokens, start + 1, closing(self._tokens, start, end))
        return self._tokens[slice(*arguments[1])] if len(arguments) > 1 else ()

    def _name(self, number: int, call: CodeStatement, taken: Sequence[Case]) -> str:
        """What the assertion's message calls the case."""
        message = ""
        for token in self._range(call):
            message = string_content(token, "oracle") or message
        name = message.removesuffix(_FAILED) if message.endswith(_FAILED) else f"case_{number}"
        plain = name.isprintable() and name.strip() == name and 0 < len(name) <= _LONGEST_NAME
        return name if plain and name not in {case.name for case in taken} else f"case_{number}"

    def _script(self, start: int, end: int, added: Sequence[tuple[int, str]]) -> str:
        """The block with one case: declarations, the case, the end; ``added`` goes before its tokens."""
        ranges = ((0, self._body[0].start), (start, end), (self._handlers, len(self._tokens)))
        script = ""
        for low, high in ranges:
            at, stop = self._offset(low), self._offset(high)
            for place, text in added:
                if low <= place < high:
                    script += self._text[at : self._offset(place)] + text
                    at = self._offset(place)
            script += self._text[at:stop]
        return script

    def _offset(self, place: int) -> int:
        return self._tokens[place].offset if place < len(self._tokens) else self._unit.statement.end

    def _qualifiers(self) -> Iterator[tuple[int, str]]:
        """Where the full name of RAISE_APPLICATION_ERROR needs its beginning.

        By the short name alone a procedure of the graded program could take its place and never raise.
        """
        if self._names_sys() or any(routine.name == _RAISE for _, routine in self._routines):
            return
        for statement in self._code.statements:
            if self._tokens[statement.start].value == _RAISE:
                yield statement.start, _OWNER

    def _names_sys(self) -> bool:
        """Whether the block has a name of its own that could hide the schema SYS."""
        return any(token.kind != "string" and fold(token, "oracle") == "SYS" for token in self._tokens)

    # -- comparisons with NULL ------------------------------------------------------------------------------

    def _vacuous_line(self) -> str:
        return f"vacuous {hashlib.sha256(self._text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"

    def _guard(self, index: int, routine: Routine, line: str) -> tuple[int, str] | None:
        """Where in an assertion of the form ``IF a != b THEN raise`` a statement goes, and that statement.

        None for other assertions. The statement prints ``line`` where the comparison is NULL although not
        both sides are empty. It compares as the assertion does, so it raises where that raises; printing
        cannot fail the test, whatever the program did with the output buffer.
        """
        inside = [s for s in self._code.statements if s.routine == index]
        if [s.kind for s in inside] not in (["block", "if", "call"], ["block", "if", "raise"]):
            return None
        branch = inside[1]
        words = [fold(token, "oracle") for token in self._range(branch)]
        parameters = routine.parameters[:2]
        names = [parameter.name for parameter in parameters]
        if len(words) != 5 or words[2] not in _NOT_EQUAL or [words[1], words[3]] != names:
            return None
        if self._names_sys():
            return None
        left, sign, right = (token.text for token in self._range(branch)[1:4])
        empty = " AND ".join(_is_empty(name, p) for name, p in zip((left, right), parameters, strict=True))
        shown = f"SYS.DBMS_OUTPUT.ENABLE(NULL); SYS.DBMS_OUTPUT.PUT_LINE('{line}');"
        guard = (
            f"DECLARE plsqlbench_differ BOOLEAN := {left} {sign} {right};"
            f" BEGIN IF plsqlbench_differ IS NULL AND NOT ({empty}) THEN"
            f" BEGIN {shown} EXCEPTION WHEN OTHERS THEN NULL; END; END IF; END; "
        )
        return branch.start, guard


def _is_empty(name: str, parameter: Parameter) -> str:
    """A condition for NULL; a CLOB of no characters counts as NULL, which it is as a literal.

    Only operators: a function could be one that the graded program defines.
    """
    if parameter.type in {"CLOB", "NCLOB"}:
        return f"({name} IS NULL OR {name} NOT LIKE '_%')"
    return f"{name} IS NULL"
