"""Our options: command line > environment > ini file, read once into one frozen Settings."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from pytest_plsqlbench.bench.dialect import Dialect

if TYPE_CHECKING:
    import pytest


GOLD = "gold"
"""The word that stands for the references played as predictions."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, under its three names."""

    name: str
    """Long name without the ``--plsql-`` prefix."""
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    default: str | None = None
    flag: bool = False
    repeat: str | None = None
    """May be given several times; a regular expression for what stands between values in the environment.

    In the ini file each line is a value. Names there are plurals: ``plsql_limits``, ``PLSQLBENCH_LIMITS``.
    """

    @property
    def cli(self) -> str:
        """Name on the command line."""
        return f"--plsql-{self.name}"

    @property
    def dest(self) -> str:
        """Name in ``config.option`` and in the ini file."""
        return f"plsql_{self.name.replace('-', '_')}{'s' if self.repeat else ''}"

    @property
    def env(self) -> str:
        """Name of the environment variable."""
        return f"PLSQLBENCH_{self.name.replace('-', '_').upper()}{'S' if self.repeat else ''}"


OPTIONS: tuple[Option, ...] = (
    Option(
        "predictions",
        "JSONL file of predictions to grade; the word 'gold' grades the reference programs. "
        "Without this option the plugin does nothing.",
        metavar="FILE",
    ),
    Option(
        "dialect",
        "which variants of the tasks to run (default: those the predictions name; for 'gold', those whose "
        "engine is at hand)",
        choices=("postgres", "oracle", "all"),
    ),
    Option(
        "postgres",
        "PostgreSQL server: 'embedded' (default), 'container', or the DSN or URL of an existing one, where "
        "private databases and roles are created and dropped",
        metavar="SERVER",
        default="embedded",
    ),
    Option(
        "postgres-image",
        "image of the PostgreSQL container (default: the official one)",
        metavar="IMAGE",
    ),
    Option(
        "oracle",
        "Oracle server: 'auto' (default: the DSN in PLSQLBENCH_ORACLE_DSN, else a container where Docker "
        "answers, else none), 'container', 'none', or the DSN of an existing one",
        metavar="SERVER",
        default="auto",
    ),
    Option(
        "oracle-image",
        "image of the Oracle container (default: Oracle Database Free)",
        metavar="IMAGE",
    ),
    Option(
        "timeout",
        "least time limit of a test, in seconds (default: 10); the limit is the greater of this and ten "
        "times what the reference took",
        metavar="SECONDS",
        default="10",
    ),
    Option(
        "limit",
        "limit of a graded program, repeatable: output_bytes, output_lines, rows, result_bytes, "
        "server_memory, temp_files, disk, sessions; sizes as 64MB",
        metavar="NAME=VALUE",
        repeat=r"[\s,]+",
    ),
    Option(
        "compare",
        "comparison rules that decide: as the benchmark publishes them (default), or tolerant of formatting; "
        "both are computed and reported",
        choices=("published", "normalized"),
        default="published",
    ),
    Option(
        "extract",
        "take the program out of fences, prose or JSON before it is graded, and record what was done "
        "(default: answers are graded as they are, as published)",
        flag=True,
    ),
    Option(
        "blame",
        "play each failed turn of a conversation once more on the state that the references leave behind: "
        "did it fail by itself, or by the turns before it? (default: off)",
        flag=True,
    ),
    Option(
        "repeat",
        "play each turn N times (up to 100); one whose verdict varies is not solved, and is reported; with "
        "'gold' such turns are listed in quarantine.jsonl (default: 1)",
        metavar="N",
        default="1",
    ),
    Option(
        "quarantine",
        "list of turns that are not to be graded, as 'gold' with --plsql-repeat writes it",
        metavar="FILE",
    ),
    Option(
        "report",
        "folder for results.jsonl and summary.json (default: reports)",
        metavar="DIR",
        default="reports",
    ),
    Option(
        "resume",
        "continue the run in the report folder: turns whose task, program, comparison, limits and engine are "
        "unchanged keep their verdict",
        flag=True,
    ),
    Option(
        "shard",
        "grade only part I (from 1) of N of the turns, conversations whole; 'auto/N' takes I from a Slurm "
        "array or a Kubernetes Indexed Job; 'plsqlbench merge' joins the parts",
        metavar="I/N",
    ),
    Option(
        "gate",
        "what the run must show, such as 'spider.suite_pass@1 >= 0.25' or 'no_worse_than(baseline, "
        "margin=0.02)', repeatable; the exit code is then 0 where all gates hold, 1 where one is broken, 6 "
        "where the run may not be judged",
        metavar="EXPR",
        repeat=r"[\n;]+",
    ),
    Option(
        "baseline",
        "results.jsonl of an earlier run, or its report folder: this run is compared with it task by task",
        metavar="FILE",
    ),
    Option(
        "baseline-common",
        "compare what both runs have, where their tasks or engines differ (default: refuse such a baseline)",
        flag=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run was asked for."""

    predictions: Path | None
    """File of predictions; None: ``gold``."""
    dialects: frozenset[Dialect] | None
    """Variants asked for; None: decided by the predictions, or by the engines at hand."""
    postgres: str = field(repr=False)
    timeout: float
    """Seconds."""
    compare: Literal["published", "normalized"]
    report: Path
    extract: bool = False
    blame: bool = False
    postgres_image: str | None = None
    oracle: str = field(default="auto", repr=False)
    oracle_image: str | None = None
    shard: tuple[int, int] | None = None
    """The part of the turns to grade; None: all, in a run that is not divided."""
    resume: bool = False
    repeat: int = 1
    """How many times each turn is played."""
    quarantine: Path | None = None
    """List of turns that are not to be graded."""
    limits: dict[str, int] = field(default_factory=dict)
    """Limits that were given, by name; for ``bench.limits.Limits``."""
    gates: tuple[str, ...] = ()
    baseline: Path | None = None
    """Results, or a folder of them, to compare with."""
    baseline_name: str = ""
    """The baseline as the user named it."""
    baseline_common: bool = False

    @property
    def gold(self) -> bool:
        """Whether the references are graded instead of a file."""
        return self.predictions is None


def add_options(parser: pytest.Parser) -> None:
    """Register every option on the command line and in the ini file."""
    group = parser.getgroup("plsqlbench", "grading of PL/SQL and PL/pgSQL programs")
    for option in OPTIONS:
        text = f"{option.help} [ini: {option.dest}, env: {option.env}]"
        if option.flag:
            group.addoption(option.cli, dest=option.dest, action="store_true", default=None, help=text)
        elif option.choices:
            group.addoption(option.cli, dest=option.dest, choices=option.choices, default=None, help=text)
        else:
            action = "append" if option.repeat else "store"
            group.addoption(
                option.cli, dest=option.dest, metavar=option.metavar, action=action, default=None, help=text
            )
        if option.repeat:
            parser.addini(option.dest, option.help, type="linelist", default=[])
        else:
            parser.addini(option.dest, option.help, type="string", default="")


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


def _lookup(config: pytest.Config, option: Option) -> Given:
    here = config.invocation_params.dir
    value = config.getoption(option.dest)
    if value is not None:
        return Given(str(value), option.cli, here)
    value = os.environ.get(option.env)
    if value:
        return Given(value, f"environment variable {option.env}", here)
    value = config.getini(option.dest)
    if value and config.inipath is not None:
        return Given(str(value), f"{option.dest} in {config.inipath.name}", config.inipath.parent)
    return Given(option.default, option.cli, here)


def _lookup_all(config: pytest.Config, option: Option) -> list[Given]:
    """All values of a repeatable option, from the weakest place (ini file) to the strongest."""
    assert option.repeat is not None
    here = config.invocation_params.dir
    found: list[Given] = []
    if config.inipath is not None:
        name = f"{option.dest} in {config.inipath.name}"
        found += [Given(value, name, config.inipath.parent) for value in config.getini(option.dest)]
    values = re.split(option.repeat, os.environ.get(option.env, ""))
    found += [Given(value, f"environment variable {option.env}", here) for value in values if value]
    return found + [Given(value, option.cli, here) for value in config.getoption(option.dest) or ()]


def is_active(config: pytest.Config) -> bool:
    """Whether the run is ours: predictions are named on the command line, by environment or ini file."""
    return _lookup(config, OPTIONS[0]).value is not None


def _seconds(given: Given) -> float:
    try:
        seconds = float(given.value or "")
    except ValueError:
        seconds = float("nan")
    if not 0.1 <= seconds <= 86_400:
        raise _usage_error(f"{given.name}: {given.value!r} is not a number of seconds from 0.1 to 86400")
    return seconds


def _switch(given: Given) -> bool:
    words = dict.fromkeys(("true", "1", "yes", "on"), True)
    words |= dict.fromkeys(("false", "0", "no", "off"), False)
    value = (given.value or "false").lower()
    if value not in words:
        raise _usage_error(f"{given.name}: {given.value!r} is neither true nor false")
    return words[value]


def _shard(given: Given) -> tuple[int, int] | None:
    if given.value is None:
        return None
    from pytest_plsqlbench.bench.shard import parse_shard  # noqa: PLC0415 (this module is read in every run)
    from pytest_plsqlbench.bench.task import UserError  # noqa: PLC0415

    try:
        shard = parse_shard(given.value, os.environ, given.name)
    except UserError as error:
        raise _usage_error(str(error)) from None
    return shard.index, shard.count


def _limits(found: list[Given]) -> dict[str, int]:
    """Limits by name; where one is given in several places, or twice, the last one counts."""
    if not found:
        return {}
    from pytest_plsqlbench.bench.limits import parse_limit  # noqa: PLC0415 (this module is read in every run)

    limits: dict[str, int] = {}
    for given in found:
        try:
            name, value = parse_limit(given.value or "")
        except ValueError as error:
            raise _usage_error(f"{given.name}: {error}") from None
        limits[name] = value
    return limits


def _gates(found: list[Given]) -> tuple[str, ...]:
    """Gates as they were written, each of them read once: a slip is named with the place it stands in."""
    if not found:
        return ()
    from pytest_plsqlbench.bench.gate_text import parse_gates  # noqa: PLC0415 (see above)
    from pytest_plsqlbench.bench.task import UserError  # noqa: PLC0415

    try:
        return tuple(gate.text for given in found for gate in parse_gates([given.value or ""], given.name))
    except UserError as error:
        raise _usage_error(str(error)) from None


def _baseline(given: Given) -> Path | None:
    if given.value is None:
        return None
    if not given.path().exists():
        raise _usage_error(f"{given.name}: {given.value} does not exist")
    return given.path()


def _usage_error(message: str) -> Exception:
    import pytest  # noqa: PLC0415 (this module is read by tools that never load pytest)

    return pytest.UsageError(message)


def _predictions(given: Given) -> Path | None:
    if given.value == GOLD:
        return None
    path = given.path()
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "does not exist"
        raise _usage_error(f"{given.name}: {given.value} {what}")
    return path


def _repeat(given: Given) -> int:
    value = (given.value or "").strip()
    if not (value.isascii() and value.isdigit() and len(value) <= 3 and 1 <= int(value) <= 100):
        raise _usage_error(f"{given.name}: {given.value!r} is not a number of plays from 1 to 100")
    return int(value)


def _quarantine(given: Given) -> Path | None:
    if given.value is None:
        return None
    if not given.path().is_file():
        what = "is a folder, not a file" if given.path().is_dir() else "does not exist"
        raise _usage_error(f"{given.name}: {given.value} {what}")
    return given.path()


def _report(given: Given) -> Path:
    """The report folder; that it can be written is checked before anything runs, not after."""
    path = given.path()
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise _usage_error(f"{given.name}: {given.value} cannot be written: {error.strerror}") from None
    finally:
        for folder in missing:  # made again with the first result
            with contextlib.suppress(OSError):
                folder.rmdir()
    return path


def read_settings(config: pytest.Config) -> Settings:
    """Read all options once.

    Raises:
        pytest.UsageError: a value is not acceptable; the message names where it was given.
    """
    given = {option.name: _lookup(config, option) for option in OPTIONS if not option.repeat}
    repeated = {option.name: _lookup_all(config, option) for option in OPTIONS if option.repeat}
    for option in OPTIONS:
        if option.repeat:
            continue
        value = given[option.name].value
        if value is not None and option.choices and value not in option.choices:
            choices = ", ".join(option.choices)
            raise _usage_error(f"{given[option.name].name}: {value!r} is not one of {choices}")
    return Settings(
        predictions=_predictions(given["predictions"]),
        dialects=_dialects(given["dialect"].value),
        postgres=given["postgres"].value or "embedded",
        timeout=_seconds(given["timeout"]),
        compare=cast("Literal['published', 'normalized']", given["compare"].value),
        report=_report(given["report"]),
        extract=_switch(given["extract"]),
        blame=_switch(given["blame"]),
        postgres_image=given["postgres-image"].value or None,
        oracle=given["oracle"].value or "auto",
        oracle_image=given["oracle-image"].value or None,
        shard=_shard(given["shard"]),
        resume=_switch(given["resume"]),
        repeat=_repeat(given["repeat"]),
        quarantine=_quarantine(given["quarantine"]),
        limits=_limits(repeated["limit"]),
        gates=_gates(repeated["gate"]),
        baseline=_baseline(given["baseline"]),
        baseline_name=given["baseline"].value or "",
        baseline_common=_switch(given["baseline-common"]),
    )


def _dialects(value: str | None) -> frozenset[Dialect] | None:
    if value is None:
        return None
    return frozenset(("oracle", "postgres")) if value == "all" else frozenset((cast("Dialect", value),))
