"""Results of earlier runs: nothing is lost, whenever a resumed run dies."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.shard import key_of
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.earlier import EARLIER_FILE, EarlierResults
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE, clear
from pytest_plsqlbench.reporting.store import ResultStore, encode_results, read_results


def result(task: str, status: str = "graded", mark: float = 0.0) -> TurnResult:
    values: dict[str, object] = {
        "task": task,
        "subset": "s",
        "dialect": "postgres",
        "conversation": False,
        "turn": 1,
        "turns": 1,
        "turn_id": task,
        "status": status,
        "passed": 0,
        "total": 1,
        "solved": False,
        "comparator": "published/1",
        "elapsed_ms": mark,
    }
    return msgspec.convert(values, TurnResult)


def write(folder: Path, *results: TurnResult, name: str = RESULTS_FILE) -> None:
    (folder / name).write_bytes(encode_results(results))


def known(folder: Path) -> dict[str, float]:
    return {key.task: found.elapsed_ms for key, found in EarlierResults(folder).results.items()}


def test_nothing_is_known_of_an_empty_folder(tmp_path: Path) -> None:
    earlier = EarlierResults(tmp_path)
    earlier.secure()
    earlier.settle([])
    assert earlier.results == {}
    assert list(tmp_path.iterdir()) == []


def test_both_files_are_read_and_the_later_verdict_counts(tmp_path: Path) -> None:
    write(tmp_path, result("a", mark=1), result("b", mark=1), name=EARLIER_FILE)
    write(tmp_path, result("b", mark=2), result("c", mark=2))
    assert known(tmp_path) == {"a": 1, "b": 2, "c": 2}


@pytest.mark.parametrize("status", ["infrastructure_error", "engine_unavailable", "reference_error"])
def test_a_verdict_counts_more_than_none(tmp_path: Path, status: str) -> None:
    write(tmp_path, result("a", mark=1), name=EARLIER_FILE)
    write(tmp_path, result("a", status, mark=2))
    earlier = EarlierResults(tmp_path)
    found = earlier.find(key_of(result("a")))
    assert found is not None
    assert found.elapsed_ms == 1


def test_what_is_no_verdict_is_not_found(tmp_path: Path) -> None:
    write(tmp_path, result("a", "missing"))
    assert EarlierResults(tmp_path).find(key_of(result("a"))) is None
    assert EarlierResults(tmp_path).find(key_of(result("b"))) is None


def test_what_was_found_anew_is_given_up(tmp_path: Path) -> None:
    write(tmp_path, *map(result, "abcd"))
    earlier = EarlierResults(tmp_path)
    earlier.secure()
    done = [result("a"), result("b", "infrastructure_error"), result("c", "engine_unavailable")]
    earlier.settle(done)
    assert [kept.task for kept in read_results(tmp_path / EARLIER_FILE)] == ["b", "c", "d"]
    EarlierResults(tmp_path).settle([*map(result, "abcd")])
    assert not (tmp_path / EARLIER_FILE).exists()


class Killed(BaseException):
    """The run ends here."""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.lists(st.sampled_from("abcdef"), max_size=6)), max_size=5))
def test_no_kill_at_any_step_loses_a_turn(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[int, list[str]]]
) -> None:
    """Each run dies before its n-th step, of which each is one change of a file."""
    folder = tmp_path_factory.mktemp("reports")
    finished: set[str] = set()
    for number, (steps, tasks) in enumerate(runs):
        left = steps

        def step() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed

        earlier, store = EarlierResults(folder), ResultStore(folder / RESULTS_FILE)
        assert finished <= known(folder).keys()
        try:
            step()
            earlier.secure()
            step()
            clear(folder)
            for task in tasks:
                step()
                store.add(result(task, mark=number))
                finished.add(task)
            step()
            results = store.finish()
            step()
            earlier.settle(results)
        except Killed:
            pass
        assert finished <= known(folder).keys()
    assert finished <= known(folder).keys()


def test_a_worker_that_reads_while_the_owner_begins_anew_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, result("a"), result("b"))
    read = Path.read_bytes

    def begun_anew_after_the_first_read(path: Path) -> bytes:
        monkeypatch.setattr(Path, "read_bytes", read)
        try:
            return read(path)
        finally:
            owner = EarlierResults(tmp_path)
            owner.secure()
            clear(tmp_path)

    monkeypatch.setattr(Path, "read_bytes", begun_anew_after_the_first_read)
    assert EarlierResults(tmp_path).results.keys() == {key_of(result("a")), key_of(result("b"))}
    assert not (tmp_path / RESULTS_FILE).exists()


def test_a_line_cut_short_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, result("a"), result("b"))
    path = tmp_path / RESULTS_FILE
    for length in range(len(path.read_bytes()) - 1, len(encode_results([result("a")])) - 1, -1):
        path.write_bytes(path.read_bytes()[:length])
        tasks = set(known(tmp_path))
        assert tasks - {"b"} == {"a"}


@pytest.mark.parametrize("name", [RESULTS_FILE, EARLIER_FILE])
@pytest.mark.parametrize("content", [b"x", b"[]", b'{"schema_version":2', b"\n\xff", b'{"task":"a"}'])
def test_what_no_run_writes_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=rf"{name}:\d: .*nothing was changed"):
        EarlierResults(tmp_path).secure()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_in_place_of_the_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / EARLIER_FILE).mkdir()
    for act in (EarlierResults(tmp_path).secure, EarlierResults(tmp_path).forget):
        with pytest.raises(UserError, match="earlier"):
            act()
