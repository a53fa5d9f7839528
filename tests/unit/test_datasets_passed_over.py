"""Files named as tasks that no reader takes are told of; others are nobody's business."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.datasets.passed_over import broken_links, why_passed_over
from pytest_plsqlbench.datasets.readers import load_file

TASK = json.dumps(
    {"instance_id": "a", "db_id": "d", "question": "é", "reference_answer": "x", "tests": ["t"]}
)


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("a.jsonl", TASK.encode("utf-16"), "is UTF-16 text: save it as UTF-8"),
        ("a.yaml", "id: a".encode("utf-16-be"), None),
        ("a.yaml", b"\xfe\xff" + "id: a".encode("utf-16-be"), "is UTF-16 text: save it as UTF-8"),
        ("spider2_st.jsonl", b"", "is empty"),
        ("spider2_st.jsonl", b"\n \n", "is empty"),
        ("a.jsonl", b"{}\n", None),
        ("a.yaml", b"name: ci\n", None),
        ("a.txt", b"", None),
    ],
)
def test_what_is_passed_over_is_told(name: str, content: bytes, note: str | None, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    found = why_passed_over(path)
    assert found == (None if note is None else f"passed over: {path}: {note}")


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "real.jsonl").write_text(TASK)
    (tmp_path / "good.jsonl").symlink_to(tmp_path / "real.jsonl")
    (tmp_path / "bad.jsonl").symlink_to(tmp_path / "gone.jsonl")
    (tmp_path / "bad.txt").symlink_to(tmp_path / "gone.txt")
    expected = f"passed over: {tmp_path / 'bad.jsonl'}: is a link to a file that is not there"
    assert list(broken_links(tmp_path)) == [expected]
    assert list(broken_links(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", TASK.encode("utf-16"), ":1: is UTF-16 text: save it as UTF-8"),
        (
            "a.jsonl",
            TASK.replace("\\u00e9", "é").encode("latin-1"),
            ":1: is not UTF-8 (byte 0xe9): save it as UTF-8",
        ),
        ("a.jsonl", b"", ": is empty: one task a line is expected"),
        ("a.jsonl.gz", b"x", ": is packed: unpack it first (gunzip), tasks are read as they are"),
        ("a.json", b"[]", ": is not a file of tasks: write one JSON object a line, into a file *.jsonl"),
    ],
)
def test_a_file_that_was_named_is_a_fault(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        load_file(path)
    assert str(caught.value) == f"{path}{message}"
