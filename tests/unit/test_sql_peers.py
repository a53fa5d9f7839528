"""Our reading beside sqlparse and sqlglot, case by case: why scripts are not split by them.

docs/sql-reading.md draws the conclusion. Where a peer becomes better, its case fails here: then rewrite it.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
import sqlglot
import sqlparse
from sqlglot import expressions
from sqlglot.errors import SqlglotError

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.script import read_script


class Case(NamedTuple):
    name: str
    dialect: Dialect
    text: str
    ours: int
    """Statements that we find, and that the server or SQL*Plus finds."""
    sqlparse: bool
    """sqlparse cuts out the same pieces, terminators aside."""
    sqlglot: bool
    """sqlglot parses as many statements, none of them given up as an opaque command."""


FUNCTION = "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$"
ATOMIC = "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END"
LOOP = "BEGIN FOR i IN 1 .. CASE WHEN a THEN 1 END LOOP NULL; END LOOP; END;"
CASES = [
    Case("plain SQL", "postgres", "SELECT 1; INSERT INTO t VALUES (';'); DELETE FROM t;", 3, True, True),
    Case("strings and comments", "oracle", "SELECT ';' FROM a; SELECT 1 /* ; */ FROM a;", 2, True, True),
    Case("dollar quotes", "postgres", "SELECT $$a;b$$; SELECT $x$ $$;$$ $x$;", 2, True, True),
    Case("backslash in E-string", "postgres", "SELECT E'a\\';b'; SELECT 1;", 2, True, True),
    # For sqlparse comments do not nest: the rest of this one becomes a statement.
    Case("nested comments", "postgres", "/* a /* b; */ c; */ SELECT 1; SELECT 2;", 2, False, True),
    # sqlglot takes what it does not know for a command, without looking inside.
    Case("DO block", "postgres", "DO $$ BEGIN PERFORM 1; END $$; SELECT 1;", 2, True, False),
    Case("dollar-quoted function", "postgres", f"{FUNCTION}; SELECT f();", 2, True, True),
    Case("SQL-standard body", "postgres", f"{ATOMIC}; SELECT f();", 2, True, False),
    Case("rule", "postgres", "CREATE RULE r AS ON DELETE TO t DO ALSO (SELECT 1; SELECT 2);", 1, True, False),
    # A line of psql is a command of its own, whatever stands in it.
    Case("psql command", "postgres", "SELECT 1;\n\\copy t from 'x;y'\nSELECT 2;", 3, False, False),
    # sqlparse knows no alternative quotes: the apostrophe inside ends the string.
    Case("q-quote", "oracle", "SELECT q'[it's; here]' FROM a; SELECT 1 FROM a;", 2, False, True),
    # Neither knows that a lone slash ends a statement: for both it belongs to the next one.
    Case("slash after blocks", "oracle", "BEGIN\n  p;\nEND;\n/\nBEGIN\n  q;\nEND;\n/\n", 2, False, False),
    Case("slash after SQL", "oracle", "CREATE TABLE t (a INT)\n/\nDELETE FROM t\n/\n", 2, False, False),
    Case("object type", "oracle", "CREATE TYPE t AS OBJECT (a INT);\n/\nSELECT 1 FROM a;", 2, False, False),
    # sqlparse takes the semicolons of declarations, members and nested routines for the end.
    Case("declarations", "oracle", "DECLARE\n  x INT;\n  y INT;\nBEGIN\n  p(x);\nEND;\n/\n", 1, False, False),
    Case(
        "package", "oracle", "CREATE PACKAGE p IS\n  PROCEDURE a;\n  PROCEDURE b;\nEND;\n/\n", 1, False, False
    ),
    Case("routine", "oracle", "CREATE PROCEDURE p IS\n  x INT;\nBEGIN\n  q;\nEND;\n/\n", 1, False, False),
    Case(
        "nested",
        "oracle",
        "CREATE PROCEDURE p IS PROCEDURE q IS BEGIN a; END; BEGIN q; END;",
        1,
        False,
        True,
    ),
    # … and loses count where a CASE ends before a LOOP.
    Case("CASE in a loop header", "oracle", f"{LOOP}\n/\nSELECT 1 FROM a;", 2, False, False),
    Case("missing slash", "oracle", "CREATE PROCEDURE p IS BEGIN q; END;\nSELECT f FROM a;", 2, True, False),
    # Commands of SQL*Plus end with their line; for sqlparse all of it is one statement.
    Case("client", "oracle", "SET SERVEROUTPUT ON\nPROMPT don't\nEXEC p(1)\nDELETE FROM t;", 4, False, False),
]


def stripped(text: str) -> str:
    return text.strip().rstrip("/").strip().rstrip(";").strip()


def pieces_of_sqlparse(text: str) -> list[str]:
    return [stripped(piece) for piece in sqlparse.split(text) if stripped(piece)]


def count_of_sqlglot(text: str, dialect: Dialect) -> int:
    try:
        trees = [tree for tree in sqlglot.parse(text, read=dialect) if tree is not None]
    except SqlglotError:
        return 0
    return 0 if any(isinstance(tree, expressions.Command) for tree in trees) else len(trees)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_same_script_read_by_all_three(case: Case) -> None:
    ours = [stripped(statement.text) for statement in read_script(case.text, case.dialect).statements]
    assert len(ours) == case.ours
    assert (pieces_of_sqlparse(case.text) == ours) is case.sqlparse
    assert (count_of_sqlglot(case.text, case.dialect) == case.ours) is case.sqlglot
