"""What earlier runs have found in a report folder: kept safe, and looked up again, by ``--plsql-resume``.

``results.jsonl`` holds what this run has established and nothing else. Results that it has not come to (yet)
lie in ``earlier.jsonl`` beside it, from the moment at which ``results.jsonl`` is begun anew until a verdict
of this run takes their place: together the two files hold every finished turn at every moment.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.shard import key_of
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE
from pytest_plsqlbench.reporting.store import decode_results, encode_results, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_plsqlbench.bench.result import TurnResult
    from pytest_plsqlbench.bench.shard import TurnKey

EARLIER_FILE = "earlier.jsonl"
NO_VERDICT = frozenset(("infrastructure_error", "engine_unavailable"))
"""Statuses that say nothing of the turn: what an earlier run has found stays worth keeping."""


class EarlierResults:
    """The results of earlier runs in a report folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / EARLIER_FILE

    @cached_property
    def results(self) -> dict[TurnKey, TurnResult]:
        """The best known result of each turn: a verdict before anything else, then the later one.

        ``results.jsonl`` is read first: where the owner of the folder begins it anew meanwhile, its content
        is in the other file by then.

        Raises:
            UserError: a file cannot be read, or is not what a run writes.
        """
        later, earlier = self._read(RESULTS_FILE), self._read(EARLIER_FILE)
        known: dict[TurnKey, TurnResult] = {}
        for result in (*earlier, *later):
            key = key_of(result)
            before = known.get(key)
            if before is None or before.status != "graded" or result.status == "graded":
                known[key] = result
        return known

    def find(self, key: TurnKey) -> TurnResult | None:
        """The verdict that an earlier run has reached on a turn; None where there is none."""
        known = self.results.get(key)
        return known if known is not None and known.status == "graded" else None

    def secure(self) -> None:
        """Keep the results aside, on disk: ``results.jsonl`` may be begun anew after this.

        Raises:
            UserError: a file cannot be read or written.
        """
        if self.results:
            write_atomically(self._path, encode_results(self.results.values()), durable=True)

    def settle(self, results: Iterable[TurnResult]) -> None:
        """Give up what a run has found anew; the rest stays for the next one.

        Args:
            results: of the run, which are in ``results.jsonl`` by now.

        Raises:
            UserError: the file cannot be written.
        """
        done = {key_of(result) for result in results if result.status not in NO_VERDICT}
        rest = [result for key, result in self.results.items() if key not in done]
        if rest:
            write_atomically(self._path, encode_results(rest), durable=True)
        else:
            self.forget()

    def forget(self) -> None:
        """Remove what earlier runs have left for a resumed one.

        Raises:
            UserError: the file cannot be removed.
        """
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"cannot remove {self._path}: {error.strerror or error}") from None

    def _read(self, name: str) -> list[TurnResult]:
        path = self._folder / name
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from None
        try:
            return decode_results(data, path)
        except UserError as error:
            raise UserError(
                f"{error}; nothing was changed: mend or move the file, or run without --plsql-resume"
            ) from None
