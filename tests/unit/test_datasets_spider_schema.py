"""Oracle DDL replayed, rows of INSERT statements read and written."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.datasets.plsqlbench.dml import DmlFile
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import OracleType
from pytest_plsqlbench.datasets.plsqlbench.oracle_values import (
    Given,
    MisfitError,
    converter,
    literal,
    number_as_text,
)
from pytest_plsqlbench.datasets.plsqlbench.schema import (
    Catalog,
    DdlRow,
    Table,
    postgres_ddl,
    postgres_key,
    postgres_problem,
    read_ddl,
    replay,
)


def ddl(*statements: str) -> Catalog:
    return replay(DdlRow("W", "T", text, Source("ddl.jsonl", n)) for n, text in enumerate(statements, 1))


def table(columns: str, *more: str) -> Table:
    return ddl(f"CREATE TABLE W.T ({columns})", *more).tables["W", "T"]


@pytest.mark.parametrize(
    ("oracle", "postgres"),
    [
        ("NUMBER", "numeric"),
        ("NUMBER(19,4)", "numeric(19,4)"),
        ("NUMBER(4)", "numeric(4,0)"),
        ("NUMBER(*,0)", "numeric(38,0)"),
        ("INTEGER", "numeric(38,0)"),
        ("VARCHAR2(40)", 'varchar(40) COLLATE "C"'),
        ("VARCHAR2(40 CHAR)", 'varchar(40) COLLATE "C"'),
        ("VARCHAR2(16777216)", 'text COLLATE "C"'),
        ("CHAR(3)", 'varchar(3) COLLATE "C"'),
        ("CLOB", 'text COLLATE "C"'),
        ("DATE", "date"),
        ("TIMESTAMP", "timestamp"),
        ("TIMESTAMP(3)", "timestamp(3)"),
    ],
)
def test_types(oracle: str, postgres: str) -> None:
    found = table(f"A {oracle}")
    assert postgres_problem(found) is None
    assert postgres_ddl(found) == f'CREATE TABLE "w"."t" (\n  "a" {postgres}\n)'


@pytest.mark.parametrize(
    "oracle",
    [
        "FLOAT",
        "BINARY_DOUBLE",
        "LONG",
        "BLOB",
        "RAW(16)",
        "TIMESTAMP(9)",
        "TIMESTAMP WITH TIME ZONE",
        "NUMBER(3,5)",
        "SDO_GEOMETRY",
    ],
)
def test_types_without_an_equal_are_a_problem(oracle: str) -> None:
    assert "W.T.A" in (postgres_problem(table(f"A {oracle}")) or "")


def test_replay_leaves_what_the_last_statement_leaves() -> None:
    found = table(
        "A NUMBER NOT NULL, \"B\" CLOB NULL, C CHAR(2) DEFAULT '' NOT NULL, D DATE,"
        ' CONSTRAINT P PRIMARY KEY (A, "B"),'
        " CONSTRAINT F FOREIGN KEY (A) REFERENCES W.X (A)",
        "ALTER TABLE W.T DROP COLUMN D",
        'ALTER TABLE  W.T ADD "D" VARCHAR2(9)',
        "ALTER TABLE W.T MODIFY C NULL",
        "ALTER TABLE W.T MODIFY (C CHAR(4))",
        "ALTER TABLE W.T MODIFY D VARCHAR2(10 BYTE)",
        "ALTER TABLE W.T ADD (E NUMBER NOT NULL, F DATE)",
    )
    assert postgres_ddl(found).splitlines()[1:-1] == [
        '  "a" numeric NOT NULL,',
        '  "b" text COLLATE "C",',
        '  "c" varchar(4) COLLATE "C",',
        '  "d" varchar(10) COLLATE "C",',
        '  "e" numeric NOT NULL,',
        '  "f" date',
    ]
    assert postgres_key(found) == 'ALTER TABLE "w"."t" ADD PRIMARY KEY ("a", "b")'
    assert found.foreign_keys == 1


def test_dropping_a_column_of_the_key_drops_the_key() -> None:
    found = table("A NUMBER PRIMARY KEY, B NUMBER", "ALTER TABLE W.T DROP COLUMN A")
    assert postgres_key(found) is None


def test_a_dropped_table_is_gone_and_can_come_back() -> None:
    catalog = ddl("CREATE TABLE W.T (A NUMBER)", "DROP TABLE W.T")
    assert not catalog.tables
    assert not catalog.problems
    again = ddl("CREATE TABLE W.T (A NUMBER)", "DROP TABLE W.T", "CREATE TABLE W.T (B NUMBER)")
    assert list(again.tables["W", "T"].columns) == ["B"]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE W.NOPE ADD A NUMBER",
        "ALTER TABLE W.T DROP COLUMN NOPE",
        "ALTER TABLE W.T MODIFY NOPE NULL",
        "ALTER TABLE W.T MODIFY",
        "ALTER TABLE W.T RENAME COLUMN A TO B",
        "ALTER TABLE W.T ADD A NUMBER",
        "CREATE VIEW W.V AS SELECT * FROM W.T",
        "CREATE TABLE W.U AS SELECT * FROM W.T",
        "GRANT SELECT ON W.T TO X",
        "no SQL at all (",
        "CREATE TABLE W.U (A NUMBER(5,-2))",
    ],
)
def test_a_statement_that_is_not_understood_is_never_passed_over(statement: str) -> None:
    catalog = ddl("CREATE TABLE W.T (A NUMBER)", statement)
    assert list(catalog.problems) == ["W"]
    assert catalog.problems["W"].startswith("the DDL of table T at ddl.jsonl:2 is not understood")


def test_the_word_at_which_a_statement_is_not_understood_is_named() -> None:
    catalog = ddl("CREATE TABLE W.T (A NUMBER)", "CREATE TABLE W.U (A NUMBR(3) NOOT NULL)")
    message = "the DDL of table T at ddl.jsonl:2 is not understood, near 'NOOT'"
    assert catalog.problems == {"W": message}


def test_an_index_or_a_comment_changes_nothing() -> None:
    found = ddl("CREATE TABLE W.T (A NUMBER)", "CREATE INDEX W.I ON W.T (A)", "COMMENT ON TABLE W.T IS 'x'")
    assert not found.problems


def test_names_that_postgres_cannot_keep_apart_are_a_problem() -> None:
    assert "only in case" in (postgres_problem(table('"a" NUMBER, "A" NUMBER')) or "")
    assert "too long" in (postgres_problem(table(f"{'A' * 64} NUMBER")) or "")


def test_statements_are_kept_by_the_schema_they_are_about() -> None:
    catalog = ddl(
        "CREATE TABLE W.T (A NUMBER)", "CREATE TABLE OTHER.T (A NUMBER)", "ALTER TABLE W.T ADD B DATE"
    )
    assert [row.source.line for row in catalog.statements["W"]] == [1, 3]
    assert [row.source.line for row in catalog.statements["OTHER"]] == [2]


def test_read_ddl_says_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "ddl.jsonl"
    path.write_text('{"db_id": "W", "table": "T", "sql": "CREATE TABLE W.T (A NUMBER);"}\n\n{"db_id": "W"}\n')
    with pytest.raises(UserError, match=r"ddl\.jsonl:3: needs a text under the key 'table'"):
        read_ddl(path)
    path.write_text('{"db_id": "W", "table": "T", "sql": "CREATE TABLE W.T (A NUMBER);"}\n')
    assert [row.sql for row in read_ddl(path, ["w"])] == ["CREATE TABLE W.T (A NUMBER)"]
    assert not read_ddl(path, ["x"])


# ---- values ---------------------------------------------------------------------------------------

NUMBER = OracleType("NUMBER", "number")
MONEY = OracleType("NUMBER(5,2)", "number", precision=5, scale=2)
TEXT = OracleType("VARCHAR2(4)", "varchar", 4)
LETTERS = OracleType("VARCHAR2(4 CHAR)", "varchar", 4, characters=True)
CODE = OracleType("CHAR(4)", "char", 4)
CLOB = OracleType("CLOB", "clob")
DATE = OracleType("DATE", "date")
MOMENT = OracleType("TIMESTAMP(3)", "timestamp", precision=3)


@pytest.mark.parametrize(
    ("kind", "given", "stored"),
    [
        (NUMBER, Decimal("12.50"), "12.5"),
        (NUMBER, Decimal("1E+3"), "1000"),
        (NUMBER, Decimal("-0.0"), "0"),
        (NUMBER, " 7 ", "7"),
        (NUMBER, "", None),
        (NUMBER, None, None),
        (MONEY, Decimal("999.99"), "999.99"),
        (MONEY, Decimal("1.500"), "1.5"),
        (TEXT, "abcd", "abcd"),
        (TEXT, "", None),
        (TEXT, Decimal("0.5"), ".5"),
        (TEXT, Decimal("10.0"), "10"),
        (LETTERS, "äöüß", "äöüß"),
        (CODE, "ab  ", "ab"),
        (DATE, "2011-01-22", "2011-01-22"),
        (DATE, "7-APR-2001", "2001-04-07"),
        (DATE, datetime(2011, 1, 22), "2011-01-22"),  # noqa: DTZ001
        (MOMENT, "2011-01-22 03:04:05.678", "2011-01-22 03:04:05.678000"),
        (MOMENT, "2011-01-22", "2011-01-22 00:00:00"),
    ],
)
def test_stored_values(kind: OracleType, given: Given, stored: str | None) -> None:
    assert converter(kind, "postgres")(given) == stored


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (NUMBER, "nil"),
        (NUMBER, "NaN"),
        (NUMBER, "1_000"),
        (NUMBER, Decimal("1" * 41 + "." + "1")),
        (MONEY, Decimal(1000)),
        (MONEY, Decimal("1.005")),
        (TEXT, "abcde"),
        (TEXT, "äöü"),
        (LETTERS, "abcde"),
        (CODE, "abcde"),
        (CLOB, "a\0b"),
        (DATE, "31 June 1208"),
        (DATE, "2011-02-30"),
        (DATE, "2011-01-22 10:00:00"),
        (DATE, Decimal(20110122)),
        (MOMENT, "2011-01-22 03:04:05.6789"),
        (MOMENT, "2011-01-22 03:04:05+02:00"),
    ],
)
def test_values_that_do_not_fit_are_refused(kind: OracleType, given: Given) -> None:
    with pytest.raises(MisfitError):
        converter(kind, "postgres")(given)


def test_oracle_keeps_padding_and_time() -> None:
    assert converter(CODE, "oracle")("ab  ") == "ab  "
    assert converter(DATE, "oracle")("2011-01-22 10:00:00") == "2011-01-22 10:00:00"


@pytest.mark.parametrize(("number", "text"), [("0.5", ".5"), ("-0.5", "-.5"), ("10.50", "10.5"), ("0", "0")])
def test_numbers_as_oracle_spells_them(number: str, text: str) -> None:
    assert number_as_text(Decimal(number)) == text


# ---- rows -----------------------------------------------------------------------------------------

COLUMNS = "A NUMBER, B VARCHAR2(100), C TIMESTAMP, D CLOB"


def dml(folder: Path, content: object) -> DmlFile:
    path = folder / "dml.json"
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8")
    else:
        path.write_text(json.dumps(content), encoding="utf-8")
    return DmlFile(path)


def table_form(*statements: str, name: str = "T", **more: Any) -> dict[str, Any]:
    return {"metadata": {}, "tables": {name: {"insert_statements": list(statements), **more}}}


def rows(file: DmlFile, columns: str = COLUMNS) -> list[tuple[str | None, ...]]:
    return list(file.rows(table(columns), "postgres"))


def test_rows_of_the_published_form(tmp_path: Path) -> None:
    statement = (
        "INSERT /*+ APPEND */ INTO W.T (\"B\", A, \"C\", D) VALUES ('it''s, (a)', -1.50,"
        " TIMESTAMP '2011-01-22 03:04:05', NULL),\n (q'[x'y]', 2, TO_DATE('2011-01-22', 'YYYY-MM-DD'),"
        " TO_CLOB('long ') || TO_CLOB('text')), (N'é', +3e1, '2011-01-22', '')"
    )
    assert rows(dml(tmp_path, table_form(statement))) == [
        ("-1.5", "it's, (a)", "2011-01-22 03:04:05", None),
        ("2", "x'y", "2011-01-22 00:00:00", "long text"),
        ("30", "é", "2011-01-22 00:00:00", None),
    ]


def test_rows_without_a_column_list_are_in_the_order_of_the_columns(tmp_path: Path) -> None:
    file = dml(tmp_path, table_form("INSERT INTO W.T VALUES (1, 'x', NULL, NULL);"))
    assert rows(file) == [("1", "x", None, None)]


def test_rows_belong_to_the_table_that_the_statement_names(tmp_path: Path) -> None:
    file = dml(tmp_path, table_form("INSERT INTO W.T (A) VALUES (1)", "INSERT INTO X.T (A) VALUES (2)"))
    assert rows(file) == [("1", None, None, None)]
    assert set(file.tables()) == {("W", "T"), ("X", "T")}


def test_rows_of_the_row_form(tmp_path: Path) -> None:
    lines = [
        {"db_id": "w", "table": "T", "sql": "INSERT INTO T (A) VALUES (1)"},
        {"db_id": "w", "table": "T", "insert_statements": ["INSERT INTO W.T (A) VALUES (2), (3)"]},
    ]
    file = dml(tmp_path, "\n".join(map(json.dumps, lines)))
    assert [row[0] for row in rows(file)] == ["1", "2", "3"]


def test_the_digest_tells_tables_with_other_rows_apart(tmp_path: Path) -> None:
    first = dml(tmp_path, table_form("INSERT INTO W.T (A) VALUES (1)")).digest(table(COLUMNS))
    second = dml(tmp_path, table_form("INSERT INTO W.T (A) VALUES (2)")).digest(table(COLUMNS))
    assert first != second


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "dml.json:1: is not a JSON object"),
        ('{"tables": []}', "'tables' is not an object"),
        ('{"tables": {"T": {}}}', "table T: needs a list of texts under 'insert_statements'"),
        ('{"db_id": "w", "sql": 1}', "dml.json:1: is neither"),
        ("{", "dml.json:1: is not JSON"),
        (table_form("DELETE FROM W.T"), "table T, statement 1: expected INSERT, found 'DELETE'"),
        (table_form("INSERT ALL INTO W.T VALUES (1) SELECT 1 FROM DUAL"), "expected INTO, found 'ALL'"),
    ],
)
def test_files_of_another_form_are_refused(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(UserError) as caught:
        dml(tmp_path, content)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("INSERT INTO W.T (A) SELECT 1 FROM DUAL", "expected VALUES, found 'SELECT'"),
        ("INSERT INTO W.T (A) VALUES (1), (", "ends too early"),
        (
            "INSERT INTO W.T (A) VALUES (1) RETURNING A",
            "expected the end of the statement, found 'RETURNING'",
        ),
        ("INSERT INTO W.T (A) VALUES (1 + 1)", "expected ), found '+'"),
        ("INSERT INTO W.T (A) VALUES (SYSDATE)", "expected a value, found 'SYSDATE'"),
        ("INSERT INTO W.T (A, B) VALUES (1)", "row 1 has 1 values for 2 columns"),
        ("INSERT INTO W.T (A, X) VALUES (1, 2)", "names the column X"),
        ("INSERT INTO W.T (A, A) VALUES (1, 2)", "names the column A"),
        ("INSERT INTO W.T (A) VALUES (1), ('nil')", "row 2 of W.T, A: 'nil' is not a number"),
        (
            "INSERT INTO W.T (C) VALUES (TO_DATE('1.2.2003', 'DD.MM.YYYY'))",
            "TO_DATE of '1.2.2003' is not read",
        ),
        ("INSERT INTO W.T (B) VALUES ('open", "expected a value"),
    ],
)
def test_statements_that_are_not_plain_rows_are_refused(tmp_path: Path, statement: str, message: str) -> None:
    file = dml(tmp_path, table_form(statement))
    with pytest.raises(UserError) as caught:
        rows(file)
    assert message in str(caught.value)
    assert "dml.json: table T, statement 1" in str(caught.value)


def test_columns_that_may_not_be_null(tmp_path: Path) -> None:
    columns = "A NUMBER PRIMARY KEY, B VARCHAR2(9) NOT NULL, C DATE"
    with pytest.raises(UserError, match="does not name the column B, which may not be NULL"):
        rows(dml(tmp_path, table_form("INSERT INTO W.T (A) VALUES (1)")), columns)
    with pytest.raises(UserError, match=r"row 1 of W\.T, B: may not be NULL"):
        rows(dml(tmp_path, table_form("INSERT INTO W.T (A, B) VALUES (1, '')")), columns)


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=50)
STORED = st.tuples(
    st.one_of(st.none(), st.decimals(allow_nan=False, allow_infinity=False, places=3)),
    st.one_of(st.none(), TEXTS.filter(lambda text: len(text.encode()) <= 100)),
    st.one_of(st.none(), st.datetimes(min_value=datetime(1, 1, 1))),  # noqa: DTZ001
    st.one_of(st.none(), TEXTS.map(lambda text: text * 200)),
)


@settings(max_examples=40)
@given(st.lists(STORED, min_size=1, max_size=3))
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, given_rows: list[Any]
) -> None:
    columns = list(table(COLUMNS).columns.values())
    makers = [converter(column.type, "oracle") for column in columns]
    try:
        stored = [tuple(make(value) for make, value in zip(makers, row, strict=True)) for row in given_rows]
    except MisfitError:
        return
    lines = [_line(row, [column.type for column in columns]) for row in stored]
    statement = f"INSERT INTO W.T (A, B, C, D) VALUES {', '.join(lines)}"
    folder = tmp_path_factory.mktemp("dml")
    assert list(dml(folder, table_form(statement)).rows(table(COLUMNS), "oracle")) == stored


def _line(row: Iterable[str | None], kinds: Iterable[OracleType]) -> str:
    return "(" + ", ".join(map(literal, row, kinds)) + ")"
