"""The step summary: what it says, that nothing in it can be injected, that it fits."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sample_results import result

from pytest_plsqlbench.bench.baseline.comparable import common_part
from pytest_plsqlbench.bench.baseline.compare import compare
from pytest_plsqlbench.bench.blame import Blame
from pytest_plsqlbench.bench.difference import escape
from pytest_plsqlbench.bench.gates.verdict import GateVerdict
from pytest_plsqlbench.bench.summary import summarize
from pytest_plsqlbench.reporting.markdown import code, plain, table
from pytest_plsqlbench.reporting.stepsummary import LIMIT, append_step_summary, cut_to, step_summary

GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": False})
EVIL = [
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/p.png)",
    "[click](javascript:alert(1))",
    "`</code><script>alert(1)</script>",
    "a|b\\|c",
    "\n\n# heading\n- list",
    "``` x",
    "**bold** _it_ ~~gone~~",
    "https://evil.example www.evil.example",
    "&lt;script&gt;",
    "\x1b[31m\u202e",
    "`",
    "``",
    " ",
]


def tags(markdown: str) -> set[str]:
    return set(re.findall(r"<(\w+)", GITHUB.render(markdown)))


@pytest.mark.parametrize("text", EVIL)
def test_a_name_is_shown_as_it_is_and_does_nothing(text: str) -> None:
    for markdown in (code(text), plain(text)):
        rendered = GITHUB.render("x " + markdown + " x")
        assert tags("x " + markdown + " x") <= {"p", "code"}, rendered
        shown = html.unescape(re.sub("<[^>]*>", "", rendered))
        assert shown.split() == f"x {escape(text)} x".split()


@settings(max_examples=200)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_no_text_at_all_leaves_its_place(text: str) -> None:
    for markdown in (code(text), plain(text)):
        assert tags(f"x {markdown} x") <= {"p", "code"}
        rendered = GITHUB.render("\n".join(table(["a", "b"], [[markdown, "last"]])))
        assert re.findall(r"<(\w+)", rendered).count("td") == 2
        assert '<td style="text-align:right">last</td>' in rendered
        assert set(re.findall(r"<(\w+)", rendered)) <= {"table", "thead", "tbody", "tr", "th", "td", "code"}


@pytest.mark.parametrize("text", EVIL)
def test_bars_in_cells_are_bars(text: str) -> None:
    rendered = GITHUB.render("\n".join(table(["a", "b"], [[code(text), "last"]])))
    cell = rendered.split("<td")[1]
    assert html.unescape(re.sub("<[^>]*>", "", "<td" + cell)).strip() == escape(text).strip()


def a_run(solved: int, model: str = "model-x") -> list[Any]:
    return [
        result(f"t{n}", "functions", int(n < solved), 1, model=model, reference_sha256="r", turn_id=f"t{n}")
        for n in range(20)
    ]


def a_summary(**more: Any) -> str:
    return step_summary(summarize(a_run(10)), collected=20, **more)


def test_scores_come_with_intervals_coverage_and_what_failed() -> None:
    text = a_summary(files=["reports/results.jsonl"])
    assert text.startswith("## plsqlbench\n\n`model-x`, graded by `published/1`\n")
    assert re.search(r"\| `functions` \| 20 \| 100\.0% \| 50\.0% \(\d\d\.\d-\d\d\.\d\) \|", text)
    assert "Turns: 20 `graded`; coverage 100.0%." in text
    assert "| `wrong_result/output_mismatch` | 10 | 10 |" in text
    assert text.endswith("Files: `reports/results.jsonl`\n")
    assert "table" in tags(text)


def test_a_run_that_was_stopped_says_so_first() -> None:
    text = step_summary(summarize(a_run(10)), collected=50, title="shard 1/4", left_out={"oracle": 3})
    assert text.startswith("## plsqlbench shard 1/4\n")
    assert "**Incomplete:** 20 of 50 turns were graded." in text
    assert "Left out: 3 in dialect `oracle`" in text


def test_gates_are_shown_with_their_reasons_the_broken_first() -> None:
    verdicts = [
        GateVerdict(gate="coverage >= 0.9", verdict="held", reason="100.0%"),
        GateVerdict(gate="a|b >= 1", verdict="broken", reason="no <subset> a|b"),
        GateVerdict(gate="c", verdict="not_enough_evidence", reason="wide", enough="90 tasks"),
    ]
    lines = [line for line in a_summary(verdicts=verdicts).splitlines() if "`" in line and "|" in line]
    assert lines[:3] == [
        r"| ❌ broken | `a\|b >= 1` | no &lt;subset&gt; a\|b |  |",
        "| ❔ not enough evidence | `c` | wide | 90 tasks |",
        "| ✅ held | `coverage >= 0.9` | 100.0% |  |",
    ]
    alone = step_summary(None, verdicts=verdicts, title="gate")
    assert alone.startswith("## plsqlbench gate\n\n| verdict |")


def test_what_changed_is_counted_and_named() -> None:
    old, new = a_run(15, "old"), a_run(10)
    part = common_part(old, new, baseline="old.jsonl", common=False, way="--common")
    text = a_summary(comparison=compare(part, "old.jsonl"))
    assert "### Against `old.jsonl` (`old`)\n\n20 tasks compared.\n" in text
    assert re.search(r"\| `suite_pass@1` \| 75\.0% \| 50\.0% \| -25\.0 \| -\d\d\.\d to [+-]?\d+\.\d \|", text)
    assert "Turns: 5 newly broken." in text
    assert "Newly broken: `t10[postgres]`, `t11[postgres]`" in text


def test_blame_is_told() -> None:
    talk = [
        result("t", "talks", 0, 1, conversation=True, turn=n, turns=2, turn_id=f"t{n}", blame=blame)
        for n, blame in ((1, {"failure": "own"}), (2, {"failure": "inherited", "passed": 1}))
    ]
    assert msgspec.structs.astuple(talk[0].blame or Blame(failure="unknown"))[0] == "own"
    text = step_summary(summarize(talk), collected=2)
    assert "Failed turns of conversations: 1 inherited (50.0%), 1 own, 0 unknown." in text


def test_names_in_a_summary_cannot_inject() -> None:
    rows = [result(text, text, 0, 1, model=text, turn_id=f"{n}") for n, text in enumerate(EVIL)]
    text = step_summary(
        summarize(rows),
        collected=99,
        title=EVIL[0],
        files=EVIL,
        verdicts=[GateVerdict(gate=text, verdict="broken", reason=text, enough=text) for text in EVIL],
    )
    assert tags(text) <= {*["h2", "p", "code", "strong", "table", "thead", "tbody", "tr", "th", "td"]}


def test_it_is_appended_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert append_step_summary("## one\n", {"GITHUB_STEP_SUMMARY": str(path)}) is None
    assert append_step_summary("## two\n", {"GITHUB_STEP_SUMMARY": str(path)}) is None
    assert path.read_text() == "## one\n\n## two\n"
    assert append_step_summary("## three\n", {"GITHUB_STEP_SUMMARY": ""}) is None
    assert append_step_summary("## three\n", {}) is None


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    said = append_step_summary("x", {"GITHUB_STEP_SUMMARY": str(tmp_path / "none" / "x.md")})
    assert said is not None
    assert said.endswith("none/x.md: No such file or directory")


def test_the_file_never_exceeds_what_github_takes(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    for _ in range(5):
        append_step_summary("ä" * 50 + "\n" + "line\n" * 60_000, {"GITHUB_STEP_SUMMARY": str(path)})
    data = path.read_bytes()
    assert LIMIT - 200 < len(data) <= LIMIT
    assert data.endswith(b"*The rest is cut off: a summary holds 1 MiB.*\n")
    append_step_summary("more\n", {"GITHUB_STEP_SUMMARY": str(path)})
    assert len(path.read_bytes()) <= LIMIT


def test_whole_lines_are_kept() -> None:
    assert cut_to(b"abc\n", 4) == b"abc\n"
    assert cut_to(b"abc\n" * 100, 60).startswith(b"abc\n")
    assert cut_to(b"abc\n" * 100, 30) == b""
