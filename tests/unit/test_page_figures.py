"""The figures behind the plots, and the plots: right values, nothing where there is no data, valid SVG."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from saved_runs import HOSTILE, many, missing_result, save_run, talk, turn_result

from pytest_plsqlbench.bench.result import ReferenceFacts, TestResult, TurnResult
from pytest_plsqlbench.bench.visible import visible
from pytest_plsqlbench.reporting.page.charts import draw
from pytest_plsqlbench.reporting.page.figures import FEWEST, Figure, Kind, Point, Series, figures
from pytest_plsqlbench.reporting.page.source import SavedRun, distinct, read_run


def runs_of(tmp_path: Path, *results: list[TurnResult]) -> list[SavedRun]:
    for number, rows in enumerate(results):
        save_run(tmp_path / str(number), rows)
    return distinct([read_run(tmp_path / str(number)) for number in range(len(results))])


def by_id(found: list[Figure]) -> dict[str, Figure]:
    return {figure.id: figure for figure in found}


def test_a_small_run_has_no_plots(tmp_path: Path) -> None:
    assert figures(runs_of(tmp_path, many(19))) == []


def test_what_the_results_do_not_tell_is_left_out(tmp_path: Path) -> None:
    assert list(by_id(figures(runs_of(tmp_path, many(30))))) == ["subsets", "failures"]


def test_shares_are_those_of_the_turns_that_count(tmp_path: Path) -> None:
    rows = [
        msgspec.structs.replace(row, difficulty="hard" if place % 2 else "easy", database=f"db{place % 8}")
        for place, row in enumerate(many(38))
    ]
    rows += [missing_result("gone", difficulty="hard")]
    rows += [turn_result("broken", 0, status="reference_error", difficulty="hard")]
    rows += [turn_result(f"rare{n}", 2, difficulty="rare") for n in range(FEWEST - 1)]
    figure = by_id(figures(runs_of(tmp_path, rows)))["difficulty"]
    assert figure.groups == ("easy", "hard")
    easy, hard = (figure.series[0].at(group) for group in figure.groups)
    assert easy is not None
    assert hard is not None
    expected = [row.solved for row in rows if row.difficulty == "hard" and row.status != "reference_error"]
    assert hard.value == pytest.approx(sum(expected) / len(expected))
    assert hard.n == 20
    assert easy.n == 19
    assert hard.low is not None
    assert hard.high is not None
    assert hard.low < hard.value < hard.high


def test_samples_of_a_turn_weigh_as_one_turn(tmp_path: Path) -> None:
    rows = [turn_result(f"t{n}", 2, difficulty="easy") for n in range(19)]
    rows += [turn_result("many", 1, sample=sample, difficulty="easy") for sample in range(5)]
    point = by_id(figures(runs_of(tmp_path, rows)))["difficulty"].series[0].points[0]
    assert point.value == pytest.approx(0.95)
    assert point.n == 24


def test_constructs_and_complexity_are_the_references(tmp_path: Path) -> None:
    rows = [
        msgspec.structs.replace(
            row,
            constructs=("annotated",),
            reference=ReferenceFacts(5, 1 if place < 10 else 25, ("loop", "raise")) if place < 20 else None,
        )
        for place, row in enumerate(many(30))
    ]
    found = by_id(figures(runs_of(tmp_path, rows)))
    assert found["complexity"].groups == ("1", "over 20")
    assert sorted(found["construct"].groups) == ["annotated", "loop", "raise"]


def test_failures_stack_up_to_what_was_not_solved(tmp_path: Path) -> None:
    rows = [*many(30, solved_of_ten=5), missing_result("gone")]
    figure = by_id(figures(runs_of(tmp_path, rows)))["failures"]
    assert [series.name for series in figure.series] == ["wrong_result", "missing"]
    assert sum(series.points[0].value for series in figure.series) == pytest.approx(16 / 31)


def test_conversations_are_shown_turn_by_turn(tmp_path: Path) -> None:
    rows = [row for n in range(10) for row in talk(f"talk{n}", [True, n % 2 == 0, False])]
    figure = by_id(figures(runs_of(tmp_path, rows)))["turns"]
    assert figure.groups == ("1", "2", "3")
    assert [point.value for point in figure.series[0].points] == [1.0, 0.5, 0.0]


def test_direct_stands_beside_interactive_only_where_there_are_both(tmp_path: Path) -> None:
    direct = [msgspec.structs.replace(row, extra={"stage": "single"}) for row in many(20)]
    interactive = [
        msgspec.structs.replace(row, extra={"stage": "multi"}) for row in many(20, "model-b", solved_of_ten=3)
    ]
    found = by_id(figures(runs_of(tmp_path, direct, interactive)))["stages"]
    assert found.groups == ("functions, direct", "functions, interactive")
    assert [series.points[0].value for series in found.series] == [pytest.approx(0.6), pytest.approx(0.3)]
    assert "stages" not in by_id(figures(runs_of(tmp_path / "alone", direct)))


def test_time_and_work_are_those_of_solved_turns(tmp_path: Path) -> None:
    def timed(number: int) -> TurnResult:
        test = TestResult(
            name="a", verdict="passed", elapsed_ms=3.0, reference_ms=1.0, work=10, reference_work=10
        )
        return turn_result(f"t{number}", 1, 1, tests=(test,))

    found = by_id(figures(runs_of(tmp_path, [timed(n) for n in range(20)])))
    assert [point.value for point in found["time"].series[0].points] == [0, 0, 0, 0, 1.0, 0]
    assert [point.value for point in found["work"].series[0].points] == [0, 0, 1.0, 0, 0, 0]


FIGURE = Figure(
    id="made",
    title=HOSTILE,
    note="What it shows.",
    kind="dots",
    unit="turns",
    groups=("</svg><script>alert(1)</script>", "$a_1$", "日本語"),
    series=(
        Series(
            HOSTILE,
            (
                Point("$a_1$", 0.5, 0.4, 0.6, 9),
                Point("</svg><script>alert(1)</script>", 1, None, None, 9),
            ),
        ),
        Series("b", (Point("日本語", 0.25, 0.1, 0.4, 9),)),
    ),
)


@pytest.mark.parametrize("kind", ["dots", "stack", "line", "bars"])
def test_a_plot_is_valid_and_brings_neither_colours_nor_names_of_its_own(kind: str) -> None:
    figure = msgspec.structs.replace(FIGURE, kind=kind)
    drawn = draw(figure)
    assert drawn == draw(figure)
    root = ET.fromstring(drawn)
    svg = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    names = {
        element.get("id"): element.text for element in root if element.tag in {f"{svg}title", f"{svg}desc"}
    }
    assert names["made-title"] == visible(HOSTILE, keep="")
    assert set(root.get("aria-labelledby", "").split()) == set(names)
    assert not list(root.iter(f"{svg}style"))
    assert not list(root.iter(f"{svg}script"))
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert all(str(name).startswith("made-") for name in ids)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn))
    assert used <= set(ids)
    colours = set(re.findall(r"#[0-9a-f]{6}\b", drawn))
    assert colours == set()
    assert "var(--series-1)" in drawn or kind == "stack"
    texts = [text.text for text in root.iter(f"{svg}text")]
    assert any("$a_1$" in str(text) for text in texts)
    assert any("日本語" in str(text) for text in texts)


@pytest.mark.parametrize("kind", ["dots", "line"])
def test_dots_at_the_ends_of_the_scale_are_not_cut(kind: Kind) -> None:
    points = (Point("a", 1.0, 0.7, 1.0, 9), Point("b", 0.0, 0.0, 0.3, 9))
    drawn = ET.fromstring(
        draw(
            Figure(
                id="f",
                title="F",
                note="",
                kind=kind,
                unit="share",
                groups=("a", "b"),
                series=(Series("m", points),),
            )
        )
    )
    svg = "{http://www.w3.org/2000/svg}"
    dots = [element for element in drawn.iter(f"{svg}g") if element.find(f"{svg}use") is not None]
    series = [group for group in dots if len(group.findall(f"{svg}use")) == 2]
    assert series
    assert not [group for group in series if "clip-path" in group.attrib]
