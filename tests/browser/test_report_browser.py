# ruff: noqa: E501 (scripts that run in the page)
"""The report in a real browser: links, filters, keyboard, themes, widths, print, hostile texts.

Each visit also proves that nothing is said on the console and nothing is asked for but the page itself.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from report_visit import Visit
from saved_runs import HOSTILE

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.datasets.readers import load_file
from pytest_plsqlbench.sql.lexer import tokenize, tokenize_content

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}
DARK = {"color_scheme": "dark"}


def turn(task: str, subset: str = "functions", number: int = 1) -> str:
    return f"#turn={subset}/{task}/postgres/{number}/0"


def test_what_was_not_solved_is_listed_first(visit: Visit) -> None:
    page = visit.page
    names = visit.tasks()
    assert names[:4] == [
        "gone",
        "syntax",
        "task-0005",
        "task-0006",
    ]  # solved by one and not by the other, too
    assert page.locator("#count").inner_text() == "80 of 157 turns"
    page.select_option("[name=status]", "all")
    visit.until("document.getElementById('count').textContent === 'All 157 turns'")
    assert len(visit.tasks()) == 60
    page.locator("#more").scroll_into_view_if_needed()
    visit.until("document.querySelectorAll('#list > li').length > 60")


@pytest.mark.parametrize(
    ("anchor", "count", "first"),
    [
        ("#status=missing", "1 of", "gone"),
        ("#status=uncounted", "1 of", "lost"),
        ("#kind=invalid_program", "1 of", "syntax"),
        ("#kind=invalid_program%2Fsyntax_error", "1 of", "syntax"),
        ("#subset=talks", "2 of", "chat"),
        ("#q=task-0007", "1 of", "task-0007"),
        ("#status=differ", "16 of", "task-0005"),
        ("#status=solved&model=1", "76 of", "task-0000"),
        ("#change=newly_broken&status=all", "16 of", "task-0006"),
        ("#q=syntax+error&full=1", "0 of", None),
        ("#q=syntax%20error%20lop&full=1", "1 of", "syntax"),
        ("#q=raise%20notice&full=1&status=missing", "1 of", "gone"),
    ],
)
def test_a_link_carries_its_filters(visit: Visit, anchor: str, count: str, first: str | None) -> None:
    page = visit.open(anchor)
    assert page.locator("#count").inner_text().startswith(count)
    assert visit.tasks()[:1] == ([] if first is None else [first])


def test_filters_are_written_into_the_address(visit: Visit) -> None:
    page = visit.page
    page.fill("[name=q]", "write")
    page.select_option("[name=kind]", "wrong_result/output_mismatch")
    visit.until("location.hash.includes('q=write') && location.hash.includes('kind=')")
    kept = page.evaluate("location.hash")
    names = visit.tasks()
    visit.open(kept)
    assert visit.tasks() == names
    page.click("button[type=reset]")
    visit.until("location.hash === '#turns'")


def test_a_turn_is_opened_by_its_link(visit: Visit) -> None:
    page = visit.open(turn("syntax"))
    detail = page.locator(".detail")
    assert detail.count() == 1
    assert page.evaluate("document.activeElement.textContent").startswith("syntax")
    assert page.locator("li.open").bounding_box()["y"] < 200  # type: ignore[index]
    struck = page.locator(".code .struck")
    assert struck.locator("span").first.inner_text() == "7"
    message = page.locator(".code .message")
    assert message.inner_text() == '▲ 42601 syntax error at or near "LOP" (column 7)'
    assert page.evaluate("document.querySelector('.struck').nextSibling.className") == "message"
    candidate, reference = page.locator(".code").all()
    assert candidate.locator(".first").inner_text() == "+"
    assert reference.locator(".first").inner_text() == ";"
    assert candidate.locator(".k").first.inner_text() == "CREATE"
    assert detail.locator(".tests > li").count() == 1  # two that failed for the same reason
    assert "2 tests" in detail.locator(".tests").inner_text()


def test_a_link_that_is_followed_again_goes_there_again(visit: Visit) -> None:
    page = visit.open()
    link = page.locator("#baseline a").first
    link.click()
    visit.until("document.querySelector('li.open')?.getBoundingClientRect().top < 200")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    assert page.locator("li.open").bounding_box()["y"] > 900  # type: ignore[index]
    link.click()
    visit.until("document.querySelector('li.open')?.getBoundingClientRect().top < 200")


def test_the_part_that_differs_is_marked(visit: Visit) -> None:
    page = visit.open(turn("task-0008"))
    marks = page.locator(".pair mark").all_inner_texts()
    assert marks == ["12", "13"]
    page.locator(".calls summary").first.click()
    assert page.locator(".calls pre").first.inner_text() == "SELECT add_up(2);"


def test_a_task_is_found_by_its_plain_name_and_by_links_within_the_page(visit: Visit) -> None:
    page = visit.open("#task-0000")  # solved: the filters that would hide it give way
    assert page.locator("li.open .name").inner_text().startswith("task-0000")
    page.evaluate("location.hash = '#turn=talks/chat/postgres/2/0'")
    visit.until("document.querySelector('li.open .name')?.textContent.startsWith('chat')")
    assert "turn 2 of 3" in page.locator("li.open .name").inner_text()
    visit.open("#no-such-task")
    assert "not in this report" in page.locator("#count").inner_text()
    assert 0 <= page.locator("#count").bounding_box()["y"] < 900  # type: ignore[index]
    visit.open("#no=such&task")
    assert "not in this report" in page.locator("#count").inner_text()
    page.locator("#baseline a").first.click()
    page.wait_for_selector("li.open .code")


def test_models_are_tabs(visit: Visit) -> None:
    page = visit.open(turn("task-0005"))
    tabs = page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["model-a solved", "model-b failed"]
    selected = page.get_by_role("tab", selected=True)
    assert selected.inner_text() == "model-b failed"  # the one that failed
    selected.focus()
    page.keyboard.press("ArrowLeft")
    assert page.get_by_role("tab", selected=True).inner_text() == "model-a solved"
    assert "2 of 2 passed" in page.get_by_role("tabpanel").inner_text()


def test_the_keyboard_is_enough(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the turns"
    page.keyboard.press("Enter")
    visit.until("document.activeElement.id === 'turns'")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"
    page.keyboard.type("task-00")
    visit.until("location.hash.includes('q=task-00')")
    page.keyboard.press("Escape")
    for _ in range(2):
        page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent").startswith("task-0006")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector("li.open .code")
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Next"
    page.keyboard.press("Enter")
    visit.until("document.querySelector('li.open .name')?.textContent.startsWith('task-0006')")
    assert page.locator("li.open").count() == 1
    page.keyboard.press("Escape")
    visit.until("!document.querySelector('li.open')")
    assert page.evaluate("document.activeElement.textContent").startswith("task-0006")


def test_hostile_texts_are_shown_and_do_nothing(visit: Visit) -> None:
    page = visit.open("#subset=hostile&full=1&q=hacked")
    page.locator("#list .row").click()
    page.wait_for_selector(".detail .code")
    for summary in page.locator(".detail summary").all():
        summary.click()
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    assert page.locator("#list img, #list svg, #list script").count() == 0
    shown = page.locator(".detail").inner_text()
    assert "</script><script>window.hacked = 1</script>" in shown
    assert "\\x1b[31m" in shown
    assert "\\u202e" in shown
    invisible: list[str] = page.evaluate(
        "document.body.innerText.match(/[\\u0000-\\u0008\\u000b-\\u001f\\u202a-\\u202e\\u2066-\\u2069\\ufeff]/g)"
    )
    assert not invisible
    kept = page.evaluate("location.hash")
    visit.open(kept)
    assert page.locator("li.open .code").count() == 2
    assert page.locator("li.open .name").inner_text().startswith(HOSTILE[:9])


def test_an_evil_link_does_nothing(visit: Visit) -> None:
    page = visit.open("#q=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&subset=%3Cb%3E&turn=%ZZ/%/../__proto__/1")
    assert "0 of 157" in page.locator("#count").inner_text()
    assert page.locator("main img").count() == 0


def colours(page: Any) -> tuple[float, float]:
    """Lightness of paper and ink, from 0 to 1."""
    found: list[float] = page.evaluate(
        """() => ['backgroundColor', 'color'].map((name) => {
            const parts = getComputedStyle(document.body)[name].match(/[\\d.]+/g).map(Number);
            return (parts[0] + parts[1] + parts[2]) / 765;
        })"""
    )
    return found[0], found[1]


@pytest.mark.parametrize("visit", [DARK], indirect=True)
def test_it_is_dark_where_the_system_is_and_light_where_asked(visit: Visit) -> None:
    page = visit.page
    paper, ink = colours(page)
    assert paper < 0.2
    assert ink > 0.8
    series = page.evaluate(
        "getComputedStyle(document.querySelector('.chart [style*=\"--series-1\"]')).stroke"
    )
    page.click("#theme")
    assert "light" in page.locator("#theme").inner_text()
    paper, ink = colours(page)
    assert ink < 0.2
    assert paper > 0.8
    lighter = page.evaluate(
        "getComputedStyle(document.querySelector('.chart [style*=\"--series-1\"]')).stroke"
    )
    assert lighter != series  # plots follow


CONTRAST = """() => {
  const parse = (text) => { const p = text.match(/[\\d.]+/g).map(Number); return p.length > 3 ? p : [...p, 1]; };
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (element) => { for (let e = element; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > .99) return c; } return [255, 255, 255, 1]; };
  const bad = [];
  for (const element of document.querySelectorAll('body *')) {
    if (element.closest('svg, noscript, script, option') || !element.checkVisibility()) continue;
    if (![...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(`${element.className || element.tagName} ${ratio.toFixed(2)} ${element.textContent.slice(0, 30)}`);
  }
  return bad;
}"""


@pytest.mark.parametrize("visit", [{}, DARK], ids=["light", "dark"], indirect=True)
def test_all_text_can_be_read(visit: Visit) -> None:
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5."""
    page = visit.open(turn("syntax"))
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("visit", [PHONE], indirect=True)
def test_a_phone_scrolls_down_and_not_sideways(visit: Visit) -> None:
    page = visit.open(turn("syntax"))
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    left, right = (box.bounding_box() for box in page.locator(".pane").all())
    assert left is not None
    assert right is not None
    assert right["y"] > left["y"] + left["height"] - 1  # one below the other
    wide = page.evaluate(
        """[...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll') && !e.closest('svg')
            && e.checkVisibility() && e.getBoundingClientRect().right > 361).map((e) => e.className || e.tagName)"""
    )
    assert wide == []


def test_a_screen_reader_finds_its_way(visit: Visit) -> None:
    page = visit.open(turn("syntax"))
    for role in ("banner", "navigation", "main", "contentinfo", "search"):
        assert page.get_by_role(role).count() == 1, role
    assert page.get_by_role("heading", level=1).count() == 1
    levels: list[int] = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))"
    )
    assert all(after - before <= 1 for before, after in pairwise(levels))
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, a, input, select, summary, [role=region], [role=img], table')]
            .filter((e) => e.checkVisibility() && !e.textContent.trim() && !e.getAttribute('aria-label')
                && !e.getAttribute('aria-labelledby') && !e.labels?.length).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert nameless == []
    for image in page.get_by_role("img").all():
        assert image.get_attribute("aria-label") or image.get_attribute("aria-labelledby")
    assert page.locator(".chart title").count() == page.locator(".chart desc").count() > 0
    scrolls = page.evaluate(
        """[...document.querySelectorAll('*')].filter((e) => e.checkVisibility() && e.tabIndex < 0
            && /auto|scroll/.test(getComputedStyle(e).overflowY) && e.scrollHeight > e.clientHeight + 1
            && e !== document.scrollingElement).map((e) => e.className || e.tagName)"""
    )
    assert scrolls == []  # whatever scrolls can be reached by keyboard


def test_print_leaves_the_controls_out_and_nothing_cut(visit: Visit) -> None:
    page = visit.open(turn("syntax"))
    page.emulate_media(media="print", color_scheme="dark")
    for name in ("#filters", "#theme", ".sections", "#more"):
        assert not page.locator(name).is_visible(), name
    paper, ink = colours(page)
    assert ink < 0.1
    assert paper > 0.9
    cut = page.evaluate(
        """[...document.querySelectorAll('.code, .prompt, .scroll')].filter((e) => e.checkVisibility()
            && e.scrollHeight > e.clientHeight + 2).map((e) => e.className)"""
    )
    assert cut == []
    assert page.pdf().startswith(b"%PDF")


def test_without_script_all_but_the_list_is_there(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    text = page.locator("main").inner_text()
    for words in ("Leaderboard", "Newly broken", "needs JavaScript", "What failed"):
        assert words in text
    context.close()


CLASSES = {"comment": "c", "string": "s", "number": "n"}


def classes(text: str, dialect: Dialect) -> str:
    """A letter a character: comment, string, number, or a blank for all else; by the package's own lexer."""
    found = ""
    for token in tokenize(text, dialect):
        if token.kind == "string" and token.text[0] == "$":
            tag = token.text.index("$", 1) + 1
            found += " " * tag
            for inner in tokenize_content(token, dialect):
                found += CLASSES.get("string" if inner.kind == "broken" else inner.kind, " ") * len(
                    inner.text
                )
            found += " " * tag
        else:
            found += CLASSES.get(token.kind, " ") * len(token.text)
    return found


MADE: list[tuple[str, Dialect]] = [
    ("x := q'[it's]' || nq'{a}b}' || n'c''d'; /* a /* b */ y := 1.5e3; -- end", "oracle"),
    ("FOR i IN 1..10 LOOP x(i) := .5; END LOOP;", "oracle"),
    ("SELECT E'a\\'b', U&'c', $q$ it's $q$, $1, 0.5, 1..2 /* a /* b */ c */ -- d\n FROM t", "postgres"),
    ("DO $body$ BEGIN x := $$a 'b$$; END $body$;", "postgres"),
    ('SELECT "it\'s", "a""b" FROM été', "postgres"),
]


def test_programs_are_read_as_the_package_reads_them(visit: Visit) -> None:
    programs = list(MADE)
    root = Path(__file__).parents[2]
    for file in sorted((root / "tasks").rglob("*.yaml")):
        programs += [
            (t.reference, task.dialect) for task in load_file(file).tasks for t in task.turns if t.reference
        ]
    assert len(programs) > 50
    found: list[list[list[str]]] = visit.page.evaluate(
        "(programs) => programs.map(([text, dialect]) => plsqlbench.lex(text, dialect))",
        json.loads(json.dumps(programs)),
    )
    for (text, dialect), pieces in zip(programs, found, strict=True):
        assert "".join(piece for _, piece in pieces) == text
        drawn = "".join((kind if kind in {"c", "s", "n"} else " ") * len(piece) for kind, piece in pieces)
        assert drawn == classes(text, dialect), text
