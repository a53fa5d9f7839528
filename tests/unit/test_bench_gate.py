"""Gates: their language, and what is held, broken, or cannot be told."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from bench_rows import single, talk
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.bench.baseline.comparable import Baseline
from pytest_plsqlbench.bench.gates.absent import absent
from pytest_plsqlbench.bench.gates.assessment import assess
from pytest_plsqlbench.bench.gates.text import Against, Threshold, parse_gate, parse_gates
from pytest_plsqlbench.bench.gates.verdict import GateVerdict, exit_code
from pytest_plsqlbench.bench.result import Status, TurnResult
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.saved import read_gates


def verdict(
    text: str, rows: Sequence[TurnResult], *, pending: int = 0, old: Sequence[TurnResult] | None = None
) -> GateVerdict:
    baseline = Baseline("old.jsonl", old, common=False, way="--common") if old is not None else None
    found = assess(rows, pending=pending, gates=(parse_gate(text),), baseline=baseline)
    return found.verdicts[0]


def many(solved: int, n: int, **more: object) -> list[TurnResult]:
    return [single(f"t{place:04}", int(place < solved), **more) for place in range(n)]  # type: ignore[arg-type]


# -- language --------------------------------------------------------------------------------------------


def test_thresholds() -> None:
    gate = parse_gate("  low( spider.mean_test_pass@1[dialect=oracle,\n difficulty='very hard'] )>=40% ")
    assert isinstance(gate, Threshold)
    assert gate.text == "low( spider.mean_test_pass@1[dialect=oracle, difficulty='very hard'] )>=40%"
    assert (gate.bound, gate.operator, gate.limit) == ("low", ">=", Fraction(2, 5))
    assert gate.quantity.subset == "spider"
    assert gate.quantity.filters == {"dialect": "oracle", "difficulty": "very hard"}
    overall = parse_gate("overall.solved^3[reading=strict] < 1")
    assert isinstance(overall, Threshold)
    assert (overall.quantity.name, overall.quantity.subset, overall.quantity.reading) == (
        "solved^3",
        None,
        "strict",
    )
    odd = parse_gate("'my set.v2'.share(wrong_result/output_mismatch) <= .1")
    assert isinstance(odd, Threshold)
    assert (odd.quantity.subset, odd.quantity.name) == ("my set.v2", "wrong_result/output_mismatch")


def test_comparisons() -> None:
    gate = parse_gate(
        "no_worse_than(baseline, margin=2%, metric=ex@1, subset=each, level=0.05, cluster=task)"
    )
    assert isinstance(gate, Against)
    assert (gate.claim, gate.metric, gate.subset) == ("no_worse_than", "ex@1", "each")
    assert (gate.margin, gate.level, gate.cluster) == (Fraction(1, 50), Fraction(1, 20), "task")
    plain = parse_gate("better_than(baseline)")
    assert isinstance(plain, Against)
    assert (plain.metric, plain.subset, plain.level) == ("solved@1", None, Fraction(1, 40))


def test_comments_and_blank_lines_are_no_gates() -> None:
    assert [gate.text for gate in parse_gates(["# release", "", "  turns > 0  "])] == ["turns > 0"]


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("spider", 1, "no metric or count"),
        ("suite_pass >= 1", 1, "did you mean suite_pass@1"),
        ("suite_pass@0 >= 1", 1, "no metric"),
        ("spider.ex@1 => 1", 13, "expected one of >="),
        ("ex@1 >= 1 1", 11, "expected the end"),
        ("ex@1 >= 1.1", 9, "lies from 0 to 1"),
        ("ex@1 >= -0.1", 9, "lies from 0 to 1"),
        ("ex@1 ! 1", 6, "not expected"),
        ("low(coverage) >= 1", 5, "has no interval"),
        ("low(ex@1) == 1", 11, "not =="),
        ("low(ex@1 >= 1", 10, "expected )"),
        ("ex@1[colour=red] >= 1", 6, "expected one of dialect"),
        ("ex@1[dialect=mysql] >= 1", 14, "dialect is one of oracle, postgres"),
        ("ex@1[dialect=oracle, dialect=oracle] >= 1", 22, "given twice"),
        ("timeouts[reading=strict] == 0", 1, "the same in every reading"),
        ("share(slow) <= 1", 7, "no category"),
        ("share(wrong_result/nothing) <= 1", 7, "no category"),
        ("better_than(baseline, margin=1%)", 23, "expected one of metric"),
        ("better_than(old.jsonl)", 13, "expected the word baseline"),
        ("no_worse_than(baseline, margin=1)", 32, "from 0 to below 1"),
        ("no_worse_than(baseline, level=0)", 31, "above 0 and below 0.5"),
        ("no_worse_than(baseline, metric=speed)", 32, "no metric"),
        ("no_worse_than(baseline margin=1%)", 24, "expected )"),
    ],
)
def test_a_slip_is_named_by_column(text: str, column: int, why: str) -> None:
    with pytest.raises(UserError) as error:
        parse_gate(text, "--plsql-gate")
    message = str(error.value)
    assert message.startswith(f"--plsql-gate: {text!r}: column {column}, at ")
    assert why in message
    assert "\n" not in message


@given(st.text(st.sampled_from("solved@1 low()[]=<>.,%'\"0123baseline_better_than"), max_size=40))
def test_any_text_is_a_gate_or_a_user_error(text: str) -> None:
    with contextlib.suppress(UserError):
        assert parse_gate(text).text


# -- values and bounds -----------------------------------------------------------------------------------


def test_a_value_decides_exactly() -> None:
    rows = many(1, 3)
    assert verdict("solved@1 >= 0.3333", rows).verdict == "held"
    assert verdict("solved@1 >= 0.33334", rows).verdict == "broken"
    assert verdict("solved@1 == 1", many(3, 3)).verdict == "held"
    found = verdict("mbpp.suite_pass@1 >= 0.3334", rows)
    assert (found.verdict, found.n) == ("broken", 3)
    assert found.reason.startswith("33.3% [6.1%, 79.3%], n = 3; asked for >= 0.3334")
    assert found.value == 1 / 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("low(solved@1) >= 0.4", "held"),  # [40.4 %, 59.6 %]
        ("low(solved@1) >= 0.45", "not_enough_evidence"),
        ("low(solved@1) >= 0.6", "broken"),
        ("high(solved@1) <= 0.6", "held"),
        ("high(solved@1) <= 0.5", "not_enough_evidence"),
        ("high(solved@1) < 0.4", "broken"),
        ("high(solved@1) >= 0.55", "held"),  # not shown to be less
        ("high(solved@1) >= 0.6", "broken"),
        ("low(solved@1) <= 0.45", "held"),
        ("low(solved@1) < 0.4", "broken"),
    ],
)
def test_a_bound_demands_evidence_or_forbids_it(text: str, expected: str) -> None:
    assert verdict(text, many(50, 100)).verdict == expected


def test_what_would_be_enough() -> None:
    rows = many(50, 100)
    enough = verdict("low(solved@1) >= 0.45", rows).enough
    assert enough is not None
    needed = int(enough.removeprefix("about ").split()[0])
    assert verdict("low(solved@1) >= 0.45", many(needed // 2 - 20, needed - 40)).verdict != "held"
    assert verdict("low(solved@1) >= 0.45", many(needed // 2 + 20, needed + 40)).verdict == "held"
    goal = verdict("low(solved@1) >= 0.52", rows).enough
    assert goal is not None
    assert goal.startswith("61.")
    assert verdict("low(solved@1) >= 0.52", many(62, 100)).verdict == "held"


def test_parts_of_the_tasks() -> None:
    rows = [
        *many(3, 4, difficulty="hard", constructs=("cursor",)),
        *many(0, 4, subset="other", dialect="oracle", reasoning_types=("joins", "dates")),
        *talk("c", 1, 0),
    ]
    for text in (
        "solved@1[difficulty=hard] == 0.75",
        "mbpp.solved@1 == 0.75",
        "solved@1[dialect=oracle, reasoning_type=joins] == 0",
        "solved@1[construct=cursor] == 0.75",
        "overall.suite_pass@1 == 0.375",
        "talks.turn_suite_pass@1 == 0.5",
        "solved@1 == 0.25",
        "turns[dialect=oracle] == 4",
        "other.share(output_mismatch) == 1",
        "share(wrong_result/output_mismatch) == 0.6",
    ):
        assert verdict(text, rows).verdict == "held", text


@pytest.mark.parametrize(
    "text", ["spidr.solved@1 >= 0", "solved@1[difficulty=easy] >= 0", "spidr.timeouts == 0", "ex@1 >= 0"]
)
def test_nothing_of_the_kind_is_never_held(text: str) -> None:
    found = verdict(text, many(1, 1))
    assert (found.verdict, found.n) == ("not_enough_evidence", 0)
    assert verdict(text, []).verdict == "not_enough_evidence"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spidr.turns == 0", "no turn is of subset 'spidr'; did you mean spider? there are mbpp, spider"),
        ("low(solved@1[difficulty=easy]) >= 0", "no task has difficulty=easy; there is hard"),
        ("mbpp.solved@1[difficulty=hard] >= 0", "no task of mbpp has difficulty=hard; none is named"),
        (
            "solved@1[difficulty=hard, reasoning_type=dates] >= 0",
            "no task has difficulty=hard and reasoning_type=dates together, each of them some have",
        ),
        ("talk.solved@1 >= 0", "no turn is of subset 'talk'; there are mbpp, spider"),
        ("episode_pass@1 >= 0", "no task has episode_pass@1; there are mean_test_pass@1, suite_pass@1"),
        ("solved@4 >= 0", "no task has 4 samples, which solved@4 needs; the most are 3"),
        ("better_than(baseline, subset=spidr)", "no turn is of subset 'spidr'; did you mean spider? there"),
        ("better_than(baseline, metric=ex@1)", "no task has ex@1; there are mean_test_pass@1, suite_pass@1"),
        ("better_than(baseline, construct=loop)", "no task has construct=loop; none is named"),
        ("solved@3 >= 0", None),
        ("better_than(baseline, subset=each, dialect=postgres)", None),
        ("mbpp.share(syntax_error)[reasoning_type=dates] >= 0", None),
        ("coverage[difficulty=hard] >= 0", None),
    ],
)
def test_words_that_no_task_has_are_found_without_a_verdict(text: str, why: str | None) -> None:
    rows = [
        *(single("a", 0, sample=n, status="missing", reasoning_types=("dates",)) for n in range(3)),
        single("b", 1, subset="spider", difficulty="hard"),
    ]
    found = absent(parse_gate(text), rows)
    assert (found is None) if why is None else (found is not None and found.startswith(why)), found


def test_a_long_list_of_words_is_cut() -> None:
    rows = [single(f"t{n}", 1, database=f"d{n:02}") for n in range(20)]
    found = absent(parse_gate("solved@1[database=xyz] >= 0"), rows)
    assert found is not None
    assert found.endswith("there are d00, d01, d02, d03, d04, d05, d06, d07, d08, d09, d10, d11 and 8 more")


# -- what is not known -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["infrastructure_error", "engine_unavailable"])
def test_lost_verdicts_count_only_where_they_could_decide(status: Status) -> None:
    rows = [*many(8, 10), *(single(f"lost{place}", 0, status=status) for place in range(2))]
    assert verdict("solved@1 >= 0.6", rows).verdict == "held"  # 8 of 12 at the worst
    assert verdict("solved@1 >= 0.9", rows).verdict == "broken"  # 10 of 12 at the best
    found = verdict("solved@1 >= 0.7", rows)
    assert found.verdict == "not_enough_evidence"
    assert found.enough == "verdicts of 2 tasks lost to servers or engines"
    assert verdict("share(wrong_result) <= 0.2", rows).verdict == "not_enough_evidence"


def test_a_subset_that_is_lost_as_a_whole() -> None:
    rows = [*many(8, 8), *talk("c", 1, 1, lost=2)]
    assert verdict("talks.episode_pass@1 >= 0", rows).verdict == "not_enough_evidence"
    assert verdict("solved@1 >= 0.9", rows).verdict == "not_enough_evidence"
    assert verdict("solved@1 >= 0.5", rows).verdict == "held"


def test_tasks_that_no_run_could_judge_are_not_lost() -> None:
    rows = [*many(8, 10), single("r", 0, status="reference_error"), single("u", 0, status="unsupported")]
    assert verdict("solved@1 >= 0.8", rows).verdict == "held"


def test_a_run_that_was_stopped() -> None:
    rows = [*many(10, 10), single("slow", 0, category="limit/time_limit")]
    for text in ("solved@1 >= 0", "coverage >= 0", "timeouts <= 1", "share(limit) <= 1"):
        found = verdict(text, rows, pending=1)
        assert (found.verdict, found.unfit) == ("not_enough_evidence", True), text
    assert verdict("timeouts == 0", rows, pending=1).verdict == "broken"  # whatever comes
    assert verdict("timeouts <= 2", rows, pending=1).verdict == "held"
    assert verdict("timeouts != 1", rows).verdict == "broken"


def test_a_lost_turn_may_have_been_a_timeout() -> None:
    rows = [single("slow", 0, category="limit/time_limit"), single("lost", 0, status="infrastructure_error")]
    assert verdict("timeouts <= 1", rows).verdict == "not_enough_evidence"
    assert verdict("infrastructure_errors == 0", rows).verdict == "broken"
    assert verdict("infrastructure_errors <= 1", rows).verdict == "held"


def test_short_coverage_is_no_bad_verdict() -> None:
    rows = [*many(9, 9), single("x", 0, status="missing")]
    short = verdict("coverage >= 95%", rows)
    assert (short.verdict, short.unfit, short.enough) == (
        "not_enough_evidence",
        True,
        "predictions for 1 more turn",
    )
    assert verdict("coverage >= 0.9", rows).verdict == "held"
    lost = [*rows, single("y", 0, status="engine_unavailable")]
    assert verdict("coverage >= 0.9", lost).verdict == "held"
    assert verdict("judged >= 0.95", lost).verdict == "not_enough_evidence"


def test_exit_codes() -> None:
    def one(kind: str, *, unfit: bool = False) -> GateVerdict:
        return msgspec.convert({"gate": "g", "verdict": kind, "reason": "r", "unfit": unfit}, GateVerdict)

    held, broken, unknown = one("held"), one("broken"), one("not_enough_evidence")
    assert exit_code([]) == exit_code([held]) == 0
    assert exit_code([held, broken, unknown]) == 1
    assert exit_code([held, unknown]) == 6
    assert exit_code([broken, one("not_enough_evidence", unfit=True)]) == 6


def test_a_gate_without_its_baseline_is_a_fault_of_the_caller() -> None:
    with pytest.raises(ValueError, match="there is no baseline"):
        verdict("better_than(baseline)", many(1, 1))


# -- comparisons -----------------------------------------------------------------------------------------


def test_better_worse_and_neither() -> None:
    old = many(50, 100)
    assert verdict("better_than(baseline)", many(60, 100), old=old).verdict == "held"
    assert verdict("better_than(baseline)", many(40, 100), old=old).verdict == "broken"
    undecided = verdict("better_than(baseline)", many(53, 100), old=old)
    assert undecided.verdict == "not_enough_evidence"
    assert undecided.enough is not None
    assert "+3.0 points would take about" in undecided.enough
    assert (undecided.value, undecided.n) == (0.03, 100)
    assert undecided.reason.startswith("solved@1 53% against 50% in old.jsonl: +3.0 points [")


def test_no_worse() -> None:
    old = many(500, 1000)
    assert verdict("no_worse_than(baseline, margin=1%)", old, old=old).verdict == "held"
    assert verdict("no_worse_than(baseline, margin=0.3%)", old, old=old).verdict == "not_enough_evidence"
    assert verdict("no_worse_than(baseline, margin=1%)", many(470, 1000), old=old).verdict == "broken"
    assert verdict("no_worse_than(baseline, margin=5%)", many(470, 1000), old=old).verdict == "held"


def test_the_same_answers_of_few_tasks_prove_little() -> None:
    old = many(5, 10)
    found = verdict("no_worse_than(baseline)", old, old=old)
    assert found.verdict == "not_enough_evidence"
    assert found.enough is not None
    needed = int(found.enough.split("about ")[1].split()[0])
    assert 180 < needed < 200
    for n, expected in ((needed // 2, "not_enough_evidence"), (needed, "held")):
        more = many(5, n)
        assert verdict("no_worse_than(baseline)", more, old=more).verdict == expected


def test_few_databases_tell_nothing_of_others() -> None:
    def rows(solved: int) -> list[TurnResult]:
        return [
            single(f"{name}{place:02}", int(place < solved), database=name)
            for name in "abcde"
            for place in range(40)
        ]

    found = verdict("better_than(baseline)", rows(40), old=rows(10))
    assert found.verdict == "not_enough_evidence"
    assert found.enough == "at least 6 databases instead of 5; or cluster=task, for these alone"
    assert verdict("better_than(baseline, cluster=task)", rows(40), old=rows(10)).verdict == "held"
    assert verdict("better_than(baseline, level=0.05)", rows(40), old=rows(10)).verdict == "held"


def test_each_subset() -> None:
    def rows(*solved: int) -> list[TurnResult]:
        return [row for place, n in enumerate(solved) for row in many(n, 100, subset=f"s{place}")]

    old = rows(50, 50, 50)
    text = "no_worse_than(baseline, margin=6%, subset=each)"
    assert verdict(text, rows(50, 50, 52), old=old).verdict == "held"
    undecided = verdict(text, rows(50, 46, 52), old=old)
    assert undecided.verdict == "not_enough_evidence"
    assert "cannot be told in 1 of 3 subsets: s1 -4.0 points" in undecided.reason
    broken = verdict(text, rows(60, 20, 46), old=old)
    assert broken.verdict == "broken"
    assert "not so in 1 of 3 subsets: s1 -30.0 points" in broken.reason
    assert verdict("better_than(baseline, subset=s0)", rows(60, 20, 50), old=old).verdict == "held"
    assert verdict("better_than(baseline, subset=s9)", rows(60, 20, 50), old=old).n == 0


def test_a_verdict_that_was_lost_on_either_side_may_decide() -> None:
    lost = [single(f"t{place:04}", 0, status="infrastructure_error") for place in range(6)]
    new, old = many(60, 100), many(50, 100)
    held = "better_than(baseline)"
    assert verdict(held, [*lost[:1], *new[1:]], old=old).verdict == "held"
    undecided = verdict(held, [*lost, *new[6:]], old=old)
    assert undecided.verdict == "not_enough_evidence"
    assert undecided.enough == "verdicts of 6 tasks lost to servers or engines"


def test_a_baseline_that_cannot_be_compared_leaves_no_evidence() -> None:
    new = many(5, 10)
    other = [msgspec.structs.replace(row, comparator="normalized/1") for row in new]
    found = verdict("better_than(baseline)", new, old=other)
    assert (found.verdict, found.unfit) == ("not_enough_evidence", True)
    assert "judged by other rules" in found.reason


# -- numbers ---------------------------------------------------------------------------------------------


# -- what must not pass ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_gate_demands_nothing_and_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="empty"):
        parse_gate(text)
    with pytest.raises(UserError, match="empty"):
        read_gates([text], [], has_baseline=True)


@pytest.mark.parametrize(
    "text",
    [
        f"turns >= {'9' * 5000}",
        f"solved@{'1' * 5000} >= 1",
        f"{'x' * 5000} >= 1",
        f"solved@1 >= 1 {'x' * 5000}",
        "solved@1 >= ٣",
        "solved@٣ >= 1",
        "infrastructure_errors <= 5%",
    ],
)
def test_numbers_that_are_none_are_one_short_line(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_gate(text)
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


def test_a_blank_before_per_cent_says_the_same() -> None:
    spaced, close_by = parse_gate("solved@1 >= 90 %"), parse_gate("solved@1 >= 90%")
    assert isinstance(spaced, Threshold)
    assert isinstance(close_by, Threshold)
    assert spaced.limit == close_by.limit == Fraction(9, 10)


def test_gates_files(tmp_path: Path) -> None:
    file = tmp_path / "gates.txt"
    file.write_bytes(b"\xef\xbb\xbfsolved@1 >= 1\r\n")
    assert [gate.text for gate in read_gates([], [file], has_baseline=False)] == ["solved@1 >= 1"]
    for content, why in ((b"\xff\x00", "no UTF-8 text"), (b"# later\n", "holds no gate")):
        file.write_bytes(content)
        with pytest.raises(UserError, match=why):
            read_gates([], [file], has_baseline=True)
    with pytest.raises(UserError, match="none: No such file or directory"):
        read_gates([], [tmp_path / "none"], has_baseline=True)


def test_nothing_is_called_broken_where_the_run_may_not_be_judged() -> None:
    rows = [single("t", 0), single("u", 0, status="missing")]
    gates = parse_gates(["coverage >= 0.9", "solved@1 >= 0.5", "graded <= 0", "turns == 2"])
    found = assess(rows, pending=0, gates=gates, baseline=None).verdicts
    undecided = "not_enough_evidence"
    assert [entry.verdict for entry in found] == [undecided, undecided, undecided, "held"]
    assert exit_code(found) == 6
    assert "asked for" in found[1].reason


# -- what would be enough --------------------------------------------------------------------------------


def on_databases(solved: Sequence[int], each: int = 5) -> list[TurnResult]:
    """Tasks on databases, so many solved on each."""
    return [
        single(f"d{place:02}t{n}", int(n < good), database=f"d{place:02}")
        for place, good in enumerate(solved)
        for n in range(each)
    ]


def test_where_databases_are_the_limit_more_of_them_are_asked_for() -> None:
    for each in (2, 20):
        rows = on_databases([each, each, 0, each, each, 0, 0, each], each)
        found = verdict("low(solved@1) >= 0.5", rows)
        assert found.verdict == "not_enough_evidence"
        assert found.enough is not None
        assert re.fullmatch(r"about \d+ databases like these instead of 8", found.enough)


def test_few_databases_that_differ_show_nothing_however_many_tasks() -> None:
    old, new = on_databases([0] * 20), on_databases([5] * 4 + [0] * 16)
    found = verdict("better_than(baseline)", new, old=old)
    assert found.verdict == "not_enough_evidence"
    assert found.enough is not None
    assert found.enough.startswith("more databases: 4 of 20 differ, and fewer than 6 may")
    six = verdict("better_than(baseline)", on_databases([5] * 8 + [0] * 12), old=old)
    assert six.verdict == "held"


def test_a_worse_model_is_told_what_would_show_it() -> None:
    old = many(60, 100)
    found = verdict("better_than(baseline)", [*many(60, 100)[5:], *many(0, 5)], old=old)
    assert found.verdict == "not_enough_evidence"
    assert found.enough is not None
    assert re.search(r"-5.0 points would be shown to be worse by about \d+ tasks", found.enough)


def test_limits_are_shown_as_they_were_written_and_one_turn_is_one() -> None:
    one = verdict("graded >= 2", [single("t", 1)])
    assert one.reason == "1 graded, of 1 turn; asked for >= 2"
    assert verdict("solved@1 >= 0.12345", many(1, 4)).reason.endswith("asked for >= 0.12345")
    short = verdict("coverage >= 99.95%", [single("t", 0, status="missing")])
    assert short.reason == "coverage is 0% (0 of 1 turn); asked for >= 99.95%"
    assert short.enough == "predictions for 1 more turn"
