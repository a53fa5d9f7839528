"""Leaderboard entries, and the published figures that ship with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from saved_runs import many, missing_result, talk

from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.summary import Summary, summarize
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.leaderboard import encode_entries, entry, shortfalls
from pytest_plsqlbench.reporting.published import published

DEVELOPMENT = {"mbpp": 8, "spider": 7, "spider2_st": 5}


def full_run() -> list[TurnResult]:
    rows: list[TurnResult] = []
    for subset, solved in DEVELOPMENT.items():
        rows += many(10, solved_of_ten=solved, subset=subset, dialect="oracle")
    for number in range(4):
        rows += [
            msgspec.structs.replace(row, subset="spider2_mt", dialect="oracle")
            for row in talk(f"talk{number}", [True, number % 2 == 0])
        ]
    return rows


def entry_of(rows: list[TurnResult], **fields: str) -> dict[str, Any]:
    made = entry("m", summarize(rows), date="2026-01-31", **fields)
    entries: list[dict[str, Any]] = json.loads(encode_entries([made]))["entries"]
    return entries[0]


def test_scores_are_percent_by_the_sites_names() -> None:
    found = entry_of(full_run(), organization="Us", category="Open-weight", link="https://example.org")
    assert {name: value for name, value in found.items() if name != "scores"} == {
        "method": "m", "organization": "Us", "category": "Open-weight", "date": "2026-01-31",
        "setting": "Model", "link": "https://example.org",
    }  # fmt: skip
    assert found["scores"]["mbpp"] == {"mean_test_pass": 90.0, "suite_pass": 80.0}
    assert found["scores"]["spider2_mt_dev"] == {
        "mean_test_pass": 87.5, "episode_pass": 50.0, "turn_suite_pass": 75.0,
    }  # fmt: skip


def test_means_are_over_the_sets_that_report_a_metric_and_only_where_all_were_run() -> None:
    scores = entry_of(full_run())["scores"]
    assert scores["development_overall"] == {
        "mean_test_pass": pytest.approx((90 + 85 + 75 + 87.5) / 4, abs=0.01),
        "suite_pass": pytest.approx((80 + 70 + 50) / 3, abs=0.01),
        "episode_pass": 50.0,
        "turn_suite_pass": 75.0,
    }
    assert "overall" not in scores
    assert "test_overall" not in scores
    part = entry_of([row for row in full_run() if row.subset != "spider"])["scores"]
    assert "development_overall" not in part


def test_oracle_results_make_the_entry_where_there_are_two_dialects() -> None:
    rows = many(10, subset="spider", dialect="oracle", solved_of_ten=9)
    rows += many(10, subset="spider", dialect="postgres", solved_of_ten=1)
    assert entry_of(rows)["scores"]["spider"]["suite_pass"] == 90.0
    other = entry_of([row for row in rows if row.dialect == "postgres"])
    assert other["setting"] == "Model, on PostgreSQL"
    assert other["scores"]["spider"]["suite_pass"] == 10.0


def test_results_without_a_subset_of_the_site_are_refused() -> None:
    with pytest.raises(UserError, match="none of its subsets"):
        entry_of(many(5))


def test_what_an_entry_does_not_rest_on_is_said() -> None:
    summary: Summary = summarize([*many(10, subset="spider"), missing_result("gone", subset="spider")])
    lines = list(shortfalls("m", summary))
    assert lines == [
        "m: spider rests on 11 of 970 published tasks",
        "m: spider has 1 turn without a prediction, scored 0",
    ]


def test_entries_have_the_schema_of_the_site(shared: Path) -> None:
    path = shared / "data" / "plsqlbench_public_dev" / "leaderboard.json"
    site = json.loads(path.read_text(encoding="utf-8"))
    found = entry_of(full_run())
    assert list(found) == list(site["entries"][0])
    tasks = {task["id"] for task in site["tasks"]} | {"mbpp_plus_test"}
    metrics = {metric["id"] for metric in site["metrics"]}
    assert set(found["scores"]) <= tasks
    assert {metric for scores in found["scores"].values() for metric in scores} <= metrics


def test_the_sites_means_are_ours(shared: Path) -> None:
    path = shared / "data" / "plsqlbench_public_dev" / "leaderboard.json"
    site = json.loads(path.read_text(encoding="utf-8"))
    for one in site["entries"]:
        scores = one["scores"]
        for metric, value in scores["development_overall"].items():
            sets = ("mbpp", "spider", "stack", "spider2_st_dev", "spider2_mt_dev")
            values = [scores[name][metric] for name in sets if metric in scores[name]]
            assert sum(values) / len(values) == pytest.approx(value, abs=0.011)


def test_published_figures_are_those_of_the_papers(shared: Path) -> None:
    folder = shared / "data" / "published"
    first = json.loads((folder / "plsqlbench_paper.json").read_text(encoding="utf-8"))["models"]
    names = {"spider2_st_dev": "spider2_st", "spider2_mt_dev": "spider2_mt", "mbpp_plus_test": "mbpp_plus"}
    ours = {model.model: model for model in published().models if model.source == "plsqlbench"}
    assert len(ours) == len(first)
    seen = 0
    for model, metrics in first.items():
        scores = ours[model.replace("+Codex-Agent", " (Codex agent)")].scores
        for metric, values in metrics.items():
            for subset, value in values.items():
                if subset == "test_mean" or value is None:
                    continue
                talk = "_mt" in subset and metric == "mean_test_pass@1"
                assert scores[names.get(subset, subset)]["episode_test_pass@1" if talk else metric] == value
                seen += 1
    assert seen == sum(len(metrics) for model in ours.values() for metrics in model.scores.values())
    second = json.loads((folder / "procarena_paper.json").read_text(encoding="utf-8"))["direct_ex"]
    for found in (model for model in published().models if model.source == "procarena"):
        theirs = second[found.model][found.dialect]
        expected = {f"procarena_{name.lower()}": {"ex@1": value} for name, value in theirs.items()}
        assert expected == found.scores | {"procarena_overall": {"ex@1": theirs["overall"]}}
