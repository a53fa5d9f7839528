"""Third-party texts: all are read, losslessly; sixty were read by a person, too."""

from __future__ import annotations

import re
import runpy
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_plsqlbench.sql.lexer import tokenize
from pytest_plsqlbench.sql.outline import outline
from pytest_plsqlbench.sql.units import read_program

ROOT = Path(__file__).parent.parent.parent
BENCHMARK = runpy.run_path(str(ROOT / "benchmarks/sql_reading.py"))
CHECKS: list[dict[str, Any]] = yaml.safe_load((ROOT / "tests/data/sql_hand_checks.yaml").read_text("utf-8"))


@lru_cache
def texts(shared: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for real in BENCHMARK["real_texts"](shared):
        assert real.id not in found
        found[real.id] = real
    return found


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check["record"])
def test_a_record_holds_what_a_person_found_in_it(check: dict[str, Any], shared: Path) -> None:
    real = texts(shared)[check["record"]]
    program = read_program(real.text, real.dialect)
    kinds = Counter("exec" if s.from_exec else s.kind for s in program.script.statements)
    assert ", ".join(f"{number} {kind}" for kind, number in kinds.items()) == check["statements"]
    units = [
        f"{unit.kind}/{len(unit.parameters)}{'+' if unit.returns else ''} {outline(unit)}".strip()
        for unit in program.units
        if unit.kind != "table"
    ]
    assert units == check.get("units", [])
    assert [finding.code for finding in program.findings] == check.get("findings", [])


def test_every_text_is_read_without_loss_and_every_unit_closed_and_named(shared: Path) -> None:
    """Units that are not closed are a fault of the text: the model left out the last semicolon."""
    faulty = []
    for real in texts(shared).values():
        assert "".join(token.text for token in tokenize(real.text, real.dialect)) == real.text
        program = read_program(real.text, real.dialect)
        for statement in program.script.statements:
            assert statement.from_exec or real.text[statement.offset : statement.end] == statement.text
        for unit in program.units:
            assert unit.name is not None or unit.kind == "block", real.id
            if real.dialect == "oracle" and unit.code.tokens and not unit.code.complete:
                assert unit.statement.text.rstrip().upper().endswith("END"), real.id
                faulty.append(real.id)
    assert len(texts(shared)) > 11_000
    assert len(faulty) == 15
    assert all(id_.startswith("bird/") for id_ in faulty)


def test_the_table_of_the_docs_is_what_is_found(shared: Path) -> None:
    page = (ROOT / "docs/sql-reading.md").read_text("utf-8")
    printed = re.findall(r"^\| .*\|$", page, re.MULTILINE)
    for line in BENCHMARK["found"](shared):
        assert line in printed
