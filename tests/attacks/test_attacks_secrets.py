"""A marked password is in nothing that a run prints, writes or starts, whatever its form and the end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from bench_suite import Suite
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from warm_python import WarmPython

from pytest_plsqlbench.servers.embedded import EmbeddedServer

NEEDLE = "Hush-7"
PASSWORD = f"{NEEDLE}/x@9%z's \\"
_LOUD = ("-vv", "-rA", "--tb=long", "--showlocals", "--junitxml=junit.xml", "--color=no")
_SPY = """
import glob
def pytest_runtest_logreport(report):
    with open("commands.txt", "ab") as seen:
        for name in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(name, "rb") as file:
                    seen.write(file.read() + b"\\n")
            except OSError:
                pass
"""
_FAULT = """
import pytest_plsqlbench.grading.grader as grader
def broken(self, *args):
    address = self._engine("postgres")._admin.address
    raise RuntimeError(f"cannot use {address.conninfo}")
grader.Grader._play = broken
"""
_INTERNAL = """
import os, pytest
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config):
    session = config.pluginmanager.getplugin("plsqlbench-session")
    address, settings = session.addresses[0], session.settings
    dsn, conninfo, words = settings.postgres, address.conninfo, {"password": os.environ["MARKED"]}
    raise RuntimeError(f"cannot go on with {dsn} and {conninfo}")
"""


_ORACLE_TASK = {
    "id": "say",
    "subset": "functions",
    "variants": {
        "oracle": {
            "prompt": "Write say().",
            "reference": "CREATE FUNCTION say RETURN NUMBER IS BEGIN RETURN 1; END;\n/\n",
            "tests": [{"name": "one", "call": "SELECT say() FROM dual;", "compare": "value"}],
        }
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer.start() as started:
        with psycopg.connect(started.address.conninfo, autocommit=True) as connection:
            quoted = PASSWORD.replace("'", "''")
            connection.execute(f"ALTER ROLE CURRENT_USER PASSWORD '{quoted}'".encode())
        yield started


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, warm: WarmPython) -> Suite:
    suite = Suite(pytester, monkeypatch, warm)
    suite.task(suite.DOUBLE_TASK)
    suite.task(suite.TALK_TASK)
    return suite


def dsn(server: EmbeddedServer, form: str) -> str:
    given = conninfo_to_dict(server.address.conninfo)
    host, port = str(given["host"]), str(given.get("port", 5432))
    parts = {"host": host, "port": port, "user": str(given["user"]), "dbname": "postgres"}
    if form == "keywords":
        return make_conninfo("", **parts, password=PASSWORD)
    if form == "environment":
        return make_conninfo("", **parts)
    account = f"{quote(parts['user'], safe='')}:{quote(PASSWORD, safe='')}"
    if form == "url":
        return f"postgresql://{account}@/postgres?host={quote(host, safe='')}&port={port}"
    query = (
        f"host={quote(host, safe='')}&port={port}&user={parts['user']}&password={quote(PASSWORD, safe='')}"
    )
    return f"postgresql:///postgres?{query}"


def no_secret(suite: Suite, result: pytest.RunResult) -> None:
    """Neither printed nor in any file of the folder but those that the test wrote itself."""
    assert NEEDLE not in result.stdout.str()
    assert NEEDLE not in result.stderr.str()
    for path in suite.folder.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert NEEDLE.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("form", "workers"), [("url", "2"), ("keywords", "0"), ("query", "0"), ("environment", "2")]
)
def test_passing_and_failing_turns(
    suite: Suite, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, form: str, workers: str
) -> None:
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", dsn(server, form))
    if form == "environment":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    suite.pytester.makeconftest(_SPY)
    rows = [*suite.right()[:-1], {"conversation_id": "steps", "turn_index": 3, "generated_plsql": "SELECT 1"}]
    result = suite.run(*_LOUD, "-n", workers, suite.predict(*rows))
    result.assert_outcomes(passed=3, failed=1)
    assert (suite.folder / "commands.txt").stat().st_size
    no_secret(suite, result)


@pytest.mark.parametrize(("form", "workers"), [("url", "0"), ("keywords", "2")])
def test_faults_of_ours_in_a_turn(
    suite: Suite, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, form: str, workers: str
) -> None:
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", dsn(server, form))
    suite.pytester.makeconftest(_FAULT)
    result = suite.run(*_LOUD, "-n", workers, suite.predict(*suite.right()))
    result.assert_outcomes(errors=4)
    assert "cannot use" in result.stdout.str()
    assert "***" in result.stdout.str()
    no_secret(suite, result)


@pytest.mark.parametrize(("form", "workers"), [("url", "2"), ("keywords", "0")])
def test_internal_errors(
    suite: Suite, server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch, form: str, workers: str
) -> None:
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", dsn(server, form))
    monkeypatch.setenv("MARKED", PASSWORD)
    suite.pytester.makeconftest(_INTERNAL)
    result = suite.run(*_LOUD, "-n", workers, suite.predict(*suite.right()))
    assert result.ret != 0
    said = result.stdout.str() + result.stderr.str()
    assert "cannot go on with" in said
    assert said.count("***") >= 2
    no_secret(suite, result)


@contextlib.contextmanager
def silent_server(folder: Path) -> Iterator[int]:
    """A port that takes a connection, interrupts the process of the run, and says nothing."""

    def serve() -> None:
        with contextlib.suppress(OSError):  # closed: nobody has come
            connection, _ = listening.accept()
            with connection:
                connection.recv(1)
                os.kill(int((folder / "pid").read_text()), signal.SIGINT)
                while connection.recv(4096):
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("dialect", ["postgres", "oracle"])
def test_interruptions_while_a_server_is_reached(
    suite: Suite, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    suite.pytester.makeconftest("import os, pathlib; pathlib.Path('pid').write_text(str(os.getpid()))")
    with silent_server(suite.folder) as port:
        scheme = "postgresql" if dialect == "postgres" else "oracle"
        monkeypatch.setenv(
            f"PLSQLBENCH_{dialect.upper()}",
            f"{scheme}://boss:{NEEDLE}-long@127.0.0.1:{port}/x",
        )
        suite.task(_ORACLE_TASK)
        result = suite.run(*_LOUD, "--full-trace", f"--plsql-dialect={dialect}", "--plsql-predictions=gold")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert f"start_{dialect}(" in result.stdout.str()
    assert f"{scheme}://boss:***@127.0.0.1" in result.stdout.str()
    no_secret(suite, result)


def test_bytes_that_are_no_text(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (
        f"postgresql://boss:{NEEDLE}\udcff@127.0.0.1:1/x",
        f"postgresql://boss:{NEEDLE}%ff@127.0.0.1:1/x",
    ):
        monkeypatch.setenv("PLSQLBENCH_POSTGRES", text)
        result = suite.run(*_LOUD, suite.predict(*suite.right()))
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: the PostgreSQL DSN holds a byte that is not UTF-8*PGPASSWORD"])
        no_secret(suite, result)
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", "host=127.0.0.1 port=1 user=boss")
    monkeypatch.setenv("PGPASSWORD", f"{NEEDLE}\udcff")
    result = suite.run(*_LOUD, suite.predict(*suite.right()))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Connection refused" in result.stderr.str()
    no_secret(suite, result)


WRONG = {
    "refused": f"postgresql://boss:{NEEDLE}%40x@127.0.0.1:1/postgres",
    "no such host": f"host=db.invalid user=boss password='{NEEDLE} x'",
    "broken url": f"postgresql://boss:{NEEDLE}@x@[::1/postgres",
    "broken port": f"postgresql://boss:{NEEDLE}@127.0.0.1:port/postgres",
    "broken keywords": f"host=127.0.0.1 password={NEEDLE} bogus",
    "unknown keyword": f"hots=127.0.0.1 password={NEEDLE}",
    "no form at all": f"boss/{NEEDLE}@127.0.0.1",
}
WRONG_ORACLE = {
    "no such host": f"oracle://system:{NEEDLE}%40x@db.invalid:1/FREE",
    "wallet": f"oracle://system:{NEEDLE}@127.0.0.1:1/FREE?wallet_location=/nowhere&wallet_password={NEEDLE}w",
    "classic": f"system/{NEEDLE}@db.invalid:1/FREE",
    "classic quoted": f'system/"{NEEDLE}@/x"@db.invalid:1/FREE',
    "broken": f"oracle://system:{NEEDLE}",
    "unknown option": f"oracle://system:{NEEDLE}@127.0.0.1/FREE?walet_password={NEEDLE}",
    "no service": f"{NEEDLE}/@",
}


@pytest.mark.parametrize("name", WRONG)
def test_servers_that_cannot_be_used(suite: Suite, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("PLSQLBENCH_POSTGRES", WRONG[name])
    result = suite.run(*_LOUD, suite.predict(*suite.right()))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    no_secret(suite, result)


@pytest.mark.parametrize("name", WRONG_ORACLE)
def test_oracle_servers_that_cannot_be_used(suite: Suite, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("PLSQLBENCH_ORACLE", WRONG_ORACLE[name])
    suite.task(_ORACLE_TASK)
    result = suite.run(*_LOUD, "--plsql-dialect=oracle", "--plsql-predictions=gold")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    no_secret(suite, result)


@pytest.mark.parametrize("name", ["refused", "broken url", "no form at all"])
def test_the_command(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.sql").write_text("SELECT 1;\n")
    for words in (("run", "--engine=postgres", "a.sql"), ("reap", "--postgres", WRONG[name])):
        done = subprocess.run(
            [sys.executable, "-c", "from pytest_plsqlbench.cli import main; main()", *words],
            cwd=tmp_path,
            env={**os.environ, "PLSQLBENCH_POSTGRES": WRONG[name]},
            capture_output=True,
            check=False,
            text=True,
        )
        assert done.returncode == 2, (done.stdout, done.stderr)
        assert NEEDLE not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
