"""Gates that compare with a baseline: no worse, better, or not to be told."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from pytest_plsqlbench.bench.baseline.comparable import CommonPart
from pytest_plsqlbench.bench.gates.numbers import (
    at_least,
    chance,
    independent,
    percent,
    points,
    points_between,
    tasks,
    tasks_needed,
    written,
)
from pytest_plsqlbench.bench.gates.text import EACH, Against
from pytest_plsqlbench.bench.gates.verdict import Decision, GateVerdict
from pytest_plsqlbench.bench.metrics import Unit, unit_samples
from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.statistics.intervals import Keys, cluster_keys, unit_means
from pytest_plsqlbench.bench.statistics.measures import by_subset, choose, lost_units, metric_samples
from pytest_plsqlbench.bench.statistics.pairing import Difference, Pairs, compare_pairs


class _Subset(NamedTuple):
    """Pairs of one subset, as seen and with lost verdicts to the run's disadvantage and advantage."""

    seen: Pairs
    worst: Pairs
    best: Pairs


def judge_against(gate: Against, part: CommonPart, name: str) -> GateVerdict:
    """Judge a comparison with a baseline.

    Args:
        gate: the claim.
        part: what the run and the baseline have in common.
        name: of the baseline, for people.
    """
    rows = choose(part.new, gate.filters)
    chosen = {(row.subset, row.task, row.dialect) for row in rows}
    old = [row for row in part.old if (row.subset, row.task, row.dialect) in chosen]
    keys = cluster_keys((*old, *rows), gate.cluster)
    subsets = _pairs(gate, by_subset(old), by_subset(rows))
    if gate.subset not in {None, EACH}:
        subsets = {subset: pairs for subset, pairs in subsets.items() if subset == gate.subset}
    if not any(pairs.seen for pairs in subsets.values()):
        return GateVerdict(
            gate=gate.text,
            verdict="not_enough_evidence",
            reason=f"no task that has {gate.metric} was judged both here and in {name}",
            enough="tasks that both were judged on",
            n=0,
        )
    if gate.subset == EACH:
        return _judge_each(gate, subsets, keys, name)
    return _judge_one(gate, list(subsets.values()), keys, name)


def _pairs(
    gate: Against, old: Mapping[str, Sequence[TurnResult]], new: Mapping[str, Sequence[TurnResult]]
) -> dict[str, _Subset]:
    subsets = {}
    for subset in sorted(old.keys() & new.keys()):
        values, lost = [], []
        for rows in (old[subset], new[subset]):
            samples = metric_samples(unit_samples(rows, gate.reading), gate.metric)
            values.append(unit_means(samples))
            lost.append(lost_units(rows, samples))
        if values[0] or values[1] or any(lost):
            subsets[subset] = _Subset(
                _pair(values[0], values[1]),
                _pair(_with(values[0], lost[0], 1), _with(values[1], lost[1], 0)),
                _pair(_with(values[0], lost[0], 0), _with(values[1], lost[1], 1)),
            )
    return subsets


def _pair(old: Mapping[Unit, Fraction], new: Mapping[Unit, Fraction]) -> Pairs:
    return {unit: (old[unit], new[unit]) for unit in sorted(old.keys() & new.keys())}


def _with(values: Mapping[Unit, Fraction], lost: Sequence[Unit], value: int) -> Mapping[Unit, Fraction]:
    return {**values, **dict.fromkeys(lost, Fraction(value))} if lost else values


def _judge_one(gate: Against, subsets: Sequence[_Subset], keys: Keys, name: str) -> GateVerdict:
    confidence = float(1 - 2 * gate.level)
    seen = compare_pairs([pairs.seen for pairs in subsets], keys, confidence)
    assert seen is not None
    decision, lost = _decision(gate, subsets, keys, confidence)
    return GateVerdict(
        gate=gate.text,
        verdict=decision,
        reason=_found(gate, seen, name),
        enough=_enough(gate, seen, lost) if decision == "not_enough_evidence" else None,
        value=seen.difference,
        low=seen.low,
        high=seen.high,
        n=seen.n,
    )


def _decision(
    gate: Against, subsets: Sequence[_Subset], keys: Keys, confidence: float
) -> tuple[Decision, int]:
    """Decide; a verdict that a lost task could overturn is none. Gives the number of such tasks, too."""
    lost = sum(len(pairs.worst) - len(pairs.seen) for pairs in subsets)
    cases = [[pairs.seen for pairs in subsets]]
    if lost:
        cases += [[pairs.worst for pairs in subsets], [pairs.best for pairs in subsets]]
    found = {
        decide(gate, difference)
        for case in cases
        if (difference := compare_pairs(case, keys, confidence)) is not None
    }
    if len(found) == 1:
        return found.pop(), 0
    return "not_enough_evidence", lost


def decide(gate: Against, found: Difference) -> Decision:
    """Give the verdict that a difference, measured at the gate's level, allows."""
    if not found.decidable:
        return "not_enough_evidence"
    margin = float(gate.margin)
    if found.high < -margin:
        return "broken"
    sure = gate.claim == "no_worse_than" or found.p <= float(2 * gate.level)
    return "held" if found.low > -margin and sure else "not_enough_evidence"


def _judge_each(gate: Against, subsets: Mapping[str, _Subset], keys: Keys, name: str) -> GateVerdict:
    """Each subset must hold, at the level; any may break, at the level divided by their number (Holm)."""
    confidence = float(1 - 2 * gate.level)
    strict = float(1 - 2 * gate.level / len(subsets))
    decisions: dict[str, Decision] = {}
    decided_at = dict.fromkeys(subsets, confidence)
    for subset, pairs in subsets.items():
        decision = _decision(gate, [pairs], keys, confidence)[0]
        if decision == "broken":
            decided_at[subset] = strict
            if _decision(gate, [pairs], keys, strict)[0] != "broken":
                decision = "not_enough_evidence"
        decisions[subset] = decision if pairs.seen else "not_enough_evidence"
    by: dict[Decision, list[str]] = {}
    for subset, decision in decisions.items():
        by.setdefault(decision, []).append(subset)
    verdict: Decision = "held"
    if "broken" in by:
        verdict = "broken"
    elif "not_enough_evidence" in by:
        verdict = "not_enough_evidence"
    shown = by[verdict] if verdict != "held" else list(decisions)
    parts = []
    for subset in shown:
        seen = compare_pairs([subsets[subset].seen], keys, decided_at[subset])
        parts.append(f"{subset} {_interval(gate, seen) if seen else 'not judged in both'}")
    words = {"held": "in each of", "broken": "not so in", "not_enough_evidence": "cannot be told in"}
    return GateVerdict(
        gate=gate.text,
        verdict=verdict,
        reason=f"{gate.metric} against {name}, {words[verdict]} {len(shown)} of {len(decisions)} subsets: "
        + "; ".join(parts),
        enough=f"more tasks in {', '.join(shown)}" if verdict == "not_enough_evidence" else None,
        n=sum(len(pairs.seen) for pairs in subsets.values()),
    )


def _interval(gate: Against, found: Difference) -> str:
    return f"{points(found.difference)} points {points_between(found.low, found.high, -gate.margin)}"


def _found(gate: Against, found: Difference, name: str) -> str:
    margin = f", margin {written(gate.margin * 100)}" if gate.claim == "no_worse_than" else ""
    exact = "" if gate.claim == "no_worse_than" else f", p = {chance(found.p, 2 * gate.level)}"
    return (
        f"{gate.metric} {percent(found.value)} against {percent(found.baseline)} in {name}:"
        f" {_interval(gate, found)}{margin}{exact}; {tasks(found.n)}, {found.clusters} independent"
    )


def _enough(gate: Against, found: Difference, lost: int) -> str:
    """What would have decided it: verdicts that were lost, more clusters, more tasks, another difference."""
    if lost:
        return f"verdicts of {tasks(lost)} lost to servers or engines"
    if not found.decidable:
        least = math.ceil(math.log2(1 / float(gate.level)))
        if found.clusters == found.n:
            return f"at least {tasks(least)}"
        return f"at least {least} databases instead of {found.clusters}; or cluster=task, for these alone"
    kind, count = independent(found.clusters, found.n)
    margin = float(gate.margin)
    half = found.difference - found.low
    gap = found.difference + margin
    bar = half - margin
    fewest = 1
    if gate.claim == "better_than":
        least = math.ceil(math.log2(1 / float(gate.level)))
        if found.difference > 0 and kind == "database" and found.moving < least:
            return (
                f"more databases: {found.moving} of {count} differ, and fewer than {least} may all be better"
                " by chance, however many tasks they have"
            )
        if found.low > -margin:
            asked = 2 * gate.level
            p = chance(found.p, asked)
            return f"more {kind}s: the exact test gives p = {p}, asked for at most {written(asked)}"
        bar = max(bar, least / count)  # of whole tasks or databases
        fewest = math.ceil(count * least / found.moving) if found.moving else 1
    seen = f"a difference above {at_least(bar)} points would show in {numbered(count, kind)}"
    if gap > 0:
        more = tasks_needed(count, half, gap, unvaried=not found.gained + found.lost)
        return f"{seen}; {points(found.difference)} points would take about {max(more, fewest)} {kind}s"
    if gap == 0:
        return seen
    more = tasks_needed(count, found.high - found.difference, -gap)
    return f"{seen}; {points(found.difference)} points would be shown to be worse by about {more} {kind}s"
