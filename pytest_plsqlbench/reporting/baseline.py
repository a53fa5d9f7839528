"""An earlier run, read to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.baseline.comparable import Baseline
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE
from pytest_plsqlbench.reporting.saved import check_saved
from pytest_plsqlbench.reporting.store import read_results
from pytest_plsqlbench.reporting.wholeness import wholeness

if TYPE_CHECKING:
    from pathlib import Path


def read_baseline(path: Path, *, name: str, common: bool, way: str) -> Baseline:
    """Read a baseline.

    Args:
        path: a ``results.jsonl``, or the report folder that holds one.
        name: how the user named it.
        common: compare the common part where the runs differ.
        way: how the user asks for that, for messages.

    Raises:
        UserError: it cannot be read, holds no results or such as contradict each other.
    """
    file = path / RESULTS_FILE if path.is_dir() else path
    results = read_results(file)
    if not results:
        raise UserError(f"the baseline {name} holds no results")
    check_saved(results, file)
    return Baseline(name, results, common, way, wholeness(file.parent, results).pending)
