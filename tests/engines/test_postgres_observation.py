"""What a play shows: lines, typed results, errors with their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_plsqlbench.bench.observation import CallObservation
from pytest_plsqlbench.bench.task import Comparison, Mode, Test
from pytest_plsqlbench.engines.protocol import Played, UnsupportedError

Player = Callable[..., Played]


def check(*calls: str, mode: Mode = "lines", **options: Any) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison(mode),), **options)


def only_call(played: Played) -> CallObservation:
    (observation,) = played.tests
    (call,) = observation.calls
    return call


def function(body: str, name: str = "f", parameters: str = "", returns: str = "void") -> str:
    return f"CREATE FUNCTION {name}({parameters}) RETURNS {returns} LANGUAGE plpgsql AS $$ {body} $$"


def test_lines_are_what_raise_prints_and_nothing_else(play: Player) -> None:
    program = function(
        """BEGIN
          RAISE NOTICE '  lead % trail  ', 7;
          RAISE INFO E'two\\nlines';
          RAISE NOTICE '';
          RAISE WARNING 'a warning';
          RAISE LOG 'a log entry';
          RAISE DEBUG 'a detail';
          DROP TABLE IF EXISTS nowhere;
          RAISE NOTICE 'NULL is %', NULL;
        END"""
    )
    call = only_call(play(program, tests=(check("SELECT f()"),)))
    assert call.lines == ("  lead 7 trail  ", "two", "lines", "", "NULL is <NULL>")
    assert [(entry.code, entry.message, entry.severity) for entry in call.diagnostics] == [
        ("01000", "a warning", "warning"),
        ("00000", 'table "nowhere" does not exist, skipping', "warning"),
    ]


def test_cells_carry_their_type_and_the_servers_own_text(play: Player) -> None:
    query = """SELECT 1::smallint, 2, 3::bigint, 4.50::numeric, 'NaN'::numeric, 0.1::float8 + 0.2::float8,
      '-0'::float4, 'Infinity'::float8, 'text ', 'c'::char(3), true, false, DATE '0044-03-15 BC',
      'infinity'::date, TIMESTAMP '2024-02-29 12:00:00.5', TIMESTAMPTZ '2024-02-29 12:00+02', TIME '08:30',
      INTERVAL '1 month 2 days', '\\xDEADbeef'::bytea, '{"a":1}'::json, '{"a": 1}'::jsonb, ARRAY[1, NULL],
      NULL::int, 5::oid, 'n'::name"""
    (result,) = only_call(play(tests=(check(query),))).results
    assert result.rows == (
        (
            ("int", "1"),
            ("int", "2"),
            ("int", "3"),
            ("numeric", "4.50"),
            ("numeric", "NaN"),
            ("float", "0.30000000000000004"),
            ("float", "-0"),
            ("float", "Infinity"),
            ("text", "text "),
            ("text", "c  "),
            ("bool", "t"),
            ("bool", "f"),
            ("date", "0044-03-15 BC"),
            ("date", "infinity"),
            ("timestamp", "2024-02-29 12:00:00.5"),
            ("timestamptz", "2024-02-29 10:00:00+00"),
            ("time", "08:30:00"),
            ("interval", "1 mon 2 days"),
            ("bytes", "\\xdeadbeef"),
            ("json", '{"a":1}'),
            ("json", '{"a": 1}'),
            ("numbers", "{1,NULL}"),
            None,
            ("int", "5"),
            ("text", "n"),
        ),
    )


def test_every_statement_of_a_call_shows_its_result(play: Player) -> None:
    program = """
      CREATE PROCEDURE p(a int, INOUT b int, OUT c text) LANGUAGE plpgsql AS
      $$ BEGIN b := a + b; c := 'sum'; RAISE NOTICE 'in p'; END $$;
      CREATE FUNCTION rows_of(n int) RETURNS TABLE (k int, v text) LANGUAGE sql
      BEGIN ATOMIC SELECT g, 'v' || g FROM generate_series(1, n) g; END;
    """
    call = only_call(
        play(program, tests=(check("CALL p(1, 2, NULL); INSERT INTO log VALUES (NULL); TABLE items LIMIT 0;"
                                   " SELECT * FROM rows_of(2)"),))
    )  # fmt: skip
    assert [(result.columns, result.rows) for result in call.results] == [
        (("b", "c"), ((("int", "3"), ("text", "sum")),)),
        (("id", "name", "price", "notes", "active", "since"), ()),
        (("k", "v"), ((("int", "1"), ("text", "v1")), (("int", "2"), ("text", "v2")))),
    ]
    assert call.lines == ("in p",)


@pytest.mark.parametrize("name", ["'c'", "NULL"])
def test_rows_of_a_returned_cursor_follow(play: Player, name: str) -> None:
    program = function(
        f"""DECLARE c refcursor := {name}; BEGIN
          OPEN c FOR SELECT name FROM items ORDER BY id; RETURN c; END""",
        returns="refcursor",
    )
    (first, content) = only_call(play(program, tests=(check("SELECT f()"),))).results
    assert first.rows == ((("other", "c" if name == "'c'" else "<cursor 1>"),),)
    assert content.rows == ((("text", "pen"),), (("text", "ink"),), (("text", "Füller"),))


def test_a_test_that_fetches_by_itself_gets_the_rows(play: Player) -> None:
    program = function(
        "DECLARE c refcursor := 'c'; BEGIN OPEN c FOR SELECT 1 UNION ALL SELECT 2; RETURN c; END",
        returns="refcursor",
    )
    call = only_call(play(program, tests=(check("SELECT f(); FETCH ALL IN c"),)))
    assert [len(result.rows) for result in call.results] == [1, 2]


def test_several_cursors_are_told_apart(play: Player) -> None:
    program = function(
        """DECLARE a refcursor; b refcursor; BEGIN
          OPEN a FOR SELECT 1; RETURN NEXT a; OPEN b FOR SELECT 2; RETURN NEXT b; END""",
        returns="SETOF refcursor",
    )
    call = only_call(play(program, tests=(check("SELECT f()"),)))
    assert call.results[0].rows == ((("other", "<cursor 1>"),), (("other", "<cursor 2>"),))
    assert [result.rows for result in call.results[1:]] == [((("int", "1"),),), ((("int", "2"),),)]


def test_an_error_keeps_what_was_shown_before_it(play: Player) -> None:
    program = function("BEGIN RAISE NOTICE 'before'; RETURN 1 / a; END", parameters="a int", returns="int")
    call = only_call(play(program, tests=(check("SELECT f(1); SELECT f(0); SELECT f(1)"),)))
    assert call.lines == ("before", "before")
    assert len(call.results) == 1
    assert call.error is not None
    assert (call.error.code, call.error.message) == ("22012", "division by zero")


def test_run_time_errors_point_into_the_program(play: Player) -> None:
    program = (
        "-- head\n\nCREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$\nBEGIN\n  RETURN 1 / 0;\nEND $$;"
    )
    call = only_call(play(program, tests=(check("SELECT f()"),)))
    assert call.error is not None
    assert call.error.line == 5
    assert call.error.where is not None
    assert "line 3 at RETURN" in call.error.where


@pytest.mark.parametrize(
    ("program", "code", "line", "column"),
    [
        ("SELECT 1;\n  SELEC 2", "42601", 2, 3),
        ("SELECT 1;\nSELECT 'é', nope FROM\n items", "42703", 2, 13),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$\nBEGIN\n  RETRN 1;\nEND $$", "42601", 3, 3),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$\n  SELECT nope FROM items $$", "42703", 2, 10),
        ("DO $$\nBEGIN\n  PERFORM nofun();\nEND $$", "42883", 3, None),
        ("prose, not a program", "42601", 1, 1),
    ],
)
def test_errors_of_a_program_have_line_and_column(
    play: Player, program: str, code: str, line: int, column: int | None
) -> None:
    played = play(program, tests=(check("SELECT 1"),))
    (shown,) = played.programs
    assert shown.error is not None
    assert (shown.error.code, shown.error.line, shown.error.column) == (code, line, column)
    assert played.tests == ()


def test_two_routines_of_one_name_are_not_confused(play: Player) -> None:
    program = function("BEGIN RETURN 1 / 0; END", parameters="a int", returns="int")
    program += ";\n\n" + function("BEGIN\n RETURN 1 / 0; END", parameters="a text", returns="int")
    call = only_call(play(program, tests=(check("SELECT f(1)"),)))
    assert call.error is not None
    assert call.error.line is None


@pytest.mark.parametrize("text", ["SELECT '\0'", "SELECT '\ud800'"])
def test_text_that_no_server_takes_is_an_error_of_the_program(play: Player, text: str) -> None:
    (shown,) = play(text).programs
    assert shown.error is not None
    assert shown.error.code == "22021"


def test_client_commands_are_the_programs_error_but_stop_a_test(play: Player) -> None:
    (shown,) = play("SELECT 1;\n\\copy items to 'x'\n").programs
    assert shown.error is not None
    assert (shown.error.code, shown.error.line) == ("42601", 2)
    with pytest.raises(UnsupportedError, match=r"test 't': line 1: \\copy"):
        play(tests=(check("\\copy items to 'x'"),))
    with pytest.raises(UnsupportedError, match=r"program: line 1: \\i"):
        play("\\i other.sql", side="reference")
    assert only_call(play(tests=(check("SET SERVEROUTPUT ON;\nSELECT 1"),))).error is None


def test_data_lines_of_copy_reach_the_table(play: Player) -> None:
    program = "COPY log (message, weight) FROM STDIN;\na\t1\nb\t\\N\n\\.\nSELECT count(*) FROM log;"
    (shown,) = play(program).programs
    assert shown.error is None
    assert shown.results[0].rows == ((("int", "2"),),)


@pytest.mark.parametrize("text", ["COPY log (message) FROM STDIN", "COPY items TO STDOUT"])
def test_copy_without_a_partner_is_an_error(play: Player, text: str) -> None:
    (shown,) = play(text, tests=(check("SELECT 1"),)).programs
    assert shown.error is not None
    (shown,) = play("SELECT 1").programs
    assert shown.error is None


def test_calls_stop_at_an_error_or_go_on(play: Player) -> None:
    calls = ("INSERT INTO log(message) VALUES ('a'); SELECT 1/0", "SELECT count(*) FROM log")
    stopped, went_on = play(tests=(check(*calls), check(*calls, on_error="continue"))).tests
    assert len(stopped.calls) == 1
    assert len(went_on.calls) == 2
    assert went_on.calls[0].error is not None
    # as in autocommit, what preceded the failing statement stays
    assert went_on.calls[1].results[0].rows == ((("int", "1"),),)


def test_a_test_without_calls_shows_what_the_program_showed(play: Player) -> None:
    played = play("SELECT 5", "DO $$ BEGIN RAISE NOTICE 'from the block'; END $$", tests=(check(),))
    assert only_call(played) == played.programs[1]
    assert played.programs[1].lines == ("from the block",)
    assert played.programs[0].results[0].rows == ((("int", "5"),),)


def test_gold_is_played_in_place_of_calls_by_the_reference_only(play: Player) -> None:
    test = check("SELECT 'call'", gold="SELECT 'gold'", gold_with_ties="SELECT 'gold' UNION ALL SELECT 'tie'")
    reference = play(tests=(test,), side="reference").tests[0]
    assert [call.results[0].rows for call in reference.calls] == [
        ((("text", "gold"),),),
        ((("text", "gold"),), (("text", "tie"),)),
    ]
    candidate = play(tests=(test,)).tests[0]
    assert [call.results[0].rows for call in candidate.calls] == [((("text", "call"),),)]


def test_an_earlier_program_that_fails_leaves_what_preceded_the_failure(play: Player) -> None:
    broken = "CREATE TABLE kept (a int); INSERT INTO kept VALUES (1); SELECT 1/0; INSERT INTO kept VALUES (2)"
    played = play(broken, "SELECT 1", tests=(check("SELECT sum(a) FROM kept"),))
    assert [shown.error is None for shown in played.programs] == [False, True]
    assert only_call(played).results[0].rows == ((("int", "1"),),)


def test_names_resolve_in_the_work_schema_first(play: Player) -> None:
    program = "CREATE TABLE items (only_mine int); CREATE FUNCTION shop.g() RETURNS int LANGUAGE sql RETURN 7"
    call = only_call(play(program, tests=(check("SELECT * FROM items; SELECT g(); SELECT shop.g()"),)))
    assert call.results[0].columns == ("only_mine",)
    assert call.results[1].rows == call.results[2].rows == ((("int", "7"),),)


def test_settings_of_a_program_do_not_change_how_tests_print(play: Player) -> None:
    program = (
        "SET extra_float_digits = -10; SET datestyle = 'German'; SET timezone = 'Asia/Tokyo';"
        " SET bytea_output = 'escape'; SET intervalstyle = 'iso_8601'; SET client_min_messages = error"
    )
    query = (
        "SELECT 0.1::float8 + 0.2::float8, DATE '2024-02-29', TIMESTAMPTZ '2024-02-29 12:00+00', 'a'::bytea,"
        " INTERVAL '1 day'; DO $$ BEGIN RAISE NOTICE 'seen'; END $$"
    )
    for wrapped in (program, f"DO $$ BEGIN {program.replace('SET', 'SET SESSION')}; END $$"):
        call = only_call(play(wrapped, tests=(check(query),)))
        assert [cell[1] for cell in call.results[0].rows[0] if cell] == [
            "0.30000000000000004",
            "2024-02-29",
            "2024-02-29 12:00:00+00",
            "\\x61",
            "1 day",
        ]
        assert not call.results[0].truncated
        assert call.lines == ("seen",)


@pytest.mark.parametrize(
    ("setting", "value", "returns", "result"),
    [
        ("extra_float_digits", "-14", "float8", "0.123456789"),
        ("bytea_output", "escape", "bytea", "'a'::bytea"),
        ("DateStyle", "German", "date", "DATE '2024-02-29'"),
        ("TimeZone", "Asia/Tokyo", "timestamptz", "TIMESTAMPTZ '2024-02-29 12:00+00'"),
        ("IntervalStyle", "iso_8601", "interval", "INTERVAL '1 day'"),
    ],
)
def test_a_call_that_changes_how_its_result_prints_equals_nothing(
    play: Player, setting: str, value: str, returns: str, result: str
) -> None:
    # the name is put together so that the text does not tell
    text = f"EXECUTE 'SELECT pg_catalog.set_' || 'config(''{setting}'', ''{value}'', false)';"
    program = function(f"BEGIN {text} RETURN {result}; END", returns=returns)
    played = play(program, tests=(check("SELECT f()"), check(f"SELECT {result}")))
    changed, after = played.tests
    assert changed.calls[0].error is None
    assert changed.calls[0].results[0].truncated
    assert not after.calls[0].results[0].truncated
