"""Time-outs, lost sessions, lost servers: what is the program's doing, and what is ours."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

import oracledb
import pytest
from oracle_double import FakeConnection, FakeOracle, Reply, dpy, ora

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.engines.oracle import admin as admin_module
from pytest_plsqlbench.engines.oracle import gate as gate_module
from pytest_plsqlbench.engines.oracle import session as session_module
from pytest_plsqlbench.engines.oracle.admin import Admin, drop_user
from pytest_plsqlbench.engines.oracle.engine import OracleEngine, open_admin
from pytest_plsqlbench.engines.oracle.lane import OracleLane
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.watchdog import Watchdog
from pytest_plsqlbench.engines.protocol import InfrastructureError, Play

MakePlay = Callable[..., Play]
CANDIDATE = "PLB_R1_GW0_C1"


def test_a_call_that_takes_the_break(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.3: DPY-4024, the session lives; it is not used for scoring again."""
    server.on("BEGIN spin", Reply(seconds=5, lines=["never"]))
    server.on("BEGIN p", Reply(lines=["fine"]))
    slow, next_ = lane.play(make_play(calls=("EXEC spin", "EXEC p"), seconds=0.2)).tests
    assert slow.calls[0].limit == "time_limit"
    assert not slow.calls[0].lost
    assert slow.calls[0].error is not None
    assert slow.calls[0].error.code == "DPY-4024"
    assert next_.calls[0].lines == ("fine",)
    assert len(server.graded()) == 2
    assert server.sent("KILL SESSION")


def test_a_call_that_ignores_the_break_is_killed(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.4 and fact 2: sleeps and lock waits ignore the break; the watchdog kills from outside."""
    server.on("BEGIN sleep", Reply(seconds=30, breakable=False))
    started = time.monotonic()
    (test,) = lane.play(make_play(calls=("EXEC sleep",), seconds=0.2)).tests
    assert time.monotonic() - started < 5
    assert test.calls[0].limit == "time_limit"
    assert not test.calls[0].lost, "we killed it: a time limit, not a loss"
    assert not [s for s in server.sessions.values() if s.user == CANDIDATE]


def test_the_driver_gives_up_before_the_watchdog(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """engines §1.3: after the second expiry DPY-4011; the server side counts as running until it is gone."""
    monkeypatch.setattr("pytest_plsqlbench.engines.oracle.watchdog.GRACE", 30.0)
    server.on("BEGIN sleep", Reply(seconds=30, breakable=False))
    (test,) = lane.play(make_play(calls=("EXEC sleep",), seconds=0.1)).tests
    assert test.calls[0].limit == "time_limit"
    assert server.sent("KILL SESSION"), "the server works on until it is killed"


def test_a_cancelled_code_in_time_is_only_a_label(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.8: any number can be forged; our own clock decides on time-outs."""
    server.on("BEGIN forge", Reply(error=ora(1013, "user requested cancel of current operation")))
    (test,) = lane.play(make_play(calls=("EXEC forge",))).tests
    assert test.calls[0].limit is None
    assert test.calls[0].error is not None
    assert test.calls[0].error.code == "ORA-01013"


def test_time_is_over_between_statements(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """The limit is one for the whole test, not one for each statement or round trip (engines §1.3)."""
    server.on("BEGIN p", Reply(seconds=0.15))
    (test,) = lane.play(make_play(calls=("EXEC p\nEXEC p\nEXEC p\nEXEC p",), seconds=0.2)).tests
    assert test.calls[0].limit == "time_limit"
    assert len(server.sent("BEGIN p")) == 2
    server.on("BEGIN q", Reply(effect=lambda _session: time.sleep(0.25)))
    (late,) = lane.play(make_play(calls=("EXEC q\nEXEC q",), seconds=0.2)).tests
    assert late.calls[0].limit == "time_limit"


def test_a_program_that_ends_its_session(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines fact 3: -28 and -3113 really end the session: the program's doing, as the probe shows."""
    server.on("BEGIN die", Reply(error=ora(3113, "end-of-file on communication channel"), dies=True))
    server.on("BEGIN p", Reply(lines=["fine"]))
    dead, next_ = lane.play(make_play(calls=("EXEC die", "EXEC p"))).tests
    assert dead.calls[0].lost
    assert dead.calls[0].limit is None
    assert dead.calls[0].error is not None
    assert dead.calls[0].error.code == "ORA-03113"
    assert next_.calls[0].lines == ("fine",)


def test_a_program_whose_answer_cannot_be_read(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """RAISE_APPLICATION_ERROR(-20001, CHR(200)) breaks the driver's reading: the program's doing, not ours."""
    server.on("BEGIN p", Reply(error=UnicodeDecodeError("utf-8", b"\xc8", 0, 1, "unexpected end of data")))
    server.on("BEGIN q", Reply(lines=["fine"]))
    broken, next_ = lane.play(make_play(calls=("EXEC p", "EXEC q"))).tests
    assert broken.calls[0].lost
    assert broken.calls[0].error is not None
    assert broken.calls[0].error.code == "UNREADABLE"
    assert next_.calls[0].lines == ("fine",)
    assert len(server.graded()) == 2, "the session holds an answer that nobody has read: it is not used again"


def test_a_program_that_dies_while_installed(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """A turn whose program ends its session has no tests."""
    server.on("BEGIN die", Reply(error=ora(28, "your session has been killed"), dies=True))
    played = lane.play(make_play("BEGIN die; END;\n/", calls=("EXEC p",)))
    assert played.programs[0].lost
    assert played.tests == ()


def test_a_lost_server_is_no_verdict(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §7.2: the admin probe fails, so it is infrastructure."""

    def crash(_session: FakeConnection) -> None:
        server.down = True

    server.on(
        "BEGIN p", Reply(effect=crash, error=ora(3113, "end-of-file on communication channel"), dies=True)
    )
    with pytest.raises(InfrastructureError, match="the server is lost: ORA-03113"):
        lane.play(make_play(calls=("EXEC p",)))


def test_a_user_that_was_not_cleaned_is_not_used_again(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """engines §7.2: after a failure in the clean-up the next play has another user and restored data."""
    server.on("BEGIN p", Reply())
    server.on("^UPDATE orders", Reply())
    lane.play(make_play(calls=("EXEC p",), database=shop))
    server.on("SELECT sid, serial# FROM", Reply(error=ora(3113, "end-of-file"), times=1))
    with pytest.raises(InfrastructureError):
        lane.play(make_play(calls=("UPDATE orders SET total = 1;",), database=shop))
    lane.play(make_play(calls=("EXEC p",), database=shop))
    assert server.graded()[-1].user == "PLB_R1_GW0_C2"
    assert CANDIDATE not in server.users
    assert server.register["SHOP"][2] == "ready"


def test_a_server_lost_while_a_session_is_discarded(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """The kill itself can meet a dead server."""
    server.on("BEGIN spin", Reply(seconds=5))
    server.on("KILL SESSION", Reply(error=ora(3113, "end-of-file on communication channel")))
    with pytest.raises(InfrastructureError, match="lost"):
        lane.play(make_play(calls=("EXEC spin",), seconds=0.1))


def test_the_login_of_a_graded_user_fails(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §2.6: ORA-12516 in spite of the driver's retries is never the program's fault."""
    server.on("BEGIN NULL", Reply())
    lane.play(make_play("BEGIN NULL; END;\n/"))
    server.logins_fail = [ora(12516, "listener could not find available handler")]
    with pytest.raises(InfrastructureError, match="ORA-12516"):
        lane.play(make_play(calls=("EXEC p",)))


def test_settings_that_cannot_be_pinned(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """A session without pinned settings is not used."""
    server.on("EXECUTE IMMEDIATE 'ALTER SESSION", Reply(error=ora(600, "internal error code")))
    with pytest.raises(InfrastructureError):
        lane.play(make_play(calls=("EXEC p",)))


def test_a_session_that_does_not_die(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §7.2: verified in V$SESSION; if it will not go, its user is given up and left to the reaper.

    The program was over its time all the same: to be slow at dying is no escape from a verdict.
    """
    server.on("BEGIN sleep", Reply(seconds=30, breakable=False))
    server.on("BEGIN p", Reply(lines=["fine"]))
    server.undead = True
    slow, next_ = lane.play(
        make_play("CREATE PROCEDURE p IS BEGIN NULL; END;", calls=("EXEC sleep", "EXEC p"), seconds=0.1)
    ).tests
    assert slow.calls[0].limit == "time_limit"
    assert next_.calls[0].lines == ("fine",)
    assert CANDIDATE in server.users, "it cannot be dropped while connected (ORA-01940)"
    assert server.graded()[-1].user == "PLB_R1_GW0_C2"
    assert len(server.sent("^CREATE PROCEDURE p")) == 2, "the new user has the programs, too"
    (test,) = lane.play(make_play(calls=("EXEC p",))).tests
    assert test.calls[0].lines == ("fine",)


@pytest.mark.parametrize("last", [True, False])
def test_a_program_that_does_not_die_while_installed(
    server: FakeOracle,
    lane: OracleLane,
    make_play: MakePlay,
    last: bool,
) -> None:
    """The last program then fails; of an earlier turn it is left out, and the others are played."""
    server.on("^BEGIN\n  hang", Reply(seconds=30, breakable=False))
    server.on("BEGIN p", Reply(lines=["fine"]))
    server.undead = True
    programs = ["CREATE PROCEDURE p IS BEGIN NULL; END;", "BEGIN\n  hang; END;\n/"]
    played = lane.play(make_play(*(programs if last else programs[::-1]), calls=("EXEC p",), seconds=0.1))
    assert [shown.limit for shown in played.programs] == (
        [None, "time_limit"] if last else ["time_limit", None]
    )
    assert [test.calls[0].lines for test in played.tests] == ([] if last else [("fine",)])
    assert len(server.sent("^BEGIN\n  hang")) == 1


def test_a_writer_that_does_not_die_gives_no_verdict(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, shop: Database
) -> None:
    """What still runs may go on changing rows: the turn is played again on data that is loaded anew."""
    server.on("BEGIN sleep", Reply(seconds=30, breakable=False))
    server.on("BEGIN p", Reply())
    writing = "CREATE PROCEDURE p IS BEGIN UPDATE orders SET total = 1; END;"
    server.undead = True
    with pytest.raises(InfrastructureError, match="did not end"):
        lane.play(make_play(writing, calls=("EXEC sleep", "EXEC p"), database=shop, seconds=0.1))


def test_a_broken_session_between_tests_is_replaced(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """A harness call that fails on a program's session costs the session, not the next test."""
    server.on("BEGIN p", Reply(lines=["fine"]))
    server.on("RESET_PACKAGE", Reply(error=ora(6550, "line 2, column 3:\nPLS-00302: component"), times=1))
    one, two = lane.play(make_play(calls=("EXEC p", "EXEC p"))).tests
    assert one.calls[0].lines == two.calls[0].lines == ("fine",)
    assert len(server.graded()) == 2


def test_output_that_cannot_be_switched_on(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """A program that breaks our own call on its session fails its test."""
    error = ora(6550, "line 1, column 7:\nPLS-00302: component 'DBMS_OUTPUT' must be declared")
    server.on("DBMS_OUTPUT.DISABLE", Reply(error=error))
    (test,) = lane.play(make_play(calls=("EXEC p",))).tests
    assert test.calls[0].error is not None
    assert test.calls[0].error.code == "PLS-00302"
    assert not test.calls[0].lost


def test_a_rollback_that_fails(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """The session went between the test and its end: it is replaced."""

    def vanish(session: FakeConnection) -> None:
        original = session.rollback

        def failing() -> None:
            session.rollback = original  # type: ignore[method-assign]
            session.end()
            raise dpy(4011, "the database or network closed the connection")

        session.rollback = failing  # type: ignore[method-assign]

    server.on("BEGIN p", Reply(effect=vanish))
    server.on("BEGIN q", Reply(lines=["fine"]))
    _, two = lane.play(make_play(calls=("EXEC p", "EXEC q"))).tests
    assert two.calls[0].lines == ("fine",)


# -- the administrating session ----------------------------------------


@pytest.fixture
def admin(engine: OracleEngine, server: FakeOracle) -> Admin:
    """An administrating session on the double."""
    made = open_admin(engine._address, engine.driver)
    made.query("SELECT 1 FROM DUAL")
    return made


def login(server: FakeOracle, user: str) -> FakeConnection:
    server.users[user] = "x"
    return server.connect(user=user, password="x", program="p")


def test_kill_looks_the_serial_number_up(server: FakeOracle, admin: Admin) -> None:
    """engines §1.4: the serial number is cut to 16 bits, so ORA-00030 means to re-read it."""
    victim = login(server, "V")
    admin.kill("V", (victim.session_id, victim.serial_num))
    assert victim.killed.is_set()
    admin.kill("V", (victim.session_id, victim.serial_num))  # gone: fine


def test_marked_for_kill_costs_our_own_session(server: FakeOracle, admin: Admin) -> None:
    """engines §1.8: the driver takes ORA-00031 for the loss of the connection, yet it means success."""
    victim = login(server, "V")
    server.on("KILL SESSION", Reply(error=ora(31, "session marked for kill"), times=1))
    before = len(server.all_sessions)
    admin.kill("V", (victim.session_id, victim.serial))
    admin.query("SELECT 1 FROM DUAL")
    assert len(server.all_sessions) == before + 1, "a new administrating session"


def test_kill_that_is_refused(server: FakeOracle, admin: Admin) -> None:
    """A refusal is not swallowed."""
    server.on("KILL SESSION", Reply(error=ora(1031, "insufficient privileges")))
    with pytest.raises(DriverError, match="ORA-01031"):
        admin.kill("V", (1, 2))


def test_alive_tries_a_second_session(server: FakeOracle, admin: Admin) -> None:
    """A stale administrating session is no outage."""
    server.all_sessions[-1].killed.set()
    assert admin.alive()
    server.down = True
    assert not admin.alive()


def test_gone_waits(server: FakeOracle, admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    """engines §1.4: poll V$SESSION until the session is gone."""
    victim = login(server, "V")
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        victim.close()

    admin.sleep = sleep
    assert admin.gone("V", victim.session_id, 5.0)
    assert waits == [0.2]


def test_a_timed_out_statement_of_ours_drops_the_session(server: FakeOracle, admin: Admin) -> None:
    """engines §1.3: a session is not used again after a time-out."""
    server.on("SELECT 9", Reply(error=dpy(4024, "call timeout of 1 ms exceeded")))
    before = len(server.all_sessions)
    with pytest.raises(DriverError):
        admin.query("SELECT 9 FROM DUAL")
    admin.query("SELECT 1 FROM DUAL")
    assert len(server.all_sessions) == before + 1


def test_drop_user_is_patient(server: FakeOracle, admin: Admin) -> None:
    """engines §7.2: three tries with back-off on ORA-01940, then the reaper's."""
    waits: list[float] = []
    admin.sleep = waits.append
    server.users["V"] = "NONE"
    server.on('DROP USER "V"', Reply(error=ora(1940, "cannot drop a user that is currently connected")))
    assert not drop_user(admin, "V")
    assert waits == [0.5, 2.0, 8.0]
    server.on('DROP USER "V"', Reply(error=ora(1918, "user does not exist")))
    assert drop_user(admin, "V")
    server.on('DROP USER "V"', Reply(error=ora(604, "error occurred at recursive SQL level 1")))
    with pytest.raises(DriverError):
        drop_user(admin, "V")


def test_the_watchdog_tries_again_and_stays_quiet(server: FakeOracle, admin: Admin) -> None:
    """A refused kill is repeated while the call runs; a call that ended in time is left alone."""
    victim = login(server, "V")
    server.on("KILL SESSION", Reply(error=ora(54, "resource busy"), times=1))
    with Watchdog(admin, "V", (victim.session_id, victim.serial), 0.0) as dog:
        assert victim.killed.wait(5)
    assert dog.fired
    server.on("KILL SESSION", Reply(error=ora(54, "resource busy")))
    with Watchdog(admin, "V", (victim.session_id, victim.serial), 0.0) as dog:
        time.sleep(0.3)
    assert dog.fired
    late = Watchdog(admin, "V", (1, 1), 0.0)
    with late:
        pass
    late._bite()
    assert not late.fired


def test_lanes_leave_what_they_cannot_drop(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, caplog: pytest.LogCaptureFixture
) -> None:
    """engines §2.4: drop failures are logged, not fatal."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",)))
    server.on("DROP USER", Reply(error=ora(604, "error occurred at recursive SQL level 1")))
    with caplog.at_level(logging.WARNING):
        lane.close()
    assert "left behind" in caplog.text
    assert oracledb.connect.__self__ is server  # type: ignore[attr-defined]
    lane.close()


def test_lanes_drop_their_users(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §7.2: at the worker's end."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",)))
    lane.close()
    assert [name for name in server.users if name.startswith("PLB_")] == []


def test_users_of_a_crashed_worker_are_replaced(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §2.4: xdist may use a name again; users that cannot be dropped cost a generation."""
    server.users |= {"PLB_R1_GW0_P1": "old", "PLB_R1_GW0_C1": "NONE"}
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",)))
    assert server.users["PLB_R1_GW0_P1"] != "old"
    lane.close()
    server.users["PLB_R1_GW0_C2"] = "NONE"
    stuck = login(server, "PLB_R1_GW0_C2")
    server.undead = True
    lane.play(make_play(calls=("EXEC p",)))
    assert "PLB_R1_GW0_C3" in server.users
    assert stuck.killed.is_set()


def test_module_limits_are_sane() -> None:
    """Waiting for a gate ends before our own statement's limit does; deaths are waited for."""
    assert gate_module.WAIT_SECONDS < admin_module.STATEMENT_SECONDS
    assert session_module.HARNESS_SECONDS > 5
