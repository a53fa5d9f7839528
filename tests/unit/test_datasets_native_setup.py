"""The key ``setup`` of native tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_plsqlbench.bench.task import Turn, UserError
from pytest_plsqlbench.datasets.native.reader import read_jsonl

TESTS = [{"name": "t", "call": "SELECT 1;"}]
SINGLE = {"prompt": "p", "reference": "r", "tests": TESTS}


def read(variant: dict[str, Any], folder: Path) -> tuple[Turn, ...]:
    path = folder / "t.jsonl"
    path.write_text(json.dumps({"id": "a", "subset": "s", "variants": {"postgres": variant}}))
    return read_jsonl(path).tasks[0].turns


def test_one_script_or_several(tmp_path: Path) -> None:
    assert read(SINGLE, tmp_path)[0].setup == ()
    assert read(SINGLE | {"setup": "CREATE TYPE a AS ENUM ();"}, tmp_path)[0].setup == (
        "CREATE TYPE a AS ENUM ();",
    )
    assert read(SINGLE | {"setup": ["one", "two"]}, tmp_path)[0].setup == ("one", "two")


def test_the_setup_of_a_conversation_holds_for_every_turn(tmp_path: Path) -> None:
    turns = read({"setup": "one", "turns": [SINGLE, SINGLE]}, tmp_path)
    assert [turn.setup for turn in turns] == [("one",), ("one",)]


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (SINGLE | {"setup": []}, "setup: is empty"),
        (SINGLE | {"setup": " "}, "setup: is empty"),
        (SINGLE | {"setup": ["one", "\n"]}, r"setup\[1\]: is empty"),
        (SINGLE | {"setup": "a\0"}, r"setup: holds the character U\+0000"),
        (SINGLE | {"setup": 3}, "setup: must be"),
        ({"turns": [SINGLE | {"setup": "one"}]}, r"turns\[0\]\.setup: is not a known key"),
    ],
)
def test_a_wrong_setup_is_a_fault(tmp_path: Path, variant: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=rf"t\.jsonl:1: variants\.postgres\.{message}"):
        read(variant, tmp_path)
