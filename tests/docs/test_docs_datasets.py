"""The examples of the pages on tasks, databases and predictions are read as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_plsqlbench.bench.task import DIALECTS
from pytest_plsqlbench.datasets.fixtures import databases as fixtures
from pytest_plsqlbench.datasets.native.schema import NativeTask
from pytest_plsqlbench.datasets.predictions import read_predictions
from pytest_plsqlbench.datasets.readers import load_path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))


def test_the_task_of_the_page_is_read(tmp_path: Path) -> None:
    path = tmp_path / "late-fee.yaml"
    path.write_text(blocks("tasks.md", "yaml")[0], encoding="utf-8")
    dataset = load_path(path)
    (task,) = dataset.tasks
    assert task.id == "late-fee"
    assert [test.compare[0].mode for test in task.turns[0].tests] == ["bag", "error_code"]
    assert dataset.database(task) is not None


def test_every_key_of_a_task_is_on_the_page() -> None:
    page = (DOCS / "tasks.md").read_text(encoding="utf-8")
    for name in NativeTask.__struct_fields__:
        assert f"`{name}`" in page


def test_the_database_of_the_page_is_read(tmp_path: Path) -> None:
    (tmp_path / "fixtures" / "shop").mkdir(parents=True)
    (tmp_path / "fixtures" / "shop.yaml").write_text(blocks("fixtures.md", "yaml")[0], encoding="utf-8")
    (tmp_path / "fixtures" / "shop" / "receipts.csv").write_text(
        blocks("fixtures.md", "csv")[0], encoding="utf-8"
    )
    for dialect in DIALECTS:
        database = fixtures.database("shop", tmp_path / "task.yaml", dialect)
        assert [len(list(table.rows())) for table in database.data] == [2, 2]


def test_the_predictions_of_the_page_are_read(tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text(blocks("predictions.md", "json")[0], encoding="utf-8")
    assert [(row.id, row.turn) for row in read_predictions(path)] == [("late-fee", None), ("talk", 2)]
