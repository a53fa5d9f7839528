"""Whether calls end as they should: judged first, whatever else a test compares."""

from __future__ import annotations

import pytest

from pytest_plsqlbench.bench.comparison import Outcome, Reading, UnjudgeableError, compare
from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, Observation, ResultSet
from pytest_plsqlbench.bench.task import MODES, Comparison, Expectation, Mode, Test


def error(code: str, message: str = "went wrong") -> Diagnostic:
    return Diagnostic(code=code, message=message)


def call(
    *lines: str,
    code: str | None = None,
    message: str = "went wrong",
    limit: str | None = None,
    lost: bool = False,
) -> CallObservation:
    return CallObservation(
        lines=lines,
        results=(ResultSet(("c",), ((("int", "1"),),)),),
        error=error(code, message) if code else None,
        limit=limit,
        lost=lost,
    )


def shown(*calls: CallObservation) -> Observation:
    return Observation(calls=calls, state=())


def judge(
    expected: Observation | None,
    actual: Observation,
    *modes: Mode,
    reading: Reading = "published",
    may_fail: bool = False,
    gold: str | None = None,
    expect: Expectation | None = None,
) -> Outcome:
    rules = tuple(Comparison(mode) for mode in modes or ("outcome",))
    test = Test(name="t", compare=rules, may_fail=may_fail, gold=gold, expect=expect)
    return compare(test, expected, actual, reading)


READINGS: list[Reading] = ["published", "normalized"]
JUDGED = [mode for mode in MODES if mode != "permuted"]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("mode", JUDGED)
class TestFirst:
    def test_an_error_that_the_reference_does_not_raise(self, mode: Mode, reading: Reading) -> None:
        outcome = judge(shown(call()), shown(call(code="22012")), mode, reading=reading)
        assert (outcome.verdict, outcome.mode, outcome.kind) == ("failed", "outcome", "unexpected_error")
        assert (outcome.expected, outcome.actual) == ("no error", "error 22012: went wrong")
        assert outcome.call == 0

    def test_no_error_where_the_reference_raises(self, mode: Mode, reading: Reading) -> None:
        outcome = judge(shown(call(code="22012")), shown(call()), mode, reading=reading, may_fail=True)
        assert (outcome.verdict, outcome.kind) == ("failed", "error_expected")

    def test_a_limit_fails_even_where_an_error_is_expected(self, mode: Mode, reading: Reading) -> None:
        actual = shown(call(code="57014", limit="time_limit"))
        outcome = judge(shown(call(code="57014")), actual, mode, reading=reading, may_fail=True)
        assert (outcome.verdict, outcome.kind, outcome.actual) == ("failed", "limit", "time_limit")

    def test_a_lost_session_fails(self, mode: Mode, reading: Reading) -> None:
        outcome = judge(
            shown(call(code="57P01")), shown(call(lost=True, code="57P01")), mode, reading=reading
        )
        assert (outcome.verdict, outcome.kind) == ("failed", "lost")

    def test_alike_passes(self, mode: Mode, reading: Reading) -> None:
        for both in (shown(call("a")), shown(call("a", code="22012"), call("b"))):
            assert judge(both, both, mode, reading=reading, may_fail=True).passed


def test_the_first_call_that_ends_otherwise_is_named() -> None:
    outcome = judge(shown(call(), call(), call(code="P0001")), shown(call(), call(code="P0001"), call()))
    assert outcome.call == 1
    assert outcome.detail == "call 2"


def test_an_error_elsewhere_is_not_alike() -> None:
    expected, actual = shown(call(code="P0001"), call()), shown(call(), call(code="P0001"))
    assert not judge(expected, actual, may_fail=True).passed


@pytest.mark.parametrize(
    ("mode", "expected", "actual", "passes"),
    [
        ("outcome", "22012", "P0001", True),
        ("error_class", "22012", "22003", True),
        ("error_class", "22012", "23505", False),
        ("error_class", "P0001", "P0002", True),
        ("error_class", "IS001", "IS002", True),
        ("error_class", "ORA-01403", "ORA-00100", True),
        ("error_class", "ORA-01403", "ORA-01422", False),
        ("error_class", "ORA-20001", "ORA-20999", True),
        ("error_class", "ORA-20001", "ORA-01403", False),
        ("error_class", "ORA-01476", "ORA-1476", True),
        ("error_class", "ORA-99999", "ORA-99998", False),
        ("error_code", "22012", "22012", True),
        ("error_code", "22012", "22003", False),
        ("error_code", "ORA-20001", "ORA-20002", False),
        ("error_code", "ORA-00001", "ORA-1", True),
        ("error_code", "is001", "IS001", True),
    ],
)
def test_class_and_code(mode: Mode, expected: str, actual: str, passes: bool) -> None:
    outcome = judge(shown(call(code=expected)), shown(call(code=actual)), mode, may_fail=True)
    assert outcome.passed == passes
    if not passes:
        assert (outcome.mode, outcome.kind) == (mode, "different_error")
        assert outcome.expected == f"error {expected}: went wrong"


def test_codes_are_compared_call_by_call() -> None:
    expected = shown(call(code="P0001"), call(), call(code="22012"))
    actual = shown(call(code="P0001"), call(), call(code="22003"))
    outcome = judge(expected, actual, "error_code", may_fail=True)
    assert (outcome.passed, outcome.call, outcome.detail) == (False, 2, "call 3")


def test_the_cause_is_compared_not_its_wrapper() -> None:
    wrapped = "ORA-06550: line 1, column 7:\nPLS-00201: identifier 'P' must be declared"
    other = "ORA-06550: line 9, column 1:\nPLS-00306: wrong number or types of arguments in call to 'P'"
    expected = shown(call(code="ORA-06550", message=wrapped))
    assert judge(expected, shown(call(code="ORA-06550", message=wrapped)), "error_code").passed
    assert not judge(expected, shown(call(code="ORA-06550", message=other)), "error_code").passed


def test_messages_do_not_count() -> None:
    expected = shown(call(code="P0001", message="one"))
    assert judge(expected, shown(call(code="P0001", message="other")), "error_code", may_fail=True).passed


class TestStated:
    def test_success(self) -> None:
        assert judge(None, shown(call()), expect=Expectation(lines=())).passed

    def test_an_error_where_none_is_stated(self) -> None:
        outcome = judge(None, shown(call(), call(code="22012")), expect=Expectation(lines=()))
        assert (outcome.kind, outcome.expected, outcome.call) == ("unexpected_error", "no error", 1)

    @pytest.mark.parametrize("mode", ["outcome", "error_class", "error_code"])
    @pytest.mark.parametrize(
        ("code", "kind"), [("P0002", None), ("P0001", "different_error"), (None, "error_expected")]
    )
    def test_the_stated_code_must_be_raised(self, mode: Mode, code: str | None, kind: str | None) -> None:
        outcome = judge(None, shown(call(code=code)), mode, expect=Expectation(error="P0002"), may_fail=True)
        assert outcome.kind == kind
        assert outcome.passed == (kind is None)

    def test_every_error_must_have_the_stated_code(self) -> None:
        actual = shown(call(code="P0002"), call(code="22012"))
        assert not judge(None, actual, expect=Expectation(error="P0002")).passed

    @pytest.mark.parametrize("stated", ["PLS-00201", "ORA-06550", "ORA-6550", "pls-201"])
    def test_oracle_codes_by_wrapper_or_cause(self, stated: str) -> None:
        message = "ORA-06550: line 1, column 7:\nPLS-00201: identifier 'P' must be declared"
        actual = shown(call(code="ORA-06550", message=message))
        assert judge(None, actual, expect=Expectation(error=stated)).passed

    def test_a_limit_fails_even_where_an_error_is_stated(self) -> None:
        actual = shown(call(code="57014", limit="time_limit"))
        assert judge(None, actual, expect=Expectation(error="57014")).kind == "limit"

    def test_the_last_call_is_named_where_no_error_came(self) -> None:
        assert judge(None, shown(call(), call()), expect=Expectation(error="P0002")).call == 1

    def test_no_call_at_all_raises_nothing(self) -> None:
        assert not judge(None, Observation(calls=()), expect=Expectation(error="P0002")).passed


class TestGold:
    gold = shown(CallObservation(results=(ResultSet(("c",), ((("int", "1"),),)),)))

    def test_no_call_may_fail(self) -> None:
        outcome = judge(self.gold, shown(call("1"), call(code="22012")), "permuted", gold="SELECT 1")
        assert (outcome.mode, outcome.kind, outcome.call) == ("outcome", "unexpected_error", 1)

    def test_the_number_of_calls_is_the_candidates_own(self) -> None:
        assert judge(self.gold, shown(call("1"), call()), "permuted", gold="SELECT 1").passed


class TestUnjudgeable:
    def test_other_calls_were_observed(self) -> None:
        with pytest.raises(UnjudgeableError, match="2 calls of the reference and 1"):
            judge(shown(call(), call()), shown(call()))
        with pytest.raises(UnjudgeableError, match="call 2"):
            judge(shown(call()), shown(call(), call()))

    def test_a_reference_that_did_not_finish(self) -> None:
        for broken in (call(limit="time_limit"), call(lost=True)):
            with pytest.raises(UnjudgeableError, match="did not finish call 1"):
                judge(shown(broken), shown(call()))

    def test_nothing_to_compare_with(self) -> None:
        with pytest.raises(UnjudgeableError, match="neither a reference nor"):
            judge(None, shown(call()))
