"""The safety check: what it finds, where, and what it must not find."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.forbidden import EXPLANATIONS
from pytest_plsqlbench.sql.safety import Access, Violation, check_safety
from pytest_plsqlbench.sql.units import read_program


def check(text: str, dialect: Dialect, access: Access = "write") -> tuple[Violation, ...]:
    return check_safety(read_program(text, dialect), access)


def rules(text: str, dialect: Dialect, access: Access = "write") -> list[str]:
    return [violation.rule for violation in check(text, dialect, access)]


@pytest.mark.parametrize(
    ("text", "dialect", "rule"),
    [
        ("CREATE USER u IDENTIFIED BY p", "oracle", "users"),
        ("DROP ROLE r", "postgres", "users"),
        ("SET SESSION AUTHORIZATION x", "postgres", "users"),
        ("SET LOCAL ROLE x", "postgres", "users"),
        ("GRANT SELECT ON t TO PUBLIC", "oracle", "privileges"),
        ("REVOKE ALL ON t FROM u", "postgres", "privileges"),
        ("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO u", "postgres", "privileges"),
        ("ALTER SYSTEM KILL SESSION '1,2'", "oracle", "system"),
        ("ALTER SYSTEM SET a = b", "postgres", "system"),
        ("CREATE EXTENSION dblink", "postgres", "system"),
        ("LOAD 'x'", "postgres", "system"),
        ("PREPARE TRANSACTION 'x'", "postgres", "system"),
        ("CREATE OR REPLACE TRUSTED LANGUAGE x", "postgres", "system"),
        ("CREATE EVENT TRIGGER x ON ddl_command_end EXECUTE FUNCTION f()", "postgres", "system"),
        ("CREATE OR REPLACE DIRECTORY d AS '/tmp'", "oracle", "files"),
        ("CREATE AND COMPILE JAVA SOURCE NAMED x AS class A {}\n/", "oracle", "files"),
        ("COPY t TO '/tmp/x'", "postgres", "files"),
        ("COPY t FROM PROGRAM 'ls'", "postgres", "files"),
        ("CREATE DATABASE LINK l CONNECT TO u IDENTIFIED BY p", "oracle", "network"),
        ("CREATE PUBLIC DATABASE LINK l", "oracle", "network"),
        ("CREATE SERVER s FOREIGN DATA WRAPPER w", "postgres", "network"),
        ("ALTER SESSION SET CURRENT_SCHEMA = hr", "oracle", "sessions"),
        ("BEGIN UTL_FILE.FOPEN('d', 'f', 'w'); END;", "oracle", "files"),
        ("BEGIN x := SYS.UTL_HTTP.REQUEST('u'); END;", "oracle", "network"),
        ("DECLARE x NUMBER := DBMS_PIPE.SEND_MESSAGE('x'); BEGIN NULL; END;", "oracle", "sessions"),
        ("BEGIN DBMS_SCHEDULER.CREATE_JOB('x'); END;", "oracle", "jobs"),
        ("SELECT BFILENAME('D', 'f') FROM dual", "oracle", "files"),
        ("SELECT pg_read_file('/etc/passwd')", "postgres", "files"),
        ("DO $$ BEGIN PERFORM pg_terminate_backend(1); END $$", "postgres", "sessions"),
        ("DO $$ BEGIN COPY t TO '/tmp/x'; END $$", "postgres", "files"),
        (
            "CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ SELECT dblink('a', 'b') $$",
            "postgres",
            "network",
        ),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE plpython3u AS $$ return 1 $$", "postgres", "language"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'lib', 'f'", "postgres", "language"),
        ("DROP TABLE employees", "oracle", "foreign_object"),
        ("ALTER TABLE hr.employees ADD x NUMBER", "oracle", "foreign_object"),
        ("TRUNCATE employees", "postgres", "foreign_object"),
        ("DROP TRIGGER IF EXISTS g ON t", "postgres", "foreign_object"),
        ("CREATE TABLE hr.t (a NUMBER)", "oracle", "foreign_schema"),
        ("CREATE FUNCTION other.f() RETURNS int LANGUAGE sql AS ''", "postgres", "foreign_schema"),
        ("CREATE TRIGGER g AFTER LOGON ON SCHEMA BEGIN NULL; END;", "oracle", "system_trigger"),
        ("BEGIN EXECUTE IMMEDIATE 'DROP TABLE employees'; END;", "oracle", "foreign_object"),
        ("BEGIN EXECUTE IMMEDIATE q'[GRANT DBA TO u]'; END;", "oracle", "privileges"),
        ("BEGIN OPEN c FOR 'SELECT BFILENAME(1, 2) FROM dual'; END;", "oracle", "files"),
        ("DO $$ BEGIN EXECUTE 'ALTER SYSTEM SET a = b'; END $$", "postgres", "system"),
        ("DO $$ BEGIN EXECUTE format('COPY %I TO PROGRAM ''x''', t); END $$", "postgres", "files"),
    ],
)
def test_what_no_task_may_contain(text: str, dialect: Dialect, rule: str) -> None:
    found = check(f"-- c\n{text}", dialect)
    assert [violation.rule for violation in found] == [rule]
    (violation,) = found
    assert violation.severity == "error"
    assert violation.message.startswith(
        f"line {violation.line}, column {violation.column}: {violation.what}: "
    )
    assert violation.line >= 2
    assert EXPLANATIONS[rule] in violation.message


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT 'GRANT; DROP TABLE t; UTL_FILE.FOPEN(' FROM dual -- ALTER SYSTEM", "oracle"),
        ('SELECT "utl_file".a, utl_file FROM t', "oracle"),
        ("BEGIN p('DROP TABLE t'); /* COPY t TO 'x' */ END;", "oracle"),
        (
            "BEGIN EXECUTE IMMEDIATE 'SELECT 1 FROM dual WHERE a = :1' INTO x USING 'GRANT DBA TO u'; END;",
            "oracle",
        ),
        ("CREATE TABLE t (a NUMBER);\nALTER TABLE t ADD b NUMBER;\nDROP TABLE t;", "oracle"),
        (
            "BEGIN EXECUTE IMMEDIATE 'CREATE TABLE t (a NUMBER)'; EXECUTE IMMEDIATE 'DROP TABLE t'; END;",
            "oracle",
        ),
        ("DROP PROCEDURE p;\nCREATE PROCEDURE p IS BEGIN NULL; END;\n/", "oracle"),
        ("CREATE PACKAGE utl_file IS PROCEDURE a; END;\n/\nBEGIN utl_file.a; END;\n/", "oracle"),
        ("CREATE TRIGGER hr.g BEFORE INSERT ON hr.t FOR EACH ROW BEGIN NULL; END;", "oracle"),
        ("ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY'", "oracle"),
        ("SET TRANSACTION READ ONLY", "oracle"),
        (
            "DROP FUNCTION IF EXISTS f(int); CREATE FUNCTION f(a int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "postgres",
        ),
        ("CREATE FUNCTION public.f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "postgres"),
        ("DO $$ BEGIN CREATE TEMP TABLE x (a int); DROP TABLE x; TRUNCATE x; END $$", "postgres"),
        ('SELECT copy, "load" FROM t; SET search_path TO a', "postgres"),
        ("INSERT INTO t VALUES (1); UPDATE t SET a = 1; DELETE FROM t", "postgres"),
    ],
)
def test_what_a_writing_task_may_contain(text: str, dialect: Dialect) -> None:
    assert check(text, dialect) == ()


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("INSERT INTO hr.t VALUES (1)", "oracle", ["read_only_dml"]),
        ("INSERT ALL INTO a VALUES (1) INTO b VALUES (2) SELECT 1 FROM dual", "oracle", ["read_only_dml"]),
        ("BEGIN UPDATE t SET a = 1; END;", "oracle", ["read_only_dml"]),
        ("BEGIN FORALL i IN 1 .. 2 DELETE FROM t WHERE a = b(i); END;", "oracle", ["read_only_dml"]),
        ("MERGE INTO t USING u ON (1 = 1) WHEN MATCHED THEN UPDATE SET a = 1", "oracle", ["read_only_dml"]),
        ("BEGIN EXECUTE IMMEDIATE 'DELETE t'; END;", "oracle", ["read_only_dml"]),
        ("LOCK TABLE t IN SHARE MODE", "oracle", ["read_only_lock"]),
        ("SELECT a FROM t FOR UPDATE", "oracle", ["read_only_lock"]),
        ("WITH q AS (DELETE FROM t RETURNING *) SELECT * FROM q", "postgres", ["read_only_dml"]),
        ("DO $$ BEGIN DELETE FROM ONLY t; END $$", "postgres", ["read_only_dml"]),
        ("CREATE TABLE t (a NUMBER);\nINSERT INTO t VALUES (1);\nDELETE FROM t;", "oracle", []),
        ("CREATE TRIGGER g BEFORE UPDATE OR DELETE ON t BEGIN NULL; END;", "oracle", []),
        ("CREATE TABLE c (a int REFERENCES t ON DELETE CASCADE ON UPDATE SET NULL)", "postgres", []),
        ("INSERT INTO x SELECT 1; CREATE TEMP TABLE x (a int)", "postgres", []),
        ("BEGIN t.DELETE(1); x := 'DELETE FROM t'; END;", "oracle", []),
    ],
)
def test_what_a_reading_task_may_not_contain(text: str, dialect: Dialect, expected: list[str]) -> None:
    assert rules(text, dialect, "read") == expected


def test_dynamic_sql_that_cannot_be_judged_is_noted() -> None:
    (violation,) = check("BEGIN EXECUTE IMMEDIATE built_text; END;", "oracle")
    assert (violation.rule, violation.severity) == ("dynamic_sql", "note")


def test_own_schemas_can_be_named() -> None:
    program = read_program("CREATE TABLE work.t (a int)", "postgres")
    assert [violation.rule for violation in check_safety(program)] == ["foreign_schema"]
    assert check_safety(program, own_schemas=["work"]) == ()


def test_findings_come_in_the_order_of_the_text() -> None:
    found = check("GRANT a TO b;\nDROP TABLE t;\nBEGIN UTL_TCP.x; END;\n/\nREVOKE a FROM b;", "oracle")
    assert [violation.line for violation in found] == [1, 2, 3, 5]
