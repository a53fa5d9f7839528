"""The page as text: what it says, that nothing in it can act, that it needs nobody."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from saved_runs import HOSTILE, many, missing_result, save_run, talk, turn_result, turn_text

from pytest_plsqlbench.bench.gates.verdict import GateVerdict
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.page.render import Judged, judge_saved, render, write_page
from pytest_plsqlbench.reporting.page.source import distinct, read_run


class Page(HTMLParser):
    """What a browser makes of a page: elements, identifiers, texts by section."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.inside):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))

    def ids(self) -> list[str | None]:
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]


def page_of(folder: Path, *results: object, judged: Judged | None = None) -> Page:
    return Page(text_of(folder, *results, judged=judged))


def text_of(folder: Path, *results: object, judged: Judged | None = None) -> str:
    for number, rows in enumerate(results):
        save_run(folder / str(number), rows)  # type: ignore[arg-type]
    return render([read_run(folder / str(number)) for number in range(len(results))], judged)


def test_several_samples_have_a_table_of_chances(tmp_path: Path) -> None:
    several = [turn_result("t", 2 - (sample == 1), sample=sample) for sample in range(2)]
    page = page_of(tmp_path, several, [turn_result("t", 2, model="model-b")])
    assert "Several samples a task" in page.text
    assert re.search(r"functions model-a Suite Pass 2 100\.0% [\d.-]+ 0\.0% [\d.-]+ 1 ", page.text)
    assert "Several samples" not in page_of(tmp_path / "one", [turn_result("t", 2)]).text


def test_only_the_pages_own_script_may_run_and_nothing_is_loaded(tmp_path: Path) -> None:
    text = text_of(tmp_path, many(30))
    page = Page(text)
    metas = {a.get("http-equiv"): a.get("content") for tag, a in page.elements if tag == "meta"}
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert metas["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';"
        " base-uri 'none'; form-action 'none'"
    )
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert not {"src", "srcset", "action"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", text)
    assert "@import" not in text


def test_names_are_unique_and_links_lead_somewhere(tmp_path: Path) -> None:
    page = page_of(tmp_path, many(30), many(30, "model-b", 4))
    ids = page.ids()
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for tag, a in page.elements if tag == "a" and a.get("href")}  # type: ignore[index]
    assert {target for target in targets if "=" not in target} <= set(ids)
    labelled = {a.get("aria-labelledby") for _, a in page.elements if a.get("aria-labelledby")}
    assert {name for names in labelled for name in str(names).split()} <= set(ids)


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    row = turn_result(
        HOSTILE, 0, subset=HOSTILE, model=HOSTILE, turn_id=HOSTILE, difficulty=HOSTILE, flags=(HOSTILE,),
        database=HOSTILE, constructs=(HOSTILE,),
    )  # fmt: skip
    tests = [msgspec.structs.replace(test, name=HOSTILE, subcategory=HOSTILE) for test in row.tests]
    row = msgspec.structs.replace(row, tests=tuple(tests))
    rows = [row, *(msgspec.structs.replace(row, task=f"{HOSTILE}{number}") for number in range(30))]
    save_run(tmp_path / "a", rows, [turn_text(r, prompt=HOSTILE, program=HOSTILE) for r in rows])
    save_run(tmp_path / "b", [msgspec.structs.replace(r, passed=2, solved=True, tests=()) for r in rows])
    run, old = read_run(tmp_path / "a"), tmp_path / "b"
    judged = judge_saved(run, baseline=old, way="--common")
    gate = GateVerdict(gate=HOSTILE, verdict="broken", reason=HOSTILE, enough=HOSTILE)
    text = render([run], Judged((gate,), judged.comparison, HOSTILE, HOSTILE))
    page = Page(text)
    assert not [tag for tag, _ in page.elements if tag == "img"]
    assert sum(tag == "script" and not a for tag, a in page.elements) == 1
    assert not any(name.startswith("on") for _, a in page.elements for name in a)
    assert "{{ 7 * 7 }}" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufeff]", text)
    assert "\\x1b[31m" in page.text
    assert "\\u202e" in page.text


def test_the_same_results_give_the_same_page(tmp_path: Path) -> None:
    rows = [*many(30), *talk("talk", [True, False])]
    assert text_of(tmp_path / "a", rows) == text_of(tmp_path / "b", rows[::-1])


def test_one_run_shows_its_scores_with_intervals(tmp_path: Path) -> None:
    rows = [*many(20), *talk("talk", [True, False]), missing_result("gone")]
    page = page_of(tmp_path, rows)
    assert "1 turn has no prediction: scored 0" in page.text
    summary = read_run(tmp_path / "0").summary
    suite = summary.metrics["functions"]["suite_pass@1"]
    assert suite.value is not None
    assert f"{100 * suite.value:.1f}%" in page.text
    for title in ("Mean Test Pass@1", "Suite Pass@1", "Episode Pass@1", "functions", "talks", "published/1"):
        assert title in page.text
    assert "Leaderboard" not in page.text
    assert "Against the baseline" not in page.text
    assert "Published scores" not in page.text


def test_a_run_that_was_stopped_says_so(tmp_path: Path) -> None:
    save_run(tmp_path, many(20))
    (tmp_path / "summary.json").write_text('{"turns_collected": 55}')
    assert "incomplete: 20 of 55 turns were graded" in Page(render([read_run(tmp_path)])).text
    (tmp_path / "summary.json").write_text("broken")
    assert "perhaps incomplete: it is not known whether" in Page(render([read_run(tmp_path)])).text


def test_several_runs_are_ranked_and_neighbours_compared(tmp_path: Path) -> None:
    page = page_of(tmp_path, many(100, "weak", 3), many(100, "strong", 9), many(100, "middle", 8))
    table = page.text[page.text.index("Ranked by") :]
    assert table.index("strong") < table.index("middle") < table.index("weak")
    words = r"strong against middle : \+10\.0 \[.*?\] points of Suite Pass@1 over 100 tasks"
    assert re.search(words, page.text)
    assert re.search(r"middle against weak : \+50\.0 \[.*?\].*?; better \.", page.text)


def test_runs_of_one_model_are_told_apart(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        save_run(tmp_path / name, many(5))
    labels = [run.label for run in distinct([read_run(tmp_path / name) for name in ("monday", "tuesday")])]
    assert labels == ["model-a (monday)", "model-a (tuesday)"]


def test_a_baseline_shows_the_newly_broken_first(tmp_path: Path) -> None:
    save_run(tmp_path / "old", many(60, "old", 6))
    new = many(60, "new", 6)
    new[0] = turn_result("task-0000", 0, model="new")
    new[6] = turn_result("task-0006", 2, model="new")
    new[7] = turn_result("task-0007", 0, model="new")
    save_run(tmp_path / "new", new)
    run = read_run(tmp_path / "new")
    judged = judge_saved(run, baseline=tmp_path / "old", way="--common")
    page = Page(render([run], judged))
    section = page.text[page.text.index("Against the baseline") : page.text.index("Plots Lines")]
    titles = [section.index(title) for title in ("Newly broken 1", "Newly solved 1", "Worse")]
    assert titles == sorted(titles)
    links = [a["href"] for tag, a in page.elements if tag == "a" and "turn=" in str(a.get("href"))]
    assert links[0] == "#turn=functions/task-0000/postgres/1/0"
    assert "60 tasks and conversations" in section


def test_a_baseline_of_another_task_set_is_refused_with_the_reason(tmp_path: Path) -> None:
    save_run(tmp_path / "old", many(10))
    save_run(tmp_path / "new", many(12))
    with pytest.raises(UserError, match="2 tasks of this run are not in it"):
        judge_saved(read_run(tmp_path / "new"), baseline=tmp_path / "old", way="--common")
    run = read_run(tmp_path / "new")
    judged = judge_saved(run, baseline=tmp_path / "old", common=True, way="--common")
    assert "2 tasks of this run are not in it" in Page(render([run], judged)).text


def test_gates_are_shown_with_their_verdicts(tmp_path: Path) -> None:
    save_run(tmp_path, many(40))
    run = read_run(tmp_path)
    gates = ["functions.suite_pass@1 >= 0.99", "coverage >= 0.9"]
    page = Page(render([run], judge_saved(run, gates=gates, way="--common")))
    section = page.text[page.text.index("Gates broken") : page.text.rindex("Overview")]
    for words in (*gates, "held", "broken"):
        assert words in section


def test_gates_of_the_run_itself_are_remembered(tmp_path: Path) -> None:
    save_run(tmp_path, many(5))
    verdict = GateVerdict(gate="coverage >= 1", verdict="held", reason="coverage is 100 %")
    (tmp_path / "summary.json").write_bytes(msgspec.json.encode({"turns_collected": 5, "gates": [verdict]}))
    run = read_run(tmp_path)
    assert "Gates all held" in Page(render([run], judge_saved(run, way="--common"))).text


def test_published_scores_stand_beside_marked(tmp_path: Path) -> None:
    rows = many(20, subset="mbpp", dialect="oracle")
    page = page_of(tmp_path, rows)
    section = page.text[page.text.index("Published scores") :]
    assert "published, other engine version" in section
    assert "arXiv 2608.15931" in section
    assert re.search(r"GPT-5\.4 PLSQLBench, Oracle 83\.8 83\.8", section)
    assert re.search(r"model-a this report 80\.0 60\.0", section)


def test_what_keeps_a_page_from_being_written_is_said_and_costs_nothing(tmp_path: Path) -> None:
    rows = save_run(tmp_path, many(5))
    run = read_run(tmp_path)
    (tmp_path / "report.html").mkdir()
    fault = write_page(tmp_path, rows, run.summary, collected=5, judged=Judged())
    assert fault is not None
    assert "report.html" in fault
    assert "\n" not in fault


def test_a_folder_without_results_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("")
    with pytest.raises(UserError, match="holds no results"):
        read_run(tmp_path)
    with pytest.raises(UserError, match="cannot read"):
        read_run(tmp_path / "nowhere")


def test_a_long_name_of_a_model_leaves_room_for_the_page(tmp_path: Path) -> None:
    text = text_of(tmp_path, [turn_result("t", 2, model="m" * 900 + HOSTILE)])
    assert "m" * 121 not in text
    assert "m" * 50 + "…" in text
