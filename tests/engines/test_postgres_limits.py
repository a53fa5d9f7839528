"""Limits hold against programs that fight them, and what they cost the next play: nothing."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.limits import BOUNDS
from pytest_plsqlbench.bench.observation import CallObservation
from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.engines.postgres import PostgresEngine, admin
from pytest_plsqlbench.engines.postgres.lane import REPLAYED
from pytest_plsqlbench.engines.protocol import InfrastructureError, Limits, Play, Played
from pytest_plsqlbench.servers.embedded import EmbeddedServer

Player = Callable[..., Played]
SWALLOWING = """DO $$ BEGIN LOOP
  BEGIN PERFORM pg_sleep(60); EXCEPTION WHEN query_canceled THEN NULL; END;
END LOOP; END $$"""
UNTOLD = """DO $$ BEGIN EXECUTE 'SELECT set_' || 'config(''statement_timeout'', ''0'', false)'; END $$;
SELECT pg_sleep(60)"""
FLOOD = """DO $$ BEGIN LOOP
  BEGIN LOOP RAISE NOTICE 'flood'; END LOOP; EXCEPTION WHEN query_canceled THEN NULL; END;
END LOOP; END $$"""


def check(*calls: str, **options: Any) -> Test:
    return Test(name="t", calls=calls, compare=(Comparison("lines"),), **options)


def only(played: Played) -> CallObservation:
    return played.tests[0].calls[0]


@pytest.fixture
def healthy(play: Player) -> Iterator[None]:
    """After whatever the test did, the next play is as good as any."""
    yield
    played = play("CREATE TABLE t (i int)", tests=(check("SELECT count(*) FROM items"),))
    assert only(played).results[0].rows == ((("int", "3"),),)
    assert (only(played).limit, played.flags) == (None, ())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT pg_sleep(60)",
        "DO $$ BEGIN LOOP NULL; END LOOP; END $$",
        "SELECT count(*) FROM generate_series(1, 1e12)",
        SWALLOWING,
        "SET statement_timeout = 0; SELECT pg_sleep(60)",
        UNTOLD,
    ],
)
@pytest.mark.parametrize("place", ["program", "test"])
@pytest.mark.usefixtures("healthy")
def test_time_is_over_when_it_is_over(play: Player, text: str, place: str) -> None:
    started = time.monotonic()
    if place == "program":
        played = play(text, tests=(check("SELECT 1"),), limits=Limits(time=0.25))
        assert played.programs[0].limit == "time_limit"
        assert played.tests == ()
    else:
        played = play(tests=(check(text), check("SELECT 1")), limits=Limits(time=0.25))
        assert only(played).limit == "time_limit"
        assert played.tests[1].calls[0].error is None
        assert played.tests[1].calls[0].limit is None
    assert time.monotonic() - started < 4


@pytest.mark.usefixtures("healthy")
def test_each_test_has_a_time_limit_of_its_own(play: Player) -> None:
    tests = (check("SELECT pg_sleep(0.3)"),) * 3
    played = play(tests=tests, limits=Limits(time=0.1), time_limits=(5, 0.1, 5))
    assert [observation.calls[0].limit for observation in played.tests] == [None, "time_limit", None]
    # calls of one test share its time
    played = play(tests=(check(*["SELECT pg_sleep(0.2)"] * 4, on_error="continue"),), limits=Limits(time=0.5))
    assert played.tests[0].calls[-1].limit == "time_limit"
    assert len(played.tests[0].calls) < 4


def test_cancelling_oneself_is_an_error_not_a_time_limit(play: Player) -> None:
    call = only(
        play(tests=(check("SET statement_timeout = '20ms'; SELECT pg_sleep(5)"),), limits=Limits(time=20))
    )
    assert call.error is not None
    assert (call.error.code, call.limit) == ("57014", None)
    raised = "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '53200'; END $$"
    call = only(play(tests=(check(raised),)))
    assert call.error is not None
    assert (call.error.code, call.limit) == ("53200", None)


@pytest.mark.parametrize(
    "text",
    [
        "DO $$ BEGIN LOOP RAISE NOTICE 'flood'; END LOOP; END $$",
        "DO $$ BEGIN LOOP RAISE WARNING 'flood'; END LOOP; END $$",
        "DO $$ BEGIN RAISE NOTICE '%', repeat('x', 2000000); END $$",
        "DO $$ BEGIN RAISE NOTICE '%', repeat(E'\\n', 30000); END $$",
        FLOOD,
    ],
)
@pytest.mark.usefixtures("healthy")
def test_output_is_bounded(play: Player, text: str) -> None:
    limits = Limits(time=20)
    started = time.monotonic()
    call = only(play(tests=(check(text),), limits=limits))
    assert call.limit == "output_limit"
    assert len(call.lines) <= limits.output_lines
    assert sum(map(len, call.lines)) <= limits.output_bytes
    assert time.monotonic() - started < 8


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("SELECT a FROM generate_series(1, 1000) a, generate_series(1, 100000) b", 100_000_000),
        ("SELECT 1; SELECT g FROM generate_series(1, 1001) g", 100_000_000),
        ("SELECT repeat('x', 3000000)", 100_000_000),
        ("SELECT repeat('x', 100000) FROM generate_series(1, 900)", 100_000_000),
        ("COPY (SELECT repeat('x', 100000) FROM generate_series(1, 900)) TO STDOUT", 100_000_000),
        # the driver may take a whole message in one go: its buffer, its result, one copy; never a text of it
        ("SELECT repeat('x', 200000000)", 720_000_000),
    ],
)
@pytest.mark.usefixtures("healthy")
def test_results_are_bounded(play: Player, text: str, most: int) -> None:
    before = memory()
    call = only(play(tests=(check(text),), limits=Limits(time=30, rows=1000, result_bytes=2_000_000)))
    assert call.limit == "row_limit"
    assert memory() - before < most


def memory() -> int:
    """The most that this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_results_up_to_the_limit_are_whole(play: Player) -> None:
    call = only(
        play(tests=(check("SELECT g FROM generate_series(1, 1000) g"),), limits=Limits(time=20, rows=1000))
    )
    assert call.limit is None
    assert len(call.results[0].rows) == 1000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT length(string_agg(repeat('x', 1000000), '')) FROM generate_series(1, 900)", "53200"),
        ("SELECT length(repeat('x', 1100000000))", "54000"),
        (
            "DO $$ DECLARE a text[] := '{}'; BEGIN LOOP a := a || repeat('x', 10000000); END LOOP; END $$",
            "53200",
        ),
    ],
)
@pytest.mark.usefixtures("healthy")
def test_memory_is_bounded(play: Player, text: str, code: str) -> None:
    call = only(play(tests=(check(text), check("SELECT 1")), limits=Limits(time=60)))
    assert call.error is not None
    assert (call.error.code, call.limit) == (code, "memory_limit")


@pytest.mark.usefixtures("healthy")
def test_recursion_is_an_ordinary_error(play: Player) -> None:
    program = "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN f(); END $$"
    call = only(play(program, tests=(check("SELECT f()"),)))
    assert call.error is not None
    assert (call.error.code, call.limit) == ("54001", None)


@contextlib.contextmanager
def limited(server: EmbeddedServer, **limits: int) -> Iterator[Player]:
    """Plays on a lane with other limits."""
    engine = PostgresEngine(server.address, Limits(**limits))
    lane = engine.lane("limited")
    try:
        yield lambda text: lane.play(Play("candidate", (), (check(text),), None, Limits(time=60)))
    finally:
        lane.close()
        engine.close()


def test_growth_on_disk_is_bounded(server: EmbeddedServer) -> None:
    text = (
        "CREATE TABLE big (t text); DO $$ BEGIN LOOP INSERT INTO big SELECT repeat('x', 1000)"
        " FROM generate_series(1, 1000); END LOOP; END $$"
    )
    with limited(server, disk=8 << 20) as play:
        assert only(play(text)).limit == "disk_limit"
        assert only(play("SELECT 1")).limit is None


def test_temporary_files_are_bounded(server: EmbeddedServer) -> None:
    text = "SELECT count(*) FROM (SELECT g FROM generate_series(1, 3000000) g ORDER BY md5(g::text)) x"
    with limited(server, temp_files=10 << 20) as play:
        call = only(play(text))
        assert call.error is not None
        assert (call.error.code, call.limit) == ("53400", "temp_limit")
        assert only(play("SELECT 1")).limit is None


def test_a_program_cannot_lift_the_limit_of_temporary_files(server: EmbeddedServer) -> None:
    text = "DO $$ BEGIN EXECUTE format('ALTER ROLE %I RESET ALL', session_user); END $$; COMMIT; BEGIN"
    with limited(server, temp_files=10 << 20) as play:
        play(text)
        shown = only(play("SHOW temp_file_limit"))
        assert shown.results[0].rows == ((("text", "10MB"),),)


def test_sessions_of_a_role_are_bounded(server: EmbeddedServer) -> None:
    with limited(server, sessions=9), psycopg.connect(server.address.conninfo) as connection:
        rows = connection.execute(
            "SELECT rolconnlimit FROM pg_roles WHERE rolname LIKE %s", ("%_limited\\__",)
        ).fetchall()
    assert rows == [(9,), (9,)]


def test_memory_of_a_server_process_is_bounded() -> None:
    text = "SELECT length(repeat('x', 300000000))"
    with EmbeddedServer.start(memory=BOUNDS["server_memory"].least) as server, limited(server) as play:
        call = only(play(text))
        assert call.error is not None
        assert (call.error.code, call.limit) == ("53200", "memory_limit")
        assert only(play("SELECT 1")).limit is None


def _victims(server: EmbeddedServer, worker: str) -> list[int]:
    with psycopg.connect(server.address.conninfo, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE usename LIKE %s AND state = 'active'", (f"%_{worker}_c",)
        ).fetchall()
    return [row[0] for row in rows]


_OUTSIDER = """
import os, signal, sys, time, psycopg
end = time.monotonic() + 20
while time.monotonic() < end:
    with psycopg.connect(sys.argv[1], autocommit=True) as connection:
        rows = connection.execute("SELECT pid FROM pg_stat_activity WHERE query LIKE '%from outside%'"
            " AND pid <> pg_backend_pid() AND state = 'active'").fetchall()
        if rows:
            if sys.argv[2] == "crash":
                os.kill(rows[0][0], signal.SIGSEGV)
            else:
                connection.execute(f"SELECT pg_{sys.argv[2]}_backend(%s)", rows[0])
            break
    time.sleep(0.02)
"""


def _outsider(server: EmbeddedServer, what: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _OUTSIDER, server.address.conninfo, what])


@pytest.mark.parametrize("place", ["program", "test"])
@pytest.mark.parametrize("what", ["terminate", "cancel"])
@pytest.mark.usefixtures("healthy")
def test_what_an_outsider_ends_is_played_again(
    play: Player, server: EmbeddedServer, place: str, what: str
) -> None:
    text = "SELECT /* from outside */ pg_sleep(3)"
    program = "CREATE FUNCTION f() RETURNS int LANGUAGE sql RETURN 5"
    with _outsider(server, what):
        if place == "test":
            played = play(program, tests=(check(text), check("SELECT f()")), limits=Limits(time=40))
            ended, after = (observation.calls[0] for observation in played.tests)
            assert after.results[0].rows == ((("int", "5"),),)
        else:
            played = play(text, program, tests=(check("SELECT f()"),), limits=Limits(time=40))
            ended = played.programs[0]
            assert only(played).results[0].rows == ((("int", "5"),),)
    assert (ended.lost, ended.limit, ended.error) == (False, None, None)


@pytest.mark.usefixtures("healthy")
def test_a_session_that_a_program_ends_each_time_is_the_programs_doing(play: Player) -> None:
    ending = "SET transaction_timeout = 200"
    played = play(tests=(check(ending, "SELECT pg_sleep(5)"), check("SELECT 1")), limits=Limits(time=20))
    *_, lost = played.tests[0].calls
    assert (lost.lost, lost.limit) == (True, None)
    assert lost.error is not None
    assert lost.error.code == "25P04"
    assert played.tests[1].calls[0].results[0].rows == ((("int", "1"),),)


@pytest.mark.usefixtures("healthy")
def test_a_program_that_claims_a_disturbance_elsewhere_each_time_does_not_escape(play: Player) -> None:
    program = """CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
      IF random() < 0.5 THEN RAISE EXCEPTION 'shutting down' USING ERRCODE = '57P01'; END IF;
      RETURN 1; END $$"""
    played = play(program, tests=(check("SELECT f()"),) * 20, limits=Limits(time=20))
    claimed = [only.error for seen in played.tests if (only := seen.calls[0]).error is not None]
    assert claimed
    assert {error.code for error in claimed} == {"57P01"}
    assert REPLAYED not in played.flags


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("code", ["57014", "57P01", "53100", "53200", "58030"])
def test_a_program_that_claims_a_disturbance_now_and_then_is_played_once(play: Player, code: str) -> None:
    raising = f"""DO $$ BEGIN
      IF random() < 0.5 THEN RAISE EXCEPTION 'x' USING ERRCODE = '{code}'; END IF; END $$;"""
    solved = sum(not play("SELECT 1;" + raising, tests=()).programs[0].error for _ in range(40))
    assert 5 <= solved <= 35  # of 40 coins; by plays until one is clean it would be nearly all
    again = "BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN RAISE; END"
    assert not play(f"DO $$ {again} $$", tests=()).programs[0].raised


@pytest.mark.usefixtures("healthy")
def test_who_disturbs_plays_of_nothing_too_is_not_the_program(play: Player, server: EmbeddedServer) -> None:
    with _Killer(server), pytest.raises(InfrastructureError, match="plays of nothing"):
        play(tests=(check("SELECT pg_sleep(0.1)"),) * 20, limits=Limits(time=20))


class _Killer:
    """Ends a graded session every now and then, at another place each time."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        pauses = random.Random(1)
        with psycopg.connect(self._server.address.conninfo, autocommit=True) as connection:
            while not self._over.wait(pauses.uniform(0.2, 0.5)):
                connection.execute(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%'"
                    " AND pid <> pg_backend_pid() AND state = 'active'"
                )

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def test_a_crash_of_the_server_is_nobodys_verdict_and_passes() -> None:
    with EmbeddedServer.start() as server:
        engine = PostgresEngine(server.address)
        lane = engine.lane("gw0")
        play = Play(
            "candidate", (), (check("SELECT /* from outside */ pg_sleep(30)"),), None, Limits(time=40)
        )
        with (
            _outsider(server, "crash"),
            pytest.raises(InfrastructureError, match=r"failed or restarted|cannot be reached"),
        ):
            lane.play(play)
        lane.close()
        lane = engine.lane("gw0")
        assert only(lane.play(Play("candidate", (), (check("SELECT 7"),)))).results[0].rows == (
            (("int", "7"),),
        )
        lane.close()
        engine.close()


def test_what_a_crash_may_have_undone_is_not_read() -> None:
    """Commits are asynchronous: a copy that outlives a crash may lack what a program has committed."""
    with EmbeddedServer.start() as server:
        engine = PostgresEngine(server.address)
        lane = engine.lane("gw0")
        copies = lane._copies
        copy = copies.make(lane._templates.get(None))
        session = copies.login(copy, "candidate")
        with psycopg.connect(server.address.conninfo) as other:
            os.kill(other.info.backend_pid, signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                other.execute("SELECT pg_sleep(5)")
            other.close()
        with pytest.raises(InfrastructureError):  # at whichever moment of the restart
            copies.login(copy, "reference")
        session.close()
        played = lane.play(Play("candidate", (), (check("SELECT 7"),)))
        assert only(played).results[0].rows == ((("int", "7"),),)
        lane.close()
        engine.close()


def test_a_server_that_is_gone_is_an_infrastructure_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_RESTART_SECONDS", 0.5)
    server = EmbeddedServer.start()
    engine = PostgresEngine(server.address)
    lane = engine.lane("gw0")
    lane.play(Play("candidate", ("SELECT 1",), ()))
    server.stop()
    for _ in range(2):
        with pytest.raises(InfrastructureError, match="server"):
            lane.play(Play("candidate", ("SELECT 1",), ()))
    lane.close()
    engine.close()
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        PostgresEngine(server.address).lane("gw1")


_ABANDONING = """
import os, signal, sys, threading
from pytest_plsqlbench.engines.postgres import PostgresEngine
from pytest_plsqlbench.engines.protocol import Limits, Play
from pytest_plsqlbench.servers.address import ServerAddress
import msgspec
address = msgspec.json.decode(sys.argv[1], type=ServerAddress)
lane = PostgresEngine(address).lane("dying")
threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
lane.play(Play("candidate", ("DO $$ BEGIN LOOP NULL; END LOOP; END $$",), (), None, Limits(time=60)))
"""


def test_the_session_of_a_killed_worker_ends(server: EmbeddedServer) -> None:
    import msgspec

    address = msgspec.json.encode(server.address).decode()
    done = subprocess.run([sys.executable, "-c", _ABANDONING, address], check=False)
    assert done.returncode == -signal.SIGKILL
    end = time.monotonic() + 5
    while _victims(server, "dying"):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_parallel_lanes_share_one_template(server: EmbeddedServer, shop: Database) -> None:
    from concurrent.futures import ThreadPoolExecutor
    from dataclasses import replace

    from pytest_plsqlbench.engines.postgres.names import template_database

    database = replace(shop, name="raced", fingerprint="ace" * 21 + "0")

    def one(number: int) -> str | None:
        engine = PostgresEngine(server.address)
        lane = engine.lane(f"race{number}")
        try:
            program = f"UPDATE items SET price = {number}"
            played = lane.play(
                Play("candidate", (program,), (check("SELECT min(price)::int FROM items"),), database)
            )
            cell = only(played).results[0].rows[0][0]
            return cell[1] if cell else None
        finally:
            lane.close()
            engine.close()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(4))) == ["0", "1", "2", "3"]
    with psycopg.connect(server.address.conninfo) as connection:
        name = template_database(server.address.run_id, database.fingerprint)
        rows = connection.execute("SELECT datname FROM pg_database WHERE datname = %s", (name,))
        assert len(rows.fetchall()) == 1
