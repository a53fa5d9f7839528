"""MBPP-PLSQL: rows into tasks, the test block into its cases, what is noted about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.task import Comparison, Expectation, Task, UserError
from pytest_plsqlbench.datasets.plsqlbench.mbpp import read_mbpp
from pytest_plsqlbench.datasets.plsqlbench.mbpp_cases import split_cases, wide_number
from pytest_plsqlbench.datasets.readers import load_path, reader_of
from pytest_plsqlbench.sql.units import read_program

DATA = Path(__file__).resolve().parent.parent / "data" / "plsqlbench"
FILE = DATA / "datasets" / "mbpp" / "mbpp_plsql.jsonl"
ASSERT = """  PROCEDURE assert_eq(a NUMBER, b NUMBER, msg VARCHAR2) IS
  BEGIN
    IF a != b THEN
      RAISE_APPLICATION_ERROR(-20001, msg);
    END IF;
  END;
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path / "cache"))


def block(body: str, declarations: str = "  v NUMBER;\n", tail: str = "END;") -> str:
    return f"DECLARE\n{declarations}{ASSERT}BEGIN\n{body}{tail}"


TWO = "  v := f(1);\n  assert_eq(v, 1, 'case_1 failed');\n  v := f(2);\n  assert_eq(v, 4, 'case_2 failed');\n"


def row(**changes: Any) -> dict[str, Any]:
    return {
        "task_id": "MBPP/1",
        "entry_point_py": "f",
        "test": block(TWO),
        "prompt": "Write f.",
        "prompt_py": "",
        "test_py": "",
        "canonical_solution_py": "return n * n",
        "type_ddl_info": [],
    } | changes


def read(folder: Path, *rows: dict[str, Any], name: str = "mbpp_plsql.jsonl") -> tuple[Task, ...]:
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in rows), encoding="utf-8")
    return read_mbpp(path).tasks


# ---- the split ------------------------------------------------------------------------------------


def test_each_case_is_a_block_with_the_declarations_and_its_own_lines() -> None:
    split = split_cases(block(TWO))
    assert split.whole is None
    assert [case.name for case in split.cases] == ["case_1", "case_2"]
    first, second = (case.script for case in split.cases)
    assert "f(1)" in first
    assert "f(2)" not in first
    assert "case_2 failed" not in first
    assert "f(2)" in second
    assert "f(1)" not in second
    for script in (first, second):
        assert script.startswith("DECLARE\n  v NUMBER;\n  PROCEDURE assert_eq(")
        assert script.endswith("END;")
        (unit,) = read_program(script, "oracle").units
        assert unit.code.complete
        assert not unit.code.findings


@given(st.lists(st.sampled_from(["'a''b;'", "TO_CLOB('x --y')", "q'[END;]'", "-1.5", "N('/*')"]), min_size=1))
def test_no_character_of_a_case_is_lost_whatever_its_values(values: list[str]) -> None:
    lines = [f"v := f({v});\n  assert_eq(v, {v}, 'case_{n} failed');\n  " for n, v in enumerate(values, 1)]
    split = split_cases(block("  " + "".join(lines)))
    assert split.whole is None
    assert [case.name for case in split.cases] == [f"case_{n}" for n in range(1, len(values) + 1)]
    for case, line in zip(split.cases, lines, strict=True):
        assert case.script.endswith(f"BEGIN\n  {line}END;")


def test_the_handlers_of_the_block_stay_with_every_case() -> None:
    tail = "EXCEPTION\n  WHEN NO_DATA_FOUND THEN\n    RAISE_APPLICATION_ERROR(-20001, 'none');\nEND;"
    split = split_cases(block(TWO, tail=tail))
    assert len(split.cases) == 2
    assert all(published(case.script).endswith(tail) for case in split.cases)


def test_a_case_may_be_a_block_of_its_own_and_text_after_the_last_stays() -> None:
    body = (
        "  BEGIN\n    v := f(1);\n    assert_eq(v, 1, 'case_1 failed');\n  END;\n"
        "  IF 1 = 1 THEN\n    assert_eq(f(2), 4, 'case_2 failed');\n  END IF;\n  NULL;\n"
    )
    split = split_cases(block(body))
    assert [case.name for case in split.cases] == ["case_1", "case_2"]
    assert "NULL;\nEND;" in split.cases[1].script


def test_names_that_are_no_names_or_stand_twice_are_numbered() -> None:
    long = "x" * 80
    messages = ["case_7 failed", "case_7 failed", "no", f"{long} failed", " failed"]
    body = "".join(f"  assert_eq(f({n}), 1, '{m}');\n" for n, m in enumerate(messages))
    names = [case.name for case in split_cases(block(body)).cases]
    assert names == ["case_7", "case_2", "case_3", "case_4", "case_5"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT f(1) FROM dual;", "the test is not one block"),
        (f"{block(TWO)}\n/\n{block(TWO)}\n/", "the test is not one block"),
        (
            "BEGIN\n  IF f(1) != 1 THEN RAISE VALUE_ERROR; END IF;\nEND;",
            "no local procedure of the block raises",
        ),
        (block("  NULL;\n"), "the block asserts nothing"),
        (block(TWO).removesuffix("END;"), "the structure of the block is not certain"),
        (
            block("  FOR i IN 1..2 LOOP\n    assert_eq(f(i), i, 'case failed');\n  END LOOP;\n"),
            "one statement asserts several times, line 10",
        ),
        (
            block("  BEGIN\n    assert_eq(f(1), 1, 'a');\n    assert_eq(f(2), 4, 'b');\n  END;\n"),
            "one statement asserts several times, line 10",
        ),
        (block(f"  <<again>>\n{TWO}"), "the block has labels or GOTO"),
        (
            block("  v := 1;\n  assert_eq(f(v), 1, 'a');\n  assert_eq(f(v + 1), 4, 'b');\n"),
            "case 2 uses V as an earlier case left it",
        ),
        (
            block("  v := f(1);\n  assert_eq(v, 1, 'a');\n  v := f(v);\n  assert_eq(v, 1, 'b');\n"),
            "case 2 uses V as an earlier case left it",
        ),
        (
            block(
                "  v := f(1);\n  check_v(1);\n  check_v(1);\n",
                "  v NUMBER;\n  PROCEDURE check_v(b NUMBER) IS\n  BEGIN\n    IF v != b THEN\n"
                "      RAISE_APPLICATION_ERROR(-20001, 'x');\n    END IF;\n  END;\n",
            ),
            "case 2 uses V as an earlier case left it",
        ),
        (
            block(
                "  v := f(1);\n  check_v(1);\n  show_v;\n  v := f(2);\n  check_v(4);\n",
                "  v NUMBER;\n  PROCEDURE check_v(b NUMBER) IS\n  BEGIN\n    IF v != b THEN\n"
                "      RAISE_APPLICATION_ERROR(-20001, 'x');\n    END IF;\n  END;\n"
                "  PROCEDURE show_v IS\n  BEGIN\n    DBMS_OUTPUT.PUT_LINE(v);\n  END;\n",
            ),
            "case 2 uses V as an earlier case left it",
        ),
    ],
)
def test_what_is_not_certain_stays_whole_and_says_why(text: str, reason: str) -> None:
    split = split_cases(text)
    assert split.whole == reason
    assert [(case.name, case.script) for case in split.cases] == [("all cases", text)]
    assert split.vacuous_line is None


@given(st.text(alphabet="BEGIN END;'\n DECLARE()v:=", max_size=60))
def test_any_text_is_taken(text: str) -> None:
    assert split_cases(text).cases


def test_constants_of_the_block_may_be_shared() -> None:
    body = "  assert_eq(f(k), 1, 'case_1 failed');\n  assert_eq(f(k), 1, 'case_2 failed');\n"
    assert split_cases(block(body, "  k CONSTANT NUMBER := 1;\n")).whole is None


# ---- comparisons with NULL ------------------------------------------------------------------------


def test_the_guard_stands_before_the_comparison_and_compares_alike() -> None:
    split = split_cases(block(TWO))
    assert split.vacuous_line is not None
    script = split.cases[0].script
    guard = script[script.index("DECLARE plsqlbench") : script.index("IF a != b THEN")]
    assert guard.startswith("DECLARE plsqlbench_differ BOOLEAN := a != b; BEGIN IF plsqlbench_differ IS NULL")
    assert "NOT (a IS NULL AND b IS NULL)" in guard
    assert f"SYS.DBMS_OUTPUT.PUT_LINE('{split.vacuous_line}')" in guard
    assert "EXCEPTION WHEN OTHERS THEN NULL" in guard


def published(script: str) -> str:
    """A case without what is added to it."""
    if "DECLARE plsqlbench" in script:
        start, end = script.index("DECLARE plsqlbench"), script.index("IF a != b THEN")
        script = script[:start] + script[end:]
    return script.replace("SYS.DBMS_STANDARD.RAISE", "RAISE")


def test_without_what_is_added_a_case_is_the_published_text() -> None:
    tail = "EXCEPTION\n  WHEN OTHERS THEN\n    RAISE_APPLICATION_ERROR(-20001, 'none');\nEND;"
    text = block(TWO, tail=tail)
    dropped = "v := f(1);\n  assert_eq(v, 1, 'case_1 failed');\n  "
    script = split_cases(text).cases[1].script
    assert published(script) == text.replace(dropped, "")
    assert script.count("SYS.DBMS_STANDARD.RAISE_APPLICATION_ERROR") == 2


def test_a_program_cannot_put_its_own_procedure_in_the_place_of_the_raise() -> None:
    script = split_cases(block(TWO)).cases[0].script
    assert "      SYS.DBMS_STANDARD.RAISE_APPLICATION_ERROR(-20001, msg);" in script
    own = (
        "  v NUMBER;\n  PROCEDURE raise_application_error(n NUMBER, m VARCHAR2) IS\n"
        "  BEGIN\n    RAISE VALUE_ERROR;\n  END;\n"
    )
    assert "DBMS_STANDARD" not in split_cases(block(TWO, own)).cases[0].script


def test_an_empty_clob_is_the_empty_literal() -> None:
    text = block(TWO).replace("a NUMBER, b NUMBER", "a CLOB, b CLOB")
    assert "(b IS NULL OR b NOT LIKE '_%')" in split_cases(text).cases[0].script


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("IF a != b THEN", "IF ABS(a - b) > 0.001 THEN"),
        ("IF a != b THEN", "IF a != b OR a IS NULL THEN"),
        ("IF a != b THEN", "IF b != a THEN"),
        ("  v NUMBER;", "  v NUMBER;\n  sys NUMBER;"),
    ],
)
def test_another_assertion_is_left_as_it_is(old: str, new: str) -> None:
    text = block(TWO).replace(old, new)
    split = split_cases(text)
    assert split.whole is None
    assert split.vacuous_line is None
    assert "plsqlbench" not in split.cases[0].script
    assert ("DBMS_STANDARD" in split.cases[0].script) == ("sys" not in new)


def test_a_null_inside_the_expected_value_is_not_held_against_the_right_answer() -> None:
    body = "  assert_eq(f(NULL), T(1, 2), 'a failed');\n  assert_eq(f(2), T(1, NULL), 'b failed');\n"
    body += "  assert_eq(f(3), NULL, 'c failed');\n"
    cases = split_cases(block(body)).cases
    assert [case.null_expected for case in cases] == [False, True, True]
    assert ["plsqlbench_differ" in case.script for case in cases] == [True, False, True]


def test_the_line_is_of_its_block_alone() -> None:
    lines = {split_cases(block(TWO.replace("f(", name))).vacuous_line for name in ("f(", "g(")}
    assert len(lines) == 2


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("", 0),
        ("x 0", 0),
        ("1200", 2),
        ("007.250", 3),
        ("1.5e10", 2),
        ("'" + "9" * 60 + "'", 0),
        ("3" * 55, 55),
    ],
)
def test_digits_of_numbers(text: str, digits: int) -> None:
    assert wide_number(text) == digits


# ---- rows -----------------------------------------------------------------------------------------


def test_a_row_becomes_a_task(tmp_path: Path) -> None:
    ddl = [["T", "CREATE TYPE T AS TABLE OF NUMBER;"], ["TT", "CREATE TYPE TT AS TABLE OF T;\n"]]
    (task,) = read(tmp_path, row(type_ddl_info=ddl))
    assert (task.id, task.subset, task.dialect, task.database) == ("MBPP/1", "mbpp", "oracle", None)
    assert (task.source.line, task.title, task.conversation) == (1, "f", False)
    (turn,) = task.turns
    assert turn.setup == ("CREATE TYPE T AS TABLE OF NUMBER;\n/", "CREATE TYPE TT AS TABLE OF T;\n/")
    assert (turn.reference, turn.prompt, turn.notes) == (None, "Write f.", ())
    for test in turn.tests:
        assert test.expect == Expectation()
        assert test.compare == (Comparison("outcome"),)
        assert not test.may_fail
        assert test.vacuous_line is not None


def test_findings_about_the_published_test(tmp_path: Path) -> None:
    rows = [
        row(task_id="a", entry_point_py="other"),
        row(task_id="b", test="BEGIN\n  NULL;\nEND;", entry_point_py=None),
        row(task_id="c", test=block(f"  assert_eq(f(1), {'7' * 55}, 'case_1 failed');\n")),
        row(task_id="d", test=block("  assert_eq(f(1), NULL, 'case_1 failed');\n")),
        row(task_id="e", entry_point_py="F"),
    ]
    notes = [[note.partition(":")[0] for note in task.turns[0].notes] for task in read(tmp_path, *rows)]
    assert notes == [
        ["candidate_not_called"],
        ["not_split", "null_not_observed"],
        ["wide_number"],
        ["null_expected"],
        [],
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task_id": None}, "needs a text under the key 'task_id'"),
        ({"test": ""}, "needs a text under the key 'test'"),
        ({"prompt": 3}, "needs a text under the key 'prompt'"),
        ({"type_ddl_info": "CREATE TYPE"}, "type_ddl_info: must be a list of"),
        ({"type_ddl_info": [["T"]]}, "type_ddl_info: must be a list of"),
    ],
)
def test_a_wrong_row_is_told_with_its_place(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=rf"mbpp_plsql\.jsonl:2: {message}"):
        read(tmp_path, row(), row(task_id="MBPP/2") | changes)


def test_ids_are_unique_and_numbers_are_taken_as_text(tmp_path: Path) -> None:
    assert [task.id for task in read(tmp_path, row(task_id=11))] == ["11"]
    with pytest.raises(UserError, match=r"jsonl:2: task id 'MBPP/1' is already used in .*jsonl:1"):
        read(tmp_path, row(), row())


@pytest.mark.parametrize(
    ("name", "subset"),
    [
        ("mbpp_plsql.jsonl", "mbpp"),
        ("mbpp_plus_plsql.jsonl", "mbpp_plus"),
        ("mbpp+_plsql.jsonl", "mbpp_plus"),
        ("mbppplus_plsql.jsonl", "mbpp_plus"),
        ("surplus.jsonl", "mbpp"),
    ],
)
def test_a_holdout_of_the_same_form_is_a_subset_of_its_own(tmp_path: Path, name: str, subset: str) -> None:
    (task,) = read(tmp_path, row(), name=name)
    assert task.subset == subset


def test_the_small_file_of_the_project_is_read_by_shape_and_from_the_cache() -> None:
    reader = reader_of(FILE)
    assert reader is not None
    assert reader.name == "PLSQLBench MBPP-PLSQL"
    first, again = load_path(FILE).tasks, load_path(FILE).tasks
    assert first == again
    assert [len(task.turns[0].tests) for task in first] == [3, 1, 2, 2, 2, 2, 2]
    assert first[0].difficulty == "medium"
    assert first[0].reasoning_types == ("Loop",)


def test_every_record_of_the_real_sample_is_split(shared: Path) -> None:
    path = shared / "data" / "plsqlbench_public_dev" / "mbpp_plsql_20_reconstructed.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    tasks = load_path(path).tasks
    assert [task.id for task in tasks] == [record["task_id"] for record in records]
    for task, record in zip(tasks, records, strict=True):
        (turn,) = task.turns
        assert turn.notes == ()
        assert [test.name for test in turn.tests] == ["case_1", "case_2", "case_3"]
        assert len(turn.setup) == len(record["type_ddl_info"])
        assert record["test"].count("assert_eq(v_actual") == 3
        assert all(test.vacuous_line for test in turn.tests)
