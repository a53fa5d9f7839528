"""Why tests fail: categories and subcategories, and the one table of codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_plsqlbench.bench.codes import (
    CATEGORIES,
    CODE_RULES,
    canonical_code,
    code_rule,
    effective_code,
    error_class,
)
from pytest_plsqlbench.bench.comparison import compare
from pytest_plsqlbench.bench.observation import (
    CallObservation,
    Diagnostic,
    Observation,
    ResultSet,
    TableState,
)
from pytest_plsqlbench.bench.outcome import PASSED
from pytest_plsqlbench.bench.task import Comparison, Mode, Test
from pytest_plsqlbench.bench.taxonomy import SUBCATEGORIES, Failure, classify, classify_error

# One example a row of the table: an error as the engine reports it, and what it means.
EXAMPLES = [
    ("42601", 'syntax error at or near "FORM"', "invalid_program", "syntax_error"),
    ("42804", "structure of query does not match function result type", "invalid_program", "type_error"),
    ("42P13", "cannot change return type of existing function", "invalid_program", "invalid_object"),
    ("42803", 'column "t.a" must appear in the GROUP BY clause', "invalid_program", "invalid_query"),
    ("42P07", 'relation "t" already exists', "invalid_program", "duplicate_object"),
    ("42501", "permission denied for table accounts", "invalid_program", "forbidden"),
    ("0A000", "cross-database references are not implemented", "invalid_program", "unsupported_feature"),
    ("22021", 'invalid byte sequence for encoding "UTF8": 0x00', "invalid_program", "bad_encoding"),
    ("42883", "function get_total(integer) does not exist", "interface", "missing_entry_point"),
    ("42809", "get_total(integer) is not a procedure", "interface", "wrong_arguments"),
    ("42703", 'column "nmae" does not exist', "interface", "unknown_column"),
    ("42P01", 'relation "employes" does not exist', "interface", "unknown_table"),
    ("42704", 'type "varchar2" does not exist', "interface", "unknown_object"),
    ("53200", "out of memory", "limit", "memory_limit"),
    ("53100", "could not extend file: No space left on device", "limit", "disk_limit"),
    ("53300", "too many connections", "limit", "session_limit"),
    ("54001", "stack depth limit exceeded", "limit", "recursion_limit"),
    ("54011", "target lists can have at most 1664 entries", "limit", "resource_limit"),
    ("22012", "division by zero", "wrong_result", "runtime_error"),
    ("57P01", "terminating connection due to administrator command", "wrong_result", "session_lost"),
    ("PLS-00103", 'Encountered the symbol "FORM" when expecting ;', "invalid_program", "syntax_error"),
    ("ORA-01008", "not all variables bound", "invalid_program", "unbound_placeholder"),
    ("PLS-00905", "object APP.GET_TOTAL is invalid", "invalid_program", "invalid_object"),
    ("PLS-00382", "expression is of wrong type", "invalid_program", "type_error"),
    ("ORA-00979", "not a GROUP BY expression", "invalid_program", "invalid_query"),
    ("ORA-00955", "name is already used by an existing object", "invalid_program", "duplicate_object"),
    ("ORA-01031", "insufficient privileges", "invalid_program", "forbidden"),
    ("PLS-00201", "identifier 'GET_TOTAL' must be declared", "interface", "missing_entry_point"),
    ("PLS-00302", "component 'TOTAL' must be declared", "interface", "missing_member"),
    ("PLS-00306", "wrong number or types of arguments in call to 'GET'", "interface", "wrong_arguments"),
    ("ORA-00904", '"NMAE": invalid identifier', "interface", "unknown_column"),
    ("ORA-00942", "table or view does not exist", "interface", "unknown_table"),
    ("ORA-02289", "sequence does not exist", "interface", "unknown_object"),
    ("ORA-20000", "ORU-10027: buffer overflow, limit of 1000000 bytes", "limit", "output_limit"),
    ("DPY-4024", "call timeout of 10000 ms exceeded", "limit", "time_limit"),
    ("ORA-04036", "PGA memory used by the instance exceeds PGA_AGGREGATE_LIMIT", "limit", "memory_limit"),
    ("ORA-01652", "unable to extend temp segment", "limit", "disk_limit"),
    ("ORA-00036", "maximum number of recursive SQL levels (50) exceeded", "limit", "recursion_limit"),
    ("ORA-01000", "maximum open cursors exceeded", "limit", "cursor_limit"),
    ("ORA-01403", "no data found", "wrong_result", "runtime_error"),
    ("ORA-01422", "exact fetch returns more than requested number of rows", "wrong_result", "runtime_error"),
    ("ORA-01476", "divisor is equal to zero", "wrong_result", "runtime_error"),
    ("ORA-06502", "PL/SQL: numeric or value error", "wrong_result", "runtime_error"),
    ("ORA-01843", "not a valid month", "wrong_result", "runtime_error"),
    ("ORA-00001", "unique constraint (APP.PK) violated", "wrong_result", "runtime_error"),
    ("ORA-06511", "PL/SQL: cursor already open", "wrong_result", "runtime_error"),
    ("ORA-06503", "PL/SQL: Function returned without value", "wrong_result", "runtime_error"),
    ("ORA-06592", "CASE not found while executing CASE statement", "wrong_result", "runtime_error"),
    ("ORA-14551", "cannot perform a DML operation inside a query", "wrong_result", "runtime_error"),
    ("ORA-04091", "table APP.T is mutating", "wrong_result", "runtime_error"),
    ("ORA-00060", "deadlock detected while waiting for resource", "wrong_result", "runtime_error"),
    ("ORA-24381", "error(s) in array DML", "wrong_result", "runtime_error"),
    ("ORA-06510", "PL/SQL: unhandled user-defined exception", "wrong_result", "runtime_error"),
    ("ORA-01013", "user requested cancel of current operation", "wrong_result", "runtime_error"),
    ("ORA-20017", "no such customer", "wrong_result", "runtime_error"),
    ("ORA-00600", "internal error code", "wrong_result", "session_lost"),
]
OK = CallObservation()


def error(code: str, message: str = "no", where: str | None = None) -> Diagnostic:
    return Diagnostic(code=code, message=message, where=where)


def failing(code: str, message: str = "no", where: str | None = None) -> CallObservation:
    return CallObservation(error=error(code, message, where))


@pytest.mark.parametrize(("code", "message", "category", "subcategory"), EXAMPLES)
def test_an_example_of_every_row(code: str, message: str, category: str, subcategory: str) -> None:
    failure = classify_error(error(code, message))
    assert (failure.category, failure.subcategory) == (category, subcategory)
    assert failure.detail == f"{code}: {message}"
    assert subcategory in SUBCATEGORIES


def test_every_row_has_its_example() -> None:
    rows = {id(code_rule(effective_code(error(code, message)))) for code, message, *_ in EXAMPLES}
    missing = [rule.codes for rule in CODE_RULES if id(rule) not in rows]
    assert not missing
    assert len(EXAMPLES) == len(CODE_RULES)


def test_every_code_stands_in_the_table_once_and_in_canonical_form() -> None:
    codes = [code for rule in CODE_RULES for code in rule.codes.split()]
    assert sorted(set(codes)) == sorted(codes)
    for rule in CODE_RULES:
        assert rule.category in CATEGORIES
        for code in rule.codes.split():
            oracle = "-" in code
            assert bool(rule.group) == oracle, "a SQLSTATE brings its own class"
            if not code.endswith("*"):
                assert canonical_code(code) == code
                assert code_rule(code) is rule
                assert oracle or len(code) == 5


@pytest.mark.parametrize(
    ("code", "subcategory"),
    [
        ("22000", "runtime_error"),
        ("23505", "runtime_error"),
        ("P0001", "runtime_error"),
        ("P0004", "runtime_error"),
        ("2D000", "runtime_error"),
        ("XX000", "runtime_error"),
        ("53400", "resource_limit"),
        ("ORA-20000", "runtime_error"),
        ("ORA-20999", "runtime_error"),
        ("ORA-1403", "runtime_error"),
        ("ora-942", "unknown_table"),
    ],
)
def test_codes_by_prefix_and_in_other_spellings(code: str, subcategory: str) -> None:
    rule = code_rule(code)
    assert rule is not None
    assert rule.subcategory == subcategory


@pytest.mark.parametrize(
    "code", ["ORA-21000", "ORA-02000x", "ORA-99999", "42999", "ZZ001", "", "2201", "PLS-99999"]
)
def test_unknown_codes_are_shown_and_not_guessed(code: str) -> None:
    assert code_rule(code) is None
    failure = classify_error(error(code, "what is it\nmore"))
    assert failure == Failure("wrong_result", "unclassified", f"{code}: what is it")
    assert classify_error(error(code), by_program=True).category == "invalid_program"


def test_error_classes() -> None:
    assert error_class("22012") == error_class("22003") == "22"
    assert error_class("ORA-1403") == error_class("ORA-00100")
    assert error_class("ORA-20001") == "user"
    assert error_class("ORA-99999") == "ORA-99999"
    assert error_class("MY001") == "MY"


@pytest.mark.parametrize(
    ("code", "message", "cause"),
    [
        (
            "ORA-06550",
            "ORA-06550: line 1, column 7:\nPLS-00201: identifier 'P' must be declared",
            "PLS-00201",
        ),
        (
            "ORA-06550",
            "ORA-06550: line 1, column 7:\nPL/SQL: ORA-00942: table or view does not exist",
            "ORA-00942",
        ),
        ("ORA-06550", "line 1, column 7", "ORA-06550"),
        ("ORA-20000", "ORA-20000: ORU-10028: line length overflow", "ORU-10028"),
        ("ORA-20000", "ORA-20000: ORA-01403 happened", "ORA-20000"),
        ("ORA-20001", "PLS-00201: said the program", "ORA-20001"),
        ("22012", "PLS-00201", "22012"),
    ],
)
def test_the_cause_inside_a_wrapper(code: str, message: str, cause: str) -> None:
    assert effective_code(error(code, message)) == cause


def test_details_are_one_safe_line() -> None:
    failure = classify_error(error("P0001", "\x1b[2J" + "x" * 1000 + "\nmore"))
    assert failure.detail is not None
    assert failure.detail.startswith("P0001: \\x1b[2Jxxx")
    assert failure.detail.isprintable()
    assert len(failure.detail) < 320


class TestErrors:
    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("42601", "syntax error at end of input"),
            ("42601", 'unterminated dollar-quoted string at or near "$$"'),
            ("PLS-00103", 'Encountered the symbol "end-of-file" when expecting one of the following'),
        ],
    )
    def test_truncated(self, code: str, message: str) -> None:
        failure = classify_error(error(code, message))
        assert (failure.category, failure.subcategory) == ("invalid_program", "truncated")

    def test_a_function_that_the_test_misses_or_the_program(self) -> None:
        message = "function nvl(integer, integer) does not exist"
        in_block = "PL/pgSQL function inline_code_block line 3 at PERFORM"
        in_program = "PL/pgSQL function get_total(integer) line 3 at RETURN"
        assert classify_error(error("42883", message)).subcategory == "missing_entry_point"
        assert classify_error(error("42883", message, in_block)).subcategory == "missing_entry_point"
        assert classify_error(error("42883", message, in_program)).subcategory == "unknown_name"
        assert (
            classify_error(error("42883", message, f"{in_program}\n{in_block}")).subcategory == "unknown_name"
        )
        assert (
            classify_error(error("42883", message, 'SQL function "f" statement 1')).subcategory
            == "unknown_name"
        )
        assert classify_error(error("42883", message), by_program=True).subcategory == "unknown_name"

    def test_an_operator_is_no_entry_point(self) -> None:
        failure = classify_error(error("42883", "operator does not exist: text + integer"))
        assert (failure.category, failure.subcategory) == ("invalid_program", "type_error")

    def test_findings_about_the_interface(self) -> None:
        missing = error("42883", "function sf_total() does not exist")
        said = "defines get_total, tests call sf_total"
        assert classify_error(missing, [said]) == Failure("interface", "missing_entry_point", said)
        assert classify_error(missing, [f"wrong_arguments: {said}"]) == Failure(
            "interface", "wrong_arguments", said
        )
        assert classify_error(missing, [f"nonsense: {said}"]).subcategory == "missing_entry_point"
        # They explain calls of the program, nothing else.
        assert classify_error(error("42P01", "no t"), [said]).detail == "42P01: no t"
        inside = error("42883", "function f() does not exist", "PL/pgSQL function g() line 1 at RETURN")
        assert classify_error(inside, [said]).detail == "42883: function f() does not exist"


def result(mode: Mode, expected: Observation, actual: Observation, **facts: object) -> Failure:
    test = Test(name="t", calls=("SELECT f()",), compare=(Comparison(mode),), may_fail=True)
    outcome = compare(test, expected, actual, "published")
    return classify(test, outcome, actual, OK, **facts)  # type: ignore[arg-type]


def observed(*calls: CallObservation, state: tuple[TableState, ...] = ()) -> Observation:
    return Observation(calls=calls, state=state)


class TestOutcomes:
    def test_output(self) -> None:
        failure = result(
            "lines", observed(CallObservation(lines=("a",))), observed(CallObservation(lines=("b",)))
        )
        assert failure == Failure("wrong_result", "output_mismatch", "line 1")

    def test_state(self) -> None:
        changed = TableState("t", ("c",), ())
        failure = result("state", observed(OK), observed(OK, state=(changed,)))
        assert (failure.category, failure.subcategory) == ("wrong_result", "state_mismatch")

    def test_errors(self) -> None:
        mismatch = ("wrong_result", "error_mismatch")
        missing = result("outcome", observed(failing("P0001")), observed(OK))
        other = result("error_code", observed(failing("P0001")), observed(failing("22012")))
        assert (missing.category, missing.subcategory) == (other.category, other.subcategory) == mismatch
        raised = result("outcome", observed(OK, OK), observed(OK, failing("22012", "division by zero")))
        assert raised == Failure("wrong_result", "runtime_error", "22012: division by zero")

    def test_limits_are_counted_apart(self) -> None:
        for limit in ("time_limit", "output_limit", "memory_limit"):
            actual = observed(CallObservation(limit=limit, error=error("57014")))
            failure = result("lines", observed(OK), actual)
            assert (failure.category, failure.subcategory) == ("limit", limit)

    def test_rows_beyond_the_limit(self) -> None:
        cut = CallObservation(results=(ResultSet(("c",), ((("int", "1"),),), truncated=True),))
        whole = CallObservation(results=(ResultSet(("c",), ((("int", "1"),),)),))
        failure = result("bag", observed(whole), observed(cut))
        assert (failure.category, failure.subcategory) == ("limit", "row_limit")

    def test_a_lost_session(self) -> None:
        failure = result("outcome", observed(OK), observed(CallObservation(lost=True, error=error("57P01"))))
        assert (failure.category, failure.subcategory) == ("wrong_result", "session_lost")

    def test_a_code_alone_decides_neither_limit_nor_loss_of_the_harness(self) -> None:
        """A program may raise any code: then it failed at run time, whatever the code claims."""
        failure = result("outcome", observed(OK), observed(failing("57014")))
        assert (failure.category, failure.subcategory) == ("wrong_result", "runtime_error")


class TestPrograms:
    test = Test(name="t", calls=("SELECT f()",))

    def test_no_program(self) -> None:
        failure = classify(self.test, None, None, failing("42601"), not_a_program="prose around a fence")
        assert failure == Failure("invalid_program", "not_a_program", "prose around a fence")

    @pytest.mark.parametrize(
        ("install", "category", "subcategory"),
        [
            (failing("42601", 'syntax error at or near "x"'), "invalid_program", "syntax_error"),
            (failing("42P01"), "interface", "unknown_table"),
            (failing("42883"), "interface", "unknown_name"),
            (failing("22012"), "wrong_result", "runtime_error"),
            (failing("ZZ999"), "invalid_program", "unclassified"),
            (CallObservation(limit="time_limit"), "limit", "time_limit"),
            (CallObservation(lost=True), "wrong_result", "session_lost"),
            (CallObservation(limit="time_limit", error=error("42601")), "limit", "time_limit"),
        ],
    )
    def test_a_program_that_does_not_install(
        self, install: CallObservation, category: str, subcategory: str
    ) -> None:
        failure = classify(self.test, None, None, install)
        assert (failure.category, failure.subcategory) == (category, subcategory)

    def test_an_invalid_object_by_its_cause(self) -> None:
        invalid = observed(failing("ORA-06550", "ORA-06550: line 1\nPLS-00905: object APP.F is invalid"))
        outcome = compare(self.test, observed(OK), invalid, "published")
        warning = Diagnostic(code="PLW-06009", message="WHEN OTHERS", severity="warning")
        for code, expected in (
            ("PLS-00103", ("invalid_program", "syntax_error")),
            ("ORA-00942", ("interface", "unknown_table")),
            ("PLS-00201", ("interface", "unknown_name")),
            ("PLS-99999", ("invalid_program", "invalid_object")),
        ):
            install = CallObservation(diagnostics=(warning, error(code)))
            failure = classify(self.test, outcome, invalid, install)
            assert (failure.category, failure.subcategory) == expected
        failure = classify(self.test, outcome, invalid, OK)
        assert (failure.category, failure.subcategory) == ("invalid_program", "invalid_object")
        unplayed = classify(
            self.test,
            None,
            None,
            CallObservation(error=error("ORA-24344"), diagnostics=(error("PLS-00103"),)),
        )
        assert unplayed.subcategory == "syntax_error"

    def test_a_block_that_is_itself_the_test(self) -> None:
        block = Test(name="t")
        actual = observed(failing("42883", "function f() does not exist"))
        outcome = compare(block, observed(OK), actual, "published")
        assert classify(block, outcome, actual, OK).subcategory == "unknown_name"

    def test_nothing_to_classify(self) -> None:
        with pytest.raises(ValueError, match="passed"):
            classify(self.test, PASSED, observed(OK), OK)
        with pytest.raises(ValueError, match="shows no reason"):
            classify(self.test, None, None, OK)


def test_the_docs_list_every_subcategory_and_code() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "taxonomy.md").read_text(encoding="utf-8")
    for subcategory in SUBCATEGORIES:
        assert f"`{subcategory}`" in page
    for rule in CODE_RULES:
        row = f"| `{rule.category}` | `{rule.subcategory}` | {rule.group or '-'} | {rule.codes} |"
        assert row in page, "docs/taxonomy.md shows the table of codes.py"
