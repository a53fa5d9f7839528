"""What a rollback does not undo is seen after the play; the lane is made anew and the play is repeated."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.observation import CallObservation, Observation
from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.engines.postgres import PostgresEngine, copies, fingerprint, inspection, rollback
from pytest_plsqlbench.engines.postgres import lane as lanes
from pytest_plsqlbench.engines.postgres.budget import Budget
from pytest_plsqlbench.engines.postgres.copies import Copy
from pytest_plsqlbench.engines.postgres.isolated import IsolatedPlay
from pytest_plsqlbench.engines.postgres.lane import PostgresLane
from pytest_plsqlbench.engines.postgres.rollback import RollbackPlay
from pytest_plsqlbench.engines.protocol import InfrastructureError, Limits, Play, Played
from pytest_plsqlbench.servers import datadir
from pytest_plsqlbench.servers.embedded import EmbeddedServer

FLAGS = ("isolated_copy", "lane_rebuilt")
PROGRAM = "CREATE FUNCTION three() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 3; END'"


def check(*calls: str) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison("value"),))


class Stainer:
    """Stains a lane from beside, as a hole in its fences would let a program do."""

    def __init__(self, server: EmbeddedServer, lane: PostgresLane, shop: Database) -> None:
        self._server = server
        self._lane = lane
        self._shop = shop
        self._open: list[psycopg.Connection[Any]] = []

    @property
    def copy(self) -> Copy:
        """Where the lane plays."""
        [copy] = self._lane._kept.values()
        return copy

    @property
    def role(self) -> str:
        """The candidate's role."""
        return self._lane._copies._name("candidate")

    def connect(self, **parameters: str) -> psycopg.Connection[Any]:
        """Open a session in the lane's copy."""
        conninfo = make_conninfo(self._server.address.conninfo, dbname=self.copy.name, **parameters)
        connection = psycopg.connect(conninfo, autocommit=True)
        self._open.append(connection)
        return connection

    def administer(self, *statements: str) -> None:
        """Run statements as a superuser in the lane's copy."""
        with self.connect() as connection:
            for statement in statements:
                connection.execute(statement.format(role=self.role, database=self.copy.name).encode())

    def play(self) -> Played:
        """Play something harmless."""
        limits = Limits(time=20)
        return self._lane.play(Play("candidate", (PROGRAM,), (check("SELECT three()"),), self._shop, limits))

    def close(self) -> None:
        """Close what was opened."""
        for connection in self._open:
            connection.close()


@pytest.fixture
def stainer(server: EmbeddedServer, lane: PostgresLane, shop: Database) -> Iterator[Stainer]:
    stainer = Stainer(server, lane, shop)
    assert stainer.play().flags == ()
    yield stainer
    stainer.close()


@dataclass(frozen=True)
class Stain:
    """One kind: how it comes to be, and which part of the fingerprint sees it."""

    part: str
    make: Callable[[Stainer], object]


def as_superuser(*statements: str) -> Callable[[Stainer], object]:
    return lambda stainer: stainer.administer(*statements)


def as_candidate(statement: str) -> Callable[[Stainer], object]:
    def make(stainer: Stainer) -> None:
        with stainer.connect(user=stainer.role) as connection:
            connection.execute(statement.encode())

    return make


CHEAP = {
    "settings of a role": Stain(
        "settings of its roles", as_candidate("ALTER ROLE CURRENT_USER SET statement_timeout = 0")
    ),
    "settings of a role here": Stain(
        "settings of its roles",
        as_superuser('ALTER ROLE "{role}" IN DATABASE "{database}" SET search_path = "x"'),
    ),
    "a table": Stain("objects of its roles", as_candidate("CREATE TABLE work.mine (i int)")),
    "a function": Stain(
        "objects of its roles", as_candidate("CREATE FUNCTION shop.f() RETURNS int RETURN 1")
    ),
    "an operator": Stain(
        "objects of its roles",
        as_candidate("CREATE OPERATOR public.= (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int)"),
    ),
    "a schema": Stain("objects of its roles", as_candidate("CREATE SCHEMA mine")),
    "a type": Stain("objects of its roles", as_candidate("CREATE TYPE work.t AS (i int)")),
    "a database": Stain(
        "objects of its roles",
        as_superuser(
            'CREATE DATABASE "{database}_own" TEMPLATE template0',
            'ALTER DATABASE "{database}_own" OWNER TO "{role}"',
        ),
    ),
    "membership": Stain("memberships of its roles", as_superuser('GRANT pg_read_all_data TO "{role}"')),
    "attributes": Stain("attributes of its roles", as_superuser('ALTER ROLE "{role}" CREATEDB')),
    "superuser": Stain("attributes of its roles", as_superuser('ALTER ROLE "{role}" SUPERUSER')),
    "rights on the database": Stain(
        "the database", as_superuser('GRANT CONNECT ON DATABASE "{database}" TO PUBLIC')
    ),
    "settings of the database": Stain(
        "settings of the database", as_superuser("ALTER DATABASE \"{database}\" SET work_mem = '1MB'")
    ),
    "a large object": Stain("large objects", as_superuser("SELECT lo_create(0)")),
    "an event trigger": Stain(
        "event triggers",
        as_superuser(
            "CREATE FUNCTION public.e() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
            "CREATE EVENT TRIGGER e ON ddl_command_end EXECUTE FUNCTION public.e()",
        ),
    ),
    "a trigger on the data": Stain(
        "triggers",
        as_superuser(
            "CREATE TRIGGER a BEFORE UPDATE ON shop.items FOR EACH ROW"
            " EXECUTE FUNCTION suppress_redundant_updates_trigger()"
        ),
    ),
    "a sequence": Stain(
        'the sequence "shop"."items_id_seq"', as_superuser("SELECT nextval('shop.items_id_seq')")
    ),
}


def without(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Take a part out of the fingerprint."""
    for name in ("role_parts", "database_parts", "catalog_parts"):
        whole = getattr(fingerprint, name)

        def less(*args: Any, whole: Callable[..., dict[str, str]] = whole) -> dict[str, str]:
            return {key: query for key, query in whole(*args).items() if key != part}

        monkeypatch.setattr(fingerprint, name, less)
        if hasattr(copies, name):
            monkeypatch.setattr(copies, name, less)


def after_the_play(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> list[Played]:
    """Do something once, when the next play in a transaction has ended; its own result is wrong then."""
    first: list[Played] = []
    run = RollbackPlay.run

    def stained(play: RollbackPlay) -> Played:
        played = run(play)
        if not first:
            act()
            wrong = Observation(calls=(CallObservation(lines=("seen on a stained lane",)),))
            first.append(replace(played, tests=(wrong,)))
            return first[0]
        return played

    monkeypatch.setattr(RollbackPlay, "run", stained)
    return first


@pytest.mark.parametrize("name", CHEAP)
def test_a_stain_is_seen_at_once_and_the_play_repeated_in_copies(
    stainer: Stainer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    copy, role = stainer.copy.name, stainer.role
    first = after_the_play(monkeypatch, lambda: CHEAP[name].make(stainer))
    played = stainer.play()
    assert first
    assert played.flags == FLAGS
    assert played.tests[0].calls[0].results[0].rows == ((("int", "3"),),)
    assert stainer.play().flags == ()
    assert stainer.copy.name != copy
    assert stainer.role != role


@pytest.mark.parametrize("name", ["settings of a role", "a function", "a sequence"])
def test_a_server_that_does_not_note_commits_is_looked_at_in_full(
    stainer: Stainer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(inspection, "_NOTED", "SELECT 'off', '0'")
    stainer._lane._rebuild()
    looked = looks(monkeypatch)
    assert [stainer.play().flags for _ in range(3)] == [()] * 3
    assert looked.count(b"signs") == 0
    after_the_play(monkeypatch, lambda: CHEAP[name].make(stainer))
    assert stainer.play().flags == FLAGS
    assert stainer.play().flags == ()


def looks(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Note which queries inspectors run."""
    names: list[bytes] = []
    run = inspection.Inspector._run

    def noted(inspector: inspection.Inspector, name: bytes) -> inspection.Row:
        names.append(name)
        return run(inspector, name)

    monkeypatch.setattr(inspection.Inspector, "_run", noted)
    return names


def test_while_nothing_is_committed_a_sign_of_that_is_all_that_is_looked_for(
    stainer: Stainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):  # until all parts of the data were seen once
        stainer.play()
    looked = looks(monkeypatch)
    assert [stainer.play().flags for _ in range(5)] == [()] * 5
    assert looked == [b"signs"] * 5
    stainer.administer("CREATE TABLE public.of_others (i int)", "DROP TABLE public.of_others")
    assert stainer.play().flags == ()
    assert looked[5:] == [b"signs", b"glance"]


@pytest.mark.parametrize("name", CHEAP)
def test_without_its_part_a_stain_is_not_seen(
    engine: PostgresEngine,
    server: EmbeddedServer,
    shop: Database,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    without(monkeypatch, CHEAP[name].part)
    lane = engine.lane("blind")
    stainer = Stainer(server, lane, shop)
    try:
        assert stainer.play().flags == ()
        after_the_play(monkeypatch, lambda: CHEAP[name].make(stainer))
        assert stainer.play().flags == ()
    finally:
        monkeypatch.undo()
        stainer.close()
        with contextlib.suppress(psycopg.Error):
            stainer.administer('DROP DATABASE "{database}_own"')
            stainer.close()
        lane.close()


def locked(stainer: Stainer) -> None:
    connection = stainer.connect()
    connection.autocommit = False
    connection.execute("LOCK TABLE shop.log IN SHARE MODE")


THOROUGH = {
    "a function of an administrator": Stain(
        "the catalog pg_proc", as_superuser("CREATE FUNCTION public.now() RETURNS int RETURN 1")
    ),
    "an altered column": Stain(
        "the catalog pg_attribute", as_superuser("ALTER TABLE shop.log ALTER COLUMN message SET STATISTICS 5")
    ),
    "a cast": Stain("the catalog pg_cast", as_superuser("CREATE CAST (xid AS int) WITHOUT FUNCTION")),
    "a comment": Stain("the catalog pg_description", as_superuser("COMMENT ON TABLE shop.log IS 'x'")),
    "a lock": Stain("locks", locked),
    "an advisory lock": Stain(
        "locks", lambda stainer: stainer.connect().execute("SELECT pg_advisory_lock(1)")
    ),
}


def age(stainer: Stainer) -> None:
    """Make the next look a thorough one."""
    session = stainer.copy.sessions["candidate"]
    session.plays = 1_000


@pytest.mark.parametrize("name", THOROUGH)
def test_a_thorough_look_sees_the_rest(stainer: Stainer, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    age(stainer)
    after_the_play(monkeypatch, lambda: THOROUGH[name].make(stainer))
    assert stainer.play().flags == FLAGS
    assert stainer.play().flags == ()


@pytest.mark.parametrize("name", THOROUGH)
def test_without_its_part_a_thorough_look_does_not(
    engine: PostgresEngine,
    server: EmbeddedServer,
    shop: Database,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    without(monkeypatch, THOROUGH[name].part)
    lane = engine.lane("blind")
    stainer = Stainer(server, lane, shop)
    try:
        assert stainer.play().flags == ()
        stainer.connect().execute("SELECT 1")
        seen: list[list[str]] = []
        search = inspection.Inspector.search

        def watched(inspector: inspection.Inspector) -> list[str]:
            seen.append(search(inspector))
            return []

        monkeypatch.setattr(inspection.Inspector, "search", watched)
        age(stainer)
        after_the_play(monkeypatch, lambda: THOROUGH[name].make(stainer))
        stainer.play()
        assert [THOROUGH[name].part in stains for stains in seen] == [False]
    finally:
        stainer.close()
        lane.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE shop.items SET price = price",
        "DELETE FROM shop.orders WHERE id = 20",
        "INSERT INTO shop.log(message) VALUES ('x')",
        "TRUNCATE shop.log, shop.orders",
    ],
)
@pytest.mark.parametrize("thorough", [True, False])
def test_changed_rows_are_seen_at_once_or_in_turn(stainer: Stainer, statement: str, thorough: bool) -> None:
    stainer.administer(statement)
    if thorough:
        age(stainer)
        assert stainer.play().flags == FLAGS
    else:
        flags = [stainer.play().flags for _ in range(3)]  # three small tables: one a play
        assert flags.count(FLAGS) == 1
    assert [stainer.play().flags for _ in range(3)] == [()] * 3


def test_without_digests_changed_rows_are_not_seen(stainer: Stainer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection.Inspector, "_digests", lambda _self, _chunks: [])
    monkeypatch.setattr(stainer.copy.inspector, "pristine", None)
    stainer.administer("UPDATE shop.items SET price = price")
    assert [stainer.play().flags for _ in range(4)] == [()] * 4


def test_other_sessions_of_the_lane_are_seen(stainer: Stainer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_ENDING_SECONDS", 0.1)
    after_the_play(monkeypatch, lambda: stainer.connect(user=stainer.role))
    assert stainer.play().flags == FLAGS
    assert stainer.play().flags == ()


def test_a_session_that_is_just_ending_is_waited_for(
    stainer: Stainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    def leave_soon() -> None:
        connection = stainer.connect(user=stainer.role)
        threading.Timer(0.2, connection.close).start()

    after_the_play(monkeypatch, leave_soon)
    assert stainer.play().flags == ()


def test_sessions_of_others_are_not_ours(stainer: Stainer) -> None:
    stainer.connect().execute("SELECT 1")
    assert stainer.play().flags == ()


def test_settings_of_the_session_are_seen(stainer: Stainer, monkeypatch: pytest.MonkeyPatch) -> None:
    def change() -> None:
        stainer.copy.sessions["candidate"].control("SET DateStyle = 'German'", Budget(Limits()))

    after_the_play(monkeypatch, change)
    assert stainer.play().flags == FLAGS


def test_what_a_reference_left_is_told_with_the_play_of_the_candidate(
    stainer: Stainer, shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_the_play(monkeypatch, lambda: CHEAP["a large object"].make(stainer))
    reference = Play("reference", (PROGRAM,), (check("SELECT three()"),), shop, Limits(time=20))
    assert stainer._lane.play(reference).flags == ("isolated_copy",)
    assert stainer.play().flags == ("lane_rebuilt",)
    assert stainer.play().flags == ()


def test_a_session_listens_to_nothing_after_a_play(stainer: Stainer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = stainer.copy.sessions["candidate"]
    session.control("LISTEN ear", Budget(Limits()))
    channels = "SELECT pg_catalog.pg_listening_channels()"
    assert session.control(channels, Budget(Limits()))[0].ntuples == 1
    assert stainer.play().flags == ()
    assert stainer.copy.sessions["candidate"] is session
    assert session.control(channels, Budget(Limits()))[0].ntuples == 0
    monkeypatch.setattr(rollback, "_LEAVE", "ROLLBACK")
    session.control("LISTEN ear", Budget(Limits()))
    assert stainer.play().flags == ()
    assert session.control(channels, Budget(Limits()))[0].ntuples == 1


def test_what_cannot_be_read_is_a_stain(stainer: Stainer, monkeypatch: pytest.MonkeyPatch) -> None:
    def lock() -> None:
        connection = stainer.connect()
        connection.autocommit = False
        connection.execute("LOCK TABLE shop.items, shop.log, shop.orders IN ACCESS EXCLUSIVE MODE")

    age(stainer)
    after_the_play(monkeypatch, lock)
    assert stainer.play().flags == FLAGS


@pytest.fixture(scope="module")
def open_server() -> Iterator[EmbeddedServer]:
    """A server that allows what the embedded one does not: as one of a user's may."""
    settings = {
        "max_prepared_transactions": "4",
        "wal_level": "logical",
        "max_wal_senders": "2",
        "max_replication_slots": "4",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datadir, "SETTINGS", datadir.SETTINGS | settings)
        with EmbeddedServer.start() as server:
            yield server


def prepared(stainer: Stainer) -> None:
    with stainer.connect(user=stainer.role) as connection:
        connection.execute("BEGIN")
        connection.execute("DELETE FROM shop.orders")
        connection.execute("PREPARE TRANSACTION 'left'")


@pytest.mark.parametrize(
    ("make", "thorough"),
    [
        (prepared, False),
        (as_superuser("SELECT pg_create_logical_replication_slot('left', 'test_decoding')"), True),
    ],
    ids=["prepared transaction", "replication slot"],
)
@pytest.mark.parametrize("seen", [True, False], ids=["seen", "without its part"])
def test_stains_that_only_an_open_server_allows(
    open_server: EmbeddedServer,
    shop: Database,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Stainer], object],
    thorough: bool,
    seen: bool,
) -> None:
    if not seen:
        without(monkeypatch, "replication slots" if thorough else "prepared transactions")
    engine = PostgresEngine(open_server.address)
    lane = engine.lane("open")
    stainer = Stainer(open_server, lane, shop)
    try:
        assert stainer.play().flags == ()
        if thorough:
            age(stainer)
        after_the_play(monkeypatch, lambda: make(stainer))
        with contextlib.nullcontext() if seen else contextlib.suppress(InfrastructureError):
            assert stainer.play().flags == (FLAGS if seen else ())
    finally:
        stainer.close()
        with psycopg.connect(open_server.address.conninfo, autocommit=True) as connection:
            connection.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")
            for (database,) in connection.execute("SELECT database FROM pg_prepared_xacts").fetchall():
                conninfo = make_conninfo(open_server.address.conninfo, dbname=database)
                with psycopg.connect(conninfo, autocommit=True) as inside:
                    inside.execute("ROLLBACK PREPARED 'left'")
        lane.close()
        engine.close()


def test_a_stain_of_a_play_in_copies_costs_the_lane_but_not_the_verdict(
    stainer: Stainer, shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, role = IsolatedPlay.run, stainer.role

    def stained(play: IsolatedPlay) -> Played:
        played = run(play)
        stainer.administer('ALTER ROLE "{role}" CREATEDB')
        return played

    monkeypatch.setattr(IsolatedPlay, "run", stained)
    tests = (check("SELECT count(*) FROM items"), check("SELECT count(*) FROM orders"))
    played = stainer._lane.play(Play("candidate", ("COMMIT",), tests, shop, Limits(time=20)))
    monkeypatch.undo()
    assert played.flags == FLAGS
    shown = [observation.calls[0].results[0].rows[0][0] for observation in played.tests]
    assert shown == [("int", "3"), ("int", "20")]
    assert stainer.play().flags == ()
    assert stainer.role != role


def test_settings_that_a_committed_program_left_to_its_role_are_no_stain(
    lane: PostgresLane, shop: Database
) -> None:
    text = "ALTER ROLE CURRENT_USER SET search_path = 'nowhere'; COMMIT"
    tests = (check("SELECT count(*) FROM items"), check("SELECT count(*) FROM orders"))
    played = lane.play(Play("candidate", (text,), tests, shop, Limits(time=20)))
    assert played.flags == ("isolated_copy",)
    assert lane._copies.role_stains() == []


def test_roles_that_a_dead_worker_left_are_not_used_again(
    engine: PostgresEngine, server: EmbeddedServer, shop: Database
) -> None:
    dead = engine.lane("again")
    role = dead._copies._name("candidate")
    with psycopg.connect(server.address.conninfo, autocommit=True) as connection:
        connection.execute(f'ALTER ROLE "{role}" CREATEDB'.encode())
    lane = engine.lane("again")
    try:
        assert lane._copies._name("candidate") != role
        assert lane.play(Play("candidate", ("SELECT 1",), (check("SELECT 1"),), shop)).flags == ()
    finally:
        lane.close()
        dead.close()


def test_a_lane_that_kills_sessions_settles_its_sequences(stainer: Stainer, shop: Database) -> None:
    text = (
        "SELECT nextval('items_id_seq'); DO $$ BEGIN LOOP BEGIN PERFORM pg_sleep(9);"
        " EXCEPTION WHEN query_canceled THEN END; END LOOP; END $$"
    )
    played = stainer._lane.play(Play("candidate", (), (check(text),), shop, Limits(time=0.2)))
    assert played.tests[0].calls[0].limit == "time_limit"
    assert played.flags == ()
    assert stainer.play().flags == ()


def test_inspectors_are_few(lane: PostgresLane, shop: Database, server: EmbeddedServer) -> None:
    for number in range(4):
        database = replace(shop, name=f"many{number}", fingerprint=f"{number}fee" * 16)
        assert lane.play(Play("candidate", (PROGRAM,), (check("SELECT three()"),), database)).flags == ()
    assert len(lane._kept) == 4
    assert sum(copy.inspector is not None for copy in lane._kept.values()) == 2
    for copy in list(lane._kept.values()):  # opened again, they know what was there at first
        assert lane._copies.stains(copy) == []
    assert lanes._MOST_COPIES == 4
