"""Limits of graded programs: names, defaults, bounds, and how users write them. See docs/security.md."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one play, enforced from outside the graded session.

    Times are in seconds, sizes in bytes. The source of the defaults is docs/security.md.
    """

    time: float = 10.0
    """Per test, and per program while it is installed."""
    output_bytes: int = 1_000_000
    """Printed by one test, or by one program while it is installed."""
    output_lines: int = 20_000
    """The same in lines."""
    rows: int = 50_000
    """Of all results of a test, and of a table whose state is judged."""
    result_bytes: int = 32_000_000
    """Of all results of a test, in text form."""
    server_memory: int = 1 << 30
    """Of one process of a server that is ours: its address space (embedded), its data (container)."""
    temp_files: int = 512 << 20
    """Temporary files of one session."""
    disk: int = 512 << 20
    """What one play may add to its database."""
    sessions: int = 16
    """Sessions that one side of a lane may hold at a time, the harness' own among them."""

    def part(self) -> tuple[int, ...]:
        """What stands for these limits in keys of contents: all that bounds what can be observed."""
        return (
            self.output_bytes,
            self.output_lines,
            self.rows,
            self.result_bytes,
            self.server_memory,
            self.temp_files,
            self.disk,
        )


DEFAULTS = Limits()


@dataclass(frozen=True, slots=True)
class Bound:
    """Which values a limit takes."""

    least: int
    most: int
    size: bool = False
    """In bytes, with a unit where one is given."""


_TERABYTE = 1 << 40
BOUNDS: dict[str, Bound] = {
    "output_bytes": Bound(1, _TERABYTE, size=True),
    "output_lines": Bound(1, 10**9),
    "rows": Bound(1, 10**9),
    "result_bytes": Bound(1, _TERABYTE, size=True),
    "server_memory": Bound(320 << 20, _TERABYTE, size=True),  # 200 MB are shared by all processes
    "temp_files": Bound(1 << 10, _TERABYTE, size=True),
    "disk": Bound(1 << 20, _TERABYTE, size=True),
    "sessions": Bound(8, 64),  # the harness keeps up to six open
}
"""What ``--plsql-limit`` names. Time has an option of its own."""

_UNITS = {"": 1, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}
_VALUE = re.compile(r"(?P<number>[0-9]{1,15})\s?(?P<unit>[a-z]{0,2})")


def parse_limit(text: str) -> tuple[str, int]:
    """Read ``NAME=VALUE``.

    Raises:
        ValueError: it is no limit; the message is the second half of a line that names the place.
    """
    name, found, value = (part.strip() for part in text.partition("="))
    if not found or not name:
        raise ValueError(f"{text!r} is not NAME=VALUE, for example output_lines=1000")
    if name == "time":
        raise ValueError("the limit 'time' is set by --plsql-timeout")
    bound = BOUNDS.get(name)
    if bound is None:
        raise ValueError(f"no limit is named {name!r}; there are {', '.join(BOUNDS)}")
    match = _VALUE.fullmatch(value.lower())
    if match is None or match["unit"] not in _UNITS or (match["unit"] and not bound.size):
        what = "a size such as 500000 or 64MB (kB, MB, GB)" if bound.size else "a whole number"
        raise ValueError(f"{name}: {value!r} is not {what}")
    number = int(match["number"]) * _UNITS[match["unit"]]
    if not bound.least <= number <= bound.most:
        least, most = shown_limit(name, bound.least), shown_limit(name, bound.most)
        raise ValueError(f"{name}: {value} is not from {least} to {most}")
    return name, number


def shown_limit(name: str, value: int) -> str:
    """A value as users write it: with the greatest unit that leaves a whole number."""
    if BOUNDS[name].size and value:
        for unit in ("TB", "GB", "MB", "kB"):
            whole, rest = divmod(value, _UNITS[unit.lower()])
            if not rest:
                return f"{whole}{unit}"
    return str(value)
