"""The results store: readable at every moment, complete at the end."""

from __future__ import annotations

import msgspec
import pytest

from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.store import ResultStore, encode_results, read_results, write_atomically


def result(task: str, turn: int = 1, sample: int = 0, **more: object) -> TurnResult:
    values: dict[str, object] = {
        "task": task,
        "subset": "s",
        "dialect": "postgres",
        "conversation": False,
        "turn": turn,
        "turns": turn,
        "turn_id": task,
        "sample": sample,
        "status": "graded",
        "passed": 1,
        "total": 1,
        "solved": True,
        "comparator": "published/1",
    }
    return msgspec.convert(values | more, TurnResult)


def test_every_result_is_in_the_file_at_once(tmp_path):
    store = ResultStore(tmp_path / "deep" / "results.jsonl")
    for task in ("b", "a"):
        store.add(result(task))
    assert [r.task for r in read_results(store.path)] == ["b", "a"]
    assert [r.task for r in store.finish()] == ["a", "b"]
    assert [r.task for r in read_results(store.path)] == ["a", "b"]


def test_an_earlier_file_is_replaced_by_the_first_result_not_before(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(encode_results([result("old")]))
    store = ResultStore(path)
    store.finish()
    assert [r.task for r in read_results(path)] == ["old"]
    store.add(result("new"))
    assert [r.task for r in read_results(path)] == ["new"]


def test_a_later_result_of_the_same_turn_wins(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.add(result("a", status="infrastructure_error", passed=0, solved=False))
    store.add(result("a"))
    assert [r.status for r in store.finish()] == ["graded"]


def test_a_line_cut_short_by_a_killed_run_is_left_out(tmp_path):
    path = tmp_path / "results.jsonl"
    whole = encode_results([result("a"), result("b")])
    path.write_bytes(whole[:-20])
    assert [r.task for r in read_results(path)] == ["a"]


def test_a_line_in_the_middle_that_is_no_result_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"{}\n" + encode_results([result("a")]))
    with pytest.raises(UserError, match=r"results\.jsonl:1: not a result"):
        read_results(path)


def test_a_file_of_another_schema_version_is_refused(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(encode_results([result("a", schema_version=99)]))
    with pytest.raises(UserError, match="schema_version 99"):
        read_results(path)


def test_numbers_in_ids_sort_by_value(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    for task in ("spider_10", "spider_9", "spider_9_b"):
        store.add(result(task))
    assert [r.task for r in store.finish()] == ["spider_9", "spider_9_b", "spider_10"]


def test_nothing_is_left_of_a_write_that_fails(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(UserError, match="cannot write"):
        write_atomically(tmp_path / "folder", b"x")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
