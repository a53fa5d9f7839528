"""A file that grows line by line while a run goes on: at every moment it holds whole lines."""

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

    def add(self, line: bytes) -> None:
        """Append a line and its end.

        Raises:
            UserError: it cannot be written; what is in the file stays.
        """
        try:
            if self._handle is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
                self._handle = os.open(self.path, flags, 0o644)
            _append(self._handle, line + b"\n")
        except OSError as error:
            raise UserError(f"cannot write {self.path}: {error.strerror or error}") from None

    def close(self) -> bool:
        """Let the file go; returns whether it had been begun."""
        if self._handle is None:
            return False
        os.close(self._handle)
        self._handle = None
        return True


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
