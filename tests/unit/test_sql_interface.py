"""What the tests call against what a program defines."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.interface import check_interface, entries, interface_findings

FUNCTION = (
    "CREATE FUNCTION get_total(p_id NUMBER, p_at DATE := SYSDATE) RETURN NUMBER IS BEGIN RETURN 1; END;\n/\n"
)
PROCEDURE = "CREATE PROCEDURE print_total(p_id NUMBER) IS BEGIN NULL; END;\n/\n"
PACKAGE = """
CREATE PACKAGE pk IS PROCEDURE pay(a INT); PROCEDURE pay(a INT, b DATE); FUNCTION due RETURN INT; END;
/
CREATE PACKAGE BODY pk IS PROCEDURE inner_work IS BEGIN NULL; END; PROCEDURE pay(a INT) IS BEGIN b; END; END;
/
"""
OBJECT = """
CREATE TYPE t AS OBJECT (
  a NUMBER, b DATE, CONSTRUCTOR FUNCTION t RETURN SELF AS RESULT, MEMBER FUNCTION m RETURN DATE
);
/
"""
WRONG = "wrong_arguments: defines `get_total(p_id, p_at)`, tests call `get_total`"
BLOCK = """
DECLARE
  x NUMBER;
  t num_tab := num_tab(1, 2);
  PROCEDURE check_it(a NUMBER) IS
  BEGIN
    IF a > 1 THEN RAISE_APPLICATION_ERROR(-20001, 'x'); END IF;
  END;
BEGIN
  print_total(NVL(x, 1));
  check_it(2);
  DBMS_OUTPUT.PUT_LINE(TO_CHAR(x, 'FM9'));
  FOR i IN 1 .. 2 LOOP x := i; END LOOP;
END;
/
"""


@pytest.mark.parametrize(
    ("program", "calls", "findings"),
    [
        (FUNCTION, ["SELECT get_total(6) FROM dual;"], []),
        (FUNCTION, ["SELECT get_total(6) FROM dual;", "BEGIN x := Get_Total(p_id => 1); END;\n/"], []),
        (
            FUNCTION,
            ["SET SERVEROUTPUT ON;\nSELECT sf_get_customer_total(6) FROM dual;"],
            ["missing_entry_point: defines `get_total`, tests call `sf_get_customer_total`"],
        ),
        (
            FUNCTION,
            ["SELECT get_total() FROM dual"],
            [f"{WRONG} with 0 arguments"],
        ),
        (
            FUNCTION,
            ["SELECT get_total(1, 2, f(3, 4)) FROM dual"],
            [f"{WRONG} with 3 arguments"],
        ),
        (
            FUNCTION,
            ["SELECT get_total(id => 1) FROM dual"],
            [f"{WRONG} with 1 argument (id by name)"],
        ),
        (
            FUNCTION,
            ["EXEC get_total(1)"],
            ["wrong_arguments: `get_total` is a function, tests call it as a procedure"],
        ),
        (PROCEDURE, ["EXEC print_total(1)", "CALL print_total(1);", "BEGIN print_total(1); END;"], []),
        (
            PROCEDURE,
            ["EXEC report(1)"],
            ["missing_entry_point: defines `print_total`, tests call `report`"],
        ),
        (
            "BEGIN NULL; END;\n/",
            ["EXEC report(1)"],
            ["missing_entry_point: defines nothing, tests call `report`"],
        ),
        (PACKAGE, ["EXEC pk.pay(1)", "EXEC hr.pk.pay(1, SYSDATE)", "SELECT pk.due FROM dual"], []),
        (
            PACKAGE,
            ["EXEC pk.inner_work"],
            ["missing_member: defines `pk.pay`, `pk.due`, tests call `pk.inner_work`"],
        ),
        (PACKAGE, ["EXEC pk.paid(1)"], ["missing_member: defines `pk.pay`, tests call `pk.paid`"]),
        (
            PACKAGE,
            ["EXEC pk.pay"],
            ["wrong_arguments: defines `pk.pay(a) or pk.pay(a, b)`, tests call `pk.pay` with 0 arguments"],
        ),
        (
            PROCEDURE,
            [BLOCK],
            [],
        ),
        (
            FUNCTION,
            [
                "SELECT COUNT(*), UPPER(a), LISTAGG(b, ',') FROM t WHERE a IN (1, 2)",
                "SELECT get_total(1) FROM t",
            ],
            [],
        ),
        (
            FUNCTION + PROCEDURE,
            ["SELECT get_totl(1) FROM dual; ", "EXEC print_total(1)"],
            ["missing_entry_point: defines `get_total`, tests call `get_totl`"],
        ),
    ],
)
def test_oracle(program: str, calls: list[str], findings: list[str]) -> None:
    assert interface_findings(program, calls, "oracle") == findings


POSTGRES = (
    "CREATE FUNCTION f(a int, OUT b text) LANGUAGE plpgsql AS $$ BEGIN b := a; END $$;\n"
    "CREATE PROCEDURE p(a int, INOUT b int DEFAULT 1) LANGUAGE plpgsql AS $$ BEGIN END $$;\n"
    "CREATE FUNCTION g(int, VARIADIC rest int[]) RETURNS TABLE (x int) LANGUAGE sql AS $$ SELECT 1 $$;\n"
)


@pytest.mark.parametrize(
    ("calls", "findings"),
    [
        (["SELECT f(1), * FROM g(1, 2, 3, 4)", "CALL p(1); CALL public.p(1, b => 2);"], []),
        (["SELECT f(1, 'x')"], ["wrong_arguments: defines `f(a)`, tests call `f` with 2 arguments"]),
        (["SELECT g()"], ["wrong_arguments: defines `g(int, rest)`, tests call `g` with 0 arguments"]),
        (["CALL f(1)"], ["wrong_arguments: `f` is a function, tests call it as a procedure"]),
        (["CALL q(1)"], ["missing_entry_point: defines `f`, `p`, `g`, tests call `q`"]),
        (
            ["DO $$ BEGIN CALL p(1); PERFORM h(2); END $$"],
            ["missing_entry_point: defines `f`, `p`, `g`, tests call `h`"],
        ),
        (["SELECT now(), coalesce(a, 1) FROM generate_series(1, 2) WHERE x IN (1)"], []),
    ],
)
def test_postgres(calls: list[str], findings: list[str]) -> None:
    assert interface_findings(POSTGRES, calls, "postgres") == findings


def test_the_reference_says_what_is_wanted() -> None:
    """Without it an unknown function is the database's as long as the tests call something of the program."""
    calls = ["SELECT get_total(1), rate_of(2) FROM dual"]
    reference = FUNCTION + "CREATE FUNCTION rate_of(a NUMBER) RETURN NUMBER IS BEGIN RETURN 1; END;\n/"
    assert interface_findings(FUNCTION, calls, "oracle") == []
    assert interface_findings(FUNCTION, calls, "oracle", reference=reference) == [
        "missing_entry_point: defines `get_total`, tests call `rate_of`"
    ]
    assert interface_findings(FUNCTION, ["EXEC given(1)"], "oracle", reference=reference) == []


def test_earlier_turns_still_stand() -> None:
    calls = ["EXEC print_total(1)", "SELECT get_total(1) FROM dual"]
    assert [finding.problem for finding in check_interface(FUNCTION, calls, "oracle")] == [
        "missing_entry_point"
    ]
    assert check_interface(FUNCTION, calls, "oracle", earlier=[PROCEDURE]) == ()


@pytest.mark.parametrize(
    ("program", "dialect", "shown"),
    [
        (FUNCTION + PROCEDURE, "oracle", ["get_total/2", "print_total/1"]),
        (PACKAGE, "oracle", ["pk.pay/1", "pk.pay/2", "pk.due/0"]),
        ("CREATE PACKAGE BODY pk IS PROCEDURE a IS BEGIN NULL; END; END;\n/", "oracle", ["pk.a/0"]),
        (
            OBJECT,
            "oracle",
            ["t/2", "t/0", "t.m/0"],
        ),
        (POSTGRES, "postgres", ["f/1", "p/2", "g/2"]),
        ("SELECT 1", "postgres", []),
    ],
)
def test_entries(program: str, dialect: Dialect, shown: list[str]) -> None:
    assert [f"{entry.shown}/{len(entry.parameters)}" for entry in entries(program, dialect)] == shown


AS_FUNCTION = "wrong_arguments: `p` is a procedure, tests call it as a function"
ORACLE_P = "CREATE PROCEDURE p(a NUMBER) IS BEGIN NULL; END;\n/\n"
ORACLE_F = "CREATE FUNCTION p(a NUMBER) RETURN NUMBER IS BEGIN RETURN 1; END;\n/\n"
POSTGRES_P = "CREATE PROCEDURE p(a int) LANGUAGE sql AS $$ SELECT 1 $$;"
POSTGRES_F = "CREATE FUNCTION p(a int) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;"


@pytest.mark.parametrize(
    ("program", "call", "dialect", "findings"),
    [
        (ORACLE_P, "SELECT p(1) FROM dual", "oracle", [AS_FUNCTION]),
        (ORACLE_P, "DECLARE x NUMBER; BEGIN x := p(1); END;", "oracle", [AS_FUNCTION]),
        (ORACLE_P, "BEGIN p(1); IF 1 = 1 THEN p(2); END IF; END;\n/\nEXEC p(3)\nCALL p(4);", "oracle", []),
        (ORACLE_F, "CALL p(1) INTO :x;", "oracle", []),
        (ORACLE_P, "CALL p(1) INTO :x;", "oracle", [AS_FUNCTION]),
        (POSTGRES_P, "SELECT p(1);", "postgres", [AS_FUNCTION]),
        (POSTGRES_P, "DO $$ BEGIN PERFORM p(1); END $$", "postgres", [AS_FUNCTION]),
        (POSTGRES_F, "DO $$ BEGIN PERFORM p(1); END $$", "postgres", []),
        (POSTGRES_P, "CALL p(1); DROP PROCEDURE IF EXISTS p(int); GRANT EXECUTE ON PROCEDURE p(int) TO a;",
         "postgres", []),
    ],
)  # fmt: skip
def test_procedures_called_as_functions(
    program: str, call: str, dialect: Dialect, findings: list[str]
) -> None:
    assert interface_findings(program, [call], dialect) == findings
    wanted = ORACLE_F if dialect == "oracle" else POSTGRES_F
    assert interface_findings(program, [call], dialect, reference=wanted) == findings


def test_a_reference_with_the_same_procedure_says_that_the_call_is_one() -> None:
    assert interface_findings(ORACLE_P, ["SELECT p(1) FROM dual"], "oracle", reference=ORACLE_P) == []


@pytest.mark.parametrize(
    "script",
    [
        "INSERT INTO tt(a, b) SELECT 1, 2",
        "CREATE TABLE tt(a int REFERENCES uu(a)); CREATE INDEX i ON tt(a); CREATE VIEW v(a) AS SELECT 1",
        "CREATE TABLE IF NOT EXISTS tt(a int)",
        "SELECT * FROM generate_series(1, 2) g(i)",
        'SELECT * FROM generate_series(1, 2) AS g(i) JOIN tt x(a, b) ON true JOIN "T" y(c) ON true',
        "DO $$ DECLARE c CURSOR (x int) FOR SELECT 1; BEGIN NULL; END $$",
        "WITH q(a, b) AS (SELECT 1, 2), r(c) AS (VALUES (1)) SELECT * FROM q, r",
        "WITH RECURSIVE q(a) AS ((SELECT 1) UNION SELECT a FROM q) SELECT * FROM q",
        "COMMENT ON FUNCTION ff(int) IS 'x'",
    ],
)
def test_lists_of_columns_are_no_calls(script: str) -> None:
    assert interface_findings(POSTGRES_F, [script], "postgres") == []


@pytest.mark.parametrize(
    "script",
    [
        "SELECT * FROM LATERAL foo(1)",
        "SELECT * FROM tt JOIN uu ON foo(1) = 1",
        "WITH q AS (SELECT 1), r AS (SELECT 2) SELECT 1, foo(1)",
        "SELECT * FROM generate_series(1, 2) g(i), foo(1) AS (a int)",
        "CREATE TRIGGER t AFTER INSERT ON tt FOR EACH ROW EXECUTE FUNCTION foo()",
        "SELECT a IS DISTINCT FROM NOT foo(1)",
    ],
)
def test_calls_beside_lists_of_columns(script: str) -> None:
    missing = ["missing_entry_point: defines `p`, tests call `foo`"]
    assert interface_findings(POSTGRES_F, [script], "postgres") == missing
