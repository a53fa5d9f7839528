"""What the texts of a play demand, decided without a server."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.engines.postgres import scripts
from pytest_plsqlbench.engines.postgres.failure import Routines
from pytest_plsqlbench.engines.protocol import Play, UnsupportedError
from pytest_plsqlbench.sql.script import ends_transactions

_PIECES = [
    *("SELECT 1", "COMMIT", "BEGIN", "END", "ABORT", "START TRANSACTION", "DECLARE c CURSOR FOR SELECT 1"),
    *(
        "LOCK TABLE t",
        "lock t",
        "VACUUM",
        "DISCARD ALL",
        "SAVEPOINT a",
        "RELEASE a",
        "ROLLBACK TO a",
        "rollback",
    ),
    *("CREATE TEMP TABLE t (i int) ON COMMIT DROP", "SET CONSTRAINTS ALL DEFERRED", "SET LOCAL x = 1"),
    *("SET TRANSACTION READ ONLY", "ALTER SYSTEM SET a = 1", "CREATE DATABASE d", "DROP TABLESPACE t"),
    *("CREATE INDEX CONCURRENTLY ON t (i)", "SELECT set_config('a', 'b', true)", "PREPARE TRANSACTION 'x'"),
    *("INSERT INTO t VALUES ('commit')", "CALL p()", "-- commit", "/* rollback */", "", "prose and blocks"),
    "DO $$ BEGIN COMMIT; END $$",
    "DO $$ BEGIN EXECUTE 'COM' || 'MIT'; END $$",
    "DO $$ BEGIN EXECUTE E'\\x43OMMIT'; END $$",
    "DO 'BEGIN ROLLBACK; END'",
    "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN IF true THEN COMMIT AND CHAIN; END IF; END $$",
    "CREATE TABLE t (i int REFERENCES u INITIALLY DEFERRED)",
    "CREATE VIEW v AS SELECT 1",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=4), st.sampled_from(["; ", ";\n", ";;", " ;\t"]))
def test_no_text_that_ends_transactions_is_missed(pieces: list[str], between: str) -> None:
    text = between.join(pieces)
    assert scripts.reading(text).autocommit or not ends_transactions(text, "postgres")


def test_no_answer_of_a_model_is_missed(shared: Path) -> None:
    answers = 0
    with gzip.open(shared / "data" / "bird" / "model_answers.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            for text in json.loads(line)["pred_sqls"]:
                answers += 1
                assert scripts.reading(text).autocommit >= ends_transactions(text, "postgres"), text
    assert answers > 400


@pytest.mark.parametrize(
    ("text", "demands"),
    [
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1", {"only_routines": True}),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1; SELECT f()", {"only_routines": False}),
        ("", {"only_routines": True, "autocommit": False, "stains": False}),
        ("CREATE TABLE t (i int UNIQUE deferrable)", {"autocommit": True}),
        ("UPDATE t SET a = 1 WHERE b.c = 2", {"stains": False}),
        (
            "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN SET my.own = 1; END $$",
            {"stains": True},
        ),
        ("DO $$ BEGIN SET LOCAL my . own = 1; END $$", {"stains": True}),
        ("DO $$ BEGIN SET/**/my.own = 1; END $$", {"stains": True}),
        ("DO $$ BEGIN SET my/* */.own = 1; END $$", {"stains": True}),
        ("DO $$ BEGIN EXECUTE 'SELECT 1'; END $$", {"stains": True}),
        ("SET work_mem = '1MB'", {"stains": True}),
        ("LISTEN x", {"stains": True}),
        ("SELECT setseed(0)", {"stains": True}),
        ("SELECT 1; FETCH ALL IN c", {"fetches": True}),
        ("SELECT 'fetch all'", {"fetches": False}),
    ],
)
def test_demands_of_a_text(text: str, demands: dict[str, Any]) -> None:
    read = scripts.reading(text)
    assert {name: getattr(read, name) for name in demands} == demands


def test_client_settings_without_meaning_here_are_left_out() -> None:
    assert scripts.reading("SET SERVEROUTPUT ON; SELECT 1").statements[0].text == "SELECT 1"
    assert scripts.reading("set  serveroutput on size unlimited").statements == ()


def check(*calls: str, **options: Any) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison("lines"),), **options)


def test_the_way_of_playing_follows_from_programs_and_tests() -> None:
    def needs(*programs: str, tests: tuple[Test, ...] = (), side: Any = "candidate") -> bool:
        return scripts.needs_autocommit(Play(side, programs, tests))

    assert not needs("SELECT 1", tests=(check("SELECT 2"),))
    assert needs("SELECT 1", "COMMIT", tests=(check("SELECT 2"),))
    assert needs("SELECT 1", tests=(check("SELECT 2", "COMMIT"),))
    assert needs("SELECT 1", tests=(check("SELECT 2", transaction=True),))
    # the gold stands in for the calls on the reference's side only
    gold = check("COMMIT", gold="SELECT 1")
    assert needs(tests=(gold,))
    assert not needs(tests=(gold,), side="reference")


def test_refused_commands_name_test_and_line() -> None:
    scripts.refuse_commands(Play("candidate", ("\\d",), (check("SELECT 1"),)))  # the program's own error
    with pytest.raises(
        UnsupportedError, match=r"^test 't': line 2: \\gset is a client command that is not run$"
    ):
        scripts.refuse_commands(Play("candidate", (), (check("SELECT 1;\n\\gset\n"),)))


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("PL/pgSQL function f() line 2 at RETURN", 4),
        ('PL/pgSQL function work.f(integer,text) line 1 at RAISE\nSQL statement "x"', 3),
        ('SQL function "inner" statement 1\nPL/pgSQL function f() line 3 at PERFORM', 5),
        ("PL/pgSQL function other() line 3 at PERFORM\nPL/pgSQL function f() line 2 at PERFORM", 4),
        ('PL/pgSQL function "F G"() line 1 at RETURN', 6),
        ("PL/pgSQL function inline_code_block line 1 at RAISE", 8),
        ("PL/pgSQL function other() line 3 at PERFORM", None),
        ("", None),
        (None, None),
    ],
)
def test_contexts_lead_to_lines_of_the_program(where: str | None, line: int | None) -> None:
    program = (
        "\nCREATE FUNCTION work.f() RETURNS int LANGUAGE plpgsql AS\n$$\nBEGIN\nEND $$;\n"
        "CREATE PROCEDURE \"F G\"() AS 'BEGIN\nEND' LANGUAGE plpgsql;\nDO $x$ BEGIN END $x$"
    )
    assert Routines(scripts.reading(program).statements).place(where) == line
