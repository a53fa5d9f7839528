"""The cache of decoded task files: never wrong, never in the way."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_plsqlbench.datasets import native
from pytest_plsqlbench.datasets.cache import EntryCache, cache_root
from pytest_plsqlbench.datasets.native import read_yaml

TASK = "id: {}\nsubset: s\nvariants:\n  postgres: {{prompt: p, reference: r, tests: [{{name: t}}]}}\n"
KEY = "ab" + "0" * 62


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("tasks/??/*"))


def test_what_was_put_is_got(tmp_path: Path) -> None:
    cache = EntryCache(tmp_path)
    assert cache.get(KEY) is None
    cache.put(KEY, b"payload")
    assert cache.get(KEY) == b"payload"
    cache.put(KEY, b"")
    assert EntryCache(tmp_path).get(KEY) == b""


@pytest.mark.parametrize("broken", [b"", b"x", b"x" * 40])
def test_a_broken_entry_is_none(tmp_path: Path, broken: bytes) -> None:
    cache = EntryCache(tmp_path)
    cache.put(KEY, b"payload")
    (path,) = tmp_path.glob("??/*")
    path.write_bytes(broken)
    assert cache.get(KEY) is None
    cache.put(KEY, b"payload")
    assert cache.get(KEY) == b"payload"


def test_a_single_changed_byte_is_noticed(tmp_path: Path) -> None:
    cache = EntryCache(tmp_path)
    cache.put(KEY, b"payload")
    (path,) = tmp_path.glob("??/*")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert cache.get(KEY) is None


def test_a_folder_that_cannot_be_written_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = EntryCache(tmp_path / "file" / "below")
    cache.put(KEY, b"payload")
    assert cache.get(KEY) is None


def test_many_writers_leave_one_whole_entry(tmp_path: Path) -> None:
    payload = b"x" * 100_000

    def work(_: int) -> None:
        cache = EntryCache(tmp_path)
        cache.put(KEY, payload)
        assert cache.get(KEY) == payload

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(64)))
    assert [path.name for path in tmp_path.glob("??/*")] == [KEY[2:]]
    assert not list(tmp_path.glob("??/.new-*"))


def test_old_entries_are_forgotten_and_young_ones_kept(tmp_path: Path) -> None:
    cache = EntryCache(tmp_path)
    cache.put(KEY, b"old")
    (old,) = tmp_path.glob("??/*")
    past = time.time() - 100 * 86_400
    os.utime(old, (past, past))
    os.utime(tmp_path / "swept", (past, past))
    fresh = EntryCache(tmp_path)
    fresh.put("cd" + "0" * 62, b"young")
    assert fresh.get(KEY) is None
    assert fresh.get("cd" + "0" * 62) == b"young"


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
    assert len(entries(folder)) == 1

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
    assert len(entries(folder)) == 2


def test_equal_files_share_an_entry_and_keep_their_own_place(folder: Path, tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(TASK.format("a"))
    found = [read_yaml(tmp_path / name).tasks[0].source.path for name in ("a.yaml", "b.yaml")]
    assert [Path(path).name for path in found] == ["a.yaml", "b.yaml"]
    assert len(entries(folder)) == 1


def test_entries_of_other_code_are_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a"))
    read_yaml(path)
    monkeypatch.setattr(native, "_code_version", lambda: b"other")
    read_yaml(path)
    assert len(entries(folder)) == 2


@pytest.mark.parametrize("payload", [b"\xc1", b"\x90", b"\x81\xa2id\xa1x"])
def test_an_entry_that_holds_no_tasks_is_written_anew(folder: Path, tmp_path: Path, payload: bytes) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a"))
    first = read_yaml(path).tasks
    (entry,) = entries(folder)
    EntryCache(folder / "tasks").put(entry.parent.name + entry.name, payload)
    assert read_yaml(path).tasks == first
    assert read_yaml(path).tasks == first


def test_a_faulty_file_leaves_no_entry(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TASK.format("a") + "oops: 1\n")
    for _ in range(2):
        with pytest.raises(Exception, match="oops"):
            read_yaml(path)
    assert not entries(folder)
