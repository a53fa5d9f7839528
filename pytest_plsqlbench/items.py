"""Collectors and items: one item a turn, dialect and sample, with short stable ids."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_plsqlbench.bench.redaction import presentable
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.shard import TurnKey
from pytest_plsqlbench.discretion import make_presentable
from pytest_plsqlbench.reporting.failure import failure_text
from pytest_plsqlbench.reporting.properties import junit_properties
from pytest_plsqlbench.reporting.texts import encode_text, turn_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from _pytest._code.code import TerminalRepr

    from pytest_plsqlbench.bench.task import Task, Turn
    from pytest_plsqlbench.datasets.dataset import Dataset
    from pytest_plsqlbench.grading.answers import Answers
    from pytest_plsqlbench.selection import Selection

RESULT_ATTRIBUTE = "plsqlbench_result"
"""Attribute of a test report that carries the turn's result, as JSON, from a worker to the controller."""
TEXT_ATTRIBUTE = "plsqlbench_text"
"""The same for the texts of the turn: a line of ``turns.jsonl``."""

REUSED_ATTRIBUTE = "plsqlbench_reused"
"""Attribute of a test report whose result is that of an earlier run."""


class TurnFailed(Exception):  # noqa: N818 (an outcome, not an error of ours)
    """A graded turn that was not solved, or that has no prediction."""

    def __init__(self, result: TurnResult) -> None:
        self.result = result
        super().__init__(result.turn_id)


class HarnessFault(Exception):  # noqa: N818
    """The harness, not the program, failed: pytest reports an error, never a failure."""

    def __init__(self, result: TurnResult) -> None:
        self.result = result
        super().__init__(result.reason)


class TaskFile(pytest.File):
    """A file of tasks."""

    def __init__(
        self,
        *,
        load: Callable[[Path], Dataset],
        selection: Selection,
        grade: Callable[[TurnItem], tuple[TurnResult, Exception | None]],
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.grade = grade
        self._load = load
        self._selection = selection

    @cached_property
    def dataset(self) -> Dataset:
        """The tasks, read when they are first asked for."""
        return self._load(self.path)

    def collect(self) -> Iterator[TurnItem]:
        """One item a turn, dialect and sample, in the order of the file's tasks."""
        for task, turn, sample, answers in self._selection.turns(self.dataset):
            name = self._selection.name(task, turn, sample)
            yield TurnItem.from_parent(
                self,
                name=name,
                nodeid=f"{self.nodeid}::{name}",  # given, so that pytest reads the bracket as it does in --lf
                task=task,
                turn=turn,
                sample=sample,
                answers=answers,
            )


class TurnItem(pytest.Item):
    """One turn to grade."""

    def __init__(
        self, *, task: Task, turn: Turn, sample: int, answers: Answers | None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.task = task
        self.turn = turn
        self.sample = sample
        self.answers = answers
        self.played: Answers | None = None
        """What was played in place of the answers, while the turn is graded: programs taken out of them."""
        self.reused = False
        """Whether the result is that of an earlier run."""
        self._result: TurnResult | None = None
        self.extra_keyword_matches.update(
            word for word in (task.subset, task.difficulty, *task.constructs) if word
        )
        if task.conversation:
            self.add_marker(pytest.mark.xdist_group(task.id))

    @property
    def file(self) -> TaskFile:
        """The file that holds the task."""
        assert isinstance(self.parent, TaskFile)
        return self.parent

    @property
    def key(self) -> TurnKey:
        """Names the result of this item."""
        task = self.task
        return TurnKey(task.subset, task.id, task.dialect, self.turn.index, self.sample)

    def take(self) -> tuple[TurnResult, dict[str, object]] | None:
        """The result, and the attributes that carry it in a report; None before it is graded.

        The item keeps neither: pytest keeps all items to the end of the run.
        """
        result = self._result
        if result is None:
            return None
        carried = {
            RESULT_ATTRIBUTE: msgspec.json.encode(result).decode(),
            TEXT_ATTRIBUTE: encode_text(turn_text(self.task, self.turn, self.sample, self._program)),
            REUSED_ATTRIBUTE: self.reused,
        }
        self._result = self.played = None
        return result, carried

    @property
    def _program(self) -> str | None:
        answers = self.played or self.answers
        return answers.programs.get(self.turn.index) if answers else None

    def runtest(self) -> None:
        """Grade the turn; how pytest sees it follows from its status."""
        result, fault = self.file.grade(self)
        self.user_properties.extend(junit_properties(result))
        self._result = result
        if result.status in {"reference_error", "unsupported", "engine_unavailable"}:
            pytest.skip(f"{result.status}: {result.reason}")
        if result.status == "infrastructure_error":
            raise HarnessFault(result) from fault
        if not result.solved:
            raise TurnFailed(result)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> str | TerminalRepr:
        """What a person reads about a turn that was not solved."""
        error = excinfo.value
        if isinstance(error, TurnFailed):
            return presentable(failure_text(error.result, self.turn, self._program))
        if isinstance(error, HarnessFault):
            text = f"infrastructure error, not a verdict: {error.result.reason}"
            if error.__cause__ is None:
                return text
            cause = pytest.ExceptionInfo.from_exception(error.__cause__)
            trace = cause.getrepr(style="short")
            return presentable(f"{text}\nThis is a fault of pytest-plsqlbench; please report it.\n{trace}")
        shown: str | TerminalRepr = make_presentable(super().repr_failure(excinfo, style))
        return shown

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the task stands: file, line (from 0), and the heading of its failure."""
        line = self.task.source.line
        return self.path, line - 1 if line else None, self.name
