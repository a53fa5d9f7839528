"""Gates: what a run must show. Meaning of every claim: docs/gates.md.

Three-valued throughout: a gate is held or broken where what is known decides it, whatever is not known; else
there is not enough evidence. Tasks whose verdict was lost are tried as failed and as solved.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from pytest_plsqlbench.bench.baseline.comparable import CommonPart
from pytest_plsqlbench.bench.gates.absent import absent
from pytest_plsqlbench.bench.gates.against import judge_against
from pytest_plsqlbench.bench.gates.numbers import (
    independent,
    lower,
    percent,
    tasks,
    tasks_needed,
    upper,
)
from pytest_plsqlbench.bench.gates.text import Against, Gate, Operator, Threshold
from pytest_plsqlbench.bench.gates.verdict import Decision, GateVerdict
from pytest_plsqlbench.bench.metrics import Unit, unit_samples
from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.statistics.formulas import Interval
from pytest_plsqlbench.bench.statistics.intervals import (
    Keys,
    Samples,
    cluster_keys,
    mean_interval,
    unit_means,
)
from pytest_plsqlbench.bench.statistics.measures import (
    COUNTS,
    LOST,
    by_subset,
    choose,
    failure_samples,
    lost_units,
    metric_samples,
    ratio,
)

_HOLDS: Mapping[Operator, Callable[[Fraction, Fraction], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_WITH = {"coverage": "predictions", "judged": "verdicts"}
"""What turns lack that a share of turns does not count."""
ASSUME = "the whole report folder; or --assume-complete, if these are all results of the run"
"""What a run that may lack results needs to be judged."""
_UPWARD = {">=", ">"}


class Evidence(NamedTuple):
    """What gates are judged by."""

    results: Sequence[TurnResult]
    pending: int
    """Turns that the run set out to grade and has no result of: it was stopped."""
    baseline: CommonPart | None = None
    name: str = ""
    """Of the baseline, for people."""
    doubt: str | None = None
    """Why nobody knows whether these are all results of the run: any number of turns may be pending."""


class _Measured(NamedTuple):
    """A mean of the results, as seen or with lost verdicts filled in."""

    value: Fraction
    interval: Interval
    n: int
    clusters: int


def judge(gates: Iterable[Gate], evidence: Evidence) -> tuple[GateVerdict, ...]:
    """Judge each gate.

    Raises:
        ValueError: a gate compares with a baseline and there is none.
        InconsistentResultsError: the results contradict each other.
    """
    return tuple(_judge(gate, evidence) for gate in gates)


def _judge(gate: Gate, evidence: Evidence) -> GateVerdict:
    partial = evidence.pending > 0 or evidence.doubt is not None
    if partial and (isinstance(gate, Against) or gate.quantity.kind != "count"):
        return _incomplete(gate, evidence)
    if isinstance(gate, Against):
        if evidence.baseline is None:
            raise ValueError(f"{gate.text}: there is no baseline")
        return judge_against(gate, evidence.baseline, evidence.name)
    rows = choose(evidence.results, gate.quantity.filters)
    if gate.quantity.subset is not None:
        rows = [row for row in rows if row.subset == gate.quantity.subset]
    if not rows:
        return _nothing(gate, evidence.results)
    if gate.quantity.kind == "count":
        return _judge_count(gate, rows, evidence)
    if gate.quantity.kind == "ratio":
        return _judge_ratio(gate, rows)
    return _judge_mean(gate, rows)


def _incomplete(gate: Gate, evidence: Evidence) -> GateVerdict:
    graded = len(evidence.results)
    known = f"the run is incomplete: {graded} of {numbered(graded + evidence.pending, 'turn')} have a result"
    return GateVerdict(
        gate=gate.text,
        verdict="not_enough_evidence",
        reason=known if evidence.pending or evidence.doubt is None else evidence.doubt,
        enough="the rest of the run" if evidence.pending else ASSUME,
        unfit=True,
    )


def _nothing(gate: Threshold, results: Sequence[TurnResult]) -> GateVerdict:
    return GateVerdict(
        gate=gate.text,
        verdict="not_enough_evidence",
        reason=(absent(gate, results) if results else None) or "there are no results at all",
        enough="a task of that kind",
        n=0,
    )


# -- counts and shares of turns --------------------------------------------------------------------------


def _judge_count(gate: Threshold, rows: Sequence[TurnResult], evidence: Evidence) -> GateVerdict:
    """A count may still grow by what is pending; a lost turn may have run into the time limit."""
    name = gate.quantity.name
    count = sum(map(COUNTS[name], rows))
    pending = evidence.pending
    if evidence.doubt:
        pending = max(pending, math.ceil(gate.limit) + 1)  # enough to cross any limit
    unknown = pending + (sum(row.status in LOST for row in rows) if name == "timeouts" else 0)
    possible = {Fraction(count), Fraction(count + unknown)}
    if count <= gate.limit <= count + unknown:
        possible.add(gate.limit)
    decision = _agreed("held" if _HOLDS[gate.operator](x, gate.limit) else "broken" for x in possible)
    found = f"{count} {name}, of {numbered(len(rows), 'turn')}; asked for {gate.operator} {gate.written}"
    undecided = decision == "not_enough_evidence"
    return GateVerdict(
        gate=gate.text,
        verdict=decision,
        reason=f"{found}; {evidence.doubt or _unknown(unknown)}" if undecided else found,
        enough=(ASSUME if evidence.doubt else "their verdicts") if undecided else None,
        value=count,
        n=len(rows),
        unfit=undecided and pending > 0,
    )


def _unknown(turns: int) -> str:
    return f"{numbered(turns, 'turn')} without a verdict may change that"


def _judge_ratio(gate: Threshold, rows: Sequence[TurnResult]) -> GateVerdict:
    """Coverage is what a judgement needs: where it is short there is none, rather than a bad one."""
    counted, among = ratio(rows, gate.quantity.name)
    value = Fraction(counted, among) if among else None
    held = value is not None and _HOLDS[gate.operator](value, gate.limit)
    shown = (
        f"{percent(value, gate.limit)} ({counted} of {numbered(among, 'turn')})"
        if value is not None
        else "no turn"
    )
    short = math.ceil(gate.limit * among) - counted
    return GateVerdict(
        gate=gate.text,
        verdict="held" if held else "not_enough_evidence",
        reason=f"{gate.quantity.name} is {shown}; asked for {gate.operator} {gate.written}",
        enough=None if held else f"{_WITH[gate.quantity.name]} for {numbered(max(short, 1), 'more turn')}",
        value=float(value) if value is not None else None,
        n=among,
        unfit=not held,
    )


# -- means -----------------------------------------------------------------------------------------------


def _judge_mean(gate: Threshold, rows: Sequence[TurnResult]) -> GateVerdict:
    columns, lost, keys = _columns(gate, rows)
    seen = _measure(columns, keys)
    filled = [_measure(_fill(columns, lost, value), keys) for value in (0, 1)] if any(lost) else []
    if seen is None:
        missing = sum(map(len, lost))
        return GateVerdict(
            gate=gate.text,
            verdict="not_enough_evidence",
            reason=f"nothing was judged that has {gate.quantity.name}"
            + (f": the verdicts of {tasks(missing)} were lost to servers or engines" if missing else ""),
            enough="a task of that kind with a verdict",
            n=0,
        )
    verdicts = [_decide(gate, measured) for measured in (seen, *filled) if measured is not None]
    decision = _agreed(verdicts)
    if decision == "not_enough_evidence" and len(set(verdicts)) > 1:
        number = sum(map(len, lost))
        enough: str | None = f"verdicts of {tasks(number)} lost to servers or engines"
    else:
        enough = _enough(gate, seen) if decision == "not_enough_evidence" else None
    return GateVerdict(
        gate=gate.text,
        verdict=decision,
        reason=_found(gate, seen),
        enough=enough,
        value=float(seen.value),
        low=seen.interval.low,
        high=seen.interval.high,
        n=seen.n,
    )


def _columns(
    gate: Threshold, rows: Sequence[TurnResult]
) -> tuple[list[dict[Unit, list[Fraction]]], list[list[Unit]], Keys]:
    """Values by subset, units whose value was lost, and clusters."""
    keys = cluster_keys(rows)
    if gate.quantity.kind == "share":
        values, clusters = failure_samples(rows, gate.quantity.name, keys)
        gone = {(row.subset, f"{row.task}\0{row.turn}", row.dialect) for row in rows if row.status in LOST}
        return [values], [[unit for unit in sorted(gone) if not values[unit]]], clusters
    columns, lost = [], []
    for part in by_subset(rows).values():
        samples = unit_samples(part, gate.quantity.reading)
        values = metric_samples(samples, gate.quantity.name)
        if values:
            columns.append(values)
            lost.append(lost_units(part, values))
    return columns, lost, keys


def _measure(columns: Sequence[Samples], keys: Keys) -> _Measured | None:
    means = [part for part in map(unit_means, columns) if part]
    interval = mean_interval(columns, keys)
    if interval is None:
        return None
    value = sum((sum(part.values(), Fraction()) / len(part) for part in means), Fraction()) / len(means)
    clusters = {keys[unit] for part in means for unit in part}
    return _Measured(value, interval, sum(map(len, means)), len(clusters))


def _fill(columns: Sequence[Samples], lost: Sequence[Sequence[Unit]], value: int) -> list[Samples]:
    filling = [{unit: [Fraction(value)] for unit in units} for units in lost]
    return [{**column, **more} for column, more in zip(columns, filling, strict=True)]


def _decide(gate: Threshold, measured: _Measured) -> Decision:
    """A value decides by itself; a bound that demands evidence is broken only by evidence."""
    holds = _HOLDS[gate.operator]
    if gate.bound is None:
        return "held" if holds(measured.value, gate.limit) else "broken"
    low, high = (Fraction(str(bound)) for bound in measured.interval)
    mine, other = (low, high) if gate.bound == "low" else (high, low)
    if holds(mine, gate.limit):
        return "held"
    if _demanding(gate) and holds(other, gate.limit):
        return "not_enough_evidence"
    return "broken"


def _demanding(gate: Threshold) -> bool:
    """The bound that is harder to satisfy: of what must be large the lower one, of what small the upper."""
    return (gate.bound == "low") == (gate.operator in _UPWARD)


def _agreed(verdicts: Iterable[Decision]) -> Decision:
    found = set(verdicts)
    return found.pop() if len(found) == 1 else "not_enough_evidence"


def _found(gate: Threshold, seen: _Measured) -> str:
    limit = f"{gate.operator} {gate.written}"
    low, high = lower(seen.interval.low, gate.limit), upper(seen.interval.high, gate.limit)
    if gate.bound is None:
        return f"{percent(seen.value, gate.limit)} [{low}, {high}], n = {seen.n}; asked for {limit}"
    bound = low if gate.bound == "low" else high
    return (
        f"{gate.bound} bound {bound} of {percent(seen.value)} [{low}, {high}], n = {seen.n};"
        f" asked for {limit}"
    )


def _enough(gate: Threshold, seen: _Measured) -> str:
    """How many tasks would show it if they did as these, or what these would have to show."""
    value, limit = float(seen.value), float(gate.limit)
    half = value - seen.interval.low if gate.bound == "low" else seen.interval.high - value
    gap = value - limit if gate.bound == "low" else limit - value
    if gap > 0:
        kind, count = independent(seen.clusters, seen.n)
        needed = tasks_needed(count, half, gap, unvaried=value in {0.0, 1.0})
        return f"about {needed} {kind}s like these instead of {count}"
    goal = round(min(max(limit + half if gate.bound == "low" else limit - half, 0.0), 1.0), 6)
    shown = (upper if gate.bound == "low" else lower)(goal, round(value, 6))
    return f"{shown} instead of {percent(value, goal)} of {tasks(seen.n)}, about"
