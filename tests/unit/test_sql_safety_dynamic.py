"""The safety check on texts that the program has the server run, and on names as the server resolves them."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.safety import Violation, check_safety
from pytest_plsqlbench.sql.units import read_program


def check(text: str, dialect: Dialect) -> tuple[Violation, ...]:
    return check_safety(read_program(text, dialect))


@pytest.mark.parametrize(
    ("text", "dialect", "rule"),
    [
        ('BEGIN "UTL_FILE".fopen(1); END;', "oracle", "files"),
        ('BEGIN "SYS"."UTL_FILE"/**/./**/fopen; END;', "oracle", "files"),
        ('SELECT "pg_terminate_backend"(1)', "postgres", "sessions"),
        ("SELECT pg_catalog.\"pg_read_file\"('x')", "postgres", "files"),
        ("SELECT \"dblink\"('a', 'b')", "postgres", "network"),
        (r"""SELECT U&"pg_read_fil\0065"('x')""", "postgres", "files"),
        (r"""SELECT U&"pg_read_fil\+000065"('x')""", "postgres", "files"),
        ("""SELECT U&"pg_read_fil!0065" UESCAPE '!' ('x')""", "postgres", "files"),
        (
            "CREATE PACKAGE utl_file IS PROCEDURE a; END;\n/\nBEGIN sys.utl_file.a; END;\n/",
            "oracle",
            "files",
        ),
        (
            (
                "CREATE PROCEDURE p IS PROCEDURE a IS utl_http r; BEGIN NULL; END;"
                " BEGIN utl_http.request('u'); END;\n/"
            ),
            "oracle",
            "network",
        ),
        ("BEGIN EXECUTE IMMEDIATE 'gr' || 'ant dba to x'; END;", "oracle", "privileges"),
        ("BEGIN EXECUTE IMMEDIATE ('gr' || ('ant' || ' dba to x')); END;", "oracle", "privileges"),
        ("BEGIN EXECUTE IMMEDIATE 'grant ' || p || ' to x'; END;", "oracle", "privileges"),
        ("BEGIN EXECUTE IMMEDIATE 'begin ' || p || '; utl_file.fopen(1); end;'; END;", "oracle", "files"),
        ("BEGIN OPEN c FOR 'drop' || ' user x'; END;", "oracle", "users"),
        ("BEGIN FOR r IN (EXECUTE IMMEDIATE 'drop user x') LOOP NULL; END LOOP; END;", "oracle", "users"),
        ("DO $$ BEGIN EXECUTE 'co' || 'py t to ''/tmp/x'''; END $$", "postgres", "files"),
        ("DO $$ BEGIN EXECUTE 'co'\n'py t to ''/tmp/x'''; END $$", "postgres", "files"),
        ("DO $$ BEGIN EXECUTE E'drop\\nuser x'; END $$", "postgres", "users"),
        ("DO $$ BEGIN EXECUTE 'select 1; drop user x'; END $$", "postgres", "users"),
        ("DO $$ BEGIN FOR r IN EXECUTE 'drop user x' LOOP NULL; END LOOP; END $$", "postgres", "users"),
        ("DO $$ BEGIN OPEN c FOR EXECUTE 'drop user x'; END $$", "postgres", "users"),
        (
            (
                "CREATE FUNCTION f() RETURNS SETOF int LANGUAGE plpgsql AS"
                " $$ BEGIN RETURN QUERY EXECUTE 'drop user x'; END $$"
            ),
            "postgres",
            "users",
        ),
        ("BEGIN dbms_sql.parse(c, 'drop user x', dbms_sql.native); END;", "oracle", "users"),
        ("BEGIN sys.\"DBMS_SQL\".parse(statement => 'drop user x', c => c); END;", "oracle", "users"),
        ("BEGIN dbms_utility.exec_ddl_statement('drop user x'); END;", "oracle", "users"),
        ("SELECT dbms_xmlgen.getxml('select bfilename(1, 2) from dual') FROM dual", "oracle", "files"),
        ("SELECT query_to_xml('select pg_read_file(''x'')', true, true, '')", "postgres", "files"),
        (
            "BEGIN EXECUTE IMMEDIATE 'begin execute immediate ''drop user x''; end;'; END;",
            "oracle",
            "users",
        ),
        (
            "DO $a$ BEGIN EXECUTE 'do $b$ begin execute ''drop user x''; end $b$'; END $a$",
            "postgres",
            "users",
        ),
    ],
)
def test_what_is_found(text: str, dialect: Dialect, rule: str) -> None:
    found = check(text, dialect)
    assert [(violation.rule, violation.severity) for violation in found] == [(rule, "error")]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("BEGIN EXECUTE IMMEDIATE 'al' || x; END;", "oracle"),
        ("BEGIN EXECUTE IMMEDIATE 'drop table ' || x; END;", "oracle"),
        ("BEGIN EXECUTE IMMEDIATE 'drop table hr.' || x; END;", "oracle"),
        ("BEGIN EXECUTE IMMEDIATE 'drop table emp' || x; END;", "oracle"),
        ("BEGIN EXECUTE IMMEDIATE 'SELECT ' || x; END;", "oracle"),
        ("BEGIN EXECUTE IMMEDIATE 'begin ' || x || 'utl_file.a; end;'; END;", "oracle"),
        ("BEGIN EXECUTE IMMEDIATE chr(103) || 'rant dba to x'; END;", "oracle"),
        ("BEGIN EXECUTE IMMEDIATE replace('gr_ant dba to x', '_'); END;", "oracle"),
        ("BEGIN OPEN c FOR x; END;", "oracle"),
        ("BEGIN dbms_sql.parse(c, x, 1); END;", "oracle"),
        ("DO $$ BEGIN EXECUTE format('select * from %I', t); END $$", "postgres"),
        ("DO $$ BEGIN EXECUTE E'\\x64rop user x'; END $$", "postgres"),
        ("DO $$ BEGIN EXECUTE x USING 'drop user x'; END $$", "postgres"),
    ],
)
def test_what_is_built_at_run_time_is_noted(text: str, dialect: Dialect) -> None:
    found = check(text, dialect)
    assert [(violation.rule, violation.severity) for violation in found] == [("dynamic_sql", "note")]


def test_a_nest_too_deep_to_follow_is_noted() -> None:
    text = "drop user x"
    for _ in range(6):
        text = "begin execute immediate '" + text.replace("'", "''") + "'; end;"
    assert [violation.severity for violation in check(text, "oracle")] == ["note"]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("CREATE FUNCTION f RETURN VARCHAR2 IS BEGIN RETURN 'grant all to x'; END;\n/", "oracle"),
        (
            "CREATE FUNCTION f() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'grant all to x'; END $$",
            "postgres",
        ),
        ("BEGIN OPEN c FOR SELECT 'grant all to x' FROM dual; END;", "oracle"),
        ("BEGIN OPEN c FOR WITH q AS (SELECT 1 FROM dual) SELECT 'drop user x' FROM q; END;", "oracle"),
        ("DO $$ BEGIN FOR r IN SELECT 'drop user x' LOOP NULL; END LOOP; END $$", "postgres"),
        ("CREATE SCHEMA work; CREATE TABLE work.t (a int); DROP TABLE work.t; DROP SCHEMA work", "postgres"),
        ("DECLARE utl_http r; BEGIN utl_http.a := 1; x.utl_http := 2; END;", "oracle"),
        ("CREATE PROCEDURE p(utl_http IN r) IS BEGIN x := utl_http.a; END;\n/", "oracle"),
        ("BEGIN FOR utl_http IN (SELECT 1 a FROM dual) LOOP x := utl_http.a; END LOOP; END;", "oracle"),
        ('BEGIN "utl_file".fopen(1); END;', "oracle"),
        ('SELECT "PG_READ_FILE"(1), "Dblink"(2)', "postgres"),
        ("BEGIN EXECUTE IMMEDIATE 'create table ' || 't (a number)'; DELETE FROM t; END;", "oracle"),
        (
            "BEGIN EXECUTE IMMEDIATE 'drop table t'; EXECUTE IMMEDIATE 'create table t (a int)'; END;",
            "oracle",
        ),
    ],
)
def test_what_is_no_offence(text: str, dialect: Dialect) -> None:
    assert check(text, dialect) == ()


def test_a_find_in_a_literal_has_its_place() -> None:
    (found,) = check("BEGIN\n  EXECUTE IMMEDIATE q'[\n begin drop_it; utl_file.a; end;]';\nEND;", "oracle")
    assert (found.line, found.column) == (3, 17)
    (found,) = check("DO $$ BEGIN\n EXECUTE 'DROP USER x'; END $$", "postgres")
    assert (found.line, found.column) == (2, 11)


def test_deep_parentheses_are_folded_in_linear_time() -> None:
    text = "BEGIN EXECUTE IMMEDIATE " + "(" * 5000 + "'drop' || ' user x'" + ")" * 5000 + "; END;"
    assert [violation.rule for violation in check(text, "oracle")] == ["users"]
