"""Plays leave nothing behind, and tests of a play do not see each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.observation import CallObservation
from pytest_plsqlbench.bench.task import Comparison, Mode, Test
from pytest_plsqlbench.engines.postgres.lane import PostgresLane
from pytest_plsqlbench.engines.protocol import Limits, Play, Played

Player = Callable[..., Played]

_PROBES = (
    "SELECT * FROM shop.items ORDER BY id",
    "SELECT * FROM shop.orders ORDER BY id",
    "SELECT count(*) FROM shop.log",
    "SELECT last_value, is_called FROM shop.items_id_seq",
    "SELECT last_value, is_called FROM shop.orders_id_seq",
    "SELECT count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory'",
    "SELECT count(*) FROM pg_catalog.pg_prepared_statements",
    "SELECT count(*) FROM pg_catalog.pg_cursors WHERE is_holdable",
    "SELECT count(*) FROM pg_catalog.pg_listening_channels()",
    "SELECT count(*) FROM pg_catalog.pg_class WHERE relpersistence = 't'",
    "SELECT count(*) FROM pg_catalog.pg_class WHERE oid >= 16384",
    "SELECT count(*) FROM pg_catalog.pg_proc WHERE oid >= 16384",
    "SELECT count(*) FROM pg_catalog.pg_largeobject_metadata",
    "SELECT count(*) FROM pg_catalog.pg_db_role_setting",
    "SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname LIKE 'plsqlbench%' AND rolconfig IS NOT NULL",
    "SELECT name, setting FROM pg_catalog.pg_settings WHERE name NOT LIKE '%.%' ORDER BY name",
    "SELECT current_user = session_user",
    "SELECT pg_catalog.current_setting('my.own', true) IS NULL",
    "SELECT pg_catalog.has_table_privilege('shop.items', 'INSERT')",
)


def check(*calls: str, mode: Mode = "lines", **options: Any) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison(mode),), **options)


def probe(lane: PostgresLane, shop: Database, side: Any = "candidate") -> list[Any]:
    played = lane.play(Play(side, (), tuple(check(query) for query in _PROBES), shop, Limits(time=30)))
    seen = [observation.calls[0] for observation in played.tests]
    assert [call.error for call in seen] == [None] * len(_PROBES)
    return [call.results[0].rows for call in seen]


HARMFUL = {
    "rows": "DELETE FROM orders; UPDATE items SET price = 0; INSERT INTO log(message) VALUES ('x')",
    "truncate": "TRUNCATE items, orders CASCADE",
    "nextval": "SELECT nextval('shop.items_id_seq'); INSERT INTO orders(quantity) VALUES (1)",
    "setval": "SELECT setval('shop.items_id_seq', 900), setval('shop.orders_id_seq', 7, false)",
    "advisory lock": "SELECT pg_advisory_lock(1), pg_advisory_lock_shared(2, 3)",
    "prepare": "PREPARE leaked AS SELECT 1",
    "temporary table": "CREATE TEMP TABLE items (x int)",
    "session settings": "SET work_mem = '1MB'; SET search_path = pg_catalog; SET TimeZone = 'Asia/Tokyo'",
    "custom setting": "SELECT set_config('my.own', 'x', false)",
    "dynamic setting": "DO $$ BEGIN EXECUTE 'SELECT set_' || 'config(''my.own'', ''x'', false)'; END $$",
    "setting in a body": "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS"
    " $$ BEGIN SET /**/ my.own = 'x'; END $$; SELECT f()",
    "setting of a function": "CREATE FUNCTION f() RETURNS int SET my.own = 'x' RETURN 1; SELECT f()",
    "role settings": "ALTER ROLE CURRENT_USER SET statement_timeout = 0",
    "role password": "ALTER ROLE CURRENT_USER PASSWORD 'x'",
    "cursor": "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
    "listen": "LISTEN something; NOTIFY something",
    "objects": "CREATE TABLE work.mine (id serial); CREATE FUNCTION shop.f() RETURNS int RETURN 1",
    "schema": "CREATE SCHEMA mine CREATE TABLE t (i int)",
    "commit": "INSERT INTO log(message) VALUES ('x'); COMMIT",
    "commit and chain": "INSERT INTO log(message) VALUES ('x'); COMMIT AND CHAIN; DELETE FROM orders; COMMIT",
    "begin and leave open": "BEGIN; DELETE FROM orders",
    "rollback": "DELETE FROM orders; ROLLBACK; DELETE FROM orders",
    "committing procedure": "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN DELETE FROM log; COMMIT;"
    " END $$; CALL p()",
    "committing block": "DO $$ BEGIN DELETE FROM orders; COMMIT; DELETE FROM items; COMMIT; END $$",
    "prepared transaction": "BEGIN; DELETE FROM orders; PREPARE TRANSACTION 'x'",
    "savepoints": "SAVEPOINT a; DELETE FROM orders; RELEASE a",
    "end": "DELETE FROM orders; END",
    "error": "DELETE FROM orders; SELECT 1/0",
    "setseed": "SELECT setseed(0.5)",
    "discard": "DISCARD ALL",
    "isolation": "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;"
    " SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    "large object": "SELECT lo_from_bytea(0, 'x')",
    "sequence of its own": "CREATE SEQUENCE s; SELECT nextval('s')",
    "privileges": "REVOKE ALL ON items FROM PUBLIC; REVOKE ALL ON SCHEMA shop FROM PUBLIC",
    "index concurrently": "CREATE INDEX CONCURRENTLY ON items (name)",
    "vacuum": "VACUUM items",
    "lock": "LOCK TABLE items IN ACCESS EXCLUSIVE MODE",
    "deferred": "CREATE TABLE d (i int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO d VALUES (1), (1)",
}


@pytest.fixture(scope="module")
def clean(module_lane: PostgresLane, shop: Database) -> list[Any]:
    return probe(module_lane, shop)


@pytest.mark.parametrize("name", HARMFUL)
def test_a_play_leaves_nothing_to_the_next(
    module_lane: PostgresLane, shop: Database, clean: list[Any], name: str
) -> None:
    text = HARMFUL[name]
    for programs, tests in (((text,), (check("SELECT 1"),)), ((), (check(text), check(text)))):
        module_lane.play(Play("candidate", programs, tests, shop, Limits(time=20)))
        assert probe(module_lane, shop) == clean
    assert probe(module_lane, shop, "reference") == clean


ENDING = {
    "commit": "DELETE FROM orders; COMMIT",
    "commit and chain": "BEGIN; DELETE FROM orders; COMMIT AND CHAIN; DELETE FROM items WHERE id > 3; COMMIT",
    "rollback": "DELETE FROM orders; ROLLBACK; DELETE FROM log",
    "rollback and chain": "BEGIN; ROLLBACK AND CHAIN; COMMIT",
    "commit and begin": "COMMIT; BEGIN; DELETE FROM orders",
    "procedure": "CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$; CALL p()",
    "vacuum": "VACUUM",
}


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize("place", ["program", "earlier program", "test", "guarded test"])
def test_what_the_reading_of_texts_would_miss_is_noticed_by_the_transaction(
    module_lane: PostgresLane,
    shop: Database,
    clean: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    place: str,
) -> None:
    from pytest_plsqlbench.engines.postgres import lane as lanes

    monkeypatch.setattr(lanes, "needs_autocommit", lambda _play: False)
    text, harmless = ENDING[name], check("SELECT 1")
    programs, tests = {
        "program": ((text,), (harmless,)),
        "earlier program": ((text, "SELECT 1"), (harmless,)),
        "test": ((), (harmless, check(text), harmless)),
        "guarded test": ((), (harmless, check(text, on_error="continue"), harmless)),
    }[place]
    played = module_lane.play(Play("candidate", programs, tests, shop, Limits(time=20)))
    assert played.flags == ("isolated_copy",)
    assert len(played.tests) == len(tests)
    monkeypatch.undo()
    assert probe(module_lane, shop) == clean


def test_tests_do_not_see_each_other(play: Player) -> None:
    program = (
        "CREATE TABLE mine (id serial, t text); INSERT INTO mine(t) VALUES ('installed');"
        "SELECT nextval('items_id_seq')"
    )
    call = (
        "PREPARE q AS SELECT 1; INSERT INTO mine(t) VALUES ('test') RETURNING id;"
        " INSERT INTO items(name) VALUES ('x') RETURNING id; SELECT count(*) FROM items;"
        " CREATE TEMP TABLE tt(); SELECT pg_try_advisory_lock(5)"
    )
    played = play(program, tests=(check(call),) * 3)
    for observation in played.tests:
        assert observation.calls[0].error is None
        assert [result.rows for result in observation.calls[0].results] == [
            ((("int", "2"),),),  # the program took 1
            ((("int", "5"),),),  # loaded at 3, the program took 4
            ((("int", "4"),),),
            ((("bool", "t"),),),
        ]


def test_currval_of_an_earlier_test_is_not_seen(play: Player) -> None:
    played = play(tests=(check("SELECT nextval('items_id_seq')"), check("SELECT lastval()")))
    error = played.tests[1].calls[0].error
    assert error is not None
    assert error.code == "55000"


def test_sequences_come_back_after_a_session_was_killed(play: Player, shop: Database) -> None:
    looping = (
        "SELECT nextval('items_id_seq'); DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(9);"
        " EXCEPTION WHEN query_canceled THEN END; END LOOP; END $$"
    )
    played = play(tests=(check(looping), check("SELECT nextval('items_id_seq')")), limits=Limits(time=0.2))
    assert played.tests[0].calls[0].limit == "time_limit"
    assert played.tests[1].calls[0].results[0].rows == ((("int", "4"),),)
    assert only(play(tests=(check("SELECT nextval('items_id_seq')"),))).results[0].rows == ((("int", "4"),),)


def only(played: Played) -> CallObservation:
    return played.tests[0].calls[0]


@pytest.mark.parametrize(
    ("program", "test"),
    [
        ("CREATE PROCEDURE p() LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders; COMMIT; END $$", "CALL p()"),
        ("SELECT 1", "BEGIN; DELETE FROM orders; COMMIT"),
        ("SELECT 1", "DO $$ BEGIN DELETE FROM orders; COMMIT; END $$"),
    ],
)
def test_programs_that_commit_are_played_in_copies(play: Player, program: str, test: str) -> None:
    played = play(
        program, tests=(check(test, "SELECT count(*) FROM orders"), check("SELECT count(*) FROM orders"))
    )
    assert played.flags == ("isolated_copy",)
    assert played.tests[0].calls[0].error is None
    assert played.tests[0].calls[1].results[0].rows == ((("int", "0"),),)
    assert played.tests[1].calls[0].results[0].rows == ((("int", "20"),),)


def test_a_commit_that_no_text_shows_is_noticed(play: Player) -> None:
    # the text is in a table when the program runs: nothing in the script tells that a procedure commits
    program = "CREATE PROCEDURE p() LANGUAGE plpgsql AS E'BEGIN DELETE FROM orders; \\x43OMMIT; END'"
    played = play(program, tests=(check("CALL p()", "SELECT count(*) FROM orders"),))
    assert played.flags == ("isolated_copy",)
    assert played.tests[0].calls[1].results[0].rows == ((("int", "0"),),)


def test_now_moves_on_where_a_test_asks_for_its_own_transaction(play: Player) -> None:
    call = "SELECT now()"
    moved = play(tests=(check(call, call, transaction=True),))
    assert moved.flags == ("isolated_copy",)
    first, second = moved.tests[0].calls
    assert first.results != second.results
    stood = play(tests=(check(call, call),)).tests[0].calls
    assert stood[0].results == stood[1].results


def test_lost_sessions_are_the_programs_doing_and_the_rest_is_played(play: Player) -> None:
    # ending the own session is forbidden on the embedded server, running out of idle time is not
    suicide = "SET idle_in_transaction_session_timeout = 1; SELECT pg_sleep(0)"
    program = "CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1"
    played = play(program, tests=(check("SELECT f()"), check("SELECT f()")))
    assert [only_rows(observation.calls[0]) for observation in played.tests] == ["1", "1"]
    played = play(suicide, "SELECT 2", tests=(check("SELECT 3"),))
    assert len(played.programs) == 2


def only_rows(call: CallObservation) -> str | None:
    cell = call.results[0].rows[0][0]
    return cell[1] if cell else None


def test_sessions_do_not_age(module_lane: PostgresLane, shop: Database) -> None:
    pids = set()
    for number in range(230):
        program = (
            f"CREATE FUNCTION f{number}() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN {number}; END $$"
        )
        played = module_lane.play(
            Play("candidate", (program,), (check(f"SELECT f{number}(), pg_backend_pid()"),), shop)
        )
        (row,) = only(played).results[0].rows
        assert row[0] == ("int", str(number))
        assert row[1] is not None
        pids.add(row[1][1])
    assert 3 <= len(pids) <= 4


def test_a_lane_serves_more_databases_than_it_keeps(lane: PostgresLane, shop: Database) -> None:
    for number in [*range(6), 0]:
        database = replace(shop, name=f"shop{number}", fingerprint=sha256(bytes([number])).hexdigest())
        played = lane.play(Play("candidate", (), (check("SELECT count(*) FROM items"),), database))
        assert only_rows(only(played)) == "3"
    assert only_rows(only(lane.play(Play("reference", (), (check("SELECT 1"),))))) == "1"
