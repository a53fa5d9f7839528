"""Results as a run would have found them, for tests of what reads them."""

from __future__ import annotations

import msgspec

from pytest_plsqlbench.bench.result import TurnResult


def result(task: str, subset: str, passed: int, total: int, **more: object) -> TurnResult:
    """A graded single turn; further fields by name."""
    tests = [
        {"name": str(n), "verdict": "passed"}
        if n < passed
        else {
            "name": str(n),
            "verdict": "failed",
            "category": "wrong_result",
            "subcategory": "output_mismatch",
        }
        for n in range(total)
    ]
    values: dict[str, object] = {
        "task": task,
        "subset": subset,
        "dialect": "postgres",
        "conversation": False,
        "turn": 1,
        "turns": 1,
        "turn_id": task,
        "status": "graded",
        "model": "m",
        "passed": passed,
        "total": total,
        "solved": passed == total,
        "tests": tests,
        "comparator": "published/1",
    }
    return msgspec.convert(values | more, TurnResult)
