"""What the text of a candidate says about its failures: read only when a test failed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.judging import judged_result, unplayed_result
from pytest_plsqlbench.bench.taxonomy import classify

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.judging import Judgement
    from pytest_plsqlbench.bench.observation import CallObservation, Observation
    from pytest_plsqlbench.bench.result import TestResult
    from pytest_plsqlbench.bench.task import Dialect, Test, Turn


class TextFacts:
    """Findings about one candidate's text, and results of its tests with them."""

    def __init__(self, program: str, turn: Turn, dialect: Dialect) -> None:
        self._program = program
        self._turn = turn
        self._dialect = dialect

    @cached_property
    def not_a_program(self) -> str | None:
        """Why the text is no program by the published rules (prose, fences); None where it may be one."""
        from pytest_plsqlbench.sql.extraction import published_problem  # noqa: PLC0415 (failures only)

        return published_problem(self._program, self._dialect)

    @cached_property
    def interface(self) -> tuple[str, ...]:
        """What the program does not define that the tests call, one sentence each."""
        from pytest_plsqlbench.sql.interface import check_interface  # noqa: PLC0415 (failures only)
        from pytest_plsqlbench.sql.units import read_program  # noqa: PLC0415

        turn, dialect = self._turn, self._dialect
        calls = [call for test in turn.tests for call in test.calls]
        findings = check_interface(
            self._program, calls, dialect, reference=turn.reference, earlier=turn.setup
        )
        units = [unit for text in turn.setup for unit in read_program(text, dialect).units]
        given = {unit.name.name.lower() for unit in units if unit.name is not None}
        return tuple(str(finding) for finding in findings if finding.called not in given)

    @cached_property
    def holds_nothing(self) -> bool:
        """Whether there is no statement in the text at all: it plays without an error, and does nothing."""
        from pytest_plsqlbench.sql.script import read_script  # noqa: PLC0415 (failures only)

        statements = read_script(self._program, self._dialect).statements
        return all(statement.kind == "client" for statement in statements)

    def unplayed(self, test: Test, install: CallObservation) -> TestResult:
        """The result of a test that was not played, because the program failed."""
        return unplayed_result(
            test,
            classify(test, None, None, install, not_a_program=self.not_a_program, interface=self.interface),
        )

    def judged(
        self, test: Test, judgement: Judgement, actual: Observation, install: CallObservation
    ) -> TestResult:
        """The result of a test that was played."""
        if judgement.outcome.passed:
            return judged_result(test, judgement, actual)
        failure = classify(
            test,
            judgement.outcome,
            actual,
            install,
            not_a_program=self.not_a_program if self.holds_nothing else None,
            interface=self.interface,
        )
        return judged_result(test, judgement, actual, failure)
