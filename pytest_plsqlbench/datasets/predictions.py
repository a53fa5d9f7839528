"""Predictions: a file read, and held against tasks (docs/predictions.md)."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pytest_plsqlbench.bench.prediction import Prediction
from pytest_plsqlbench.bench.task import Dialect, Task, Turn, UserError
from pytest_plsqlbench.bench.visible import shown_name
from pytest_plsqlbench.datasets.dataset import at
from pytest_plsqlbench.datasets.prediction_rows import read_row
from pytest_plsqlbench.datasets.yamlfile import decode_utf8, read_bytes

_Key = tuple[str, int | None]
"""Id of a row and its turn index."""


def read_predictions(path: Path) -> PredictionSet:
    """Read a file of predictions, one JSON object a line; empty lines do not count.

    Raises:
        UserError: the file or its first wrong line, in one line.
    """
    if path.is_dir():
        raise UserError("is a folder: a file of predictions is expected, one JSON object a line", at(path))
    content = read_bytes(path)
    decode_utf8(content, path)
    content = content.removeprefix(b"\xef\xbb\xbf")
    if content.lstrip().startswith(b"["):
        raise UserError("is one JSON list: write one object a line instead", at(path, 1))
    lines = content.split(b"\n")
    rows = [read_row(line, at(path, number)) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise UserError("holds no predictions: one JSON object a line is expected", at(path))
    return PredictionSet(rows)


def gold_predictions(tasks: Iterable[Task]) -> PredictionSet:
    """The references as predictions: the self-check."""
    return PredictionSet(
        Prediction(
            id=task.id, turn=turn.index, program=turn.reference, dialect=task.dialect, source=task.source
        )
        for task in tasks
        for turn in task.turns
        if turn.reference is not None
    )


class PredictionSet:
    """The predictions of one model, by task and turn."""

    def __init__(self, predictions: Iterable[Prediction]) -> None:
        """Sort the predictions.

        Raises:
            UserError: they are of several models, or two rows are for the same task, dialect and sample.
        """
        self._all = tuple(predictions)
        self._index: dict[_Key, list[Prediction]] = {}
        models: dict[str, Prediction] = {}
        for prediction in self._all:
            self._index.setdefault((prediction.id, prediction.turn), []).append(prediction)
            if prediction.model is not None:
                models.setdefault(prediction.model, prediction)
        if len(models) > 1:
            (first, one), (second, other) = list(models.items())[:2]
            names = shown_name(first), shown_name(second)
            raise UserError(
                f"is of model {names[1]!r}, line {one.source.line} of {names[0]!r}: one model a file",
                other.source,
            )
        self.models: tuple[str, ...] = tuple(models)
        """The model that the rows name; empty where none does."""
        self.dialects: frozenset[Dialect] = frozenset(p.dialect for p in self._all if p.dialect is not None)
        """The dialects that the rows name; empty where none does."""
        for rows in self._index.values():
            _check_single(rows)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self._all)

    def lookup(self, task: Task, turn: Turn) -> tuple[Prediction, ...]:
        """The predictions for a turn, one a sample, in the order of the samples."""
        found = [
            prediction
            for key in _keys(task, turn)
            for prediction in self._index.get(key, ())
            if prediction.dialect in {None, task.dialect}
        ]
        return tuple(sorted(found, key=lambda prediction: prediction.sample))

    def samples(self, task: Task) -> tuple[int, ...]:
        """Numbers of the samples that any turn of a task has, sorted."""
        return tuple(sorted({p.sample for turn in task.turns for p in self.lookup(task, turn)}))

    def check(self, tasks: Iterable[Task], suite: Callable[[], Iterable[Task]] | None = None) -> int:
        """Hold every prediction against the tasks of a run.

        A prediction for none of them must be for another task of the same suites: who selects a part of the
        tasks may keep one file for all of them. Anything else is a fault.

        Args:
            tasks: that the run read.
            suite: reads all tasks of the suites; None: those that the files of ``tasks`` lie in.

        Returns:
            Number of predictions that are for tasks of the suites outside the run.

        Raises:
            UserError: a prediction is for no task, or two are for the same one.
        """
        tasks = tuple(tasks)
        left = self._unmatched(tasks)
        if not left:
            return 0
        whole = tuple(suite()) if suite is not None else _suite_of(tasks)
        strangers = self._unmatched(whole, left)
        if strangers:
            more = f" (and {len(strangers) - 1} more such rows)" if len(strangers) > 1 else ""
            raise UserError(_why(strangers[0], (*tasks, *whole)) + more, strangers[0].source)
        return len(left)

    def _unmatched(
        self, tasks: Iterable[Task], among: Iterable[Prediction] | None = None
    ) -> list[Prediction]:
        matched: set[int] = set()
        for task in tasks:
            for turn in task.turns:
                found = self.lookup(task, turn)
                _check_single(found)
                for prediction in found:
                    _check_instance(prediction, turn)
                matched.update(id(prediction) for prediction in found)
        return [p for p in (self._all if among is None else among) if id(p) not in matched]


def _keys(task: Task, turn: Turn) -> Iterator[_Key]:
    """The spellings by which a row may name a turn."""
    yield task.id, turn.index
    if not task.conversation:
        yield task.id, None
    if turn.id != task.id:
        yield turn.id, None
        yield turn.id, turn.index


def _check_single(predictions: Iterable[Prediction]) -> None:
    """Check that no two rows are for the same sample in the same dialect."""
    seen: dict[tuple[int, Dialect | None], Prediction] = {}
    for prediction in predictions:
        sample = prediction.sample
        rivals: tuple[Dialect | None, ...] = ("oracle", "postgres", None)
        if prediction.dialect is not None:
            rivals = (prediction.dialect, None)
        other = next((seen[sample, rival] for rival in rivals if (sample, rival) in seen), None)
        if other is not None:
            turn = f" turn {prediction.turn}" if prediction.turn is not None else ""
            what = f"is a second prediction for {prediction.id!r}{turn}, sample {sample}"
            mend = "number the programs of a task by 'sample'"
            raise UserError(f"{what}; the first is {other.source}: {mend}", prediction.source)
        seen[sample, prediction.dialect] = prediction


def _check_instance(prediction: Prediction, turn: Turn) -> None:
    """Check that a row which names a conversation and its turn gives no instance id of another turn."""
    instance = prediction.extra.get("instance_id")
    if isinstance(instance, str) and instance not in {turn.id, prediction.id}:
        message = (
            f"instance_id {instance!r} is not that of turn {turn.index} of {prediction.id!r}, {turn.id!r}"
        )
        raise UserError(message, prediction.source)


def _suite_of(tasks: Iterable[Task]) -> tuple[Task, ...]:
    from pytest_plsqlbench.datasets.readers import suite_tasks  # noqa: PLC0415 (only where rows are left over)

    return suite_tasks(dict.fromkeys(Path(task.source.path) for task in tasks))


def _why(prediction: Prediction, tasks: Iterable[Task]) -> str:
    """Why a prediction is for none of the tasks."""
    by_id: dict[str, list[tuple[Task, Turn | None]]] = {}
    for task in tasks:
        by_id.setdefault(task.id, []).append((task, None))
        for turn in task.turns:
            if turn.id != task.id:
                by_id.setdefault(turn.id, []).append((task, turn))
    found = by_id.get(prediction.id)
    if found is None:
        numbered = [name for name in by_id if name.rpartition("/")[2] == prediction.id]
        close = numbered[:3] or difflib.get_close_matches(prediction.id, by_id, n=3, cutoff=0.75)
        choice = f"; did you mean {' or '.join(repr(word) for word in close)}?" if close else ""
        shown = prediction.id if len(prediction.id) <= 80 else f"{prediction.id[:80]}…"
        return f"there is no task {shown!r}{choice}"
    here = [(task, turn) for task, turn in found if prediction.dialect in {None, task.dialect}]
    if not here:
        return f"task {prediction.id!r} has no {prediction.dialect} variant"
    task, named = here[0]
    if named is not None:
        return f"turn_index {prediction.turn} does not fit {prediction.id!r}, which is turn {named.index}"
    if prediction.turn is None:
        return f"{prediction.id!r} is a conversation of {len(task.turns)} turns: add turn_index"
    return f"{prediction.id!r} has no turn {prediction.turn}: its turns are 1 to {len(task.turns)}"
