"""Our options: command line > environment > ini file, read once into one frozen Settings."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from pytest_plsqlbench.given import (
    Given,
    read_baseline,
    read_dialects,
    read_gates,
    read_limits,
    read_predictions,
    read_quarantine,
    read_repeat,
    read_report,
    read_seconds,
    read_shard,
    read_switch,
    usage_error,
)
from pytest_plsqlbench.settings import Settings

if TYPE_CHECKING:
    import pytest


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
            raise usage_error(f"{given[option.name].name}: {value!r} is not one of {choices}")
    return Settings(
        predictions=read_predictions(given["predictions"]),
        dialects=read_dialects(given["dialect"].value),
        postgres=given["postgres"].value or "embedded",
        timeout=read_seconds(given["timeout"]),
        compare=cast("Literal['published', 'normalized']", given["compare"].value),
        report=read_report(given["report"]),
        extract=read_switch(given["extract"]),
        blame=read_switch(given["blame"]),
        postgres_image=given["postgres-image"].value or None,
        oracle=given["oracle"].value or "auto",
        oracle_image=given["oracle-image"].value or None,
        shard=read_shard(given["shard"]),
        resume=read_switch(given["resume"]),
        repeat=read_repeat(given["repeat"]),
        quarantine=read_quarantine(given["quarantine"]),
        limits=read_limits(repeated["limit"]),
        gates=read_gates(repeated["gate"]),
        baseline=read_baseline(given["baseline"]),
        baseline_name=given["baseline"].value or "",
        baseline_common=read_switch(given["baseline-common"]),
    )
