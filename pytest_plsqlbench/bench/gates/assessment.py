"""A whole run against its gates and its baseline: the same in the run and afterwards on saved results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from pytest_plsqlbench.bench.baseline.comparable import Baseline
from pytest_plsqlbench.bench.baseline.compare import Comparison, compare
from pytest_plsqlbench.bench.gates.judge import Evidence, judge
from pytest_plsqlbench.bench.gates.text import Against, Gate
from pytest_plsqlbench.bench.gates.verdict import GateVerdict
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import UserError


class Assessment(NamedTuple):
    """What gates and baseline say of a run."""

    verdicts: tuple[GateVerdict, ...]
    comparison: Comparison | None
    refused: str | None
    """Why there is no comparison with the baseline that was given."""


def assess(
    results: Sequence[TurnResult],
    *,
    pending: int,
    gates: Sequence[Gate],
    baseline: Baseline | None,
    doubt: str | None = None,
) -> Assessment:
    """Judge a run that has ended.

    Where any gate finds that the run may not be judged, none is called broken.
    A baseline that turns out not to be comparable leaves its gates without evidence.

    Args:
        results: of the run.
        pending: turns that it set out to grade and has no result of.
        gates: in the order in which they are shown.
        baseline: None where none was given; then no gate compares with one.
        doubt: why nobody knows whether these are all results of the run.
    """
    part, refused = None, None
    if baseline is not None:
        try:
            part = baseline.common_part(results)
        except UserError as error:
            refused = str(error)
    name = baseline.name if baseline is not None else ""
    evidence = Evidence(results, pending, part, name, doubt)
    verdicts = tuple(
        _refused(gate, refused)
        if refused is not None and isinstance(gate, Against)
        else judge((gate,), evidence)[0]
        for gate in gates
    )
    if any(verdict.unfit for verdict in verdicts):
        verdicts = tuple(map(_undecided, verdicts))
    return Assessment(verdicts, compare(part, name) if part is not None else None, refused)


def _undecided(verdict: GateVerdict) -> GateVerdict:
    """Nothing is called broken by a run that may not be judged; what was found stands in the reason."""
    if verdict.verdict != "broken":
        return verdict
    return msgspec.structs.replace(
        verdict,
        verdict="not_enough_evidence",
        enough="a run that may be judged: another gate says why this one may not",
    )


def _refused(gate: Gate, why: str) -> GateVerdict:
    return GateVerdict(
        gate=gate.text,
        verdict="not_enough_evidence",
        reason=why,
        enough="a baseline that can be compared with",
        unfit=True,
    )
