"""What CI is told at the end of a run: gates in the JUnit XML, the summary of the step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.shard import Shard
from pytest_plsqlbench.junit import add_gates
from pytest_plsqlbench.reporting.stepsummary import append_step_summary, step_summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from pytest_plsqlbench.bench.baseline.compare import Comparison
    from pytest_plsqlbench.bench.gates.verdict import GateVerdict
    from pytest_plsqlbench.bench.summary import Summary
    from pytest_plsqlbench.settings import Settings


def tell_ci(
    config: pytest.Config,
    settings: Settings,
    summary: Summary | None,
    *,
    collected: int,
    left_out: Mapping[str, int],
    files: Sequence[str],
    verdicts: Sequence[GateVerdict] = (),
    comparison: Comparison | None = None,
) -> None:
    """Add the gates to the JUnit XML, and append to the step's summary, each where there is one.

    Args:
        config: of the process that owns the report files.
        settings: of the run.
        summary: what the results add up to; None where there are none.
        collected: how many turns the run set out to grade.
        left_out: turns of dialects that no engine at hand runs, by dialect.
        files: where more is to be read.
        verdicts: of the gates.
        comparison: with the baseline.
    """
    add_gates(config, verdicts)
    if summary is None and not verdicts:
        return
    trouble = append_step_summary(
        step_summary(
            summary,
            title=f"shard {Shard(*settings.shard)}" if settings.shard is not None else "",
            collected=collected,
            left_out=left_out,
            verdicts=verdicts,
            comparison=comparison,
            files=files,
        )
    )
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if trouble is not None and reporter is not None:
        reporter.write_line(f"plsqlbench: {trouble}")
