"""The safety check on what a program reaches without naming a package."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.safety import Access, check_safety
from pytest_plsqlbench.sql.units import read_program


def rules(text: str, dialect: Dialect, access: Access = "write") -> list[str]:
    return [violation.rule for violation in check_safety(read_program(text, dialect), access)]


@pytest.mark.parametrize(
    ("text", "dialect", "rule"),
    [
        ('CREATE FUNCTION f RETURN NUMBER AS LANGUAGE C LIBRARY l NAME "f";\n/', "oracle", "language"),
        ("CREATE FUNCTION f RETURN NUMBER IS EXTERNAL LIBRARY l;\n/", "oracle", "language"),
        ("CREATE PROCEDURE p AS LANGUAGE JAVA NAME 'A.b()';\n/", "oracle", "language"),
        ("SELECT a FROM t@remote", "oracle", "network"),
        ('BEGIN DELETE FROM hr."T"@remote.world; END;', "oracle", "network"),
        ("BEGIN EXECUTE IMMEDIATE 'select 1 from t@remote'; END;", "oracle", "network"),
        ("CREATE OR REPLACE PUBLIC SYNONYM s FOR t", "oracle", "system"),
        ("CREATE SYNONYM s FOR sys.utl_file", "oracle", "files"),
        ("CREATE INDEX i ON employees (a)", "oracle", "foreign_object"),
        ("CREATE UNIQUE INDEX ON ONLY employees (a)", "postgres", "foreign_object"),
        ("FLASHBACK TABLE employees TO BEFORE DROP", "oracle", "foreign_object"),
        ("PURGE RECYCLEBIN", "oracle", "system"),
        ("BEGIN dbms_lob.fileopen(f); END;", "oracle", "files"),
        ("UPDATE pg_authid SET rolsuper = true", "postgres", "system"),
        ("DO $$ BEGIN DELETE FROM pg_catalog.pg_class; END $$", "postgres", "system"),
        ("SELECT set_config('session_authorization', 'x', false)", "postgres", "sessions"),
        ("SELECT pg_catalog.\"set_config\"('ROLE', 'x', false)", "postgres", "sessions"),
        ("CREATE TABLE t (a int); DROP TABLE t, employees", "postgres", "foreign_object"),
    ],
)
def test_what_no_task_may_reach(text: str, dialect: Dialect, rule: str) -> None:
    assert rules(text, dialect) == [rule]


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("SELECT t.language c, 'a@b' FROM t", "oracle"),
        ("CREATE TABLE t (a NUMBER);\nCREATE INDEX i ON t (a);\nFLASHBACK TABLE t TO BEFORE DROP;", "oracle"),
        ("CREATE SYNONYM s FOR employees", "oracle"),
        ("BEGIN n := dbms_lob.getlength(c); END;", "oracle"),
        ("SELECT s.NEXTVAL FROM dual", "oracle"),
        ("SELECT set_config('work_mem', '1MB', true), nextval('s')", "postgres"),
        ("CREATE TEMP TABLE pg_mine (a int); UPDATE pg_mine SET a = 1; SELECT * FROM pg_class", "postgres"),
        ("CREATE TABLE t (a int); CREATE TABLE u (a int); DROP TABLE t, u", "postgres"),
    ],
)
def test_what_a_task_may_reach(text: str, dialect: Dialect) -> None:
    assert rules(text, dialect) == []


@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("SELECT nextval('s')", "postgres", ["read_only_dml"]),
        ("DO $$ BEGIN PERFORM setval('public.s', 1); END $$", "postgres", ["read_only_dml"]),
        ("CREATE SEQUENCE s; SELECT nextval('s'), setval('public.s', 1)", "postgres", []),
        ("SELECT s.NEXTVAL FROM dual", "oracle", ["read_only_dml"]),
        ("CREATE SEQUENCE s;\nSELECT s.NEXTVAL FROM dual;", "oracle", []),
        ("SELECT s.CURRVAL FROM dual", "oracle", []),
    ],
)
def test_sequences_where_the_task_only_reads(text: str, dialect: Dialect, expected: list[str]) -> None:
    assert rules(text, dialect, "read") == expected
