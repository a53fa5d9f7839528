"""What the reference's play says about the task itself: findings for its author, never part of a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_plsqlbench.bench.observation import Observation
    from pytest_plsqlbench.bench.task import Turn


def findings(turn: Turn, observations: Sequence[Observation]) -> tuple[str, ...]:
    """Findings about a turn by what its reference showed (FORMATS: ``empty_gold``, ``weak_suite``).

    ``empty_gold``: a gold query returns no rows, so a program that prints nothing passes.
    ``weak_suite``: no call of the whole suite succeeds, or none of them changes a table that is judged.
    """
    found = []
    pairs = list(zip(turn.tests, observations, strict=False))
    golds = [seen for test, seen in pairs if test.gold is not None]
    if any(not any(result.rows for call in seen.calls for result in call.results) for seen in golds):
        found.append("empty_gold")
    suites = [seen for test, seen in pairs if any(rule.mode == "state" for rule in test.compare)]
    calls = [call for seen in suites for call in seen.calls]
    if suites and (all(call.error for call in calls) or not any(seen.state for seen in suites)):
        found.append("weak_suite")
    return tuple(found)
