"""What is no program as published, and what extraction makes of it."""

from __future__ import annotations

import json

import pytest

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.extraction import extract, published_problem
from pytest_plsqlbench.sql.fences import read_fences

UNIT = "CREATE OR REPLACE FUNCTION f RETURN NUMBER IS\nBEGIN\n  RETURN 1; -- it's one\nEND;\n/\n"
OTHER = "CREATE OR REPLACE PROCEDURE p IS\nBEGIN\n  NULL;\nEND;\n/\n"
CALL = "SELECT f FROM dual;\n"


def fenced(content: str, tag: str = "sql") -> str:
    return f"```{tag}\n{content}```\n"


# -- the published rule --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the answer is empty"),
        ("\ufeff \n", "the answer is empty"),
        ("-- nothing yet\n", "the answer holds no statement"),
        ("SET SERVEROUTPUT ON\n", "the answer holds no statement"),
        (fenced(UNIT), "a Markdown fence stands at line 1"),
        (f"{UNIT}```\n", "a Markdown fence stands at line 6"),
        (f"~~~\n{UNIT}~~~", "a Markdown fence stands at line 1"),
        (f"Here is the function:\n\n{UNIT}", "text that is no statement at line 1: `Here is the function:`"),
        (f"{UNIT}\nIt returns one.\n", "text that is no statement at line 7: `It returns one.`"),
        ("BEGIN NULL; END;\nThis is it.\n", "text that is no statement at line 2: `This is it.`"),
        ("SELECT 1 FROM a;\nThis is it.\n", "text that is no statement at line 2: `This is it.`"),
        (f"{UNIT}It's one.\n", "text that is no statement at line 6: `It's one.`"),
        (
            f"{UNIT}\nIt's one, it isn't two.\n",
            "text that is no statement at line 7: `It's one, it isn't two.`",
        ),
        (f"{UNIT}\nNote: it doesn't add.\n", "text that is no statement at line 7: `Note: it doesn't add.`"),
        (f"{UNIT}\nNote, it doesn't add.\n", "text that is no statement at line 7: `Note, it doesn't add.`"),
        (f"{UNIT}\n**Note**: it adds.\n", "text that is no statement at line 7: `**Note**: it adds.`"),
        (f"{UNIT}\n## Notes\n", "text that is no statement at line 7: `## Notes`"),
        ("pk.p;", "text that is no statement at line 1: `pk.p`"),
        ("I'm sorry, I can't do that.", "text that is no statement at line 1: `I'm sorry, I can't do that.`"),
        (
            "Create a function that adds.",
            "text that is no statement at line 1: `Create a function that adds.`",
        ),
        (
            f"With this approach it works:\n{UNIT}",
            "text that is no statement at line 1: `With this approach it works:`",
        ),
        (
            f"Define a function as follows\n{UNIT}",
            "text that is no statement at line 1: `Define a function as follows`",
        ),
        (json.dumps({"sql": UNIT}), "the answer is wrapped in JSON at line 1"),
        (json.dumps([UNIT]), "the answer is wrapped in JSON at line 1"),
        (f"<answer>\n{UNIT}</answer>", "text that is no statement at line 1: `<answer>`"),
        ("A" * 60, f"text that is no statement at line 1: `{'A' * 40}…`"),
    ],
)
def test_what_is_no_program(text: str, problem: str) -> None:
    assert published_problem(text, "oracle") == problem
    assert published_problem(text.replace("\n", "\r\n"), "oracle") == problem


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (UNIT, "oracle"),
        (f"-- Here is the function:\n{UNIT}", "oracle"),
        (f"/* ```sql */\n{UNIT}", "oracle"),
        ("BEGIN\n  p('\n```\n');\nEND;\n/", "oracle"),
        (f"SET SERVEROUTPUT ON\n{UNIT}SHOW ERRORS\n", "oracle"),
        ("BEGIN NULL; END;", "oracle"),
        ("BEGIN NULL; END", "oracle"),
        ("BEGIN NULL; END;;\n/", "oracle"),
        ("<<l>>\nBEGIN NULL; END;\n/", "oracle"),
        ("@setup.sql", "oracle"),
        ("(SELECT 1 FROM dual)", "oracle"),
        ("WITH q (a) AS (SELECT 1 FROM dual) SELECT * FROM q", "oracle"),
        ("WITH FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END; SELECT f FROM dual", "oracle"),
        ("CALL hr.pk.p(1)", "oracle"),
        ("SELECT 'unterminated FROM dual", "oracle"),
        ("DO $$ BEGIN RAISE NOTICE '```'; END $$", "postgres"),
        ("BEGIN; SELECT 1; END;", "postgres"),
        ("VALUES (1); TABLE t; SHOW ALL", "postgres"),
        ("CREATE FUNCTION f() RETURNS int AS $$ x $$ y $$ LANGUAGE sql; $$; 'a'", "postgres"),
        ("DECLARE x int; BEGIN NULL; END;", "postgres"),
        ("BEGIN\n  x := 1;\n  y := 2;\n  IF y THEN z;\n  END IF;\n  RETURN NEW;\nEND;", "postgres"),
        ("x := 1;", "postgres"),
        ("IF a THEN b; END IF;\n/", "oracle"),
        ("SELECT 1;\npk.p;", "oracle"),
        ("SELECT 1 FROM dual;\nx : y 'z';", "oracle"),
        ("SELECT 1;\nfoo(DATE'2024-01-01', N'it');", "postgres"),
        ("SELECT 1 FROM dual;\n*/\n", "oracle"),
        ("SELEC 1 FROM dual; SELECT 1", "postgres"),
    ],
)
def test_what_is_left_to_the_server(text: str, dialect: Dialect) -> None:
    if text.startswith("@"):
        assert published_problem(text, dialect) == "the answer holds no statement"
    elif text.startswith("SELEC "):
        assert published_problem(text, dialect) is not None
    else:
        assert published_problem(text, dialect) is None


# -- extraction ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [UNIT, "SELECT 1 FROM dual", "BEGIN NULL; END;", f"-- it's\n{UNIT}"])
def test_a_program_stays_as_it_is(text: str) -> None:
    extraction = extract(text, "oracle")
    assert (extraction.program, extraction.done, extraction.problem) == (text, (), None)


@pytest.mark.parametrize(
    ("answer", "program", "done"),
    [
        (fenced(UNIT), UNIT, ["took 1 of 1 fenced blocks (at line 1)"]),
        (
            f"It's here:\n\n{fenced(UNIT, 'PLSQL')}\nDon't forget.",
            UNIT,
            ["took 1 of 1 fenced blocks (at line 3)"],
        ),
        (fenced(UNIT, ""), UNIT, ["took 1 of 1 fenced blocks (at line 1)"]),
        (fenced(UNIT).replace("```", "~~~~"), UNIT, ["took 1 of 1 fenced blocks (at line 1)"]),
        (fenced(UNIT) + fenced(CALL), UNIT, ["took 1 of 2 fenced blocks (at line 1)"]),
        (fenced(UNIT) + fenced("F\n-\n1\n", "text"), UNIT, ["took 1 of 2 fenced blocks (at line 1)"]),
        (fenced(UNIT) + fenced("F\n-\n1\n", ""), UNIT, ["took 1 of 2 fenced blocks (at line 1)"]),
        (fenced(UNIT) + fenced(OTHER), UNIT + OTHER, ["took 2 of 2 fenced blocks (at line 1, 8)"]),
        (
            fenced(UNIT.replace("RETURN 1", "RETURN 0")) + "Better:\n" + fenced(UNIT),
            UNIT,
            ["took 1 of 2 fenced blocks (at line 9)"],
        ),
        (fenced("SELECT 1 FROM dual;\n") + fenced(CALL), CALL, ["took 1 of 2 fenced blocks (at line 4)"]),
        (
            fenced(UNIT[:-2]) + fenced(OTHER),
            UNIT + OTHER,
            [
                "took 2 of 2 fenced blocks (at line 1, 7)",
                "put a `/` after a unit that lacked it, between two pieces",
            ],
        ),
        (f"```sql\n{UNIT}", UNIT, ["took 1 of 1 fenced blocks (at line 1)", "the fence is not closed"]),
        (
            "1. Run:\n   ```sql\n   BEGIN\n     NULL;\n   END;\n   ```\n",
            "BEGIN\n  NULL;\nEND;\n",
            ["took 1 of 1 fenced blocks (at line 2)"],
        ),
        (
            fenced("BEGIN\n  p('\n```\n');\nEND;\n/\n"),
            "BEGIN\n  p('\n```\n');\nEND;\n/\n",
            ["took 1 of 1 fenced blocks (at line 1)"],
        ),
        (fenced("BEGIN p('x; END;\n"), "BEGIN p('x; END;\n", ["took 1 of 1 fenced blocks (at line 1)"]),
        (
            f"Here's the code:\n\n{UNIT}\nIt doesn't commit.\n",
            UNIT[:-1],
            ["left out the prose; the program begins at line 3"],
        ),
        (
            f"Here's the code:\n\n{UNIT[:-2]}\nIt doesn't commit.\n",
            UNIT[:-2] + "\n",
            ["left out the prose; the program begins at line 3"],
        ),
        (
            "The query is\nSELECT 1 FROM dual\n\nThis returns one.",
            "SELECT 1 FROM dual",
            ["left out the prose; the program begins at line 2"],
        ),
        (
            f"First:\n{UNIT}\nSecond:\n{OTHER}\nSelect the rows then.",
            UNIT.rstrip() + "\n" + OTHER.rstrip() + "\n",
            ["left out the prose; the program begins at line 2, 9"],
        ),
        (json.dumps({"note": "it's", "code": UNIT}), UNIT, ['took the value of "code" out of JSON']),
        (
            json.dumps({"pred_sqls": ["SELECT 1", "SELECT 2"]}),
            "SELECT 1\nSELECT 2",
            ['took the value of "pred_sqls" out of JSON'],
        ),
        (json.dumps(UNIT), UNIT, ["took the text out of JSON"]),
        (f"```json\n{json.dumps({'sql': UNIT})}\n```", UNIT, ['took the value of "sql" out of JSON']),
        (
            json.dumps({"sql": fenced(UNIT)}),
            UNIT,
            ['took the value of "sql" out of JSON', "took 1 of 1 fenced blocks (at line 1)"],
        ),
        (
            f"<think>It's SELECT 1;</think>\n{UNIT}",
            f"\n{UNIT}",
            ["left out the reasoning before the closing tag"],
        ),
        (f"<answer>\n{UNIT}</answer>\n", f"\n{UNIT}", ["took what stands inside <answer>"]),
    ],
)
def test_programs_are_taken_out(answer: str, program: str, done: list[str]) -> None:
    extraction = extract(answer, "oracle")
    assert extraction.program == program
    assert list(extraction.done) == done
    unterminated = "'x;" in program
    assert (extraction.problem is None) is not unterminated


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("", "no program in the answer"),
        ("To do this, you'd write a function.", "no program in the answer"),
        ("Two steps.\nSelect the rows; then go on.", "no program in the answer"),
        ("Use two steps.\nSelect the rows you want, then update the table.", "no program in the answer"),
        ("I'm sorry, but I can't help with that.", "a refusal, no program"),
        ("As an AI, I can not run SQL.", "a refusal, no program"),
        ('{"code": "BEGIN NULL;', "the JSON around the answer is broken, or holds no program"),
        ('{"note": "nothing"}', "the JSON around the answer is broken, or holds no program"),
        (fenced("ls -l\n", "bash"), "no program in the answer"),
    ],
)
def test_answers_without_a_program(answer: str, problem: str) -> None:
    extraction = extract(answer, "oracle")
    assert (extraction.program, extraction.problem) == ("", problem)


@pytest.mark.parametrize(
    ("answer", "dialect", "problem"),
    [
        (
            UNIT[:60],
            "oracle",
            "truncated or unclosed: line 3: the unit that begins at line 1 is not closed here",
        ),
        (
            f"```sql\n{UNIT[:60]}",
            "oracle",
            "truncated or unclosed: line 3: the unit that begins at line 1 is not closed here",
        ),
        (
            "SELECT 'a FROM dual",
            "oracle",
            "truncated or unclosed: line 1: a string is opened here and never closed",
        ),
        (
            "CREATE FUNCTION f() RETURNS int AS $$ BEGIN",
            "postgres",
            "truncated or unclosed: line 1: a dollar-quoted string is opened here and never closed",
        ),
        (
            "SELECT (1",
            "postgres",
            "truncated or unclosed: line 1: a parenthesis is opened here and never closed",
        ),
    ],
)
def test_truncated_answers_say_so(answer: str, dialect: Dialect, problem: str) -> None:
    extraction = extract(answer, dialect)
    assert extraction.problem == problem
    assert extraction.program


def test_postgres_answers() -> None:
    unit = "CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT '```' $$;\n"
    assert extract(f"It's:\n{fenced(unit, 'postgresql')}Isn't it?", "postgres").program == unit
    assert extract(f"It's:\n{unit}\nIsn't it?", "postgres").program == unit.rstrip()


def test_an_extracted_program_is_one() -> None:
    for text in (fenced(UNIT), f"Look:\n{UNIT}\nGood.", json.dumps({"sql": UNIT})):
        program = extract(text, "oracle").program
        assert published_problem(program, "oracle") is None
        assert extract(program, "oracle").done == ()


def test_fences_are_read_in_bounded_number() -> None:
    assert len(read_fences("```\n'\n" * 3000, "oracle")) == 500


SQL_FUNCTION = "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;"
TABLE = "create table t (a number);"


@pytest.mark.parametrize(
    "prose", ["It's a table.", "Note: this doesn't do.", "**Note**: it's one.", "# It's"]
)
def test_prose_with_an_apostrophe_stays_out(prose: str) -> None:
    for program, dialect in ((SQL_FUNCTION, "postgres"), (TABLE, "oracle"), (UNIT.rstrip(), "oracle")):
        extraction = extract(f"{program}\n\n{prose}\n", dialect)  # type: ignore[arg-type]
        assert (extraction.program, extraction.problem) == (program, None)


@pytest.mark.parametrize(
    ("answer", "program"),
    [
        ("1. ```sql\n   BEGIN\n     NULL;\n   END;\n   /\n   ```\n", "BEGIN\n  NULL;\nEND;\n/\n"),
        ("- ~~~\n  SELECT 1 FROM a;\n  ~~~\n", "SELECT 1 FROM a;\n"),
        ("> ```sql\n> BEGIN\n>   NULL;\n> END;\n> ```\nit's", "BEGIN\n  NULL;\nEND;\n"),
        (">```sql\n>SELECT 1 FROM a;\nit's", "SELECT 1 FROM a;\n"),
        ("> - ```sql\n>   SELECT 1 FROM a;\n>   ```\n", "SELECT 1 FROM a;\n"),
        (
            f"> ```sql\n> {TABLE}\n> ```\n> and\n> ```sql\n> {TABLE.replace('t (', 'u (')}\n> ```\nbye\n",
            f"{TABLE}\n{TABLE.replace('t (', 'u (')}\n",
        ),
        ("```sql select 1 from dual; ```", "select 1 from dual;"),
        ("```select 1 from dual;```\nit's", "select 1 from dual;"),
        ("Here:\n```sql create table t (\n a number);\n```\n", "create table t (\n a number);\n"),
        ("```begin\n null;\nend;\n```\n", "begin\n null;\nend;\n"),
        ('```sql title="select" linenums\nselect 1 from dual;\n```\n', "select 1 from dual;\n"),
        ("```text\nnothing\n```\n```sql\nselect 1 from dual;\n```\n", "select 1 from dual;\n"),
    ],
)
def test_fences_in_lists_and_quotes_and_on_one_line(answer: str, program: str) -> None:
    extraction = extract(answer, "oracle")
    assert (extraction.program, extraction.problem) == (program, None)


@pytest.mark.parametrize(
    "answer",
    [
        json.dumps([{"sql": UNIT}]),
        json.dumps({"answer": {"sql": UNIT}}),
        json.dumps({"response": [{"note": "it", "code": UNIT}]}),
        f"Here is the JSON:\n{json.dumps({'sql': UNIT})}",
        f"Here's [1]:\n[1]\n  {json.dumps({'sql': UNIT}, indent=1)}\nIt's done.",
    ],
)
def test_json_in_json_and_amid_prose(answer: str) -> None:
    extraction = extract(answer, "oracle")
    assert (extraction.program, extraction.problem) == (UNIT, None)
    assert "out of JSON" in extraction.done[0]


def test_items_of_json_stand_in_a_row() -> None:
    assert extract(json.dumps([{"sql": UNIT}, {"sql": OTHER}]), "oracle").program == f"{UNIT}\n{OTHER}"
    assert extract(json.dumps([{"sql": UNIT}, {"note": "it"}]), "oracle").problem is not None
    deep: object = UNIT
    for _ in range(50):
        deep = {"answer": deep}
    assert (
        extract(json.dumps(deep), "oracle").problem
        == "the JSON around the answer is broken, or holds no program"
    )


def test_fences_in_a_quote_have_their_lines() -> None:
    text = "Look:\n> so\n> ```sql\n> a;\n> ```\n>\n> > ~~~\n> > b;\n> > ~~~\nbye\n```\nc;\n```\n"
    fences = [(fence.line, fence.content) for fence in read_fences(text, "oracle")]
    assert fences == [(3, "a;\n"), (7, "b;\n"), (11, "c;\n")]
