"""``plsqlbench run``: lines to standard output, all else to standard error, the outcome as exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from pytest_plsqlbench.servers.embedded import EmbeddedServer


def run(
    folder: Path, text: str | bytes, *arguments: str, stdin: bool = False
) -> subprocess.CompletedProcess[str]:
    content = text.encode() if isinstance(text, str) else text
    file = folder / "program.sql"
    file.write_bytes(content)
    command = "from pytest_plsqlbench.cli import main; main()"
    return subprocess.run(
        [
            sys.executable,
            "-c",
            command,
            "run",
            "-" if stdin else file.name,
            "--engine",
            "postgres",
            *arguments,
        ],
        cwd=folder,
        input=content.decode() if stdin else None,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )


def test_a_script_prints_exactly_its_lines(tmp_path: Path) -> None:
    text = """
      CREATE FUNCTION f(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        RAISE NOTICE '  x is %', x; RAISE WARNING 'careful'; RAISE INFO ''; RETURN x; END $$;
      SELECT f(1);
      SELECT 'a row is no line';
    """
    done = run(tmp_path, text)
    assert (done.returncode, done.stdout) == (0, "  x is 1\n\n")
    assert done.stderr == "program.sql: warning: 01000: careful\n"


def test_an_error_names_its_place_and_keeps_the_lines(tmp_path: Path) -> None:
    done = run(tmp_path, "\ufeffDO $$ BEGIN RAISE NOTICE 'before'; END $$;\r\nSELECT\r\n  nope;\r\n")
    assert (done.returncode, done.stdout) == (1, "before\n")
    assert done.stderr == 'program.sql:3:3: error: 42703: column "nope" does not exist\n'
    done = run(tmp_path, "DO $$ BEGIN\n  PERFORM 1/0;\nEND $$", stdin=True)
    assert done.returncode == 1
    assert done.stderr.startswith("-:2: error: 22012: division by zero\n  where: ")


def test_what_the_engine_does_not_run_is_3(tmp_path: Path) -> None:
    done = run(tmp_path, "SELECT 1;\n\\! ls\n")
    assert (done.returncode, done.stdout) == (3, "")
    assert (
        done.stderr == "program.sql: unsupported: program: line 2: \\! is a client command that is not run\n"
    )


def test_a_time_limit_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path, "SELECT pg_sleep(60)", "--timeout", "0.2")
    assert done.returncode == 1
    assert done.stderr.endswith("program.sql: error: stopped by the time limit\n")


def test_databases_go_by_name(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "DO $$ BEGIN RAISE NOTICE '%', (SELECT count(*) > 0 FROM books); END $$",
        "--database",
        "library",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "t\n", "")
    done = run(tmp_path, "SELECT 1", "--database", "librari")
    assert done.returncode == 2
    assert "there is no database 'librari'" in done.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (b"SELECT 1;\nSELECT '\xff'", [], "program.sql:2: this is not UTF-8 text"),
        (b"SELECT 1", ["--postgres", "host=/nowhere user=x password=hunter2"], "/nowhere"),
    ],
)
def test_faults_of_the_user_are_one_line_and_2(
    tmp_path: Path, content: bytes, arguments: list[str], message: str
) -> None:
    done = run(tmp_path, content, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("plsqlbench: error: ")
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr


def test_an_existing_server_is_used_and_left_as_it_was(tmp_path: Path, server: EmbeddedServer) -> None:
    def databases() -> list[tuple[str, ...]]:
        with psycopg.connect(server.address.conninfo) as connection:
            return connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()

    before = databases()
    done = run(tmp_path, "DO $$ BEGIN RAISE NOTICE 'there'; END $$", "--postgres", server.address.conninfo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "there\n", "")
    assert databases() == before
