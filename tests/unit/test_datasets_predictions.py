"""Predictions: rows, files, and holding them against tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.prediction import Prediction
from pytest_plsqlbench.bench.task import Dialect, Source, Task, Test, Turn, UserError
from pytest_plsqlbench.datasets.prediction_rows import join_statements, read_row
from pytest_plsqlbench.datasets.predictions import PredictionSet, gold_predictions, read_predictions

HERE = Source("p.jsonl", 3)
OK = {"instance_id": "a", "generated_plsql": "x"}


def row(**values: Any) -> Prediction:
    return read_row(json.dumps(values).encode(), HERE)


def row_fault(line: str | bytes | dict[str, Any]) -> str:
    if isinstance(line, dict):
        line = json.dumps(line)
    with pytest.raises(UserError) as caught:
        read_row(line.encode() if isinstance(line, str) else line, HERE)
    message = str(caught.value)
    assert message.startswith("p.jsonl:3: ")
    assert "\n" not in message
    return message.removeprefix("p.jsonl:3: ")


def task(
    identity: str,
    turns: int = 0,
    dialect: Dialect = "postgres",
    path: str = "tasks/f.yaml",
    *,
    reference: bool = True,
) -> Task:
    """A task of one turn, or a conversation of several."""
    return Task(
        id=identity,
        subset="s",
        dialect=dialect,
        conversation=turns > 0,
        source=Source(path, 1),
        turns=tuple(
            Turn(
                index=number,
                id=f"{identity}_q{number:02d}" if turns else identity,
                prompt="p",
                reference=f"ref {number}" if reference else None,
                tests=(Test(name="t"),),
            )
            for number in range(1, max(turns, 1) + 1)
        ),
    )


def rows(*values: dict[str, Any]) -> PredictionSet:
    return PredictionSet(
        read_row(
            json.dumps({"generated_plsql": f"program {number}"} | value).encode(), Source("p.jsonl", number)
        )
        for number, value in enumerate(values, 1)
    )


def none() -> Iterable[Task]:
    return ()


# -- rows ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "identity", "turn"),
    [
        ({"instance_id": "a"}, "a", None),
        ({"task_id": "a"}, "a", None),
        ({"id": "a"}, "a", None),
        ({"task_id": 601}, "601", None),
        ({"instance_id": "a", "id": 7}, "a", None),
        ({"instance_id": None, "task_id": "b"}, "b", None),
        ({"conversation_id": "c", "turn_index": 2}, "c", 2),
        ({"conversation_id": "c", "turn_index": 2, "instance_id": "c_q02"}, "c", 2),
        ({"conversation_id": None, "instance_id": "a"}, "a", None),
        ({"task_id": "c", "turn_index": 2}, "c", 2),
    ],
)
def test_what_names_the_task(values: dict[str, Any], identity: str, turn: int | None) -> None:
    found = row(**values, generated_plsql="x")
    assert (found.id, found.turn) == (identity, turn)


@pytest.mark.parametrize(
    ("values", "program"),
    [
        ({"generated_plsql": "x"}, "x"),
        ({"solution": "x"}, "x"),
        ({"completion": "x"}, "x"),
        ({"pred_sqls": ["x;", "y;"]}, "x;\ny;"),
        ({"pred_sqls": []}, ""),
        ({"submission": {"form": "code", "text": "x"}}, "x"),
        ({"submission": {"text": "x"}}, "x"),
        ({"generated_plsql": ""}, ""),
        ({"generated_plsql": None, "solution": "x"}, "x"),
        ({"generated_plsql": "a\0b"}, "a\0b"),
        ({"generated_plsql": "a\r\nb\u2028c\tž📚"}, "a\r\nb\u2028c\tž📚"),
    ],
)
def test_what_holds_the_program(values: dict[str, Any], program: str) -> None:
    assert row(instance_id="a", **values).program == program


def test_all_that_a_row_says_is_kept() -> None:
    found = row(
        instance_id="a",
        generated_plsql="x",
        model="m",
        dialect="PostgreSQL",
        sample=3,
        latency_seconds=2,
        usage={"output_tokens": 5},
        id=17,
        note={"deep": [1]},
    )
    assert (found.model, found.dialect, found.sample, found.latency_seconds) == ("m", "postgres", 3, 2)
    assert found.usage == {"output_tokens": 5}
    assert found.extra == {"id": 17, "note": {"deep": [1]}}
    assert found.source == HERE
    assert row(instance_id="a", submission={"form": "code", "text": "x", "why": 1}).extra == {
        "submission": {"why": 1}
    }


@pytest.mark.parametrize(
    ("text", "dialect"),
    [("oracle", "oracle"), ("Oracle", "oracle"), ("postgres", "postgres"), ("plpgsql", "postgres")],
)
def test_spellings_of_dialects(text: str, dialect: str) -> None:
    assert row(**OK, dialect=text).dialect == dialect


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not valid JSON: Expecting property name"),
        (
            '{"instance_id": "a", "generated_plsql": "x',
            "is not valid JSON: Unterminated string starting at column 41",
        ),
        ('{"instance_id": "a"} {}', "is not valid JSON: Extra data at column 22"),
        (
            '{"instance_id": "a", "generated_plsql": "x\0"}',
            "is not valid JSON: Invalid control character at column 43",
        ),
        ("[" * 100_000, "is not valid JSON: nested too deeply"),
        ("[]", "is not a JSON object: one object a line"),
        ('"x"', "is not a JSON object"),
        (
            {"generated_plsql": "x"},
            "names no task: give instance_id, task_id, id, or conversation_id and turn_index",
        ),
        ({"instance_id": "", "generated_plsql": "x"}, "instance_id: is empty"),
        ({"instance_id": 1.5, "generated_plsql": "x"}, "instance_id: must be text, not a number"),
        ({"instance_id": True, "generated_plsql": "x"}, "instance_id: must be text, not a boolean"),
        ({"conversation_id": "c", "generated_plsql": "x"}, "turn_index: is missing beside conversation_id"),
        (
            {"conversation_id": "c", "turn_index": 0, "generated_plsql": "x"},
            "turn_index: is counted from 1, not 0",
        ),
        (
            {"conversation_id": "c", "turn_index": "1", "generated_plsql": "x"},
            "turn_index: must be a whole number, not",
        ),
        (
            {"conversation_id": "c", "turn_index": True, "generated_plsql": "x"},
            "turn_index: must be a whole number",
        ),
        (
            {"instance_id": "a"},
            "has no program: give generated_plsql, solution, completion, pred_sqls or submission",
        ),
        (
            {"instance_id": "a", "solution": None},
            'has no program (solution is null): write "" for a failed generation, or leave the row out',
        ),
        (OK | {"solution": "x"}, "has several programs, in generated_plsql and solution: give one"),
        ({"instance_id": "a", "completion": 5}, "completion: must be text, not a whole number"),
        ({"instance_id": "a", "pred_sqls": "x"}, "pred_sqls: must be a list of texts"),
        ({"instance_id": "a", "pred_sqls": ["x", None]}, "pred_sqls: must be a list of texts"),
        ({"instance_id": "a", "submission": "x"}, "submission: must be a mapping of form and text"),
        (
            {"instance_id": "a", "submission": {"form": "code"}},
            "submission: must be a mapping of form and text",
        ),
        (
            {"instance_id": "a", "submission": {"form": "diff", "text": "x"}},
            'submission: answers of form "diff" are not',
        ),
        (
            {"instance_id": "a", "submission": {"form": "poem", "text": "x"}},
            "submission: form must be \"code\", not 'poem'",
        ),
        (OK | {"dialect": "mysql"}, "dialect: 'mysql' is neither 'postgres' nor 'oracle'"),
        (OK | {"dialect": 5}, "dialect: must be text, not a whole number"),
        (OK | {"sample": -1}, "sample: is counted from 0, not -1"),
        (OK | {"sample": 1.5}, "sample: must be a whole number, not a number"),
        (OK | {"sample": False}, "sample: must be a whole number, not a boolean"),
        (OK | {"model": ["m"]}, "model: must be text, not a list"),
        (OK | {"latency_seconds": 10**400}, "latency_seconds: is out of range"),
        (OK | {"latency_seconds": "1"}, "latency_seconds: must be a number, not text"),
        (OK | {"usage": 5}, "usage: must be a mapping, not a whole number"),
    ],
)
def test_a_wrong_row_is_one_line(line: str | dict[str, Any], message: str) -> None:
    assert row_fault(line).startswith(message)


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    found = read_row(
        b'{"instance_id": "a", "generated_plsql": "ok \\ud83d\\udcda cut \\ud83d", "n": "\\udcda"}', HERE
    )
    assert found.program == "ok 📚 cut \ufffd"
    assert found.extra == {"n": "\ufffd"}
    found.program.encode()


def test_nan_as_python_writes_it_is_read() -> None:
    assert read_row(b'{"instance_id": "a", "generated_plsql": "x", "score": NaN}', HERE).program == "x"


@given(st.text(), st.dictionaries(st.text().map("x_{}".format), st.integers(), max_size=3))
def test_any_program_and_any_unknown_keys_are_kept(program: str, extra: dict[str, int]) -> None:
    found = row(**extra, instance_id="a", generated_plsql=program)
    assert found.program == program
    assert found.extra == extra


@pytest.mark.parametrize(
    ("dialect", "statements", "text"),
    [
        ("postgres", ["SELECT 1", "SELECT 2;"], "SELECT 1\n;\nSELECT 2;"),
        ("postgres", ["SELECT 1; -- done", "SELECT 2 -- ;"], "SELECT 1; -- done\nSELECT 2 -- ;\n;"),
        ("postgres", ["DO $$ BEGIN NULL; END $$"], "DO $$ BEGIN NULL; END $$\n;"),
        ("postgres", ["SELECT ';'", "-- nothing", ""], "SELECT ';'\n;\n-- nothing\n"),
        ("oracle", ["BEGIN NULL; END;", "SELECT 1 FROM dual"], "BEGIN NULL; END;\nSELECT 1 FROM dual\n;"),
        ("oracle", ["BEGIN NULL; END;\n/\n", "x"], "BEGIN NULL; END;\n/\n\nx\n;"),
        (None, ["SELECT q'[it's]' FROM dual;"], "SELECT q'[it's]' FROM dual;"),
    ],
)
def test_statements_of_a_list_are_ended_and_kept(
    dialect: Dialect | None, statements: list[str], text: str
) -> None:
    assert join_statements(statements, dialect) == text


# -- files ---------------------------------------------------------------------------------------------------


def file_fault(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        read_predictions(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_with_byte_order_mark_windows_ends_and_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    lines = [json.dumps(OK), "", json.dumps(OK | {"instance_id": "b"}), "  "]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    found = read_predictions(path)
    assert len(found) == 2
    assert [(p.id, p.source.line) for p in found] == [("a", 1), ("b", 3)]


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(content)
    assert file_fault(path) == f"{path}: holds no predictions: one JSON object a line is expected"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert (
        file_fault(tmp_path / "none.jsonl")
        == f"{tmp_path}/none.jsonl: cannot be read: No such file or directory"
    )
    assert "is a folder" in file_fault(tmp_path)


def test_bad_bytes_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(json.dumps(OK).encode() + b'\n\n{"instance_id": "\xe9"}\n')
    assert file_fault(path) == f"{path}:3: is not UTF-8 (byte 0xe9): save it as UTF-8"
    path.write_text(json.dumps(OK), encoding="utf-16")
    assert "is UTF-16 text" in file_fault(path)


def test_a_list_in_place_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps([OK, OK], indent=2))
    assert file_fault(path) == f"{path}:1: is one JSON list: write one object a line instead"


def test_a_program_of_five_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    program = "SELECT 'ž';\n" * 450_000
    path.write_text(json.dumps(OK | {"generated_plsql": program}) + "\n")
    (found,) = read_predictions(path)
    assert found.program == program


# -- sets ----------------------------------------------------------------------------------------------------


def test_a_turn_is_found_by_each_of_its_names() -> None:
    conversation = task("c", turns=2)
    found = rows(
        {"conversation_id": "c", "turn_index": 1}, {"instance_id": "c_q02"}, {"instance_id": "other"}
    )
    assert [p.program for p in found.lookup(conversation, conversation.turns[0])] == ["program 1"]
    assert [p.program for p in found.lookup(conversation, conversation.turns[1])] == ["program 2"]
    single = task("a")
    for name in (
        {"instance_id": "a"},
        {"task_id": "a"},
        {"id": "a"},
        {"conversation_id": "a", "turn_index": 1},
    ):
        assert len(rows(name).lookup(single, single.turns[0])) == 1


def test_a_conversation_is_not_found_without_a_turn() -> None:
    conversation = task("c", turns=2)
    found = rows({"instance_id": "c"})
    assert not found.lookup(conversation, conversation.turns[0])
    with pytest.raises(UserError, match=r"p\.jsonl:1: 'c' is a conversation of 2 turns: add turn_index"):
        found.check([conversation], none)


def test_samples_come_in_their_order() -> None:
    found = rows(
        {"id": "a", "sample": 2},
        {"id": "a"},
        {"conversation_id": "c", "turn_index": 2, "sample": 1},
        {"id": "c_q01"},
    )
    single, conversation = task("a"), task("c", turns=2)
    assert [p.sample for p in found.lookup(single, single.turns[0])] == [0, 2]
    assert found.samples(single) == (0, 2)
    assert found.samples(conversation) == (0, 1)
    assert found.samples(task("none")) == ()


def test_a_row_without_dialect_is_for_every_variant() -> None:
    found = rows({"id": "a"}, {"id": "b", "dialect": "oracle"}, {"id": "b", "dialect": "postgres"})
    for dialect, number in (("oracle", 2), ("postgres", 3)):
        a, b = task("a", dialect=dialect), task("b", dialect=dialect)  # type: ignore[arg-type]
        assert [p.program for p in found.lookup(a, a.turns[0])] == ["program 1"]
        assert [p.program for p in found.lookup(b, b.turns[0])] == [f"program {number}"]
    assert found.dialects == {"oracle", "postgres"}
    assert rows({"id": "a"}).dialects == frozenset()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"id": "a"}, {"task_id": "a"}),
        ({"id": "a", "dialect": "oracle"}, {"id": "a"}),
        ({"id": "a"}, {"id": "a", "dialect": "oracle"}),
        ({"id": "a", "sample": 1}, {"id": "a", "sample": 1}),
        ({"conversation_id": "c", "turn_index": 1}, {"task_id": "c", "turn_index": 1}),
    ],
)
def test_two_rows_for_the_same_are_a_fault_at_once(first: dict[str, Any], second: dict[str, Any]) -> None:
    with pytest.raises(
        UserError, match=r"p\.jsonl:2: is a second prediction for '[ac]'.*; the first is p\.jsonl:1"
    ):
        rows(first, second)


def test_two_rows_for_the_same_under_other_names_are_a_fault_when_checked() -> None:
    found = rows({"conversation_id": "c", "turn_index": 2}, {"instance_id": "c_q02"})
    with pytest.raises(
        UserError, match=r"p\.jsonl:2: is a second prediction for 'c_q02'.*first is p\.jsonl:1"
    ):
        found.check([task("c", turns=2)], none)


def test_rows_of_other_samples_and_dialects_are_no_duplicates() -> None:
    rows(
        {"id": "a"},
        {"id": "a", "sample": 1},
        {"id": "b", "dialect": "oracle"},
        {"id": "b", "dialect": "postgres"},
    )


def test_two_models_in_a_file() -> None:
    assert rows({"id": "a", "model": "m"}, {"id": "b"}).models == ("m",)
    with pytest.raises(UserError, match=r"p\.jsonl:3: is of model 'n', line 1 of 'm': one model a file"):
        rows({"id": "a", "model": "m"}, {"id": "b"}, {"id": "c", "model": "n"})


TASKS = [
    task("late-fee"),
    task("talk", turns=2),
    task("only-oracle", dialect="oracle"),
    task("MBPP/1", dialect="oracle"),
]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"id": "late-fees"}, "there is no task 'late-fees'; did you mean 'late-fee'?"),
        ({"task_id": 1}, "there is no task '1'; did you mean 'MBPP/1'?"),
        ({"task_id": "2"}, "there is no task '2'"),
        ({"id": "zzzz"}, "there is no task 'zzzz'"),
        ({"id": "talk_q03"}, "there is no task 'talk_q03'; did you mean"),
        ({"id": "talk", "turn_index": 3}, "'talk' has no turn 3: its turns are 1 to 2"),
        ({"id": "late-fee", "turn_index": 2}, "'late-fee' has no turn 2: its turns are 1 to 1"),
        ({"id": "talk_q01", "turn_index": 2}, "turn_index 2 does not fit 'talk_q01', which is turn 1"),
        ({"id": "only-oracle", "dialect": "postgres"}, "task 'only-oracle' has no postgres variant"),
        (
            {"conversation_id": "talk", "turn_index": 2, "instance_id": "talk_q01"},
            "instance_id 'talk_q01' is not that of turn 2 of 'talk', 'talk_q02'",
        ),
    ],
)
def test_a_row_for_no_task(value: dict[str, Any], message: str) -> None:
    found = rows({"id": "late-fee"}, value)
    with pytest.raises(UserError) as caught:
        found.check(TASKS, none)
    assert str(caught.value).startswith(f"p.jsonl:2: {message}")
    assert "\n" not in str(caught.value)


def test_many_rows_for_no_task_are_one_line() -> None:
    with pytest.raises(UserError, match=r"^p\.jsonl:1: there is no task 'x1' \(and 2 more such rows\)$"):
        rows({"id": "x1"}, {"id": "x2"}, {"id": "x3"}).check(TASKS, none)


def test_all_rows_fit() -> None:
    found = rows({"id": "late-fee"}, {"id": "talk_q01"}, {"conversation_id": "talk", "turn_index": 2})

    def unread() -> Iterable[Task]:
        raise AssertionError("the suite is only read where rows are left over")

    assert found.check(TASKS, unread) == 0


def test_rows_for_tasks_of_the_suite_that_were_not_selected() -> None:
    found = rows({"id": "late-fee"}, {"id": "elsewhere"}, {"id": "only-oracle", "dialect": "oracle"})
    selected = [TASKS[0]]
    assert found.check(selected, lambda: [*TASKS, task("elsewhere")]) == 2
    with pytest.raises(UserError, match=r"p\.jsonl:2: there is no task 'elsewhere'"):
        found.check(selected, lambda: TASKS)


def test_the_suite_is_found_from_the_files_of_the_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("functions/one", "functions/two", "procedures/three"):
        path = tmp_path / "tasks" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f"id: {path.stem}\nsubset: s\nvariants:\n"
            "  postgres: {prompt: p, reference: r, tests: [{name: t}]}\n"
        )
    selected = [task("one", path=str(tmp_path / "tasks/functions/one.yaml"))]
    assert rows({"id": "one"}, {"id": "two"}, {"id": "three"}).check(selected) == 2
    with pytest.raises(UserError, match="there is no task 'thre'; did you mean 'three'"):
        rows({"id": "one"}, {"id": "thre"}).check(selected)


def test_gold_is_every_reference() -> None:
    tasks = [task("a"), task("c", turns=2), task("a", dialect="oracle"), task("none", reference=False)]
    gold = gold_predictions(tasks)
    assert len(gold) == 4
    assert gold.check(tasks, none) == 0
    assert [p.program for p in gold.lookup(tasks[1], tasks[1].turns[1])] == ["ref 2"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("gpt\x1b[31m\u202e", r"gpt\x1b[31m\u202e"),
        ("two\nlines\t\x00", r"two\nlines\t\x00"),
        ("half \ud800", "half \ufffd"),
        ("ordinary name 4.1", "ordinary name 4.1"),
        ("modèle 模型", "modèle 模型"),
        (" around\n", " around\\n"),
        (" \t", None),
        ("", None),
    ],
)
def test_the_name_of_a_model_hides_nothing(name: str, shown: str | None) -> None:
    line = json.dumps({"instance_id": "a", "generated_plsql": "x", "model": name}).encode()
    assert read_row(line, Source("p.jsonl", 1)).model == shown


def test_the_name_of_a_model_has_an_end() -> None:
    line = json.dumps({"instance_id": "a", "generated_plsql": "x", "model": "m" * 1001}).encode()
    with pytest.raises(UserError, match=r"p.jsonl:7: model: a name of 1,001 characters; at most 1,000"):
        read_row(line, Source("p.jsonl", 7))


def test_models_that_contradict_each_other_are_named_in_a_short_line(tmp_path: Path) -> None:
    rows = [{"instance_id": name, "generated_plsql": "x", "model": name * 900} for name in "ab"]
    file = tmp_path / "p.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match="one model a file") as error:
        read_predictions(file)
    assert len(str(error.value)) < 250 + len(str(file))
