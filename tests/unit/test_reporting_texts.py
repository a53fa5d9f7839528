"""turns.jsonl: what it keeps, where it cuts, what a kill leaves, what samples share."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_plsqlbench.bench.task import Source, Task, Test, Turn, UserError
from pytest_plsqlbench.reporting.texts import (
    LONGEST_CALL,
    LONGEST_TEXT,
    TextStore,
    TurnText,
    encode_text,
    encode_texts,
    read_texts,
    turn_text,
)


def _text(
    program: str | None = "BEGIN NULL; END;",
    *,
    task: str = "t",
    sample: int = 0,
    prompt: str = "Do it.",
    reference: str | None = "BEGIN NULL; END;",
    tests: tuple[Test, ...] = (Test(name="one", calls=("CALL p();", "CALL q();")),),
) -> TurnText:
    turn = Turn(index=1, id=task, prompt=prompt, reference=reference, tests=tests)
    return turn_text(
        Task(id=task, subset="s", dialect="postgres", turns=(turn,), source=Source("x")),
        turn,
        sample,
        program,
    )


def test_a_store_keeps_what_was_asked_and_answered(tmp_path: Path) -> None:
    store = TextStore(tmp_path / "new" / "turns.jsonl")
    store.add(encode_text(_text(task="t10")))
    store.add(encode_text(_text(task="t9", program=None)))
    store.finish()
    texts = read_texts(store.path)
    assert [key.task for key in texts] == ["t9", "t10"]
    nine, ten = texts.values()
    assert (nine.program, ten.program) == (None, "BEGIN NULL; END;")
    assert ten.prompt == "Do it."
    assert ten.reference == "BEGIN NULL; END;"
    assert ten.calls == ("CALL p();\nCALL q();",)
    assert not ten.cut


def test_each_text_is_cut_and_says_how_long_it_was() -> None:
    long = "é" * (LONGEST_TEXT + 5)
    call = Test(name="one", calls=("x" * (LONGEST_CALL + 1),))
    text = _text(long, prompt=long + "y", reference="short", tests=(call,))
    assert text.program == "é" * LONGEST_TEXT
    assert text.cut == {"program": LONGEST_TEXT + 5, "prompt": LONGEST_TEXT + 6}
    assert text.calls == ("x" * LONGEST_CALL + "…",)
    assert _text("é" * LONGEST_TEXT).cut == {}


def test_gold_queries_stand_in_for_a_reference_program() -> None:
    tests = (
        Test(name="a", gold="SELECT 1"),
        Test(name="b", gold="SELECT 2"),
        Test(name="c", gold="SELECT 1"),
    )
    assert _text(reference=None, tests=tests).reference == "SELECT 1\n\nSELECT 2"
    assert _text(reference=None).reference is None


def test_a_text_that_no_encoding_has_is_kept_as_an_escape() -> None:
    line = encode_text(_text("SELECT '\ud800\x00\u202e'", tests=(Test(name="a", calls=("\udfff",)),)))
    assert r"SELECT '\\ud800\u0000" + "\u202e" in line
    assert r"\\udfff" in line


def test_samples_share_prompt_and_reference_in_the_file(tmp_path: Path) -> None:
    long = "p" * (LONGEST_TEXT + 1)
    texts = [_text(f"program {number}", sample=number, prompt=long) for number in (2, 0, 1)]
    data = encode_texts(texts)
    assert data.count(b"ppp") == LONGEST_TEXT // 3
    (tmp_path / "turns.jsonl").write_bytes(data)
    back = read_texts(tmp_path / "turns.jsonl")
    assert {key.sample: text for key, text in back.items()} == {text.sample: text for text in texts}


def test_a_killed_run_leaves_what_it_had(tmp_path: Path) -> None:
    store = TextStore(tmp_path / "turns.jsonl")
    store.add(encode_text(_text(task="a")))
    store.add(encode_text(_text(task="b")))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole[:-20])
    assert [key.task for key in read_texts(store.path)] == ["a"]


def test_without_the_file_there_are_no_texts(tmp_path: Path) -> None:
    assert read_texts(tmp_path / "turns.jsonl") == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"subset": 1}\n', "turns.jsonl:1: not the texts of a turn"),
        (b"\xff\n", "turns.jsonl:1: not the texts of a turn"),
        (
            b'{"schema_version":9,"subset":"s","task":"t","dialect":"oracle","turn":1}\n',
            "turns.jsonl:1: schema_version 9",
        ),
    ],
)
def test_a_strange_line_is_named(tmp_path: Path, line: bytes, words: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(line)
    with pytest.raises(UserError, match=words):
        read_texts(path)
