"""The reader of procedural code: one automaton for PL/SQL and PL/pgSQL, fed token by token.

It knows at every token whether a statement, a declaration, a condition or a header is being read, so a word
is a keyword only where the language takes it as one. It reads any text: where a text is wrong it notes that
and goes on at the next certain place. A stack of frames stands for the nesting; there is no recursion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.code import Branch, BranchKind, Code, StatementWord
from pytest_plsqlbench.sql.headers import HeaderReader, UnitShape
from pytest_plsqlbench.sql.nest import Frame, Nest
from pytest_plsqlbench.sql.phrases import for_detail, statement_detail, statement_word

_CLOSERS = {"IF": Nest.IF, "LOOP": Nest.LOOP, "CASE": Nest.CASE}
_LOOPS: dict[str, StatementWord] = {"FOR": "for", "WHILE": "while", "FOREACH": "foreach"}
_BRANCH_WORDS = frozenset(("ELSIF", "ELSEIF", "ELSE"))
_OF_SIMPLE = _BRANCH_WORDS | {";", "(", ")", "CASE", "END"}
"""All that means something inside a simple statement."""


class Structure(HeaderReader):
    """Reads one unit, or one PL/pgSQL body; ``code`` is what was read so far."""

    def __init__(self, shape: UnitShape, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.foreign = shape is UnitShape.FOREIGN
        self._begin(shape)

    # -- what the script reader asks ------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether the unit's last semicolon was read."""
        return self.code.complete

    @property
    def lacks_semicolon(self) -> bool:
        """Whether all is closed but for the semicolon after the last END."""
        return (
            self._handler in {self._last_closing, self._closing}
            and not self.code.complete
            and len(self._stack) < 2
        )

    @property
    def needs_no_semicolon(self) -> bool:
        """Whether it is whole as it stands: a trigger whose body is a call."""
        return self._handler == self._trigger_call and self._word not in {"CALL", "."}

    @property
    def after_semicolon(self) -> bool:
        """Whether a semicolon was the last thing."""
        return bool(self.code.tokens) and self.code.tokens[-1].value == ";"

    @property
    def between_members(self) -> bool:
        """Whether nothing but the members of the unit is open, and the last one has ended."""
        return len(self._stack) == 1 and self._handler == self._declaration and self.after_semicolon

    def finish(self) -> Code:
        """What was read, at the end of the text: open statements are ended there."""
        if not self.code.complete and self._handler in {self._simple, self._declaring}:
            self._handler(";")
        if self.code.complete and self.code.routines and self.code.routines[0].end < 0:
            self.code.routines[0].end = len(self.code.tokens)
        return self.code

    # -- statements -----------------------------------------------------------------------------------------

    def _statement(self, word: str) -> None:
        """Where a statement may begin."""
        action = self._STARTS.get(word)
        if action is not None:
            action(self, word)
        elif word not in {";", "THEN"} and not self._directive(word, self._statement):
            self._start, self._cases, self._parens = self._here, 0, 0
            self._handler = self._simple
            self._count_parens(word)

    def _open_inner_block(self, word: str) -> None:
        self._open_block(word)

    def _open_if(self, word: str) -> None:
        del word
        self._push_compound(Nest.IF, "if")
        self._handler = self._condition

    def _open_case(self, word: str) -> None:
        del word
        self._push_compound(Nest.CASE, "case")
        self._handler = self._selector

    def _open_loop(self, word: str) -> None:
        self._push_compound(Nest.LOOP, _LOOPS.get(word, "loop"))
        self._handler = self._statement if word == "LOOP" else self._loop_header

    def _push_compound(self, nest: Nest, kind: StatementWord) -> None:
        statement = self._add(kind, self._here)
        self._stack.append(Frame(nest, self._routine, statement))
        self._start, self._cases = self._here, 0

    def _condition(self, word: str) -> None:
        """IF or ELSIF up to THEN."""
        self._until(word, "THEN")

    def _selector(self, word: str) -> None:
        """CASE as a statement, up to its first WHEN."""
        if word == "WHEN" and self._cases == 0:
            self._end_header()
            self._branch("when")
        elif word == ";":
            self._handler = self._statement
        else:
            self._count_cases(word)

    def _loop_header(self, word: str) -> None:
        self._until(word, "LOOP")

    def _until(self, word: str, last: str) -> None:
        if (word == last and self._cases == 0) or word == ";":
            self._end_header()
            self._handler = self._statement
        else:
            self._count_cases(word)

    def _end_header(self) -> None:
        """End the range of the header, or of the branch, that is being read."""
        statement = self.code.statements[self._stack[-1].statement]
        if statement.start == self._start:
            statement.end = self._here + 1
            if statement.kind == "for":
                statement.detail = for_detail(self.code.tokens, statement.start, statement.end)
        elif self.code.branches and self.code.branches[-1].start == self._start:
            self.code.branches[-1].end = self._here + 1

    def _open_branch(self, word: str) -> None:
        """ELSIF, ELSE or WHEN where a statement may begin."""
        frame = self._stack[-1]
        if word in {"ELSIF", "ELSEIF"} and frame.nest is Nest.IF:
            self._branch("elsif")
        elif word == "ELSE" and frame.nest in {Nest.IF, Nest.CASE}:
            self._branch("else")
            self._handler = self._statement
        elif word == "WHEN" and (frame.nest is Nest.CASE or frame.handlers):
            self._branch("handler" if frame.handlers else "when")
        else:
            self._note("misplaced_branch", f"{word} stands outside of what it belongs to")
            self._handler = self._condition if word != "ELSE" else self._statement
            self._start, self._cases = self._here, 0

    def _branch(self, kind: BranchKind) -> None:
        frame = self._stack[-1]
        self._start, self._cases = self._here, 0
        self.code.branches.append(Branch(kind, self._here, self._here + 1, frame.statement, self._routine))
        self._handler = self._condition

    def _open_handlers(self, word: str) -> None:
        frame = self._stack[-1]
        if frame.nest is not Nest.BLOCK:
            self._note("misplaced_exception", f"{word} stands inside an unclosed {frame.nest.name}")
            self._unwind({Nest.BLOCK})
        if self._stack and self._stack[-1].nest is Nest.BLOCK:
            self._stack[-1].handlers = True

    def _label(self, word: str) -> None:
        del word
        self._read_label(self._statement)

    def _forall(self, word: str) -> None:
        del word
        self._start, self._cases, self._parens = self._here, 0, 0
        self._handler = self._simple

    def _simple(self, word: str) -> None:
        """Inside a statement, up to its semicolon."""
        if word not in _OF_SIMPLE:
            return
        if word == ";":
            self._end_simple(self._here)
        elif self._cases == 0 and self._parens == 0 and self._cannot_continue(word):
            self._note("missing_semicolon", f"a semicolon is missing before {word}")
            self._end_simple(self._here)
            self._statement(word)
        else:
            self._count_parens(word)
            self._count_cases(word)

    def _cannot_continue(self, word: str) -> bool:
        """Whether no statement goes on with this word: only a semicolon can have been forgotten before it."""
        return word == "END" or (word in _BRANCH_WORDS and self.code.tokens[self._start].value != "INSERT")

    def _end_simple(self, end: int) -> None:
        tokens, start = self.code.tokens, self._start
        kind = statement_word(tokens, start, end, self._dialect)
        index = self._add(kind, start)
        statement = self.code.statements[index]
        statement.end = end
        statement.detail = statement_detail(kind, tokens, start, end)
        self._handler = self._statement

    # -- closing --------------------------------------------------------------------------------------------

    def _end(self, word: str) -> None:
        del word
        self._handler = self._closing

    def _closing(self, word: str) -> None:
        """Right after END: what it closes."""
        wanted = {_CLOSERS[word]} if word in _CLOSERS else {Nest.BLOCK, Nest.MEMBERS, Nest.DECLARE}
        frame = self._stack[-1]
        if frame.nest not in wanted:
            closes = f"END {word}" if word in _CLOSERS else "END"
            self._note("mismatched_end", f"{closes} meets an open {frame.nest.name}")
            if not any(below.nest in wanted for below in self._stack):
                self._handler = self._after_end if self._stack else self._last_closing
                self._handler(word)
                return
            self._unwind(wanted)
        closed = self._stack.pop()
        if closed.closes_routine or (closed.routine >= 0 and closed.nest is Nest.MEMBERS):
            self.code.routines[closed.routine].end = self._here + 1
        self._handler = self._after_end if self._stack else self._last_closing
        if word == ";":
            self._handler(word)

    def _after_end(self, word: str) -> None:
        if word == ";":
            self._handler = self._position()

    def _last_closing(self, word: str) -> None:
        if word == ";":
            self.code.complete = True

    _STARTS: ClassVar[dict[str, Callable[[Structure, str], None]]] = {
        "BEGIN": _open_inner_block,
        "DECLARE": _open_inner_block,
        "IF": _open_if,
        "CASE": _open_case,
        "LOOP": _open_loop,
        "WHILE": _open_loop,
        "FOR": _open_loop,
        "FOREACH": _open_loop,
        "FORALL": _forall,
        "ELSIF": _open_branch,
        "ELSEIF": _open_branch,
        "ELSE": _open_branch,
        "WHEN": _open_branch,
        "EXCEPTION": _open_handlers,
        "END": _end,
        "<<": _label,
    }
