"""Comparisons on a page: with a baseline, and of neighbours on a leaderboard."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.bench.baseline.comparable import common_part
from pytest_plsqlbench.bench.baseline.compare import COMPARED, compare
from pytest_plsqlbench.bench.gates.numbers import points, points_between
from pytest_plsqlbench.bench.plural import grouped
from pytest_plsqlbench.bench.shard import TurnKey
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.bench.visible import visible
from pytest_plsqlbench.reporting.headline import TITLES, percent
from pytest_plsqlbench.reporting.page.content import turn_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_plsqlbench.bench.baseline.changes import Change
    from pytest_plsqlbench.bench.baseline.compare import Comparison
    from pytest_plsqlbench.bench.statistics.pairing import Difference
    from pytest_plsqlbench.reporting.page.source import SavedRun

GROUPS = {
    "newly_broken": "Newly broken",
    "newly_solved": "Newly solved",
    "worsened": "Worse, solved in part before and after",
    "improved": "Better, solved in part before and after",
    "category": "Fail in another way",
}
SOLVED = COMPARED[0]
MINUS = "\u2212"


def against_baseline(comparison: Comparison, baseline: str, run: str) -> dict[str, Any]:
    """The section on the baseline.

    Args:
        comparison: of the run with it.
        baseline: label of the baseline.
        run: label of the run.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for change in comparison.changes:
        groups.setdefault(change.kind, []).append(_change(change))
    return {
        "intro": (
            f"{run} against {baseline}, task by task:"
            f" {grouped(comparison.compared, 'task or conversation', 'tasks and conversations')}"
            " that both were judged on."
        ),
        "notes": [visible(note) for note in comparison.notes],
        "rows": list(_difference_rows(comparison)),
        "changes": [
            {"title": title, "rows": groups[kind]} for kind, title in GROUPS.items() if kind in groups
        ],
        "moves": [
            {"turns": f"{move.turns:,}", "before": _state(move.before), "after": _state(move.after)}
            for move in comparison.moves[:30]
        ],
    }


def changed_turns(comparison: Comparison, run: SavedRun) -> Mapping[TurnKey, str]:
    """What changed, for the filter of the list: all samples of a turn alike."""
    kinds = {(c.subset, c.task, c.dialect, c.turn): c.kind for c in comparison.changes}
    found = {}
    for key in run.by_key:
        kind = kinds.get((key.subset, key.task, key.dialect, key.turn))
        if kind is not None:
            found[key] = kind
    return found


def neighbours(ranking: Sequence[SavedRun], metric: str) -> Iterator[dict[str, Any]]:
    """Each run against the one below it, by the metric that ranks them."""
    for better, other in pairwise(ranking):
        pair: dict[str, Any] = {"better": better.label, "other": other.label, "difference": None}
        try:
            part = common_part(other.results, better.results, baseline=other.label, common=True, way="")
        except UserError as error:
            yield pair | {"words": visible(str(error))}
            continue
        comparison = compare(part, other.label)
        found = comparison.overall.get(metric)
        if found is None:
            yield pair | {"words": "no task in common with this metric"}
            continue
        yield pair | {
            "difference": _difference(found),
            "metric": TITLES.get(metric, metric),
            "n": grouped(found.n, "task or conversation", "tasks or conversations"),
            "words": _words(found),
        }


def _words(found: Difference) -> str:
    if not found.decidable:
        return "too few independent groups of tasks to tell"
    if found.low > 0:
        return "better"
    if found.high < 0:
        return "worse on the common tasks"
    return f"not enough evidence (detectable: {100 * found.detectable:.1f} points)"


def _difference_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    for metric in COMPARED:
        found = comparison.overall.get(metric)
        if found is not None:
            yield _difference_row("overall", metric, found, overall=True)
    for subset, metrics in comparison.metrics.items():
        for metric in COMPARED[1:]:
            if metric in metrics:
                yield _difference_row(visible(subset), metric, metrics[metric], overall=False)


def _difference_row(subset: str, metric: str, found: Difference, *, overall: bool) -> dict[str, Any]:
    p = found.p if found.p_holm is None else found.p_holm
    return {
        "subset": subset,
        "overall": overall,
        "metric": "Solved as a whole" if metric == SOLVED else TITLES.get(metric, metric),
        "baseline": percent(found.baseline),
        "value": percent(found.value),
        "difference": _difference(found),
        "gained": f"{found.gained:,}",
        "lost": f"{found.lost:,}",
        "n": f"{found.n:,}",
        "p": "< 0.001" if p < 0.001 else f"{p:.3f}",
        "detectable": f"{100 * found.detectable:.1f}",
    }


def _difference(found: Difference) -> dict[str, str]:
    tone = "up" if found.low > 0 else "down" if found.high < 0 else ""
    return {
        "value": points(found.difference).replace("-", MINUS),
        "bounds": points_between(found.low, found.high).replace("-", MINUS),
        "tone": tone,
    }


def _change(change: Change) -> dict[str, Any]:
    key = TurnKey(change.subset, change.task, change.dialect, change.turn)
    return {
        "link": turn_address(key),
        "name": visible(change.turn_id),
        "subset": f"{visible(change.subset)}, {change.dialect}",
        "before": _state(change.before.state),
        "after": _state(change.after.state),
    }


def _state(state: str) -> str:
    return visible(state).rpartition("/")[2].replace("_", " ")
