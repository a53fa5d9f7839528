"""The programs of one side for a conversation so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_plsqlbench.bench.prediction import Prediction
    from pytest_plsqlbench.bench.task import Dialect, Task, Turn


@dataclass(frozen=True, slots=True)
class Answers:
    """Programs up to the turn that is graded; earlier turns may be missing."""

    programs: Mapping[int, str]
    """Index of the turn → program."""
    prediction: Prediction | None = None
    """The prediction of the turn that is graded; None for the references (``gold``)."""

    @property
    def gold(self) -> bool:
        """Whether these are the references."""
        return self.prediction is None

    def up_to(self, turn: int) -> tuple[str, ...]:
        """Programs of the turns up to and with this one, in order."""
        return tuple(self.programs[index] for index in sorted(self.programs) if index <= turn)


def extract_answers(answers: Answers, turn: int, dialect: Dialect) -> tuple[Answers, tuple[str, ...]]:
    """The programs taken out of what a model said, and what was done to the answer of the turn, in order."""
    from pytest_plsqlbench.sql.extraction import extract  # noqa: PLC0415 (only where it is asked for)

    taken = {index: extract(program, dialect) for index, program in answers.programs.items()}
    own = taken[turn]
    done = own.done if own.problem is None else (*own.done, f"problem: {own.problem}")
    return replace(answers, programs={index: e.program for index, e in taken.items()}), done


def gold_answers(task: Task, turn: Turn) -> Answers:
    """The references as answers; without the turn's own where the benchmark has none."""
    return Answers(
        {t.index: t.reference for t in task.turns if t.reference is not None and t.index <= turn.index}
    )
