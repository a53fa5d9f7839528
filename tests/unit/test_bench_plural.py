"""Nouns that go with a number, wherever people read one."""

from __future__ import annotations

import re
from pathlib import Path

from saved_runs import missing_result, turn_result

from pytest_plsqlbench.bench.plural import grouped, noun, numbered
from pytest_plsqlbench.bench.summary import summarize
from pytest_plsqlbench.reporting.page.content import warnings
from pytest_plsqlbench.reporting.page.source import saved_run
from pytest_plsqlbench.reporting.repeats import repeat_lines
from pytest_plsqlbench.reporting.stepsummary import step_summary
from pytest_plsqlbench.reporting.terminal import summary_lines


def test_one_is_singular_and_any_other_number_plural() -> None:
    assert [numbered(number, "turn") for number in (0, 1, 2)] == ["0 turns", "1 turn", "2 turns"]
    assert [grouped(number, "entry", "entries") for number in (1, 1000)] == ["1 entry", "1,000 entries"]
    assert (noun(1, "was", "were"), noun(0, "was", "were")) == ("was", "were")


def test_no_report_of_a_single_turn_speaks_of_several() -> None:
    rows = [turn_result("t", 0, 1, repeats=(("failed",), ("failed",)))]
    summary = summarize(rows)
    run = saved_run(Path("r.jsonl"), rows, {}, summary, collected=1)
    gone = summarize([missing_result("t", total=1)])
    texts = [
        *summary_lines(summary, collected=1, left_out={"oracle": 1}),
        *summary_lines(gone, collected=2, left_out={}),
        *warnings([run]),
        *repeat_lines(rows, 2),
        step_summary(summary, collected=1, left_out={"oracle": 1}),
    ]
    assert not [text for text in texts if re.search(r"\b1 (turns|tests|tasks|results|rows)\b", text)]
