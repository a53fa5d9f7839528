"""Results, as tests of metrics and gates need them."""

from __future__ import annotations

import msgspec

from pytest_plsqlbench.bench.result import EngineInfo, Status, TestResult, TurnResult


def single(
    task: str,
    passed: int,
    total: int = 1,
    *,
    status: Status = "graded",
    category: str = "wrong_result/output_mismatch",
    **more: object,
) -> TurnResult:
    """A single-turn task without a database, in subset ``mbpp``; other fields by name."""
    kind, _, sub = category.partition("/")
    tests = tuple(
        TestResult(name=f"t{place}", verdict="passed")
        if place < passed
        else TestResult(name=f"t{place}", verdict="failed", category=kind, subcategory=sub)
        for place in range(total if status == "graded" else 0)
    )
    row = TurnResult(
        task=task,
        subset="mbpp",
        dialect="postgres",
        conversation=False,
        turn=1,
        turns=1,
        turn_id=task,
        model="m",
        status=status,
        passed=passed,
        total=total,
        solved=passed == total and status == "graded",
        tests=tests,
        engine=EngineInfo("postgres", "18.0", "embedded"),
        comparator="published/1",
        reference_sha256="r",
    )
    return msgspec.structs.replace(row, **more)


def talk(task: str, *turns: int, lost: int = 0, **more: object) -> list[TurnResult]:
    """A conversation of one test a turn, in subset ``talks``: 1 for a solved turn; turn ``lost`` is lost."""
    rows = []
    for number, passed in enumerate(turns, 1):
        status: Status = "infrastructure_error" if number == lost else "graded"
        row = msgspec.structs.replace(
            single(task, 0 if number == lost else passed, 1, status=status),
            subset="talks",
            conversation=True,
            turn=number,
            turns=len(turns),
            turn_id=f"{task}_q{number}",
        )
        rows.append(msgspec.structs.replace(row, **more))
    return rows
