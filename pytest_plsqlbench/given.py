"""Values as users give them: text, the place it was given, and what it means or why it cannot be used."""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.dialect import Dialect

GOLD = "gold"
"""The word that stands for the references played as predictions."""


@dataclass(frozen=True, slots=True)
class Given:
    """An option's raw value, and how it was given."""

    value: str | None
    """None: not given, and there is no default."""
    name: str
    """The name under which the user gave it, for messages."""
    base: Path
    """Folder that a relative path in it is relative to: the ini file's own, else where pytest was started."""

    def path(self) -> Path:
        """The value as a path."""
        return self.base / Path(self.value or "").expanduser()


def read_seconds(given: Given) -> float:
    """A number of seconds, bounded."""
    try:
        seconds = float(given.value or "")
    except ValueError:
        seconds = float("nan")
    if not 0.1 <= seconds <= 86_400:
        raise usage_error(f"{given.name}: {given.value!r} is not a number of seconds from 0.1 to 86400")
    return seconds


def read_switch(given: Given) -> bool:
    """Whether a flag is on."""
    words = dict.fromkeys(("true", "1", "yes", "on"), True)
    words |= dict.fromkeys(("false", "0", "no", "off"), False)
    value = (given.value or "false").lower()
    if value not in words:
        raise usage_error(f"{given.name}: {given.value!r} is neither true nor false")
    return words[value]


def read_shard(given: Given) -> tuple[int, int] | None:
    """Which part of how many; None: all of it."""
    if given.value is None:
        return None
    from pytest_plsqlbench.bench.shard import parse_shard  # noqa: PLC0415 (this module is read in every run)
    from pytest_plsqlbench.bench.task import UserError  # noqa: PLC0415

    try:
        shard = parse_shard(given.value, os.environ, given.name)
    except UserError as error:
        raise usage_error(str(error)) from None
    return shard.index, shard.count


def read_limits(found: list[Given]) -> dict[str, int]:
    """Limits by name; where one is given in several places, or twice, the last one counts."""
    if not found:
        return {}
    from pytest_plsqlbench.bench.limits import parse_limit  # noqa: PLC0415 (this module is read in every run)

    limits: dict[str, int] = {}
    for given in found:
        try:
            name, value = parse_limit(given.value or "")
        except ValueError as error:
            raise usage_error(f"{given.name}: {error}") from None
        limits[name] = value
    return limits


def read_gates(found: list[Given]) -> tuple[str, ...]:
    """Gates as they were written, each of them read once: a slip is named with the place it stands in."""
    if not found:
        return ()
    from pytest_plsqlbench.bench.gates.text import parse_gate, parse_gates  # noqa: PLC0415 (see above)
    from pytest_plsqlbench.bench.task import UserError  # noqa: PLC0415

    try:
        gates: list[str] = []
        for given in found:
            value, name = given.value or "", given.name
            if name.startswith("--"):  # there a gate is meant, be it that a variable of CI is not set
                gates.append(parse_gate(value, name).text)
            else:
                gates += (gate.text for gate in parse_gates([value], name))
        return tuple(gates)
    except UserError as error:
        raise usage_error(str(error)) from None


def read_baseline(given: Given) -> Path | None:
    """The results to compare with."""
    if given.value is None:
        return None
    if not given.path().exists():
        raise usage_error(f"{given.name}: {given.value} does not exist")
    return given.path()


def usage_error(message: str) -> Exception:
    """What ends a run with one line and the exit code of wrong usage."""
    import pytest  # noqa: PLC0415 (this module is read by tools that never load pytest)

    return pytest.UsageError(message)


def read_predictions(given: Given) -> Path | None:
    """The file of predictions; None: the references."""
    return None if given.value == GOLD else _file(given)


def read_repeat(given: Given) -> int:
    """How many times each turn is played."""
    value = (given.value or "").strip()
    if not (value.isascii() and value.isdigit() and len(value) <= 3 and 1 <= int(value) <= 100):
        raise usage_error(f"{given.name}: {given.value!r} is not a number of plays from 1 to 100")
    return int(value)


def read_quarantine(given: Given) -> Path | None:
    """The list of turns that are not to be graded."""
    return None if given.value is None else _file(given)


def _file(given: Given) -> Path:
    path = given.path()
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise usage_error(f"{given.name}: {given.value} {what}")
    return path


def read_report(given: Given) -> Path:
    """The report folder; that it can be written is checked before anything runs, not after."""
    path = given.path()
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise usage_error(f"{given.name}: {given.value} cannot be written: {error.strerror}") from None
    finally:
        for folder in missing:  # made again with the first result
            with contextlib.suppress(OSError):
                folder.rmdir()
    return path


def read_dialects(value: str | None) -> frozenset[Dialect] | None:
    """The variants asked for; None: not said."""
    if value is None:
        return None
    return frozenset(("oracle", "postgres")) if value == "all" else frozenset((cast("Dialect", value),))
