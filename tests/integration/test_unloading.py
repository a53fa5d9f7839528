"""What a run has behind it is let go: pytest keeps all items, and all reports that it is told of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench_suite import Suite

KEPT = """
    import gc, json, pathlib, pytest

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(session):
        gc.collect()
        worker = getattr(session.config, "workerinput", {}).get("workerid", "owner")
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        reports = [r for r in gc.get_objects() if type(r).__name__ == "TestReport"]
        ours = [item for item in session.items if type(item).__name__ == "TurnItem"] if hasattr(
            session, "items") else []
        kept = {
            "reports": sorted({f"{r.nodeid} {r.when}" for r in reports}),
            "shown": sorted(r.nodeid for name in ("passed", "failed") for r in reporter.stats.get(name, ())),
            "carried": sorted({name for r in reports for name in vars(r) if name.startswith("plsqlbench")}),
            "turns": len(ours),
            "results": len([r for r in gc.get_objects() if type(r).__name__ == "TurnResult"]),
            "properties": sum(len(item.user_properties) for item in ours),
            "played": sum(item.played is not None for item in ours),
        }
        pathlib.Path(f"kept-{worker}.json").write_text(json.dumps(kept))
"""
FENCED = "Here it is:\n```sql\n{}```\n"
PLAIN = "def test_of_the_user(): pass\n"


@pytest.fixture
def counted(suite: Suite) -> Suite:
    """Turns that pass and fail, and a test of the user's."""
    for number in range(3):
        suite.task({**suite.DOUBLE_TASK, "id": f"double-{number}"})
    suite.pytester.makeconftest(KEPT)
    (suite.folder / "tasks" / "test_plain.py").write_text(PLAIN)
    return suite


def run(suite: Suite, *args: str) -> dict[str, dict[str, Any]]:
    """What each process keeps at the end of a run with four turns solved and three not."""
    wrong = suite.DOUBLE.replace("n * 2", "n * 3")
    texts = (suite.DOUBLE, wrong, suite.DOUBLE)
    rows = [
        {"instance_id": f"double-{number}", "generated_plsql": FENCED.format(text)}
        for number, text in enumerate(texts)
    ]
    suite.run(suite.predict(*suite.right(), *rows), "--plsql-extract", *args).assert_outcomes(
        passed=7, failed=1
    )
    return {path.stem: json.loads(path.read_text()) for path in suite.folder.glob("kept-*.json")}


def test_a_worker_keeps_nothing_of_turns_that_are_over(counted: Suite) -> None:
    kept = run(counted, "-n1")
    worker = kept["kept-gw0"]
    assert worker["turns"] == 7
    assert {name.partition(" ")[0] for name in worker["reports"]} == {"tasks/test_plain.py::test_of_the_user"}
    assert worker["shown"] == ["tasks/test_plain.py::test_of_the_user"]
    assert (worker["results"], worker["properties"], worker["played"]) == (0, 0, 0)
    owner = kept["kept-owner"]
    assert len(owner["shown"]) == 8
    assert owner["carried"] == ["plsqlbench_reused"]


def test_a_process_alone_keeps_reports_without_what_they_carried(counted: Suite) -> None:
    [owner] = run(counted).values()
    assert len(owner["shown"]) == 8
    assert owner["carried"] == ["plsqlbench_reused"]
    assert owner["results"] == owner["turns"] == 7
    assert owner["played"] == 0
