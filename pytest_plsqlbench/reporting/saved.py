"""Saved results, and gates that are kept in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from pytest_plsqlbench.bench.gates.text import Gate, needs_baseline, parse_gates
from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE, RUN_FILE, SUMMARY_FILE, read_run
from pytest_plsqlbench.reporting.store import read_results

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_plsqlbench.bench.result import TurnResult


class Saved(NamedTuple):
    """A run that has ended."""

    results: list[TurnResult]
    pending: int
    """Turns that it set out to grade and has no result of."""


class _Collected(msgspec.Struct):
    turns_collected: int = 0


def read_saved(path: Path) -> Saved:
    """Read the results of a run, and how many it should have from the files beside them.

    Args:
        path: a ``results.jsonl``, or the report folder that holds one.

    Raises:
        UserError: a file cannot be read, holds no results, or is the part of a divided run.
    """
    file = path / RESULTS_FILE if path.is_dir() else path
    results = read_results(file)
    if not results:
        raise UserError(f"{file} holds no results")
    return Saved(results, max(_collected(file.parent) - len(results), 0))


def _collected(folder: Path) -> int:
    if (folder / RUN_FILE).exists():
        part = read_run(folder)
        if part.shard.count > 1:
            raise UserError(
                f"{folder} holds shard {part.shard} of a run; gates judge a whole run:"
                " join its parts with plsqlbench merge"
            )
        return part.run.turns
    try:
        return msgspec.json.decode((folder / SUMMARY_FILE).read_bytes(), type=_Collected).turns_collected
    except FileNotFoundError:
        return 0
    except (OSError, msgspec.DecodeError) as error:
        raise UserError(f"cannot read: {error}", Source(str(folder / SUMMARY_FILE))) from None


def read_gates(texts: Iterable[str], files: Iterable[Path], *, has_baseline: bool) -> tuple[Gate, ...]:
    """Read gates from the command line and from files, a gate a line.

    Raises:
        UserError: one is no gate, a file cannot be read, there is none at all and nothing to compare with, or
            one compares with a baseline and there is none.
    """
    gates = list(parse_gates(texts, "--gate"))
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read {file}: {error}") from None
        for number, line in enumerate(lines, 1):
            gates += parse_gates([line], f"{file}:{number}")
    if not gates and not has_baseline:
        raise UserError("there is nothing to judge by: give --gate, --gates-file or --baseline")
    if needs_baseline(gates) and not has_baseline:
        gate = next(gate for gate in gates if needs_baseline([gate]))
        raise UserError(f"{gate.text!r} compares with a baseline: name one with --baseline")
    return tuple(gates)
