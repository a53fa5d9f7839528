"""A cache of decoded task files: one growing file for the tasks of a folder, keyed by content.

Entries are appended whole, each with its length and checksum, so that parallel workers and runs can share a
file; a file that is torn, or mostly repeats itself, is replaced by a clean one in one step. Whatever goes
wrong with the cache only costs time: what cannot be read is as if it had never been written.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
import time
from pathlib import Path

from pytest_plsqlbench.cachefolder import open_file, own_entries, own_folder, read_file

KEY = 32
"""Bytes of a key."""
_MAGIC = b"\x00task"
_HEAD = len(_MAGIC) + KEY + 4 + 16
"""Magic, key, length of the payload, checksum over key and payload."""
LARGEST = 64_000_000
"""Bytes above which a file is begun anew: old versions of edited tasks pile up in it."""
_READABLE = 4 * LARGEST
"""Bytes above which a file is not even read: no run writes so much."""
_UNUSED_AFTER = 60 * 86_400.0
_DIGITS = 24
_OWN = re.compile(rf"(?:.{{1,40}}-)?[0-9a-f]{{{_DIGITS}}}\.tasks|\.new-[a-z0-9_]{{8}}", re.DOTALL)
"""Names that ``cache_file`` and ``_replace`` give; no other file is ever removed."""


def cache_file(place: str, label: str = "") -> Path:
    """The file for tasks from a place.

    Args:
        place: path of the folder or file that they are read from.
        label: what people may know the file by; cut to 40 characters.
    """
    digest = hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:_DIGITS]
    return own_folder("tasks") / (f"{label[:40]}-{digest}.tasks" if label else f"{digest}.tasks")


class EntryCache:
    """Entries of bytes under keys of 32 bytes, in one file."""

    def __init__(self, path: Path) -> None:
        """Read what the file holds; it need not exist."""
        self._path = path
        self._entries: dict[bytes, bytes] = {}
        self._read()

    def get(self, key: bytes) -> bytes | None:
        """The entry of a key, None where there is none."""
        return self._entries.get(key)

    def put(self, key: bytes, payload: bytes) -> None:
        """Keep an entry; where it cannot be written, only this process has it."""
        self._entries[key] = payload
        with contextlib.suppress(OSError):
            if not self._path.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True)
                _forget_unused(self._path.parent)
            # One write with O_APPEND: writers of other processes stand before or after it, never inside.
            handle = open_file(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(handle, _record(key, payload))
            finally:
                os.close(handle)

    def _read(self) -> None:
        try:
            content = read_file(self._path, _READABLE)
        except OSError:
            return
        if content is None:
            self._replace({})
            return
        end = 0
        kept = 0
        while (record := _record_at(content, end)) is not None:
            key, payload = record
            end += _HEAD + len(payload)
            if key not in self._entries:
                kept += _HEAD + len(payload)
            self._entries[key] = payload
        if len(content) > LARGEST:
            self._replace({})
        elif end < len(content) or kept < len(content) // 2:
            self._replace(self._entries)

    def _replace(self, entries: dict[bytes, bytes]) -> None:
        with contextlib.suppress(OSError):
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.writelines(_record(key, payload) for key, payload in entries.items())
                Path(name).replace(self._path)
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise


def _record(key: bytes, payload: bytes) -> bytes:
    return b"".join((_MAGIC, key, len(payload).to_bytes(4, "big"), _checksum(key, payload), payload))


def _record_at(content: bytes, start: int) -> tuple[bytes, bytes] | None:
    """Key and payload of the record that begins there; None where none does, or not a whole one."""
    if content[start : start + len(_MAGIC)] != _MAGIC:
        return None
    at_key = start + len(_MAGIC)
    at_length = at_key + KEY
    key = content[at_key:at_length]
    length = int.from_bytes(content[at_length : at_length + 4], "big")
    checksum = content[at_length + 4 : start + _HEAD]
    payload = content[start + _HEAD : start + _HEAD + length]
    if len(payload) < length or checksum != _checksum(key, payload):
        return None
    return key, payload


def _checksum(key: bytes, payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16, key=key).digest()


def _forget_unused(folder: Path) -> None:
    """Remove our files about folders that were not worked on for two months; they are only written anew."""
    now = time.time()
    for path, status in own_entries(folder, _OWN):
        if now - status.st_mtime > _UNUSED_AFTER:
            with contextlib.suppress(OSError):
                path.unlink()
