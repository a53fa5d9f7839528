"""A cache of decoded task files: one small file an entry, keyed by content.

Safe under parallel workers and runs: an entry is written whole under another name and then put in place.
Whatever goes wrong with the cache only costs time: a broken entry is read as none and written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path

_DIGEST = 16
"""Bytes of the checksum in front of an entry."""
_UNUSED_AFTER = 60 * 86_400.0
_SWEEP_EVERY = 7 * 86_400.0


def cache_root() -> Path:
    """Folder of what is kept between runs: ``PLSQLBENCH_CACHE_DIR``, else the user's cache folder."""
    given = os.environ.get("PLSQLBENCH_CACHE_DIR")
    if given:
        return Path(given)
    import platformdirs  # noqa: PLC0415 (only without the variable)

    return Path(platformdirs.user_cache_dir("pytest-plsqlbench"))


class EntryCache:
    """Entries of bytes under hexadecimal keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._swept = False

    def get(self, key: str) -> bytes | None:
        """The entry of a key; None where there is none, or a broken one."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        payload = content[_DIGEST:]
        return payload if _digest(payload) == content[:_DIGEST] else None

    def put(self, key: str, payload: bytes) -> None:
        """Keep an entry; where it cannot be written, nothing happens."""
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._sweep()
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_digest(payload) + payload)
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]

    def _sweep(self) -> None:
        """Once a week, when something new is written anyway, forget what was written long ago."""
        if self._swept:
            return
        self._swept = True
        mark = self._folder / "swept"
        now = time.time()
        if mark.exists() and now - mark.stat().st_mtime < _SWEEP_EVERY:
            return
        mark.touch()
        for path in self._folder.glob("??/*"):
            with contextlib.suppress(OSError):
                if now - path.stat().st_mtime > _UNUSED_AFTER:
                    path.unlink()


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST).digest()
