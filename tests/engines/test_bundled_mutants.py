"""The tests of the bundled tasks notice plausible faults, and pass the references."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_plsqlbench.bench.prediction import Prediction
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import Task
from pytest_plsqlbench.datasets.readers import load_path
from pytest_plsqlbench.grading.answers import Answers, gold_answers
from pytest_plsqlbench.grading.run import Run
from pytest_plsqlbench.servers.address import ServerAddress

_ROOT = Path(__file__).resolve().parents[2]
_DATASET = load_path(_ROOT / "tasks")
_TASKS = {task.id: task for task in _DATASET.tasks if task.dialect == "postgres"}
_MUTANTS: list[dict[str, Any]] = [
    entry
    for path in sorted((_ROOT / "tests" / "data" / "mutants").glob("*.yaml"))
    for entry in yaml.safe_load(path.read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module")
def run(address: ServerAddress, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        run = Run("published", 10.0, (address,), "mutants")
        yield run
        run.close()


def references(task: Task) -> dict[int, str]:
    """The reference programs by turn."""
    return {turn.index: turn.reference for turn in task.turns if turn.reference is not None}


def mutated(task: Task, mutant: dict[str, Any]) -> str:
    """The reference of the mutant's turn with its fault."""
    text = references(task)[mutant.get("turn", 1)]
    for change in mutant["replace"]:
        assert change["old"] in text, f"{change['old']!r} is not in the reference: mend the mutant"
        text = text.replace(change["old"], change["new"])
    return text


def grade(run: Run, task: Task, turn: int, program: str | None = None) -> TurnResult:
    """Grade a turn with a program in place of its reference, earlier turns with their references."""
    if program is None:
        return run.grade(task, task.turns[turn - 1], gold_answers(task, task.turns[turn - 1]), _DATASET)
    programs = {at: text for at, text in references(task).items() if at < turn} | {turn: program}
    answers = Answers(programs, Prediction(id=task.id, turn=turn, program=program))
    return run.grade(task, task.turns[turn - 1], answers, _DATASET)


@pytest.mark.parametrize(
    ("name", "turn"),
    [(name, turn.index) for name, task in sorted(_TASKS.items()) for turn in task.turns],
)
def test_reference_passes(run: Run, name: str, turn: int) -> None:
    result = grade(run, _TASKS[name], turn)
    assert (result.status, result.reason) == ("graded", None)
    assert result.solved


@pytest.mark.parametrize(
    "mutant", _MUTANTS, ids=[f"{entry['task']}-{entry.get('turn', 1)}-{entry['name']}" for entry in _MUTANTS]
)
def test_fault_is_noticed(run: Run, mutant: dict[str, Any]) -> None:
    task = _TASKS[mutant["task"]]
    result = grade(run, task, mutant.get("turn", 1), mutated(task, mutant))
    assert result.status == "graded"
    failed = [test for test in result.tests if test.verdict == "failed"]
    assert failed, f"no test notices a program that {mutant['fault']}"
    # the fault is in what the program does: it was installed and found
    assert "wrong_result" in {test.category for test in failed}


def test_every_task_has_a_mutant() -> None:
    known = {(entry["task"], entry.get("turn", 1)) for entry in _MUTANTS}
    turns = {(name, turn.index) for name, task in _TASKS.items() for turn in task.turns}
    assert known == turns
