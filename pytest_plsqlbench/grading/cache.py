"""What references showed, kept on disk between runs, keyed by content. See docs/resume.md."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from pytest_plsqlbench.cachefolder import own_entries, read_file

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T", bound=msgspec.Struct)

UNUSED_AFTER = 30 * 86_400.0
"""Seconds after which an entry that nobody has asked for is removed."""
LARGEST = 512 << 20
"""Bytes above which the entries that were not asked for longest are removed."""
LARGEST_ENTRY = 16 << 20
"""Bytes above which a play is not kept."""
DAY = 86_400.0
_MAGIC = b"\x00plsqlbench reference 1\n"
_CHECKSUM = 16
_MARK = ".pruned"
_FOLDER = re.compile(r"[0-9a-f]{2}")
_ENTRY = re.compile(r"[0-9a-f]{62}|\.new-[a-z0-9_]{8}")
"""Names that ``put`` gives; no other file is ever removed."""


class ReferenceCache:
    """One small file a reference play; safe under parallel workers and runs, never the cause of a failure.

    A file holds a checksum over its content and the key that it was written under. One that is torn, that was
    changed, that lies under the name of another, or that is no ordinary file is as if it were not there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looked = False

    def get(self, key: str, kind: type[T]) -> T | None:
        """What was stored under the key; None where nothing readable is."""
        path = self._path(key)
        try:
            start = len(_MAGIC) + _CHECKSUM
            content = read_file(path, start + LARGEST_ENTRY)
            if content is None:
                return None
            payload = content[start:]
            if content[:start] != _head(key, payload):
                return None
            found = msgspec.msgpack.decode(payload, type=kind)
        except (OSError, msgspec.DecodeError, ValueError, RecursionError, MemoryError):
            return None
        self._used(path)
        return found

    def put(self, key: str, play: msgspec.Struct) -> None:
        """Store a play; a full or unwritable disk only costs the reuse."""
        path = self._path(key)
        payload = msgspec.msgpack.encode(play)
        if len(payload) > LARGEST_ENTRY:
            return
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_head(key, payload) + payload)
                Path(name).chmod(0o644)  # others may share the folder: who may enter it decides
                Path(name).replace(path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
        self._prune_daily()

    def drop(self, key: str) -> None:
        """Remove an entry that has turned out not to hold."""
        with contextlib.suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def prune(self) -> None:
        """Remove what nobody asks for any more, the oldest of what is too much, and torn writes."""
        now = time.time()
        kept = []
        for path, status in self._files():
            age = now - status.st_mtime
            if age > (DAY if path.name.startswith(".new-") else UNUSED_AFTER):
                with contextlib.suppress(OSError):
                    path.unlink()
            else:
                kept.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in kept)
        for _, size, path in sorted(kept):
            if total <= LARGEST:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size

    def _prune_daily(self) -> None:
        """Prune, at a process' first write, unless one has within a day."""
        if self._looked:
            return
        self._looked = True
        mark = self._folder / _MARK
        with contextlib.suppress(OSError):
            if mark.exists() and 0 <= time.time() - mark.stat().st_mtime < DAY:
                return
            mark.touch()
            self.prune()

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for folder, _ in own_entries(self._folder, _FOLDER, stat.S_ISDIR):
            yield from own_entries(folder, _ENTRY)

    @staticmethod
    def _used(path: Path) -> None:
        """Note that an entry was asked for; once a day is enough."""
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > DAY:
                os.utime(path, follow_symlinks=False)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key[2:]


def _head(key: str, payload: bytes) -> bytes:
    checksum = hashlib.blake2b(payload, digest_size=_CHECKSUM, key=bytes.fromhex(key))
    return _MAGIC + checksum.digest()
