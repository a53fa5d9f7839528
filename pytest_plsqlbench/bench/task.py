"""Tasks: what a model is asked, and how its answer is tested.

A task is of one dialect: a native file with two dialect variants becomes two tasks of the same id.
task → turns → tests; a single-turn task has one turn, a conversation several.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from pytest_plsqlbench.bench.dialect import DIALECTS, Dialect
from pytest_plsqlbench.bench.redaction import presentable

__all__ = [
    "DIALECTS",
    "MODES",
    "Attachment",
    "Comparison",
    "Dialect",
    "Expectation",
    "Mode",
    "Source",
    "Task",
    "Test",
    "Turn",
    "UserError",
]

Mode = Literal[
    "outcome", "error_class", "error_code", "lines", "lines_bag", "value", "list", "bag", "permuted", "state"
]
MODES: tuple[Mode, ...] = get_args(Mode)


class Source(msgspec.Struct, frozen=True, order=True):
    """Where something was read from, for messages: ``file:line`` (line from 1; 0 where it has no line)."""

    path: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


class UserError(Exception):
    """A fault in what the user gave: one line that says what, where (file:line) and the mend."""

    def __init__(self, message: str, source: Source | None = None) -> None:
        self.source = source
        super().__init__(presentable(f"{source}: {message}" if source else message, keep=""))


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One rule by which a test is judged; all rules of a test must hold.

    Whether the candidate succeeds where the reference does (and fails where it fails) is always judged first.
    """

    mode: Mode
    tolerance: float | None = None
    """Greatest absolute difference between two numbers still taken as equal; None: exact."""
    order_keys: tuple[int, ...] | None = None
    """For ordered rows (modes ``list`` and ``permuted``): the columns (from 0) of the sort key; rows equal in
    the key may stand in any order. None: every row has its place. Empty: not ordered at all."""
    hidden_columns: int = 0
    """Trailing columns of the gold rows that only carry a sort key and are not printed."""


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a test must show, where the task states it instead of taking it from the reference."""

    lines: tuple[str, ...] | None = None
    """Printed lines."""
    rows: tuple[tuple[Any, ...], ...] | None = None
    """Rows of the (only) result set: numbers, text, booleans, None, dates in ISO form as text."""
    error: str | None = None
    """SQLSTATE or ORA-/PLS- code that must be raised. None: the test must succeed."""


class Test(msgspec.Struct, frozen=True, kw_only=True):
    """One test of a turn."""

    __test__ = False  # not a pytest class

    name: str
    calls: tuple[str, ...] = ()
    """SQL scripts, played in order. Empty: what the program itself shows while it is played is judged."""
    compare: tuple[Comparison, ...] = (Comparison("outcome"),)
    on_error: Literal["stop", "continue"] = "stop"
    """A call suite goes on after a call that raised; a script ends at its first error."""
    may_fail: bool = False
    """The reference is allowed to raise in this test: then that error is part of what is compared."""
    gold: str | None = None
    """A query whose rows are expected (Spider), played by the reference's side instead of its program."""
    gold_with_ties: str | None = None
    """The gold query without its cut (WITH TIES, or no limit): where it returns more rows than ``gold``, the
    gold's choice among equals is arbitrary and the turn is ``order_dependent``."""
    expect: Expectation | None = None
    """Stated expectation, in place of the reference's observation."""
    transaction: bool = False
    """The test needs a transaction of its own (now(), transaction ids) instead of a savepoint."""
    vacuous_line: str | None = None
    """A line that the test's own text prints where its assertion held only because a comparison was NULL: the
    strict reading then fails the test, and the turn is flagged ``vacuous_null``."""


class Attachment(msgspec.Struct, frozen=True):
    """Material handed to the model with the prompt."""

    file: str
    kind: str
    text: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One request of a task, with its reference program and tests."""

    index: int
    """Place in the conversation, from 1."""
    id: str
    """The benchmark's own instance id of this turn; equal to the task's id for single-turn tasks."""
    prompt: str
    reference: str | None
    """The reference program; None where the benchmark has none (the expectation then stands in the tests)."""
    tests: tuple[Test, ...]
    attachments: tuple[Attachment, ...] = ()
    unsupported: str | None = None
    """Why no engine of this dialect can run the turn exactly (for example an untranslatable gold query)."""
    notes: tuple[str, ...] = ()
    """Findings of the reader about the published data, for the self-check: ``code: sentence``. The codes
    (``candidate_not_called``, ``not_split`` …) are among the flags of the turn's results."""
    setup: tuple[str, ...] = ()
    """Programs that the harness installs on both sides before any program of a side (types that the tests
    use). Where one fails, the turn is a ``reference_error``."""
    strict_tests: tuple[Test, ...] = ()
    """Tests that only the strict reading counts; they never enter the published verdicts."""

    @property
    def played_tests(self) -> tuple[Test, ...]:
        """All tests in the order in which they are played: those that count, then the strict ones."""
        return self.tests + self.strict_tests


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a benchmark, in one dialect."""

    id: str
    subset: str
    dialect: Dialect
    turns: tuple[Turn, ...]
    source: Source
    database: str | None = None
    """Name of the database the task runs on, a key of its dataset's databases; None: an empty one."""
    conversation: bool = False
    turn_count: int | None = None
    """Number of turns that the benchmark says the conversation has, where the file holds fewer: its episodes
    are then incomplete and enter no metric. None: it has those of ``turns``."""
    title: str | None = None
    difficulty: str | None = None
    reasoning_types: tuple[str, ...] = ()
    constructs: tuple[str, ...] = ()
