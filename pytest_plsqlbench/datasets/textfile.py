"""Published files, plain or gzip, read as bytes or JSON lines with one clear line where they cannot be."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.datasets.dataset import UTF16_MARKS, at

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


def read_bytes(path: Path) -> bytes:
    """Content of a file, unpacked where it is gzip (told by its first bytes, not by its name), without a BOM.

    Raises:
        UserError: it cannot be read or unpacked.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", at(path)) from None
    if content.startswith(_GZIP_MAGIC):
        import gzip  # noqa: PLC0415 (only packed files need it)

        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"is not a whole gzip file: {error}", at(path)) from None
    return content.removeprefix(_BOM)


def json_lines(path: Path) -> Iterator[tuple[Source, dict[str, Any]]]:
    """The objects of a JSON-lines file with where they stand; blank lines are passed over.

    Raises:
        UserError: the file cannot be read, or a line is not a JSON object in UTF-8.
    """
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    content = read_bytes(path)
    if content.startswith(UTF16_MARKS):
        raise UserError("is UTF-16 text: save it as UTF-8", at(path, 1))
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.isspace() or not line:
            continue
        try:
            yield at(path, number), decode(line)
        except msgspec.ValidationError:
            raise UserError("is not a JSON object", at(path, number)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UserError(_why_no_json(line, error), at(path, number)) from None


def _why_no_json(line: bytes, error: Exception) -> str:
    try:
        line.decode()
    except UnicodeDecodeError as place:
        return f"is not UTF-8 (byte 0x{line[place.start]:02x}): save it as UTF-8"
    return f"is not JSON: {error}"


def text_fields(record: dict[str, Any], keys: tuple[str, ...], source: Source) -> tuple[str, ...]:
    """Values of keys that must be texts with something in them.

    Raises:
        UserError: naming the first key that is missing or no such text.
    """
    for key in keys:
        value = record.get(key)
        if not isinstance(value, str) or not value.strip():
            raise UserError(f"needs a text under the key {key!r}", source)
    return tuple(record[key] for key in keys)
