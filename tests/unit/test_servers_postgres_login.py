"""Why a PostgreSQL server cannot be reached: one line, with what helps."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.cli.reap import command as reap
from pytest_plsqlbench.servers.dsn import DsnServer
from pytest_plsqlbench.servers.postgres_login import login_failure


@pytest.mark.parametrize(
    ("said", "mend"),
    [
        ("Connection refused\n\tIs the server running on that host?", "nothing listens there"),
        ('FATAL:  password authentication failed for user "me"', "mend user and password"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1", user "me"', "in the server's pg_hba.conf"),
        ('FATAL:  database "nothing" does not exist', "name a database that is there"),
        ("FATAL:  sorry, too many clients already", "raise max_connections"),
        ("FATAL:  the database system is starting up", "try again in a moment"),
        ("server does not support SSL, but SSL was required", "sslmode=prefer"),
        ("connection timeout expired", "see whether a firewall is in the way"),
    ],
)
def test_what_is_said_comes_with_the_mend(said: str, mend: str) -> None:
    start = 'connection failed: connection to server at "db", port 5432 failed: '
    line = login_failure(OSError(start + said))
    assert "\n" not in line
    assert line.startswith('connection to server at "db", port 5432 failed: ' + said.splitlines()[0] + "; ")
    assert mend in line


def test_a_host_that_is_not_found_is_named_with_the_mend() -> None:
    said = "failed to resolve host 'db': [Errno -2] Name or service not known"
    assert login_failure(OSError(said)) == f"{said}; mend the host"


def test_what_nobody_knows_is_shown_as_it_is() -> None:
    assert login_failure(OSError("FATAL:  etwas anderes\nmehr")) == "FATAL:  etwas anderes"
    assert login_failure(OSError()) == "OSError"


@pytest.mark.parametrize(
    ("where", "mend"),
    [
        ("host=127.0.0.1 port=1", "nothing listens there: start the server, or mend host and port"),
        ("host={folder}", "no server has its socket there"),
    ],
)
def test_run_and_reap_say_the_same(tmp_path: Path, where: str, mend: str) -> None:
    dsn = where.format(folder=tmp_path) + " user=me password=s3cret-word dbname=x"
    with pytest.raises(UserError) as run:
        DsnServer.start(dsn)
    found = CliRunner().invoke(reap, ["--postgres", dsn])
    assert isinstance(found.exception, UserError)
    assert str(found.exception) == str(run.value)
    assert f"; {mend}" in str(run.value)
    assert "\n" not in str(run.value)
    assert "s3cret" not in str(run.value)


def test_what_is_no_postgres_server_is_called_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def answer() -> None:
            with server.accept()[0] as other:
                other.recv(100)
                other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        with pytest.raises(UserError, match="what listens there is no PostgreSQL server"):
            DsnServer.start(f"host=127.0.0.1 port={port} user=me sslmode=disable gssencmode=disable")
        thread.join()
