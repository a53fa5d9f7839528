"""Plays on the Oracle engine: programs installed, tests observed, everything left as it was."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import oracledb
import pytest
from oracle_double import FakeConnection, FakeOracle, Reply, Result, dpy, ora

from pytest_plsqlbench.bench.task import Test
from pytest_plsqlbench.engines.oracle.lane import OracleLane
from pytest_plsqlbench.engines.protocol import Limits, Play, UnsupportedError

FUNCTION = "CREATE OR REPLACE FUNCTION f RETURN NUMBER IS\nBEGIN\n  RETURN 1;\nEND;\n/\n"
CANDIDATE = "PLB_R1_GW0_C1"
MakePlay = Callable[..., Play]


def number(*values: object) -> Result:
    return Result([("N", oracledb.DB_TYPE_NUMBER)], [(value,) for value in values])


def test_a_select_gives_typed_rows(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.9, §1.5: rows are values with types; output is captured whatever SERVEROUTPUT is."""
    server.on("SELECT f", Reply(result=number(Decimal("1.50")), lines=["hello"]))
    played = lane.play(make_play(FUNCTION, calls=("SET SERVEROUTPUT OFF\nSELECT f FROM dual;",)))
    assert played.programs[0].error is None
    (call,) = played.tests[0].calls
    assert call.results[0].columns == ("N",)
    assert call.results[0].rows == ((("numeric", "1.5"),),)
    assert call.lines == ("hello",)
    assert played.tests[0].work == 7


def test_empty_lines_and_blanks_are_kept(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.5: an empty line arrives as NULL and must not vanish; leading blanks are exact."""
    server.on(r"p\(", Reply(lines=["  a ", None, "b"]))
    played = lane.play(make_play(FUNCTION, calls=("EXEC p(1)",)))
    assert played.tests[0].calls[0].lines == ("  a ", "", "b")


def test_many_lines_are_fetched_in_chunks(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.5: loop while the returned count equals the chunk."""
    server.on(r"p\(", Reply(lines=[str(n) for n in range(500)]))
    played = lane.play(make_play(calls=("EXEC p(1)",)))
    assert len(played.tests[0].calls[0].lines) == 500
    assert len([1 for u, s, _ in server.log if "GET_LINES" in s and u == CANDIDATE]) == 3


def test_output_before_a_failure_is_kept(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.5: read also after a failed statement."""
    error = ora(20001, 'no\nORA-06512: at "PLB_R1_GW0_C1.P", line 3\nORA-06512: at line 1')
    server.on("BEGIN p", Reply(lines=["before"], error=error))
    played = lane.play(make_play(calls=("EXEC p\nEXEC q",)))
    call = played.tests[0].calls[0]
    assert call.lines == ("before",)
    assert call.error is not None
    assert (call.error.code, call.error.message) == ("ORA-20001", "no")
    assert call.error.where is not None
    assert 'at "PLB_R1_GW0_C1.P", line 3' in call.error.where
    assert not server.sent("BEGIN q"), "a failing statement ends the test"


def test_own_dbms_output_cannot_capture_us(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §3.5 and fact 6: our own calls are SYS-qualified."""
    server.on(r"p\(", Reply(lines=["x"]))
    lane.play(make_play(FUNCTION, calls=("EXEC p(1)",)))
    for text in server.sent("DBMS_OUTPUT|DBMS_SESSION|DBMS_APPLICATION_INFO"):
        assert "SYS.DBMS_" in text


def test_output_is_emptied_before_each_call(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.5: ENABLE alone does not clear; RESET_PACKAGE turns output off."""
    server.on(r"p\(1", Reply(lines=["one"]))
    server.on(r"p\(2", Reply(lines=["two"]))
    played = lane.play(make_play(calls=("EXEC p(1)", "EXEC p(2)")))
    assert [test.calls[0].lines for test in played.tests] == [("one",), ("two",)]


def test_a_new_session_a_turn_and_a_clean_one_a_test(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §2.6: a session a turn; between tests rollback, package reset, settings pinned again."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(FUNCTION, calls=("EXEC p(1)", "EXEC p(2)", "EXEC p(3)")))
    lane.play(make_play(FUNCTION, calls=("EXEC p(1)",)))
    first, second = server.graded()
    resets = [s for u, s, _ in server.log if "RESET_PACKAGE" in s]
    assert len(resets) == 4
    assert first.rollbacks == 7, "after the program, before and after each test"
    assert first.closed
    assert second.closed


def test_settings_are_pinned(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.10: pinned after every login, alike for both sides."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",)))
    lane.play(make_play(calls=("EXEC p",), side="reference"))
    pins = {u: s for u, s, _ in server.log if s.startswith("BEGIN\n  EXECUTE IMMEDIATE 'ALTER SESSION")}
    assert set(pins) == {"PLB_R1_GW0_C1", "PLB_R1_GW0_R1"}
    texts = [text.replace("_C1", "").replace("_R1", "") for text in pins.values()]
    assert texts[0] == texts[1]
    assert "NLS_DATE_FORMAT = ''YYYY-MM-DD''" in texts[0]
    assert "TIME_ZONE = ''+00:00''" in texts[0]


def test_login_is_by_proxy_with_retries(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.1 proxy login; §2.6 retries against ORA-12516; §1.2 no statement cache for candidates."""
    server.on("BEGIN p", Reply())
    lane.play(make_play(calls=("EXEC p",)))
    assert server.options["user"] == "PLB_R1_GW0_P1[PLB_R1_GW0_C1]"
    assert server.options["retry_count"] == 5
    assert server.options["stmtcachesize"] == 0
    assert server.options["program"] == "plsqlbench-r1"
    assert server.users["PLB_R1_GW0_C1"] == "NONE", "the graded user has no password"


def test_objects_are_gone_after_a_play(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §2.2: objects are dropped against the baseline, in an order that works."""
    program = (
        "CREATE TYPE a AS OBJECT (n NUMBER);\n/\nCREATE TABLE t (n NUMBER);\nCREATE SEQUENCE s;\n"
        "CREATE VIEW v AS SELECT 1 n FROM t;\nCREATE PACKAGE k IS n NUMBER; END;\n/\n"
        "CREATE PACKAGE BODY k IS BEGIN n := 1; END;\n/\nCREATE PROCEDURE p IS BEGIN NULL; END;\n/\n"
    )
    lane.play(make_play(program))
    assert not server.objects_of(CANDIDATE)
    drops = [text.split(" ")[1] for text in server.sent("^DROP (?!USER)")]
    assert drops == ["VIEW", "PACKAGE", "PROCEDURE", "TABLE", "TYPE", "SEQUENCE"]
    assert server.sent('DROP TABLE "PLB_R1_GW0_C1"."T" CASCADE CONSTRAINTS PURGE')
    assert server.sent('DROP TYPE "PLB_R1_GW0_C1"."A" FORCE')


def test_rights_are_given_for_the_play_only(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §3.1: least rights, more only where the text needs them; quota only then."""
    lane.play(make_play(FUNCTION))
    assert not server.sent("GRANT CREATE TABLE")
    lane.play(make_play("CREATE TABLE t (n NUMBER);"))
    assert server.sent('GRANT CREATE TABLE TO "PLB_R1_GW0_C1"')
    assert server.sent('REVOKE CREATE TABLE FROM "PLB_R1_GW0_C1"')
    assert server.sent('QUOTA 256M ON "USERS"')
    assert server.sent('QUOTA 0 ON "USERS"')


def test_a_user_that_cannot_be_cleaned_is_replaced(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §2.2: if the object list differs from the baseline after the drops, DROP USER."""
    server.on('DROP FUNCTION "PLB_R1_GW0_C1"', Reply(error=ora(4021, "timeout while waiting to lock object")))
    lane.play(make_play(FUNCTION))
    assert CANDIDATE not in server.users
    lane.play(make_play(FUNCTION))
    assert "PLB_R1_GW0_C2" in server.users


def test_identity_sequences_are_not_dropped_by_name(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §2.2: ISEQ$$ sequences go with their table (ORA-32794)."""

    def with_identity(session: FakeConnection) -> None:
        server.add_object(session.user, "SEQUENCE", "ISEQ$$_1")
        server.add_object(session.user, "LOB", "SYS_LOB1")

    def gone(_session: FakeConnection) -> None:
        for number_ in [n for n, o in server.objects.items() if o.owner == CANDIDATE]:
            del server.objects[number_]

    server.on("CREATE TABLE t", Reply(effect=with_identity))
    server.on('DROP TABLE "PLB_R1_GW0_C1"', Reply(effect=gone))
    lane.play(make_play("CREATE TABLE t (n NUMBER GENERATED ALWAYS AS IDENTITY);"))
    assert not server.sent("DROP SEQUENCE")
    assert CANDIDATE in server.users


def test_own_password_is_taken_away(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §3.4: any user may change its own password."""

    def change(session: FakeConnection) -> None:
        server.users[session.user] = "PASSWORD"

    server.on("ALTER USER", Reply(effect=change), user="PLB_R1_GW0_C")
    lane.play(make_play("ALTER USER PLB_R1_GW0_C1 IDENTIFIED BY hunter2;"))
    assert server.users[CANDIDATE] == "NONE"


# -- programs ----------------------------------------


def test_compile_errors_come_from_the_dictionary(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.8: creation with errors is a warning; DBA_ERRORS has line and position; no tests are played."""

    def broken(session: FakeConnection) -> None:
        found = server.find(session.user, "FUNCTION", "F")
        assert found is not None
        found.valid = False
        found.entries = [
            (3, 10, "PLS-00201: identifier 'NOPE' must be declared"),
            (3, 3, "PL/SQL: Statement ignored"),
            (4, 1, "PL/SQL: ORA-00942: table or view does not exist"),
        ]

    server.on("CREATE OR REPLACE FUNCTION f", Reply(warning=True, effect=broken))
    played = lane.play(make_play("\n-- note\n" + FUNCTION, calls=("SELECT f FROM dual;",)))
    error = played.programs[0].error
    assert error is not None
    assert (error.code, error.line, error.column) == ("PLS-00201", 5, 10)
    assert error.message == "identifier 'NOPE' must be declared"
    codes = [entry.code for entry in played.programs[0].diagnostics]
    assert codes == ["PLS-00201", "ORA-00942"]
    assert played.tests == ()


def test_a_unit_that_heals_is_no_error(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.8: status decides at the end; a later unit of the script may bring what an earlier one missed."""

    def broken(session: FakeConnection) -> None:
        found = server.find(session.user, "FUNCTION", "F")
        assert found is not None
        found.valid = False

    server.on("CREATE OR REPLACE FUNCTION f", Reply(warning=True, effect=broken))
    played = lane.play(make_play(FUNCTION + "CREATE FUNCTION g RETURN NUMBER IS BEGIN RETURN f; END;\n/"))
    assert played.programs[0].error is None
    assert played.programs[0].diagnostics == ()
    assert server.sent('ALTER FUNCTION "PLB_R1_GW0_C1"."F" COMPILE')


def test_a_unit_without_listed_errors_is_still_invalid(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.8: ORA-24344 where the dictionary lists nothing."""

    def broken(session: FakeConnection) -> None:
        found = server.find(session.user, "FUNCTION", "F")
        assert found is not None
        found.valid = False

    server.on("CREATE OR REPLACE FUNCTION f", Reply(warning=True, effect=broken))
    server.on("ALTER FUNCTION .* COMPILE", Reply(error=ora(4021, "timeout")))
    played = lane.play(make_play(FUNCTION))
    assert played.programs[0].error is not None
    assert played.programs[0].error.code == "ORA-24344"


def test_an_earlier_unit_that_breaks_is_a_warning(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.8: dependants break without any message; they are looked up by status."""

    def break_f(session: FakeConnection) -> None:
        found = server.find(session.user, "FUNCTION", "F")
        assert found is not None
        found.valid = False
        found.entries = [(1, 1, "PLS-00306: wrong number or types of arguments")]

    server.on("CREATE OR REPLACE FUNCTION g", Reply(effect=break_f))
    second = "CREATE OR REPLACE FUNCTION g RETURN NUMBER IS BEGIN RETURN 2; END;\n/"
    server.on("SELECT g", Reply(result=number(2)))
    played = lane.play(make_play(FUNCTION, second, calls=("SELECT g FROM dual;",)))
    assert [program.error for program in played.programs] == [None, None]
    (warning,) = played.programs[1].diagnostics
    assert (warning.code, warning.severity) == ("ORA-04063", "warning")
    assert len(played.tests) == 1


def test_a_failing_earlier_program_does_not_stop_the_last(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """A turn is judged by its own program; an earlier one that failed leaves what it left."""
    server.on("SELECT f", Reply(result=number(1)))
    server.on(
        "BEGIN bad", Reply(error=ora(6550, "line 1, column 7:\nPLS-00201: identifier 'BAD' must be declared"))
    )
    played = lane.play(make_play("BEGIN bad; END;\n/", FUNCTION, calls=("SELECT f FROM dual;",)))
    assert played.programs[0].error is not None
    assert (played.programs[0].error.code, played.programs[0].error.line) == ("PLS-00201", 1)
    assert played.tests[0].calls[0].results


def test_what_a_program_prints_is_observed_without_calls(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """A test without calls judges what the program itself shows."""
    server.on("BEGIN print", Reply(lines=["1,2"]))
    played = lane.play(make_play("BEGIN print; END;\n/", tests=(Test(name="rows"),)))
    assert played.tests[0].calls[0].lines == ("1,2",)
    nothing = lane.play(make_play(tests=(Test(name="rows"),)))
    assert nothing.tests[0].calls[0].lines == ()


def test_gold_is_played_on_the_reference_side(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """The gold query's rows, and beside them those without its cut."""
    server.on("SELECT 1", Reply(result=number(1)), user="PLB_R1_GW0_R")
    server.on("SELECT 2", Reply(result=number(1, 2)), user="PLB_R1_GW0_R")
    test = Test(name="rows", gold="SELECT 1 FROM a", gold_with_ties="SELECT 2 FROM a")
    (seen,) = lane.play(make_play(tests=(test,), side="reference")).tests
    assert [len(result.rows) for result in seen.calls[0].results] == [1, 2]
    server.on("SELECT 1", Reply(error=ora(942, "table or view does not exist", 14)), user="PLB_R1_GW0_R")
    (failed,) = lane.play(make_play(tests=(test,), side="reference")).tests
    assert failed.calls[0].error is not None
    assert (failed.calls[0].error.code, failed.calls[0].error.column) == ("ORA-00942", 15)


def test_the_name_sys_is_refused(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §3.5: a package SYS would stand between us and the server's own packages."""
    played = lane.play(make_play("CREATE PACKAGE sys IS n NUMBER; END;\n/", calls=("EXEC p",)))
    assert played.programs[0].error is not None
    assert "reserved" in played.programs[0].error.message
    assert played.tests == ()


def test_triggers_on_logons_are_refused(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §3.4: they would fire at our next login as that user, or at our own drops."""
    ddl = "CREATE TRIGGER {} AFTER {} ON {} BEGIN NULL; END;\n/"
    played = lane.play(make_play(ddl.format("on_logon", "LOGON", "SCHEMA"), calls=("EXEC p",)))
    assert played.programs[0].error is not None
    assert "ON_LOGON" in played.programs[0].error.message
    assert played.tests == ()
    fine = lane.play(make_play("CREATE TABLE t (n NUMBER);\n" + ddl.format("t1", "INSERT", "t")))
    assert fine.programs[0].error is None


# -- SQL*Plus ----------------------------------------


def test_several_statements_and_exec(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.7: EXEC becomes a block, plain SQL loses its semicolon, a block keeps it."""
    server.on("SELECT a", Reply(result=number(1)))
    server.on("^BEGIN p|^DECLARE", Reply())
    lane.play(
        make_play(
            calls=(
                "SET SERVEROUTPUT ON\nEXEC p(1);\nSELECT a FROM dual;\nDECLARE n NUMBER; BEGIN NULL; END;\n/",
            )
        )
    )
    sent = [
        text
        for user, text, _ in server.log
        if user == CANDIDATE and "SYS." not in text and "SESSION" not in text
    ]
    assert sent == ["BEGIN p(1); END;", "SELECT a FROM dual", "DECLARE n NUMBER; BEGIN NULL; END;"]


def test_label_first_blocks_are_wrapped(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.6: the driver does not know a block that begins with a label."""
    error = ora(6550, "line 1, column 20:\nPLS-00201: identifier 'X' must be declared")
    server.on("^BEGIN <<a>>", Reply(error=error))
    played = lane.play(make_play(calls=("<<a>> DECLARE n x; BEGIN NULL; END;\n/",)))
    found = played.tests[0].calls[0].error
    assert found is not None
    assert (found.line, found.column) == (1, 14)


def test_exec_positions_are_mapped(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """The added BEGIN does not count in columns."""
    error = ora(
        6550,
        "line 1, column 7:\nPLS-00201: identifier 'P' must be declared\nORA-06550: line 1, column 7:\nPL/SQL: Statement ignored",
    )
    server.on("BEGIN p", Reply(error=error))
    played = lane.play(make_play(calls=("\nEXEC p",)))
    found = played.tests[0].calls[0].error
    assert found is not None
    assert (found.code, found.line, found.column) == ("PLS-00201", 2, 6)


def test_client_commands(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.7: harmless ones pass, EXIT ends the script and commits."""
    server.on("BEGIN p", Reply())
    exits, back = lane.play(make_play(calls=("PROMPT hi\nEXIT\nEXEC p", "EXIT ROLLBACK"))).tests
    assert exits.calls[0].error is None
    assert not server.sent("BEGIN p")
    assert back.calls[0].error is None
    assert server.graded()[0].commits == 1


def test_refused_commands(lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.7: a program that holds one fails; a test or reference that does cannot be played."""
    (program,) = lane.play(make_play("HOST ls\n")).programs
    assert program.error is not None
    assert (program.error.code, program.error.line) == ("ORA-00900", 1)
    with pytest.raises(UnsupportedError, match=r"test 't1': line 2: HOST"):
        lane.play(make_play(calls=("EXEC p\nHOST ls",)))
    with pytest.raises(UnsupportedError, match="program: line 1: @"):
        lane.play(make_play("@x.sql", side="reference"))


def test_variables_bind_and_print(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.9: OUT scalars and REF CURSORs through client variables."""
    from oracle_double import FakeCursor

    def fill(session: FakeConnection) -> None:
        binds = server.log[-1][2]
        binds["N"].value = Decimal(7)
        binds["C"].value = FakeCursor(session, number(1, 2))

    server.on("BEGIN p", Reply(effect=fill))
    text = "VARIABLE n NUMBER\nVAR c REFCURSOR\nVAR v VARCHAR2(10)\nEXEC p(:n, :c)\nPRINT n\nPRINT c\nPRINT v"
    played = lane.play(make_play(calls=(text,)))
    call = played.tests[0].calls[0]
    assert call.error is None
    assert [result.rows for result in call.results] == [
        ((("numeric", "7"),),),
        ((("numeric", "1"),), (("numeric", "2"),)),
        ((None,),),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT :x FROM dual;", "ORA-01008"),
        ("PRINT x", "ORA-01008"),
        ("VARIABLE x NUMBER = 1", "ORA-00900"),
    ],
)
def test_faults_of_variables(lane: OracleLane, make_play: MakePlay, text: str, code: str) -> None:
    """engines §1.6: an unbound placeholder is the text's fault, found before anything is sent."""
    found = lane.play(make_play(calls=(text,))).tests[0].calls[0].error
    assert found is not None
    assert found.code == code


def test_a_cursor_that_fails_while_printed(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """An open cursor's query can fail while it is fetched."""
    from oracle_double import FakeCursor

    def fill(session: FakeConnection) -> None:
        failing = Result([("N", oracledb.DB_TYPE_NUMBER)], [], ora(1476, "divisor is equal to zero"))
        server.log[-1][2]["C"].value = FakeCursor(session, failing)

    server.on("BEGIN p", Reply(effect=fill))
    played = lane.play(make_play(calls=("VARIABLE c REFCURSOR\nVARIABLE\nEXEC p(:c)\nPRINT",)))
    found = played.tests[0].calls[0].error
    assert found is not None
    assert (found.code, found.line) == ("ORA-01476", None)


def test_implicit_results(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.9: results that a block hands to the client."""
    server.on("BEGIN p", Reply(implicit=[number(1), number(2, 3)]))
    played = lane.play(make_play(calls=("EXEC p",)))
    assert [len(result.rows) for result in played.tests[0].calls[0].results] == [1, 2]


def test_errors_while_fetching(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """A function in a SELECT can raise at any row; nothing of the result counts."""
    failing = Result([("N", oracledb.DB_TYPE_NUMBER)], [(1,)], ora(1476, "divisor is equal to zero"))
    server.on("SELECT", Reply(result=failing), user="PLB_R1_GW0_C")
    call = lane.play(make_play(calls=("SELECT 1/x FROM t;",))).tests[0].calls[0]
    assert call.results == ()
    assert call.error is not None
    assert call.error.code == "ORA-01476"


def test_unbalanced_quotes_fail_in_the_driver(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.6 and fact 4: DPY-2041 is ORA-01756 under another name, or the driver's own finding."""
    server.on("SELECT 'a", Reply(error=ora(1756, "quoted string not properly terminated")))
    server.on("SELECT 'b", Reply(error=dpy(2041, "missing ending quote (')")))
    tests = lane.play(make_play(calls=("SELECT 'a FROM dual", "SELECT 'b FROM dual"))).tests
    errors = [test.calls[0].error for test in tests]
    assert [error.code for error in errors if error] == ["ORA-01756", "DPY-2041"]


# -- isolation of tests ----------------------------------------


def test_stateful_programs_are_built_again_for_each_test(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §2.1: a rollback restores neither sequences nor committed rows."""
    server.on("BEGIN p", Reply())
    played = lane.play(
        make_play("CREATE SEQUENCE s;\nCREATE TABLE t (n NUMBER);", calls=("EXEC p", "EXEC p"))
    )
    assert played.flags == ("rebuilt_between_tests",)
    assert len(server.sent("^CREATE SEQUENCE s")) == 2
    assert {session.user for session in server.graded()} == {CANDIDATE}
    assert len(server.graded()) == 2


def test_a_test_that_makes_objects_is_undone(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §2.2: the object list is compared with what the programs have left."""

    def sneak(session: FakeConnection) -> None:
        server.add_object(session.user, "PROCEDURE", "SNEAKED")

    server.on("BEGIN p", Reply(effect=sneak))
    server.on("BEGIN q", Reply())
    lane.play(make_play(FUNCTION, calls=("EXEC p", "EXEC q")))
    assert len(server.sent("^CREATE OR REPLACE FUNCTION f")) == 2
    assert server.sent('DROP PROCEDURE "PLB_R1_GW0_C1"."SNEAKED"')


def test_ddl_in_tests_costs_a_rebuild(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """A unit replaced within the second of its creation would look unchanged in the dictionary."""
    server.on("BEGIN q", Reply())

    def same_second(session: FakeConnection) -> None:
        found = server.find(session.user, "FUNCTION", "F")
        assert found is not None
        found.changed = "t"

    server.on("^CREATE OR REPLACE FUNCTION f", Reply(effect=same_second))
    calls = ("CREATE OR REPLACE FUNCTION f RETURN NUMBER IS BEGIN RETURN 2; END;\n/", "EXEC q")
    played = lane.play(make_play(FUNCTION, calls=calls))
    assert "rebuilt_between_tests" in played.flags


def test_a_program_that_installs_only_once_fails_the_later_tests(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """What does not install twice alike cannot pass the tests after the first."""
    server.on("CREATE SEQUENCE s", Reply(error=ora(955, "name is already used by an existing object")))
    server.on("CREATE SEQUENCE s", Reply(times=1))
    server.on("BEGIN p", Reply())
    first, second = lane.play(make_play("CREATE SEQUENCE s;", calls=("EXEC p", "EXEC p"))).tests
    assert first.calls[0].error is None
    assert second.calls[0].error is not None


def test_stale_package_state_costs_a_repetition(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §2.6: ORA-04068 after a recompilation; once more before blaming, without what was printed."""
    stale = ora(4068, "existing state of packages has been discarded")
    server.on("BEGIN k.p", Reply(lines=["good"]))
    server.on("BEGIN k.p", Reply(error=stale, lines=["bad"], times=1))
    played = lane.play(make_play(calls=("EXEC k.p",)))
    call = played.tests[0].calls[0]
    assert call.error is None
    assert call.lines == ("good",)
    assert played.flags == ("stale_state_retried",)


def test_stale_package_state_twice_is_an_error(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay
) -> None:
    """engines §1.8: retried once, then blamed."""
    server.on("BEGIN k.p", Reply(error=ora(4061, "existing state of package has been invalidated")))
    call = lane.play(make_play(calls=("EXEC k.p",))).tests[0].calls[0]
    assert call.error is not None
    assert call.error.code == "ORA-04061"


# -- limits ----------------------------------------


def test_too_many_rows(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """A result over the limit is truncated, and says so."""
    server.on("SELECT", Reply(result=number(*range(50))), user="PLB_R1_GW0_C")
    limits = Limits(rows=10)
    call = (
        lane.play(make_play(calls=("SELECT n FROM t;\nSELECT n FROM t;",), limits=limits)).tests[0].calls[0]
    )
    assert call.limit == "row_limit"
    assert [(len(result.rows), result.truncated) for result in call.results] == [(10, True)]
    call = lane.play(make_play(calls=("SELECT n FROM t;",), limits=Limits(result_bytes=5))).tests[0].calls[0]
    assert call.limit == "row_limit"


def test_too_much_output(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.5: a finite buffer; the end of it counts as a limit, even where the program caught the error."""
    server.on("BEGIN p", Reply(lines=["x" * 30_000] * 40))
    call = lane.play(make_play(calls=("EXEC p",))).tests[0].calls[0]
    assert call.limit == "output_limit"
    call = lane.play(make_play(calls=("EXEC p",), limits=Limits(output_lines=3))).tests[0].calls[0]
    assert call.limit == "output_limit"
    assert len(call.lines) == 3


def test_buffer_overflow_is_a_limit(server: FakeOracle, lane: OracleLane, make_play: MakePlay) -> None:
    """engines §1.5: ORU-10027 comes as ORA-20000."""
    error = ora(20000, "ORU-10027: buffer overflow, limit of 1000000 bytes")
    server.on("BEGIN p", Reply(error=error))
    assert lane.play(make_play(calls=("EXEC p",))).tests[0].calls[0].limit == "output_limit"
    server.on("BEGIN p", Reply(error=ora(20000, "mine")))
    assert lane.play(make_play(calls=("EXEC p",))).tests[0].calls[0].limit is None


@pytest.mark.parametrize(("code", "limit"), [(4036, "memory_limit"), (2393, "profile_limit"), (1653, None)])
def test_limits_by_number(
    server: FakeOracle, lane: OracleLane, make_play: MakePlay, code: int, limit: str | None
) -> None:
    """engines §1.8, row "limits"."""
    server.on("BEGIN p", Reply(error=ora(code)))
    assert lane.play(make_play(calls=("EXEC p",))).tests[0].calls[0].limit == limit
