"""Saved results, and gates that are kept in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_plsqlbench.bench.gates.text import Gate, needs_baseline, parse_gate, parse_gates
from pytest_plsqlbench.bench.metrics import InconsistentResultsError, check_results
from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE, RUN_FILE, read_run
from pytest_plsqlbench.reporting.store import read_results
from pytest_plsqlbench.reporting.wholeness import wholeness

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_plsqlbench.bench.result import TurnResult


class Saved(NamedTuple):
    """A run that has ended."""

    results: list[TurnResult]
    pending: int
    """Turns that it set out to grade and has no result of."""
    doubt: str | None
    """Why nobody knows whether these are all of its results; None where it is known, or to be assumed."""


def read_saved(path: Path, *, assume_complete: bool = False) -> Saved:
    """Read the results of a run, and how many it should have from the files beside them.

    Args:
        path: a ``results.jsonl``, or the report folder that holds one.
        assume_complete: take them as a whole run's where nothing says otherwise.

    Raises:
        UserError: a file cannot be read, holds no results or such as contradict each other, or is the part of
            a divided run.
    """
    file = path / RESULTS_FILE if path.is_dir() else path
    results = read_results(file)
    if not results:
        raise UserError(f"{file} holds no results")
    check_saved(results, file)
    _refuse_part(file.parent)
    known = wholeness(file.parent, results)
    return Saved(results, known.pending, known.assumed if assume_complete else known.doubt)


def _refuse_part(folder: Path) -> None:
    if (folder / RUN_FILE).exists() and (shard := read_run(folder).shard).count > 1:
        raise UserError(
            f"{folder} holds shard {shard} of a run; gates judge a whole run:"
            " join its parts with plsqlbench merge"
        )


def check_saved(results: Sequence[TurnResult], file: Path) -> None:
    """Refuse results that contradict each other or themselves.

    Raises:
        UserError: they do.
    """
    try:
        check_results(results)
    except InconsistentResultsError as error:
        raise UserError(str(error), Source(str(file))) from None


def read_gates(texts: Iterable[str], files: Iterable[Path], *, has_baseline: bool) -> tuple[Gate, ...]:
    """Read gates from the command line and from files, a gate a line.

    Raises:
        UserError: one is no gate, a file cannot be read, there is none at all and nothing to compare with, or
            one compares with a baseline and there is none.
    """
    gates = [parse_gate(text, "--gate") for text in texts]
    for file in files:
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise UserError(f"cannot read {file}: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise UserError(f"cannot read {file}: it is no UTF-8 text") from None
        before = len(gates)
        for number, line in enumerate(lines, 1):
            gates += parse_gates([line], f"{file}:{number}")
        if len(gates) == before:
            raise UserError(f"{file} holds no gate")
    if not gates and not has_baseline:
        raise UserError("there is nothing to judge by: give --gate, --gates-file or --baseline")
    if needs_baseline(gates) and not has_baseline:
        gate = next(gate for gate in gates if needs_baseline([gate]))
        raise UserError(f"{gate.text!r} compares with a baseline: name one with --baseline")
    return tuple(gates)
