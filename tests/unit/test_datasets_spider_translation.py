"""Gold queries in PostgreSQL's SQL: what is translated, and what is refused with which reason."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.task import Source
from pytest_plsqlbench.datasets.plsqlbench.gold_query import GoldReader, UntranslatableError
from pytest_plsqlbench.datasets.plsqlbench.oracle_gold import to_oracle
from pytest_plsqlbench.datasets.plsqlbench.schema import DdlRow, read_ddl, replay
from pytest_plsqlbench.datasets.spider.translation import PostgresGold, to_postgres

TABLES = [
    """CREATE TABLE W.C ("ID" NUMBER, "NAME" VARCHAR2(20), "CODE" CHAR(3), "ZIP" CHAR(5), "BORN" DATE,
    "SEEN" TIMESTAMP, "NOTE" CLOB, "RATE" VARCHAR2(10), "USD" NUMBER(9,2))""",
    'CREATE TABLE W.L ("CID" NUMBER, "LANG" VARCHAR2(20), "CODE" CHAR(3), "PCT" NUMBER)',
    'CREATE TABLE W.B ("ID" NUMBER, "PICTURE" BLOB)',
    'CREATE TABLE OTHER.C ("ID" NUMBER)',
]
GOLDS = GoldReader(replay(DdlRow("W", "x", text, Source("ddl.jsonl", 1)) for text in TABLES))


def translate(query: str) -> PostgresGold:
    return to_postgres(GOLDS.read(query, "W"))


def short(sql: str) -> str:
    """The translation without quotes around names, for reading; sources keep their names."""
    return sql.replace('"', "")


FROM_C = "FROM w.c AS c"

TRANSLATED = {
    # names fold to lower case; a star becomes the columns in the order that the DDL leaves
    "SELECT NAME FROM W.C": f"SELECT c.name AS name {FROM_C}",
    "SELECT * FROM W.L T": "SELECT t.cid AS cid, t.lang AS lang, t.code AS code, t.pct AS pct FROM w.l AS t",
    "select w.c.name from w.c": f"SELECT c.name AS name {FROM_C}",
    "SELECT 1 FROM DUAL": "SELECT 1 AS 1",
    # '' is NULL
    "SELECT ID FROM W.C WHERE NAME <> ''": f"SELECT c.id AS id {FROM_C} WHERE c.name <> NULL",
    # numbers and text meet as numbers, but only where Oracle converts
    "SELECT ID FROM W.C WHERE ID = '5'": f"SELECT c.id AS id {FROM_C} WHERE c.id = 5",
    "SELECT ID FROM W.C WHERE RATE > 3": f"SELECT c.id AS id {FROM_C} WHERE CAST(c.rate AS DECIMAL) > 3",
    "SELECT ID FROM W.C WHERE RATE > '3'": f"SELECT c.id AS id {FROM_C} WHERE c.rate > '3'",
    "SELECT ID FROM W.C WHERE RATE IN (1, '2')": f"SELECT c.id AS id {FROM_C}"
    " WHERE (CAST(c.rate AS DECIMAL) = 1 OR c.rate = '2')",
    "SELECT ID FROM W.C WHERE ID NOT IN (SELECT RATE FROM W.C)": f"SELECT c.id AS id {FROM_C} WHERE NOT"
    f" c.id IN (SELECT CAST(q.c AS DECIMAL) FROM (SELECT c.rate AS rate {FROM_C}) AS q(c))",
    "SELECT SUM(RATE), AVG(RATE), MAX(RATE) FROM W.C": "SELECT SUM(CAST(c.rate AS DECIMAL)) AS _col_0,"
    f" AVG(CAST(c.rate AS DECIMAL)) AS _col_1, MAX(c.rate) AS _col_2 {FROM_C}",
    "SELECT TO_NUMBER(RATE), CAST(RATE AS INTEGER) FROM W.C": "SELECT CAST(c.rate AS DECIMAL) AS _col_0,"
    f" CAST(CAST(CAST(c.rate AS DECIMAL) AS DECIMAL) AS DECIMAL(38, 0)) AS rate {FROM_C}",
    # CHAR is kept without its padding
    "SELECT ID FROM W.C WHERE CODE = 'a  '": f"SELECT c.id AS id {FROM_C} WHERE c.code = 'a'",
    "SELECT ID FROM W.C WHERE CODE = ZIP": f"SELECT c.id AS id {FROM_C} WHERE c.code = c.zip",
    "SELECT ID FROM W.C WHERE CODE LIKE '%a%'": f"SELECT c.id AS id {FROM_C} WHERE c.code LIKE '%a%'",
    "SELECT CODE FROM W.C INTERSECT SELECT CODE FROM W.L": f"SELECT c.code AS code {FROM_C}"
    " INTERSECT SELECT l.code AS code FROM w.l AS l",
    # LIKE has no escape unless it names one
    r"SELECT ID FROM W.C WHERE NAME LIKE 'a\%'": f"SELECT c.id AS id {FROM_C}"
    r" WHERE c.name LIKE 'a\%' ESCAPE ''",
    "SELECT ID FROM W.C WHERE NAME NOT LIKE 'a!%' ESCAPE '!'": f"SELECT c.id AS id {FROM_C}"
    " WHERE NOT c.name LIKE 'a!%' ESCAPE '!'",
    "SELECT ID FROM W.C WHERE UPPER(NAME) LIKE UPPER('%w%')": f"SELECT c.id AS id {FROM_C}"
    " WHERE UPPER(c.name) LIKE '%W%'",
    # set operations of Oracle go from left to right
    "SELECT NAME FROM W.C UNION SELECT LANG FROM W.L INTERSECT SELECT NAME FROM W.C": "(SELECT c.name AS"
    f" name {FROM_C} UNION SELECT l.lang AS lang FROM w.l AS l) INTERSECT SELECT c.name AS name {FROM_C}",
    "SELECT NAME FROM W.C MINUS SELECT LANG FROM W.L": f"SELECT c.name AS name {FROM_C}"
    " EXCEPT SELECT l.lang AS lang FROM w.l AS l",
    # || passes over NULL; empty text is NULL
    "SELECT NAME || '-' FROM W.C": f"SELECT NULLIF(CONCAT(c.name, '-'), '') AS _col_0 {FROM_C}",
    "SELECT SUBSTR(NAME, 2, 3) FROM W.C": "SELECT NULLIF(SUBSTRING(c.name FROM 2 FOR 3), '') AS _col_0"
    f" {FROM_C}",
    "SELECT NVL(NAME, 'x') FROM W.C": f"SELECT COALESCE(c.name, 'x') AS _col_0 {FROM_C}",
    "SELECT ROUND(ID, 1) FROM W.C": f"SELECT ROUND(CAST(c.id AS DECIMAL), 1) AS _col_0 {FROM_C}",
    # dates
    "SELECT ID FROM W.C WHERE BORN > TO_DATE('2001-02-03', 'YYYY-MM-DD')": f"SELECT c.id AS id {FROM_C}"
    " WHERE c.born > CAST('2001-02-03 00:00:00' AS TIMESTAMP)",
    "SELECT ID FROM W.C WHERE SEEN < TIMESTAMP '2020-01-01 10:00:00'": f"SELECT c.id AS id {FROM_C}"
    " WHERE c.seen < CAST('2020-01-01 10:00:00' AS TIMESTAMP)",
    "SELECT EXTRACT(YEAR FROM SEEN), TO_CHAR(BORN, 'YYYY') FROM W.C": "SELECT CAST(EXTRACT(YEAR FROM"
    f" c.seen) AS DECIMAL) AS _col_0, TO_CHAR(c.born, 'YYYY') COLLATE C AS _col_1 {FROM_C}",
    # a name under HAVING is the column, not the output of another meaning
    "SELECT CODE FROM W.C GROUP BY CODE HAVING AVG(USD) > 3": f"SELECT c.code AS code {FROM_C}"
    " GROUP BY c.code HAVING AVG(c.usd) > 3",
    "SELECT ID AS NAME FROM W.C WHERE NAME = 'a'": f"SELECT c.id AS name {FROM_C} WHERE c.name = 'a'",
    # the order of an inner query means nothing unless it cuts
    "SELECT X.N FROM (SELECT COUNT(*) AS N FROM W.C GROUP BY CODE ORDER BY 1) X WHERE X.N > 1": "SELECT x.n"
    f" AS n FROM (SELECT COUNT(*) AS n {FROM_C} GROUP BY c.code) AS x WHERE x.n > 1",
    # one row needs no order, and WITH TIES would ask for one
    "SELECT AVG(ID) FROM W.C ORDER BY NAME FETCH FIRST 1 ROWS WITH TIES": "SELECT AVG(c.id) AS _col_0"
    f" {FROM_C} FETCH FIRST 1 ROWS ONLY",
    "SELECT MAX(LANG) KEEP (DENSE_RANK LAST ORDER BY PCT) FROM W.L": "SELECT (ARRAY_AGG(l.lang ORDER BY"
    " l.pct DESC, l.lang DESC NULLS LAST))[1] AS _col_0 FROM w.l AS l",
    "SELECT MIN(LANG) KEEP (DENSE_RANK FIRST ORDER BY PCT DESC) FROM W.L": "SELECT (ARRAY_AGG(l.lang"
    " ORDER BY l.pct DESC, l.lang ASC))[1] AS _col_0 FROM w.l AS l",
    "SELECT A.N FROM W.C JOIN (SELECT CID, COUNT(*) N FROM W.L GROUP BY CID) A ON ID = A.CID": "SELECT a.n"
    f" AS n {FROM_C} JOIN (SELECT l.cid AS cid, COUNT(*) AS n FROM w.l AS l GROUP BY l.cid) AS a"
    " ON c.id = a.cid",
}


@pytest.mark.parametrize("query", TRANSLATED)
def test_translated(query: str) -> None:
    assert short(translate(query).sql) == TRANSLATED[query]


REFUSED = {
    "SELECT ID / 2 FROM W.C": "division",
    "SELECT MAX(COUNT(*)) FROM W.C GROUP BY CODE": "aggregate of an aggregate",
    "SELECT NAME FROM W.C WHERE ROWNUM < 3": "ROWNUM",
    "SELECT NAME FROM W.C, W.L WHERE ID = CID(+)": "join_mark",
    "SELECT NAME FROM W.C WHERE CODE = NAME": "padding counts",
    "SELECT NAME FROM W.C WHERE CODE LIKE 'a'": "padding counts",
    "SELECT NAME FROM W.C WHERE CODE LIKE '%a_%'": "padding counts",
    "SELECT NAME FROM W.C WHERE CODE LIKE '% %'": "padding counts",
    "SELECT NAME FROM W.C WHERE UPPER(CODE) LIKE 'A'": "padding counts",
    "SELECT NVL(CODE, 'x') FROM W.C": "padding counts",
    "SELECT CODE || 'x' FROM W.C": "char used as text",
    "SELECT CODE FROM W.C UNION SELECT ZIP FROM W.C": "CHAR of different lengths",
    "SELECT CODE FROM W.C UNION SELECT NAME FROM W.C": "char and text in one column",
    "SELECT ID FROM W.C UNION SELECT NAME FROM W.C": "number and text in one column",
    "SELECT NAME FROM W.C WHERE BORN > '01-JAN-2001'": "session settings",
    "SELECT NAME FROM W.C WHERE BORN - 1 > SEEN": "date arithmetic",
    "SELECT NAME FROM W.C WHERE BORN > SYSDATE": "clock",
    "SELECT NAME FROM W.C WHERE BORN > TO_DATE('2001', 'YYYY')": "unproven format",
    "SELECT NAME FROM W.C WHERE BORN > TO_DATE(NAME, 'YYYY-MM-DD')": "not constant",
    "SELECT TO_CHAR(BORN, 'Month') FROM W.C": "unproven format",
    "SELECT TO_CHAR(ID) FROM W.C": "TO_CHAR of number",
    "SELECT NAME FROM W.C WHERE ID LIKE '1%'": "LIKE on number",
    "SELECT NAME FROM W.C WHERE NAME LIKE NOTE": "pattern that is not constant",
    "SELECT UPPER(NAME) FROM W.C": "expression UPPER",
    "SELECT ID FROM W.C WHERE UPPER(NAME) = UPPER(NOTE)": "ASCII constant",
    "SELECT ID FROM W.C WHERE UPPER(NAME) = 'É'": "ASCII constant",
    "SELECT ID FROM W.C WHERE ID = 'five'": "'five' used as a number",
    "SELECT ID || NAME FROM W.C": "number used as text",
    "SELECT DISTINCT NAME FROM W.C ORDER BY ID": "removes duplicates",
    "SELECT NAME FROM W.C ORDER BY ID OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY": "OFFSET",
    "SELECT NAME FROM W.C FETCH FIRST 10 PERCENT ROWS ONLY": "cut other than",
    "SELECT NAME FROM W.C LIMIT 3": "cut other than",
    "SELECT NAME FROM W.C FOR UPDATE": "locks",
    "SELECT COUNT(*) FROM W.C GROUP BY 1": "GROUP BY a constant",
    "SELECT ID FROM W.C JOIN W.B USING (ID)": "merges columns",
    "SELECT ID FROM W.C NATURAL JOIN W.B": "merges columns",
    "SELECT ID, ROW_NUMBER() OVER (ORDER BY ID) FROM W.C": "window",
    "SELECT ID FROM W.C WHERE (ID, NAME) IN (SELECT CID, LANG FROM W.L)": "Tuple",
    "SELECT ID FROM W.C WHERE ID = ANY (SELECT CID FROM W.L)": "expression ANY",
    "SELECT ID FROM W.C WHERE REGEXP_LIKE(NAME, 'a')": "REGEXP_LIKE",
    "SELECT LISTAGG(NAME, ',') WITHIN GROUP (ORDER BY ID) FROM W.C": "expression LISTAGG",
    "SELECT DECODE(ID, 1, 2) FROM W.C": "expression DECODE",
    "SELECT SUBSTR(NAME, -2) FROM W.C": "SUBSTR",
    "SELECT SUBSTR(NAME, 0, 2) FROM W.C": "SUBSTR",
    "SELECT PICTURE FROM W.B": "BLOB",
    "SELECT ID FROM W.NOPE": "wrong table name: W.NOPE is not in the DDL",
    "SELECT ID FROM OTHER.C": "wrong table name: OTHER.C is no table of W",
    "SELECT NOPE FROM W.C": "wrong column name: NOPE",
    "SELECT T.C.ID FROM W.C T": "wrong column name: T.C.ID",
    "SELECT A.CODE, B.CODE FROM W.C A, W.L B ORDER BY CODE": "fits two columns",
    "SELECT UPPER(NAME) AS CODE FROM W.C GROUP BY CODE HAVING CODE > 'a'": "expression UPPER",
    "SELECT ID AS CODE FROM W.C GROUP BY ID HAVING CODE > 'a'": "two readings",
    "SELECT A.* FROM (SELECT CODE, CODE FROM W.C) A": "star",
    "SELECT ID FROM W.C WHERE ID IN (SELECT CID FROM W.L WHERE LANG = NAME FETCH FIRST 1 ROWS ONLY)": "on the"
    " row around it",
    "SELECT NAME FROM W.C; DELETE FROM W.C": "not one query",
    "DELETE FROM W.C": "not one query",
    "SELECT NAME FROM": "not readable",
    "": "not one query",
    "How many are there?": "not readable",
}


@pytest.mark.parametrize("query", REFUSED)
def test_refused(query: str) -> None:
    with pytest.raises(UntranslatableError) as caught:
        translate(query)
    assert REFUSED[query] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_output_names_are_unique() -> None:
    found = translate("SELECT A.CODE, B.CODE, A.CODE AS COLUMN_2 FROM W.C A, W.L B")
    assert len(set(found.columns)) == 3


def test_names_that_differ_only_in_case_are_kept_apart() -> None:
    source = '(SELECT NAME AS "a", RATE AS "A" FROM W.C) X'
    inner = "(SELECT c.name AS a, c.rate AS column_2 FROM w.c AS c) AS x"
    assert short(translate(f'SELECT X."a" FROM {source}').sql) == f"SELECT x.a AS a FROM {inner}"
    with pytest.raises(UntranslatableError):
        translate(f'SELECT X."A" FROM {source}')


WORDS = [
    "SELECT",
    "FROM",
    "W.C",
    "W.L",
    "ID",
    "NAME",
    "CODE",
    "(",
    ")",
    ",",
    "WHERE",
    "=",
    "'a'",
    "1",
    "*",
    "COUNT(*)",
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "UNION",
    "MINUS",
    "JOIN",
    "ON",
    "AS",
    "T1",
    ".",
    "DISTINCT",
    "HAVING",
    "MAX",
    "''",
    "BETWEEN",
    "--",
    ";",
    '"',
    "/*",
]
WORDS += ["GROUP BY", "ORDER BY", "IS NULL", "FETCH FIRST 1 ROWS ONLY"]


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_text_is_translated_or_refused(words: list[str]) -> None:
    with contextlib.suppress(UntranslatableError):
        gold = GOLDS.read(" ".join(words), "W")
        to_oracle(gold)
        to_postgres(gold)


@pytest.mark.parametrize("name", ["spider_dev_pairs.jsonl", "spider_train_spider_pairs.jsonl.gz"])
def test_published_pairs_are_translated_or_refused(shared: Path, name: str) -> None:
    """The first pairs of each file; docs/spider.md has the figures of all."""
    folder = shared / "data" / "spider_oracle"
    content = (folder / name).read_bytes()
    lines = (gzip.decompress(content) if name.endswith(".gz") else content).splitlines()
    pairs = [json.loads(line) for line in lines[:100]]
    golds = GoldReader(replay(read_ddl(folder / "spider_ddl.jsonl", {pair["db_name"] for pair in pairs})))
    done = 0
    for pair in pairs:
        try:
            to_postgres(golds.read(pair["query"], pair["db_name"].upper()))
            done += 1
        except UntranslatableError:
            pass
    assert done >= 0.9 * len(pairs)
