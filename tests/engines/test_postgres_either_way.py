"""A right program shows the same whether it is played in a transaction of ours or in copies, outside any."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from psycopg import sql

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.observation import CallObservation
from pytest_plsqlbench.bench.task import Comparison, Mode, Test
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.protocol import Limits, Play, Played
from pytest_plsqlbench.servers.address import ServerAddress

Player = Callable[..., Played]

CURSOR = """CREATE FUNCTION names() RETURNS refcursor LANGUAGE plpgsql AS $$
DECLARE c refcursor;
BEGIN OPEN c FOR SELECT name FROM items ORDER BY id; RETURN c; END $$;"""
NAMED = """CREATE PROCEDURE names_into(INOUT c refcursor) LANGUAGE plpgsql AS $$
BEGIN OPEN c FOR SELECT name FROM items ORDER BY id; END $$;"""
NAMES = ((("text", "pen"),), (("text", "ink"),), (("text", "Füller"),))
WAYS = {"rolled back": "{}", "copies": "BEGIN;\n{}\nCOMMIT;"}


def check(*calls: str, mode: Mode = "list", **options: object) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison(mode),), **options)  # type: ignore[arg-type]


def calls_of(played: Played) -> tuple[CallObservation, ...]:
    (observation,) = played.tests
    assert [call.error for call in observation.calls] == [None] * len(observation.calls)
    return observation.calls


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_rows_of_a_returned_cursor_follow(play: Player, way: str) -> None:
    (call,) = calls_of(play(way.format(CURSOR), tests=(check("SELECT names()"),)))
    name, rows = call.results
    assert name.rows == ((("other", "<cursor 1>"),),)
    assert rows.rows == NAMES
    assert not rows.truncated


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_cursor_closes_with_its_call(play: Player, way: str) -> None:
    calls = calls_of(
        play(way.format(NAMED), tests=(check("CALL names_into('mine')", "CALL names_into('mine')"),))
    )
    assert [call.results[1].rows for call in calls] == [NAMES, NAMES]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_script_reads_the_cursors_that_it_opens(play: Player, way: str) -> None:
    script = "CALL names_into('mine'); FETCH ALL FROM mine"
    (call,) = calls_of(play(way.format(NAMED), tests=(check(script),)))
    assert [result.rows for result in call.results] == [((("other", "mine"),),), NAMES]


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_cursor_that_is_held_can_be_read(play: Player, way: str) -> None:
    program = """CREATE FUNCTION names() RETURNS refcursor LANGUAGE plpgsql AS $$
    BEGIN
      EXECUTE 'DECLARE held CURSOR WITH HOLD FOR SELECT name FROM items ORDER BY id'; RETURN 'held';
    END $$;"""
    (call,) = calls_of(play(way.format(program), tests=(check("SELECT names()"),)))
    assert call.results[1].rows == NAMES


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_a_value_that_was_added_to_a_type_can_be_used(play: Player, way: str) -> None:
    program = """CREATE TYPE mood AS ENUM ('sad');
    ALTER TYPE mood ADD VALUE 'glad';
    CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'glad'::mood::text; END $$;"""
    if way != "{}":
        program = program.replace("'sad');", "'sad');\nCOMMIT;")
    (call,) = calls_of(play(program, tests=(check("SELECT f()"),)))
    assert call.results[0].rows == ((("text", "glad"),),)


def test_a_table_is_not_in_use_by_the_cursor_of_the_call_before(play: Player) -> None:
    program = """CREATE FUNCTION f() RETURNS refcursor LANGUAGE plpgsql AS $$
    DECLARE c refcursor;
    BEGIN
      DROP TABLE IF EXISTS found; CREATE TEMP TABLE found AS SELECT 7 AS n;
      OPEN c FOR SELECT n FROM found; RETURN c;
    END $$;"""
    calls = calls_of(play(program, tests=(check("SELECT f()", "SELECT f()"),)))
    assert [call.results[1].rows for call in calls] == [((("int", "7"),),)] * 2


def test_a_procedure_that_commits_and_returns_a_cursor_is_played_once(play: Player) -> None:
    program = """CREATE PROCEDURE p(INOUT c refcursor) LANGUAGE plpgsql AS $$
    BEGIN RAISE NOTICE 'once'; UPDATE items SET notes = coalesce(notes, '') || '!'; COMMIT;
      OPEN c FOR SELECT notes FROM items WHERE id = 1; END $$;"""
    (observation,) = play(program, tests=(check("CALL p(NULL); SELECT notes FROM items WHERE id = 1"),)).tests
    (call,) = observation.calls
    assert call.lines == ("once",)
    assert call.results[-1].rows == ((("text", "!"),),)


def test_what_a_call_has_set_does_not_reach_the_next_unless_the_test_is_about_it(play: Player) -> None:
    program = """CREATE PROCEDURE p() LANGUAGE plpgsql AS $$
    BEGIN SET client_min_messages = error; SET search_path = pg_catalog; END $$;"""
    tell = "DO $$ BEGIN RAISE NOTICE '%', (SELECT count(*) FROM items); END $$"
    calls = calls_of(play(program, tests=(check("CALL p()", tell),)))
    assert calls[1].lines == ("3",)
    calls = calls_of(play(program, tests=(check("CALL p()", "SHOW search_path"),)))
    assert calls[1].results[0].rows == ((("text", "pg_catalog"),),)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_many_short_statements_do_not_fill_the_disk(address: ServerAddress, shop: Database, way: str) -> None:
    step = sql.SQL("CREATE TABLE {} AS SELECT repeat('x', 1900) AS t FROM generate_series(1, 5000);")
    steps = "\n".join(step.format(sql.Identifier(f"b{number}")).as_string() for number in range(60))
    program = way.format("CREATE FUNCTION f() RETURNS integer LANGUAGE sql AS 'SELECT 1';\n" + steps)
    engine = PostgresEngine(address, Limits(disk=8 << 20))
    lane = engine.lane("small")
    try:
        played = lane.play(Play("candidate", (program,), (check("SELECT f()"),), shop, Limits(time=20)))
    finally:
        lane.close()
        engine.close()
    assert played.programs[0].limit == "disk_limit"
    assert "replayed" in played.flags


WHO = """CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log (message) VALUES (current_user || ' of ' || current_database());
  RAISE NOTICE 'I am %', session_user;
  RETURN quote_ident(current_user);
END $$;"""


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_both_sides_are_the_same_user_of_the_same_database(play: Player, way: str) -> None:
    test = check("SELECT f(), current_user", mode="state")
    seen = [play(way.format(WHO), tests=(test,), side=side).tests[0] for side in ("reference", "candidate")]
    first, second = (msgspec.structs.replace(one, elapsed_ms=0) for one in seen)
    assert first == second
    assert first.calls[0].lines == ("I am plsqlbench_user",)
    assert first.calls[0].results[0].rows == ((("text", "plsqlbench_user"), ("text", "plsqlbench_user")),)
    assert first.state is not None
    assert ("text", "plsqlbench_user of plsqlbench_database") in first.state[0].rows[-1]


def test_each_call_has_a_time_of_its_own(play: Player) -> None:
    program = """CREATE TABLE notes (text text, at timestamptz DEFAULT now());
    CREATE PROCEDURE note(p text) LANGUAGE sql AS 'INSERT INTO notes (text) VALUES (p)';
    CREATE FUNCTION latest() RETURNS text LANGUAGE sql AS
    'SELECT text FROM notes ORDER BY at DESC LIMIT 1';"""
    test = check("CALL note('first')", "CALL note('second')", "SELECT latest()")
    calls = calls_of(play(program, tests=(test,)))
    assert calls[2].results[0].rows == ((("text", "second"),),)
    single = play(program, tests=(check("SELECT latest()"),))
    assert "isolated_copy" not in single.flags
