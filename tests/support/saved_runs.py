"""Report folders as runs leave them, made by hand: a few turns of every kind, or many of one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_plsqlbench.bench.result import EngineInfo, TestResult, TurnResult
from pytest_plsqlbench.bench.shard import key_of
from pytest_plsqlbench.reporting.store import encode_results
from pytest_plsqlbench.reporting.summary import write_summary
from pytest_plsqlbench.reporting.texts import TurnText, encode_texts

HOSTILE = (
    "</script><script>window.hacked = 1</script>"
    '"><img src=x onerror="window.hacked = 2"><svg onload="window.hacked = 3">'
    "{{ 7 * 7 }} ${window.hacked = 4} <!-- \x1b[31m \x00 \u202e \u2066 \ufeff $x_1$ 'single' &amp;"
)
"""What a model, a task or a database may say to break a page."""


def turn_result(task: str = "t", passed: int = 1, total: int = 2, **changes: Any) -> TurnResult:
    """A graded turn: the first ``passed`` tests passed, the others did not."""
    tests = tuple(
        TestResult(name=f"case {number}", verdict="passed", elapsed_ms=2.0)
        if number <= passed
        else TestResult(
            name=f"case {number}",
            verdict="failed",
            category="wrong_result",
            subcategory="output_mismatch",
            expected="total: 12",
            actual="total: 13",
            elapsed_ms=2.0,
        )
        for number in range(1, total + 1)
    )
    fields: dict[str, Any] = {
        "task": task,
        "subset": "functions",
        "dialect": "postgres",
        "conversation": False,
        "turn": 1,
        "turns": 1,
        "turn_id": task,
        "model": "model-a",
        "status": "graded",
        "passed": passed,
        "total": total,
        "solved": passed == total,
        "tests": tests,
        "engine": EngineInfo("postgres", "18.1", "embedded"),
        "comparator": "published/1",
    }
    return TurnResult(**(fields | changes))


def missing_result(task: str, **changes: Any) -> TurnResult:
    """A turn without a prediction."""
    fields: dict[str, Any] = {"status": "missing", "tests": (), "reason": "no prediction", "model": None}
    return turn_result(task, 0, **(fields | changes))


def turn_text(result: TurnResult, **changes: Any) -> TurnText:
    """Texts of a turn."""
    key = key_of(result)
    fields: dict[str, Any] = {
        "subset": key.subset,
        "task": key.task,
        "dialect": key.dialect,
        "turn": key.turn,
        "sample": key.sample,
        "prompt": f"Write {key.task}.\nIt must be right.",
        "program": None if result.status == "missing" else PROGRAM,
        "reference": REFERENCE,
        "calls": tuple(f"SELECT add_up({number});" for number in range(1, result.total + 1)),
    }
    return TurnText(**(fields | changes))


REFERENCE = """CREATE FUNCTION add_up(n integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  total integer := 0;  -- nothing yet
BEGIN
  FOR i IN 1..n LOOP
    total := total + i;
  END LOOP;
  RAISE NOTICE 'total: %', total;
  RETURN total;
END;
$$;
"""
PROGRAM = REFERENCE.replace("total + i", "total + i + 1").replace("-- nothing yet", "")


def save_run(
    folder: Path, results: Iterable[TurnResult], texts: Iterable[TurnText] | None = None
) -> list[TurnResult]:
    """Write a report folder, with made-up texts where none are given."""
    rows = list(results)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.jsonl").write_bytes(encode_results(rows))
    written = [turn_text(row) for row in rows] if texts is None else texts
    (folder / "turns.jsonl").write_bytes(encode_texts(written))
    write_summary(folder, rows, collected=len(rows))
    return rows


def many(count: int, model: str = "model-a", solved_of_ten: int = 6, **changes: Any) -> list[TurnResult]:
    """So many turns, of which a share is solved."""
    return [
        turn_result(f"task-{number:04}", 2 if number % 10 < solved_of_ten else 1, model=model, **changes)
        for number in range(count)
    ]


def talk(name: str, solved: Iterable[bool], model: str = "model-a") -> list[TurnResult]:
    """A conversation."""
    outcomes = list(solved)
    return [
        turn_result(
            name, 2 if good else 1, subset="talks", conversation=True, turn=number, turns=len(outcomes),
            turn_id=f"{name}_q{number:02}", model=model,
        )
        for number, good in enumerate(outcomes, 1)
    ]  # fmt: skip
