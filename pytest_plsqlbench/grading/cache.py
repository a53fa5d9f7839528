"""What references showed, kept on disk between runs, keyed by content."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class ReferenceCache:
    """One small file a reference play; safe under parallel workers and runs, never the cause of a failure."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str, kind: type[T]) -> T | None:
        """What was stored under the key; None where nothing readable is."""
        try:
            return msgspec.msgpack.decode(self._path(key).read_bytes(), type=kind)
        except (OSError, msgspec.DecodeError, ValueError):
            return None

    def put(self, key: str, play: msgspec.Struct) -> None:
        """Store a play; a full or unwritable disk only costs the reuse."""
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.msgpack.encode(play))
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]
