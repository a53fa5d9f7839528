"""Program units: names, parameters, members, and the structure of their code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.outline import describe, outline
from pytest_plsqlbench.sql.signature import Name, Parameter
from pytest_plsqlbench.sql.unit import ProgramUnit
from pytest_plsqlbench.sql.units import read_program

TWINS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent.parent / "data/sql_twins.yaml").read_text("utf-8")
)


def unit(text: str, dialect: Dialect) -> ProgramUnit:
    (only,) = read_program(text, dialect).units
    return only


def body(code: str) -> str:
    """The outline of an Oracle block with these statements."""
    return outline(unit(f"BEGIN {code} END;\n/", "oracle"))


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin["name"])
def test_programs_in_the_manner_of_published_ones(twin: dict[str, Any]) -> None:
    assert describe(read_program(twin["text"], twin["dialect"])) == twin["reading"]


# -- names and parameters ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dialect", "name"),
    [
        ("CREATE FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END;", "oracle", Name(None, "F")),
        ('CREATE PROCEDURE "my Proc" IS BEGIN NULL; END;', "oracle", Name(None, "my Proc")),
        ("CREATE OR REPLACE PROCEDURE hr.p IS BEGIN NULL; END;", "oracle", Name("HR", "P")),
        ("CREATE PROCEDURE IF NOT EXISTS p IS BEGIN NULL; END;", "oracle", Name(None, "P")),
        ('CREATE PACKAGE BODY "Hr" . pk IS END;', "oracle", Name("Hr", "PK")),
        ("CREATE TABLE IF NOT EXISTS Sales.Items (a int)", "postgres", Name("sales", "items")),
        ('CREATE VIEW "A""b" AS SELECT 1', "postgres", Name(None, 'A"b')),
        ("CREATE FUNCTION F() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$", "postgres", Name(None, "f")),
        ("CREATE", "postgres", None),
        ("CREATE FUNCTION", "postgres", None),
    ],
)
def test_names_are_as_the_server_keeps_them(text: str, dialect: Dialect, name: Name | None) -> None:
    units = read_program(text, dialect).units
    assert (units[0].name if units else None) == name


@pytest.mark.parametrize(
    ("header", "parameters", "returns"),
    [
        ("()", (), None),
        ("", (), None),
        ("(a NUMBER)", (Parameter("A", "in", "NUMBER"),), None),
        (
            "(a IN NUMBER, b OUT DATE, c IN OUT NOCOPY t)",
            (Parameter("A", "in", "NUMBER"), Parameter("B", "out", "DATE"), Parameter("C", "in out", "T")),
            None,
        ),
        ("(a VARCHAR2 := 'x,)' || f(1, 2))", (Parameter("A", "in", "VARCHAR2", "'x,)' || f(1, 2)"),), None),
        ("(a hr.emp.sal%TYPE DEFAULT NULL)", (Parameter("A", "in", "HR.EMP.SAL%TYPE", "NULL"),), None),
        ('("A b" IN pk.t_list)', (Parameter("A b", "in", "PK.T_LIST"),), None),
        ("(a NUMBER -- first, of one\n)", (Parameter("A", "in", "NUMBER"),), None),
    ],
)
def test_oracle_parameters(header: str, parameters: tuple[Parameter, ...], returns: str | None) -> None:
    procedure = unit(f"CREATE PROCEDURE p{header} IS BEGIN NULL; END;", "oracle")
    assert (procedure.parameters, procedure.returns) == (parameters, returns)
    (nested,) = unit(f"DECLARE PROCEDURE p{header} IS BEGIN NULL; END; BEGIN p; END;", "oracle").nested
    assert nested.parameters == parameters


@pytest.mark.parametrize(
    ("after", "returns"),
    [
        ("RETURN NUMBER IS", "NUMBER"),
        ("RETURN hr.emp%ROWTYPE AS", "HR.EMP%ROWTYPE"),
        ("RETURN VARCHAR2 DETERMINISTIC RESULT_CACHE IS", "VARCHAR2"),
        ("RETURN t_list PIPELINED IS", "T_LIST"),
        ("RETURN NUMBER AUTHID CURRENT_USER PARALLEL_ENABLE (PARTITION a BY ANY) IS", "NUMBER"),
    ],
)
def test_oracle_return_types(after: str, returns: str) -> None:
    function = unit(f"CREATE FUNCTION f(a NUMBER DEFAULT 1) {after} BEGIN RETURN NULL; END;", "oracle")
    assert (function.kind, function.returns) == ("function", returns)
    assert len(function.code.routines) == 1
    assert function.code.complete


@pytest.mark.parametrize(
    ("header", "parameters"),
    [
        ("a int", (Parameter("a", "in", "int"),)),
        ("int", (Parameter(None, "in", "int"),)),
        (
            "A Int DEFAULT 1, \"B\" text = 'x'",
            (Parameter("a", "in", "int", "1"), Parameter("B", "in", "text", "'x'")),
        ),
        ("IN a int, OUT b text", (Parameter("a", "in", "int"), Parameter("b", "out", "text"))),
        ("INOUT a int", (Parameter("a", "in out", "int"),)),
        ("IN OUT a int", (Parameter("a", "in out", "int"),)),
        ("a OUT int", (Parameter("a", "out", "int"),)),
        ("VARIADIC a int[]", (Parameter("a", "variadic", "int[]"),)),
        ("double precision", (Parameter(None, "in", "double precision"),)),
        ("a double precision", (Parameter("a", "in", "double precision"),)),
        ("character varying", (Parameter(None, "in", "character varying"),)),
        (
            "timestamp with time zone, t timestamp",
            (Parameter(None, "in", "timestamp with time zone"), Parameter("t", "in", "timestamp")),
        ),
        (
            "numeric(10, 2), n numeric(10,2)",
            (Parameter(None, "in", "numeric(10, 2)"), Parameter("n", "in", "numeric(10, 2)")),
        ),
        (
            "public.thing, p public.thing",
            (Parameter(None, "in", "public.thing"), Parameter("p", "in", "public.thing")),
        ),
        ("a t.c%TYPE", (Parameter("a", "in", "t.c%type"),)),
    ],
)
def test_postgres_parameters(header: str, parameters: tuple[Parameter, ...]) -> None:
    function = unit(
        f"CREATE FUNCTION f({header}) RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$", "postgres"
    )
    assert (function.parameters, function.returns) == (parameters, "void")


@pytest.mark.parametrize(
    ("text", "returns", "language"),
    [
        ("RETURNS SETOF a.t AS $$ $$ LANGUAGE plpgsql", "setof a.t", "plpgsql"),
        ("RETURNS TABLE (a int, b text) LANGUAGE 'plpgsql' AS $$ $$", "table(a int, b text)", "plpgsql"),
        ("RETURNS numeric(5,2) IMMUTABLE STRICT LANGUAGE SQL AS ''", "numeric(5, 2)", "sql"),
        (
            "RETURNS timestamp with time zone LANGUAGE plpgsql RETURNS NULL ON NULL INPUT AS ''",
            "timestamp with time zone",
            "plpgsql",
        ),
        ("LANGUAGE plpython3u AS $$ return 1 $$", None, "plpython3u"),
        ("RETURNS int RETURN 1", "int", "sql"),
        ("RETURNS int BEGIN ATOMIC SELECT 1; END", "int", "sql"),
    ],
)
def test_postgres_return_types_and_languages(text: str, returns: str | None, language: str) -> None:
    function = unit(f"CREATE FUNCTION f(a int) {text}", "postgres")
    assert (function.returns, function.language) == (returns, language)


def test_the_columns_of_a_table_function_are_parameters() -> None:
    function = unit(
        "CREATE FUNCTION f(a int) RETURNS TABLE (b text) LANGUAGE sql AS $$ SELECT 'x' $$", "postgres"
    )
    assert function.parameters == (Parameter("a", "in", "int"), Parameter("b", "table", "text"))


# -- types and triggers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dialect", "detail", "attributes"),
    [
        (
            "CREATE TYPE t AS OBJECT (a NUMBER(5), b VARCHAR2(9))",
            "oracle",
            "object",
            ["A NUMBER(5)", "B VARCHAR2(9)"],
        ),
        ("CREATE TYPE t UNDER s (a NUMBER) NOT FINAL", "oracle", "subtype", ["A NUMBER"]),
        ("CREATE TYPE t IS TABLE OF hr.s", "oracle", "table of hr.s", []),
        ("CREATE TYPE t AS VARRAY(3) OF NUMBER", "oracle", "varray(3) of number", []),
        ("CREATE TYPE t", "oracle", "incomplete", []),
        ("CREATE TYPE t AS (a int, b text)", "postgres", "composite", ["a int", "b text"]),
        ("CREATE TYPE t AS ENUM ('a')", "postgres", "enum", []),
        ("CREATE TYPE t", "postgres", "incomplete", []),
    ],
)
def test_types(text: str, dialect: Dialect, detail: str, attributes: list[str]) -> None:
    kind = unit(text, dialect)
    assert kind.detail == detail
    assert [f"{attribute.name} {attribute.type}" for attribute in kind.attributes] == attributes


@pytest.mark.parametrize(
    ("text", "dialect", "table"),
    [
        ("CREATE TRIGGER g BEFORE INSERT ON hr.emp FOR EACH ROW BEGIN NULL; END;", "oracle", "HR.EMP"),
        ("CREATE TRIGGER g AFTER LOGON ON SCHEMA BEGIN NULL; END;", "oracle", "SCHEMA"),
        ("CREATE TRIGGER g AFTER UPDATE OF a, b ON t EXECUTE FUNCTION f('ON x')", "postgres", "t"),
    ],
)
def test_triggers(text: str, dialect: Dialect, table: str) -> None:
    assert unit(text, dialect).detail == table


# -- statements ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x := 1;", "assignment"),
        ("x(i).y := 1;", "assignment"),
        (":new.x := 1;", "assignment"),
        ("select_ := 1;", "assignment"),
        ("p;", "call"),
        ("pk.p(a => 1);", "call"),
        ("t.DELETE(2);", "call"),
        ("DELETE t;", "delete"),
        ("NULL;", "null"),
        ("RETURN;", "return"),
        ("RAISE;", "raise"),
        ("RAISE pk.e;", "raise(pk.e)"),
        ("GOTO l;", "goto"),
        ("PIPE ROW (1);", "pipe_row"),
        ("SELECT a INTO b FROM t;", "select(into)"),
        ("SELECT a BULK COLLECT INTO b FROM t;", "select(bulk)"),
        ("WITH q AS (SELECT 1 a FROM dual) SELECT a INTO b FROM q;", "select(into)"),
        ("INSERT INTO t SELECT a FROM u;", "insert"),
        ("INSERT INTO t VALUES (1) RETURNING a INTO b;", "insert(into)"),
        ("UPDATE t SET a = CASE WHEN b THEN 1 ELSE 2 END;", "update"),
        ("MERGE INTO t USING u ON (1 = 1) WHEN MATCHED THEN DELETE;", "merge"),
        ("LOCK TABLE t IN SHARE MODE;", "lock"),
        ("SET TRANSACTION READ ONLY;", "set"),
        ("EXECUTE IMMEDIATE 'x' BULK COLLECT INTO a;", "execute(bulk)"),
        ("FORALL i IN 1 .. 2 INSERT INTO t VALUES (a(i));", "forall"),
        ("FOR i IN REVERSE 1 .. f(2) LOOP NULL; END LOOP;", "for(range){null}"),
        ("FOR r IN (SELECT 1 FROM dual) LOOP NULL; END LOOP;", "for(query){null}"),
        ("FOR r IN ((SELECT 1 FROM dual)) LOOP NULL; END LOOP;", "for(query){null}"),
        ("FOR r IN c(1) LOOP NULL; END LOOP;", "for(cursor){null}"),
        ("WHILE a LOOP EXIT WHEN b; CONTINUE WHEN c; END LOOP;", "while{exit continue}"),
        ("LOOP NULL; END LOOP l;", "loop{null}"),
        ("IF a THEN b; ELSIF c THEN d; ELSE e; END IF;", "if{call elsif call else call}"),
        ("IF CASE WHEN a THEN b END THEN c; END IF;", "if{call}"),
        ("CASE WHEN a THEN b; WHEN c THEN d; ELSE e; END CASE;", "case{when call when call else call}"),
        ("CASE CASE WHEN a THEN 1 END WHEN 1 THEN b; END CASE;", "case{when call}"),
        (
            "BEGIN a; EXCEPTION WHEN b OR c THEN d; WHEN OTHERS THEN NULL; END;",
            "block{call handler call handler null}",
        ),
        ("a; BEGIN b; END; c;", "call block{call} call"),
        ("<<l>> a; << m >> b;", "call call"),
        (
            "x := r.end + r.case; r.begin := s.loop; IF r.if THEN r.end; END IF;",
            "assignment assignment if{call}",
        ),
        ("$IF $$x $THEN a; $ELSIF $$y $THEN b; $ELSE c; $END d;", "call call call call"),
    ],
)
def test_oracle_statements(code: str, expected: str) -> None:
    assert body(code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1;", "assignment"),
        ("x[1].y := 1;", "assignment"),
        ("PERFORM f(1);", "perform"),
        ("CALL p(1);", "call"),
        ("DO 'x';", "do"),
        ("EXECUTE 'x' INTO STRICT a USING b;", "execute(into)"),
        ("RETURN NEXT a;", "return(next)"),
        ("RETURN QUERY SELECT 1;", "return(query)"),
        ("RETURN QUERY EXECUTE 'x';", "return(query)"),
        ("RAISE NOTICE 'a %', b;", "raise(NOTICE)"),
        ("RAISE;", "raise"),
        ("ASSERT a;", "assert"),
        ("GET STACKED DIAGNOSTICS a = MESSAGE_TEXT;", "get_diagnostics"),
        ("MOVE NEXT FROM c;", "move"),
        ("CREATE TEMP TABLE IF NOT EXISTS t (a int);", "ddl"),
        ("DROP TABLE IF EXISTS t;", "ddl"),
        ("WITH q AS (SELECT 1) INSERT INTO t SELECT * FROM q;", "insert"),
        ("INSERT INTO t SELECT 1 ON CONFLICT DO NOTHING;", "insert"),
        ("FOREACH a SLICE 1 IN ARRAY b LOOP NULL; END LOOP;", "foreach{null}"),
        ("FOR r IN EXECUTE 'x' USING a LOOP NULL; END LOOP;", "for(dynamic){null}"),
        ("FOR r IN SELECT 1 LOOP NULL; END LOOP;", "for(query){null}"),
        ("FOR i IN 1..10 BY 2 LOOP NULL; END LOOP;", "for(range){null}"),
        ("IF a THEN NULL; ELSEIF b THEN NULL; END IF;", "if{null elsif null}"),
        (";;", ""),
        ("NOTIFY a;", "sql"),
    ],
)
def test_postgres_statements(code: str, expected: str) -> None:
    assert outline(unit(f"DO $$ <<l>> BEGIN {code} END l $$", "postgres")) == expected


@pytest.mark.parametrize(
    ("text", "dialect", "kinds"),
    [
        ("a NUMBER; b CONSTANT DATE := c; ", "oracle", ["variable a", "constant b"]),
        ("CURSOR c(x NUMBER := 1) IS SELECT CASE WHEN a THEN 1 END FROM t;", "oracle", ["cursor c"]),
        ("TYPE t IS RECORD (a NUMBER); SUBTYPE s IS NUMBER;", "oracle", ["type t", "subtype s"]),
        ("e EXCEPTION; PRAGMA EXCEPTION_INIT(e, -1);", "oracle", ["exception e", "pragma EXCEPTION_INIT"]),
        ("type NUMBER; cursor DATE;", "oracle", ["variable type", "variable cursor"]),
        ('"a b" NUMBER; map t;', "oracle", ['variable "a b"', "variable map"]),
        (
            "a int := 1; b CONSTANT text = 'x'; c ALIAS FOR $1;",
            "postgres",
            ["variable a", "constant b", "alias c"],
        ),
        (
            "c CURSOR FOR SELECT 1; d NO SCROLL CURSOR (k int) IS SELECT k;",
            "postgres",
            ["cursor c", "cursor d"],
        ),
        ("procedure int; DECLARE function text;", "postgres", ["variable procedure", "variable function"]),
    ],
)
def test_declarations(text: str, dialect: Dialect, kinds: list[str]) -> None:
    block = f"DECLARE {text} BEGIN NULL; END;"
    code = unit(block if dialect == "oracle" else f"DO $$ {block} $$", dialect).code
    assert [f"{declaration.kind} {declaration.name}" for declaration in code.declarations] == kinds
    assert code.complete


def test_options_of_plpgsql_stand_before_the_block() -> None:
    block = unit(
        "DO $$ #variable_conflict use_column\n#print_strict_params on\nBEGIN NULL; END $$", "postgres"
    )
    assert outline(block) == "null"


def test_members_and_nested_routines_have_their_depth() -> None:
    package = unit(
        "CREATE PACKAGE BODY p IS PROCEDURE a IS PROCEDURE b IS FUNCTION c RETURN d IS BEGIN RETURN 1; END; "
        "BEGIN NULL; END; BEGIN NULL; END; END;",
        "oracle",
    )
    assert [(routine.name, routine.depth) for routine in package.routines] == [("A", 0), ("B", 1), ("C", 2)]
    assert [routine.name for routine in package.members] == ["A"]
    function = unit(
        "CREATE FUNCTION f RETURN NUMBER IS PROCEDURE a IS BEGIN NULL; END; BEGIN RETURN 1; END;", "oracle"
    )
    assert [(routine.name, routine.depth) for routine in function.nested] == [("A", 0)]


def test_places_inside_bodies_are_those_of_the_script() -> None:
    text = "SELECT 1;\nDO $$\nBEGIN\n  PERFORM 1;\nEND $$"
    (block,) = read_program(text, "postgres").units
    token = block.code.statements[-1].token
    assert (token.line, token.column, text[token.offset : token.offset + 7]) == (4, 3, "PERFORM")
    function = unit(
        "\nCREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$\n SELECT 1;\n SELECT 2 $$", "postgres"
    )
    assert function.body is not None
    assert [(statement.line, statement.column) for statement in function.body.statements] == [(3, 2), (4, 2)]


def test_no_depth_is_too_deep() -> None:
    depth = 5_000
    text = "BEGIN " + "IF a THEN BEGIN " * depth + "NULL; " + "END; END IF; " * depth + "END;\n/"
    (block,) = read_program(text, "oracle").units
    assert block.code.complete
    assert max(statement.depth for statement in block.code.statements) == 2 * depth + 1
    assert outline(block).startswith("if{block{if{block{")
