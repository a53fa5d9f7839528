"""One headless Chromium for the session; a fresh context a test, which may neither complain nor load."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from chromium import find_chromium
from msgspec.structs import replace
from report_visit import Visit
from saved_runs import HOSTILE, many, missing_result, save_run, talk, turn_result, turn_text

from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.bench.result import TestResult
from pytest_plsqlbench.reporting.page.render import judge_saved, write_report
from pytest_plsqlbench.reporting.page.source import read_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@pytest.fixture
def visit(browser: Browser, report: Path, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """The report in a fresh context; parametrize indirectly with playwright's options of a context."""
    options: dict[str, Any] = getattr(request, "param", {})
    context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
    visit = Visit(context.new_page(), report)
    visit.page.set_default_timeout(20_000)
    visit.open()
    yield visit
    asked = {url.partition("#")[0] for url in visit.requests}
    complaints = visit.complaints
    context.close()
    assert not complaints
    assert asked == {report.as_uri()}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and a baseline, with hostile texts among them."""
    folder = tmp_path_factory.mktemp("report")
    message = Diagnostic(code="42601", message='syntax error at or near "LOP"', line=7, column=7)
    tests = tuple(
        TestResult(
            name=f"case {number}",
            verdict="failed",
            category="invalid_program",
            subcategory="syntax_error",
            detail="42601: syntax error",
        )
        for number in (1, 2)
    )
    broken = turn_result("syntax", 0, diagnostics=(message,), tests=tests)
    hostile = turn_result(HOSTILE, 0, subset="hostile", turn_id=HOSTILE, difficulty="hard")
    first = replace(hostile.tests[0], name=HOSTILE, expected=HOSTILE, actual=f"{HOSTILE}x", detail=HOSTILE)
    hostile = replace(hostile, tests=(first, hostile.tests[1]), reason=HOSTILE, flags=(HOSTILE,))
    rows = [*many(150), broken, hostile, missing_result("gone"), *talk("chat", [True, False, True])]
    rows.append(turn_result("lost", 0, status="infrastructure_error", reason="the server died"))
    texts = [turn_text(row) for row in rows if row.task != HOSTILE]
    texts.append(turn_text(hostile, prompt=HOSTILE, program=HOSTILE, reference=HOSTILE, calls=(HOSTILE,)))
    save_run(folder / "a", rows, texts)
    save_run(folder / "b", [*many(150, "model-b", 5), *talk("chat", [False, False, True], "model-b")])
    save_run(folder / "old", [*many(150, "old", 7), *talk("chat", [True, True, True], "old")])
    runs = [read_run(folder / name) for name in "ab"]
    judged = judge_saved(
        runs[0], gates=["coverage >= 0.5"], baseline=folder / "old", common=True, way="--common"
    )
    write_report(folder / "report.html", runs, judged)
    return folder / "report.html"
