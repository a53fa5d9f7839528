"""What a gold query orders by, where it cuts, and how Oracle plays it."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Source
from pytest_plsqlbench.datasets.plsqlbench.gold_query import (
    Cut,
    GoldQuery,
    GoldReader,
    UntranslatableError,
    bare_query,
)
from pytest_plsqlbench.datasets.plsqlbench.oracle_gold import to_oracle
from pytest_plsqlbench.datasets.plsqlbench.schema import DdlRow, replay
from pytest_plsqlbench.datasets.spider.programs import oracle_program, postgres_program, prompt, question_of
from pytest_plsqlbench.datasets.spider.translation import output_kinds, to_postgres

DDL = 'CREATE TABLE W.C ("ID" NUMBER, "NAME" VARCHAR2(20), "AGE" NUMBER, "BORN" DATE, "SEEN" TIMESTAMP)'
GOLDS = GoldReader(replay([DdlRow("W", "C", DDL, Source("ddl.jsonl", 1))]))


def read(query: str) -> GoldQuery:
    return GOLDS.read(query, "W")


@pytest.mark.parametrize(
    ("query", "keys", "hidden"),
    [
        ("SELECT NAME FROM W.C", (), 0),
        ("SELECT NAME, AGE FROM W.C ORDER BY AGE", (1,), 0),
        ("SELECT NAME, AGE FROM W.C ORDER BY 2, NAME", (1, 0), 0),
        ("SELECT NAME, AGE FROM W.C ORDER BY AGE, 2 DESC", (1,), 0),
        ("SELECT NAME FROM W.C ORDER BY AGE DESC, NAME", (1, 0), 1),
        ("SELECT NAME FROM W.C ORDER BY AGE, ID", (1, 2), 2),
        ("SELECT NAME FROM W.C ORDER BY AGE, AGE", (1, 2), 2),
        ("SELECT ID AS AGE FROM W.C ORDER BY AGE", (0,), 0),
        ("SELECT ID AS AGE FROM W.C ORDER BY C.AGE", (1,), 1),
        ("SELECT * FROM W.C ORDER BY BORN", (3,), 0),
        ("SELECT AGE, COUNT(*) FROM W.C GROUP BY AGE ORDER BY COUNT(*) DESC", (1,), 0),
        ("SELECT AGE FROM W.C GROUP BY AGE ORDER BY COUNT(*) DESC", (1,), 1),
        ("SELECT NAME FROM W.C UNION SELECT NAME FROM W.C ORDER BY NAME", (0,), 0),
        ("SELECT NAME FROM (SELECT NAME FROM W.C ORDER BY NAME) T", (), 0),
        ("SELECT AVG(AGE) FROM W.C ORDER BY NAME", (), 0),
    ],
)
def test_sort_keys(query: str, keys: tuple[int, ...], hidden: int) -> None:
    gold = read(query)
    assert (gold.order_keys, len(gold.hidden)) == (keys, hidden)
    assert gold.ordered is bool(keys)


@pytest.mark.parametrize(
    ("query", "cut"),
    [
        ("SELECT NAME FROM W.C", None),
        ("SELECT NAME FROM W.C FETCH FIRST 3 ROWS ONLY", Cut(3, ties=False)),
        ("SELECT NAME FROM W.C FETCH NEXT ROW ONLY", Cut(1, ties=False)),
        ("SELECT NAME FROM W.C FETCH FIRST 3 ROWS WITH TIES", Cut(3, ties=False)),
        ("SELECT NAME FROM W.C ORDER BY NAME FETCH FIRST 3 ROWS WITH TIES", Cut(3, ties=True)),
    ],
)
def test_cut(query: str, cut: Cut | None) -> None:
    assert read(query).cut == cut


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        (" SELECT 1 FROM DUAL ; ", "SELECT 1 FROM DUAL"),
        ("SELECT ';--' FROM DUAL -- done;", "SELECT ';--' FROM DUAL"),
        ("/* a */ SELECT 1 FROM DUAL;;", "SELECT 1 FROM DUAL"),
        ("", ""),
        ("-- nothing", ""),
    ],
)
def test_what_stands_around_a_query_is_dropped(text: str, bare: str) -> None:
    assert bare_query(text) == bare


ORACLE = {
    "SELECT NAME FROM W.C": "SELECT NAME FROM W.C",
    "SELECT  NAME  FROM W.C ORDER BY AGE desc": "SELECT  NAME, AGE AS sort_key_1 FROM W.C ORDER BY AGE desc",
    "SELECT NAME FROM W.C ORDER BY NAME, LENGTH(NAME) NULLS FIRST, (AGE)": "SELECT NAME, LENGTH(NAME) AS"
    " sort_key_1, (AGE) AS sort_key_2 FROM W.C ORDER BY NAME, LENGTH(NAME) NULLS FIRST, (AGE)",
    "SELECT (SELECT MAX(AGE) FROM W.C) M FROM W.C ORDER BY AGE": "SELECT (SELECT MAX(AGE) FROM W.C) M,"
    " AGE AS sort_key_1 FROM W.C ORDER BY AGE",
    "WITH A AS (SELECT * FROM W.C) SELECT NAME FROM A ORDER BY AGE": "WITH A AS (SELECT * FROM W.C)"
    " SELECT NAME, AGE AS sort_key_1 FROM A ORDER BY AGE",
    "SELECT COUNT(*) FROM W.C ORDER BY AGE": "SELECT COUNT(*) FROM W.C ORDER BY AGE",
}


@pytest.mark.parametrize("query", ORACLE)
def test_oracle_plays_the_published_text_with_its_keys(query: str) -> None:
    assert to_oracle(read(query)).sql == ORACLE[query]


def test_oracle_does_not_add_to_a_star() -> None:
    with pytest.raises(UntranslatableError, match="star"):
        to_oracle(read("SELECT C.* FROM W.C ORDER BY LENGTH(NAME)"))


def test_ties_of_an_ordered_cut() -> None:
    gold = read("SELECT NAME FROM W.C ORDER BY AGE FETCH FIRST 3 ROWS ONLY")
    oracle, postgres = to_oracle(gold), to_postgres(gold)
    assert oracle.with_ties == oracle.sql.replace("ONLY", "WITH TIES")
    assert postgres.with_ties == postgres.sql.replace("ONLY", "WITH TIES")


def test_ties_of_a_cut_without_order() -> None:
    gold = read("SELECT NAME FROM W.C FETCH FIRST 3 ROWS ONLY")
    assert to_oracle(gold).with_ties == "SELECT NAME FROM W.C"
    assert "FETCH" not in (to_postgres(gold).with_ties or "FETCH")


@pytest.mark.parametrize(
    "query",
    ["SELECT NAME FROM W.C ORDER BY AGE", "SELECT NAME FROM W.C ORDER BY AGE FETCH FIRST 3 ROWS WITH TIES"],
)
def test_no_cut_no_ties(query: str) -> None:
    assert to_oracle(read(query)).with_ties is None
    assert to_postgres(read(query)).with_ties is None


def test_ties_of_an_inner_cut_are_looked_at_alone() -> None:
    gold = read("SELECT NAME FROM W.C WHERE ID = (SELECT ID FROM W.C ORDER BY AGE FETCH FIRST 2 ROWS ONLY)")
    for built in (to_oracle(gold), to_postgres(gold)):
        assert built.with_ties is not None
        assert "FETCH FIRST 2 ROWS WITH TIES" in built.with_ties
        assert "OFFSET 2" in built.with_ties
        assert "TIES" not in built.sql


def test_an_outer_cut_with_ties_stays_when_an_inner_one_is_looked_at() -> None:
    inner = "SELECT ID FROM W.C ORDER BY AGE FETCH FIRST 2 ROWS ONLY"
    gold = read(f"SELECT NAME FROM W.C WHERE ID IN ({inner}) ORDER BY AGE FETCH FIRST 3 ROWS WITH TIES")
    for built in (to_oracle(gold), to_postgres(gold)):
        assert built.with_ties is not None
        assert built.with_ties.count("FETCH FIRST 3 ROWS WITH TIES") == 2


def test_a_cut_that_depends_on_the_row_around_it_is_refused_for_both() -> None:
    inner = "SELECT ID FROM W.C A WHERE A.AGE = B.AGE FETCH FIRST 1 ROWS ONLY"
    gold = read(f"SELECT NAME FROM W.C B WHERE B.ID IN ({inner})")
    for translate in (to_oracle, to_postgres):
        with pytest.raises(UntranslatableError, match="depends on the row around it"):
            translate(gold)


def test_kinds_of_outputs() -> None:
    assert output_kinds(read("SELECT NAME, AGE, BORN, SEEN FROM W.C")) == (
        "text",
        "number",
        "date",
        "timestamp",
    )
    assert output_kinds(read("SELECT AGE / 2 FROM W.C")) == (None,)


def test_postgres_program_prints_null_as_nothing_and_survives_dollars() -> None:
    program = postgres_program('SELECT \'$body$\' AS "a""b"', ['a"b'])
    assert program.startswith("DO $body_$")
    assert 'format(\'%s\', r."a""b")' in program


def test_oracle_program_fetches_by_position() -> None:
    program = oracle_program("SELECT A, B FROM T", ["plain", "date"])
    assert "CURSOR answer IS\n    SELECT A, B FROM T;" in program
    assert "FETCH answer INTO v1, v2;" in program
    assert "v1 || ',' || TO_CHAR(v2, 'YYYY-MM-DD')" in program
    assert program.endswith("END;\n/\n")


def test_prompt_keeps_the_question() -> None:
    text = prompt("How many?", "postgres")
    assert question_of(text) == "How many?"
    assert "RAISE NOTICE" in text
    assert "DBMS_OUTPUT" not in text
    assert "DBMS_OUTPUT.PUT_LINE" in prompt("How many?", "oracle")
