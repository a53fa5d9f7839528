"""Data on the Oracle engine: loaded once, guarded, compared, restored."""

from __future__ import annotations

import dataclasses
import datetime as dt
import threading
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace

import msgspec
import oracledb
import pytest
from oracle_double import FakeConnection, FakeOracle, Reply, Result, dpy, gate_of, ora

from pytest_plsqlbench.bench.database import Database, Statement, TableData
from pytest_plsqlbench.bench.task import Source, Test
from pytest_plsqlbench.engines.oracle import datastore, tables
from pytest_plsqlbench.engines.oracle.engine import OracleEngine
from pytest_plsqlbench.engines.oracle.gate import Gate
from pytest_plsqlbench.engines.oracle.lane import OracleLane
from pytest_plsqlbench.engines.oracle.names import keep_name
from pytest_plsqlbench.engines.protocol import (
    DatabaseLoadError,
    InfrastructureError,
    Play,
    UnsupportedError,
)
from pytest_plsqlbench.servers.address import ServerAddress

MakePlay = Callable[..., Play]
READ = "SELECT total FROM orders;"
WRITE = "UPDATE orders SET total = 0;\nCOMMIT;"
CANDIDATE = "PLB_R1_GW0_C1"
KEEP = keep_name("SHOP")


@pytest.fixture
def reads(server: FakeOracle) -> None:
    """Programs that read."""
    server.on(
        "SELECT total", Reply(result=Result([("TOTAL", oracledb.DB_TYPE_NUMBER)], [(Decimal("10.5"),)]))
    )


def zero(server: FakeOracle) -> Callable[[FakeConnection], None]:
    """A committed change."""

    def change(_session: FakeConnection) -> None:
        table = server.tables["SHOP", "ORDERS"]
        table.rows = [(row[0], Decimal(0)) for row in table.rows]
        table.scn += 1

    return change


@pytest.mark.usefixtures("reads")
def test_loaded_once(server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database) -> None:
    """engines §2.3: data owners are loaded once a server; a second lane and run find them."""
    played = lane.play(make_play(calls=(READ,), database=shop))
    assert played.tests[0].calls[0].results[0].rows == ((("numeric", "10.5"),),)
    assert server.tables["SHOP", "ORDERS"].rows == [(Decimal(1), Decimal("10.5")), (Decimal(2), None)]
    assert server.users["SHOP"] == "NONE", "no authentication, so no login"
    assert server.sent("GATHER_SCHEMA_STATS")
    assert server.sent("LOCK_SCHEMA_STATS")
    lane.play(make_play(calls=(READ,), database=shop))
    assert len(server.sent("^CREATE TABLE SHOP")) == 1
    assert server.locks == []


@pytest.mark.usefixtures("reads")
def test_rights_by_schema_and_by_object(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database, engine: OracleEngine
) -> None:
    """engines fact 7: one statement in 23ai, else one a table; READ, not SELECT; to the user itself."""
    lane.play(make_play(calls=(READ,), database=shop))
    assert server.sent(f'^GRANT READ ANY TABLE ON SCHEMA "SHOP" TO "{CANDIDATE}"$')
    assert server.sent(f'^CREATE SYNONYM "{CANDIDATE}"."ORDERS" FOR "SHOP"."ORDERS"$')
    older = dataclasses.replace(engine.capabilities, schema_rights=False)
    other = OracleLane(lane._admin, older, "gw1")
    other.play(make_play(calls=(READ,), database=shop))
    assert server.sent('^GRANT READ ON "SHOP"."ORDERS" TO "PLB_R1_GW1_C1"$')
    assert not server.sent("GRANT SELECT ON")


@pytest.mark.usefixtures("reads")
def test_synonyms_are_made_once_a_database(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines §2.3: grants and synonyms serialise in the library cache: once, not per test."""
    for _ in range(3):
        lane.play(make_play(calls=(READ,), database=shop))
    assert len(server.sent("^CREATE SYNONYM")) == 1
    lane.play(make_play(calls=(READ,)))
    assert server.sent("^DROP SYNONYM")
    assert server.sent("^REVOKE READ ANY TABLE")


@pytest.mark.usefixtures("reads")
def test_a_dropped_synonym_costs_the_user(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines §2.2: the object list must equal the baseline, also where something is missing."""

    def drop(_session: FakeConnection) -> None:
        found = server.find(CANDIDATE, "SYNONYM", "ORDERS")
        assert found is not None
        del server.objects[found.number]

    server.on("BEGIN p", Reply(effect=drop))
    lane.play(make_play(calls=("EXEC p",), database=shop))
    assert CANDIDATE not in server.users


def test_all_kinds_of_objects_can_be_used(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """Views, sequences, functions and types of the data; the first schema wins a bare name."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=shop))
    for kind, name in (
        ("SEQUENCE", "ORDER_IDS"),
        ("FUNCTION", "PRICE_OF"),
        ("TYPE", "MONEY"),
        ("INDEX", "I"),
    ):
        server.add_object("SHOP", kind, name)
    server.add_object("SHOP", "SEQUENCE", "ISEQ$$_9")
    lane.play(make_play(calls=("EXEC p",), database=shop, side="reference"))
    (granted,) = server.sent('^GRANT .* ON SCHEMA "SHOP" TO "PLB_R1_GW0_R1"')
    assert set(granted.removeprefix("GRANT ").split(" ON ")[0].split(", ")) == {
        "READ ANY TABLE", "SELECT ANY SEQUENCE", "EXECUTE ANY PROCEDURE", "EXECUTE ANY TYPE",
    }  # fmt: skip
    assert server.sent('CREATE SYNONYM "PLB_R1_GW0_R1"."PRICE_OF"')
    assert not server.sent('SYNONYM "PLB_R1_GW0_R1"."(I"|ISEQ)')


def test_two_schemas_with_one_name(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """A bare name leads to the first schema that has it."""
    source = Source("two.yaml", 9)
    both = dataclasses.replace(
        shop,
        schemas=("SHOP", "MALL"),
        before=(*shop.before, Statement("CREATE TABLE MALL.ORDERS (ID NUMBER)", source)),
    )
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=both))
    assert [text.split(" FOR ")[1] for text in server.sent("^CREATE SYNONYM")] == ['"SHOP"."ORDERS"']


# -- wrong data ----------------------------------------


def test_a_wrong_statement_names_its_place(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """A wrong statement is the data's fault, said once and remembered."""
    server.on("^CREATE TABLE SHOP", Reply(error=ora(902, "invalid datatype")))
    for _ in range(2):
        with pytest.raises(DatabaseLoadError, match=r"^shop.yaml:3: ORA-00902"):
            lane.play(make_play(calls=(READ,), database=shop))
    assert len(server.sent("^CREATE TABLE SHOP")) == 1


def test_a_full_server_is_tried_again_by_the_next_run(
    server: FakeOracle, address: ServerAddress, make_play: MakePlay, shop: Database
) -> None:
    """engines fact 8: 12 GB and the like are not the data's fault; once a run is enough."""
    server.on("^CREATE TABLE SHOP", Reply(error=ora(12954, "The request exceeds the maximum allowed size")))
    first = OracleEngine(address).lane("gw0")
    for _ in range(2):
        with pytest.raises(DatabaseLoadError, match=r"^shop.yaml:3: ORA-12954"):
            first.play(make_play(calls=(READ,), database=shop))
    assert len(server.sent("^CREATE TABLE SHOP")) == 1
    first.close()
    server._replies.clear()
    server.on("BEGIN p", Reply())
    later = OracleEngine(msgspec.structs.replace(address, run_id="r2")).lane("gw0")
    later.play(make_play(calls=("EXEC p",), database=shop))
    assert server.register["SHOP"][2] == "ready"


def test_a_wrong_row_names_its_place(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """Rows in batches: the message names file and rows."""
    bad = TableData("SHOP", "ORDERS", ("ID", "TOTAL"), lambda: iter([("1", "x")]), Source("orders.csv", 2))
    with pytest.raises(
        DatabaseLoadError, match=r"orders.csv:2: rows 1-1 of SHOP.ORDERS: 'x' is not a number"
    ):
        lane.play(make_play(calls=(READ,), database=dataclasses.replace(shop, data=(bad,))))
    server.on('^INSERT INTO "SHOP', Reply(error=ora(1, "unique constraint violated")))
    with pytest.raises(DatabaseLoadError, match=r"shop.yaml:3: ORA-00001.* in rows 1-2"):
        lane.play(make_play(calls=(READ,), database=dataclasses.replace(shop, fingerprint="f2")))


def test_a_missing_column(lane: OracleLane, make_play: MakePlay, shop: Database) -> None:
    """A row file that names a column the table lacks."""
    bad = TableData("SHOP", "ORDERS", ("ID", "PRICE"), lambda: iter([]), Source("orders.csv", 2))
    with pytest.raises(DatabaseLoadError, match="has no column PRICE"):
        lane.play(make_play(calls=(READ,), database=dataclasses.replace(shop, data=(bad,))))


def test_a_unit_of_the_data_with_errors(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines §1.8: a warning at creation is an error of the data."""
    after = (Statement("CREATE FUNCTION SHOP.F RETURN NUMBER IS BEGIN x; END;", Source("shop.yaml", 40)),)
    server.on("^CREATE FUNCTION SHOP", Reply(warning=True))
    with pytest.raises(DatabaseLoadError, match=r"^shop.yaml:40: "):
        lane.play(make_play(calls=(READ,), database=dataclasses.replace(shop, after=after)))


@pytest.mark.parametrize("text", ["^CREATE TABLE SHOP", '^INSERT INTO "SHOP'])
def test_a_server_lost_while_loading(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database, text: str
) -> None:
    """Infrastructure, not the data: the next play loads again."""
    server.on(text, Reply(error=ora(3113, "end-of-file on communication channel")))
    with pytest.raises(InfrastructureError):
        lane.play(make_play(calls=(READ,), database=shop))
    assert server.register["SHOP"][2] == "loading"
    server._replies.clear()
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=shop))
    assert server.register["SHOP"][2] == "ready"


def test_users_of_others_are_not_touched(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """A user that the register does not list is not ours."""
    server.users["SHOP"] = "PASSWORD"
    with pytest.raises(DatabaseLoadError, match="has a user SHOP that was not made by"):
        lane.play(make_play(calls=(READ,), database=shop))
    empty = dataclasses.replace(shop, before=(), data=())
    with pytest.raises(DatabaseLoadError, match=r"^shop: "):
        lane.play(make_play(calls=(READ,), database=empty))
    assert not server.sent('DROP USER "SHOP"')


def test_another_version_of_the_data_replaces_it(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """The fingerprint decides; grants that went with the old owner are given anew."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=shop))
    lane.play(make_play(calls=("EXEC p",), database=dataclasses.replace(shop, fingerprint="f2")))
    assert server.sent('DROP USER "SHOP" CASCADE')
    assert len(server.sent("^GRANT READ ANY TABLE")) == 2


def test_an_owner_that_cannot_be_replaced(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines §2.4: ORA-01940 while somebody is connected."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=shop))
    server.on('DROP USER "SHOP"', Reply(error=ora(1940, "cannot drop a user that is currently connected")))
    with pytest.raises(InfrastructureError, match="in use"):
        lane.play(make_play(calls=("EXEC p",), database=dataclasses.replace(shop, fingerprint="f2")))


def test_wide_columns_become_lobs(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines fact 11: MAX_STRING_SIZE may be STANDARD; then wide columns become CLOB, and it shows."""
    wide = (Statement("CREATE TABLE SHOP.ORDERS (ID NUMBER, TOTAL VARCHAR2(8000))", Source("shop.yaml", 3)),)
    standard = dataclasses.replace(shop, before=wide, data=())
    narrow = OracleLane(
        lane._admin, dataclasses.replace(lane._store.capabilities, extended_strings=False), "gw1"
    )
    server.on("BEGIN p", Reply())
    played = narrow.play(make_play(calls=("EXEC p",), database=standard))
    assert server.sent(r"^CREATE TABLE SHOP.ORDERS \(ID NUMBER, TOTAL CLOB\)")
    assert played.flags == ("1 wide columns became CLOB or BLOB",)
    server.on("^CREATE TABLE SHOP", Reply(error=ora(2329, "column of datatype LOB cannot be unique")))
    with pytest.raises(DatabaseLoadError, match="MAX_STRING_SIZE=EXTENDED"):
        narrow.play(make_play(calls=("EXEC p",), database=dataclasses.replace(standard, fingerprint="f3")))
    server._replies.clear()
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=dataclasses.replace(standard, fingerprint="f4")))
    assert server.sent(r"TOTAL VARCHAR2\(8000\)")


def test_many_rows_in_batches_with_progress(
    server: FakeOracle,
    engine: OracleEngine,
    make_play: MakePlay,
    shop: Database,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows go in batches; a line a database is told, and one every ten seconds while it lasts."""
    clock = iter(range(0, 1000, 6))
    timer = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("pytest_plsqlbench.engines.oracle.loader.time", timer)
    told: list[str] = []
    rows = [(str(n), None) for n in range(2500)]
    data = (TableData("SHOP", "ORDERS", ("ID", "TOTAL"), lambda: iter(rows), Source("orders.csv")),)
    engine._progress = told.append
    server.on("BEGIN p", Reply())
    engine.lane("gw0").play(make_play(calls=("EXEC p",), database=dataclasses.replace(shop, data=data)))
    assert len(server.tables["SHOP", "ORDERS"].rows) == 2500
    assert len(server.sent('^INSERT INTO "SHOP"')) == 3
    assert told == ["loading shop into Oracle", "loading SHOP.ORDERS into Oracle: 2,000 rows so far"]


# -- writing ----------------------------------------


@pytest.fixture
def writes(server: FakeOracle) -> None:
    """An UPDATE that is committed."""
    server.on("^COMMIT", Reply())
    server.on("^UPDATE orders", Reply(effect=zero(server)))


@pytest.mark.usefixtures("reads", "writes")
def test_writing_is_restored(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """Answers that update and COMMIT: alone on the data, from copies, between tests and after the play."""
    server.foreign_keys = [("SHOP", "ORDERS", "FK")]
    server.triggered = [("SHOP", "ORDERS")]
    server.sequences["SHOP", "ORDER_IDS"] = [1, 21]
    seen: list[list[tuple[object, ...]]] = []
    held: list[str] = []

    def look(_session: FakeConnection) -> None:
        assert server.register["SHOP"][2] == "dirty", "a worker that dies now leaves a mark"
        seen.append(list(server.tables["SHOP", "ORDERS"].rows))
        held.extend(mode for _, _, mode in server.locks)

    server.on("BEGIN look", Reply(effect=look))
    lane.play(make_play(calls=("EXEC look\n" + WRITE, "EXEC look\n" + WRITE), database=shop))
    initial = [(Decimal(1), Decimal("10.5")), (Decimal(2), None)]
    assert seen == [initial, initial]
    assert held == ["EXCLUSIVE", "EXCLUSIVE"]
    assert server.tables["SHOP", "ORDERS"].rows == initial
    assert server.register["SHOP"][2] == "ready"
    assert server.sequences["SHOP", "ORDER_IDS"] == [1, 1]
    assert server.sent(
        "^GRANT SELECT ANY TABLE, INSERT ANY TABLE, UPDATE ANY TABLE, DELETE ANY TABLE"
        f' ON SCHEMA "SHOP" TO "{CANDIDATE}"'
    )
    assert server.sent("^REVOKE SELECT ANY TABLE, INSERT ANY TABLE")
    assert server.sent("DISABLE CONSTRAINT")
    assert server.sent("ENABLE ALL TRIGGERS")
    lane.play(make_play(calls=(WRITE,), database=shop))
    assert len(server.sent(f'^CREATE TABLE "{KEEP}"."ORDERS"')) == 1, "copies are kept"


@pytest.mark.usefixtures("reads", "writes")
def test_what_a_program_writes_while_installed_is_its_doing(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database, state_test: Callable[..., Test]
) -> None:
    """State counts from before the program; each test begins with what the program alone has left."""
    played = lane.play(make_play(WRITE, tests=(state_test(READ), state_test(READ)), database=shop))
    for test in played.tests:
        assert test.state is not None
        assert [(table.name, len(table.rows)) for table in test.state] == [("SHOP.ORDERS", 2)]
        assert test.state[0].rows[0] == (("numeric", "1"), ("numeric", "0"))
        assert test.state_between == (test.state,)
        assert test.objects == ()
    assert "rebuilt_between_tests" in played.flags


@pytest.mark.usefixtures("reads")
def test_a_program_that_adds_rows_adds_them_once(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database, state_test: Callable[..., Test]
) -> None:
    """Played again for the second test, on restored rows."""

    def add(_session: FakeConnection) -> None:
        table = server.tables["SHOP", "ORDERS"]
        table.rows.append((Decimal(3), None))
        table.scn += 1

    server.on("^INSERT INTO orders", Reply(effect=add))
    program = "INSERT INTO orders VALUES (3, NULL);"
    played = lane.play(make_play(program, tests=(state_test(READ), state_test(READ)), database=shop))
    assert [len(test.state[0].rows) for test in played.tests if test.state] == [3, 3]
    assert len(server.tables["SHOP", "ORDERS"].rows) == 2


@pytest.mark.usefixtures("reads", "writes")
def test_state_judges_bags(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database, state_test: Callable[..., Test]
) -> None:
    """A table whose rows are the initial ones in another order has not changed; a call suite goes on."""

    def swap(_session: FakeConnection) -> None:
        table = server.tables["SHOP", "ORDERS"]
        table.rows.reverse()
        table.scn += 1

    server.on("BEGIN swap", Reply(effect=swap))
    server.on("BEGIN bad", Reply(error=ora(1403, "no data found")))
    server.on("^CREATE TABLE t", Reply())
    test = state_test("EXEC bad", "EXEC swap", "CREATE TABLE t (n NUMBER);")
    (seen,) = lane.play(make_play(tests=(test,), database=shop)).tests
    assert len(seen.calls) == 3
    assert seen.state == ()
    assert seen.objects == ("new table T",)
    empty = Test(name="none", compare=test.compare)
    (seen,) = lane.play(make_play("BEGIN swap; END;\n/", tests=(empty,), database=shop)).tests
    assert seen.state == ()
    loose = dataclasses.replace(make_play(tests=(test,), database=shop), strict=False, time_limits=(3.0,))
    (seen,) = lane.play(loose).tests
    assert seen.state_between is None
    assert seen.objects is None


def test_state_without_data(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, state_test: Callable[..., Test]
) -> None:
    """No database: no tables to judge."""
    server.on("BEGIN p", Reply())
    (seen,) = lane.play(make_play(tests=(state_test("EXEC p"),))).tests
    assert seen.state == ()


@pytest.mark.usefixtures("writes")
def test_a_changed_table_that_is_too_large(
    lane: OracleLane,
    make_play: MakePlay,
    shop: Database,
    state_test: Callable[..., Test],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not compared in part: unsupported."""
    monkeypatch.setattr(tables, "STATE_ROWS", 1)
    with pytest.raises(UnsupportedError, match=r"SHOP.ORDERS"):
        lane.play(make_play(tests=(state_test(WRITE),), database=shop))


@pytest.mark.usefixtures("writes")
def test_identity_columns_cost_a_reload(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines §2.2: their sequences cannot be altered by name, so the data is loaded anew."""
    server.identity.add("SHOP")
    lane.play(make_play(calls=(WRITE, WRITE), database=shop))
    assert len(server.sent("^CREATE TABLE SHOP")) == 3
    assert len(server.sent("^GRANT READ ANY TABLE")) == 2
    assert server.tables["SHOP", "ORDERS"].rows[0] == (Decimal(1), Decimal("10.5"))
    assert server.register["SHOP"][2] == "ready"


@pytest.mark.usefixtures("writes")
def test_a_restore_that_fails_costs_a_reload(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """Counts are compared after a restore."""
    server.on('^INSERT INTO "SHOP"."ORDERS" .* SELECT', Reply())
    lane.play(make_play(calls=(WRITE,), database=shop))
    assert len(server.sent("^CREATE TABLE SHOP")) == 2
    assert len(server.tables["SHOP", "ORDERS"].rows) == 2


@pytest.mark.usefixtures("writes")
def test_what_a_dead_worker_left_is_loaded_anew(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines §2.4: a worker killed while it writes leaves the data dirty; its locks go with its session."""
    lane.play(make_play(calls=(WRITE,), database=shop))
    server.register["SHOP"][2] = "dirty"
    server.tables["SHOP", "ORDERS"].rows.clear()
    lane.play(make_play(calls=(WRITE,), database=shop))
    assert len(server.tables["SHOP", "ORDERS"].rows) == 2
    assert server.register["SHOP"][2] == "ready"


@pytest.mark.usefixtures("writes")
def test_copies_that_do_not_fit_are_made_again(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """Copies of a run that died while it made them."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=shop))
    server.users[KEEP] = "NONE"
    lane.play(make_play(calls=(WRITE,), database=shop))
    assert server.sent(f'^DROP USER "{KEEP}" CASCADE')


# -- gates ----------------------------------------


@pytest.mark.usefixtures("reads")
def test_readers_share_and_writers_wait(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """One lock order, SHARE for readers, EXCLUSIVE for writers; a wait that ends is infrastructure."""
    lane.play(make_play(calls=(READ,), database=shop))
    server.locks.append((-1, gate_of("SHOP"), "SHARE"))
    lane.play(make_play(calls=(READ,), database=shop))
    with pytest.raises(InfrastructureError, match="in use by others"):
        lane.play(make_play(calls=(WRITE,), database=shop))


def test_a_lost_guard_voids_the_play(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """Without its lock a play may have seen what others wrote."""

    def cut(_session: FakeConnection) -> None:
        holder = server.locks[0][0]
        server.sessions[holder].killed.set()

    server.on("BEGIN p", Reply(effect=cut))
    with pytest.raises(InfrastructureError, match="guards the data"):
        lane.play(make_play(calls=("EXEC p",), database=shop))


def test_gates_that_fail_otherwise(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """Another error of the lock is passed on; leaving a dead gate is quiet."""
    server.on("^LOCK TABLE", Reply(error=ora(942, "table or view does not exist")))
    with pytest.raises(InfrastructureError, match="ORA-00942"):
        lane.play(make_play(calls=("EXEC p",), database=shop))
    gate = Gate(lane._admin)
    gate.leave()
    server._replies.clear()
    gate.enter(["SHOP"], alone=False)
    server.sessions[server.locks[-1][0]].killed.set()
    gate.leave()
    with pytest.raises(InfrastructureError):
        gate.check()


def test_data_that_is_loaded_again_and_again(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs with different versions of the data on one server end, instead of fighting for ever."""
    monkeypatch.setattr(datastore.DataStore, "_ready", lambda _self, _database: None)
    with pytest.raises(InfrastructureError, match="again and again"):
        lane.play(make_play(calls=("EXEC p",), database=shop))


def test_another_worker_loads_first(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After waiting to be alone the register is read again."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=shop))
    ready = datastore.DataStore._ready
    answers = iter([None, "ask", "ask"])

    def first_none(self: datastore.DataStore, database: Database) -> object:
        return ready(self, database) if next(answers) else None

    monkeypatch.setattr(datastore.DataStore, "_ready", first_none)
    lane.play(make_play(calls=("EXEC p",), database=shop))
    assert len(server.sent("^CREATE TABLE SHOP")) == 1


def test_lob_and_typed_columns_are_bound(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """Values are converted by column type, not by the server."""
    source = Source("t.yaml", 1)
    data = TableData("S", "T", ("A", "B", "C"), lambda: iter([("2024-02-29", "x", "00ff")]), source)
    database = Database(
        name="s", dialect="oracle", schemas=("S",), fingerprint="f",
        before=(Statement("CREATE TABLE S.T (A DATE, B CLOB, C RAW(10))", source),), data=(data,), after=(),
    )  # fmt: skip
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",), database=database))
    assert server.tables["S", "T"].rows == [(dt.datetime(2024, 2, 29), "x", b"\x00\xff")]


def test_a_silent_peer_is_given_up(server: FakeOracle, engine: OracleEngine) -> None:
    """engines §1.1: the driver's own limit covers the TCP step only."""
    from pytest_plsqlbench.engines.oracle.driver import OracledbDriver
    from pytest_plsqlbench.engines.oracle.port import DriverError, Login

    server.silent = True
    with pytest.raises(DriverError, match="DPY-6005"):
        OracledbDriver().connect(Login(user="system", password="secret", dsn="x"), 0.1)
    assert threading.active_count() < 50
    assert dpy(6005).args
    engine.close()
