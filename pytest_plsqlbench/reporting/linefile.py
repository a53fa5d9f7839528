"""A file that grows line by line while a run goes on: at every moment it holds whole lines.

Whoever takes the file away while it grows takes nothing with it: what it held is read from the open handle.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.task import UserError

if TYPE_CHECKING:
    from pathlib import Path


class LineFile:
    """Begun anew with its first line; each line is handed to the system at once, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None
        self.taken_away = False
        """The file, or its folder, was removed or moved while it grew; it was begun again with all its lines,
        or is to be written by whoever has the lines."""

    def add(self, line: bytes) -> None:
        """Append a line and its end.

        Raises:
            UserError: it cannot be written; what is in the file stays.
        """
        try:
            if self._handle is None:
                self._handle = self._begin()
            elif not self._is_there():
                self._begin_again(self._handle)
            _append(self._handle, line + b"\n")
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror or error}") from None

    def content(self) -> bytes:
        """All lines of this run so far, wherever the file may be by now."""
        return b"" if self._handle is None else _read(self._handle)

    def close(self) -> bool:
        """Let the file go; returns whether it had been begun."""
        if self._handle is None:
            return False
        self.taken_away = self.taken_away or not self._is_there()
        os.close(self._handle)
        self._handle = None
        return True

    def _begin(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
        return os.open(self.path, flags, 0o644)

    def _begin_again(self, handle: int) -> None:
        self.taken_away = True
        again = self._begin()
        try:
            _append(again, _read(handle))
        except OSError:  # the lines stay in the handle
            os.close(again)
            self.path.unlink(missing_ok=True)
            raise
        os.close(handle)
        self._handle = again

    def _is_there(self) -> bool:
        try:
            return self.path.exists()
        except OSError:  # its folder may not be entered any more
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
