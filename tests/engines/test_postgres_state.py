"""Table state after calls: which tables differ, their rows, and the objects beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.observation import Observation, TableState
from pytest_plsqlbench.bench.task import Comparison, Source, Test
from pytest_plsqlbench.engines.postgres.lane import PostgresLane
from pytest_plsqlbench.engines.protocol import Limits, Play, Played

Player = Callable[..., Played]
ISOLATED = "CREATE PROCEDURE committing() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$; CALL committing()"


def judged(*calls: str, **options: Any) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison("state"),), **options)


@pytest.fixture(params=["rolled back", "isolated"])
def observe(request: pytest.FixtureRequest, play: Player) -> Callable[..., Observation]:
    """Play one test in either way; what is observed must not depend on the way."""
    first = () if request.param == "rolled back" else (ISOLATED,)

    def run(test: Test, *programs: str, **options: Any) -> Observation:
        played = play(*first, *programs, tests=(test,), **options)
        assert [shown.error for shown in played.programs] == [None] * len(played.programs)
        assert bool(played.flags) == (request.param == "isolated")
        return played.tests[0]

    return run


def names(observation: Observation) -> list[str]:
    assert observation.state is not None
    return [table.name for table in observation.state]


def test_nothing_changed_is_an_empty_state(observe: Callable[..., Observation]) -> None:
    seen = observe(judged("SELECT 1", "SELECT count(*) FROM items", "UPDATE items SET price = price"))
    assert seen.state == ()
    assert seen.state_between == ((), (), ())
    assert seen.objects == ()


def test_changed_tables_are_listed_with_all_their_rows(observe: Callable[..., Observation]) -> None:
    seen = observe(
        judged(
            "INSERT INTO log VALUES ('2024-01-01', NULL, 0.1), (NULL, 'b', 'NaN'), (NULL, 'a', 1)",
            "UPDATE items SET price = 2 WHERE id = 1; DELETE FROM orders; DELETE FROM items WHERE id > 1",
        )
    )
    assert seen.state == (
        TableState(
            "shop.items",
            ("id", "name", "price", "notes", "active", "since"),
            (
                (
                    ("int", "1"),
                    ("text", "pen"),
                    ("numeric", "2.00"),
                    None,
                    ("bool", "t"),
                    ("date", "2024-02-29"),
                ),
            ),
        ),
        TableState(
            "shop.log",
            ("at", "message", "weight"),
            (
                (("timestamp", "2024-01-01 00:00:00"), None, ("float", "0.1")),
                (None, ("text", "a"), ("float", "1")),
                (None, ("text", "b"), ("float", "NaN")),
            ),
        ),
        TableState("shop.orders", ("id", "item", "quantity"), ()),
    )
    assert seen.state_between is not None
    assert [[table.name for table in between] for between in seen.state_between] == [
        ["shop.log"],
        ["shop.items", "shop.log", "shop.orders"],
    ]


def test_a_change_undone_by_a_later_call_shows_only_between(observe: Callable[..., Observation]) -> None:
    seen = observe(judged("DELETE FROM log; INSERT INTO log(message) VALUES ('x')", "TRUNCATE log"))
    assert seen.state == ()
    assert seen.state_between is not None
    assert [len(between) for between in seen.state_between] == [1, 0]


def test_what_a_failing_call_did_is_undone_and_the_rest_stays(observe: Callable[..., Observation]) -> None:
    calls = (
        "INSERT INTO log(message) VALUES ('kept')",
        "INSERT INTO log(message) VALUES ('kept too'); INSERT INTO log(message) SELECT 1/0",
        "INSERT INTO log(message) VALUES ('after')",
    )
    seen = observe(judged(*calls, on_error="continue"))
    assert seen.state is not None
    assert [row[1] for row in seen.state[0].rows] == [
        ("text", "after"),
        ("text", "kept"),
        ("text", "kept too"),
    ]
    stopped = observe(judged(*calls))
    assert stopped.state is not None
    assert [row[1] for row in stopped.state[0].rows] == [("text", "kept"), ("text", "kept too")]


def test_installing_counts_as_the_programs_doing(observe: Callable[..., Observation]) -> None:
    assert names(observe(judged("SELECT 1"), "DELETE FROM orders")) == ["shop.orders"]


def test_an_open_transaction_has_changed_nothing(play: Player) -> None:
    played = play("SELECT 1", tests=(judged("BEGIN; DELETE FROM orders; LOCK TABLE items"),))
    assert played.flags == ("isolated_copy",)
    assert played.tests[0].state == ()
    # the same on an open transaction that keeps others from reading in between
    played = play("SELECT 1", tests=(judged("BEGIN; TRUNCATE log", "SELECT 1"),))
    assert played.tests[0].state == ()
    assert played.tests[0].state_between is not None
    assert played.tests[0].state_between[0][0].name.startswith("(a table is locked")


def test_new_dropped_and_altered_objects_are_named(observe: Callable[..., Observation]) -> None:
    seen = observe(
        judged(
            "CREATE TABLE extra (a int, b numeric(5,2)[]); CREATE VIEW shop.v AS SELECT 1 AS one;"
            " SELECT nextval('items_id_seq'); CREATE TEMP TABLE unseen (x int)"
        )
    )
    assert seen.objects == (
        "+ sequence shop.items_id_seq = 4",
        "+ table work.extra(a integer, b numeric(5,2)[])",
        "+ view shop.v(one integer)",
        "- sequence shop.items_id_seq = 3",
    )
    assert seen.state == ()


def test_strict_readings_are_left_out_where_nobody_asks(observe: Callable[..., Observation]) -> None:
    seen = observe(judged("DELETE FROM log", "DELETE FROM orders"), strict=False)
    assert names(seen) == ["shop.orders"]
    assert (seen.state_between, seen.objects) == (None, None)


def test_state_is_read_past_everything_a_program_puts_in_the_way(observe: Callable[..., Observation]) -> None:
    program = """
      CREATE TABLE items AS SELECT * FROM shop.items;
      CREATE TEMP TABLE orders AS SELECT * FROM shop.orders;
      CREATE FUNCTION count(anyelement) RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
      CREATE FUNCTION hashtextextended(text, int) RETURNS bigint LANGUAGE sql RETURN 0;
      CREATE FUNCTION concat(text, text) RETURNS text LANGUAGE sql RETURN 'same';
      CREATE FUNCTION same(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
      CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = same);
      CREATE OPERATOR work.= (LEFTARG = name, RIGHTARG = name, FUNCTION = pg_catalog.nameeq);
    """
    change = (
        "UPDATE shop.items SET price = 99 WHERE id = 1; DELETE FROM shop.orders;"
        " SET search_path = work, pg_catalog; SET extra_float_digits = -15; SET bytea_output = 'escape'"
    )
    seen = observe(judged(change), program)
    assert names(seen) == ["shop.items", "shop.orders"]
    assert seen.state is not None
    assert ("numeric", "99.00") in [row[2] for row in seen.state[0].rows]


def test_floats_are_read_to_the_last_bit(observe: Callable[..., Observation]) -> None:
    seen = observe(judged("SET extra_float_digits = -15; INSERT INTO log(weight) VALUES (0.1::float8 + 0.2)"))
    assert seen.state is not None
    assert seen.state[0].rows[0][2] == ("float", "0.30000000000000004")


def test_another_spelling_of_the_same_number_is_no_change(lane: PostgresLane) -> None:
    source = Source("n.sql", 1)
    database = Database(
        name="numbers",
        dialect="postgres",
        schemas=("n", "m"),
        before=(
            Statement("CREATE SCHEMA n; ", source),
            Statement("CREATE SCHEMA m", source),
            Statement("CREATE TABLE n.t (x numeric, f float8)", source),
            Statement('CREATE TABLE m."Odd ""name" ("select" int, r int)', source),
            Statement("CREATE TABLE m.part (k int, v text) PARTITION BY LIST (k)", source),
            Statement("CREATE TABLE m.part1 PARTITION OF m.part FOR VALUES IN (1)", source),
            Statement("CREATE TABLE m.part2 PARTITION OF m.part DEFAULT", source),
            Statement("CREATE TABLE m.parent (i int)", source),
            Statement("CREATE TABLE m.child () INHERITS (m.parent)", source),
            Statement("CREATE TABLE m.empty ()", source),
        ),
        data=(TableData("n", "t", ("x", "f"), lambda: iter([("11.4", "0"), ("5", "1")]), source),),
        after=(),
        fingerprint="12" * 32,
    )

    def states(*calls: str) -> list[tuple[str, int]]:
        played = lane.play(Play("candidate", (), (judged(*calls),), database, Limits(time=20)))
        assert [call.error for call in played.tests[0].calls] == [None] * len(calls)
        assert played.tests[0].state is not None
        return [(table.name, len(table.rows)) for table in played.tests[0].state]

    assert states("UPDATE n.t SET x = 11.4000 WHERE x = 11.4") == []
    assert states("UPDATE n.t SET f = '-0' WHERE f = 0") == [("n.t", 2)]
    assert states('INSERT INTO m."Odd ""name" VALUES (1, 2)') == [('m.Odd "name', 1)]
    assert states("INSERT INTO m.part VALUES (1, 'a'), (2, 'b')") == [("m.part", 2)]
    assert states("INSERT INTO m.child VALUES (1); INSERT INTO m.parent VALUES (2), (3)") == [
        ("m.child", 1),
        ("m.parent", 2),
    ]
    assert states("INSERT INTO m.empty DEFAULT VALUES") == [("m.empty", 1)]


def test_a_table_too_large_to_hold_is_told_by_its_digest(play: Player) -> None:
    limits = Limits(time=20, rows=50)
    fill = "INSERT INTO log(message) SELECT g::text FROM generate_series({}) g"
    played = play(
        tests=(
            judged(fill.format("1, 60")),
            judged(fill.format("60, 1, -1")),
            judged(fill.format("1, 61")),
        ),
        limits=limits,
    )
    one, same, other = (observation.state for observation in played.tests)
    assert one is not None
    assert one[0].columns == ("digest",)
    assert one == same
    assert one != other


def test_deferrable_constraints_are_checked_when_a_statement_ends(engine: Any, shop: Database) -> None:
    deferred = replace(
        shop,
        name="deferred",
        fingerprint="dd" * 32,
        after=(
            *shop.after,
            Statement(
                "ALTER TABLE log ADD CHECK (true), ADD UNIQUE (message) DEFERRABLE INITIALLY DEFERRED",
                Source("d.sql", 1),
            ),
        ),
    )
    lane = engine.lane("deferred")
    try:
        swap = "UPDATE log SET message = CASE message WHEN 'a' THEN 'b' ELSE 'a' END"
        calls = (
            "INSERT INTO log(message) VALUES ('a'), ('b')",
            swap,
            "INSERT INTO log(message) VALUES ('a')",
            # only the end of the block counts
            (
                "DO $$ BEGIN INSERT INTO log(message) VALUES ('a');"
                " DELETE FROM log WHERE ctid = (SELECT max(ctid) FROM log); END $$"
            ),
        )
        played = lane.play(Play("candidate", (), (judged(*calls, on_error="continue"),), deferred))
        codes = [call.error.code if call.error else None for call in played.tests[0].calls]
        assert codes == [None, None, "23505", None]
        assert played.flags == ("isolated_copy",)
    finally:
        lane.close()


LATE = (
    "CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN RAISE NOTICE 'late'; RETURN NULL;"
    " END $f$; CREATE FUNCTION make() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN"
    " EXECUTE 'CREATE TABLE d (i int UNIQUE DEFER' || 'RABLE INITIALLY DEFER' || 'RED)';"
    " EXECUTE 'CREATE CONSTRAINT TRIGGER l AFTER INSERT ON d DEFER' || 'RABLE INITIALLY DEFER' || 'RED"
    " FOR EACH ROW EXECUTE FUNCTION late()'; END $f$"
)
"""The texts do not tell that the table has constraints which are checked late."""


@pytest.mark.parametrize("options", [{}, {"on_error": "continue"}], ids=["plain", "guarded"])
def test_a_deferred_violation_is_the_failure_of_the_call(play: Player, options: dict[str, Any]) -> None:
    good = Test(name="g", calls=("SELECT make(); INSERT INTO d VALUES (1)",), **options)
    bad = Test(name="b", calls=("SELECT make(); INSERT INTO d VALUES (1), (1)",), **options)
    played = play(LATE, tests=(good, bad, good))
    assert played.flags == ()
    assert [observation.calls[0].lines for observation in played.tests] == [("late",)] * 3
    codes = [call.error.code if call.error else None for entry in played.tests for call in entry.calls]
    assert codes == [None, "23505", None]


def test_a_deferred_violation_is_that_of_its_own_call(play: Player) -> None:
    calls = ("SELECT make(); INSERT INTO d VALUES (1), (1)", "SELECT make()", "INSERT INTO d VALUES (1)")
    played = play(LATE, tests=(Test(name="t", calls=calls, on_error="continue"),))
    assert played.flags == ()
    codes = [call.error.code if call.error else None for call in played.tests[0].calls]
    # the first call is two statements: the table stays, its rows do not
    assert codes == ["23505", "42P07", None]


def test_a_program_that_makes_deferrable_constraints_is_played_in_copies(play: Player) -> None:
    move = "UPDATE d SET i = 3 - i"
    test = judged("INSERT INTO d VALUES (1), (2)", move, "INSERT INTO d VALUES (1)", on_error="continue")
    played = play(LATE, "SELECT make()", tests=(test,))
    assert played.flags == ("isolated_copy",)
    codes = [call.error.code if call.error else None for call in played.tests[0].calls]
    assert codes == [None, None, "23505"]


WRITING = {
    "insert": "INSERT INTO log(message) VALUES ('x')",
    "update": "UPDATE items SET price = price + 1 WHERE id = 2",
    "delete": "DELETE FROM orders WHERE id = 20",
    "truncate": "TRUNCATE orders",
    "truncate and write the same": "CREATE TEMP TABLE kept AS TABLE orders; TRUNCATE orders;"
    " INSERT INTO orders SELECT * FROM kept",
    "truncate and write less": "CREATE TEMP TABLE kept AS TABLE orders; TRUNCATE orders;"
    " INSERT INTO orders SELECT * FROM kept WHERE id < 20",
    "copy": "COPY log(message) FROM STDIN;\nx\n\\.\n",
    "merge": "MERGE INTO items USING (VALUES (2)) v(k) ON id = v.k WHEN MATCHED THEN UPDATE SET name = 'm'",
    "upsert": "INSERT INTO items(id, name) VALUES (1, 'u') ON CONFLICT (id) DO UPDATE SET name = 'u'",
    "by a trigger": "CREATE FUNCTION t() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " DELETE FROM orders WHERE id = 3; RETURN NEW; END $$; CREATE TRIGGER t BEFORE INSERT ON log"
    " FOR EACH ROW EXECUTE FUNCTION t(); INSERT INTO log(message) VALUES ('x')",
    "in a block that catches": "DO $$ BEGIN UPDATE items SET price = 0; BEGIN DELETE FROM orders;"
    " RAISE EXCEPTION 'x'; EXCEPTION WHEN OTHERS THEN NULL; END; END $$",
    "undone": "DO $$ BEGIN DELETE FROM orders; TRUNCATE log; RAISE EXCEPTION 'x'; EXCEPTION WHEN OTHERS"
    " THEN NULL; END $$",
    "nothing": "SELECT * FROM items FOR UPDATE",
    "through a view": "UPDATE cheap SET name = 'v'",
    "in a CTE": "WITH d AS (DELETE FROM orders RETURNING 1) SELECT count(*) FROM d",
}


@pytest.mark.parametrize("installed", [False, True], ids=["test", "program"])
def test_tables_that_are_not_read_again_are_those_nobody_wrote(
    play: Player, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    from pytest_plsqlbench.engines.postgres import state

    def observe() -> list[Any]:
        seen = []
        for text in WRITING.values():
            if installed:
                played = play(text, tests=(judged("SELECT 1"), judged("DELETE FROM log")))
            else:
                played = play(tests=(judged(text, "SELECT 1", WRITING["insert"]), judged("SELECT 1")))
            assert played.flags == ()
            seen.append([(entry.state, entry.state_between) for entry in played.tests])
        return seen

    spared = observe()
    read = state.read_state
    monkeypatch.setattr(
        state, "read_state", lambda session, base, budget, since=None: read(session, base, budget)
    )
    assert spared == observe()
    assert any(entry for observations in spared for entry, _ in observations)
