"""Which programs would behave differently inside a transaction that someone else holds open."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.sql.script import ends_transactions


def routine(body: str, quote: str = "$$") -> str:
    return f"CREATE PROCEDURE p() LANGUAGE plpgsql AS {quote} BEGIN {body} END {quote}"


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN",
        "SELECT 1; COMMIT",
        "ROLLBACK",
        "ABORT",
        "END",
        "START TRANSACTION",
        "SAVEPOINT a",
        "RELEASE a",
        "ROLLBACK TO a",
        "PREPARE TRANSACTION 'x'",
        "SET TRANSACTION READ ONLY",
        "SET LOCAL a = 1",
        "SET CONSTRAINTS ALL DEFERRED",
        "LOCK TABLE t",
        "lock/**/table t",
        "DECLARE c CURSOR FOR SELECT 1",
        "VACUUM t",
        "DISCARD ALL",
        "ALTER SYSTEM SET a = 1",
        "CREATE DATABASE d",
        "CREATE INDEX CONCURRENTLY i ON t (a)",
        "REINDEX TABLE CONCURRENTLY t",
        "CREATE TEMP TABLE t (a int) ON COMMIT DROP",
        "CREATE TABLE t (a int REFERENCES u DEFERRABLE INITIALLY DEFERRED)",
        "SELECT set_config('a', 'b', true)",
        "-- c\n COMMIT AND CHAIN",
        routine("COMMIT;"),
        routine("IF a THEN ROLLBACK; END IF;"),
        routine("LOOP COMMIT; END LOOP;"),
        routine("EXCEPTION WHEN OTHERS THEN COMMIT;"),
        routine("<<l>> COMMIT;"),
        routine("x /* c */; /* c */ commit /* c */;"),
        routine("CREATE TEMP TABLE t ON COMMIT DROP AS SELECT 1;"),
        routine("SET LOCAL a = 1;"),
        routine("EXECUTE 'COMMIT';"),
        routine("EXECUTE 'create temp table x (a int) on commit drop';"),
        routine("EXECUTE format('DO $x$ BEGIN COMMIT; END $x$');"),
        routine("commit;", "'"),
        "DO 'BEGIN COMMIT; END'",
        "DO $a$ BEGIN EXECUTE $b$ DO $c$ BEGIN ROLLBACK; END $c$ $b$; END $a$",
        "SELECT 'commit'",
    ],
)
def test_what_depends_on_where_a_transaction_ends(text: str) -> None:
    assert ends_transactions(text, "postgres")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 1",
        "-- COMMIT;\nSELECT 1 /* ; COMMIT; */",
        "SELECT 'will commit' AS \"ROLLBACK\"",
        "SELECT t.commit, begin.x FROM t",
        "INSERT INTO t (a) VALUES ('to commit or not')",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN a THEN 1 END; END",
        "CREATE TABLE t (a int)",
        "SET search_path TO a",
        "CALL p()",
        routine("NULL;"),
        routine("RAISE NOTICE 'nothing to commit; done';"),
        routine("-- COMMIT;\nNULL;"),
        routine("BEGIN NULL; END;"),
        routine("SELECT x.commit INTO y FROM x;"),
        routine("EXECUTE 'SELECT 1';"),
        routine("LOCK TABLE t;"),
        "DO $$ DECLARE c CURSOR FOR SELECT 1; BEGIN OPEN c; END $$",
    ],
)
def test_what_does_not(text: str) -> None:
    assert not ends_transactions(text, "postgres")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COMMIT;", True),
        ("BEGIN COMMIT; END;\n/", True),
        ("BEGIN IF a THEN ROLLBACK; END IF; END;\n/", True),
        ("DECLARE PRAGMA AUTONOMOUS_TRANSACTION; BEGIN NULL; END;\n/", True),
        ("BEGIN EXECUTE IMMEDIATE 'BEGIN COMMIT; END;'; END;\n/", True),
        ("BEGIN SAVEPOINT a; ROLLBACK TO a; ROLLBACK TO SAVEPOINT a; END;\n/", False),
        ("BEGIN p('to commit or not'); END;\n/", False),
        ("BEGIN NULL; END;\n/", False),
    ],
)
def test_oracle(text: str, expected: bool) -> None:
    assert ends_transactions(text, "oracle") is expected


def test_strings_nested_too_deep_count_as_doubt() -> None:
    text = "commit_"
    for depth in range(12):
        text = f"$a{depth}$ {text} $a{depth}$"
    assert ends_transactions(f"SELECT {text}", "postgres")
