"""A run held against a baseline: every metric by subset and overall, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

import msgspec

from pytest_plsqlbench.bench.baseline.changes import KINDS, Change, Kind, Move, changes, moves
from pytest_plsqlbench.bench.baseline.comparable import CommonPart
from pytest_plsqlbench.bench.metrics import METRICS, Unit, unit_samples
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.statistics.formulas import holm
from pytest_plsqlbench.bench.statistics.intervals import Keys, cluster_keys, unit_means
from pytest_plsqlbench.bench.statistics.measures import by_subset, metric_samples
from pytest_plsqlbench.bench.statistics.pairing import Difference, Pairs, compare_pairs
from pytest_plsqlbench.bench.statistics.samples import SOLVED_AT_1

Values = Mapping[str, dict[Unit, list[Fraction]]]
COMPARED = (SOLVED_AT_1, *METRICS)
"""Metrics that are compared; the first is what a model release is judged by."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is against a baseline."""

    baseline: str
    """Name of the baseline's file."""
    models: tuple[tuple[str, ...], tuple[str, ...]]
    """Of the baseline, and of the run."""
    overall: dict[str, Difference]
    """Macro means over subsets; ``solved@1`` counts tasks and conversations that are solved as a whole."""
    metrics: dict[str, dict[str, Difference]]
    """By subset; ``p_holm`` is adjusted over the subsets that have the metric."""
    compared: int
    """Tasks and conversations (and dialects) that both runs were judged on."""
    unpaired: int
    """Tasks that both have and that one of them was not judged on."""
    only_baseline: int
    only_run: int
    differing: int
    """Tasks that both have, with other turns, tests or references."""
    kinds: dict[Kind, int]
    """Turns by what changed."""
    moves: tuple[Move, ...]
    notes: tuple[str, ...]
    """In what the runs differ, where only the common part is compared."""
    changes: tuple[Change, ...] = ()
    """Turn by turn, the newly broken first; not in ``summary.json``."""


def compare(part: CommonPart, baseline: str) -> Comparison:
    """Compare a run with its baseline, in the deciding reading.

    Args:
        part: what they have in common.
        baseline: name of the baseline's file.
    """
    keys = cluster_keys((*part.old, *part.new))
    old, new = (
        {subset: unit_samples(rows) for subset, rows in by_subset(side).items()}
        for side in (part.old, part.new)
    )
    pairs = {
        metric: {name: paired for name in new if (paired := pair_up(old[name], new[name], metric))}
        for metric in COMPARED
    }
    found = changes(part.old, part.new)
    kinds = Counter(change.kind for change in found)
    units = {(row.subset, row.task, row.dialect) for row in part.new}
    judged = {unit for paired in pairs[SOLVED_AT_1].values() for unit in paired}
    return Comparison(
        baseline=baseline,
        models=(_models(part.old), _models(part.new)),
        overall={
            metric: whole
            for metric, subsets in pairs.items()
            if (whole := compare_pairs(list(subsets.values()), keys)) is not None
        },
        metrics=_by_subset(pairs, keys),
        compared=len(judged),
        unpaired=len(units - judged),
        only_baseline=part.only_old,
        only_run=part.only_new,
        differing=part.changed,
        kinds={kind: kinds[kind] for kind in KINDS},
        moves=moves(found),
        notes=part.notes,
        changes=found,
    )


def pair_up(old: Values, new: Values, metric: str) -> Pairs:
    """Give the values of a metric of the tasks that both were judged on.

    Args:
        old: of one subset of the baseline, as ``unit_samples`` gives them.
        new: of the same subset of the run.
        metric: its name.
    """
    theirs, ours = (unit_means(metric_samples(samples, metric)) for samples in (old, new))
    return {unit: (theirs[unit], ours[unit]) for unit in sorted(theirs.keys() & ours.keys())}


def _by_subset(pairs: Mapping[str, Mapping[str, Pairs]], keys: Keys) -> dict[str, dict[str, Difference]]:
    metrics: dict[str, dict[str, Difference]] = {}
    for metric, subsets in pairs.items():
        found = {
            subset: difference
            for subset, paired in subsets.items()
            if (difference := compare_pairs([paired], keys)) is not None
        }
        adjusted = holm([difference.p for difference in found.values()])
        for (subset, difference), p in zip(found.items(), adjusted, strict=True):
            metrics.setdefault(subset, {})[metric] = msgspec.structs.replace(difference, p_holm=p)
    return dict(sorted(metrics.items()))


def _models(rows: Iterable[TurnResult]) -> tuple[str, ...]:
    return tuple(sorted({row.model for row in rows if row.model is not None}))
