"""The structure reader, first part: how units begin, and declarations."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from pytest_plsqlbench.sql.code import Declaration, RoutineKind
from pytest_plsqlbench.sql.nest import Frame, Nest, NestReader
from pytest_plsqlbench.sql.phrases import declaration_of


class UnitShape(Enum):
    """How a unit begins."""

    ROUTINE = auto()
    """``CREATE … FUNCTION`` or ``PROCEDURE``: header, declarations, block."""
    HOLDER = auto()
    """Package, package body or type body: header, members."""
    TRIGGER = auto()
    BLOCK = auto()
    """An anonymous block, or the body of a PL/pgSQL routine."""
    FLAT = auto()
    """No blocks inside: ends at the first semicolon (object and collection types)."""
    FOREIGN = auto()
    """Source in another language: only its surroundings can end it."""
    WITH = auto()
    """``WITH FUNCTION … SELECT``: members, then a query."""


_MODIFIERS = frozenset(
    ("MEMBER", "STATIC", "CONSTRUCTOR", "MAP", "ORDER", "FINAL", "INSTANTIABLE", "OVERRIDING", "NOT")
)
_CALL_SPEC = frozenset(("LANGUAGE", "EXTERNAL", "MLE"))
_TIMINGS = frozenset(("BEFORE", "AFTER", "INSTEAD"))


class HeaderReader(NestReader):
    """Headers of units and routines, and what is declared between them and BEGIN."""

    def _begin(self, shape: UnitShape) -> None:
        if shape is UnitShape.ROUTINE:
            self._open_routine("procedure", 0)
        elif shape in {UnitShape.TRIGGER, UnitShape.BLOCK}:
            self._open_routine("trigger" if shape is UnitShape.TRIGGER else "block", 0)
        elif shape is UnitShape.WITH:
            self._stack.append(Frame(Nest.MEMBERS, -1, -1))
        starts: dict[UnitShape, Callable[[str], None]] = {
            UnitShape.ROUTINE: self._routine_header,
            UnitShape.HOLDER: self._holder_header,
            UnitShape.TRIGGER: self._trigger_header,
            UnitShape.BLOCK: self._block_start,
            UnitShape.FLAT: self._flat,
            UnitShape.FOREIGN: self._foreign,
            UnitShape.WITH: self._with_start,
        }
        self._handler = starts[shape]

    # -- headers --------------------------------------------------------------------------------------------

    def _foreign(self, word: str) -> None:
        """Source in another language."""

    def _routine_header(self, word: str) -> None:
        routine = self.code.routines[-1] if not self._stack else self.code.routines[self._stack[-1].routine]
        self._count_parens(word)
        if word == "FUNCTION" and routine.header_end < 0 and not self._parens:
            routine.kind = "function"
        elif word == ";":
            routine.header_end = self._here
            self._end_routine()
        elif word in {"IS", "AS"} and not self._parens and self._word != "SELF":
            routine.header_end = self._here
            routine.has_body = True
            if not self._stack:
                self._stack.append(Frame(Nest.DECLARE, 0, -1, closes_routine=True))
            self._handler = self._first_declaration

    def _holder_header(self, word: str) -> None:
        if word in {"IS", "AS"}:
            self._stack.append(Frame(Nest.MEMBERS, -1, -1))
            self._handler = self._declaration
        elif word == ";":
            self.code.complete = True

    def _trigger_header(self, word: str) -> None:
        self._count_parens(word)
        if self._parens:
            return
        if word == "CALL":
            self.code.routines[0].header_end = self._here
            self._handler = self._flat
        elif word == "TRIGGER" and self._word == "COMPOUND":
            self.code.routines[0].header_end = self._here
            self._stack.append(Frame(Nest.MEMBERS, 0, -1, closes_routine=True))
            self._handler = self._declaration
        elif word in {"DECLARE", "BEGIN", "<<"}:
            self.code.routines[0].header_end = self._here
            self._block_start(word)

    def _with_start(self, word: str) -> None:
        if word != "WITH":
            self._handler = self._declaration
            self._declaration(word)

    def _block_start(self, word: str) -> None:
        """Before the outermost block: labels, options of PL/pgSQL, DECLARE, BEGIN."""
        if word == "<<":
            self._read_label(self._block_start)
        elif word == "#":
            self._skip, self._handler = 2, self._option
        elif word in {"DECLARE", "BEGIN"}:
            self.code.routines[0].has_body = True
            self._open_block(word, closes_routine=True)

    def _option(self, word: str) -> None:
        del word
        self._skip -= 1
        if not self._skip:
            self._handler = self._block_start

    # -- declarations ---------------------------------------------------------------------------------------

    def _first_declaration(self, word: str) -> None:
        """Right after IS or AS: a call specification has no block."""
        if word in _CALL_SPEC:
            self._handler = self._call_spec
        else:
            self._handler = self._declaration
            self._declaration(word)

    def _call_spec(self, word: str) -> None:
        if word == ";":
            self._end_routine()

    def _declaration(self, word: str) -> None:
        """Where a declaration may begin."""
        frame = self._stack[-1]
        if word in {"PROCEDURE", "FUNCTION"} and self._dialect == "oracle":
            self._nested_routine(word)
        elif word in _MODIFIERS and frame.nest is Nest.MEMBERS:
            self._start = self._here if self._word not in _MODIFIERS else self._start
        elif word == "BEGIN":
            self._begin_after_declarations(frame)
        elif word == "END":
            self._handler = self._closing
        elif word in {"DECLARE", ";"}:
            return
        elif word == "<<":
            self._read_label(self._declaration)
        elif word in _TIMINGS and frame.nest is Nest.MEMBERS:
            self._open_section()
        elif not self._directive(word, self._declaration):
            self._start, self._cases = self._member_start(frame), 0
            self._handler = self._declaring

    def _member_start(self, frame: Frame) -> int:
        """Where the declaration begins whose first word, after modifiers of a method, is the present one."""
        return self._start if frame.nest is Nest.MEMBERS and self._word in _MODIFIERS else self._here

    def _nested_routine(self, word: str) -> None:
        start = self._member_start(self._stack[-1])
        kind: RoutineKind = "function" if word == "FUNCTION" else "procedure"
        index = self._open_routine(kind, start)
        self._stack.append(Frame(Nest.DECLARE, index, -1, closes_routine=True))
        self._parens = 0
        self._handler = self._routine_header

    def _open_section(self) -> None:
        index = self._open_routine("section", self._here)
        self._stack.append(Frame(Nest.DECLARE, index, -1, closes_routine=True))
        self._handler = self._section_header

    def _section_header(self, word: str) -> None:
        if word in {"IS", "AS"}:
            routine = self.code.routines[self._stack[-1].routine]
            routine.header_end, routine.has_body = self._here, True
            self._handler = self._declaration
        elif word == ";":
            self._end_routine()

    def _begin_after_declarations(self, frame: Frame) -> None:
        if frame.nest is Nest.MEMBERS:
            frame.routine = self._open_routine("initialization", self._here)
            self.code.routines[frame.routine].has_body = True
        statement = self._add("block", self._here) if frame.statement < 0 else frame.statement
        frame.nest, frame.statement = Nest.BLOCK, statement
        self._handler = self._statement

    def _declaring(self, word: str) -> None:
        if word == ";":
            kind, name = declaration_of(self.code.tokens, self._start, self._here)
            routine = self._stack[-1].routine
            self.code.declarations.append(Declaration(kind, name, self._start, self._here, routine))
            self._handler = self._declaration
        elif word == "BEGIN" and self._cases == 0:
            self._note("missing_semicolon", "a semicolon is missing before BEGIN")
            self._declaring(";")
            self._declaration(word)
        else:
            self._count_cases(word)

    def _open_block(self, word: str, *, closes_routine: bool = False) -> None:
        statement = self._add("block", self._here)
        nest = Nest.DECLARE if word == "DECLARE" else Nest.BLOCK
        self._stack.append(Frame(nest, self._routine, statement, closes_routine=closes_routine))
        self._handler = self._declaration if word == "DECLARE" else self._statement
