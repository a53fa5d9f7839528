"""Entries for the leaderboard of PLSQLBench's site, in the schema of its ``leaderboard.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.metrics import (
    EPISODE_PASS,
    EPISODE_TEST_PASS,
    EX,
    MEAN_TEST_PASS,
    SUITE_PASS,
    TURN_SUITE_PASS,
    MetricValue,
)
from pytest_plsqlbench.bench.plural import grouped
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.published import published

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.summary import Summary
    from pytest_plsqlbench.bench.task import Dialect

TASKS = {
    "mbpp": "mbpp",
    "spider": "spider",
    "spider2_st": "spider2_st_dev",
    "spider2_mt": "spider2_mt_dev",
    "spider2_st_test": "spider2_st_test",
    "spider2_mt_test": "spider2_mt_test",
    "mbpp_plus": "mbpp_plus_test",
}
"""The site's name of each subset; other subsets have no place there."""
METRICS = {
    MEAN_TEST_PASS: "mean_test_pass",
    EPISODE_TEST_PASS: "mean_test_pass",
    SUITE_PASS: "suite_pass",
    EX: "suite_pass",
    EPISODE_PASS: "episode_pass",
    TURN_SUITE_PASS: "turn_suite_pass",
}
DEVELOPMENT = ("mbpp", "spider", "spider2_st_dev", "spider2_mt_dev")
TEST = ("spider2_st_test", "spider2_mt_test")
MACROS = {
    "development_overall": DEVELOPMENT,
    "test_overall": TEST,
    "overall": (*DEVELOPMENT, *TEST),
}
"""Macro means over the data sets that report a metric; given only where all of the sets were run."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the leaderboard."""

    method: str
    organization: str = ""
    category: str = ""
    date: str
    setting: str
    link: str = ""
    scores: dict[str, dict[str, float]]
    """By task and metric, in percent with two decimals."""


def entry(
    label: str,
    summary: Summary,
    *,
    date: str,
    organization: str = "",
    category: str = "",
    link: str = "",
) -> Entry:
    """The entry of one model; of its Oracle results, where it has results of two dialects.

    Args:
        label: name of the model.
        summary: of its results.
        date: ISO date.
        organization: who made the model.
        category: ``Open-weight``, ``Proprietary`` …
        link: to the model or the predictions.

    Raises:
        UserError: none of the subsets is one of the site's.
    """
    dialect: Dialect = "oracle" if "oracle" in summary.dialects else next(iter(summary.dialects))
    metrics = summary.dialects[dialect].metrics
    scores = {TASKS[subset]: dict(_scores(metrics[subset])) for subset in TASKS if metrics.get(subset)}
    if not scores:
        raise UserError(
            f"{label}: none of its subsets ({', '.join(metrics)}) is one of the leaderboard's"
            f" ({', '.join(TASKS)})"
        )
    return Entry(
        method=label,
        organization=organization,
        category=category,
        date=date,
        setting="Model" if dialect == "oracle" else "Model, on PostgreSQL",
        link=link,
        scores=scores | dict(_macros(scores)),
    )


def shortfalls(label: str, summary: Summary) -> Iterator[str]:
    """What keeps an entry from speaking for the whole benchmark, one line each."""
    for subset, count in published().tasks.items():
        metrics = summary.metrics.get(subset)
        n = max((metric.n for metric in metrics.values()), default=0) if metrics else 0
        if 0 < n < count:
            yield f"{label}: {subset} rests on {n} of {count} published tasks"
        missing = summary.subsets[subset].coverage.missing if subset in summary.subsets else 0
        if missing:
            yield f"{label}: {subset} has {grouped(missing, 'turn')} without a prediction, scored 0"


def encode_entries(entries: Sequence[Entry]) -> bytes:
    """The file: an object with the key ``entries``, as the site's has it."""
    return msgspec.json.format(msgspec.json.encode({"entries": entries}), indent=2) + b"\n"


def _scores(metrics: Mapping[str, MetricValue]) -> Iterator[tuple[str, float]]:
    for name, title in METRICS.items():
        metric = metrics.get(name)
        if metric is not None and metric.value is not None:
            yield title, round(100 * metric.value, 2)


def _macros(scores: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, dict[str, float]]]:
    for name, sets in MACROS.items():
        if not all(task in scores for task in sets):
            continue
        means = {}
        for metric in dict.fromkeys(METRICS.values()):
            values = [scores[task][metric] for task in sets if metric in scores[task]]
            if values:
                means[metric] = round(sum(values) / len(values), 2)
        yield name, means
