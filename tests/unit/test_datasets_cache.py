"""The cache of decoded task files: never wrong, never in the way."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from cache_work import work

from pytest_plsqlbench.cachefolder import cache_root
from pytest_plsqlbench.datasets import cache
from pytest_plsqlbench.datasets.cache import EntryCache, cache_file
from pytest_plsqlbench.datasets.native import reader as native
from pytest_plsqlbench.datasets.native.reader import read_jsonl, read_yaml
from pytest_plsqlbench.datasets.task_cache import encoded, remembered

TASK = "id: {}\nsubset: s\nvariants:\n  postgres: {{prompt: p, reference: r, tests: [{{name: t}}]}}\n"
KEY = bytes(range(32))
OTHER = bytes(32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def forget() -> None:
    """As a new process begins: nothing in memory."""
    native._cache_of.cache_clear()


def files(folder: Path) -> list[Path]:
    return sorted((folder / "plsqlbench-tasks").glob("*"))


def count(folder: Path) -> int:
    """Number of entries on disk."""
    return sum(path.read_bytes().count(cache._MAGIC) for path in files(folder))


def test_what_was_put_is_got(tmp_path: Path) -> None:
    path = tmp_path / "below" / "file"
    entries = EntryCache(path)
    assert entries.get(KEY) is None
    entries.put(KEY, b"payload")
    entries.put(OTHER, b"")
    assert entries.get(KEY) == b"payload"
    assert EntryCache(path).get(KEY) == b"payload"
    assert EntryCache(path).get(OTHER) == b""
    assert EntryCache(path).get(b"x" * 32) is None


def test_the_last_entry_of_a_key_counts(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for payload in (b"old", b"new"):
        EntryCache(path).put(KEY, payload)
    assert EntryCache(path).get(KEY) == b"new"


@pytest.mark.parametrize("place", range(0, 75, 3))
def test_a_changed_byte_costs_entries_and_is_mended(tmp_path: Path, place: int) -> None:
    path = tmp_path / "file"
    entries = EntryCache(path)
    entries.put(KEY, b"payload")
    entries.put(OTHER, b"second")
    content = bytearray(path.read_bytes())
    content[len(content) // 2 - 10 + place % 60] ^= 1
    path.write_bytes(content)
    again = EntryCache(path)
    assert again.get(KEY) in {b"payload", None}
    assert again.get(OTHER) in {b"second", None}
    again.put(OTHER, b"third")
    assert EntryCache(path).get(OTHER) == b"third"


@pytest.mark.parametrize("kept", range(0, 70, 5))
def test_a_torn_end_is_cut_off(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "file"
    entries = EntryCache(path)
    entries.put(KEY, b"payload")
    whole = path.read_bytes()
    entries.put(OTHER, b"x" * 20)
    path.write_bytes(path.read_bytes()[: len(whole) + kept])
    again = EntryCache(path)
    assert again.get(KEY) == b"payload"
    assert again.get(OTHER) is None
    assert path.read_bytes() == whole
    again.put(OTHER, b"y")
    assert EntryCache(path).get(OTHER) == b"y"


def test_repetitions_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    EntryCache(path).put(KEY, b"x" * 100)
    once = path.read_bytes()
    path.write_bytes(once * 4)
    assert EntryCache(path).get(KEY) == b"x" * 100
    assert path.read_bytes() == once


def test_a_file_that_grew_too_large_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LARGEST", 100)
    path = tmp_path / "file"
    entries = EntryCache(path)
    entries.put(KEY, b"x" * 100)
    entries.put(OTHER, b"x" * 100)
    assert EntryCache(path).get(KEY) == b"x" * 100
    assert path.read_bytes() == b""


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    entries = EntryCache(tmp_path / "file" / "below")
    entries.put(KEY, b"payload")
    assert entries.get(KEY) == b"payload"


def test_many_processes_write_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(work, [path] * 8, range(8)))
    entries = EntryCache(path)
    for number in range(8):
        for step in range(50):
            assert entries.get(bytes([number, step]) * 16) == bytes([number]) * (1000 * number + step)


# ---- what is removed -------------------------------------------------------------------------------


def age(path: Path) -> None:
    past = time.time() - 100 * 86_400
    os.utime(path, (past, past), follow_symlinks=False)


def test_files_that_were_not_used_for_long_are_forgotten(folder: Path) -> None:
    old, labelled, young, new = (
        cache_file("old"),
        cache_file("old", "a\nlabel " * 20),
        cache_file("young"),
        cache_file("new"),
    )
    for path in (old, labelled, young):
        EntryCache(path).put(KEY, b"payload")
    torn = young.with_name(".new-abc_def0")
    torn.write_bytes(b"x")
    for path in (old, labelled, torn):
        age(path)
    EntryCache(new).put(KEY, b"payload")
    assert files(folder) == sorted([new, young])


def test_no_file_of_others_is_ever_removed(folder: Path) -> None:
    place = folder / "plsqlbench-tasks"
    place.mkdir(parents=True)
    names = ("add-one.yaml", ".new-thing", "a" * 24, f"{'a' * 24}.tasks.bak", f"x{'a' * 24}.tasks", "-.tasks")
    for name in names:
        (place / name).write_text("mine")
        age(place / name)
    EntryCache(cache_file("new")).put(KEY, b"payload")
    assert {path.name for path in files(folder)} == {*names, cache_file("new").name}


def test_tasks_in_the_cache_folder_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path))
    (tmp_path / "tasks").mkdir()
    mine = [tmp_path / "tasks" / f"{name}.yaml" for name in "abc"]
    for path in mine:
        path.write_text(TASK.format(path.stem))
        age(path)
    forget()
    for path in mine:
        read_yaml(path)
    assert count(tmp_path) == 3
    assert sorted((tmp_path / "tasks").iterdir()) == mine


def test_links_are_not_followed_to_what_is_removed(folder: Path, tmp_path: Path) -> None:
    victims = tmp_path / "victims"
    victims.mkdir()
    victim = victims / cache_file("victim").name
    victim.write_text("mine")
    age(victim)
    folder.mkdir()
    (folder / "plsqlbench-tasks").symlink_to(victims)
    EntryCache(cache_file("new")).put(KEY, b"payload")
    assert EntryCache(cache_file("new")).get(KEY) == b"payload"  # a folder elsewhere is used, not cleaned
    assert victim.read_text() == "mine"


# ---- what is no ordinary file ----------------------------------------------------------------------


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2 << 40)


ODD: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "link": lambda path: path.symlink_to(path.parent.parent / "victim"),
    "folder": lambda path: path.mkdir(),
    "sparse": sparse,
}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_ordinary_file_is_as_if_it_were_not_there(tmp_path: Path, kind: str) -> None:
    (tmp_path / "victim").write_bytes(b"mine")
    path = tmp_path / "below" / "file"
    path.parent.mkdir()
    ODD[kind](path)
    entries = EntryCache(path)
    assert entries.get(KEY) is None
    entries.put(KEY, b"payload")
    assert entries.get(KEY) == b"payload"
    assert EntryCache(path).get(KEY) == (b"payload" if kind == "sparse" else None)
    assert (tmp_path / "victim").read_bytes() == b"mine"


def test_the_folder_is_named_by_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_root() == folder
    monkeypatch.delenv("PLSQLBENCH_CACHE_DIR")
    assert cache_root().name == "pytest-plsqlbench"


def test_a_task_is_parsed_once_and_then_taken_from_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a"))
    first = read_yaml(path).tasks
    assert count(folder) == 1
    forget()

    def refuse(*args: object) -> None:
        raise AssertionError("not from the cache")

    monkeypatch.setattr(native, "parse_yaml", refuse)
    assert read_yaml(path).tasks == first


def test_a_changed_file_is_read_anew(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a"))
    before = path.stat()
    assert read_yaml(path).tasks[0].id == "a"
    path.write_text(TASK.format("b"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read_yaml(path).tasks[0].id == "b"
    assert count(folder) == 2


def test_equal_files_share_an_entry_and_keep_their_own_place(folder: Path, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(TASK.format("a"))
    found = [read_yaml(tmp_path / name).tasks[0].source.path for name in ("a.yaml", "b.yaml")]
    assert [Path(path).name for path in found] == ["a.yaml", "b.yaml"]
    assert count(folder) == 1


def test_entries_of_other_code_are_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a"))
    read_yaml(path)
    monkeypatch.setattr(native, "_code_version", lambda: b"other")
    read_yaml(path)
    assert count(folder) == 2


@pytest.mark.parametrize("payload", [b"\xc1", b"\x90", b"\x81\xa2id\xa1x"])
def test_an_entry_that_holds_no_tasks_is_written_anew(folder: Path, tmp_path: Path, payload: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a"))
    first = read_yaml(path).tasks
    key = hashlib.sha256(native._code_version() + path.read_bytes()).digest()
    EntryCache(files(folder)[0]).put(key, payload)
    for _ in range(2):
        forget()
        assert read_yaml(path).tasks == first


def test_a_faulty_file_leaves_no_entry(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a") + "oops: 1\n")
    for _ in range(2):
        forget()
        with pytest.raises(Exception, match="oops"):
            read_yaml(path)
    assert not files(folder)


# ---- what an entry cannot give back -----------------------------------------------------------------

STATED = """\
id: a
subset: s
variants:
  postgres:
    prompt: p
    tests: [{name: t, call: SELECT 1, compare: list, expect: {rows: [[NUMBER]]}}]
"""
LINE = (
    '{"id": "a", "subset": "s", "variants": {"postgres": {"prompt": "p", "tests": [{"name": "t",'
    ' "call": "SELECT 1", "compare": "list", "expect": {"rows": [[NUMBER]]}}]}}}'
)
EXACT = {
    "123456789012345678901234567890": 123456789012345678901234567890,
    "-9223372036854775809": -9223372036854775809,
    "18446744073709551616": 18446744073709551616,
    "1.10000000000000000001": Decimal("1.10000000000000000001"),
}


@pytest.mark.parametrize("number", EXACT)
def test_numbers_that_no_entry_can_hold_are_read_as_they_stand(
    folder: Path, tmp_path: Path, number: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(STATED.replace("NUMBER", number))
    lines = tmp_path / "a.jsonl"
    lines.write_text(LINE.replace("NUMBER", number))
    for _ in range(2):
        forget()
        for dataset in (read_yaml(path), read_jsonl(lines)):
            expect = dataset.tasks[0].turns[0].tests[0].expect
            assert expect is not None
            assert expect.rows is not None
            cell = expect.rows[0][0]
            assert (type(cell), cell) == (type(EXACT[number]), EXACT[number])
    assert count(folder) == 0


def test_the_largest_numbers_that_an_entry_can_hold_are_kept(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        STATED.replace("NUMBER", "18446744073709551615, -9223372036854775808, 1.5, true, null, x")
    )
    first = read_yaml(path).tasks
    assert count(folder) == 1
    forget()
    assert read_yaml(path).tasks == first


def test_published_tasks_with_such_numbers_are_built_each_time(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(STATED.replace("NUMBER", "1.10000000000000000001"))
    tasks = read_yaml(path).tasks
    assert encoded(tasks) is None
    for _ in range(2):
        assert remembered(path, (), (), lambda: tasks) == tasks
    assert count(folder) == 0
