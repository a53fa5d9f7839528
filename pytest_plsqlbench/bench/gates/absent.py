"""Words of a gate that no task has: found as soon as the tasks are known, not after hours of grading."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from pytest_plsqlbench.bench.gates.text import EACH, Gate, Threshold
from pytest_plsqlbench.bench.metrics import METRICS, unit_samples
from pytest_plsqlbench.bench.plural import noun
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.statistics.measures import by_subset, choose, metric_samples, properties

NAMED = 12
"""Words that a message lists; the others are counted."""


def absent(gate: Gate, rows: Sequence[TurnResult]) -> str | None:
    """Why the gate is about nothing that there is, naming what there is, on one line.

    Args:
        gate: any.
        rows: one a turn and sample, at least one; verdicts do not matter.

    Returns:
        None where some task has all that the gate names.

    Raises:
        InconsistentResultsError: the rows contradict each other.
    """
    subset, filters, metric = _words(gate)
    if subset not in {None, EACH}:
        subsets = {row.subset for row in rows}
        if subset not in subsets:
            return f"no turn is of subset {subset!r}; {_there_are(str(subset), subsets)}"
        rows = [row for row in rows if row.subset == subset]
    where = f" of {subset}" if subset not in {None, EACH} else ""
    for name, value in filters.items():
        known = {word for row in rows for word in properties(row, name) if word is not None}
        if value not in known:
            return f"no task{where} has {name}={value}; {_there_are(value, known)}"
    chosen = choose(rows, filters)
    if not chosen:
        pairs = " and ".join(f"{name}={value}" for name, value in filters.items())
        return f"no task{where} has {pairs} together, each of them some have"
    return _no_metric(metric, chosen, where) if metric is not None else None


def _words(gate: Gate) -> tuple[str | None, Mapping[str, str], str | None]:
    """Subset, part and metric that a gate names."""
    if isinstance(gate, Threshold):
        of = gate.quantity
        return of.subset, of.filters, of.name if of.kind == "metric" else None
    return gate.subset, gate.filters, gate.metric


def _no_metric(metric: str, rows: Sequence[TurnResult], where: str) -> str | None:
    samples = [unit_samples(part) for part in by_subset(rows).values()]
    if any(metric_samples(part, metric) for part in samples):
        return None
    stem, _, k = metric.partition("^" if "^" in metric else "@")
    if int(k) > 1 and any(metric_samples(part, f"{stem}@1") for part in samples):
        most = max(len({row.sample for row in part}) for part in _by_task(rows))
        return f"no task{where} has {k} samples, which {metric} needs; the most are {most}"
    known = [name for name in METRICS if any(name in part for part in samples)]
    return f"no task{where} has {metric}; {_there_are('', known)}"


def _by_task(rows: Iterable[TurnResult]) -> Iterable[list[TurnResult]]:
    tasks: dict[tuple[str, str, str], list[TurnResult]] = {}
    for row in rows:
        tasks.setdefault((row.subset, row.task, row.dialect), []).append(row)
    return tasks.values()


def _there_are(word: str, known: Iterable[str]) -> str:
    words = sorted(known)
    if not words:
        return "none is named"
    near = difflib.get_close_matches(word, words, n=1)
    more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
    listed = f"there {noun(len(words), 'is', 'are')} {', '.join(words[:NAMED])}{more}"
    return f"did you mean {near[0]}? {listed}" if near else listed
