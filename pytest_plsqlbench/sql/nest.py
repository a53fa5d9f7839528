"""The stack of the structure reader, and the records that it keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, auto

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.code import Code, CodeStatement, RoutineCode, RoutineKind, StatementWord
from pytest_plsqlbench.sql.finding import Finding
from pytest_plsqlbench.sql.lexer import Token


class Nest(Enum):
    """What is open."""

    MEMBERS = auto()
    DECLARE = auto()
    BLOCK = auto()
    IF = auto()
    LOOP = auto()
    CASE = auto()


@dataclass(slots=True)
class Frame:
    """One level of nesting."""

    nest: Nest
    routine: int
    statement: int
    """Index of the compound statement that opened it, -1 for none."""
    handlers: bool = False
    """A block: its EXCEPTION part has begun."""
    closes_routine: bool = False
    """Closing this frame ends its routine."""


class NestReader(ABC):
    """What all parts of the structure reader use: the state, and how to record."""

    def __init__(self, dialect: Dialect) -> None:
        self.code = Code()
        self._dialect = dialect
        self._stack: list[Frame] = []
        self._start = 0
        """Where the statement, declaration or header that is being read begins."""
        self._cases = 0
        """CASE expressions that are open in it."""
        self._parens = 0
        self._word = ""
        """The word or sign before the present one."""
        self._handler: Callable[[str], None] = self._flat
        """What takes the next word."""
        self._resume: Callable[[str], None] = self._flat
        """What takes over after a label or a condition of conditional compilation."""

    def feed(self, token: Token) -> bool:
        """Take the next significant token; True for the semicolon that completes the unit."""
        if token.kind == "word":
            word = "name" if self._word == "." else token.value
        else:
            word = token.value if token.kind in {"punct", "directive"} else "literal"
        self.code.tokens.append(token)
        self._handler(word)
        self._word = word
        return self.code.complete

    @abstractmethod
    def _declaration(self, word: str) -> None:
        """Where a declaration may begin."""

    @abstractmethod
    def _statement(self, word: str) -> None:
        """Where a statement may begin."""

    @abstractmethod
    def _closing(self, word: str) -> None:
        """Right after END."""

    def _flat(self, word: str) -> None:
        if word == ";":
            self.code.complete = True

    def _count_parens(self, word: str) -> None:
        if word == "(":
            self._parens += 1
        elif word == ")" and self._parens:
            self._parens -= 1

    def _count_cases(self, word: str) -> None:
        if word == "CASE":
            self._cases += 1
        elif word == "END" and self._cases:
            self._cases -= 1

    def _read_label(self, after: Callable[[str], None]) -> None:
        self._resume, self._handler = after, self._in_label

    def _in_label(self, word: str) -> None:
        if word in {">>", ";"}:
            self._handler = self._resume

    def _directive(self, word: str, after: Callable[[str], None]) -> bool:
        """Conditional compilation: what stands in its ways is all read; the conditions are passed over."""
        if not word.startswith("$") or self.code.tokens[-1].kind != "directive":
            return False
        if word.upper() in {"$IF", "$ELSIF"}:
            self._resume, self._handler = after, self._directive_condition
        return True

    def _directive_condition(self, word: str) -> None:
        if word.upper() == "$THEN":
            self._handler = self._resume

    # -- records --------------------------------------------------------------------------------------------

    @property
    def _here(self) -> int:
        return len(self.code.tokens) - 1

    @property
    def _routine(self) -> int:
        return self._stack[-1].routine if self._stack else 0

    def _open_routine(self, kind: RoutineKind, start: int) -> int:
        parent = self._stack[-1].routine if self._stack else -1
        depth = self.code.routines[parent].depth + 1 if parent >= 0 else 0
        self.code.routines.append(RoutineCode(kind, start, -1, parent, depth=depth))
        return len(self.code.routines) - 1

    def _add(self, kind: StatementWord, start: int) -> int:
        """Record a statement inside the innermost frame."""
        statements = self.code.statements
        parent, depth, routine = -1, 0, 0
        if self._stack:
            frame = self._stack[-1]
            routine = frame.routine
            if frame.statement >= 0 and frame.nest is not Nest.DECLARE:
                parent = frame.statement
                depth = statements[parent].depth + 1
        statements.append(
            CodeStatement(kind, start, start + 1, depth, parent, routine, self.code.tokens[start])
        )
        return len(statements) - 1

    def _note(self, code: str, message: str) -> None:
        at = self.code.tokens[-1]
        self.code.findings.append(Finding(code, message, "warning", at.offset, at.line, at.column))

    def _position(self) -> Callable[[str], None]:
        """What is expected inside the innermost frame, between two of its parts."""
        declaring = self._stack[-1].nest in {Nest.MEMBERS, Nest.DECLARE}
        return self._declaration if declaring else self._statement

    def _unwind(self, wanted: Collection[Nest]) -> None:
        """Give up open frames down to the first of a wanted kind."""
        while self._stack and self._stack[-1].nest not in wanted:
            self._stack.pop()

    def _end_routine(self) -> None:
        """A routine without a block ended: a specification, or a call specification."""
        if self._stack:
            closed = self._stack.pop()
            self.code.routines[closed.routine].end = self._here + 1
        if self._stack:
            self._handler = self._position()
        else:
            self.code.complete = True
