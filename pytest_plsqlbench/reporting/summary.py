"""``summary.json``: what a run's results add up to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.summary import summarize
from pytest_plsqlbench.reporting.store import write_atomically

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_plsqlbench.bench.gates.assessment import Assessment
    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.bench.summary import Summary


def write_summary(
    folder: Path,
    results: Sequence[TurnResult],
    *,
    collected: int,
    assessment: Assessment | None = None,
) -> Summary:
    """Write ``summary.json`` and give its content.

    Args:
        folder: the report folder.
        results: of all turns that were graded or given up.
        collected: how many turns the run set out to grade; more than there are results where it was stopped.
        assessment: what gates and baseline say of the run.

    Raises:
        UserError: the file cannot be written.
    """
    summary = summarize(results)
    if assessment is not None:
        comparison = assessment.comparison
        if comparison is not None:
            comparison = msgspec.structs.replace(comparison, changes=())
        summary = msgspec.structs.replace(summary, gates=assessment.verdicts, comparison=comparison)
    content = msgspec.to_builtins(summary)
    content["flags"] = dict(sorted(Counter(flag for result in results for flag in result.flags).items()))
    content["complete"] = len(results) >= collected
    content["turns_collected"] = max(collected, len(results))
    text = msgspec.json.format(msgspec.json.encode(content), indent=2)
    write_atomically(folder / "summary.json", text + b"\n")
    return summary
