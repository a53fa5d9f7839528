"""What a report is made of: the saved results of one or several runs, each with the texts of its turns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.gates.verdict import GateVerdict
from pytest_plsqlbench.bench.metrics import InconsistentResultsError
from pytest_plsqlbench.bench.shard import TurnKey, key_of
from pytest_plsqlbench.bench.summary import Summary, summarize
from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.bench.visible import shown_name, visible
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE, SUMMARY_FILE
from pytest_plsqlbench.reporting.store import read_results
from pytest_plsqlbench.reporting.texts import TEXTS_FILE, TurnText, read_texts
from pytest_plsqlbench.reporting.wholeness import wholeness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_plsqlbench.bench.result import TurnResult


@dataclass(frozen=True)
class SavedRun:
    """The results of one model, as one run left them."""

    label: str
    """Name on the page: the model's, made unique among the runs of a report."""
    path: Path
    """The ``results.jsonl``."""
    results: Sequence[TurnResult]
    texts: Mapping[TurnKey, TurnText]
    collected: int
    """How many turns the run set out to grade; more than there are results where it was stopped."""
    summary: Summary
    gates: Sequence[GateVerdict] = ()
    """What its gates said when it ended."""
    doubt: str | None = None
    """Why nobody knows whether these are all of its results."""

    @cached_property
    def by_key(self) -> dict[TurnKey, TurnResult]:
        """Results by turn and sample."""
        return {key_of(result): result for result in self.results}

    @property
    def incomplete(self) -> bool:
        """Whether the run ended before all turns were graded."""
        return len(self.results) < self.collected


def read_run(path: Path, *, assume_complete: bool = False) -> SavedRun:
    """Read a report folder, or the ``results.jsonl`` in it.

    Args:
        path: of the folder or the file.
        assume_complete: take the results as a whole run's where nothing says otherwise.

    Raises:
        UserError: there are no results, a file cannot be read, or the results contradict each other.
    """
    file = path / RESULTS_FILE if path.is_dir() else path
    results = read_results(file)
    if not results:
        raise UserError(f"{file} holds no results: there is nothing to show")
    try:
        summary = summarize(results)
    except InconsistentResultsError as error:
        raise UserError(str(error), Source(str(file))) from None
    texts = read_texts(file.parent / TEXTS_FILE)
    known = wholeness(file.parent, results)
    run = saved_run(
        file,
        results,
        texts,
        summary,
        collected=len(results) + known.pending,
        gates=_ended(file.parent).gates,
    )
    return replace(run, doubt=known.assumed if assume_complete else known.doubt)


def saved_run(
    file: Path,
    results: Sequence[TurnResult],
    texts: Mapping[TurnKey, TurnText],
    summary: Summary,
    *,
    collected: int,
    gates: Sequence[GateVerdict] = (),
) -> SavedRun:
    """A run of which everything is known already."""
    label = ", ".join(shown_name(model, 120) for model in summary.models) or "no model named"
    return SavedRun(label, file, results, texts, max(collected, len(results)), summary, gates)


def distinct(runs: Sequence[SavedRun]) -> list[SavedRun]:
    """The runs with labels that tell them apart: those of one model get the name of their folder."""
    times = Counter(run.label for run in runs)
    folders = Counter((run.label, run.path.absolute().parent.name) for run in runs)
    named: list[SavedRun] = []
    for number, run in enumerate(runs, 1):
        label, folder = run.label, run.path.absolute().parent.name
        if times[label] > 1:
            more = visible(folder) if folders[label, folder] == 1 else f"{visible(folder)}, {number}"
            label = f"{label} ({more})"
        named.append(replace(run, label=label))
    return named


class _Ended(msgspec.Struct):
    """What ``summary.json`` alone knows."""

    gates: tuple[GateVerdict, ...] = ()


def _ended(folder: Path) -> _Ended:
    """How the run ended; nothing is known where it was killed before it could say."""
    try:
        return msgspec.json.decode((folder / SUMMARY_FILE).read_bytes(), type=_Ended)
    except (OSError, msgspec.DecodeError):
        return _Ended()
