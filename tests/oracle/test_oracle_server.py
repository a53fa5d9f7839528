"""The Oracle engine and servers: capabilities, the reaper, doctor, golden SQL, resolution."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Self

import msgspec
import pytest
from click.testing import CliRunner
from oracle_double import CONNINFO, FakeConnection, FakeOracle, Reply, Result, dpy, ora

from pytest_plsqlbench.bench.database import Database
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli.doctor import command as doctor
from pytest_plsqlbench.cli.reap import command as reap_command
from pytest_plsqlbench.engines.oracle import checks, privileges
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.assumptions import ASSUMPTIONS, examine, status_markdown
from pytest_plsqlbench.engines.oracle.bench import Bench
from pytest_plsqlbench.engines.oracle.capabilities import probe
from pytest_plsqlbench.engines.oracle.engine import OracleEngine, default_driver, open_admin, probe_login
from pytest_plsqlbench.engines.oracle.lane import OracleLane
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.reaper import reap
from pytest_plsqlbench.engines.protocol import EngineUnavailableError, InfrastructureError, Play
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.oracle import resolve_oracle, start_oracle
from pytest_plsqlbench.servers.oracle_login import OracleLogin, parse_login

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests" / "data" / "oracle" / "provisioning.sql"
UPDATE = "PLSQLBENCH_UPDATE_GOLDEN"
MakePlay = Callable[..., Play]


@pytest.fixture
def admin(server: FakeOracle, address: ServerAddress) -> Admin:
    return open_admin(address, default_driver())


# -- capabilities ----------------------------------------


def test_a_full_server(engine: OracleEngine) -> None:
    """engines §4.5: what the account can do is found out at the start and shown."""
    found = engine.capabilities
    assert found.schema_rights
    assert found.extended_strings
    assert found.profile
    assert found.reads_statistic == 12
    assert found.notes == ()
    assert engine.header == (found.workers[1],)
    assert engine.info.name == "oracle"
    assert engine.info.version == "23.26.0.0.0"
    assert "secret" not in repr(engine.info)


@pytest.mark.parametrize(("cpus", "workers"), [("1", 2), ("2", 2), ("3", 3), ("64", 4)])
def test_workers_that_suit(server: FakeOracle, address: ServerAddress, cpus: str, workers: int) -> None:
    """engines §2.5: two CPUs on Free; more workers only stretch everybody's times."""
    server.parameters["cpu_count"] = cpus
    count, reason = OracleEngine(address).capabilities.workers
    assert count == workers
    assert str(count) in reason


def test_a_poor_server(server: FakeOracle, address: ServerAddress) -> None:
    """engines §4.5: features are done without, and the header says so."""
    server.version = "19.3.0.0.0"
    server.privileges -= {"CREATE PROFILE"}
    server.hidden_views = {"V$PARAMETER", "V$STATNAME"}
    server.cloud = "OLTP"
    server.on("NLS_CALENDAR", Reply(error=ora(922, "missing or invalid option")))
    engine = OracleEngine(address)
    found = engine.capabilities
    assert (found.schema_rights, found.extended_strings, found.profile) == (False, False, False)
    assert found.reads_statistic is None
    assert found.autonomous
    assert found.cpus == 2
    assert any("NLS_CALENDAR" in note for note in engine.header)
    assert not server.sent("CREATE PROFILE|SET RESOURCE_LIMIT")


def test_missing_texts_have_defaults(server: FakeOracle, address: ServerAddress) -> None:
    """Banner and tablespace where the views are closed; a statistic without V$SESSTAT is of no use."""
    server.on(r"v\$version|database_properties", Reply(error=ora(942, "table or view does not exist")))
    server.hidden_views = {"V$SESSTAT"}
    found = OracleEngine(address).capabilities
    assert found.banner == "Oracle 23.26.0.0.0"
    assert found.tablespace == "USERS"
    assert found.reads_statistic is None


def test_missing_rights_are_all_named(server: FakeOracle, address: ServerAddress) -> None:
    """An account that lacks rights is refused with everything it lacks, before anything runs."""
    server.privileges -= {"DROP USER", "ALTER SYSTEM"}
    server.hidden_views = {"DBA_ERRORS"}
    with pytest.raises(EngineUnavailableError, match=r"lacks DROP USER, ALTER SYSTEM, SELECT ON DBA_ERRORS"):
        OracleEngine(address)


def test_unlisted_rights_are_shown(server: FakeOracle, address: ServerAddress) -> None:
    """engines §4.5: Autonomous names some rights otherwise, so only the indispensable ones decide."""
    server.privileges -= {"GRANT ANY PRIVILEGE"}
    assert "the account does not list: GRANT ANY PRIVILEGE" in OracleEngine(address).header


def test_too_old(server: FakeOracle, address: ServerAddress) -> None:
    """engines §3.4: NO AUTHENTICATION exists from 18c on."""
    server.version = "12.2.0.1.0"
    with pytest.raises(EngineUnavailableError, match="too old"):
        OracleEngine(address)


@pytest.mark.parametrize("text", ["ALTER SESSION SET NLS_SORT", "SELECT 1 FROM DBA_USERS WHERE 1 = 0"])
def test_lost_while_probing(server: FakeOracle, address: ServerAddress, text: str) -> None:
    """A server that goes away is not a server without rights."""
    server.on(text, Reply(error=ora(3113, "end-of-file on communication channel")))
    with pytest.raises(InfrastructureError):
        OracleEngine(address)


def test_resource_limit_may_be_forbidden(server: FakeOracle, address: ServerAddress) -> None:
    """engines §3.3: set explicitly where allowed; done without elsewhere."""
    OracleEngine(address).close()
    assert not server.sent("SET RESOURCE_LIMIT"), "a setting of a server that is not ours"
    server.on("SET RESOURCE_LIMIT", Reply(error=ora(1031, "insufficient privileges")))
    OracleEngine(msgspec.structs.replace(address, kind="container")).close()
    assert server.sent("SET RESOURCE_LIMIT")


def test_logins_of_the_controller(server: FakeOracle) -> None:
    """A wrong password is the user's mistake; a listener that refuses is worth a retry."""
    assert probe_login(CONNINFO, "r1") == "23.26.0.0.0"
    server.logins_fail = [ora(1017, "invalid credential"), dpy(6005, "cannot connect to database")]
    with pytest.raises(EngineUnavailableError, match="ORA-01017"):
        probe_login(CONNINFO, "r1")
    with pytest.raises(InfrastructureError, match="cannot be reached"):
        probe_login(CONNINFO, "r1")


def test_engine_information_needs_no_driver_import() -> None:
    """The driver module is imported only where a session is opened."""
    text = (ROOT / "pytest_plsqlbench/engines/oracle/driver.py").read_text()
    assert not re.search(r"^import oracledb", text.split("if TYPE_CHECKING")[0], re.MULTILINE)
    others = [
        path.name
        for path in (ROOT / "pytest_plsqlbench/engines/oracle").glob("*.py")
        if "import oracledb" in path.read_text() and path.name != "driver.py"
    ]
    assert others == []


def test_work_that_cannot_be_read(server: FakeOracle, address: ServerAddress, make_play: MakePlay) -> None:
    """engines §5: measured work is optional; statistics may be absent."""
    server.on("BEGIN p", Reply())
    server.on(r"FROM v\$sesstat WHERE sid", Reply(result=Result([], [])))
    lane = OracleEngine(address).lane("gw0")
    assert lane.play(make_play(calls=("EXEC p",))).tests[0].work is None


# -- reaper ----------------------------------------


def leave(server: FakeOracle, *users: str) -> None:
    for user in users:
        server.users[user] = "NONE"


def test_the_reaper_spares_living_runs(server: FakeOracle, admin: Admin) -> None:
    """engines §7.3: users by prefix; a run lives while it has an administrating session."""
    leave(server, "PLB_DEAD_GW0_C1", "PLB_DEAD_GW0_P1", "PLB_ALIVE_GW0_C1", "OTHER")
    server.connect(user="system", password="secret", program="plsqlbench-alive")
    stuck = server.connect(user="PLB_DEAD_GW0_C1", password="", program="plsqlbench-dead")
    found = reap(admin, dry_run=True)
    assert found.dropped == ["PLB_DEAD_GW0_C1", "PLB_DEAD_GW0_P1"]
    assert found.kept == ["PLB_ALIVE_GW0_C1"]
    found = reap(admin)
    assert stuck.killed.is_set()
    assert set(server.users) == {"SYSTEM", "OTHER", "PLB_ALIVE_GW0_C1"}
    found = reap(admin, data=True)
    assert found.failed == ["the loaded data is kept: a run is alive"]
    assert reap(admin, only_run="alive").dropped == ["PLB_ALIVE_GW0_C1"]


def test_the_reaper_goes_on_after_failures(server: FakeOracle, admin: Admin) -> None:
    """engines §2.4: failures are told, not fatal; a lost server is."""
    leave(server, "PLB_A_GW0_C1", "PLB_B_GW0_C1")
    server.on('DROP USER "PLB_A', Reply(error=ora(604, "error occurred at recursive SQL level 1")))
    found = reap(admin)
    assert found.dropped == ["PLB_B_GW0_C1"]
    assert found.failed == ["PLB_A_GW0_C1: ORA-00604: error occurred at recursive SQL level 1"]
    server.on('DROP USER "PLB_A', Reply(error=ora(1940, "connected")))
    assert reap(admin).failed == ["PLB_A_GW0_C1: its sessions do not end"]
    server.on('DROP USER "PLB_A', Reply(error=ora(3113, "end-of-file on communication channel")))
    with pytest.raises(DriverError):
        reap(admin)


def test_the_reaper_of_data(
    server: FakeOracle, admin: Admin, engine: OracleEngine, make_play: MakePlay, shop: Database
) -> None:
    """Loaded data stays for the next run, until it is asked for."""
    assert reap(admin, data=True).failed == [], "no register yet"
    server.on("BEGIN p", Reply())
    lane = engine.lane("gw0")
    lane.play(make_play(calls=("EXEC p",), database=shop))
    lane.close()
    engine.close()
    assert reap(admin, data=True, dry_run=True).dropped == ["SHOP", "PLSQLBENCH"]
    assert reap(admin, data=True).dropped == ["SHOP", "PLSQLBENCH"]
    assert "SHOP" not in server.users
    assert server.register == {}
    server.on("SELECT owner FROM", Reply(error=ora(1031, "insufficient privileges")))
    with pytest.raises(DriverError):
        reap(admin, data=True)


def test_the_reap_command(server: FakeOracle, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line a user, exit 1 where something stays, a clear line without a server."""
    monkeypatch.delenv("PLSQLBENCH_ORACLE_DSN", raising=False)
    run = CliRunner()
    result = run.invoke(reap_command, ["--oracle", CONNINFO])
    assert (result.exit_code, result.output) == (0, "nothing to drop\n")
    leave(server, "PLB_A_GW0_C1", "PLB_B_GW0_C1", "PLB_C_GW0_C1")
    server.connect(user="system", password="secret", program="plsqlbench-c")
    server.on('DROP USER "PLB_A', Reply(error=ora(604, "recursive")))
    assert "would drop PLB_A_GW0_C1" in run.invoke(reap_command, ["--oracle", CONNINFO, "--dry-run"]).output
    result = run.invoke(reap_command, ["--oracle", CONNINFO])
    assert result.exit_code == 1
    assert "dropped PLB_B_GW0_C1" in result.output
    assert "kept PLB_C_GW0_C1: its run is alive" in result.output
    monkeypatch.setenv("PLSQLBENCH_ORACLE_DSN", CONNINFO)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    for arguments in ([], ["--data", "--dry-run"]):
        assert "kept PLB_C_GW0_C1" in run.invoke(reap_command, arguments).output
    monkeypatch.delenv("PLSQLBENCH_ORACLE_DSN")
    server.down = True
    result = run.invoke(reap_command, ["--oracle", CONNINFO])
    assert isinstance(result.exception, UserError)
    assert "secret" not in str(result.exception)


# -- doctor ----------------------------------------


def healthy(server: FakeOracle) -> None:
    """A server on which the assumptions can be tried; answers as documented."""
    server.parameters["resource_limit"] = "TRUE"
    name = "PLB_R1_DOCTOR_C1"

    def one(value: object, kind: object = None) -> Result:
        import oracledb

        return Result([("X", kind or oracledb.DB_TYPE_VARCHAR)], [(value,)])

    def broken(session: FakeConnection) -> None:
        found = server.find(session.user, "PROCEDURE", "P")
        assert found is not None
        found.valid = False
        found.entries = [(4, 3, "PLS-00201: identifier 'NONSENSE' must be declared")]

    def answer_user(session: FakeConnection) -> None:
        del session

    server.on("^SELECT USER", Reply(result=one(name)))
    server.on("RPAD.*'end'", Reply(lines=["x" * 32767, None, " a"], error=ora(20001, "end")))
    server.on("FOR i IN 1 .. 200000", Reply(error=ora(20000, "ORU-10027: buffer overflow")))
    server.on("PROCEDURE p IS\nBEGIN\n  nonsense", Reply(warning=True, effect=broken))
    server.on(
        "^BEGIN\n  nonsense", Reply(error=ora(6550, "line 2, column 3:\nPLS-00201: identifier 'NONSENSE'"))
    )
    server.on("^BEGIN <<a>>", Reply(lines=["1"]))
    server.on("^DECLARE n NUMBER := 0; BEGIN LOOP", Reply(seconds=9))
    server.on("SLEEP\\(60\\)", Reply(seconds=9, breakable=False))
    server.on("cancelled EXCEPTION", Reply(seconds=9, breakable=False))
    server.on("-3113", Reply(error=ora(3113, "end-of-file on communication channel"), dies=True))
    denied = ora(1031, "insufficient privileges")
    server.on(
        "^CREATE TABLE t \\(n NUMBER\\)|LOGON ON SCHEMA|DROP USER system|dba_users$|DBMS_LOCK",
        Reply(error=denied),
        "PLB",
    )
    server.on("UTL_INADDR", Reply(error=ora(24247, "network access denied by access control list (ACL)")))
    server.on('^ALTER USER "PLB_R1_DOCTOR_C1" IDENTIFIED', Reply(effect=answer_user), "PLB")
    server.on("^DELETE FROM PLB|FOR UPDATE$", Reply(error=denied), "PLB")
    server.on("^SELECT f FROM DUAL", Reply(result=one("1")))
    moves = iter(range(100))

    def move(_session: FakeConnection) -> None:
        table = server.tables["PLSQLBENCH", "PLB$DOCTOR"]
        table.scn = 10 + next(moves)
        table.rows = [(1,)]

    from oracle_double import FakeTable

    server.tables["PLSQLBENCH", "PLB$DOCTOR"] = FakeTable([("N", "NUMBER")], [])
    server.on('^(INSERT INTO|UPDATE|DELETE FROM) "PLSQLBENCH"."PLB\\$DOCTOR"', Reply(effect=move))
    server.on('MAX\\(ORA_ROWSCN\\) FROM "PLSQLBENCH"."PLB\\$DOCTOR"', Reply())
    server.on(
        "IN EXCLUSIVE MODE WAIT 1$",
        Reply(error=ora(30006, "resource busy; acquire with WAIT timeout expired")),
    )
    server.on("IN SHARE MODE WAIT 1$", Reply())
    server.on("^BEGIN k.n :=", Reply())
    caught = ora(6550, "line 1, column 7:\nPLS-00302: component 'DBMS_OUTPUT' must be declared")
    server.on("^BEGIN SYS.DBMS_OUTPUT.PUT_LINE", Reply(error=caught), "PLB")
    server.on("^DECLARE TYPE t IS TABLE", Reply(lines=["alike", "differ", "null"]))
    server.on("NOT LIKE '_%'", Reply(lines=["empty"] * 3 + ["full"] * 4))
    server.on("^BEGIN SYS.DBMS_STANDARD", Reply(error=ora(20001, "case_1 failed")))
    server.on("^SELECT 'a'", Reply(result=one("a\ufffdb")))
    unreadable = UnicodeDecodeError("utf-8", b"\xc8", 0, 1, "unexpected end of data")
    server.on("CHR\\(200\\)\\); END", Reply(error=unreadable))
    server.on("02:00' FROM DUAL", Reply(result=one(None)))
    server.on("all_objects", Reply(result=one("1")))


@pytest.fixture
def bench(server: FakeOracle, address: ServerAddress, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench on a healthy double; its queries of numbers answered by our own rules."""
    import datetime as dt
    from decimal import Decimal

    import oracledb
    from oracle_double import _ANSWERS

    from pytest_plsqlbench.engines.oracle.cells import cell, number_text

    healthy(server)

    def to_char(_server: FakeOracle, _session: FakeConnection, match: re.Match[str], _binds: object) -> Reply:
        text = match[1]
        value: object
        if text.endswith("d") or text.startswith("BINARY"):
            value = {"BINARY_DOUBLE_INFINITY": float("inf"), "BINARY_DOUBLE_NAN": float("nan")}.get(text)
            value = float(text.rstrip("d")) if value is None else value
            shown = cell(value, "BINARY_DOUBLE")
            assert shown is not None
            return Reply(result=Result([("A", None), ("B", None)], [(value, shown[1])]))
        number = Decimal(1) / Decimal(3) if text == "1/3" else Decimal(text)
        return Reply(result=Result([("A", None), ("B", None)], [(number, number_text(number))]))

    def marks_of(
        server_: FakeOracle, _session: FakeConnection, match: re.Match[str], _binds: object
    ) -> Reply:
        table = server_.tables["PLSQLBENCH", "PLB$DOCTOR"]
        return Reply(result=Result([("A", None), ("B", None)], [(len(table.rows), table.scn)]))

    answers = [
        (re.compile(r"SELECT (\S+), TO_CHAR\(.*\) FROM DUAL"), to_char),
        (re.compile(r'SELECT COUNT\(\*\), MAX\(ORA_ROWSCN\) FROM "PLSQLBENCH"\."PLB\$DOCTOR"'), marks_of),
        (re.compile(r'DROP TABLE "PLSQLBENCH"\."PLB\$DOCTOR"'), lambda *_: None),
    ]
    server._replies = [rule for rule in server._replies if "ORA_ROWSCN" not in rule[0].pattern]
    monkeypatch.setattr("oracle_double._ANSWERS", [*answers, *_ANSWERS])
    zoned = dt.datetime(2024, 2, 29, 10, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    server.on("02:00' FROM DUAL", Reply(result=Result([("T", oracledb.DB_TYPE_TIMESTAMP_TZ)], [(zoned,)])))
    monkeypatch.setattr(checks, "LIMIT_SECONDS", 0.1)
    engine = OracleEngine(address)
    return Bench(open_admin(address, default_driver()), engine.capabilities)


def test_every_assumption_can_be_tried(bench: Bench, server: FakeOracle) -> None:
    """docs/oracle-status.md: on a server that behaves as documented, all of them hold; nothing is left."""
    results = {result.assumption.name: result for result in examine(bench)}
    assert set(results) == {item.name for item in ASSUMPTIONS}
    assert {name: result.seen for name, result in results.items() if result.holds is not True} == {}
    bench.close()
    assert [user for user in server.users if user.startswith("PLB_")] == []
    assert not [session for session in server.sessions.values() if session.user.startswith("PLB_")]


def test_assumptions_that_do_not_hold(bench: Bench, server: FakeOracle) -> None:
    """What does not hold is said, with what was seen; what cannot be tried is neither."""
    server.on("^BEGIN <<a>>", Reply(error=ora(900, "invalid SQL statement")))
    server.on("UTL_INADDR", Reply())
    server.on("MAX\\(ORA_ROWSCN\\)", Reply(error=ora(942, "table or view does not exist")))
    server.on("^CREATE TABLE t \\(n NUMBER\\)", Reply())
    server.on("^BEGIN\n  nonsense", Reply())
    server.on("^BEGIN k.n :=", Reply(error=ora(4068, "existing state of packages has been discarded")))
    server.on("-3113", Reply())
    server.on("FOR UPDATE$", Reply())
    server.on("FOR i IN 1 .. 200000", Reply())
    server.on("IN EXCLUSIVE MODE WAIT 1$", Reply())
    server.on("^BEGIN SYS.DBMS_OUTPUT.PUT_LINE", Reply(), "PLB")
    server.on("^DECLARE TYPE t IS TABLE", Reply(error=ora(6550, "PLS-00306: wrong number or types")))
    server.on("NOT LIKE '_%'", Reply(lines=["full"] * 7))
    server.on("^BEGIN SYS.DBMS_STANDARD", Reply())
    server.on("^SELECT 'a'", Reply(error=UnicodeDecodeError("utf-8", b"\xc8", 0, 1, "x")))
    results = {result.assumption.name: result.holds for result in examine(bench)}
    assert [name for name, holds in results.items() if holds is False] == [
        "output-limit", "block-position", "label-first", "self-kill", "rights", "network", "reading", "gates",
        "stale-state", "shadowing", "collections", "empty-clobs", "full-raise", "no-text",
    ]  # fmt: skip
    assert [name for name, holds in results.items() if holds is None] == ["marks"]


def test_a_doctor_who_meets_the_undead(bench: Bench, server: FakeOracle) -> None:
    """A killed session that stays, and a server that goes: said, and the rest is tried."""

    def rise(_session: FakeConnection) -> None:
        server.undead = True

    server.on("SLEEP\\(60\\)", Reply(seconds=9, breakable=False, effect=rise))
    server.undead = True
    results = {result.assumption.name: result for result in examine(bench)}
    assert results["timeout-sleep"].holds is False
    server.undead = False


def test_the_doctor_command(server: FakeOracle, monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    """What holds, what does not and what follows; exit 1 where it weighs; no secrets."""
    monkeypatch.setattr("pytest_plsqlbench.cli.doctor.secrets.token_hex", lambda _n: "r1")
    run = CliRunner()
    result = run.invoke(doctor, ["--oracle", CONNINFO])
    assert result.exit_code == 0, result.output
    assert "everything weighty holds" in result.output
    assert "secret" not in result.output
    server.on("^BEGIN <<a>>", Reply(error=ora(900, "invalid SQL statement")))
    result = run.invoke(doctor, [], env={"PLSQLBENCH_ORACLE_DSN": CONNINFO})
    assert result.exit_code == 1
    assert "DOES NOT HOLD  label-first" in result.output
    assert "→ such programs fail" in result.output


def test_the_doctor_without_a_server(server: FakeOracle, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, without the password."""
    monkeypatch.delenv("PLSQLBENCH_ORACLE_DSN", raising=False)
    run = CliRunner()
    assert isinstance(run.invoke(doctor, []).exception, UserError)
    server.down = True
    result = run.invoke(doctor, ["--oracle", CONNINFO])
    assert isinstance(result.exception, UserError)
    assert "secret" not in str(result.exception)
    server.down = False
    server.on("^CREATE USER", Reply(error=ora(3113, "end-of-file on communication channel")))
    server.on("DROP TABLE", Reply(error=ora(3113, "end-of-file on communication channel")))
    result = run.invoke(doctor, ["--oracle", CONNINFO])
    assert isinstance(result.exception, UserError)
    assert "lost" in str(result.exception)


VARIABLES = ("PLSQLBENCH_ORACLE", "PLSQLBENCH_ORACLE_DSN", "PLSQLBENCH_POSTGRES")


@pytest.fixture
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*VARIABLES, "TNS_ADMIN", "ORACLE_HOME"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.usefixtures("_no_variables")
@pytest.mark.parametrize(
    ("environment", "reached"),
    [
        ({"PLSQLBENCH_ORACLE": "oracle://a:secret@one/s"}, "a@one/s"),
        ({"PLSQLBENCH_ORACLE_DSN": "oracle://a:secret@two/s"}, "a@two/s"),
        ({"PLSQLBENCH_ORACLE": "a/secret@one/s", "PLSQLBENCH_ORACLE_DSN": "a/secret@two/s"}, "a@one/s"),
        ({"PLSQLBENCH_ORACLE": "auto", "PLSQLBENCH_ORACLE_DSN": "a/secret@two/s"}, "a@two/s"),
    ],
)
def test_tools_find_the_server_where_a_run_does(
    server: FakeOracle, environment: dict[str, str], reached: str
) -> None:
    """Either variable names it; errors say which server it was, and nothing of the driver's attempt."""
    server.logins_fail = [ora(1017, "invalid credential (CONNECTION_ID=abc+/1==).")] * 2
    for tool, options in ((doctor, []), (reap_command, ["--data"])):
        result = CliRunner().invoke(tool, options, env=environment)
        assert isinstance(result.exception, UserError)
        message = str(result.exception)
        assert message == f"the Oracle server {reached} refuses us: ORA-01017: invalid credential."
        assert "nothing to drop" not in result.output


@pytest.mark.usefixtures("_no_variables")
@pytest.mark.parametrize("word", ["container", "auto", "none", "Container"])
def test_tools_say_where_a_word_does_not_do(server: FakeOracle, word: str) -> None:
    """A container is started by runs alone."""
    result = CliRunner().invoke(doctor, ["--oracle", word])
    assert str(result.exception).startswith(f"--oracle: {word!r} is a word of --plsql-oracle; here a login")
    result = CliRunner().invoke(doctor, [], env={"PLSQLBENCH_ORACLE_DSN": word})
    assert str(result.exception).startswith(f"PLSQLBENCH_ORACLE_DSN: {word!r} is a word of --plsql-oracle")
    result = CliRunner().invoke(doctor, [], env={"PLSQLBENCH_ORACLE": word})
    assert "a container is not started for this" in str(result.exception)
    with pytest.raises(UserError, match=f"^PLSQLBENCH_ORACLE_DSN: {word!r} is a word"):
        resolve_oracle("auto", environment={"PLSQLBENCH_ORACLE_DSN": word})


@pytest.mark.usefixtures("_no_variables")
def test_files_of_a_login_are_looked_for_before_the_server(server: FakeOracle, tmp_path: Path) -> None:
    """Whoever it is that connects: a run, doctor or reap."""
    text = f"oracle://a:secret@h/s?wallet_location={tmp_path}"
    message = f"wallet_location: there is no ewallet.pem in {tmp_path}"
    for tool in (doctor, reap_command):
        result = CliRunner().invoke(tool, ["--oracle", text])
        assert str(result.exception).startswith(f"--oracle: {message}")
    with pytest.raises(UserError, match=f"^--plsql-oracle: {message}"):
        start_oracle(text, probe=probe_login)
    assert (
        resolve_oracle("auto", environment={"PLSQLBENCH_ORACLE_DSN": text}).given == "PLSQLBENCH_ORACLE_DSN"
    )


# -- what a DBA reviews ----------------------------------------


def test_golden_provisioning() -> None:
    """Every form of statement, as a script that a DBA can review."""
    text = privileges.golden_sql()
    if os.environ.get(UPDATE):
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text, f"run with {UPDATE}=1 and review the difference"


def test_privileges_page_is_current() -> None:
    """docs/oracle-privileges.md is generated."""
    page = ROOT / "docs" / "oracle-privileges.md"
    if os.environ.get(UPDATE):
        page.write_text(privileges.markdown())
    assert page.read_text() == privileges.markdown(), f"run with {UPDATE}=1"


def test_status_page_lists_every_assumption() -> None:
    """docs/oracle-status.md holds the table of assumptions."""
    page = ROOT / "docs" / "oracle-status.md"
    if os.environ.get(UPDATE):
        head, _, _ = page.read_text().partition("| name |")
        page.write_text(head + status_markdown())
    assert status_markdown() in page.read_text(), f"run with {UPDATE}=1"


def test_nothing_is_sent_that_is_not_reviewed(
    server: FakeOracle,
    engine: OracleEngine,
    make_play: MakePlay,
    shop: Database,
    bench: Bench,
) -> None:
    """Each changing statement of the administrator stands in the golden file."""
    server.on("BEGIN p", Reply())
    server.on("^UPDATE orders", Reply(effect=lambda _s: setattr(server.tables["SHOP", "ORDERS"], "scn", 9)))
    server.foreign_keys = [("SHOP", "ORDERS", "ORDERS_CUSTOMER_FK")]
    server.triggered = [("SHOP", "ORDERS")]
    server.sequences["SHOP", "ORDER_IDS"] = [1, 21]
    server.log.clear()
    lane = engine.lane(privileges.WORKER)
    everything = (
        "CREATE TABLE x (n NUMBER);\nCREATE OR REPLACE VIEW x AS SELECT 1 n FROM dual;\nCREATE SEQUENCE x;"
    )
    lane.play(make_play(everything, calls=("UPDATE orders SET total = 1;",), database=shop))
    lane.play(make_play(calls=("EXEC p",)))
    lane.close()
    list(examine(bench))
    reviewed = {text for section in privileges.sections() for text in section.statements}
    changing = re.compile(r"^(CREATE|ALTER|DROP|GRANT|REVOKE|BEGIN|INSERT|UPDATE|DELETE|LOCK|TRUNCATE)")
    theirs = re.compile(
        r"^ALTER SESSION|^BEGIN\s+EXECUTE IMMEDIATE 'ALTER SESSION"
        r'|^(CREATE TABLE |INSERT INTO )SHOP|^INSERT INTO "SHOP"."ORDERS" .*VALUES'
    )
    for user, text, _ in server.log:
        if user != "SYSTEM" or not changing.match(text) or theirs.match(text):
            continue
        hidden = re.sub(r'IDENTIFIED BY "\w+"', 'IDENTIFIED BY "***"', text).replace("DOCTOR_", "GW0_")
        hidden = re.sub(r"SESSION '\d+,\d+'", "SESSION '42,4711'", hidden)
        hidden = re.sub(r'^((?:DROP|ALTER) \w+ "PLB_R1_GW0_C1"\.)"[\w$]+"', r'\1"X"', hidden)
        if (
            "GRANT CREATE SEQUENCE, CREATE TABLE" in hidden
            or "REVOKE CREATE SEQUENCE, CREATE TABLE" in hidden
        ):
            continue  # a selection of the rights in the reviewed statement
        if "ON SCHEMA" in hidden:
            continue  # likewise
        assert hidden in reviewed, hidden


# -- resolution ----------------------------------------


@pytest.mark.parametrize(
    ("text", "user", "password", "dsn"),
    [
        ("oracle://system:p%40ss@db:1521/FREEPDB1", "system", "p@ss", "db:1521/FREEPDB1"),
        (
            "ORACLE://a:b@adb_high?config_dir=/c&wallet_location=/w&wallet_password=x%26y",
            "a",
            "b",
            "adb_high",
        ),
        ("scott/tiger@//h:1/s", "scott", "tiger", "h:1/s"),
        ('scott/"t@ig/er"@h/s', "scott", "t@ig/er", "h/s"),
        ("a/b@(DESCRIPTION=(ADDRESS=x))", "a", "b", "(DESCRIPTION=(ADDRESS=x))"),
    ],
)
def test_logins(text: str, user: str, password: str, dsn: str) -> None:
    """URL form and SQL*Plus form; what is handed to workers reads back the same."""
    login = parse_login(text)
    assert (login.user, login.password, login.dsn) == (user, password, dsn)
    assert parse_login(login.conninfo) == login
    assert password not in login.label or password == "b"


def test_wallets_and_labels() -> None:
    """engines §1.1: a wallet needs its folder, its password and the folder of tnsnames.ora."""
    login = parse_login("oracle://a:b@adb_high?config_dir=/c&wallet_location=/w&wallet_password=x%26y")
    assert (login.config_dir, login.wallet_location, login.wallet_password) == ("/c", "/w", "x&y")
    assert login.label == "a@adb_high"
    assert OracleLogin(user="a", password="b", dsn="(DESCRIPTION=…)").label == "a@descriptor"


@pytest.mark.parametrize(
    "text",
    [
        "oracle://nobody@h/s",
        "oracle://a:b",
        "oracle://a:b@h/s?colour=red",
        "a@h",
        "a/b",
        "sys/b@h as sysdba",
        "/@h",
    ],
)
def test_bad_logins_show_no_secret(text: str) -> None:
    """One line with the form to write."""
    with pytest.raises(UserError, match="Oracle login"):
        parse_login(text)


def test_resolution() -> None:
    """auto: a DSN in the environment, else a container where Docker answers, else none."""
    env = {"PLSQLBENCH_ORACLE_DSN": CONNINFO}
    assert resolve_oracle("none").choice == "none"
    assert resolve_oracle("container").choice == "container"
    assert resolve_oracle("auto", environment=env).dsn == CONNINFO
    assert resolve_oracle("auto", environment={}, docker_answers=lambda: True).choice == "container"
    assert resolve_oracle("auto", environment={}, docker_answers=lambda: False).choice == "none"
    assert resolve_oracle("auto", environment={}).choice == "none"
    assert resolve_oracle("a/b@h/s").choice == "dsn"
    with pytest.raises(UserError, match="no Oracle server 'oracel'"):
        resolve_oracle("oracel")


class Box:
    """A container that was started."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address

    def stop(self) -> None:
        """Nothing to stop."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def test_starting(server: FakeOracle, address: ServerAddress) -> None:
    """An existing server is probed once and swept at the end; a container is started by others."""
    swept: list[ServerAddress] = []
    with start_oracle(CONNINFO, probe=probe_login, sweep=swept.append) as started:
        assert started.address.version == "23.26.0.0.0"
        assert started.address.label == "system@localhost:1521/FREEPDB1"
        assert "secret" not in started.address.label
    started.stop()
    assert [item.run_id for item in swept] == [started.address.run_id]
    start_oracle(CONNINFO, probe=probe_login).stop()
    box = start_oracle("container", probe=probe_login, container=lambda: Box(address))
    assert box.address is address


def test_starting_without_a_server(server: FakeOracle) -> None:
    """One line that says why and what to do."""

    def refuses(conninfo: str, run_id: str) -> str:
        raise UserError("mine")

    for spec, message in (
        ("none", "no Oracle server: none was asked"),
        ("container", "give the DSN"),
    ):
        with pytest.raises(UserError, match=message):
            start_oracle(spec, probe=probe_login)
    with pytest.raises(UserError, match="mine"):
        start_oracle(CONNINFO, probe=refuses)
    server.logins_fail = [ora(1017, "invalid credential")]
    with pytest.raises(UserError, match=r"system@localhost:1521/FREEPDB1 cannot be used: .*ORA-01017"):
        start_oracle(CONNINFO, probe=probe_login)


def test_lanes_meet_the_protocol(engine: OracleEngine) -> None:
    """The engine's lane is a lane."""
    assert isinstance(engine.lane("gw0"), OracleLane)
    assert probe(open_admin(engine._address, engine.driver)).major == 23
