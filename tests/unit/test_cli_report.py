"""``plsqlbench report``: where pages and entries go, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from saved_runs import many, save_run

from pytest_plsqlbench.bench.run import describe_run, part_of
from pytest_plsqlbench.bench.shard import Shard, key_of
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli.gate import command as gate_command
from pytest_plsqlbench.cli.report import command
from pytest_plsqlbench.reporting.runfile import write_run
from pytest_plsqlbench.reporting.store import encode_results


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two runs in it."""
    monkeypatch.chdir(tmp_path)
    save_run(tmp_path / "a", many(6, subset="spider", dialect="oracle"))
    save_run(tmp_path / "b", many(6, "model-b", 3, subset="spider", dialect="oracle"))
    return tmp_path


def run(*args: str) -> Result:
    result = CliRunner().invoke(command, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_the_page_of_one_run_lies_beside_its_results(folder: Path) -> None:
    assert run("a").output.startswith("a/report.html: 6 turns of 1 run, ")
    assert (folder / "a" / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_page_of_several_runs_lies_here_or_where_it_is_wanted(folder: Path) -> None:
    assert run("a", "b/results.jsonl").output.startswith("report.html: 12 turns of 2 runs, ")
    run("a", "b", "--out", "pages/both.html")
    assert (folder / "pages" / "both.html").read_bytes() == (folder / "report.html").read_bytes()


def test_entries_are_written_and_say_what_they_rest_on(folder: Path) -> None:
    output = run(
        "a", "b", "--leaderboard-json", "board.json", "--date", "2026-02-03", "--organization", "Us"
    ).output
    entries = json.loads((folder / "board.json").read_bytes())["entries"]
    assert [(entry["method"], entry["date"], entry["organization"]) for entry in entries] == [
        ("model-a", "2026-02-03", "Us"),
        ("model-b", "2026-02-03", "Us"),
    ]
    assert "board.json: 2 leaderboard entries" in output
    assert "note: model-b: spider rests on 6 of 970 published tasks" in output


def test_entries_that_cannot_be_made_do_not_cost_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise UserError("no entry can be made of this run")

    monkeypatch.setattr("pytest_plsqlbench.reporting.leaderboard.entry", refuse)
    with pytest.raises(UserError, match="no entry"):
        CliRunner().invoke(command, ["a", "--leaderboard-json", "board.json"], catch_exceptions=False)
    assert (folder / "a" / "report.html").exists()


def test_a_baseline_is_compared_with(folder: Path) -> None:
    run("b", "--baseline", "a")
    page = (folder / "b" / "report.html").read_text(encoding="utf-8")
    assert "Against the baseline" in page
    assert "Newly broken" in page


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere"], "cannot read nowhere"),
        (["a", "--gate", "nonsense >="], "nonsense"),
        (["a", "--gate", "no_worse_than(baseline)"], "name one with --baseline"),
        (["a", "--gates-file", "missing.txt"], "cannot read missing.txt"),
    ],
)
def test_what_cannot_be_shown_is_one_line_and_writes_nothing(
    folder: Path, args: list[str], words: str
) -> None:
    with pytest.raises(UserError, match=words.replace("(", r"\(")) as caught:
        CliRunner().invoke(command, args, catch_exceptions=False)
    assert "\n" not in str(caught.value)
    assert not (folder / "a" / "report.html").exists()


def test_results_can_be_taken_as_whole_as_the_gate_command_does(folder: Path) -> None:
    (folder / "a" / "summary.json").unlink()
    page = folder / "a" / "report.html"
    run("a", "--gate", "solved@1 >= 0")
    assert "may not be judged" in page.read_text(encoding="utf-8")
    run("a", "--gate", "solved@1 >= 0", "--assume-complete")
    text = page.read_text(encoding="utf-8")
    assert "all held" in text
    assert "perhaps incomplete" not in text


def test_a_part_of_a_run_is_never_taken_as_whole(folder: Path) -> None:
    (folder / "a" / "summary.json").unlink()
    keys = [key_of(row) for row in many(60, subset="spider", dialect="oracle")]
    described = describe_run([], keys, version="1", predictions=None, comparator="published/1", settings={})
    part = part_of(described, keys, Shard(1, 2), predictions="gold")
    mine = set(part.turns)
    rows = [row for row in many(60, subset="spider", dialect="oracle") if key_of(row) in mine]
    (folder / "a" / "results.jsonl").write_bytes(encode_results(rows))
    write_run(folder / "a", part)
    run("a", "--gate", "solved@1 >= 0", "--assume-complete")
    assert "may not be judged" in (folder / "a" / "report.html").read_text(encoding="utf-8")


def test_both_commands_that_judge_take_the_same_options() -> None:
    shared = {"gates", "files", "baseline", "common", "assume_complete"}
    for judging in (command, gate_command):
        assert shared <= {option.name for option in judging.params}
        assert judging.params[0].name == "results"
