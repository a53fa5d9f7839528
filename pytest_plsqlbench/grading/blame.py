"""Find out whether a failed turn of a conversation fails on the state that the references leave, too."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.blame import Blame

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.bench.task import Task, Turn
    from pytest_plsqlbench.grading.answers import Answers


def blame_for(
    result: TurnResult, task: Task, turn: Turn, answers: Answers, grade: Callable[[Answers], TurnResult]
) -> Blame | None:
    """Whose failure it is; None where the turn is not a failed turn of a conversation.

    The verdict stands, whatever happens here: a fault on the way leaves the blame unknown, with its reason.

    Args:
        result: of the turn, as it was graded.
        task: the task of the turn.
        turn: the turn.
        answers: as they were graded.
        grade: grades the turn with other answers.
    """
    if not task.conversation or result.status != "graded" or result.solved:
        return None
    if turn.index == 1:
        return Blame(failure="own")
    references = {one.index: one.reference for one in task.turns if one.reference is not None}
    references = {index: text for index, text in references.items() if index < turn.index}
    without = next((index for index in range(1, turn.index) if index not in references), None)
    if without is not None:
        return Blame(failure="unknown", reason=f"turn {without} has no reference program")
    moved = replace(answers, programs=references | {turn.index: answers.programs[turn.index]})
    if moved.up_to(turn.index) == answers.up_to(turn.index):
        return Blame(failure="own", passed=result.passed)  # that state is the one it was played on
    started = time.perf_counter()
    try:
        replay = grade(moved)
    except Exception as fault:  # noqa: BLE001 (whatever it is, it is not the program's)
        return Blame(failure="unknown", reason=f"{type(fault).__name__}: {fault}", elapsed_ms=_since(started))
    elapsed = _since(started)
    if replay.status != "graded":
        return Blame(failure="unknown", reason=f"{replay.status}: {replay.reason}", elapsed_ms=elapsed)
    return Blame(failure="inherited" if replay.solved else "own", passed=replay.passed, elapsed_ms=elapsed)


def _since(started: float) -> float:
    return max(round((time.perf_counter() - started) * 1000, 3), 0.001)
