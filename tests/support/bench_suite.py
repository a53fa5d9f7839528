"""A small suite of tasks, written where pytester runs, and ways to run it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from warm_python import WarmPython

DOUBLE = """CREATE FUNCTION double_it(n integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  RAISE NOTICE 'doubling %', n;
  RETURN n * 2;
END;
$$;
"""
COUNT_UP = "CREATE FUNCTION step() RETURNS integer LANGUAGE sql AS 'SELECT 1';\n"
COUNT_ON = "CREATE FUNCTION two_steps() RETURNS integer LANGUAGE sql AS 'SELECT step() + step()';\n"

DOUBLE_TASK = {
    "id": "double-it",
    "subset": "functions",
    "difficulty": "simple",
    "variants": {
        "postgres": {
            "prompt": "Write a function double_it(n) that doubles a number.\nIt says so.",
            "reference": DOUBLE,
            "tests": [
                {"name": "two", "call": "SELECT double_it(2);", "compare": ["lines", "value"]},
                {"name": "none", "call": "SELECT double_it(NULL);", "compare": ["lines", "value"]},
            ],
        }
    },
}
TALK_TASK = {
    "id": "steps",
    "subset": "talks",
    "variants": {
        "postgres": {
            "turns": [
                {
                    "prompt": "Write step().",
                    "reference": COUNT_UP,
                    "tests": [{"name": "one step", "call": "SELECT step();", "compare": "value"}],
                },
                {
                    "prompt": "Write two_steps(), using step().",
                    "reference": COUNT_ON,
                    "tests": [{"name": "two steps", "call": "SELECT two_steps();", "compare": "value"}],
                },
                {
                    "prompt": "Make a step two wide.",
                    "reference": "CREATE OR REPLACE FUNCTION step() RETURNS integer "
                    "LANGUAGE sql AS 'SELECT 2';",
                    "tests": [{"name": "wider", "call": "SELECT two_steps();", "compare": "value"}],
                },
            ]
        }
    },
}
TALK_PROGRAMS = [turn["reference"] for turn in TALK_TASK["variants"]["postgres"]["turns"]]  # type: ignore[index]


class Suite:
    """Tasks and predictions in pytester's folder, and pytest run on them as a user does."""

    DOUBLE = DOUBLE
    DOUBLE_TASK = DOUBLE_TASK
    TALK = TALK_PROGRAMS
    TALK_TASK = TALK_TASK

    def __init__(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, warm: WarmPython | None = None
    ) -> None:
        self.pytester = pytester
        self._warm = warm
        self.folder = pytester.path
        # hypothesis' own plugin imports all of hypothesis at the end of every run: 1.5 s that no test needs
        monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:hypothesispytest")
        for name in ("PYTHONDONTWRITEBYTECODE", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
            monkeypatch.delenv(name, raising=False)
        pytester.makeini("[pytest]\ntestpaths = tasks\n")
        (self.folder / "tasks").mkdir()

    def task(self, task: Mapping[str, Any], name: str = "tasks.jsonl") -> None:
        """Add a task to a file."""
        with (self.folder / "tasks" / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(task) + "\n")

    def predict(self, *rows: Mapping[str, Any] | bytes, name: str = "out.jsonl") -> str:
        """Write a predictions file and give the option that names it; bytes are written as they are."""
        data = b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows)
        (self.folder / name).write_bytes(data)
        return f"--plsql-predictions={name}"

    def right(self) -> list[dict[str, Any]]:
        """Predictions that solve every turn of the suite."""
        talk = [
            {"conversation_id": "steps", "turn_index": index, "generated_plsql": program}
            for index, program in enumerate(TALK_PROGRAMS, 1)
        ]
        return [{"instance_id": "double-it", "generated_plsql": DOUBLE}, *talk]

    def run(self, *args: str) -> pytest.RunResult:
        """Run pytest in the folder, in a process of its own: one forked from the warm one, if any."""
        if self._warm is None:
            return self.run_cold(*args)
        return self._warm.run(self.folder, "pytest", f"--basetemp={self.folder / 'basetemp'}", *args)

    def run_cold(self, *args: str) -> pytest.RunResult:
        """Run pytest in the folder, in a process that begins with no module imported."""
        return self.pytester.runpytest_subprocess(*args)

    def refused(self, *args: str) -> str:
        """Run pytest, which must end with a usage error of one line, and give that line."""
        result = self.run(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR, result.stdout.str()
        lines = [line for line in (*result.outlines, *result.errlines) if line.startswith("ERROR: ")]
        assert len(lines) == 1, (result.outlines, result.errlines)
        assert not (self.folder / "reports").exists()
        assert "Traceback" not in result.stdout.str() + result.stderr.str()
        return lines[0].removeprefix("ERROR: ")

    def results(self, folder: str = "reports") -> list[dict[str, Any]]:
        """The lines of results.jsonl."""
        text = (self.folder / folder / "results.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def summary(self, folder: str = "reports") -> dict[str, Any]:
        """The content of summary.json."""
        content: dict[str, Any] = json.loads((self.folder / folder / "summary.json").read_text())
        content["statuses"] = {status: count for status, count in content["statuses"].items() if count}
        return content
