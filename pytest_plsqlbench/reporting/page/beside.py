"""Published scores beside the runs of a report: only for subsets that a run has, in its own dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.bench.visible import visible
from pytest_plsqlbench.reporting.headline import EPISODES, SINGLE, TITLES
from pytest_plsqlbench.reporting.published import published

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_plsqlbench.bench.metrics import MetricValue
    from pytest_plsqlbench.reporting.page.source import SavedRun

TITLES_OF_DIALECTS = {"oracle": "Oracle", "postgres": "PostgreSQL"}


def beside(runs: Sequence[SavedRun]) -> dict[str, Any] | None:
    """The table of published scores and those of the runs; None where no subset is a published one.

    Figures of the dialect that a run was graded in stand beside it; where the papers have none of that
    dialect (PLSQLBench published Oracle's alone) those that there are.
    """
    known = published()
    subsets = {subset for run in runs for subset in run.summary.metrics}
    dialects = {dialect for run in runs for dialect in run.summary.dialects}
    models = [
        model
        for model in known.models
        if model.scores.keys() & subsets and (model.dialect in dialects or model.source == "plsqlbench")
    ]
    if not models:
        return None
    columns = [
        (subset, metric)
        for subset in sorted(subsets)
        for metric in (*SINGLE, *EPISODES)
        if any(metric in model.scores.get(subset, {}) for model in models)
    ]
    rows: list[dict[str, Any]] = [
        {
            "label": run.label,
            "number": number,
            "kind": "total",
            "tag": "this report",
            "cells": [_own(run.summary.metrics.get(subset, {}), metric) for subset, metric in columns],
        }
        for number, run in enumerate(runs, 1)
    ]
    sources = {model.source for model in models}
    rows += [
        {
            "label": model.model,
            "number": 0,
            "kind": "published",
            "tag": f"{known.sources[model.source].title}, {TITLES_OF_DIALECTS[model.dialect]}",
            "cells": [_figure(model.scores.get(subset, {}).get(metric)) for subset, metric in columns],
        }
        for model in models
    ]
    return {
        "columns": [{"subset": visible(subset), "metric": TITLES[metric]} for subset, metric in columns],
        "rows": rows,
        "sources": " ".join(
            f"{source.title}: {source.source}; {source.engine}."
            for name, source in known.sources.items()
            if name in sources
        ),
    }


def _own(metrics: Mapping[str, MetricValue], name: str) -> str:
    metric = metrics.get(name)
    return _figure(None if metric is None or metric.value is None else 100 * metric.value)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
