"""The lines of a file that runs write one by one: each is right, or is named with file and line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from pytest_plsqlbench.bench.result import SCHEMA_VERSION
from pytest_plsqlbench.bench.task import Source, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Versioned(Protocol):
    """What a line holds."""

    @property
    def schema_version(self) -> int:
        """Of the form in which the line was written."""


Line = TypeVar("Line", bound=Versioned)


def decode_lines(
    data: bytes, path: Path, kind: type[Line], *, called: str, torn: Callable[[bytes], bool]
) -> Iterator[Line]:
    """What the lines of a file hold, in their order; empty lines do not count.

    Args:
        data: content of the file.
        path: of the file, for errors.
        kind: what a line is.
        called: the same in words, as in "not a result".
        torn: whether a last line without an end may be one that a killed run has begun; it is left out.

    Raises:
        UserError: a line is something else, or of another version (file:line).
    """
    decoder = msgspec.json.Decoder(kind)
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if number == len(lines) and torn(line):
                return
            raise UserError(f"not {called}: {error}", Source(str(path), number)) from None
        if found.schema_version != SCHEMA_VERSION:
            raise UserError(
                f"schema_version {found.schema_version} is not {SCHEMA_VERSION}, which this version reads",
                Source(str(path), number),
            )
        yield found
