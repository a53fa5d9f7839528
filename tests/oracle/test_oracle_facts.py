"""Pure parts of the Oracle engine: error facts, values, needs, names."""

from __future__ import annotations

import datetime as dt
import struct
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.engines.oracle import facts
from pytest_plsqlbench.engines.oracle.cells import cell, number_text
from pytest_plsqlbench.engines.oracle.names import gate_name, literal, new_password, quoted, user_name
from pytest_plsqlbench.engines.oracle.needs import Needs, may_redefine, needs_of
from pytest_plsqlbench.engines.oracle.output import buffer_size
from pytest_plsqlbench.engines.oracle.pins import pin_block
from pytest_plsqlbench.engines.oracle.port import Column, DriverError, ObjectValue
from pytest_plsqlbench.engines.oracle.provisioning import NEEDED_RIGHTS
from pytest_plsqlbench.engines.oracle.rowvalues import converter
from pytest_plsqlbench.engines.oracle.units import Unit, created_unit
from pytest_plsqlbench.engines.oracle.variables import ClientVariables, bind_names
from pytest_plsqlbench.engines.oracle.wide import fit_columns
from pytest_plsqlbench.engines.protocol import Limits


def error(
    message: str, code: int = 0, full_code: str = "", offset: int = 0, *, dead: bool = False
) -> DriverError:
    return DriverError(code=code, full_code=full_code, message=message, offset=offset, session_dead=dead)


def same(line: int, column: int) -> tuple[int, int]:
    return line, column


@pytest.mark.parametrize(
    ("message", "code", "said", "line", "column"),
    [
        # engines §1.8: ORA-06550 is only the wrapper, the PLS code says what happened.
        (
            "ORA-06550: line 2, column 3:\nPLS-00201: identifier 'X' must be declared\n"
            "ORA-06550: line 2, column 3:\nPL/SQL: Statement ignored",
            "PLS-00201", "identifier 'X' must be declared", 2, 3,
        ),
        # §1.8, schema grounding: ORA-00942 inside ORA-06550.
        ("ORA-06550: line 4, column 9:\nPL/SQL: ORA-00942: table or view does not exist", "ORA-00942", "table or view does not exist", 4, 9),
        # §1.8: ORA-06512 lines are only the stack; a line without a unit is the block that was sent.
        ('ORA-20001: no\nmore\nORA-06512: at "A.P", line 7\nORA-06512: at line 3', "ORA-20001", "no\nmore", 3, 1),
        # §1.8: the driver's own name for a lost session keeps the number below it.
        ("DPY-4011: the database closed the connection\nORA-00028: killed", "ORA-00028", "killed", None, None),
        ("DPY-4011: the database closed the connection", "DPY-4011", None, None, None),
        ("ORA-04088: error during execution of trigger\nORA-00001: unique", "ORA-00001", "unique", None, None),
        ("", "ORA-00000", None, None, None),
        ("something else\nORA-00942: gone", "ORA-00942", "gone", None, None),
    ],
)  # fmt: skip
def test_diagnose(message: str, code: str, said: str | None, line: int | None, column: int | None) -> None:
    full = message.split(":", maxsplit=1)[0] if message else ""
    found = facts.diagnose(error(message, full_code=full), "text", same)
    assert found.code == code
    if said is not None:
        assert found.message == said
    assert (found.line, found.column) == (line, column)


def test_positions_by_offset() -> None:
    """engines §1.8: ``offset`` is where parsing failed, 0 for runtime errors."""
    found = facts.diagnose(error("ORA-00942: gone", code=942, offset=16), "SELECT a\n  FROM nope", same)
    assert (found.line, found.column) == (2, 8)
    found = facts.diagnose(error("ORA-00942: gone", code=942, offset=99), "SELECT 1", same)
    assert found.line is None


def test_infrastructure_is_known_by_number() -> None:
    """engines §1.8, last row: listener, start-up, session limits, and a lost session of our own."""
    assert facts.is_infrastructure(error("", code=12516))
    assert facts.is_infrastructure(error("", full_code="DPY-6005"))
    assert facts.is_infrastructure(error("", dead=True))
    assert not facts.is_infrastructure(error("", code=1017))
    assert facts.one_line(error("a\nb")) == "a"
    assert facts.one_line(error("", full_code="DPY-1")) == "DPY-1"
    assert facts.one_line(error("")) == "unknown error"
    refused = error("DPY-6005: cannot connect\n[Errno 111] Connection refused\nx", full_code="DPY-6005")
    assert facts.one_line(refused) == "DPY-6005: cannot connect [Errno 111] Connection refused"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("PLS-00201: x", "PLS-00201"),
        ("PL/SQL: ORA-00942: x", "ORA-00942"),
        ("PL/SQL: Statement ignored", "PLS-00000"),
    ],
)
def test_compile_codes(text: str, code: str) -> None:
    """engines §1.8: the dictionary's text begins with the code, or wraps it."""
    assert facts.compile_code(text) == code


# -- values ----------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"), ("0.50", ".5"), ("-0.25", "-.25"), ("100", "100"), ("1E2", "100"), ("-123.450", "-123.45"),
        ("1E39", "1" + "0" * 39), ("1E40", "1.0000000000000000000000000000000000E+40"),
        ("1E125", "1.000000000000000000000000000000000E+125"),
        ("1.5E-50", "1.5000000000000000000000000000000000E-50"),
        ("Infinity", "~"), ("-Infinity", "-~"),
    ],
)  # fmt: skip
def test_numbers_print_as_to_char_does(value: str, text: str) -> None:
    """engines §1.9 and docs/oracle-status.md, number-text: exact digits, no zero before the point."""
    assert number_text(Decimal(value)) == text
    assert cell(Decimal(value), "NUMBER") == ("numeric", text)


def test_floats_from_the_driver_are_numbers_too() -> None:
    """A NUMBER inside an object comes as int or float."""
    assert number_text(0.5) == ".5"
    assert number_text(7) == "7"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_binary_double_keeps_its_bits(value: float) -> None:
    """Floats are compared bit for bit, so their text must bring the bits back."""
    found = cell(value, "BINARY_DOUBLE")
    assert found is not None
    assert struct.pack(">d", float(found[1])) == struct.pack(">d", value)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (0.1, "BINARY_DOUBLE", ("float", "1.0000000000000001E-001")),
        (1.5, "BINARY_FLOAT", ("float", "1.5E+000")),
        (0.0, "BINARY_DOUBLE", ("float", "0")),
        (-0.0, "BINARY_DOUBLE", ("float", "-0")),
        (float("nan"), "BINARY_DOUBLE", ("float", "Nan")),
        (float("inf"), "BINARY_DOUBLE", ("float", "Inf")),
        (float("-inf"), "BINARY_DOUBLE", ("float", "-Inf")),
        (None, "NUMBER", None),
        ("", "VARCHAR", None),  # engines §1.9: '' is NULL
        ("a ", "CHAR", ("text", "a ")),
        (dt.datetime(2024, 2, 29), "DATE", ("date", "2024-02-29")),
        (dt.datetime(2024, 2, 29, 10, 0, 1), "DATE", ("date", "2024-02-29 10:00:01")),
        (dt.date(2024, 2, 29), "DATE", ("date", "2024-02-29")),
        (dt.datetime(2024, 2, 29, 1, 2, 3, 40), "TIMESTAMP", ("timestamp", "2024-02-29 01:02:03.00004")),
        (dt.datetime(2024, 2, 29), "TIMESTAMP_TZ", ("timestamp", "2024-02-29 00:00:00")),
        (
            dt.datetime(2024, 2, 29, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30))),
            "TIMESTAMP_TZ", ("timestamptz", "2024-02-29 00:00:00-03:30"),
        ),
        (dt.datetime(2024, 2, 29), "VARCHAR", ("timestamp", "2024-02-29 00:00:00")),
        (dt.date(2024, 2, 29), "VARCHAR", ("date", "2024-02-29")),
        (dt.timedelta(days=-1, hours=2), "INTERVAL_DS", ("interval", "-00 22:00:00.000000")),
        (dt.timedelta(days=1, microseconds=5), "VARCHAR", ("interval", "+01 00:00:00.000005")),
        (SimpleNamespace(years=-1, months=-2), "INTERVAL_YM", ("interval", "-01-02")),
        (b"\x00\xff", "RAW", ("bytes", "00FF")),
        (b"\x01", "VARCHAR", ("bytes", "01")),
        (True, "BOOLEAN", ("bool", "TRUE")),
        (False, "VARCHAR", ("bool", "FALSE")),
        (Decimal("1.0"), "VARCHAR", ("numeric", "1")),
        ({"a": [Decimal(1), Decimal("1.5"), b"\x01", dt.date(2024, 1, 1)]}, "JSON",
         ("json", '{"a": [1, 1.5, "01", "2024-01-01"]}')),
        ([1.0, 2.5], "VECTOR", ("other", "[1.0,2.5]")),
        (ObjectValue("P", (("X", Decimal(1)), ("Y", None), ("Z", "it's"))), "OBJECT", ("other", "P(1, NULL, 'it''s')")),
        (ObjectValue("L", None, (ObjectValue("P", (("X", True),)), None, dt.date(2024, 1, 1))), "OBJECT",
         ("other", "L(P(TRUE), NULL, '2024-01-01')")),
    ],
)  # fmt: skip
def test_cells(value: object, kind: str, expected: object) -> None:
    """engines §1.9: values by type, in the text that the pinned settings give."""
    assert cell(value, kind) == expected


def test_nested_cursors_are_text() -> None:
    """A cursor in a row is shown with its rows."""

    def cursor(*numbers: int | None) -> SimpleNamespace:
        left = [(None if n is None else Decimal(n),) for n in numbers]

        def fetch(count: int) -> list[tuple[Decimal | None]]:
            batch, left[:] = left[:count], left[count:]
            return batch

        return SimpleNamespace(columns=(Column("N", "NUMBER"),), fetch=fetch, close=lambda: None)

    assert cell(cursor(1, None), "CURSOR") == ("other", "CURSOR[(1), (NULL)]")
    assert cell(cursor(), "CURSOR") == ("other", "CURSOR[]")
    one, two = (cell(cursor(*range(2500), last), "CURSOR") for last in (1, 2))
    assert one is not None
    assert "(999), and 1501 more, " in one[1]
    assert one != two, "nothing is left out in silence"


@pytest.mark.parametrize(
    ("data_type", "text", "value", "size"),
    [
        ("NUMBER", "1.50", Decimal("1.50"), "NUMBER"),
        ("FLOAT", "2", Decimal(2), "NUMBER"),
        ("BINARY_DOUBLE", "0.1", 0.1, "BINARY_DOUBLE"),
        ("DATE", "2024-02-29", dt.datetime(2024, 2, 29), "DATE"),
        ("TIMESTAMP(6)", "2024-02-29T10:00:00.5", dt.datetime(2024, 2, 29, 10, 0, 0, 500000), "TIMESTAMP"),
        ("TIMESTAMP(6) WITH TIME ZONE", "2024-02-29 10:00:00 +02:00", "2024-02-29 10:00:00 +02:00", None),
        ("BOOLEAN", "true", True, "BOOLEAN"),
        ("BOOLEAN", "0", False, "BOOLEAN"),
        ("RAW", "\\x00ff", b"\x00\xff", "RAW"),
        ("CLOB", "x", "x", "CLOB"),
        ("VARCHAR2", "x", "x", None),
    ],
)  # fmt: skip
def test_row_values(data_type: str, text: str, value: object, size: str | None) -> None:
    """Text becomes a value by the column's type."""
    convert, bound = converter(data_type)
    assert convert(text) == value
    assert bound == size


@pytest.mark.parametrize(
    ("data_type", "text"), [("DATE", "29.02.2024"), ("BOOLEAN", "maybe"), ("NUMBER", "1,5")]
)
def test_bad_row_values(data_type: str, text: str) -> None:
    """A value that does not fit its column is an error, not a guess."""
    with pytest.raises(ValueError, match=r"is not a"):
        converter(data_type)[0](text)


# -- texts ----------------------------------------


ALL_RIGHTS = tuple(sorted(NEEDED_RIGHTS))


@pytest.mark.parametrize(
    ("text", "rights", "writes"),
    [
        ("SELECT * FROM t", (), False),
        ("BEGIN v.DELETE; END;", (), False),  # a collection's method
        ("UPDATE t SET a = 1", (), True),
        ("SELECT a FROM t FOR UPDATE", (), True),
        ("BEGIN EXECUTE IMMEDIATE 'DELETE FROM t'; END;", (), True),
        ("BEGIN EXECUTE IMMEDIATE 'BEGIN EXECUTE IMMEDIATE ''MERGE INTO t ...''; END;'; END;", (), True),
        ("-- UPDATE\nSELECT 1 FROM dual", (), False),
        ("CREATE OR REPLACE FUNCTION f RETURN t IS BEGIN RETURN 1; END;", (), False),
        ("CREATE GLOBAL TEMPORARY TABLE t (n NUMBER)", ("CREATE TABLE",), False),
        ("CREATE OR REPLACE EDITIONABLE TRIGGER x", ("CREATE TRIGGER",), False),
        ("CREATE MATERIALIZED VIEW m AS SELECT 1 FROM t", ("CREATE MATERIALIZED VIEW", "CREATE TABLE"), False),
        ("BEGIN EXECUTE IMMEDIATE 'CREATE SEQUENCE s'; END;", ("CREATE SEQUENCE",), False),
        ("CREATE DIMENSION a LEVEL b IN c HIERARCHY d e", (), False),
        ("BEGIN EXECUTE IMMEDIATE 'UPDATE ' || t || ' SET a = 1'; END;", (), True),
        ("BEGIN EXECUTE IMMEDIATE 'DELETE' || ' FROM t'; END;", (), True),
        ("BEGIN EXECUTE IMMEDIATE 'CREATE OR REPLACE ' || kind || ' x'; END;", ALL_RIGHTS, False),
        ("BEGIN EXECUTE IMMEDIATE 'CREATE' || ' TABLE x (n NUMBER)'; END;", ALL_RIGHTS, False),
        ("BEGIN EXECUTE IMMEDIATE 'CREATE ' || 'TABLE x (n NUMBER)'; DBMS_OUTPUT.PUT_LINE(' '); END;", ALL_RIGHTS, False),
    ],
)  # fmt: skip
def test_needs(text: str, rights: tuple[str, ...], writes: bool) -> None:
    """engines §3.1: rights by need; in doubt a text writes."""
    assert needs_of([text]) == Needs(rights, writes)


def test_redefinition() -> None:
    """DDL in a call, or in a string of a program, may replace units within a second."""
    assert not may_redefine(["CREATE FUNCTION f ..."], ["EXEC p"])
    assert may_redefine(["BEGIN EXECUTE IMMEDIATE 'CREATE TABLE t (n NUMBER)'; END;"], [])
    assert may_redefine([], ["ALTER PROCEDURE p COMPILE"])
    assert may_redefine(["BEGIN EXECUTE IMMEDIATE 'CREATE ' || what; END;"], [])
    deep = "x"
    for _ in range(9):
        deep = "'" + f"EXECUTE {deep} ".replace("'", "''") + "'"
    assert not may_redefine([deep], [])
    assert needs_of([deep]) == Needs()


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("CREATE OR REPLACE PROCEDURE p IS", Unit("PROCEDURE", "P")),
        ('create or replace editionable function "mixed" return number', Unit("FUNCTION", "mixed")),
        ("CREATE PACKAGE BODY a.k IS", Unit("PACKAGE BODY", "K")),
        ("CREATE TYPE IF NOT EXISTS t AS OBJECT (n NUMBER)", Unit("TYPE", "T")),
        ("CREATE FORCE VIEW v AS SELECT 1 FROM x", Unit("VIEW", "V")),
        ("CREATE TABLE t (n NUMBER)", None),
        ("BEGIN NULL; END;", None),
        ("CREATE PROCEDURE", None),
        ("CREATE PROCEDURE 1", None),
        ("CREATE", None),
        ("", None),
    ],
)  # fmt: skip
def test_created_units(text: str, unit: Unit | None) -> None:
    """engines §1.8: errors are looked up by name and type; quoted names keep their case."""
    assert created_unit(text) == unit


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("SELECT :a, :B, :a FROM dual", "query", ["A", "B"]),
        ("CREATE TRIGGER t BEFORE INSERT ON x BEGIN :new.a := 1; END;", "create_trigger", []),
        ("SELECT JSON_OBJECT('k':v) FROM dual", "query", []),
        ("BEGIN x := ':y'; END;", "block", []),
        ("ALTER SESSION SET a = :b", "session", []),
    ],
)  # fmt: skip
def test_bind_names(text: str, kind: str, names: list[str]) -> None:
    """engines §1.6: DDL is not scanned; strings, comments and JSON colons are passed over."""
    assert bind_names(text, kind) == names


def test_printing_all_variables() -> None:
    """PRINT alone shows every variable; a new declaration forgets the value."""
    variables = ClientVariables()
    assert variables.declare("a NUMBER") is None
    assert variables.declare("a VARCHAR2(5)") is None
    assert variables.printed("") == ["A"]
    assert variables.printed(":a, b") == ["A", "B"]
    assert variables.kind("A") == "VARCHAR2"


@pytest.mark.parametrize(
    ("text", "fitted", "changed"),
    [
        ("CREATE TABLE t (a VARCHAR2(8000), b VARCHAR2(4000 CHAR))", "CREATE TABLE t (a CLOB, b VARCHAR2(4000 CHAR))", 1),
        ("CREATE TABLE t (a NVARCHAR2(2001), b RAW(4000 ))", "CREATE TABLE t (a NCLOB, b BLOB)", 2),
        ("ALTER TABLE t MODIFY (a VARCHAR2(16777216 BYTE) NOT NULL)", "ALTER TABLE t MODIFY (a CLOB NOT NULL)", 1),
        ("CREATE TABLE t (a VARCHAR2(n), b DATE)", "CREATE TABLE t (a VARCHAR2(n), b DATE)", 0),
        ("CREATE FUNCTION f (a VARCHAR2) RETURN t", "CREATE FUNCTION f (a VARCHAR2) RETURN t", 0),
        ("CREATE TABLE t (a DATE DEFAULT 'VARCHAR2(9000)', b VARCHAR2", "CREATE TABLE t (a DATE DEFAULT 'VARCHAR2(9000)', b VARCHAR2", 0),
        ("CREATE TABLE t (a VARCHAR2(9000 a b c d", "CREATE TABLE t (a VARCHAR2(9000 a b c d", 0),
        ("", "", 0),
    ],
)  # fmt: skip
def test_wide_columns(text: str, fitted: str, changed: int) -> None:
    """engines §4.5: with MAX_STRING_SIZE=STANDARD wider columns than 4000 bytes become LOBs."""
    found = fit_columns(text)
    assert (found.text, found.changed) == (fitted, changed)


# -- names ----------------------------------------


def test_names_fit_old_servers() -> None:
    """engines §2.4: at most 30 bytes, with run, worker and side."""
    assert user_name("deadbeef", "gw11", "C", 12) == "PLB_DEADBEEF_GW11_C12"
    assert len(user_name("deadbeef", "popen-gw1234567", "R", 99)) <= 30
    with pytest.raises(ValueError, match="too long"):
        user_name("a" * 30, "gw0", "C", 1)
    assert gate_name("SHOP") != gate_name("shop")
    assert len(gate_name("X" * 128)) <= 30


@pytest.mark.parametrize("name", ["", 'a"b', "a\0"])
def test_what_is_no_name(name: str) -> None:
    """Quoting cannot be broken out of."""
    with pytest.raises(ValueError, match="not an identifier"):
        quoted(name)


def test_literals_and_passwords() -> None:
    """engines §4.5: 12 to 30 characters with upper, lower and digit."""
    assert literal("it's") == "'it''s'"
    password = new_password()
    assert 12 <= len(password) <= 30
    assert any(c.isupper() for c in password)
    assert any(c.islower() for c in password)
    assert any(c.isdigit() for c in password)
    assert new_password() != password


def test_buffer_sizes() -> None:
    """engines §1.5: the documented range of the buffer."""
    assert buffer_size(Limits(output_bytes=10)) == 2000
    assert buffer_size(Limits(output_bytes=10**9)) == 1_000_000


def test_pins_only_what_the_server_knows() -> None:
    """engines §4.5: ALTER SESSION is restricted on Autonomous."""
    block = pin_block(frozenset({"NLS_SORT"}), "U")
    assert "NLS_SORT" in block
    assert "NLS_COMP" not in block
    assert 'CURRENT_SCHEMA = "U"' in block
