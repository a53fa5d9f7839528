"""The data blocks of a report: complete, small, harmless."""

from __future__ import annotations

import base64
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from saved_runs import HOSTILE, PROGRAM, REFERENCE, many, missing_result, save_run, turn_result, turn_text

from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.reporting.page import turns
from pytest_plsqlbench.reporting.page.source import read_run
from pytest_plsqlbench.reporting.page.turns import one_line, pack


def unpacked(block: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(block)))


def details(chunks: list[str]) -> list[dict[str, Any]]:
    return [detail for chunk in chunks for detail in unpacked(chunk)]


def test_every_turn_of_every_run_has_a_row_and_its_texts(tmp_path: Path) -> None:
    save_run(tmp_path / "a", [turn_result("t10"), turn_result("t9", 2), missing_result("t1")])
    save_run(tmp_path / "b", [turn_result("t9", 0, model="model-b"), turn_result("t11", model="model-b")])
    runs = [read_run(tmp_path / name) for name in "ab"]
    packed = pack(runs)
    index = unpacked(packed.turns)
    assert index["models"] == ["model-a", "model-b"]
    assert index["rows"]["task"] == ["t1", "t9", "t10", "t11"]
    assert index["rows"]["line"] == [f"Write {name}." for name in ("t1", "t9", "t10", "t11")]
    status, kind = index["names"]["status"], index["names"]["kind"]
    cells = [
        [cell and (status[cell[0]], cell[1], cell[2], kind[cell[3]]) for cell in run]
        for run in index["cells"]
    ]
    assert cells[0] == [
        ("missing", 0, 2, "missing"),
        ("graded", 2, 2, ""),
        ("graded", 1, 2, "wrong_result/output_mismatch"),
        0,
    ]
    assert [cell and cell[:3] for cell in cells[1]] == [0, ("graded", 0, 2), 0, ("graded", 1, 2)]
    assert sum(index["chunks"]) == 4
    one, nine, *_ = details(packed.chunks)
    assert one["reference"] == [REFERENCE]
    assert "program" not in one["runs"][0] or one["runs"][0]["program"] is None
    assert [run["program"] for run in nine["runs"]] == [[PROGRAM], [PROGRAM]]
    assert nine["calls"] == ["SELECT add_up(1);", "SELECT add_up(2);"]
    assert nine["runs"][1]["tests"][0] == {
        "name": "case 1", "kind": "wrong_result/output_mismatch", "expected": "total: 12",
        "actual": "total: 13", "elapsed_ms": 2.0,
    }  # fmt: skip
    assert packed.note == ""


def test_no_text_can_leave_its_block(tmp_path: Path) -> None:
    result = turn_result(HOSTILE, subset=HOSTILE, model=HOSTILE, turn_id=HOSTILE)
    save_run(tmp_path, [result], [turn_text(result, prompt=HOSTILE, program=HOSTILE, reference=HOSTILE)])
    packed = pack([read_run(tmp_path)])
    for block in (packed.turns, *packed.chunks):
        assert set(block) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    detail = details(packed.chunks)[0]
    assert detail["prompt"] == [HOSTILE]
    assert detail["runs"][0]["program"] == [HOSTILE]
    assert unpacked(packed.turns)["rows"]["task"] == [HOSTILE]


def message(result: TurnResult, **fields: Any) -> dict[str, Any]:
    diagnostic = Diagnostic(message="wrong", **fields)
    changed = turn_result("t", 0, dialect=result.dialect, tests=result.tests, diagnostics=(diagnostic,))
    found: dict[str, Any] = turns._result(changed)["messages"][0]
    return found


def test_a_message_stands_at_a_line_only_where_the_line_is_the_programs() -> None:
    played = turn_result("t", 0)
    unplayed = turn_result(
        "t", 0, tests=tuple(type(test)(name=test.name, verdict="failed") for test in played.tests)
    )
    assert message(unplayed, code="42601", line=3, column=7)["at"] == 3  # while it is installed
    assert "at" not in message(played, code="42883", line=1, column=8)  # of a test's call
    assert message(played, code="22012", line=9)["at"] == 9  # in a routine, as the context says
    oracle = turn_result("t", 0, dialect="oracle")
    assert message(oracle, code="PLS-00103", line=4, column=2)["at"] == 4
    assert "at" not in message(played, code="22012")


def test_a_page_that_would_be_too_large_keeps_what_failed_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dice = random.Random(7)
    noise = ["".join(chr(dice.randrange(33, 126)) for _ in range(3000)) for _ in range(60)]
    results = many(60)
    texts = [turn_text(row, program=noise[number]) for number, row in enumerate(results)]
    save_run(tmp_path, results, texts)
    run = read_run(tmp_path)
    whole = pack([run])
    size = sum(map(len, whole.chunks))
    for budget, note in (
        (size - 1, "turns that were solved come without their texts"),
        (size // 3, "cut at 2,000 characters"),
        (size // 20, "Texts are left out of this page"),
    ):
        monkeypatch.setattr(turns, "BUDGET", budget)
        packed = pack([run])
        assert note in packed.note
        assert "turns.jsonl" in packed.note
        assert sum(map(len, packed.chunks)) <= budget or packed.level == turns.LEVELS[-1]
        failed = details(packed.chunks)[-1]["runs"][0]
        assert failed["tests"][1]["kind"] == "wrong_result/output_mismatch"
    monkeypatch.setattr(turns, "BUDGET", size // 3)
    kept = details(pack([run]).chunks)
    assert kept[9]["runs"][0]["program"] == [noise[9][:2000], 3000]
    assert "program" not in kept[0]["runs"][0]


def test_a_line_of_the_list_has_nothing_invisible_in_it() -> None:
    assert one_line("\n\n  Write \x1b[2Jp.\nMore", 90) == "Write \\x1b[2Jp."
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
    assert one_line("", 10) == ""
