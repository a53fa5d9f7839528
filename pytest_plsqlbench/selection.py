"""Which turns a run grades, and with which programs: tasks held against predictions."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.plural import noun, numbered
from pytest_plsqlbench.bench.task import DIALECTS
from pytest_plsqlbench.bench.visible import shown_name, visible
from pytest_plsqlbench.datasets.dataset import check_unique
from pytest_plsqlbench.grading.answers import Answers, gold_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_plsqlbench.bench.shard import TurnKey
    from pytest_plsqlbench.bench.task import Dialect, Task, Turn
    from pytest_plsqlbench.datasets.dataset import Dataset
    from pytest_plsqlbench.datasets.predictions import PredictionSet
    from pytest_plsqlbench.settings import Settings


class Selection:
    """The turns of a run. The same in every process: it depends on files, settings and ``at_hand`` alone."""

    def __init__(self, settings: Settings, predictions: PredictionSet | None, label: str) -> None:
        self._settings = settings
        self._predictions = predictions
        self.label = label
        """What is graded, for the report header."""
        self.at_hand: frozenset[Dialect] = frozenset(("postgres",))
        """Dialects whose engine is at hand in this run; known once its servers are."""
        self.foreseen: frozenset[Dialect] = frozenset(DIALECTS)
        """Dialects that tasks of this run may be in, by the files that it will collect."""
        self.unselected = 0
        """Predictions for tasks of the same suites that this run did not collect."""
        self.left_out: Counter[str] = Counter()
        """Turns of dialects that were left out since their engine is not at hand, by dialect."""
        self.unasked: Counter[str] = Counter()
        """Turns of tasks that have no variant in a dialect that was asked for, by the dialect they have."""

    @classmethod
    def of(cls, settings: Settings) -> Selection:
        """Read the predictions that the settings name.

        Raises:
            UserError: they cannot be read.
        """
        if settings.predictions is None:
            return cls(settings, None, "predictions gold (the references)")
        from pytest_plsqlbench.datasets.predictions import read_predictions  # noqa: PLC0415

        predictions = read_predictions(settings.predictions)
        models = ", ".join(map(shown_name, predictions.models)) or "no model named"
        label = f"predictions {settings.predictions.name} ({numbered(len(predictions), 'program')}; {models})"
        return cls(settings, predictions, label)

    def may_run(self, dialect: Dialect) -> bool:
        """Whether turns of the dialect can be among those of the run."""
        if dialect not in self.foreseen:
            return False
        if self._settings.dialects is not None:
            return dialect in self._settings.dialects
        rows = self._predictions or ()
        return not rows or any(row.dialect in {None, dialect} for row in rows)

    def names(self, dialect: Dialect) -> bool:
        """Whether the user named the dialect, by option or in predictions."""
        if self._settings.dialects is not None:
            return dialect in self._settings.dialects
        return self._predictions is not None and dialect in self._predictions.dialects

    def check(self, tasks: Iterable[Task]) -> None:
        """Hold predictions against all tasks that were collected.

        Raises:
            UserError: task ids repeat, or a prediction is for no task.
        """
        known = {id(task): task for task in tasks}.values()
        check_unique(known)
        if self._predictions is not None:
            self.unselected = self._predictions.check(known)

    def turns(self, dataset: Dataset) -> Iterator[tuple[Task, Turn, int, Answers | None]]:
        """Task, turn, sample and programs of every item of a dataset, in its order."""
        variants: dict[str, dict[Dialect, Task]] = {}
        for task in dataset.tasks:
            variants.setdefault(task.id, {})[task.dialect] = task
        for by_dialect in variants.values():
            chosen = self._chosen(by_dialect)
            for task in chosen:
                for turn in task.turns:
                    for sample, answers in self._answers(task, turn):
                        yield task, turn, sample, answers
            for dialect, task in by_dialect.items():
                if task not in chosen and self._settings.dialects is None and dialect not in self.at_hand:
                    self.left_out[dialect] += len(task.turns)
                elif not chosen and self._settings.dialects is not None:
                    self.unasked[dialect] += len(task.turns)

    def find(self, dataset: Dataset, key: TurnKey) -> tuple[Task, Turn, Answers | None] | None:
        """The turn that a key names, and its programs; None where the dataset has none of that name."""
        for task in dataset.tasks:
            if (task.subset, task.id, task.dialect) == (key.subset, key.task, key.dialect):
                for turn in task.turns:
                    for sample, answers in self._answers(task, turn):
                        if (turn.index, sample) == (key.turn, key.sample):
                            return task, turn, answers
        return None

    def notes(self) -> Iterator[str]:
        """What became of predictions and turns that are not graded, one line each."""
        if self.unselected:
            are = noun(self.unselected, "is", "are")
            yield f"{numbered(self.unselected, 'prediction')} {are} for tasks outside this selection"
        asked = "+".join(sorted(self._settings.dialects or ()))
        for dialect, count in sorted(self.unasked.items()):
            yield (
                f"left out: {numbered(count, 'turn')} in dialect {dialect},"
                f" whose tasks have no variant in the dialect that was asked for ({asked})"
            )

    @staticmethod
    def name(task: Task, turn: Turn, sample: int) -> str:
        """Name of an item: short, stable, unique in its file."""
        shown = visible(turn.id, keep="")
        return f"{shown}[{task.dialect}-s{sample}]" if sample else f"{shown}[{task.dialect}]"

    def _chosen(self, variants: dict[Dialect, Task]) -> list[Task]:
        """The variants to run: as asked; else those the predictions name; else those at hand, else all."""
        at_hand = [d for d in DIALECTS if d in variants and d in self.at_hand]
        wanted: Iterable[Dialect]
        if self._settings.dialects is not None:
            wanted = self._settings.dialects
        elif self._predictions is not None and self._predictions.dialects:
            unnamed = any(prediction.dialect is None for prediction in self._predictions)
            wanted = (*self._predictions.dialects, *(at_hand if unnamed else ()))
        else:
            wanted = at_hand or list(variants)
        return [variants[d] for d in DIALECTS if d in variants and d in wanted]

    def _answers(self, task: Task, turn: Turn) -> Iterator[tuple[int, Answers | None]]:
        if self._predictions is None:
            yield 0, gold_answers(task, turn)
            return
        samples: dict[int, dict[int, str]] = {}
        own = {}
        for earlier in task.turns[: turn.index]:
            for prediction in self._predictions.lookup(task, earlier):
                samples.setdefault(prediction.sample, {})[earlier.index] = prediction.program
                if earlier.index == turn.index:
                    own[prediction.sample] = prediction
        for sample in self._predictions.samples(task) or (0,):
            programs = samples.get(sample, {})
            yield sample, Answers(programs, own.get(sample)) if sample in own else None
