"""Whatever a model, a task or a server writes, terminal and JUnit XML get nothing but visible characters."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from bench_suite import Suite
from warm_python import WarmPython

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\u202eevil\u2066\r"
SHOWN = r"\x1b[2J\x1b]0;owned\x07\x9b31m\x7f\u202eevil\u2066\r"
LOUD = ("-vv", "-rA", "--tb=long", "--showlocals", "--junitxml=junit.xml", "--color=no")


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, warm: WarmPython) -> Suite:
    return Suite(pytester, monkeypatch, warm)


def task(name: str, reference: str, **more: Any) -> dict[str, Any]:
    variant = {
        "prompt": f"Do {EVIL} it.\nNow.",
        "reference": reference,
        "tests": [{"name": "one", "call": "SELECT f();", "compare": ["lines", "value"]}],
    }
    return {"id": name, "subset": "functions", "variants": {"postgres": {**variant, **more}}}


def raising(text: str) -> str:
    return f"CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{text}'; END $$;"


def returning(text: str) -> str:
    return f"CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$SELECT '{text}'::text$$;"


def neutral(suite: Suite, result: pytest.RunResult) -> str:
    text = (result.stdout.str() + result.stderr.str()).replace("\r\n", "\n")
    assert {char for char in text if not char.isprintable()} <= {"\n"}
    return text


@pytest.mark.parametrize("workers", ["0", "2"])
def test_reports_of_turns(suite: Suite, workers: str) -> None:
    suite.task(task("wrong", returning("right")))
    suite.task(task("fails", returning("right")))
    suite.task(task("passes", returning(EVIL)))
    suite.task(task("broken", raising(EVIL)))
    rows = [
        {"instance_id": "wrong", "generated_plsql": returning(EVIL), "note": EVIL},
        {"instance_id": "fails", "generated_plsql": raising(EVIL) + f"\n-- {EVIL}"},
        {"instance_id": "passes", "generated_plsql": returning(EVIL)},
        {"instance_id": "broken", "generated_plsql": returning(EVIL)},
    ]
    result = suite.run(
        *LOUD, "-n", workers, suite.predict(*({**row, "model": f"model {EVIL}"} for row in rows))
    )
    result.assert_outcomes(passed=1, failed=2, skipped=1)
    text = neutral(suite, result)
    for line in (f"prompt: Do {SHOWN[:-2]}\n", f"model {SHOWN}); ", f"error P0001: {SHOWN}", f"'{SHOWN}'"):
        assert line in text
    assert "reference_error" in text
    junit = (suite.folder / "junit.xml").read_text(encoding="utf-8")
    assert {char for char in junit if not char.isprintable()} <= {"\n"}
    models = {
        found.get("value") for found in ET.fromstring(junit).iter("property") if found.get("name") == "model"
    }
    assert models == {f"model {SHOWN}"}


@pytest.mark.parametrize(
    "row",
    [
        {"instance_id": f"nobody {EVIL}", "generated_plsql": "SELECT 1"},
        {"instance_id": "wrong", "generated_plsql": "SELECT 1", "dialect": EVIL},
        {"instance_id": "wrong", "generated_plsql": "SELECT 1", "sample": EVIL},
    ],
)
def test_faults_in_predictions(suite: Suite, row: dict[str, Any]) -> None:
    suite.task(task("wrong", returning("right")))
    result = suite.run(*LOUD, suite.predict(row))
    neutral(suite, result)


@pytest.mark.parametrize("terminal", [True, False])
def test_the_run_command_shows_a_terminal_what_a_file_gets_exactly(tmp_path: Path, terminal: bool) -> None:
    (tmp_path / "a.sql").write_text(
        f"DO $$ BEGIN RAISE NOTICE '{EVIL}'; RAISE WARNING '{EVIL}'; RAISE EXCEPTION '{EVIL}'; END $$;",
        encoding="utf-8",
    )
    command = [
        sys.executable,
        "-c",
        "from pytest_plsqlbench.cli import main; main()",
        "run",
        "--engine=postgres",
        "a.sql",
    ]
    if not terminal:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        assert done.stdout.decode() == f"{EVIL}\n"
        errors = done.stderr.decode()
    else:
        ours, theirs = pty.openpty()
        running = subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the last one has closed it
                break
            written += piece
        os.close(ours)
        assert running.wait() == 1
        errors = written.decode().replace("\r\n", "\n")
    assert {char for char in errors if not char.isprintable()} <= {"\n"}
    assert errors.count(SHOWN) == (3 if terminal else 2)
