"""A file that grows line by line while a run goes on: at every moment it holds whole lines.

Whoever takes the file away while it grows, or puts another one in its place, takes nothing with it: what it
held is read from the open handle.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

from pytest_plsqlbench.bench.task import UserError


class LineFile:
    """Begun anew with its first line; each line is handed to the system at once, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None
        self.taken_away = False
        """The file, or its folder, was removed or moved while it grew, or another one took its place; it was
        begun again with all its lines, or is to be written by whoever has the lines."""

    def add(self, line: bytes) -> None:
        """Append a line and its end.

        Raises:
            UserError: it cannot be written; what is in the file stays.
        """
        try:
            if self._handle is None:
                self._handle = self._begin()
            elif not self.stands:
                self._begin_again(self._handle)
            _append(self._handle, line + b"\n")
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror or error}") from None

    def content(self) -> bytes:
        """All lines of this run so far, wherever the file may be by now."""
        return b"" if self._handle is None else _read(self._handle)

    @property
    def stands(self) -> bool:
        """Whether the file has been begun, is not closed yet, and is where it belongs."""
        return self._handle is not None and stands_at(self._handle, self.path)

    def close(self) -> bool:
        """Let the file go; returns whether it had been begun."""
        if self._handle is None:
            return False
        self.taken_away = self.taken_away or not self.stands
        os.close(self._handle)
        self._handle = None
        return True

    def _begin(self, lines: bytes = b"") -> int:
        """Open a new file with these lines, and put it in place in one step.

        Into what stands there by now nothing is written: it may be another run's, and open there.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside, name = tempfile.mkstemp(dir=self.path.parent, prefix=f".{self.path.name}-")
        try:
            fcntl.fcntl(aside, fcntl.F_SETFL, os.O_APPEND)
            _append(aside, lines)
            os.fchmod(aside, 0o644)
            Path(name).replace(self.path)
        except OSError:
            os.close(aside)
            Path(name).unlink(missing_ok=True)
            raise
        return aside

    def _begin_again(self, handle: int) -> None:
        self.taken_away = True
        self._handle = self._begin(_read(handle))  # until then, the lines stay in the other one
        os.close(handle)


def stands_at(handle: int, path: Path) -> bool:
    """Whether an open file is what a path leads to, not removed, moved or replaced by another one."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:  # it is gone, or its folder may not be entered any more
        return False


def _read(handle: int) -> bytes:
    """What a file holds, from its beginning; its position stays."""
    size = os.fstat(handle).st_size
    parts = []
    at = 0
    while at < size and (part := os.pread(handle, size - at, at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def _append(handle: int, data: bytes) -> None:
    """Append all of the data; on a full disk a system takes a part of it, which is taken back."""
    written = os.write(handle, data)
    if written == len(data):
        return
    size = os.fstat(handle).st_size - written
    try:
        while written < len(data):
            written += os.write(handle, data[written:])
    except OSError:
        os.ftruncate(handle, size)
        raise
