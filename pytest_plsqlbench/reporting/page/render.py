"""Putting a report together: one HTML file that holds all it shows and asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_plsqlbench.bench.gates.assessment import assess
from pytest_plsqlbench.bench.gates.verdict import WORDS, exit_code
from pytest_plsqlbench.bench.plural import grouped
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.bench.visible import visible
from pytest_plsqlbench.reporting.baseline import read_baseline
from pytest_plsqlbench.reporting.headline import TITLES
from pytest_plsqlbench.reporting.page.against import against_baseline, changed_turns, neighbours
from pytest_plsqlbench.reporting.page.beside import beside
from pytest_plsqlbench.reporting.page.charts import draw
from pytest_plsqlbench.reporting.page.content import (
    categories,
    overall_columns,
    plot_table,
    rank,
    run_facts,
    samples_table,
    subset_tables,
    warnings,
)
from pytest_plsqlbench.reporting.page.figures import FEWEST, figures
from pytest_plsqlbench.reporting.page.source import distinct, saved_run
from pytest_plsqlbench.reporting.page.turns import pack
from pytest_plsqlbench.reporting.runfile import REPORT_FILE, RESULTS_FILE
from pytest_plsqlbench.reporting.saved import read_gates
from pytest_plsqlbench.reporting.store import write_atomically
from pytest_plsqlbench.reporting.texts import TEXTS_FILE, read_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from pytest_plsqlbench.bench.baseline.comparable import Baseline
    from pytest_plsqlbench.bench.baseline.compare import Comparison
    from pytest_plsqlbench.bench.gates.assessment import Assessment
    from pytest_plsqlbench.bench.gates.text import Gate
    from pytest_plsqlbench.bench.gates.verdict import Decision, GateVerdict
    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.bench.summary import Summary
    from pytest_plsqlbench.reporting.page.source import SavedRun

TEMPLATES = Path(__file__).parent.parent / "templates"
CONFIDENCE = "95 %"
TONES: dict[Decision, str] = {"held": "held", "broken": "broken", "not_enough_evidence": "unsure"}
"""Class of a verdict."""
OUTCOMES = {0: ("held", "all held"), 1: ("broken", "broken"), 6: ("unsure", "may not be judged")}
"""Class and words of what the gates make of a run, by exit code."""


@dataclass(frozen=True)
class Judged:
    """What gates and a baseline said of the first run."""

    gates: Sequence[GateVerdict] = ()
    comparison: Comparison | None = None
    baseline: str = ""
    """Name of the baseline, for people."""
    refused: str | None = None
    """Why there is no comparison with the baseline that was given."""


def judge_saved(
    run: SavedRun,
    *,
    gates: Sequence[str] = (),
    files: Sequence[Path] = (),
    baseline: Path | None = None,
    common: bool = False,
    way: str,
) -> Judged:
    """What gates and a baseline say of a saved run; without gates what its own ones said when it ended.

    Args:
        run: to judge.
        gates: as texts.
        files: with a gate a line.
        baseline: an earlier run to compare with.
        common: compare the common part where the runs differ.
        way: how the user asks for that, for messages.

    Raises:
        UserError: a gate or file cannot be read, or the baseline cannot be compared with.
    """
    if not gates and not files and baseline is None:
        return Judged(run.gates)
    wanted = read_gates(gates, files, has_baseline=baseline is not None)
    if baseline is None:
        return Judged(_assess(run, wanted, None).verdicts)
    old = read_baseline(baseline, name=str(baseline), common=common, way=way)
    old.common_part(run.results)  # refused at once, not as a verdict
    found = _assess(run, wanted, old)
    return Judged(found.verdicts if wanted else run.gates, found.comparison, str(baseline))


def _assess(run: SavedRun, gates: Sequence[Gate], baseline: Baseline | None) -> Assessment:
    pending = run.collected - len(run.results)
    return assess(run.results, pending=pending, gates=gates, baseline=baseline, doubt=run.doubt)


def write_page(
    folder: Path,
    results: Sequence[TurnResult],
    summary: Summary,
    *,
    collected: int,
    judged: Judged,
) -> str | None:
    """Write the page of a run that has just ended; what keeps it from being written never costs the run.

    Args:
        folder: of the report, with the texts of the turns.
        results: of the run.
        summary: what they add up to.
        collected: how many turns the run set out to grade.
        judged: what gates and a baseline said.

    Returns:
        Why there is no page, one line; None where there is one.
    """
    try:
        texts = read_texts(folder / TEXTS_FILE)
        run = saved_run(folder / RESULTS_FILE, results, texts, summary, collected=collected)
        write_report(folder / REPORT_FILE, [run], judged)
    except UserError as error:
        return str(error)
    except Exception as fault:  # noqa: BLE001 (the verdicts are safe: a page can be made of them later)
        return f"{REPORT_FILE} was not written ({type(fault).__name__}: {visible(str(fault), keep='')})"
    return None


def write_report(path: Path, runs: Sequence[SavedRun], judged: Judged | None = None) -> int:
    """Write the report and give its size in bytes.

    Args:
        path: of the file.
        runs: at least one; several make a leaderboard.
        judged: what gates and a baseline said of the first one.

    Raises:
        UserError: the file cannot be written.
    """
    data = render(runs, judged).encode()
    write_atomically(path, data)
    return len(data)


def render(runs: Sequence[SavedRun], judged: Judged | None = None) -> str:
    """The page. The same results give the same page, byte for byte.

    Args:
        runs: at least one; several make a leaderboard.
        judged: what gates and a baseline said of the first one.
    """
    if not runs:
        raise UserError("there are no results to show")
    from markupsafe import Markup  # noqa: PLC0415 (as jinja2: only where a page is made)

    judged = judged or Judged()
    runs = distinct(runs)
    several = len(runs) > 1
    columns = overall_columns(runs)
    metric, ranking = rank(runs)
    facts = {run.label: run_facts(run, number, columns) for number, run in enumerate(runs, 1)}
    comparison = judged.comparison
    changed = changed_turns(comparison, runs[0]) if comparison else {}
    packed = pack(runs, changed)
    plots = [
        {
            "title": figure.title,
            "note": figure.note,
            "svg": Markup(draw(figure)),  # noqa: S704 (drawn and escaped by charts)
            **plot_table(figure),
        }
        for figure in figures(runs)
    ]
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    context: dict[str, Any] = {
        "version": version("pytest-plsqlbench"),
        "script": Markup(script),  # noqa: S704 (our own file)
        "script_hash": f"sha256-{digest}",
        "style": Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 (our own file)
        "heading": f"{len(runs)} models" if several else runs[0].label,
        "title": f"{', '.join(run.label for run in runs[:4])} - PLSQLBench report",
        "facts": _facts(runs),
        "warnings": [*warnings(runs), *([visible(judged.refused)] if judged.refused else ())],
        "gates": _gates(judged.gates),
        "runs": list(facts.values()),
        "columns": [TITLES[name] for name in columns],
        "ranking": [facts[run.label] for run in ranking],
        "ranked_by": TITLES[metric],
        "neighbours": list(neighbours(ranking, metric)) if several else [],
        "confidence": CONFIDENCE,
        "subset_tables": list(subset_tables(runs)),
        "samples": samples_table(runs),
        "comparison": (
            against_baseline(comparison, visible(judged.baseline), runs[0].label) if comparison else None
        ),
        "plots": plots,
        "fewest": FEWEST,
        "categories": categories(runs),
        "published": beside(runs),
        "pack_note": packed.note,
        "turns_data": packed.turns,
        "chunks": packed.chunks,
    }
    context["sections"] = _sections(context)
    return _environment().get_template("report.html.j2").render(context)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 (only for a page)

    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _facts(runs: Sequence[SavedRun]) -> list[str]:
    """The line below the heading."""
    results = sum(len(run.results) for run in runs)
    engines = sorted({f"{e.name} {e.version}" for run in runs for e in run.summary.engines})
    rules = sorted({run.summary.comparator or "" for run in runs})
    facts = [f"{grouped(results, 'turn')} graded or given up", f"rules {', '.join(rules)}", *engines]
    return [visible(fact) for fact in facts]


def _gates(verdicts: Sequence[GateVerdict]) -> dict[str, Any] | None:
    if not verdicts:
        return None
    tone, words = OUTCOMES[exit_code(verdicts)]
    return {
        "verdict": tone,
        "words": words,
        "rows": [
            {
                "verdict": TONES[entry.verdict],
                "words": WORDS[entry.verdict],
                "text": visible(entry.gate),
                "detail": visible(
                    f"{entry.reason}; enough would be: {entry.enough}" if entry.enough else entry.reason
                ),
            }
            for entry in verdicts
        ],
    }


def _sections(context: dict[str, Any]) -> list[tuple[str, str]]:
    """Anchors and names of the sections that the page has."""
    found = [
        ("gates", "Gates", context["gates"]),
        ("overview", "Leaderboard" if len(context["runs"]) > 1 else "Overview", True),
        ("subsets", "Subsets", True),
        ("baseline", "Baseline", context["comparison"]),
        ("plots", "Plots", context["plots"]),
        ("failures", "Failures", True),
        ("published", "Published", context["published"]),
        ("turns", "Turns", True),
    ]
    return [(name, title) for name, title, there in found if there]
