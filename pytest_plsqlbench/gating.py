"""Gates and baseline of a run: read and checked before anything runs, judged once it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_plsqlbench.bench.baseline.comparable import Baseline
from pytest_plsqlbench.bench.gates.absent import absent
from pytest_plsqlbench.bench.gates.text import Gate, needs_baseline, parse_gate
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.grading.grader import draft_result
from pytest_plsqlbench.reporting.baseline import read_baseline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_plsqlbench.bench.gates.assessment import Assessment
    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.items import TurnItem
    from pytest_plsqlbench.servers.address import ServerAddress
    from pytest_plsqlbench.settings import Settings

WAY = "--plsql-baseline-common"
DECIDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
"""Exit codes of pytest that say how tests ended, which gates say instead."""


class Gating:
    """What a run is held against; nothing where neither gates nor a baseline were given."""

    def __init__(self, settings: Settings) -> None:
        """Read gates and baseline.

        Raises:
            UserError: a gate or the baseline cannot be read, or they do not go together with other options.
        """
        self._settings = settings
        self.gates: tuple[Gate, ...] = tuple(parse_gate(text, "--plsql-gate") for text in settings.gates)
        self.baseline: Baseline | None = None
        if settings.baseline is not None:
            self.baseline = read_baseline(
                settings.baseline,
                name=settings.baseline_name,
                common=settings.baseline_common,
                way=WAY,
            )
        elif needs_baseline(self.gates):
            gate = next(gate for gate in self.gates if needs_baseline([gate]))
            raise UserError(f"{gate.text!r} compares with a baseline: name one with --plsql-baseline")
        if self and settings.shard is not None:
            raise UserError(
                "--plsql-shard: gates and baselines judge a whole run: give them to plsqlbench gate, once"
                " plsqlbench merge has joined the parts"
            )

    def __bool__(self) -> bool:
        return bool(self.gates) or self.baseline is not None

    def check_engines(self, addresses: Iterable[ServerAddress]) -> None:
        """Hold the servers of the run against those of the baseline, before they are used.

        Raises:
            UserError: a dialect is played by another version here.
        """
        if self.baseline is None or self.baseline.common:
            return
        played = self.baseline.engines()
        for address in addresses:
            here = f"{address.dialect} {address.version}"
            names = played.get(address.dialect, ())
            there = {name for name in names if name.startswith(f"{address.dialect} ")}
            if there and here not in there:
                raise UserError(
                    f"the baseline {self.baseline.name} was played by {', '.join(sorted(there))}, this run is"
                    f" played by {here}; {WAY} compares them all the same"
                )

    def check_turns(self, items: Sequence[TurnItem]) -> None:
        """Hold the turns of the run against gates and baseline, before any is played.

        Raises:
            UserError: a gate names what no turn has: a subset, a part of the tasks, a metric; or turns and
                baseline differ and may not, or have nothing in common.
        """
        if not items or not (self.gates or self.baseline):
            return
        reading = self._settings.compare
        rows = [draft_result(item.task, item.turn, item.answers, reading) for item in items]
        for gate in self.gates:
            if why := absent(gate, rows):
                raise UserError(f"--plsql-gate: {gate.text!r}: {why}")
        if self.baseline is not None:
            self.baseline.common_part(rows)

    def assess(self, results: Sequence[TurnResult], *, collected: int) -> Assessment | None:
        """Judge the run; None where nothing was asked."""
        if not self:
            return None
        from pytest_plsqlbench.bench.gates.assessment import assess  # noqa: PLC0415 (imports numpy)

        pending = max(collected - len(results), 0)
        return assess(results, pending=pending, gates=self.gates, baseline=self.baseline)


def gated_exit(status: int, assessment: Assessment | None) -> int:
    """Give the exit code of a run: that of its gates, where tests have ended as tests do.

    Args:
        status: pytest's own; an interrupted run or an internal error keeps it.
        assessment: what the gates say; without gates pytest's own code stays.
    """
    if assessment is None or not assessment.verdicts or status not in DECIDED:
        return status
    from pytest_plsqlbench.bench.gates.verdict import exit_code  # noqa: PLC0415

    return exit_code(assessment.verdicts)
