"""``results.jsonl``: written line by line while the run goes on, sorted and replaced at its end."""

from __future__ import annotations

import os
import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.result import SCHEMA_VERSION, TurnResult
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.jsonlines import decode_lines
from pytest_plsqlbench.reporting.linefile import LineFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DIGITS = re.compile(r"(\d+)")


def result_key(result: TurnResult) -> tuple[object, ...]:
    """The order of results in a file: subset, task (numbers in it by value), dialect, turn, sample."""
    return (result.subset, natural(result.task), result.task, result.dialect, result.turn, result.sample)


@lru_cache(maxsize=8192)
def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A sort key in which the numbers of a text count by value."""
    return tuple((1, int(p), "") if p.isdigit() else (0, 0, p) for p in _DIGITS.split(text) if p)


def write_atomically(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace a file's content in one step: readers see the old content or the new, never a part.

    Args:
        path: the file; its folder is made if need be.
        data: the new content.
        durable: wait until it is on the disk, so that even a loss of power leaves one or the other.

    Raises:
        UserError: the folder cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def encode_results(results: Iterable[TurnResult]) -> bytes:
    """Results as JSON lines, in the order of ``result_key``."""
    encoder = msgspec.json.Encoder()
    lines = [encoder.encode(result) for result in sorted(results, key=result_key)]
    return b"".join(line + b"\n" for line in lines)


def read_results(path: Path) -> list[TurnResult]:
    """Read a ``results.jsonl``; a last line cut short by a killed run is left out.

    Raises:
        UserError: the file cannot be read, or a line is not a result (file:line).
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return decode_results(data, path)


def decode_results(data: bytes, path: Path) -> list[TurnResult]:
    """Decode the content of a ``results.jsonl``, as ``read_results`` does.

    Raises:
        UserError: a line is not a result (file:line).
    """
    return list(decode_lines(data, path, TurnResult, called="a result", torn=_is_torn))


def _is_torn(line: bytes) -> bool:
    """Whether a last line that does not end may be the beginning of a result, not something else."""
    start = b'{"schema_version":%d,' % SCHEMA_VERSION
    return line.startswith(start) or start.startswith(line)


class ResultStore:
    """Collects the results of a run and keeps ``results.jsonl`` readable at every moment.

    The file of an earlier run is replaced when the first result comes, not before: a run that ends with a
    usage error leaves it alone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[tuple[object, ...], TurnResult] = {}
        self._file = LineFile(path)
        self._left: os.stat_result | None = None
        """The file as it was left at the end of the run."""

    def hold(self, result: TurnResult) -> None:
        """Keep a result in memory, before anything is written that may fail: so it can still be rescued."""
        self.results[result_key(result)] = result

    def add(self, result: TurnResult) -> None:
        """Keep a result and append it to the file at once; a later result of the same turn wins.

        Raises:
            UserError: the file cannot be written.
        """
        self.hold(result)
        self._file.add(msgspec.json.encode(result))

    @property
    def taken_away(self) -> bool:
        """Whether the file was removed, moved or replaced while the run went on; it is written again."""
        return self._file.taken_away

    @property
    def is_written(self) -> bool:
        """Whether this run's own file stands where it belongs, with what could be written of it."""
        if self._left is None:
            return self._file.stands
        there = _stat(self.path)
        return there is not None and os.path.samestat(self._left, there)

    def finish(self) -> Sequence[TurnResult]:
        """Sort the file and return all results in its order.

        Raises:
            UserError: the file cannot be written.
        """
        self._left = _stat(self.path) if self._file.stands else self._left
        if self._file.close():
            write_atomically(self.path, encode_results(self.results.values()))
            self._left = _stat(self.path)
        return sorted(self.results.values(), key=result_key)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:  # it is gone, or its folder may not even be entered
        return None
