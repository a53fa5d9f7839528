"""What holds for all modes: readings, equivalence, faults of references."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.comparison import (
    COMPARATOR_VERSION,
    comparator_name,
    compare,
    observations_equal,
    plays_agree,
    reference_fault,
)
from pytest_plsqlbench.bench.observation import (
    CallObservation,
    Cell,
    Diagnostic,
    Kind,
    Observation,
    ResultSet,
    TableState,
)
from pytest_plsqlbench.bench.task import MODES, Comparison, Expectation, Mode, Test
from pytest_plsqlbench.bench.taxonomy import classify
from pytest_plsqlbench.bench.values import Reading

_KINDS: list[Kind] = [
    "int",
    "numeric",
    "float",
    "text",
    "bool",
    "date",
    "timestamp",
    "json",
    "numbers",
    "other",
]
_TEXTS = [
    "",
    " ",
    "0",
    "-0",
    "1",
    "1.0",
    "1.50",
    "a",
    "a ",
    "a  b",
    "a b",
    "2024-01-15",
    "2024-01-15 00:00:00",
    "{1}",
]
_CELLS: st.SearchStrategy[Cell] = st.none() | st.tuples(st.sampled_from(_KINDS), st.sampled_from(_TEXTS))
_LINES = st.lists(
    st.sampled_from(["", " ", "a", "a ", "a  b", "a b", "1.50", "1.5", "x\ny", "1, 2", "1,2"]), max_size=3
)


@st.composite
def _tables(draw: st.DrawFn, width: int) -> tuple[tuple[Cell, ...], ...]:
    return tuple(draw(st.lists(st.tuples(*[_CELLS] * width), max_size=3)))


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    calls = []
    for _ in range(2):
        width = draw(st.sampled_from([1, 1, 2]))
        results = (ResultSet(("c",) * width, draw(_tables(width))),)
        error = draw(st.sampled_from([None, None, None, "22012", "22003", "P0001"]))
        calls.append(
            CallObservation(
                lines=tuple(draw(_LINES)),
                results=results,
                error=Diagnostic(code=error, message="no") if error else None,
            )
        )
    state = tuple(
        TableState(name, ("c",), draw(_tables(1))) for name in draw(st.sampled_from([(), ("t",), ("t", "u")]))
    )
    return Observation(calls=tuple(calls), state=state, state_between=((), state), objects=())


def _alike(observation: Observation, draw: st.DrawFn) -> Observation:
    """Change an observation a little, or only in its spelling."""
    call = observation.calls[0]
    lines = tuple(
        draw(st.sampled_from([line, line + " ", line.replace("1.50", "1.5"), line + "x"]))
        for line in call.lines
    )
    results = tuple(
        ResultSet(result.columns, tuple(draw(st.permutations(result.rows))), result.truncated)
        for result in call.results
    )
    changed = msgspec.structs.replace(call, lines=lines, results=results)
    return msgspec.structs.replace(observation, calls=(changed, *observation.calls[1:]))


@st.composite
def triples(draw: st.DrawFn) -> tuple[Observation, Observation, Observation]:
    first = draw(observations())
    second = _alike(first, draw) if draw(st.booleans()) else draw(observations())
    third = _alike(second, draw) if draw(st.booleans()) else draw(observations())
    return first, second, third


JUDGED: list[Mode] = [mode for mode in MODES if mode != "permuted"]
RULES = st.sampled_from(
    [Comparison(mode) for mode in JUDGED]
    + [Comparison("list", order_keys=()), Comparison("list", order_keys=(0,))]
)
READINGS: st.SearchStrategy[Reading] = st.sampled_from(["published", "normalized", "strict"])


@settings(deadline=None, max_examples=100)
@given(triples(), RULES, READINGS)
def test_every_rule_without_tolerance_is_an_equivalence(
    three: tuple[Observation, Observation, Observation], rule: Comparison, reading: Reading
) -> None:
    test = Test(name="t", compare=(rule,), may_fail=True)

    def alike(one: Observation, other: Observation) -> bool:
        return compare(test, one, other, reading).passed

    first, second, third = three
    assert alike(first, first)
    assert alike(first, second) == alike(second, first)
    if alike(first, second) and alike(second, third):
        assert alike(first, third)


@settings(deadline=None, max_examples=100)
@given(triples(), RULES, st.sampled_from([None, 0.0, 0.5]))
def test_strict_implies_published_implies_normalized(
    three: tuple[Observation, Observation, Observation], rule: Comparison, tolerance: float | None
) -> None:
    test = Test(name="t", compare=(msgspec.structs.replace(rule, tolerance=tolerance),), may_fail=True)
    first, second, _ = three
    strict, published, normalized = (
        compare(test, first, second, reading) for reading in ("strict", "published", "normalized")
    )
    assert not strict.passed or published.passed
    assert not published.passed or normalized.passed
    assert published.formatting_only == (not published.passed and normalized.passed)
    # Asked for again, the same is answered.
    assert compare(test, first, second, "published") == published


@settings(deadline=None, max_examples=60)
@given(observations(), RULES)
def test_a_tolerance_never_fails_what_is_equal(observation: Observation, rule: Comparison) -> None:
    test = Test(name="t", compare=(msgspec.structs.replace(rule, tolerance=0.001),), may_fail=True)
    assert compare(test, observation, observation, "published").passed


@settings(deadline=None, max_examples=60)
@given(triples(), st.lists(RULES, min_size=1, max_size=3))
def test_all_rules_must_hold(
    three: tuple[Observation, Observation, Observation], rules: list[Comparison]
) -> None:
    first, second, _ = three
    each = [compare(Test(name="t", compare=(rule,)), first, second, "published") for rule in rules]
    together = compare(Test(name="t", compare=tuple(rules)), first, second, "published")
    assert together.passed == all(outcome.passed for outcome in each)
    if not together.passed:
        first_failed = next(outcome for outcome in each if not outcome.passed)
        assert (together.mode, together.kind, together.detail) == (
            first_failed.mode,
            first_failed.kind,
            first_failed.detail,
        )


def test_the_comparator_is_named_with_its_version() -> None:
    assert comparator_name("published") == f"published/{COMPARATOR_VERSION}"
    assert comparator_name("normalized") == f"normalized/{COMPARATOR_VERSION}"


def shown(
    *lines: str,
    rows: tuple[tuple[Cell, ...], ...] | None = None,
    code: str | None = None,
    truncated: bool = False,
    limit: str | None = None,
    lost: bool = False,
) -> Observation:
    results = () if rows is None else (ResultSet(("c",) * len(rows[0]), rows, truncated),)
    error = Diagnostic(code=code, message="first\nsecond") if code else None
    return Observation(
        calls=(CallObservation(lines=lines, results=results, error=error, limit=limit, lost=lost),), state=()
    )


ONE: tuple[tuple[Cell, ...], ...] = ((("int", "1"),),)


@pytest.mark.parametrize("code", ["P0001", None], ids=["as the reference", "no error"])
@pytest.mark.parametrize("mode", ["outcome", "error_code", "state", "list"])
def test_a_program_that_is_not_there_any_more_passes_no_test_that_expects_errors(
    mode: Mode, code: str | None
) -> None:
    gone = msgspec.structs.replace(shown(code=code or "P0001"), uninstalled=True, state=None)
    test = Test(name="t", compare=(Comparison(mode),), may_fail=True)
    stated = Test(name="t", compare=(Comparison(mode),), expect=Expectation(error="P0001"))
    for outcome in (
        compare(test, shown(code="P0001"), gone, "published"),
        compare(stated, None, gone, "published"),
    ):
        assert (outcome.verdict, outcome.kind) == ("failed", "uninstalled")
    failure = classify(test, outcome, gone, None)
    assert (failure.category, failure.subcategory) == ("wrong_result", "runtime_error")
    assert "installed once more" in str(reference_fault(test, gone))


class TestReferenceFault:
    @pytest.mark.parametrize("mode", JUDGED)
    def test_a_sound_reference(self, mode: Mode) -> None:
        assert reference_fault(Test(name="t", compare=(Comparison(mode),)), shown("a", rows=ONE)) is None

    def test_sound_gold_and_stated_rows(self) -> None:
        rule = Comparison("permuted", order_keys=(0,))
        assert reference_fault(Test(name="t", gold="q", compare=(rule,)), shown(rows=ONE)) is None
        assert (
            reference_fault(Test(name="t", gold="q", compare=(Comparison("bag"),)), shown(rows=ONE)) is None
        )
        assert (
            reference_fault(Test(name="t", compare=(rule,), expect=Expectation(rows=((1,),))), None) is None
        )
        assert reference_fault(Test(name="t", expect=Expectation(lines=("a",))), None) is None

    @pytest.mark.parametrize(
        ("test", "expected", "fault"),
        [
            (Test(name="t"), None, "neither a reference nor a stated expectation"),
            (Test(name="t"), shown(limit="time_limit"), "ran into time_limit"),
            (Test(name="t"), shown(lost=True), "loss of its session"),
            (Test(name="t"), shown(code="22012"), "raised 22012: first"),
            (Test(name="t", gold="q", may_fail=True), shown(code="22012"), "raised 22012: first"),
            (Test(name="t"), shown(rows=ONE, truncated=True), "more rows than the limit"),
            (Test(name="t", compare=(Comparison("value"),)), shown("a"), "its reference returned none"),
            (Test(name="t", compare=(Comparison("state"),)), Observation(calls=()), "was not observed"),
            (
                Test(name="t", gold="q", compare=(Comparison("permuted"),)),
                shown("a"),
                "one expected result set",
            ),
            (
                Test(name="t", gold="q", compare=(Comparison("lines"),)),
                shown(rows=ONE),
                "say nothing about lines",
            ),
            (Test(name="t", compare=(Comparison("list", order_keys=(3,)),)), shown(rows=ONE), "column 3"),
            (
                Test(name="t", compare=(Comparison("lines"),), expect=Expectation(rows=())),
                None,
                "does not state",
            ),
        ],
    )
    def test_faults(self, test: Test, expected: Observation | None, fault: str) -> None:
        found = reference_fault(test, expected)
        assert found is not None
        assert fault in found
        assert "\n" not in found

    def test_an_error_that_the_test_allows(self) -> None:
        assert reference_fault(Test(name="t", may_fail=True), shown(code="22012")) is None


class TestPlaysAgree:
    def test_only_what_is_judged_must_agree(self) -> None:
        one, other = shown("a", rows=ONE), shown("b", rows=ONE)
        assert plays_agree(Test(name="t", compare=(Comparison("bag"),)), one, other).passed
        assert not plays_agree(Test(name="t", compare=(Comparison("lines"),)), one, other).passed

    def test_golds_agree_up_to_ties(self) -> None:
        a: tuple[Cell, ...] = (("text", "a"), ("int", "1"))
        b: tuple[Cell, ...] = (("text", "b"), ("int", "1"))
        for keys, agree in (((1,), True), ((), True), (None, False), ((0,), False)):
            test = Test(name="t", gold="q", compare=(Comparison("permuted", order_keys=keys),))
            assert plays_agree(test, shown(rows=(a, b)), shown(rows=(b, a))).passed == agree

    def test_a_stated_expectation_does_not_stand_in(self) -> None:
        test = Test(name="t", compare=(Comparison("lines"),), expect=Expectation(lines=("a",)))
        assert plays_agree(test, shown("b"), shown("b")).passed
        assert not plays_agree(test, shown("a"), shown("b")).passed


class TestObservationsEqual:
    def test_measurements_and_messages_do_not_count(self) -> None:
        one = msgspec.structs.replace(shown("a", code="P0001"), elapsed_ms=1.0, work=3)
        other = msgspec.structs.replace(shown("a", code="P0001"), elapsed_ms=2.0)
        assert observations_equal(one, other)

    @pytest.mark.parametrize(
        "other",
        [
            shown("a "),
            shown("a", ""),
            shown("a", code="P0001"),
            shown("a", rows=ONE),
            shown("a", limit="time_limit"),
            shown("a", lost=True),
            msgspec.structs.replace(shown("a"), state=None),
            msgspec.structs.replace(shown("a"), state_between=((),)),
            msgspec.structs.replace(shown("a"), objects=("+ table t",)),
        ],
    )
    def test_everything_else_does(self, other: Observation) -> None:
        assert not observations_equal(shown("a"), other)
        assert observations_equal(other, other)
