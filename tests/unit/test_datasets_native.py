"""Native tasks: YAML and JSONL of the same schema."""

from __future__ import annotations

import copy
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_plsqlbench.bench.task import Comparison, Expectation, Task, Test, UserError
from pytest_plsqlbench.datasets.native.reader import read_jsonl, read_yaml

SINGLE: dict[str, Any] = {
    "id": "add-one",
    "subset": "functions",
    "title": "Add one",
    "difficulty": "simple",
    "reasoning_types": ["arithmetic"],
    "constructs": ["function"],
    "variants": {
        "postgres": {
            "prompt": "Add one.",
            "reference": "CREATE FUNCTION add_one(i integer) RETURNS integer RETURN i + 1;",
            "tests": [{"name": "two", "call": "SELECT add_one(1);", "compare": "value"}],
        },
    },
}
CONVERSATION: dict[str, Any] = {
    "id": "talk",
    "subset": "talks",
    "variants": {
        "oracle": {
            "turns": [
                {"prompt": "First.", "reference": "BEGIN NULL; END;", "tests": [{"name": "a"}]},
                {
                    "prompt": "Then.",
                    "attachments": [{"file": "rules.md", "kind": "document", "text": "Rules."}],
                    "tests": [{"name": "b", "call": "SELECT 1 FROM dual", "expect": {"rows": [[1]]}}],
                },
            ]
        }
    },
}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLSQLBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def put(data: dict[str, Any], path: Path) -> Path:
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
    path.write_text(text if path.suffix == ".yaml" else json.dumps(data) + "\n", encoding="utf-8")
    return path


def read(data: dict[str, Any], tmp_path: Path) -> tuple[Task, ...]:
    """The tasks, read from YAML and from JSONL: both give the same."""
    first = read_yaml(put(data, tmp_path / "t.yaml")).tasks
    second = read_jsonl(put(data, tmp_path / "t.jsonl")).tasks
    assert [strip(task) for task in first] == [strip(task) for task in second]
    return first


def strip(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in task.__struct_fields__ if name != "source"}


def test_of(data: dict[str, Any], tmp_path: Path, **changes: Any) -> Test:
    data = copy.deepcopy(data)
    test = data["variants"]["postgres"]["tests"][0]
    test.update(changes)
    for key in [key for key, value in test.items() if value is ...]:
        del test[key]
    return read(data, tmp_path)[0].turns[0].tests[0]


test_of.__test__ = False  # type: ignore[attr-defined]


def fault(data: dict[str, Any], tmp_path: Path) -> str:
    """The message of both readers, without the place; the place of the YAML reader is checked on its own."""
    messages = []
    for reader, name in ((read_yaml, "t.yaml"), (read_jsonl, "t.jsonl")):
        path = put(data, tmp_path / name)
        with pytest.raises(UserError) as caught:
            reader(path)
        assert caught.value.source is not None
        messages.append(str(caught.value).removeprefix(f"{caught.value.source}: "))
        assert caught.value.source.path == str(path)
        assert caught.value.source.line >= 1
        assert "\n" not in str(caught.value)
    assert messages[0] == messages[1]
    return messages[0]


def changed(path: str, value: Any, data: dict[str, Any] = SINGLE) -> dict[str, Any]:
    """A copy with the value at a dotted path set, or taken out where the value is ``...``."""
    data = copy.deepcopy(data)
    keys: list[Any] = [int(key) if key.isdigit() else key for key in path.split(".")]
    node: Any = data
    for key in keys[:-1]:
        node = node[key]
    if value is ...:
        del node[keys[-1]]
    else:
        node[keys[-1]] = value
    return data


P = "variants.postgres"
T = "variants.postgres.tests.0"
T0 = "variants.postgres.tests[0]"
O1 = "variants.oracle.turns[1]"


def test_a_task_of_one_turn(tmp_path: Path) -> None:
    (task,) = read(SINGLE, tmp_path)
    assert (task.id, task.subset, task.dialect, task.title) == ("add-one", "functions", "postgres", "Add one")
    assert (task.difficulty, task.reasoning_types, task.constructs) == (
        "simple",
        ("arithmetic",),
        ("function",),
    )
    assert not task.conversation
    assert task.database is None
    (turn,) = task.turns
    assert (turn.index, turn.id, turn.prompt) == (1, "add-one", "Add one.")
    assert turn.reference == SINGLE["variants"]["postgres"]["reference"]
    assert turn.tests == (Test(name="two", calls=("SELECT add_one(1);",), compare=(Comparison("value"),)),)


def test_a_conversation(tmp_path: Path) -> None:
    (task,) = read(CONVERSATION, tmp_path)
    assert task.conversation
    assert [(turn.index, turn.id) for turn in task.turns] == [(1, "talk_q01"), (2, "talk_q02")]
    assert task.turns[1].reference is None
    assert task.turns[1].attachments[0].text == "Rules."
    assert task.turns[1].tests[0].expect == Expectation(rows=((1,),))


def test_each_dialect_is_a_task_of_its_own(tmp_path: Path) -> None:
    data = copy.deepcopy(SINGLE)
    data["variants"]["oracle"] = data["variants"]["postgres"]
    tasks = read(data, tmp_path)
    assert [(task.id, task.dialect) for task in tasks] == [("add-one", "postgres"), ("add-one", "oracle")]


def test_the_source_is_the_line_of_the_variant(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "# a comment\nid: a\nsubset: s\nvariants:\n  postgres: &v\n    prompt: p\n    reference: r\n"
        "    tests: [{name: n}]\n  oracle: *v\n"
    )
    assert [task.source.line for task in read_yaml(path).tasks] == [5, 9]
    assert [task.source.line for task in read_yaml(path).tasks] == [5, 9]  # from the cache


@pytest.mark.parametrize(
    ("changes", "compare"),
    [
        ({"compare": ...}, ("lines", "list")),
        ({"compare": ..., "call": ...}, ("lines",)),
        ({"compare": ..., "call": ..., "calls": ["CALL p()"]}, ("state",)),
        ({"compare": ..., "expect": {"rows": [[2]]}}, ("list",)),
        ({"compare": ..., "expect": {"lines": ["2"]}}, ("lines",)),
        ({"compare": ..., "expect": {"lines": [], "rows": []}}, ("lines", "list")),
        ({"compare": ..., "expect": {"error": "22012"}}, ("error_code",)),
        ({"compare": ["bag", "lines_bag"]}, ("bag", "lines_bag")),
    ],
)
def test_what_is_compared_where_nothing_is_said(
    tmp_path: Path, changes: dict[str, Any], compare: tuple[str, ...]
) -> None:
    test = test_of(SINGLE, tmp_path, **changes)
    assert tuple(rule.mode for rule in test.compare) == compare


def test_comparison_as_a_mapping_and_in_a_list(tmp_path: Path) -> None:
    rule = {"mode": "list", "tolerance": 0.01, "order_keys": [0, 2]}
    assert test_of(SINGLE, tmp_path, compare=rule).compare == (
        Comparison("list", tolerance=0.01, order_keys=(0, 2)),
    )
    assert test_of(SINGLE, tmp_path, compare=["lines", {"mode": "bag", "tolerance": 1}]).compare == (
        Comparison("lines"),
        Comparison("bag", tolerance=1.0),
    )


def test_a_suite_of_calls_goes_on_after_an_error_and_a_script_stops(tmp_path: Path) -> None:
    assert test_of(SINGLE, tmp_path).on_error == "stop"
    assert test_of(SINGLE, tmp_path, call=..., calls=["a", "b"], compare=...).on_error == "continue"
    assert test_of(SINGLE, tmp_path, call=..., calls=["a"], compare=..., on_error="stop").on_error == "stop"


def test_an_expected_error_may_be_raised_by_the_reference(tmp_path: Path) -> None:
    test = test_of(SINGLE, tmp_path, compare="error_code", expect={"error": "22012"})
    assert test.may_fail
    assert not test_of(SINGLE, tmp_path).may_fail


def test_stated_cells_keep_their_types_also_through_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "id: a\nsubset: s\nvariants:\n  postgres:\n    prompt: p\n    tests:\n"
        "      - {name: n, call: x, expect: {rows: [[1, 2.50, no, 2024-02-29, null, true, '7']]}}\n"
    )
    for _ in range(2):
        expect = read_yaml(path).tasks[0].turns[0].tests[0].expect
        assert expect is not None
        assert expect.rows is not None
        assert [(type(cell), cell) for cell in expect.rows[0]] == [
            (int, 1),
            (float, 2.5),
            (str, "no"),
            (str, "2024-02-29"),
            (type(None), None),
            (bool, True),
            (str, "7"),
        ]


def test_exact_numbers_survive_in_both_forms(tmp_path: Path) -> None:
    number = "12345678901234567.891"
    text = (
        "id: a\nsubset: s\nvariants:\n  postgres:\n    prompt: p\n    tests:\n"
        f"      - {{name: n, call: x, expect: {{rows: [[{number}]]}}}}\n"
    )
    (tmp_path / "t.yaml").write_text(text)
    row = json.dumps(yaml.safe_load(text)).replace("1.2345678901234568e+16", number)
    assert number in row
    (tmp_path / "t.jsonl").write_text(row)
    for _ in range(2):
        for dataset in (read_yaml(tmp_path / "t.yaml"), read_jsonl(tmp_path / "t.jsonl")):
            expect = dataset.tasks[0].turns[0].tests[0].expect
            assert expect is not None
            assert expect.rows == ((Decimal(number),),)


ROWS = (
    '{"id": "a", "subset": "b", "variants": {"postgres": {"prompt": "p", '
    '"tests": [{"name": "n", "expect": {"rows": [['
)
FAULTS: list[tuple[dict[str, Any], str]] = [
    (changed("id", ...), "the key 'id' is missing"),
    (changed("subset", ...), "the key 'subset' is missing"),
    (changed("variants", ...), "the key 'variants' is missing"),
    (changed("variants", {}), "variants: names no dialect: give oracle or postgres, or both"),
    (changed("variants.postgress", {}), "variants.postgress: is not a known key; did you mean 'postgres'?"),
    (
        changed("id", "Has Blanks"),
        "id: 'Has Blanks' must be lower-case letters, digits, '-' and '_', at most 100",
    ),
    (
        changed("id", "x" * 101),
        f"id: '{'x' * 101}' must be lower-case letters, digits, '-' and '_', at most 100",
    ),
    (changed("id", 7), "id: must be text, not a whole number: put it in quotes"),
    (changed("title", True), "title: must be text, not true or false: put it in quotes"),
    (changed("subset", "a/b"), "subset: 'a/b' must be lower-case letters, digits, '-' and '_', at most 100"),
    (changed("dificulty", "hard"), "dificulty: is not a known key; did you mean 'difficulty'?"),
    (
        changed("zzz", 1),
        (
            "zzz: is not a known key; known keys: id, subset, variants, title, difficulty, reasoning_types, "
            "constructs, database"
        ),
    ),
    (
        changed("difficulty", "esay"),
        "difficulty: 'esay' is not one of hard, medium, simple",
    ),
    (changed("constructs", "function"), "constructs: must be a list, not text"),
    (changed("constructs", ["a", 1]), "constructs[1]: must be text, not a whole number: put it in quotes"),
    (
        changed(f"{P}.prompt", ...),
        "variants.postgres: the key 'prompt' is missing (or 'turns', for a conversation)",
    ),
    (changed(f"{P}.prompt", " \n"), "variants.postgres.prompt: is empty"),
    (
        changed(f"{P}.prompt", None),
        "variants.postgres: the key 'prompt' is missing (or 'turns', for a conversation)",
    ),
    (changed(f"{P}.tests", ...), "variants.postgres: the key 'tests' is missing"),
    (changed(f"{P}.tests", []), "variants.postgres.tests: is empty: a turn has at least one test"),
    (changed(f"{P}.tests", {}), "variants.postgres.tests: must be a list, not a mapping"),
    (
        changed(f"{P}.reference", ...),
        f"{T0}: needs 'expect', or the turn needs a 'reference': nothing says what is right",
    ),
    (
        changed(f"{P}.reference", ""),
        "variants.postgres.reference: is empty: leave it out where all tests state what they expect",
    ),
    (
        changed(f"{P}.turns", []),
        "variants.postgres.prompt: stands in each of the turns where there are 'turns'",
    ),
    (
        changed("variants.oracle.turns", [], CONVERSATION),
        "variants.oracle.turns: is empty: a conversation has at least one turn",
    ),
    (
        changed("variants.oracle.turns.1.tests.0.expect", ..., CONVERSATION),
        (f"{O1}.tests[0]: needs 'expect', or the turn needs a 'reference': nothing says what is right"),
    ),
    (
        changed("variants.oracle.turns.1.attachments.0.txt", "x", CONVERSATION),
        f"{O1}.attachments[0].txt: is not a known key; did you mean 'text'?",
    ),
    (
        changed("variants.oracle.turns.1.attachments.0.file", " ", CONVERSATION),
        f"{O1}.attachments[0].file: must be a name that no other attachment of the turn has",
    ),
    (
        changed("variants.oracle.turns.1.tests.0.expect", {"error": "22012"}, CONVERSATION),
        f"{O1}.tests[0].expect.error: '22012' is not a code with five digits such as 'ORA-01403'",
    ),
    (changed(f"{T}.call", "a\0b"), f"{T0}.call: holds the character U+0000, which no database takes"),
    (
        changed(f"{P}.reference", "a\0b"),
        "variants.postgres.reference: holds the character U+0000, which no database takes",
    ),
    (changed(f"{T}.name", ...), f"{T0}: the key 'name' is missing"),
    (changed(f"{T}.name", ""), f"{T0}.name: must be one line of text"),
    (changed(f"{T}.name", "a\nb"), f"{T0}.name: must be one line of text"),
    (
        changed(f"{P}.tests", [{"name": "a", "call": "x"}, {"name": "a", "call": "y"}]),
        "variants.postgres.tests[1].name: two tests of the turn are called 'a'",
    ),
    (changed(f"{T}.call", " "), f"{T0}.call: is empty"),
    (
        changed(f"{T}.calls", ["x"]),
        f"{T0}.calls: a test has 'call' or 'calls', not both",
    ),
    (
        changed(P, {"prompt": "p", "reference": "r", "tests": [{"name": "a", "calls": []}]}),
        f"{T0}.calls: is empty",
    ),
    (
        changed(P, {"prompt": "p", "reference": "r", "tests": [{"name": "a", "calls": ["x", ""]}]}),
        f"{T0}.calls[1]: is empty",
    ),
    (
        changed(f"{T}.compare", "lisst"),
        (
            f"{T0}.compare: 'lisst' is not one of bag, error_class, error_code, lines, lines_bag, "
            "list, outcome, permuted, state, value; did you mean 'list'?"
        ),
    ),
    (
        changed(f"{T}.compare", {"tolerance": 1}),
        f"{T0}.compare: the key 'mode' is missing",
    ),
    (
        changed(f"{T}.compare", {"mode": "bag", "tolerence": 1}),
        f"{T0}.compare.tolerence: is not a known key; did you mean 'tolerance'?",
    ),
    (
        changed(f"{T}.compare", {"mode": "bag", "tolerance": -1}),
        f"{T0}.compare.tolerance: must be zero or more",
    ),
    (
        changed(f"{T}.compare", {"mode": "bag", "order_keys": [0]}),
        f"{T0}.compare.order_keys: has no meaning for mode 'bag', only for list and permuted",
    ),
    (
        changed(f"{T}.compare", ["lines", {"mode": "list", "order_keys": [-1]}]),
        f"{T0}.compare[1].order_keys: are columns, counted from 0",
    ),
    (
        changed(f"{T}.compare", {"mode": "list", "hidden_columns": 1}),
        f"{T0}.compare.hidden_columns: is a number of columns, and only for mode permuted",
    ),
    (
        changed(f"{T}.compare", "permuted"),
        (f"{T0}.compare: mode permuted compares printed lines with stated rows: give 'expect: {{rows: …}}'"),
    ),
    (changed(f"{T}.may_fail", "yes"), f"{T0}.may_fail: must be true or false, not text"),
    (
        changed(f"{T}.on_error", "go"),
        f"{T0}.on_error: 'go' is not one of continue, stop",
    ),
    (
        changed(f"{T}.expect", {}),
        f"{T0}.expect: states nothing: give lines, rows or error",
    ),
    (
        changed(f"{T}.expect", {"lines": ["a"]}),
        f"{T0}.compare: mode value compares rows, but 'expect' states none",
    ),
    (
        changed(T, {"name": "a", "call": "x", "compare": "state", "expect": {"lines": ["a"]}}),
        f"{T0}.compare: mode state cannot be stated: leave 'expect' out and give a reference",
    ),
    (
        changed(f"{T}.expect", {"rows": [[1], [1, 2]]}),
        f"{T0}.expect.rows[1]: has 2 values, the first row has 1",
    ),
    (
        changed(f"{T}.expect", {"rows": [[[1]]]}),
        f"{T0}.expect.rows[0][0]: must be a number, text, true, false or null",
    ),
    (
        changed(f"{T}.expect", {"rows": [1]}),
        f"{T0}.expect.rows[0]: must be a list, not a whole number",
    ),
    (
        changed(f"{T}.expect", {"lines": ["a\nb"]}),
        f"{T0}.expect.lines[0]: is several lines: one entry a line",
    ),
    (
        changed(f"{T}.expect", {"error": 22012}),
        f"{T0}.expect.error: must be text, not a whole number: put it in quotes",
    ),
    (
        changed(f"{T}.expect", {"error": "ORA-01403"}),
        f"{T0}.expect.error: 'ORA-01403' is not a SQLSTATE of five characters such as '22012'",
    ),
    (changed("database", "Lib"), "database: 'Lib' must be lower-case letters, digits and '_', at most 30"),
    (changed("database", "libary"), "database: there is no database 'libary'; did you mean 'library'?"),
    (
        changed("database", "zzz"),
        "database: there is no database 'zzz'; known here: clinic, library, payroll, warehouse",
    ),
]


@pytest.mark.parametrize(("data", "message"), FAULTS, ids=[message[:60] for _, message in FAULTS])
def test_a_fault_names_its_key_and_its_mend(tmp_path: Path, data: dict[str, Any], message: str) -> None:
    assert fault(data, tmp_path) == message


def test_a_fault_in_yaml_names_the_line_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(
        "id: a\nsubset: s\nvariants:\n  postgres:\n    prompt: p\n    reference: r\n    tests:\n"
        "      - name: n\n        call: x\n        compare: lisst\n"
    )
    with pytest.raises(UserError, match=r"t\.yaml:10: variants\.postgres\.tests\[0\]\.compare: 'lisst'"):
        read_yaml(path)
    path.write_text(path.read_text().replace("compare: lisst", "comparre: list"))
    with pytest.raises(UserError, match=r"t\.yaml:10: variants\.postgres\.tests\[0\]\.comparre: is not"):
        read_yaml(path)
    path.write_text(
        "id: a\nsubset: s\ndatabase: zzz\nvariants: {postgres: {prompt: p, reference: r, tests: [{name: n}]}}"
    )
    for _ in range(2):  # read anew, and from the cache
        with pytest.raises(UserError, match=r"t\.yaml:3: database: there is no database 'zzz'"):
            read_yaml(path)


def test_a_fault_in_jsonl_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\xef\xbb\xbf\r\n" + json.dumps(SINGLE).encode() + b"\r\n\r\n" + b'{"id": "b"}\r\n')
    with pytest.raises(UserError, match=r"t\.jsonl:4: the key 'subset' is missing"):
        read_jsonl(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "a"', "is not valid JSON"),
        (json.dumps(SINGLE)[:-1] + ', "x": ' + "[" * 100_000, "x: is not a known key"),
        (ROWS + "[" * 100_000, "nested too deeply"),
        (ROWS + "[[1" + "]" * 3, "is not valid JSON"),
        ("3", "must be a mapping, not a whole number"),
        ('{"id": "a", "subset": "b", "variants": 3}', "variants: must be a mapping, not a whole number"),
    ],
)
def test_broken_lines_of_jsonl(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"{json.dumps(SINGLE)}\n{line}\n")
    with pytest.raises(UserError) as caught:
        read_jsonl(path)
    assert f"{path}:2: " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"---\n"])
def test_an_empty_yaml_file_is_a_fault(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.yaml").write_bytes(content)
    with pytest.raises(UserError, match="is empty: a task is expected"):
        read_yaml(tmp_path / "t.yaml")


def test_an_id_that_stands_twice_in_a_jsonl_file_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"{json.dumps(SINGLE)}\n\n{json.dumps(SINGLE)}\n")
    with pytest.raises(UserError, match=r"t\.jsonl:3: task id 'add-one' is already used in .*t\.jsonl:1"):
        read_jsonl(path)


def test_a_program_keeps_every_character(tmp_path: Path) -> None:
    program = "CREATE FUNCTION f() RETURNS text RETURN 'it''s \"5 % off\" — 📚\\n';\n\tSELECT 1;   \n\n"
    data = changed(f"{P}.reference", program)
    assert read(data, tmp_path)[0].turns[0].reference == program
