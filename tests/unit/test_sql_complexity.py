"""Counting rules of size and complexity, and the labels of constructs, on programs counted by hand."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.complexity import Complexity, program_complexity, unit_complexity
from pytest_plsqlbench.sql.constructs import CONSTRUCTS, constructs
from pytest_plsqlbench.sql.units import read_program


def of_block(code: str, dialect: Dialect = "oracle") -> Complexity:
    text = f"BEGIN {code} END;" if dialect == "oracle" else f"DO $$ BEGIN {code} END $$"
    return program_complexity(read_program(text, dialect))


@pytest.mark.parametrize(
    ("code", "statements", "cyclomatic", "conditions"),
    [
        ("NULL;", 1, 1, 0),
        ("a; b; c;", 3, 1, 0),
        ("BEGIN a; END;", 1, 1, 0),
        ("IF a THEN b; END IF;", 2, 2, 0),
        ("IF a THEN b; ELSE c; END IF;", 3, 2, 0),
        ("IF a THEN b; ELSIF c THEN d; ELSIF e THEN f; ELSE g; END IF;", 5, 4, 0),
        ("IF a AND b OR NOT c THEN d; END IF;", 2, 2, 2),
        ("IF a BETWEEN 1 AND 2 AND b THEN c; END IF;", 2, 2, 1),
        ("CASE a WHEN 1 THEN b; WHEN 2 THEN c; ELSE d; END CASE;", 4, 3, 0),
        ("CASE WHEN a OR b THEN c; END CASE;", 2, 2, 1),
        ("x := CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END;", 1, 3, 0),
        ("IF CASE WHEN a THEN b END THEN c; END IF;", 2, 3, 0),
        ("RETURN CASE WHEN a THEN CASE b WHEN 1 THEN 2 END END;", 1, 3, 0),
        ("LOOP a; END LOOP;", 2, 1, 0),
        ("LOOP EXIT WHEN a AND b; END LOOP;", 2, 2, 1),
        ("LOOP EXIT; CONTINUE; END LOOP;", 3, 1, 0),
        ("WHILE a OR b LOOP CONTINUE l WHEN c; END LOOP;", 2, 3, 1),
        ("FOR i IN 1 .. 2 LOOP FOR j IN 1 .. 2 LOOP a; END LOOP; END LOOP;", 3, 3, 0),
        ("a; EXCEPTION WHEN b OR c THEN d; WHEN OTHERS THEN NULL;", 3, 3, 0),
    ],
)
@pytest.mark.parametrize("dialect", ["oracle", "postgres"])
def test_counts_alike_in_both_dialects(
    code: str, statements: int, cyclomatic: int, conditions: int, dialect: Dialect
) -> None:
    size = of_block(code, dialect)
    assert (size.statements, size.cyclomatic, size.conditions) == (statements, cyclomatic, conditions)


@pytest.mark.parametrize(
    ("code", "dialect", "statements", "cyclomatic"),
    [
        ("FORALL i IN 1 .. 2 DELETE t WHERE a = b(i);", "oracle", 1, 2),
        ("FOREACH a IN ARRAY b LOOP NULL; END LOOP;", "postgres", 2, 2),
        ("SELECT CASE WHEN a THEN 1 END INTO b FROM t WHERE c AND d;", "oracle", 1, 1),
        ("x := (SELECT CASE WHEN a THEN 1 END FROM t);", "postgres", 1, 1),
        ("UPDATE t SET a = CASE WHEN b THEN 1 END;", "oracle", 1, 1),
        ("RETURN QUERY SELECT CASE WHEN a THEN 1 END;", "postgres", 1, 1),
        ("FOR r IN SELECT CASE WHEN a THEN 1 END LOOP NULL; END LOOP;", "postgres", 2, 2),
        ("FOR r IN (SELECT CASE WHEN a THEN 1 END FROM t) LOOP NULL; END LOOP;", "oracle", 2, 2),
        ("EXECUTE IMMEDIATE 'BEGIN IF a THEN b; END IF; END;';", "oracle", 1, 1),
    ],
)
def test_sql_inside_counts_as_one_statement(
    code: str, dialect: Dialect, statements: int, cyclomatic: int
) -> None:
    size = of_block(code, dialect)
    assert (size.statements, size.cyclomatic) == (statements, cyclomatic)


def test_a_package_has_the_sum_of_its_routines() -> None:
    program = read_program(
        "CREATE PACKAGE BODY p IS x t; PROCEDURE a; PROCEDURE a IS y t; BEGIN IF x THEN b; END IF; END; "
        "FUNCTION c RETURN t IS PROCEDURE d IS BEGIN NULL; END; BEGIN RETURN 1; END; BEGIN x := 1; END;",
        "oracle",
    )
    assert unit_complexity(program.units[0]) == Complexity(5, 5, 0, 2, 1)


def test_depth_counts_compound_statements_only() -> None:
    assert of_block("BEGIN BEGIN a; END; END;").max_depth == 0
    assert of_block("IF a THEN BEGIN LOOP b; END LOOP; END; END IF;").max_depth == 2


def test_sql_functions_and_statements_of_the_script_count() -> None:
    program = read_program(
        "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1; SELECT 2 $$; CREATE TABLE t (a int); "
        "INSERT INTO t VALUES (1); CALL p();",
        "postgres",
    )
    assert program_complexity(program) == Complexity(4, 1, 0, 0, 0)
    script = read_program("SET SERVEROUTPUT ON\nINSERT INTO t VALUES (1);\nEXEC p;\nCOMMIT;", "oracle")
    assert program_complexity(script) == Complexity(3, 1, 0, 0, 0)


# -- constructs ------------------------------------------------------------------------------------------

ORACLE = {
    "CREATE PROCEDURE p IS BEGIN NULL; END;": ["procedure"],
    "CREATE FUNCTION f(a NUMBER DEFAULT 1, b OUT DATE) RETURN NUMBER IS BEGIN RETURN 1; END;": [
        "function",
        "default_parameter",
        "out_parameter",
    ],
    "CREATE FUNCTION f(n NUMBER) RETURN NUMBER IS BEGIN RETURN n * f(n - 1); END f;": [
        "function",
        "recursion",
    ],
    "CREATE PACKAGE p IS PROCEDURE a; PROCEDURE a(b NUMBER); END;": ["procedure", "package", "overloading"],
    "CREATE PACKAGE BODY p IS PROCEDURE a IS BEGIN NULL; END; END;": ["procedure", "package"],
    "CREATE TRIGGER g BEFORE INSERT ON t BEGIN NULL; END;": ["trigger"],
    "CREATE TYPE t AS TABLE OF NUMBER;": ["collection"],
    "CREATE TYPE t AS OBJECT (a NUMBER);": ["object_type"],
    "DECLARE PROCEDURE p IS BEGIN NULL; END; BEGIN p; END;": [
        "procedure",
        "anonymous_block",
        "nested_subprogram",
    ],
    "DECLARE CURSOR c IS SELECT 1 FROM dual; BEGIN OPEN c; END;": ["anonymous_block", "cursor"],
    "BEGIN FOR r IN (SELECT 1 FROM dual) LOOP NULL; END LOOP; END;": [
        "anonymous_block",
        "cursor_for_loop",
        "loop",
    ],
    "DECLARE c SYS_REFCURSOR; BEGIN NULL; END;": ["anonymous_block", "cursor_variable"],
    "DECLARE TYPE c IS REF CURSOR; BEGIN NULL; END;": ["anonymous_block", "cursor_variable"],
    "BEGIN SELECT a INTO b FROM t; END;": ["anonymous_block", "select_into"],
    "BEGIN SELECT a BULK COLLECT INTO b FROM t; END;": ["anonymous_block", "select_into", "bulk_processing"],
    "BEGIN FORALL i IN 1 .. 2 UPDATE t SET a = 1; END;": ["anonymous_block", "bulk_processing", "update"],
    "DECLARE e EXCEPTION; BEGIN RAISE e; EXCEPTION WHEN e THEN NULL; END;": [
        "anonymous_block",
        "exception_handling",
        "user_exception",
        "raise",
    ],
    "BEGIN RAISE_APPLICATION_ERROR(-20001, 'x'); END;": ["anonymous_block", "raise"],
    "BEGIN EXECUTE IMMEDIATE 'x'; END;": ["anonymous_block", "dynamic_sql"],
    "BEGIN x := DBMS_SQL.OPEN_CURSOR; END;": ["anonymous_block", "dynamic_sql"],
    "DECLARE TYPE t IS TABLE OF NUMBER INDEX BY PLS_INTEGER; BEGIN NULL; END;": [
        "anonymous_block",
        "collection",
    ],
    "DECLARE TYPE t IS RECORD (a NUMBER); BEGIN NULL; END;": ["anonymous_block", "record"],
    "DECLARE a t%ROWTYPE; b t.c%TYPE; BEGIN NULL; END;": ["anonymous_block", "record", "anchored_type"],
    "DECLARE PRAGMA AUTONOMOUS_TRANSACTION; BEGIN COMMIT; END;": [
        "anonymous_block",
        "autonomous_transaction",
        "transaction_control",
    ],
    "BEGIN IF a THEN GOTO l; END IF; END;": ["anonymous_block", "conditional", "goto"],
    "BEGIN INSERT INTO t VALUES (1) RETURNING a INTO b; END;": ["anonymous_block", "returning", "insert"],
    "BEGIN x := JSON_VALUE(a, '$.b' RETURNING NUMBER); END;": ["anonymous_block"],
    "BEGIN DBMS_OUTPUT.PUT_LINE('x'); END;": ["anonymous_block", "printed_output"],
    "CREATE FUNCTION f RETURN t PIPELINED IS BEGIN PIPE ROW (1); END;": ["function", "pipelined"],
    "SELECT SUM(a) OVER (ORDER BY b) FROM t": ["analytic_function"],
    "WITH q AS (SELECT 1 FROM dual) SELECT * FROM q": ["common_table_expression"],
    "SELECT a FROM t CONNECT BY PRIOR a = b": ["hierarchical_query"],
    "SELECT a FROM t WHERE REGEXP_LIKE(a, 'b')": ["regular_expression"],
    "COMMIT": ["transaction_control"],
    "BEGIN p('EXECUTE IMMEDIATE; DBMS_OUTPUT.x OVER (', \"WITH\"); -- RAISE\n END;": ["anonymous_block"],
    "EXEC p(1)": [],
}
POSTGRES = {
    "DO $$ BEGIN RAISE NOTICE 'x'; END $$": ["anonymous_block", "raise", "printed_output"],
    "DO $$ DECLARE a int[] := ARRAY[1]; BEGIN FOREACH b IN ARRAY a LOOP NULL; END LOOP; END $$": [
        "anonymous_block",
        "collection",
        "loop",
    ],
    "DO $$ DECLARE r RECORD; BEGIN FOR r IN EXECUTE 'x' LOOP NULL; END LOOP; END $$": [
        "anonymous_block",
        "cursor_for_loop",
        "dynamic_sql",
        "record",
        "loop",
    ],
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ WITH RECURSIVE q AS (SELECT 1) SELECT * FROM q $$": [
        "function",
        "common_table_expression",
        "hierarchical_query",
    ],
    "SELECT * FROM f() WITH ORDINALITY AS t (a)": [],
    "SELECT '2020-01-01'::timestamp WITH TIME ZONE": [],
    "BEGIN; COMMIT": ["transaction_control"],
}


@pytest.mark.parametrize(
    ("text", "dialect", "labels"),
    [(text, "oracle", labels) for text, labels in ORACLE.items()]
    + [(text, "postgres", labels) for text, labels in POSTGRES.items()],
)
def test_constructs(text: str, dialect: Dialect, labels: list[str]) -> None:
    assert list(constructs(read_program(text, dialect))) == labels
    assert set(labels) <= set(CONSTRUCTS)


def test_overloads_that_call_each_other_are_no_recursion() -> None:
    text = "CREATE PACKAGE BODY p IS PROCEDURE a(x t) IS BEGIN b; END; PROCEDURE a IS BEGIN a(1); END; END;"
    assert "recursion" not in constructs(read_program(text, "oracle"))


@pytest.mark.parametrize(
    ("text", "dialect", "recursive"),
    [
        ("CREATE FUNCTION f(a INT) RETURN INT IS BEGIN RETURN f(1); END;", "oracle", True),
        ("CREATE FUNCTION f(a INT) RETURN INT IS BEGIN RETURN x.f(1); END;", "oracle", False),
        ("CREATE FUNCTION hr.f(a INT) RETURN INT IS BEGIN RETURN hr.f(1); END;", "oracle", True),
        ("CREATE PACKAGE BODY k IS PROCEDURE f(a INT) IS BEGIN k.f(1); END; END;", "oracle", True),
        ("CREATE PACKAGE BODY k IS PROCEDURE f(a INT) IS BEGIN j.f(1); END; END;", "oracle", False),
        (
            "CREATE PROCEDURE p IS PROCEDURE q(a INT) IS BEGIN p.q(1); END; BEGIN q(1); END;",
            "oracle",
            True,
        ),
        ("CREATE FUNCTION g(n int) RETURNS int LANGUAGE sql AS $$ SELECT n * g(n - 1) $$", "postgres", True),
        ("CREATE FUNCTION g(n int) RETURNS int RETURN n * g(n - 1)", "postgres", True),
        ("CREATE FUNCTION g(n int) RETURNS int LANGUAGE sql AS $$ SELECT x.g(n) $$", "postgres", False),
        (
            "CREATE FUNCTION g() RETURNS void LANGUAGE sql AS $$ INSERT INTO g(a) SELECT 1 $$",
            "postgres",
            False,
        ),
        (
            "CREATE FUNCTION s.g(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN s.g(1); END $$",
            "postgres",
            True,
        ),
    ],
)
def test_recursion_is_a_call_of_the_routine_itself(text: str, dialect: Dialect, recursive: bool) -> None:
    assert ("recursion" in constructs(read_program(text, dialect))) is recursive


@pytest.mark.parametrize(
    ("declaration", "array"),
    [
        ("a int[]", True),
        ("a t.b%TYPE[] := x", True),
        ("a int ARRAY[3]", True),
        ("a int := b[1]", False),
        ("a int DEFAULT b[1]", False),
    ],
)
def test_arrays_are_collections(declaration: str, array: bool) -> None:
    program = read_program(f"DO $$ DECLARE {declaration}; BEGIN NULL; END $$", "postgres")
    assert ("collection" in constructs(program)) is array


def test_loops_over_collections_are_no_cursor_loops() -> None:
    labels = constructs(read_program("BEGIN FOR i IN INDICES OF x LOOP NULL; END LOOP; END;", "oracle"))
    assert labels == ("anonymous_block", "collection", "loop")
