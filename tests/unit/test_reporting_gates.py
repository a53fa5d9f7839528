"""Verdicts and the comparison with a baseline, as the terminal shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_results import result

from pytest_plsqlbench.bench.baseline.comparable import common_part
from pytest_plsqlbench.bench.baseline.compare import compare
from pytest_plsqlbench.bench.gates.verdict import WORDS, GateVerdict
from pytest_plsqlbench.bench.summary import summarize
from pytest_plsqlbench.reporting.gates import comparison_lines, gate_lines
from pytest_plsqlbench.reporting.gatexml import gates_xml
from pytest_plsqlbench.reporting.page.render import Judged, render
from pytest_plsqlbench.reporting.page.source import saved_run
from pytest_plsqlbench.reporting.stepsummary import step_summary


def run(solved: int, model: str, count: int = 40) -> list[Any]:
    return [
        result(f"t{n}", "functions", int(n < solved), 1, model=model, reference_sha256="r")
        for n in range(count)
    ]


def lines(before: int, after: int, count: int = 40, model: str = "old", name: str = "old.jsonl") -> list[str]:
    old, new = run(before, model, count), run(after, "new", count)
    part = common_part(old, new, baseline=name, common=False, way="--common")
    return list(comparison_lines(compare(part, name)))


@pytest.mark.parametrize(
    ("before", "after", "count", "words"),
    [
        (10, 35, 40, "better"),
        (35, 10, 40, "worse"),
        (20, 21, 40, "no difference shown"),
        (1, 2, 3, "too few to tell"),
    ],
)
def test_what_a_difference_says_is_said_in_words(before: int, after: int, count: int, words: str) -> None:
    text = lines(before, after, count)
    assert text[0] == "against old.jsonl: old there, new here"
    [row] = [line for line in text if line.strip().startswith("solved@1")]
    assert row.endswith(f"] {words}")
    named = [line for line in text if "would have shown" in line]
    assert len(named) == (words != "too few to tell")
    assert max(map(len, text)) <= 80


def test_names_cannot_reach_the_terminal_raw() -> None:
    evil = "m\x1b]0;t\x07\u202e"
    gates = [GateVerdict(gate=evil, verdict="not_enough_evidence", reason=evil, enough=evil)]
    assert all(line.isprintable() for line in (*lines(1, 2, model=evil, name=evil), *gate_lines(gates)))


@settings(max_examples=100)
@given(st.lists(st.text("ab >=_@19%", min_size=1, max_size=200), min_size=1, max_size=5))
def test_verdicts_fit_80_columns(texts: list[str]) -> None:
    gates = [GateVerdict(gate=text, verdict="broken", reason=text) for text in texts]
    assert max(len(line) for line in gate_lines(gates)) <= 80


def test_a_verdict_is_called_the_same_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORDS, "not_enough_evidence", "cannot tell")
    gates = [GateVerdict(gate="solved@1 > 0", verdict="not_enough_evidence", reason="why")]
    assert list(gate_lines(gates))[:2] == ["gates: 1 cannot tell", "CANNOT TELL  solved@1 > 0"]
    assert b'message="cannot tell: why"' in gates_xml(gates)
    assert "cannot tell |" in step_summary(None, verdicts=gates)
    rows = run(1, "m")
    saved = saved_run(Path("r.jsonl"), rows, {}, summarize(rows), collected=40)
    page = render([saved], Judged(gates))
    assert ">cannot tell</span>" in page
