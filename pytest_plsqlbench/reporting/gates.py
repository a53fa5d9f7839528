"""Verdicts of gates and the comparison with a baseline, in lines of a terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.gates.numbers import points, points_between
from pytest_plsqlbench.bench.gates.verdict import WORDS
from pytest_plsqlbench.bench.statistics.samples import SOLVED_AT_1
from pytest_plsqlbench.bench.visible import shown_name
from pytest_plsqlbench.reporting.headline import percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_plsqlbench.bench.baseline.compare import Comparison
    from pytest_plsqlbench.bench.gates.assessment import Assessment
    from pytest_plsqlbench.bench.gates.verdict import Decision, GateVerdict
    from pytest_plsqlbench.bench.statistics.pairing import Difference

WIDTH = 80
KIND_WORDS = {
    "newly_broken": "newly broken",
    "newly_solved": "newly solved",
    "worsened": "worse",
    "improved": "better",
    "category": "failing in another way",
}
NAMED = 5
"""Turns that are named; the others are counted."""


def assessment_lines(assessment: Assessment) -> Iterator[str]:
    """The comparison with the baseline, or why there is none, and the verdict of each gate."""
    if assessment.comparison is not None:
        yield from comparison_lines(assessment.comparison)
    if assessment.refused is not None:
        yield from _wrapped(f"not compared: {escape(assessment.refused)}", 2)
    yield from gate_lines(assessment.verdicts)


def gate_lines(verdicts: Sequence[GateVerdict]) -> Iterator[str]:
    """The verdict of each gate with its reason, those that need attention last; 80 columns wide."""
    if not verdicts:
        return
    counts = Counter(verdict.verdict for verdict in verdicts)
    order: tuple[Decision, ...] = ("held", "not_enough_evidence", "broken")
    found = ", ".join(f"{counts[kind]} {WORDS[kind]}" for kind in order if counts[kind])
    yield f"gates: {found}"
    for verdict in sorted(verdicts, key=lambda verdict: order.index(verdict.verdict)):
        word = WORDS[verdict.verdict]
        shown = word if verdict.verdict == "held" else word.upper()
        yield from _wrapped(f"{shown:<6}  {escape(verdict.gate)}", 14)
        yield from _wrapped(f"{'':<14}{escape(verdict.reason)}", 14)
        if verdict.enough is not None:
            yield from _wrapped(f"{'':<14}enough would be: {escape(verdict.enough)}", 14)


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """How a run differs from its baseline: the metrics overall, what changed, the first turns by name."""
    before, after = (", ".join(map(shown_name, models)) or "no model named" for models in comparison.models)
    yield from _wrapped(f"against {escape(comparison.baseline)}: {before} there, {after} here", 2)
    for note in comparison.notes:
        yield from _wrapped(f"  only the common part: {escape(note)}", 4)
    rows = [_row(metric, difference) for metric, difference in comparison.overall.items()]
    if rows:
        rows.insert(0, ("overall", "there", "here", "points", "95% interval", ""))
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        for row in rows:
            cells = (f"{cell:>{width}}" for cell, width in zip(row[1:-1], widths[1:-1], strict=True))
            yield f"  {row[0]:<{widths[0]}} {' '.join(cells)} {row[-1]}".rstrip()
    if (solved := comparison.overall.get(SOLVED_AT_1)) is not None and solved.decidable:
        shown = f"{solved.detectable * 100:.1f} points in {SOLVED_AT_1}"
        yield from _wrapped(f"  {shown} would have shown with a probability of 80 %", 4)
    changed = [f"{count} {KIND_WORDS[kind]}" for kind, count in comparison.kinds.items() if count]
    yield from _wrapped(f"  turns: {', '.join(changed) or 'no turn did otherwise'}", 4)
    for kind in ("newly_broken", "newly_solved"):
        names = [escape(change.turn_id) for change in comparison.changes if change.kind == kind]
        if names:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            yield from _wrapped(f"  {KIND_WORDS[kind]}: {', '.join(names[:NAMED])}{more}", 4)


def _row(metric: str, found: Difference) -> tuple[str, ...]:
    return (
        metric,
        percent(found.baseline),
        percent(found.value),
        points(found.difference),
        points_between(found.low, found.high),
        _conclusion(found),
    )


def _conclusion(found: Difference) -> str:
    """What the interval of a difference says."""
    if not found.decidable:
        return "too few to tell"
    if found.low > 0:
        return "better"
    return "worse" if found.high < 0 else "no difference shown"


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        drop_whitespace=True,
        break_long_words=True,
        break_on_hyphens=False,
    )
