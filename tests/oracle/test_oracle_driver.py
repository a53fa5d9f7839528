"""The driver module against the double of python-oracledb."""

from __future__ import annotations

import os
import threading
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import oracledb
import pytest
from oracle_double import FakeCursor, FakeOracle, Reply, Result, dpy, ora

from pytest_plsqlbench.engines.oracle.driver import OracledbConnection, OracledbDriver
from pytest_plsqlbench.engines.oracle.port import DriverError, Login, ObjectValue

LOGIN = Login(
    user="system", password="secret", dsn="x", config_dir="/c", wallet_location="/w", wallet_password="pw"
)


@pytest.fixture
def connection(server: FakeOracle) -> Any:
    return OracledbDriver().connect(LOGIN, 5.0)


def test_options_of_the_login(server: FakeOracle, connection: Any) -> None:
    """engines §1.1: keyword arguments, wallet for thin mode, the time zone of the session pinned at login."""
    assert server.options["wallet_location"] == "/w"
    assert server.options["wallet_password"] == "pw"
    assert server.options["config_dir"] == "/c"
    assert server.options["tcp_connect_timeout"] == 5.0
    assert os.environ["ORA_SDTZ"] == "+00:00"
    assert connection.version == "23.26.0.0.0"
    connection.close()


def test_call_timeout_is_in_milliseconds(server: FakeOracle, connection: Any) -> None:
    """engines §1.3: milliseconds, 0 is off, so a time that is nearly over must not become 0."""
    raw = server.all_sessions[-1]
    for seconds, expected in ((1.5, 1500), (0.0, 1), (None, 0)):
        connection.limit(seconds)
        assert raw.call_timeout == expected


def test_errors_keep_both_numbers(server: FakeOracle, connection: Any) -> None:
    """engines fact 4: the driver renames; both names and the server's text are kept, its help lines are not."""
    server.on("SELECT a", Reply(error=ora(600, "internal error code")))
    with pytest.raises(DriverError) as caught:
        connection.execute("SELECT a FROM dual")
    assert (caught.value.code, caught.value.full_code, caught.value.session_dead) == (600, "DPY-4011", True)
    assert "Help:" not in caught.value.message
    assert "ORA-00600" in caught.value.message


def test_system_errors_are_lost_sessions(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A socket error under the driver is a lost session."""

    def broken() -> None:
        raise ConnectionResetError(104, "Connection reset by peer")

    monkeypatch.setattr(connection._connection, "commit", broken)
    with pytest.raises(DriverError, match="Connection reset") as caught:
        connection.commit()
    assert caught.value.session_dead


def test_a_session_that_the_driver_has_hung_up_is_lost(server: FakeOracle, connection: Any) -> None:
    """engines §1.3: after a cut the next call gets DPY-1001, which is no answer of the program's."""
    server.on("SELECT a", Reply(error=dpy(1001, "not connected to database")))
    with pytest.raises(DriverError) as caught:
        connection.execute("SELECT a FROM dual")
    assert caught.value.session_dead


def test_errors_without_details(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of the driver without its error object still is an error of ours."""

    def broken() -> None:
        raise oracledb.DatabaseError

    monkeypatch.setattr(connection._connection, "rollback", broken)
    with pytest.raises(DriverError):
        connection.rollback()


def test_values_become_plain(server: FakeOracle, connection: Any) -> None:
    """engines §1.9: exact numbers, LOBs read, objects and collections, nested cursors."""

    class Kind:
        def __init__(self, name: str, attributes: list[str] | None) -> None:
            self.name = name
            self.iscollection = attributes is None
            self.attributes = [SimpleNamespace(name=n) for n in attributes or []]

    point = SimpleNamespace(type=Kind("POINT", ["X"]), X=Decimal(1), asdict=dict)
    points = SimpleNamespace(type=Kind("POINTS", None), aslist=lambda: [point], asdict=dict)
    lob = SimpleNamespace(read=lambda: "long text")
    nested = FakeCursor(server.all_sessions[-1], Result([("N", oracledb.DB_TYPE_NUMBER)], [(1,)]))
    names = [(f"C{n}", oracledb.DB_TYPE_OBJECT) for n in range(4)]
    server.on("SELECT x", Reply(result=Result(names, [(point, points, lob, nested)])))
    rows = connection.execute("SELECT x FROM t").rows
    (row,) = rows.fetch(10)
    assert row[0] == ObjectValue("POINT", (("X", Decimal(1)),))
    assert row[1] == ObjectValue("POINTS", None, (row[0],))
    assert row[2] == "long text"
    assert row[3].fetch(5) == [(1,)]
    rows.close()
    assert [column.type for column in rows.columns] == ["OBJECT"] * 4


def test_numbers_are_fetched_as_decimals(server: FakeOracle, connection: Any) -> None:
    """engines §1.9: a float would lose digits of a NUMBER."""
    cursor = server.all_sessions[-1].cursor()
    handler = server.all_sessions[-1].outputtypehandler
    assert handler(cursor, SimpleNamespace(type_code=oracledb.DB_TYPE_NUMBER)).typ is Decimal
    assert handler(cursor, SimpleNamespace(type_code=oracledb.DB_TYPE_DATE)) is None


def test_bytes_that_are_no_text_are_fetched(server: FakeOracle, connection: Any) -> None:
    """Driver manual, "Querying Corrupt Data": a program may return CHR(200), and name an object so."""
    cursor = server.all_sessions[-1].cursor()
    handler = server.all_sessions[-1].outputtypehandler
    for kind in (oracledb.DB_TYPE_VARCHAR, oracledb.DB_TYPE_CHAR, oracledb.DB_TYPE_NVARCHAR):
        made = handler(cursor, SimpleNamespace(type_code=kind))
        assert (made.typ, made.encoding_errors) == (kind, "replace")


@pytest.mark.parametrize(
    "fault",
    [
        UnicodeDecodeError("utf-8", b"\xc8", 0, 1, "unexpected end of data"),
        ValueError("year -44"),
        OverflowError(),
    ],
)
def test_what_the_driver_cannot_read_is_an_error_of_the_session(
    server: FakeOracle, connection: Any, fault: Exception
) -> None:
    """The thin driver decodes strictly within an answer, error messages too, and leaves the rest unread."""
    server.on("BEGIN p", Reply(error=fault))
    with pytest.raises(DriverError, match="cannot read a value") as caught:
        connection.execute("BEGIN p; END;")
    assert caught.value.session_dead


def test_values_that_the_driver_does_not_take_leave_the_session_well(
    connection: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of ours that cannot be sent are the data's fault, not a loss."""

    def refuse(_self: Any, _text: str, _rows: object) -> None:
        raise ValueError("not a date")

    monkeypatch.setattr(FakeCursor, "executemany", refuse)
    with pytest.raises(DriverError, match="does not take a value: not a date") as caught:
        connection.insert("INSERT INTO t VALUES (:1)", [[1]], [None])
    assert not caught.value.session_dead


def test_closing_is_quiet(server: FakeOracle, connection: Any) -> None:
    """engines §1.3: a session that was cut is closed without fuss; a cursor too."""
    server.on("SELECT x", Reply(result=Result([("N", oracledb.DB_TYPE_NUMBER)], [(1,)])))
    execution = connection.execute("SELECT x FROM t")
    server.all_sessions[-1].dead = True
    execution.close()
    execution.rows.close()
    connection.close()


def test_variables_have_types(server: FakeOracle, connection: Any) -> None:
    """engines §1.9: cursors, LOBs and scalars as client variables; strings as long as PL/SQL's."""
    assert connection.variable("REFCURSOR").inner.typ is oracledb.DB_TYPE_CURSOR
    assert connection.variable("VARCHAR2").inner.size == 32767
    number = connection.variable("NUMBER")
    assert number.inner.typ is Decimal
    assert number.value() is None


def test_a_login_that_comes_too_late_is_closed(server: FakeOracle, monkeypatch: pytest.MonkeyPatch) -> None:
    """engines §1.1: a timer around the connect; what answers after it is not left open."""
    gate = threading.Event()
    real = server.connect

    def slow(**options: Any) -> Any:
        gate.wait(5)
        return real(**options)

    monkeypatch.setattr(oracledb, "connect", slow)
    with pytest.raises(DriverError, match="no answer to the login"):
        OracledbDriver().connect(LOGIN, 0.05)
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "oracle-login":
            thread.join(5)
    assert all(session.closed for session in server.all_sessions)


def test_a_refused_login(server: FakeOracle) -> None:
    """engines §1.8: codes and names as they come."""
    server.logins_fail = [ora(1017, "invalid credential"), dpy(6005, "cannot connect")]
    with pytest.raises(DriverError) as caught:
        OracledbDriver().connect(LOGIN, 5.0)
    assert caught.value.code == 1017
    with pytest.raises(DriverError) as caught:
        OracledbDriver().connect(LOGIN, 5.0)
    assert caught.value.full_code == "DPY-6005"


def test_the_protocol_is_met(connection: Any) -> None:
    """The wrapper offers what the engine asks for."""
    assert isinstance(connection, OracledbConnection)
    assert connection.session[0] > 0
