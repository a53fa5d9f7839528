"""Results that their own folder does not take: kept elsewhere rather than lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.plural import grouped, noun
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE
from pytest_plsqlbench.reporting.store import encode_results, write_atomically

if TYPE_CHECKING:
    from collections.abc import Collection

    from pytest_plsqlbench.bench.result import TurnResult


def rescue(results: Collection[TurnResult], *, is_written: bool) -> str:
    """See to it that results are on some disk, and say where, one line.

    Args:
        results: of the run.
        is_written: whether the run's own ``results.jsonl``, which could not be completed, stands where it
            belongs: then what was written before is in it.
    """
    if not results:
        return "no turn had a result yet"
    if is_written:
        return "what was written before stays"
    kept = f"{grouped(len(results), 'result')} {noun(len(results), 'is', 'are')}"
    try:
        folder = Path(tempfile.mkdtemp(prefix="plsqlbench-rescued-"))
        write_atomically(folder / RESULTS_FILE, encode_results(results))
    except (OSError, UserError) as error:
        return f"{kept} lost: neither could {tempfile.gettempdir()} be written ({error})"
    return f"{kept} kept in {folder / RESULTS_FILE}"
