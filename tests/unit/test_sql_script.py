"""The script readers: what is sent to the server, what is recovered, what is refused."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.script import Script, ScriptStatement, read_script

BLOCK = "BEGIN\n  p;\nEND;"


def oracle(text: str) -> Script:
    return read_script(text, "oracle")


def postgres(text: str) -> Script:
    return read_script(text, "postgres")


def sent(script: Script) -> list[str]:
    return [statement.text for statement in script.statements]


def codes(script: Script) -> list[str]:
    return [finding.code for finding in script.findings]


# -- Oracle: what ends a statement ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1 FROM dual;", ["SELECT 1 FROM dual"]),
        ("SELECT 1 FROM dual", ["SELECT 1 FROM dual"]),
        ("SELECT 1 FROM dual\n/\n", ["SELECT 1 FROM dual"]),
        ("SELECT 1 FROM dual; SELECT 2 FROM dual;", ["SELECT 1 FROM dual", "SELECT 2 FROM dual"]),
        ("SELECT 4 / 2 FROM dual;", ["SELECT 4 / 2 FROM dual"]),
        ("SELECT 4\n/ 2 FROM dual;", ["SELECT 4\n/ 2 FROM dual"]),
        (f"{BLOCK}\n/\n", [BLOCK]),
        (f"{BLOCK}\n \t/ \r\n", [BLOCK]),
        (f"{BLOCK}\r\n/\r\nSELECT 1 FROM dual;", [BLOCK, "SELECT 1 FROM dual"]),
        (f"{BLOCK} -- done\n/\n", [BLOCK]),
        (f"{BLOCK}\n-- done\n/", [BLOCK]),
        (f"{BLOCK}\n/* done */ /", [BLOCK]),
        (f"{BLOCK}\n/ -- run", [BLOCK]),
        (f"-- first\n{BLOCK}\n/", [BLOCK]),
        (f"\ufeff{BLOCK}\n/", [BLOCK]),
        ("CREATE TYPE t AS TABLE OF NUMBER;\n/\n", ["CREATE TYPE t AS TABLE OF NUMBER;"]),
        ("CREATE TYPE t AS TABLE OF NUMBER\n/\n", ["CREATE TYPE t AS TABLE OF NUMBER"]),
        ("CREATE TABLE t (a NUMBER)\n/\n", ["CREATE TABLE t (a NUMBER)"]),
        ("; ;", []),
        ("", []),
        ("-- nothing", []),
    ],
)
def test_oracle_terminators_are_stripped_by_kind(text: str, statements: list[str]) -> None:
    assert sent(oracle(text)) == statements


@pytest.mark.parametrize(
    "text",
    [
        "BEGIN\n  x := '\n/\n';\nEND;",
        "BEGIN\n  x := q'[\n/\n]';\nEND;",
        "BEGIN\n  NULL; /*\n/\n*/\nEND;",
        'BEGIN\n  x := "a\n/\nb";\nEND;',
        "BEGIN\n  x := a\n    / b;\nEND;",
    ],
)
def test_a_slash_inside_a_literal_or_comment_does_not_split(text: str) -> None:
    script = oracle(f"{text}\n/\nSELECT 1 FROM dual;")
    assert sent(script) == [text, "SELECT 1 FROM dual"]
    assert not script.findings


@pytest.mark.parametrize(
    "unit",
    [
        "CREATE OR REPLACE FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END f;",
        "CREATE FUNCTION f(a NUMBER) RETURN NUMBER AUTHID CURRENT_USER AS x NUMBER; BEGIN RETURN x; END;",
        "create or replace procedure p as begin for r in (select 1 a) loop c; end loop; end;",
        "CREATE PROCEDURE p IS BEGIN IF a THEN CASE b WHEN 1 THEN NULL; END CASE; END IF; END;",
        "CREATE PROCEDURE p IS BEGIN x := CASE WHEN a THEN CASE WHEN b THEN 1 END ELSE 2 END; END;",
        "CREATE PROCEDURE p IS BEGIN FOR i IN 1 .. CASE WHEN a THEN 1 END LOOP NULL; END LOOP; END;",
        "CREATE PROCEDURE p AS PROCEDURE q; FUNCTION r RETURN a IS BEGIN b; END; BEGIN q; END;",
        "CREATE PROCEDURE p IS BEGIN DECLARE x a; BEGIN NULL; EXCEPTION WHEN OTHERS THEN NULL; END; END;",
        "CREATE PROCEDURE p IS BEGIN <<l>> LOOP EXIT l; END LOOP l; GOTO l; END;",
        "CREATE FUNCTION f RETURN NUMBER AS LANGUAGE JAVA NAME 'A.b() return int';",
        "CREATE FUNCTION f(a NUMBER) RETURN NUMBER AGGREGATE USING t;",
        "CREATE PACKAGE p IS PROCEDURE a; CURSOR c IS SELECT CASE WHEN 1=1 THEN 1 END x FROM dual; END;",
        "CREATE PACKAGE BODY p AS x NUMBER; PROCEDURE a IS BEGIN NULL; END a; BEGIN x := 1; END p;",
        "CREATE PACKAGE BODY p AS PROCEDURE a; PROCEDURE a IS BEGIN NULL; END a; END p;",
        "CREATE TYPE t AS OBJECT (a NUMBER, MEMBER FUNCTION f RETURN NUMBER, MEMBER PROCEDURE p);",
        "CREATE TYPE BODY t AS CONSTRUCTOR FUNCTION t(a b) RETURN SELF AS RESULT IS BEGIN RETURN; END; END;",
        "CREATE TRIGGER g BEFORE INSERT ON t REFERENCING NEW AS n FOR EACH ROW WHEN (n.a = 1) BEGIN b; END;",
        "CREATE TRIGGER g AFTER UPDATE ON t DECLARE x NUMBER; BEGIN NULL; END g;",
        "CREATE TRIGGER g AFTER UPDATE ON t CALL p(1);",
        "CREATE TRIGGER g FOR INSERT ON t COMPOUND TRIGGER AFTER STATEMENT IS BEGIN b; END STATEMENT; END;",
        "CREATE TRIGGER g FOR DELETE ON t COMPOUND TRIGGER x a; AFTER EACH ROW IS y a; BEGIN b; END; END;",
        "DECLARE x NUMBER; BEGIN NULL; END;",
        "<<l>> DECLARE x NUMBER; BEGIN NULL; END l;",
        "BEGIN $IF $$debug $THEN p; $ELSE q; $END NULL; END;",
        'BEGIN rec.end_at := 1; rec.case_no := 2; "END" := 3; x."IF"; END;',
        "BEGIN INSERT ALL WHEN a > 1 THEN INTO t VALUES (1) ELSE INTO u VALUES (2) SELECT 1 a FROM b; END;",
        "BEGIN MERGE INTO t USING u ON (t.a = u.a) WHEN MATCHED THEN UPDATE SET b = 1; END;",
        "BEGIN FORALL i IN 1 .. 2 SAVE EXCEPTIONS EXECUTE IMMEDIATE 'BEGIN NULL; END;' USING a(i); END;",
    ],
)
def test_a_unit_without_slash_ends_where_its_structure_does(unit: str) -> None:
    script = oracle(f"{unit}\nSELECT 1 FROM dual;\n{unit}\nCREATE TABLE t (a NUMBER);\n{unit}")
    assert sent(script) == [unit, "SELECT 1 FROM dual", unit, "CREATE TABLE t (a NUMBER)", unit]
    assert codes(script) == ["missing_slash"] * 3
    assert [statement.recovered for statement in script.statements] == [True, False, True, False, True]
    with_slash = oracle(f"{unit}\n/\nSELECT 1 FROM dual;\n{unit}\n/\n")
    assert sent(with_slash) == [unit, "SELECT 1 FROM dual", unit]
    assert not with_slash.findings


def test_a_query_with_its_own_functions_is_a_query() -> None:
    functions = "FUNCTION f RETURN a IS BEGIN RETURN 1; END; FUNCTION g RETURN a IS BEGIN RETURN 2; END;"
    query = f"WITH {functions} SELECT f FROM dual"
    script = oracle(f"{query};\n{query}\n/\n")
    assert sent(script) == [query, query]
    assert [statement.kind for statement in script.statements] == ["query", "query"]


def test_a_unit_that_is_not_closed_ends_before_the_next_create() -> None:
    unit = "CREATE PROCEDURE p IS BEGIN LOOP a;"
    script = oracle(f"{unit}\nCREATE TABLE t (a NUMBER);\nSELECT 1 FROM dual;")
    assert sent(script) == [unit, "CREATE TABLE t (a NUMBER)", "SELECT 1 FROM dual"]
    assert codes(script) == ["unclosed_unit"]


def test_text_after_a_unit_goes_with_it_up_to_the_slash() -> None:
    """SQL*Plus sends it all, and the server refuses it: so do we."""
    script = oracle(f"{BLOCK}\nThis prints it.\n/\nSELECT 1 FROM dual;")
    assert sent(script) == [f"{BLOCK}\nThis prints it.", "SELECT 1 FROM dual"]
    assert codes(script) == ["stray_text"]
    assert sent(oracle(f"{BLOCK};\n/")) == [f"{BLOCK};"]


def test_foreign_source_ends_at_the_slash_only() -> None:
    source = "CREATE JAVA SOURCE NAMED x AS class A { int b() { return 1; } }; // it"
    script = oracle(f"{source}\n/\nSELECT 1 FROM dual;")
    assert sent(script) == [source, "SELECT 1 FROM dual"]
    assert not script.findings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BEGIN NULL; END\n/", "missing_semicolon"),
        ("BEGIN NULL; END p\n/", "missing_semicolon"),
        ("BEGIN IF a THEN b; END;\n/", "mismatched_end"),
        ("BEGIN x := 1 END;\n/", "missing_semicolon"),
        ("BEGIN LOOP NULL; END IF; END;\n/", "mismatched_end"),
        ("BEGIN ELSIF a THEN NULL; END;\n/", "misplaced_branch"),
        ("BEGIN NULL;\n/", "unclosed_unit"),
        ("BEGIN NULL;", "unclosed_unit"),
        ("SELECT 'x;", "unterminated_string"),
        ("SELECT q'[x;", "unterminated_string"),
        ('SELECT "x;', "unterminated_identifier"),
        ("SELECT 1 /* x;", "unterminated_comment"),
    ],
)
def test_oracle_findings_name_the_place(text: str, expected: str) -> None:
    script = oracle(text)
    finding = next(finding for finding in script.findings if finding.code == expected)
    assert finding.line == 1
    assert 1 <= finding.column <= len(text.partition("\n")[0])
    assert str(finding).startswith(f"line 1, column {finding.column}: ")
    assert len(script.statements) == 1


def test_a_second_slash_does_not_run_the_statement_again() -> None:
    script = oracle(f"{BLOCK}\n/\n/\nINSERT INTO t VALUES (1);\n/\n")
    assert sent(script) == [BLOCK, "INSERT INTO t VALUES (1)"]
    assert codes(script) == ["slash_ignored", "slash_ignored"]


# -- Oracle: the client --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "command", "arguments", "refused"),
    [
        ("SET SERVEROUTPUT ON", "SET", "SERVEROUTPUT ON", False),
        ("set serveroutput on size unlimited;", "SET", "serveroutput on size unlimited", False),
        ("SET DEFINE OFF;", "SET", "DEFINE OFF", False),
        ("PROMPT don't; stop", "PROMPT", "don't; stop", False),
        ("PROMPT", "PROMPT", "", False),
        ("REM it's a remark", "REMARK", "it's a remark", False),
        ("REMARK", "REMARK", "", False),
        ("SHOW ERRORS", "SHOW", "ERRORS", False),
        ("sho err;", "SHOW", "err", False),
        ("WHENEVER SQLERROR EXIT FAILURE ROLLBACK", "WHENEVER", "SQLERROR EXIT FAILURE ROLLBACK", False),
        ("VARIABLE x NUMBER", "VARIABLE", "x NUMBER", False),
        ("PRINT x", "PRINT", "x", False),
        ("DEFINE a = 'b;c'", "DEFINE", "a = 'b;c'", False),
        ("EXIT", "EXIT", "", False),
        ("DESC t", "DESCRIBE", "t", False),
        ("COLUMN a FORMAT A10", "COLUMN", "a FORMAT A10", False),
        ("@setup.sql", "@", "setup.sql", True),
        ("@@ other", "@@", "other", True),
        ("START setup", "START", "setup", True),
        ("HOST rm -rf /; echo it's", "HOST", "rm -rf /; echo it's", True),
        ("! ls", "!", "ls", True),
        ("SPOOL out.txt", "SPOOL", "out.txt", True),
        ("CONNECT a/b@c", "CONNECT", "a/b@c", True),
        ("EDIT", "EDIT", "", True),
    ],
)
def test_client_commands(line: str, command: str, arguments: str, refused: bool) -> None:
    script = oracle(f"SELECT 1 FROM dual;\n{line}\nSELECT 'a' FROM dual;")
    assert len(script.statements) == 3
    statement = script.statements[1]
    assert (statement.kind, statement.command, statement.arguments) == ("client", command, arguments)
    assert statement.refused is refused
    assert ("refused_command" in codes(script)) is refused
    assert statement.line == 2


@pytest.mark.parametrize(
    "text",
    [
        "SET TRANSACTION READ ONLY",
        "SET ROLE ALL",
        "SET CONSTRAINTS ALL DEFERRED",
        "Define a function as follows",
        "Set up the table first",
        "Show the rows that matter",
        "Start by creating a table",
        "Describe the table first",
        "Print the rows of the table once",
        "I will write it",
    ],
)
def test_what_only_looks_like_a_command(text: str) -> None:
    (statement,) = oracle(text).statements
    assert statement.kind != "client"


def test_a_dash_continues_a_command() -> None:
    script = oracle("SET SERVEROUTPUT -\n  ON\nSELECT 1 FROM dual;")
    assert sent(script) == ["SET SERVEROUTPUT -\n  ON", "SELECT 1 FROM dual"]


def test_a_statement_after_a_command_on_its_line_is_read() -> None:
    script = oracle("SET SERVEROUTPUT ON; BEGIN p; END;\n/")
    assert sent(script) == ["SET SERVEROUTPUT ON;", "BEGIN p; END;"]
    assert codes(script) == ["command_split"]
    assert not oracle("SET SERVEROUTPUT ON; -- always").findings


def test_commands_end_a_unit_that_lacks_its_slash() -> None:
    script = oracle(f"{BLOCK}\nSHOW ERRORS\nEXEC p;\n")
    assert [statement.kind for statement in script.statements] == ["block", "client", "block"]
    assert codes(script) == ["missing_slash"]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("EXEC p(1)", ["BEGIN p(1); END;"]),
        ("exec p(1);", ["BEGIN p(1); END;"]),
        ("EXECUTE pk.p('a;b', \"c\");  -- call", ["BEGIN pk.p('a;b', \"c\"); END;"]),
        ("EXEC p(1); /* call */", ["BEGIN p(1); END;"]),
        ("EXEC :x := f(1)", ["BEGIN :x := f(1); END;"]),
        ("EXEC a; EXEC b;", ["BEGIN a; END;", "BEGIN b; END;"]),
        ("EXEC a; b; c", ["BEGIN a; b; c; END;"]),
        ("EXEC FOR i IN 1 .. 2 LOOP p(i); END LOOP;", ["BEGIN FOR i IN 1 .. 2 LOOP p(i); END LOOP; END;"]),
        ("EXEC p( -\n 1)", ["BEGIN p(  \n 1); END;"]),
        ("EXEC p(\n 1,\n 2);", ["BEGIN p(\n 1,\n 2); END;"]),
        ("EXEC a\nEXEC b", ["BEGIN a; END;", "BEGIN b; END;"]),
    ],
)
def test_exec_becomes_a_block(text: str, blocks: list[str]) -> None:
    script = oracle(f"{text}\n")
    assert sent(script) == blocks
    assert all(statement.from_exec and statement.kind == "block" for statement in script.statements)


def test_exec_over_several_lines_is_found_once() -> None:
    assert codes(oracle("EXEC p(\n1,\n2)")) == ["exec_continued"]


def test_exec_without_a_statement() -> None:
    script = oracle("EXEC\nSELECT 1 FROM dual;")
    assert sent(script) == ["SELECT 1 FROM dual"]
    assert codes(script) == ["empty_exec"]


def test_execute_immediate_is_no_command() -> None:
    (statement,) = oracle("EXECUTE IMMEDIATE 'x'").statements
    assert not statement.from_exec


# -- PostgreSQL ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' ;;; ", ["SELECT ';'"]),
        ("DO $$ BEGIN NULL; END $$; SELECT 1;", ["DO $$ BEGIN NULL; END $$", "SELECT 1"]),
        ("DO $a$ BEGIN EXECUTE $b$ x; $b$; END $a$", ["DO $a$ BEGIN EXECUTE $b$ x; $b$; END $a$"]),
        (
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; END; SELECT 3",
            [
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; END",
                "SELECT 3",
            ],
        ),
        (
            "CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2); SELECT 3",
            ["CREATE RULE r AS ON INSERT TO t DO ALSO (SELECT 1; SELECT 2)", "SELECT 3"],
        ),
        ("SELECT 1 -- c;\n; SELECT 2 /* ; */", ["SELECT 1", "SELECT 2"]),
        ("\ufeffSELECT 1", ["SELECT 1"]),
        ("SELECT 1\n/\n", ["SELECT 1\n/"]),
        ("", []),
    ],
)
def test_postgres_statements(text: str, statements: list[str]) -> None:
    assert sent(postgres(text)) == statements


@pytest.mark.parametrize("command", ["\\copy t FROM 'x'", "\\i file", "\\! ls", "\\set it's"])
def test_psql_commands_are_refused(command: str) -> None:
    script = postgres(f"SELECT 1;\n{command}\nSELECT 'a';")
    assert [statement.kind for statement in script.statements] == ["query", "client", "query"]
    assert script.statements[1].refused
    assert script.statements[1].command == command.partition(" ")[0]
    (finding,) = script.findings
    assert (finding.code, finding.severity, finding.line) == ("refused_command", "error", 2)
    assert command.partition(" ")[0] in finding.message


def test_a_psql_command_inside_a_statement_stays_in_it() -> None:
    """The server refuses the backslash, as it does when the statement is sent by hand."""
    script = postgres("SELECT 1 \\gexec")
    assert sent(script) == ["SELECT 1 \\gexec"]
    assert codes(script) == ["refused_command"]


def test_copy_carries_its_data() -> None:
    script = postgres("COPY t FROM STDIN;\n1\tit's; \"\n\\N\n\\.\nSELECT 1;")
    assert [statement.kind for statement in script.statements] == ["copy", "query"]
    assert script.statements[0].text == "COPY t FROM STDIN"
    assert script.statements[0].data == "1\tit's; \"\n\\N\n"
    assert postgres("COPY t TO STDOUT;\n1\n\\.\n").statements[0].data is None
    without = postgres("COPY t FROM STDIN;\nSELECT 1;")
    assert codes(without) == ["copy_without_data"]
    assert len(without.statements) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT (1; SELECT 2", "unclosed_parenthesis"),
        ("SELECT 'x; SELECT 2", "unterminated_string"),
        ("DO $$ x; SELECT 2", "unterminated_string"),
        ("SELECT /* /* x */ 2", "unterminated_comment"),
        ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2", "unclosed_unit"),
    ],
)
def test_postgres_findings(text: str, expected: str) -> None:
    script = postgres(text)
    assert codes(script) == [expected]
    assert sent(script) == [text]


# -- kinds and places ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "dialect", "kind"),
    [
        ("CREATE OR REPLACE FORCE EDITIONABLE VIEW v AS SELECT 1 FROM dual", "oracle", "create_view"),
        ("CREATE GLOBAL TEMPORARY TABLE t (a NUMBER)", "oracle", "create_table"),
        ("CREATE PRIVATE TEMPORARY TABLE t (a NUMBER)", "oracle", "create_table"),
        ("CREATE INDEX i ON t (a)", "oracle", "create_other"),
        ("CREATE MATERIALIZED VIEW v AS SELECT 1 FROM dual", "oracle", "create_other"),
        ("CREATE PACKAGE BODY p IS END;", "oracle", "create_package_body"),
        ("CREATE TYPE BODY t IS END;", "oracle", "create_type_body"),
        ("CREATE TYPE t", "oracle", "create_type"),
        ("CREATE NONEDITIONABLE TRIGGER t BEFORE INSERT ON t BEGIN NULL; END;", "oracle", "create_trigger"),
        ("WITH a AS (SELECT 1 FROM dual) SELECT * FROM a", "oracle", "query"),
        ("(SELECT 1 FROM dual) UNION SELECT 2 FROM dual", "oracle", "query"),
        ("INSERT INTO t VALUES (1)", "oracle", "dml"),
        ("MERGE INTO t USING u ON (1=1) WHEN MATCHED THEN DELETE", "oracle", "dml"),
        ("CALL p(1)", "oracle", "call"),
        ("COMMIT", "oracle", "transaction"),
        ("SAVEPOINT a", "oracle", "transaction"),
        ("ALTER SESSION SET a = b", "oracle", "session"),
        ("ALTER TABLE t ADD a NUMBER", "oracle", "ddl_other"),
        ("RENAME a TO b", "oracle", "ddl_other"),
        ("LOCK TABLE t IN SHARE MODE", "oracle", "other"),
        ("CREATE OR REPLACE PROCEDURE p() LANGUAGE sql AS ''", "postgres", "create_procedure"),
        ("CREATE TEMP TABLE t (a int)", "postgres", "create_table"),
        ("CREATE UNLOGGED TABLE IF NOT EXISTS t (a int)", "postgres", "create_table"),
        ("CREATE FOREIGN TABLE t (a int) SERVER s", "postgres", "create_table"),
        ("CREATE OR REPLACE TEMP RECURSIVE VIEW v (a) AS SELECT 1", "postgres", "create_view"),
        ("CREATE CONSTRAINT TRIGGER t AFTER INSERT ON t EXECUTE FUNCTION f()", "postgres", "create_trigger"),
        ("CREATE EXTENSION x", "postgres", "create_other"),
        ("DO 'BEGIN END'", "postgres", "block"),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "postgres", "dml"),
        ("WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM a", "postgres", "query"),
        ("WITH a AS (SELECT 1) SELECT * FROM a FOR UPDATE", "postgres", "query"),
        ("VALUES (1)", "postgres", "query"),
        ("TABLE t", "postgres", "query"),
        ("EXPLAIN SELECT 1", "postgres", "query"),
        ("BEGIN", "postgres", "transaction"),
        ("END", "postgres", "transaction"),
        ("ABORT", "postgres", "transaction"),
        ("START TRANSACTION", "postgres", "transaction"),
        ("RELEASE a", "postgres", "transaction"),
        ("PREPARE TRANSACTION 'x'", "postgres", "transaction"),
        ("PREPARE p AS SELECT 1", "postgres", "other"),
        ("SET search_path TO a", "postgres", "session"),
        ("RESET ALL", "postgres", "session"),
        ("DISCARD ALL", "postgres", "session"),
        ("COPY t FROM 'f'", "postgres", "copy"),
        ("TRUNCATE t", "postgres", "ddl_other"),
        ("VACUUM", "postgres", "other"),
        ("hello", "postgres", "other"),
    ],
)
def test_kinds(text: str, dialect: Dialect, kind: str) -> None:
    (statement,) = read_script(f"-- c\n {text}", dialect).statements
    assert statement.kind == kind


def test_places_are_those_of_the_script() -> None:
    text = "-- c\n  SELECT 1 FROM dual;\n\nEXEC p(1);\n  BEGIN\n NULL; END;\n/\n"
    script = oracle(text)

    def place(statement: ScriptStatement) -> tuple[int, int, str]:
        return statement.line, statement.column, text[statement.offset : statement.end]

    assert [place(statement) for statement in script.statements] == [
        (2, 3, "SELECT 1 FROM dual"),
        (4, 6, "p(1);"),
        (5, 3, "BEGIN\n NULL; END;"),
    ]
