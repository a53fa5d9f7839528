"""Properties of a test case in JUnit XML."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.visible import visible

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.result import TurnResult


def main_category(result: TurnResult) -> str | None:
    """The most frequent failure category among a turn's tests; the earlier one where two are as frequent."""
    counts = Counter(test.category for test in result.tests if test.category)
    return max(counts, key=lambda name: counts[name]) if counts else None


def junit_properties(result: TurnResult) -> list[tuple[str, object]]:
    """Name and value pairs for ``item.user_properties``; they survive xdist."""
    pairs: list[tuple[str, object]] = [
        ("subset", result.subset),
        ("dialect", result.dialect),
        ("status", result.status),
        ("passed", result.passed),
        ("total", result.total),
    ]
    category = main_category(result)
    if category:
        pairs.append(("category", category))
    if result.blame is not None:
        pairs.append(("blame", result.blame.failure))
    if result.repeats:
        pairs += [("plays", len(result.repeats)), ("varies", str("varies" in result.flags).lower())]
    if result.model:
        pairs.append(("model", visible(result.model, keep="")))
    return pairs
