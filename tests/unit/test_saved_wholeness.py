"""Saved results that are not known to be a whole run's, or contradict themselves: never judged as good."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from bench_rows import single, talk
from click.testing import CliRunner
from saved_runs import save_run

from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.bench.run import describe_run, part_of
from pytest_plsqlbench.bench.shard import key_of
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli.gate import command
from pytest_plsqlbench.reporting.baseline import read_baseline
from pytest_plsqlbench.reporting.page.content import warnings
from pytest_plsqlbench.reporting.page.source import read_run
from pytest_plsqlbench.reporting.runfile import write_run
from pytest_plsqlbench.reporting.store import encode_results

ROWS = [*(single(f"t{n}", 1) for n in range(6)), *talk("c", 1, 1, 1)]
GATES = ("coverage >= 0.1", "solved@1 >= 0.1", "timeouts <= 5")


def judge(
    path: Path, *args: str, baseline: Path | None = None, gates: tuple[str, ...] = GATES
) -> tuple[int, str]:
    """Exit code, and the words."""
    more = [part for gate in gates for part in ("--gate", gate)]
    more += ["--baseline", str(baseline)] if baseline else []
    found = CliRunner().invoke(command, [str(path), *more, *args])
    if isinstance(found.exception, Exception):
        raise found.exception
    return found.exit_code, " ".join(found.output.split())


def save(folder: Path, rows: list[TurnResult], *, summary: bool = True) -> Path:
    save_run(folder, rows)
    if not summary:
        (folder / "summary.json").unlink()
    return folder


def test_a_whole_run_is_judged(tmp_path: Path) -> None:
    code, words = judge(save(tmp_path / "r", ROWS))
    assert (code, words[:13]) == (0, "gates: 3 held")
    assert not list(warnings([read_run(tmp_path / "r")]))


@pytest.mark.parametrize("gate", GATES)
def test_a_killed_run_is_not_judged(tmp_path: Path, gate: str) -> None:
    folder = save(tmp_path / "r", ROWS[:5], summary=False)
    code, words = judge(folder, gates=(gate,))
    assert code == 6
    assert "there is no summary.json beside its results" in words
    assert "--assume-complete" in words
    assert judge(folder, "--assume-complete", gates=(gate,))[0] == 0
    assert any("incomplete" in line for line in warnings([read_run(folder)]))


@pytest.mark.parametrize(
    ("gate", "code"), [("graded <= 4", 1), ("graded == 5", 6), ("graded != 7", 6), ("graded >= 5", 0)]
)
def test_a_count_is_decided_where_no_further_turn_can_change_it(tmp_path: Path, gate: str, code: int) -> None:
    folder = save(tmp_path / "r", ROWS[:5], summary=False)
    assert judge(folder, gates=(gate,))[0] == code


def test_a_conversation_that_lacks_turns_cannot_be_assumed_to_be_whole(tmp_path: Path) -> None:
    code, words = judge(save(tmp_path / "r", ROWS[:-1], summary=False), "--assume-complete")
    assert code == 6
    assert "8 of 9 turns" in words


def test_a_piece_of_a_file_beside_the_summary_of_the_whole_is_not_judged(tmp_path: Path) -> None:
    folder = save(tmp_path / "r", ROWS)
    (folder / "head.jsonl").write_bytes(encode_results(ROWS[:3]))
    code, words = judge(folder / "head.jsonl", "--assume-complete")
    assert code == 6
    assert "3 of 9 turns" in words


def test_a_summary_of_other_results_says_nothing_of_these(tmp_path: Path) -> None:
    folder = save(tmp_path / "r", ROWS[:3])
    (folder / "results.jsonl").write_bytes(encode_results([single(f"t{n}", 1, subset="x") for n in range(3)]))
    code, words = judge(folder)
    assert code == 6
    assert "counts other turns" in words


def test_a_run_that_lists_its_turns_is_held_to_the_list(tmp_path: Path) -> None:
    folder = save(tmp_path / "r", ROWS, summary=False)
    keys = [key_of(row) for row in ROWS]
    run = describe_run([], keys, version="1", predictions=None, comparator="published/1", settings={})
    write_run(folder, part_of(run, keys, predictions="gold"))
    assert judge(folder)[0] == 0
    others = [*ROWS[1:], single("new", 1)]  # as many, but not the same
    (folder / "results.jsonl").write_bytes(encode_results(others))
    assert judge(folder)[0] == 6


def test_a_killed_baseline_is_refused_or_noted(tmp_path: Path) -> None:
    run = save(tmp_path / "r", ROWS)
    old = save(tmp_path / "old", ROWS)
    content = json.loads((old / "summary.json").read_bytes())
    (old / "summary.json").write_text(json.dumps({**content, "complete": False, "turns_collected": 12}))
    with pytest.raises(UserError, match="incomplete: 3 of its turns have no result"):
        judge(run, baseline=old)
    assert "only the common part: it is incomplete: 3 of its turns" in judge(run, "--common", baseline=old)[1]


BAD = {
    "a line twice": [*ROWS, ROWS[0]],
    "solved against tests": [msgspec.structs.replace(ROWS[0], solved=False), *ROWS[1:]],
    "less than nothing": [msgspec.structs.replace(ROWS[0], passed=-1, solved=False, tests=()), *ROWS[1:]],
    "two comparators": [msgspec.structs.replace(ROWS[0], comparator="normalized/1"), *ROWS[1:]],
    "a turn beyond the last": [*ROWS[:-1], msgspec.structs.replace(ROWS[-1], turn=9)],
}


@pytest.mark.parametrize("name", BAD)
def test_results_that_contradict_themselves_are_one_line(tmp_path: Path, name: str) -> None:
    good, bad = save(tmp_path / "r", ROWS), save(tmp_path / "bad", ROWS)
    (bad / "results.jsonl").write_bytes(encode_results(BAD[name]))
    for path, baseline in ((bad, None), (good, bad)):
        with pytest.raises(UserError) as caught:
            judge(path, baseline=baseline, gates=GATES[:1])
        assert "\n" not in str(caught.value)
        assert str(bad / "results.jsonl") in str(caught.value)
    with pytest.raises(UserError):
        read_baseline(bad, name="bad", common=True, way="--common")
