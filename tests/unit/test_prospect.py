"""Which dialects a run may hold, judged before anything is collected: servers start for these alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from pytest_plsqlbench.bench.task import Source, Task, UserError
from pytest_plsqlbench.prospect import check_foreseen, dialects_ahead

YAML = "id: a\nsubset: s\nvariants:\n  {}:\n    prompt: x\n"
SPIDER = {"db_id": "d", "gold_sql_query": "SELECT 1"}
SPIDER2 = {"instance_id": "i", "reference_answer": "x", "tests": "y", "prompt": "as postgres does"}
MBPP = {"task_id": "MBPP/1", "type_ddl_info": "", "test": "z"}
NATIVE = {"id": "a", "subset": "s", "variants": {"oracle": {}}}


class Config:
    """What is asked of pytest's configuration."""

    def __init__(self, folder: Path, *args: str, skipped: tuple[str, ...] = (".*", "build")) -> None:
        self.args = list(args)
        self.invocation_params = pytest.Config.InvocationParams(args=(), plugins=None, dir=folder)
        self._skipped = skipped

    def getini(self, name: str) -> list[str]:
        """The one setting that matters."""
        assert name == "norecursedirs"
        return list(self._skipped)


def ahead(folder: Path, *args: str, skipped: tuple[str, ...] = (".*", "build")) -> set[str]:
    return set(dialects_ahead(cast("pytest.Config", Config(folder, *args, skipped=skipped))))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.yaml", YAML.format("oracle"), {"oracle"}),
        ("a.yaml", YAML.format("postgres"), {"postgres"}),
        ("a.yaml", YAML.format('"\\x70ostgres"').replace("x:", "x: oracle"), {"oracle", "postgres"}),
        ("a.jsonl", json.dumps(NATIVE) + "\n", {"oracle"}),
        (
            "a.jsonl",
            json.dumps(NATIVE) + "\n" + " " * 70_000 + YAML.format("postgres"),
            {"oracle", "postgres"},
        ),
        ("a.jsonl", json.dumps(SPIDER), {"oracle", "postgres"}),
        ("a.jsonl", json.dumps(SPIDER2), {"oracle"}),
        ("a.jsonl", json.dumps(MBPP), {"oracle"}),
    ],
)
@pytest.mark.parametrize("arg", ["tasks", "tasks/deep/{}", "."])
def test_dialects_of_files(arg: str, name: str, content: str, expected: set[str], tmp_path: Path) -> None:
    place = tmp_path / "tasks" / "deep"
    place.mkdir(parents=True)
    (place / name).write_text(content)
    (place / "other.jsonl").write_text("{}\n")
    (place / "test_x.py").write_text("postgres")
    assert ahead(tmp_path, arg.format(name)) == expected


def test_folders_that_pytest_does_not_enter_do_not_count(tmp_path: Path) -> None:
    for name in ("build", ".x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.yaml").write_text(YAML.format("postgres"))
    assert ahead(tmp_path, ".") == set()
    assert ahead(tmp_path, ".", skipped=()) == {"postgres"}
    assert ahead(tmp_path, "build") == {"postgres"}


def test_links_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.yaml").write_text(YAML.format("oracle"))
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "back").symlink_to(tmp_path / "tasks")
    assert ahead(tmp_path, "tasks") == {"oracle"}


def test_an_item_tells_its_dialect_and_what_is_not_known_is_all(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(YAML.format("postgres") + "# oracle\n")
    assert ahead(tmp_path, "a.yaml::a[oracle]") == {"oracle"}
    assert ahead(tmp_path, "a.yaml::a[postgres-s12]") == {"postgres"}
    assert ahead(tmp_path, "a.yaml::a[postgres]", "a.yaml::a[oracle]") == {"oracle", "postgres"}
    assert ahead(tmp_path, "a.yaml::a") == {"oracle", "postgres"}
    assert ahead(tmp_path, "some.package") == {"oracle", "postgres"}
    assert ahead(tmp_path) == set()


def test_what_was_not_foreseen_is_a_fault() -> None:
    task = Task(id="a", subset="s", dialect="postgres", turns=(), source=Source("a.yaml", 3))
    check_foreseen([task], frozenset(("postgres",)))
    with pytest.raises(
        UserError, match=r"a\.yaml:3: holds tasks in dialect postgres, which were not expected"
    ):
        check_foreseen([task], frozenset(("oracle",)))
