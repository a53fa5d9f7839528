"""Which files are tasks, datasets joined, suites found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import Source, Task, Turn, UserError
from pytest_plsqlbench.datasets.bundled import bundled_path
from pytest_plsqlbench.datasets.dataset import Dataset, check_unique, join, shown_path
from pytest_plsqlbench.datasets.readers import (
    load_path,
    reader_of,
    suite_root,
    suite_tasks,
)

BODY = "subset: s\nvariants:\n  postgres: {prompt: p, reference: r, tests: [{name: t}]}\n"
SPIDER = {
    "instance_id": "1",
    "db_id": "x",
    "question": "q",
    "gold_sql_query": "select 1",
    "reference_answer": "r",
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def yaml_task(identity: str) -> str:
    return f"id: {identity}\n{BODY}"


def json_task(identity: str) -> str:
    variant = {"prompt": "p", "reference": "r", "tests": [{"name": "t"}]}
    return json.dumps({"id": identity, "subset": "s", "variants": {"postgres": variant}})


@pytest.mark.parametrize(
    ("name", "text", "reader"),
    [
        ("a.yaml", yaml_task("a"), "native YAML"),
        ("a.YML", "\ufeff" + yaml_task("a"), "native YAML"),
        ("a.yaml", "# words\n\nvarants: {}\nid: a\nsubset: s\n", "native YAML"),
        ("a.yaml", "id: a\nvariants: [", "native YAML"),
        ("a.yaml", "services:\n  id: x\n  subset: y\n", None),
        ("a.yaml", "name: ci\non: push\n", None),
        ("a.jsonl", json_task("a"), "native JSONL"),
        ("a.jsonl", "\n\n" + json_task("a"), "native JSONL"),
        ("a.jsonl", json.dumps({"instance_id": "a", "generated_plsql": '{"variants": 1}'}), None),
        ("results.jsonl", json.dumps({"schema_version": 1, "task": "a"}), None),
        ("spider1.jsonl", json.dumps(SPIDER), "PLSQLBench Spider-PLSQL"),
        (
            "other.jsonl",
            json.dumps({"instance_id": "1", "reference_answer": "", "tests": []}),
            "PLSQLBench Spider2",
        ),
        (
            "mbpp.jsonl",
            json.dumps({"task_id": "1", "test": "", "type_ddl_info": []}),
            "PLSQLBench MBPP-PLSQL",
        ),
        ("a.json", json_task("a"), None),
        ("a.txt", yaml_task("a"), None),
        ("a.yaml", "", None),
    ],
)
def test_the_reader_of_a_file(tmp_path: Path, name: str, text: str, reader: str | None) -> None:
    path = put(tmp_path, {name: text}) / name
    found = reader_of(path)
    assert (found.name if found else None) == reader


def test_no_reader_for_what_cannot_be_opened(tmp_path: Path) -> None:
    assert reader_of(tmp_path / "none.yaml") is None


def test_a_folder_is_walked_in_order_and_only_tasks_are_taken(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "b/2.yaml": yaml_task("b2"),
            "b/1.yaml": yaml_task("b1"),
            "a.jsonl": json_task("a1") + "\n" + json_task("a2"),
            "mkdocs.yml": "site_name: x\nplugins: [!!python/name:x ]\n",
            "notes.md": "id: x",
            "predictions.jsonl": json.dumps({"instance_id": "a1", "generated_plsql": ""}),
            "fixtures/db.yaml": "id: x\nsubset: y\nvariants: z\n",
            ".hidden/x.yaml": yaml_task("hidden"),
            ".x.yaml": yaml_task("hidden"),
            "venv/pyvenv.cfg": "",
            "env/pyvenv.cfg": "",
            "env/x.yaml": yaml_task("environment"),
            "node_modules/x.yaml": yaml_task("node"),
        },
    )
    assert [task.id for task in load_path(tmp_path).tasks] == ["a1", "a2", "b1", "b2"]


def test_a_link_that_leads_back_and_a_pipe_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path, {"x/a.yaml": yaml_task("a"), "far/b.yaml": yaml_task("b")})
    (tmp_path / "x/again").symlink_to(tmp_path / "x")
    (tmp_path / "x/far").symlink_to(tmp_path / "far")
    os.mkfifo(tmp_path / "x/pipe.yaml")
    assert [task.id for task in load_path(tmp_path / "x").tasks] == ["a", "b"]


def test_a_broken_task_in_a_folder_is_a_fault_and_not_passed_over(tmp_path: Path) -> None:
    put(tmp_path, {"a.yaml": yaml_task("a"), "b.yaml": "id: b\nsubset: s\nvariants:\n  postgres: [\n"})
    with pytest.raises(UserError, match=r"b\.yaml:5: is not valid YAML"):
        load_path(tmp_path)


def test_a_named_file_must_be_of_a_known_format(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": "x", "b.yaml": "name: ci\n", "c.jsonl": "{}\n"})
    with pytest.raises(
        UserError, match=r"a\.txt: is not a file of tasks; formats that are read: native YAML"
    ):
        load_path(tmp_path / "a.txt")
    with pytest.raises(UserError, match=r"c\.jsonl: is not a file of tasks"):
        load_path(tmp_path / "c.jsonl")
    with pytest.raises(UserError, match=r"b\.yaml:1: name: is not a known key"):
        load_path(tmp_path / "b.yaml")
    with pytest.raises(UserError, match=r"none\.yaml: cannot be read: No such file"):
        load_path(tmp_path / "none.yaml")


def test_a_row_of_another_format_is_named(tmp_path: Path) -> None:
    mbpp = json.dumps({"task_id": "MBPP/1", "test": "", "type_ddl_info": []})
    wrong = json.dumps({"instance_id": "1"})
    put(tmp_path, {"a.jsonl": f"{json_task('a')}\n{mbpp}\n", "b.jsonl": f"{json_task('a')}\n{wrong}\n"})
    with pytest.raises(UserError) as caught:
        load_path(tmp_path / "a.jsonl")
    assert str(caught.value).endswith(
        "a.jsonl:2: is a row of PLSQLBench MBPP-PLSQL in a file of native JSONL: one format a file"
    )
    with pytest.raises(UserError, match=r"b\.jsonl:2: (?!is a row of)"):
        load_path(tmp_path / "b.jsonl")


def test_an_id_in_two_files_names_both(tmp_path: Path) -> None:
    put(tmp_path, {"a.yaml": yaml_task("same"), "b.yaml": yaml_task("same")})
    with pytest.raises(UserError, match=r"b\.yaml:4: task id 'same' is already used in .*a\.yaml:4"):
        load_path(tmp_path)


def make(identity: str, *turns: str, dialect: str = "postgres", path: str = "a.yaml", line: int = 1) -> Task:
    return Task(
        id=identity,
        subset="s",
        dialect=dialect,  # type: ignore[arg-type]
        source=Source(path, line),
        conversation=bool(turns),
        turns=tuple(
            Turn(index=number, id=name, prompt="", reference=None, tests=())
            for number, name in enumerate(turns or (identity,), 1)
        ),
    )


def test_two_dialects_of_one_file_are_no_clash_but_of_two_files_they_are() -> None:
    check_unique([make("a"), make("a", dialect="oracle", line=9)])
    with pytest.raises(UserError, match=r"b\.yaml:1: task id 'a' is already used in a\.yaml:1"):
        check_unique([make("a"), make("a", dialect="oracle", path="b.yaml")])


def test_an_id_twice_in_one_file_is_a_clash() -> None:
    with pytest.raises(UserError, match=r"a\.jsonl:2: task id 'a' is already used in a\.jsonl:1"):
        check_unique([make("a", path="a.jsonl"), make("a", path="a.jsonl", line=2)])


def test_a_turn_with_the_id_of_another_task_is_a_clash() -> None:
    with pytest.raises(UserError, match="turn id 'c_q01' is already used"):
        check_unique([make("c", "c_q01", "c_q02"), make("c_q01", path="b.yaml")])
    with pytest.raises(UserError, match="turn id 'x' is already used"):
        check_unique([make("c", "x"), make("d", "x", path="b.yaml")])


def test_joined_tasks_keep_the_databases_of_their_files() -> None:
    def finder(name: str) -> Callable[[Task], Database]:
        return lambda task: Database(f"{task.id} of {name}", task.dialect, (), (), (), (), "")

    parts = [Dataset((make(n, path=f"{n}.yaml"),), finder(n), (f"note {n}",)) for n in ("a", "b")]
    both = join(parts)
    found = [both.database(task) for task in both.tasks]
    assert [database.name for database in found if database] == ["a of a", "b of b"]
    assert both.notes == ("note a", "note b")


def test_databases_beside_the_tasks_come_before_the_bundled_ones(tmp_path: Path) -> None:
    own = "tables:\n  mine:\n    columns: {a: integer}\n    rows: [[1]]\n"
    put(
        tmp_path,
        {
            "one/tasks/a.yaml": f"database: library\n{yaml_task('a')}",
            "one/fixtures/library.yaml": own,
            "two/tasks/b.yaml": f"database: library\n{yaml_task('b')}",
        },
    )
    found = load_path(tmp_path)
    databases = [found.database(task) for task in found.tasks]
    assert next([table.table for table in database.data] for database in databases if database) == ["mine"]
    assert [len(database.data) for database in databases if database] == [1, 8]


def test_where_a_suite_begins(tmp_path: Path) -> None:
    put(tmp_path, {"tasks/functions/a.yaml": "", "bench/datasets/spider/s.jsonl": "", "mine/deep/a.yaml": ""})
    assert suite_root(tmp_path / "tasks/functions/a.yaml") == tmp_path / "tasks"
    assert suite_root(tmp_path / "tasks/functions") == tmp_path / "tasks"
    assert suite_root(tmp_path / "tasks") == tmp_path / "tasks"
    assert suite_root(tmp_path / "bench/datasets/spider/s.jsonl") == tmp_path / "bench/datasets"
    assert suite_root(tmp_path / "mine/deep/a.yaml") == tmp_path / "mine/deep"
    assert suite_root(tmp_path / "mine") == tmp_path / "mine"


def test_all_tasks_of_the_suites_are_read_once(tmp_path: Path) -> None:
    put(
        tmp_path,
        {"tasks/x/a.yaml": yaml_task("a"), "tasks/y/b.yaml": yaml_task("b"), "more/c.yaml": yaml_task("c")},
    )
    paths = [tmp_path / "tasks/x/a.yaml", tmp_path / "tasks/y", tmp_path / "tasks", tmp_path / "more/c.yaml"]
    assert sorted(task.id for task in suite_tasks(paths)) == ["a", "b", "c"]


def test_paths_are_shown_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_path(tmp_path / "a" / "b.yaml") == "a/b.yaml"
    assert shown_path(Path("a/b.yaml")) == "a/b.yaml"
    assert shown_path(Path("/elsewhere/b.yaml")) == "/elsewhere/b.yaml"


def test_the_bundled_tasks_are_read_and_find_their_databases() -> None:
    found = load_path(bundled_path("tasks"))
    assert found.tasks
    for task in found.tasks:
        database = found.database(task)
        assert (database is None) == (task.database is None)
        assert database is None or (database.name, database.dialect) == (task.database, task.dialect)
