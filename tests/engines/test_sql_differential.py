"""The psql reader against the real parser: a script is taken exactly when its pieces are, one statement each.

``SELECT 1/0;`` in front makes the server parse all that it is sent and run nothing of it: a syntax error
shows as such, a text that parses as a division by zero.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.sql.lexer import tokenize
from pytest_plsqlbench.sql.script import read_script

SCRIPTS = (
    "SELECT 1; SELECT 2",
    "SELECT 1;;; SELECT 2;",
    "SELECT ';', $$;$$, E'\\';', U&'d\\0061;' -- ;\n, \"a;b\" /* ; /* ; */ ; */ FROM t; TABLE t",
    "SELECT E'a'\n  'b\\'c;d' AS x; SELECT 2",
    "SELECT 'a'\n 'b' , 'c''d;' ; SELECT 1",
    "SELECT $a$ $b$ ; $a$ $b$; SELECT 1",
    "SELECT a$b$c FROM t; SELECT $1",
    "SELECT 1-- c\n;SELECT 2--",
    "SELECT 1 /* c */; /* alone */; SELECT 2 /* end */",
    "CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END; $$; SELECT f();",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT '';''; SELECT 2'; SELECT f()",
    "CREATE FUNCTION f(a int) RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE a WHEN 1 THEN 2 END; END; END",
    "CREATE PROCEDURE p() LANGUAGE sql BEGIN ATOMIC INSERT INTO t VALUES (1); DELETE FROM t; END; CALL p()",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC END; SELECT 1",
    "CREATE FUNCTION g() RETURNS int RETURN 1 + CASE WHEN true THEN 1 ELSE 2 END; SELECT 1",
    "CREATE FUNCTION f() RETURNS text BEGIN ATOMIC SELECT (CASE WHEN true THEN 'a;' END); END; SELECT 2",
    "CREATE RULE r AS ON INSERT TO t DO ALSO (INSERT INTO u VALUES (1); DELETE FROM v); SELECT 1",
    "DO $$ BEGIN NULL; END $$; DO LANGUAGE plpgsql 'BEGIN RAISE NOTICE ''a;b''; END';",
    "DO $outer$ BEGIN EXECUTE $inner$ SELECT ';' $inner$; END $outer$; SELECT 1",
    "BEGIN; SAVEPOINT a; ROLLBACK TO a; RELEASE a; COMMIT; START TRANSACTION; END; PREPARE TRANSACTION 'x'",
    "WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM a; WITH b AS (SELECT 1) DELETE FROM t",
    "SELECT 1 + -- minus\n - 2; SELECT 3 */* c */ 4; SELECT 5 --x\r; SELECT 6",
    "SELECT a[1:2], b::int, c:=1 FROM t; SELECT 1",
    "SELECT a[1:2], b::int, f(c := 1, d => 2) FROM t; SELECT 1",
    "SELECT 1..2; SELECT 1.5e-3, .5, 1., 0x1F, 1_000; SELECT 1",
    "SELECT '\\'; SELECT '\\' ; SELECT 1",
    "SELECT B'01', X'1F', N'a;', U&\"\\0061;\"; SELECT 1",
    "SELECT @-1, a <-> b, a ~* 'x;', !!3, a #>> '{b}', a @> b, a ?| b; SELECT 1",
    "CREATE TABLE t (a int DEFAULT 1, b text CHECK (b <> ';')); INSERT INTO t VALUES (';'); COPY t TO STDOUT",
    "CREATE VIEW v AS SELECT 1; CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f(';')",
    "SELECT (1; SELECT 2",
    "SELECT 1); SELECT 2",
    "SELECT 'open; SELECT 2",
    "SELECT /* open; SELECT 2",
    "SELECT $$ open; SELECT 2",
    'SELECT "open; SELECT 2',
    "DO $$ BEGIN NULL; END $$ language plpgsql\n/\nSELECT 1;",
    "DECLARE x int; BEGIN x := 1; END;",
    "BEGIN RAISE NOTICE 'x'; END;",
    "SELEC 1; SELECT 2",
    "```sql\nSELECT 1;\n```",
    "Here is the query: SELECT 1;",
    "EXEC p(1); SELECT 1",
    "SELECT\u00a01; SELECT 2",
    "\ufeffSELECT 1; SELECT 2",
    "SELECT 1;\u2003SELECT 2",
    "SELECT 1;\x0cSELECT 2;\x0bSELECT 3",
    "CREATE SCHEMA s CREATE TABLE t (a int) CREATE VIEW v AS SELECT 1; SELECT 2",
    "PREPARE p AS SELECT $1::int; EXECUTE p(1); DEALLOCATE p",
    "EXPLAIN SELECT 1; SHOW ALL; SET x.y TO 'a;'; RESET ALL; DISCARD ALL; VACUUM; ANALYZE t",
)


@pytest.fixture(scope="module")
def connection(address: ServerAddress) -> Iterator[psycopg.Connection]:
    with psycopg.connect(address.conninfo, autocommit=True) as opened:
        yield opened


def parses(connection: psycopg.Connection, text: str) -> bool:
    """Whether the server's parser takes the text as a row of statements."""
    result = connection.pgconn.exec_(b"SELECT 1/0;\n" + text.encode())
    state = (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()
    assert state, "nothing may run"
    return state == "22012"


def is_single(connection: psycopg.Connection, text: str) -> bool:
    """Whether the server sees not more than one statement in a text that parses."""
    result = connection.pgconn.prepare(b"", text.encode())
    message = result.error_message.decode()
    return "multiple commands" not in message


def check(connection: psycopg.Connection, text: str) -> bool:
    """Hold a script against its pieces; whether the server takes it."""
    statements = read_script(text, "postgres").statements
    assert not any(statement.kind == "client" for statement in statements)
    whole = parses(connection, text.removeprefix("\ufeff"))  # which psql takes for the file's
    pieces = [parses(connection, statement.text) for statement in statements]
    assert whole == all(pieces), [s.text for s, good in zip(statements, pieces, strict=True) if not good]
    for statement, good in zip(statements, pieces, strict=True):
        assert not good or is_single(connection, statement.text), statement.text
    return whole


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_script_is_taken_exactly_when_its_pieces_are(connection: psycopg.Connection, text: str) -> None:
    check(connection, text)


def test_the_probe_tells_good_from_bad(connection: psycopg.Connection) -> None:
    assert parses(connection, "SELECT * FROM nowhere; VACUUM")
    assert not parses(connection, "SELECT 1; SELEC 2")
    assert not is_single(connection, "SELECT 1; SELECT 2")
    assert is_single(connection, "SELECT 1")


def test_real_answers_split_as_the_server_splits_them(connection: psycopg.Connection, shared: Path) -> None:
    with gzip.open(shared / "data/bird/model_answers.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    texts = [text for row in rows if row["dialect"] == "PostgreSQL" for text in row["pred_sqls"]]
    taken = sum(check(connection, text) for text in texts)
    assert len(texts) > 100
    assert taken > 0.9 * len(texts)


@pytest.mark.parametrize("seed", range(8))
def test_shuffled_pieces_of_scripts_split_alike(connection: psycopg.Connection, seed: int) -> None:
    """Scripts cut into tokens and put together at random: mostly wrong, and wrong in the same way."""
    chance = random.Random(seed)
    pool = [
        token.text
        for text in SCRIPTS[:31]
        for token in tokenize(text, "postgres")
        if token.kind not in {"broken", "unknown"} and "\\" not in token.text
    ]
    taken = 0
    for _ in range(40):
        pieces = [chance.choice(SCRIPTS[:31]) for _ in range(chance.randint(1, 3))]
        if chance.random() < 0.7:
            pieces.insert(
                chance.randint(0, len(pieces)), " ".join(chance.choices(pool, k=chance.randint(1, 4)))
            )
        taken += check(connection, ";".join(pieces))
    assert taken
