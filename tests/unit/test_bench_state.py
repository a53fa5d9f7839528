"""Table state: ProcArena's EX, as published and strict."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_plsqlbench.bench.comparison import Outcome, UnjudgeableError, compare
from pytest_plsqlbench.bench.judging import judge
from pytest_plsqlbench.bench.observation import CallObservation, Cell, Diagnostic, Observation, TableState
from pytest_plsqlbench.bench.task import Comparison, Test
from pytest_plsqlbench.bench.values import Reading

TEST = Test(name="t", calls=("CALL p()", "CALL q()"), compare=(Comparison("state"),), may_fail=True)
OK = CallObservation()


def failing(code: str) -> CallObservation:
    return CallObservation(error=Diagnostic(code=code, message="no"))


def table(name: str, *rows: Sequence[Cell], columns: int | None = None) -> TableState:
    width = columns if columns is not None else len(rows[0]) if rows else 2
    return TableState(name, tuple(f"c{n}" for n in range(width)), tuple(tuple(row) for row in rows))


def after(
    *tables: TableState,
    calls: Sequence[CallObservation] = (OK, OK),
    between: Sequence[Sequence[TableState]] | None = ((), ()),
    objects: tuple[str, ...] | None = (),
) -> Observation:
    return Observation(
        calls=tuple(calls),
        state=tables,
        state_between=None if between is None else tuple(map(tuple, between)),
        objects=objects,
    )


def verdict(expected: Observation, actual: Observation, reading: Reading = "published") -> Outcome:
    return compare(TEST, expected, actual, reading)


A: tuple[Cell, ...] = (("int", "1"), ("text", "a"))
B: tuple[Cell, ...] = (("int", "2"), ("text", "b"))


class TestPublished:
    def test_the_same_bags_of_rows(self) -> None:
        assert verdict(after(table("t", A, B, A)), after(table("t", A, A, B))).passed
        assert verdict(after(table("t", A), table("u", B)), after(table("u", B), table("t", A))).passed
        assert verdict(after(), after()).passed
        assert verdict(after(table("t")), after(table("t"))).passed

    @pytest.mark.parametrize(
        ("expected", "actual", "shown"),
        [
            (after(table("t", A)), after(table("t", B)), ("(1, 'a')", "(2, 'b')")),
            (after(table("t", A)), after(table("t", A, A)), (None, "(1, 'a')")),
            (after(table("t", A, A)), after(table("t", A)), ("(1, 'a')", None)),
            (after(table("t", A)), after(), ("changed, 1 row", "unchanged")),
            (after(), after(table("t", A, B)), ("unchanged", "changed, 2 rows")),
            (after(table("t")), after(), ("changed, 0 rows", "unchanged")),
            (after(table("t", A)), after(table("t", (*A, None))), ("2 columns", "3 columns")),
            (after(table("t", A)), after(table("u", A)), ("changed, 1 row", "unchanged")),
        ],
    )
    def test_other_rows(
        self, expected: Observation, actual: Observation, shown: tuple[str | None, str | None]
    ) -> None:
        for reading in ("published", "normalized", "strict"):
            outcome = verdict(expected, actual, reading)
            assert (outcome.verdict, outcome.mode, outcome.kind) == ("failed", "state", "state")
            assert (outcome.expected, outcome.actual) == shown
            assert outcome.detail is not None
            assert outcome.detail.startswith("table t after the last call")

    @pytest.mark.parametrize(
        ("one", "other", "published", "normalized"),
        [
            (("numeric", "11.4"), ("numeric", "11.4000"), True, True),
            (("float", "0"), ("float", "-0"), False, True),
            (("float", "0.1"), ("float", "0.10000000000000002"), False, False),
            (("text", "a"), ("text", "a "), False, True),
            (("text", "a"), ("text", "A"), False, False),
            (None, ("int", "0"), False, False),
            (None, ("text", ""), False, False),
            (None, None, True, True),
        ],
    )
    def test_values(self, one: Cell, other: Cell, published: bool, normalized: bool) -> None:
        expected, actual = after(table("t", (one,))), after(table("t", (other,)))
        assert verdict(expected, actual).passed == published
        assert verdict(expected, actual, "normalized").passed == normalized
        assert verdict(expected, actual, "strict").passed == published

    def test_names_of_columns_do_not_count(self) -> None:
        renamed = TableState("t", ("x", "y"), (A,))
        assert verdict(after(table("t", A)), after(renamed)).passed

    def test_outcomes_alike_but_not_codes(self) -> None:
        expected = after(calls=[OK, failing("P0001")])
        assert verdict(expected, after(calls=[OK, failing("22012")])).passed
        assert not verdict(expected, after(calls=[failing("P0001"), OK])).passed
        assert not verdict(expected, after()).passed

    def test_what_the_calls_print_and_return_does_not_count(self) -> None:
        talking = CallObservation(lines=("done",))
        assert verdict(after(), after(calls=[talking, OK])).passed

    def test_a_state_that_was_not_observed_is_no_verdict(self) -> None:
        unseen = Observation(calls=(OK, OK))
        for expected, actual in ((unseen, after()), (after(), unseen)):
            with pytest.raises(UnjudgeableError, match="the state, which was not observed"):
                verdict(expected, actual)


class TestStrict:
    def test_codes_call_by_call(self) -> None:
        expected = after(calls=[failing("P0001"), failing("22012")])
        assert verdict(expected, after(calls=[failing("P0001"), failing("22012")]), "strict").passed
        outcome = verdict(expected, after(calls=[failing("P0001"), failing("22003")]), "strict")
        assert (outcome.mode, outcome.kind, outcome.call) == ("state", "different_error", 1)

    def test_the_state_between_calls(self) -> None:
        expected = after(table("t", A), between=[[table("t", B)], [table("t", A)]])
        late = after(table("t", A), between=[[], [table("t", A)]])
        assert verdict(expected, late).passed
        outcome = verdict(expected, late, "strict")
        assert (outcome.kind, outcome.call, outcome.detail) == ("state", 0, "table t after call 1")
        assert verdict(expected, expected, "strict").passed

    def test_objects(self) -> None:
        expected = after(objects=("+ sequence s = 3", "- table old"))
        assert verdict(expected, after(objects=("- table old", "+ sequence s = 3")), "strict").passed
        outcome = verdict(expected, after(objects=("+ sequence s = 4", "- table old")), "strict")
        assert (outcome.kind, outcome.expected, outcome.actual) == (
            "objects",
            "+ sequence s = 3",
            "+ sequence s = 4",
        )
        assert verdict(expected, after()).passed

    def test_names_of_objects_are_shown_safely(self) -> None:
        outcome = verdict(after(), after(objects=("+ table \x1b[31m" + "x" * 500,)), "strict")
        assert outcome.expected == "no such change"
        assert outcome.actual is not None
        assert outcome.actual.startswith("+ table \\x1b[31mxxx")
        assert len(outcome.actual) <= 120

    def test_what_was_not_observed_is_no_verdict(self) -> None:
        with pytest.raises(UnjudgeableError, match="between calls was not observed"):
            verdict(after(between=None), after(), "strict")
        with pytest.raises(UnjudgeableError, match="after the same calls"):
            verdict(after(), after(between=[()]), "strict")

    def test_judged_beside_the_published_reading(self) -> None:
        expected = after(calls=[OK, failing("P0001")])
        judgement = judge(TEST, expected, after(calls=[OK, failing("22012")]), "published")
        assert judgement.outcome.passed
        assert judgement.strict is not None
        assert judgement.strict.kind == "different_error"
        assert judge(TEST, after(between=None), after(), "published").strict is None
        assert judge(TEST, after(), after(between=None), "published").strict is None
        other = judge(TEST, expected, after(), "published")
        assert other.strict is not None
        assert not other.strict.passed
