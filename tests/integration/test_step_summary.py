"""``GITHUB_STEP_SUMMARY``: each run, merge and gate appends what it has to say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench_suite import Suite


@pytest.fixture
def step(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the step, as GitHub makes it before the step begins."""
    path = suite.folder / "step.md"
    path.touch()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def command(suite: Suite, *args: str) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-c", "from pytest_plsqlbench.cli import main; main()", *args]
    return subprocess.run(run, cwd=suite.folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_run_says_what_it_has_shown(suite: Suite, step: Path, workers: tuple[str, ...]) -> None:
    rows = suite.right()
    rows[0] |= {"generated_plsql": "SELECT 1;", "model": "m`<b>"}
    suite.run(suite.predict(*rows), "-q", *workers).assert_outcomes(passed=3, failed=1)
    text = step.read_text()
    assert text.count("## plsqlbench") == 1
    assert "`` m`<b> ``, graded by `published/1`" in text
    assert "| `functions` | 1 | 100.0% | 0.0% (" in text
    assert "| `talks` | 1 | 100.0% | 100.0% (" in text
    assert "Files: `reports/results.jsonl`, `reports/summary.json`" in text


def test_shards_and_their_merge_tell_each_their_part(suite: Suite, step: Path) -> None:
    option = suite.predict(*suite.right())
    for part in ("1", "2"):
        suite.run(option, f"--plsql-shard={part}/2", f"--plsql-report=parts/{part}")
    assert command(suite, "merge", "parts", "--out", "whole").returncode == 0
    text = step.read_text()
    assert text.count("## plsqlbench shard 1/2\n") == text.count("## plsqlbench shard 2/2\n") == 1
    merged = text.partition("## plsqlbench merge of out.jsonl\n")[2]
    assert "| `functions` | 1 |" in merged
    assert "| `talks` | 1 |" in merged


def test_gates_stand_in_the_summary_of_their_run_and_of_saved_results(suite: Suite, step: Path) -> None:
    suite.run(suite.predict(*suite.right()), "--plsql-gate=solved@1 < 1", "-qq")
    assert "| ❌ broken | `solved@1 < 1` |" in step.read_text()
    step.write_text("")
    assert (
        command(suite, "gate", "reports", "--gate", "solved@1 == 1", "--baseline", "reports").returncode == 0
    )
    text = step.read_text()
    assert text.startswith("## plsqlbench gate reports\n")
    assert "| ✅ held | `solved@1 == 1` |" in text
    assert "### Against `reports` (" not in text  # no model named
    assert "Turns: none did otherwise." in text


def test_nothing_is_said_where_nothing_was_graded(suite: Suite, step: Path) -> None:
    suite.run(suite.predict(*suite.right()), "--collect-only")
    suite.run(suite.predict(*suite.right()), "-k", "nothing")
    assert step.read_text() == ""


def test_a_summary_that_cannot_be_written_fails_nothing(
    suite: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.folder / "none" / "step.md"))
    result = suite.run(suite.predict(*suite.right()))
    result.assert_outcomes(passed=4)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["plsqlbench: cannot write the step summary *none/step.md: No such file *"])
