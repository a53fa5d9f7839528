"""Grade one turn: reference, candidate, comparison, classification."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

import msgspec

from pytest_plsqlbench.bench.comparison import comparator_name
from pytest_plsqlbench.bench.judging import is_vacuous, judge
from pytest_plsqlbench.bench.outcome import UnjudgeableError
from pytest_plsqlbench.bench.redaction import presentable
from pytest_plsqlbench.bench.result import TurnResult
from pytest_plsqlbench.engines.protocol import (
    DatabaseLoadError,
    EngineError,
    EngineUnavailableError,
    Limits,
    Play,
    UnsupportedError,
)
from pytest_plsqlbench.grading.clock import asks_for_time
from pytest_plsqlbench.grading.content import reference_programs, text_digest
from pytest_plsqlbench.grading.facts import TextFacts
from pytest_plsqlbench.grading.reference import TIME_FACTOR, ReferencePlay, setup_fault
from pytest_plsqlbench.grading.selfcheck import findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_plsqlbench.bench.database import Database
    from pytest_plsqlbench.bench.observation import CallObservation, Diagnostic, Observation
    from pytest_plsqlbench.bench.result import Status, TestResult
    from pytest_plsqlbench.bench.task import Dialect, Task, Turn
    from pytest_plsqlbench.engines.protocol import Engine, Lane, Played
    from pytest_plsqlbench.grading.answers import Answers
    from pytest_plsqlbench.grading.reference import ReferenceBook

LONGEST_TEXT = 4_000
"""Characters of a diagnostic's texts that results keep."""
MOST_DIAGNOSTICS = 50
"""Diagnostics that a result keeps, the first ones."""


class Grader:
    """Grades turns in one process, on lanes that it opens at first use and keeps."""

    def __init__(
        self,
        engine: Callable[[Dialect], Engine],
        book: ReferenceBook,
        *,
        worker: str,
        reading: Literal["published", "normalized"],
        limits: Limits,
    ) -> None:
        self._engine = engine
        self._book = book
        self._worker = worker
        self._reading = reading
        self._limits = limits
        self._lanes: dict[Dialect, Lane] = {}

    def grade(
        self, task: Task, turn: Turn, answers: Answers | None, database: Callable[[], Database | None]
    ) -> TurnResult:
        """Grade a turn; every outcome, a fault of the harness included, is a result.

        Args:
            task: the task of the turn.
            turn: the turn to grade.
            answers: programs to grade; None where there is no prediction for this turn.
            database: loads the description of the task's database.
        """
        started = time.perf_counter()
        draft = draft_result(task, turn, answers, self._reading)
        unavailable = self._unavailable(task.dialect) if answers is not None else None
        if unavailable is not None:  # first: without an engine nothing else can be said of the turn
            return replace_status(draft, "engine_unavailable", unavailable)
        if turn.unsupported:
            return replace_status(draft, "unsupported", turn.unsupported)
        if answers is None:
            return replace_status(draft, "missing", "no prediction")
        if turn.index not in answers.programs:
            return replace_status(draft, "unsupported", "the benchmark publishes no reference program")
        result = self._attempt(draft, task, turn, answers, database)
        flags: tuple[str, ...] = ()
        if result.status == "infrastructure_error":
            flags = ("retried",)
            result = self._attempt(draft, task, turn, answers, database)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        return _with(result, elapsed_ms=elapsed, flags=(*result.flags, *flags))

    def _unavailable(self, dialect: Dialect) -> str | None:
        """Why there is no engine of the dialect; None where there is one, or where it fails to connect."""
        try:
            self._engine(dialect)
        except EngineUnavailableError as error:
            return str(error)
        except EngineError:  # met again, and judged, when the turn is played
            return None
        return None

    def _attempt(
        self,
        draft: TurnResult,
        task: Task,
        turn: Turn,
        answers: Answers,
        database: Callable[[], Database | None],
    ) -> TurnResult:
        """Play once. What an engine raises is a status; what nobody foresaw is the harness's own fault."""
        try:
            return self._play(draft, task, turn, answers, database())
        except EngineUnavailableError as error:
            return replace_status(draft, "engine_unavailable", str(error))
        except UnsupportedError as error:
            return replace_status(draft, "unsupported", str(error))
        except (DatabaseLoadError, UnjudgeableError) as error:
            return replace_status(draft, "reference_error", str(error))
        except EngineError as error:
            self.close()
            return replace_status(draft, "infrastructure_error", str(error))

    def close(self) -> None:
        """Close all lanes; they are opened again when needed."""
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.close()

    def _play(
        self, draft: TurnResult, task: Task, turn: Turn, answers: Answers, database: Database | None
    ) -> TurnResult:
        engine = self._engine(task.dialect)
        lane = self._lanes.get(task.dialect)
        if lane is None:
            lane = self._lanes[task.dialect] = engine.lane(self._worker)
        draft = _with(draft, engine=engine.info)
        reference = ReferencePlay(())
        if turn.reference is not None or any(test.gold for test in turn.tests):
            reference = self._book.look_up(task, turn, database, engine.info, lane)
            if reference.problem:
                return _unusable(draft, reference)
        played = lane.play(
            Play(
                side="candidate",
                programs=(*turn.setup, *answers.up_to(turn.index)),
                setup=len(turn.setup),
                tests=turn.played_tests,
                database=database,
                limits=self._limits,
                time_limits=self._time_limits(turn, reference),
            )
        )
        if fault := setup_fault(turn, played):
            return replace_status(draft, "reference_error", fault)
        program = answers.programs[turn.index]
        result = self._judge(draft, turn, reference, played, program)
        if not played.tests or not reference.observations:
            return result
        if result.solved and not asks_for_time(_texts(task, turn)):
            return result
        confirmed = self._book.confirm(task, turn, database, engine.info, lane, reference)
        if confirmed.problem:
            return _unusable(draft, confirmed)
        return result if confirmed is reference else self._judge(draft, turn, confirmed, played, program)

    def _time_limits(self, turn: Turn, reference: ReferencePlay) -> tuple[float, ...]:
        """Seconds per test: max(floor, factor x the reference's own time)."""
        floor = self._limits.time
        if not reference.observations:
            return (floor,) * len(turn.played_tests)
        return tuple(max(floor, TIME_FACTOR * seen.elapsed_ms / 1000) for seen in reference.observations)

    def _judge(
        self, draft: TurnResult, turn: Turn, reference: ReferencePlay, played: Played, program: str
    ) -> TurnResult:
        install = played.programs[-1]
        facts = TextFacts(program, turn, draft.dialect)
        judgeable = turn.tests if reference.strict_problem else turn.played_tests
        flags = [*draft.flags, *findings(turn, reference.observations), *played.flags]
        if reference.strict_problem:
            flags.append("strict_unavailable")
        if not played.tests:
            results = tuple(facts.unplayed(test, install) for test in judgeable)
        else:
            expected = reference.observations or (None,) * len(turn.played_tests)
            seen_by_test = list(zip(turn.played_tests, expected, played.tests, strict=True))
            results = tuple(
                _beside(facts.judged(test, judge(test, wanted, seen, self._reading), seen, install), wanted)
                for test, wanted, seen in seen_by_test[: len(judgeable)]
            )
            vacuous = (is_vacuous(test, seen) for test, _, seen in seen_by_test)
            if any(
                passed and result.verdict == "passed"
                for passed, result in zip(vacuous, results, strict=False)
            ):
                flags.append("vacuous_null")
        tests = results[: len(turn.tests)]
        passed = sum(test.verdict == "passed" for test in tests)
        return _with(
            draft,
            status="graded",
            passed=passed,
            solved=passed == len(tests),
            tests=tests,
            strict_tests=results[len(turn.tests) :],
            diagnostics=_diagnostics(install, played),
            flags=tuple(dict.fromkeys(flags)),
        )


def _texts(task: Task, turn: Turn) -> Iterator[str]:
    """What is played of the task: on whichever day, it should show the same."""
    yield from (*turn.setup, *reference_programs(task, turn))
    for test in turn.played_tests:
        yield from (*test.calls, *((test.gold,) if test.gold is not None else ()))


def _beside(result: TestResult, reference: Observation | None) -> TestResult:
    """The result with what the test cost the reference when it was observed."""
    if reference is None:
        return result
    return msgspec.structs.replace(result, reference_ms=reference.elapsed_ms, reference_work=reference.work)


def _diagnostics(install: CallObservation, played: Played) -> tuple[Diagnostic, ...]:
    """Every error and warning of the candidate, each once, those of its installation first."""
    calls = [install, *(call for seen in played.tests for call in seen.calls)]
    found = [d for call in calls for d in (*((call.error,) if call.error else ()), *call.diagnostics)]
    return tuple(_cut(diagnostic) for diagnostic in dict.fromkeys(found))[:MOST_DIAGNOSTICS]


def _cut(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic with texts of a bounded length: a program can raise megabytes."""
    texts = {name: getattr(diagnostic, name) for name in ("message", "detail", "hint", "where")}
    cut = {
        name: f"{text[:LONGEST_TEXT]}…" for name, text in texts.items() if text and len(text) > LONGEST_TEXT
    }
    return msgspec.structs.replace(diagnostic, **cut) if cut else diagnostic


def draft_result(
    task: Task, turn: Turn, answers: Answers | None, reading: Literal["published", "normalized"]
) -> TurnResult:
    """The result of a turn before it is played: everything but what was seen."""
    prediction = answers.prediction if answers else None
    program = answers.programs.get(turn.index) if answers else None
    references = reference_programs(task, turn)
    return TurnResult(
        task=task.id,
        subset=task.subset,
        dialect=task.dialect,
        conversation=task.conversation,
        turn=turn.index,
        turns=task.turn_count or len(task.turns),
        turn_id=turn.id,
        sample=prediction.sample if prediction else 0,
        model="gold" if answers and answers.gold else prediction.model if prediction else None,
        status="missing",
        passed=0,
        total=len(turn.tests),
        solved=False,
        comparator=comparator_name(reading),
        program_sha256=text_digest(program) if program is not None else None,
        reference_sha256=text_digest("\0".join(references)) if references else None,
        database=task.database,
        difficulty=task.difficulty,
        reasoning_types=task.reasoning_types,
        constructs=task.constructs,
        flags=tuple(dict.fromkeys(note.partition(":")[0] for note in turn.notes)),
        latency_seconds=prediction.latency_seconds if prediction else None,
        usage=prediction.usage if prediction else None,
        extra=prediction.extra if prediction else {},
    )


def _unusable(draft: TurnResult, reference: ReferencePlay) -> TurnResult:
    """The result of a turn whose reference nothing can be held against."""
    assert reference.problem is not None
    flags = (*draft.flags, "reference_varies") if reference.varies else draft.flags
    return replace_status(_with(draft, flags=flags), "reference_error", reference.problem)


def replace_status(draft: TurnResult, status: Status, reason: str) -> TurnResult:
    """The draft with a status other than graded, and why."""
    return _with(draft, status=status, reason=presentable(reason, keep=""), passed=0, solved=False)


def _with(result: TurnResult, **changes: object) -> TurnResult:
    return msgspec.structs.replace(result, **changes)
