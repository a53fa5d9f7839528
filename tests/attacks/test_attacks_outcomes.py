"""Every attack has its one right outcome, alone and in parallel, and the turns after it do not notice it."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attack_cases import CANARIES_AT_THE_END, MARK, Attacked, Case, Expected, attack, attacks

MODES = (0, 2)
FREE = {"isolated_copy", "candidate_not_called", "replayed"}
"""Flags that say how a turn was played: a case names them where it must be so."""
KINDS = {
    *("print", "read", "time", "sessions", "persist", "transactions", "shadow"),
    *("exhaust", "client", "deferred", "second", "talks"),
}

Run = Callable[[int], Attacked]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # one run for all workers of this test session
        base = base.parent

    @cache
    def one(workers: int) -> Attacked:
        folder = Path(base) / f"attacks-n{workers}"
        return attack(folder, workers)

    return one


def outcome(result: dict[str, Any]) -> str:
    if result["status"] != "graded":
        return str(result["status"])
    if result["solved"]:
        return "solved"
    first = next(test for test in result["tests"] if test["verdict"] == "failed")
    return f"{first['category']}/{first['subcategory']}"


def check(result: dict[str, Any], expected: Expected) -> None:
    shown = {key: result[key] for key in ("status", "reason", "passed", "flags", "tests", "diagnostics")}
    assert outcome(result) in expected.outcomes, shown
    if result["solved"]:
        assert result["passed"] == result["total"] > 0
        assert all(test["verdict"] == "passed" for test in result["tests"])
    elif expected.passed is not None:
        assert result["passed"] == expected.passed, shown
    flags = frozenset(result["flags"])
    assert expected.flags <= flags <= expected.flags | FREE, shown


@pytest.mark.parametrize("workers", MODES)
@pytest.mark.parametrize("case", attacks(), ids=lambda case: case.id)
def test_an_attack_has_its_right_outcome(run: Run, case: Case, workers: int) -> None:
    attacked = run(workers)
    for expected in case.expected:
        check(attacked.results[expected.turn_id], expected)
    for text in case.shown:
        assert text.encode() in attacked.stdout
    for text in case.absent:
        for name, content in attacked.written.items():
            assert text.encode() not in content, name


@pytest.mark.parametrize("workers", MODES)
def test_every_honest_turn_between_and_after_the_attacks_is_solved(run: Run, workers: int) -> None:
    results = [result for result in run(workers).results.values() if result["subset"] == "canaries"]
    assert len(results) == len(attacks()) + CANARIES_AT_THE_END
    spoiled = {result["task"]: result for result in results if not result["solved"] or result["flags"]}
    assert not spoiled


@pytest.mark.parametrize("workers", MODES)
def test_the_run_ends_as_one_with_failed_turns(run: Run, workers: int) -> None:
    attacked = run(workers)
    assert attacked.exit_code == pytest.ExitCode.TESTS_FAILED
    turns = sum(len(case.programs) for case in attacks()) + len(attacks()) + CANARIES_AT_THE_END
    assert len(attacked.results) == turns
    assert b"INTERNALERROR" not in attacked.stdout
    assert b"Traceback" not in attacked.stdout


@pytest.mark.parametrize("workers", MODES)
def test_the_reference_is_seen_nowhere(run: Run, workers: int) -> None:
    for name, content in run(workers).written.items():
        assert MARK.encode() not in content, name


@pytest.mark.parametrize("workers", MODES)
def test_what_reaches_the_terminal_is_neutral(run: Run, workers: int) -> None:
    text = run(workers).stdout.decode("utf-8")  # strictly
    assert {char for char in text if not char.isprintable()} == {"\n"}
    # what CI services take for commands begins a line
    assert not [line for line in text.splitlines() if line.lstrip().startswith(("::", "##"))]


@pytest.mark.parametrize("workers", MODES)
def test_junit_xml_parses_and_is_complete(run: Run, workers: int) -> None:
    attacked = run(workers)
    suite = ET.parse(attacked.folder / "junit.xml").getroot()[0]
    names = [case.get("name") for case in suite.iter("testcase")]
    assert sorted(filter(None, names)) == sorted(f"{turn}[postgres]" for turn in attacked.results)
    content = (attacked.folder / "junit.xml").read_text(encoding="utf-8")
    assert {char for char in content if not char.isprintable()} <= {"\n"}


def test_there_are_attacks_of_every_kind() -> None:
    counts = {kind: sum(case.kind == kind for case in attacks()) for kind in KINDS}
    assert {case.kind for case in attacks()} == KINDS
    assert min(counts.values()) >= 5
    assert sum(counts.values()) >= 140
