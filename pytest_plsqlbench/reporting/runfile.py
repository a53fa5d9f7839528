"""``run.json``: written beside ``results.jsonl`` before the first turn is graded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.result import SCHEMA_VERSION
from pytest_plsqlbench.bench.run import RunPart
from pytest_plsqlbench.bench.task import Source, UserError
from pytest_plsqlbench.reporting.store import write_atomically
from pytest_plsqlbench.reporting.texts import TEXTS_FILE

if TYPE_CHECKING:
    from pathlib import Path

RUN_FILE = "run.json"
RESULTS_FILE = "results.jsonl"
SUMMARY_FILE = "summary.json"
REPORT_FILE = "report.html"


class _Version(msgspec.Struct):
    schema_version: int


def start_part(folder: Path, part: RunPart) -> None:
    """Make a report folder ready for a part: remove what an earlier run left, then write ``run.json``.

    In this order, so that no moment and no crash leaves results beside the description of another run. To be
    called once it is certain that the run goes ahead, before its first result.

    Raises:
        UserError: the folder cannot be written.
    """
    clear(folder)
    write_run(folder, part)


def clear(folder: Path) -> None:
    """Remove what an earlier run left.

    Raises:
        UserError: the folder cannot be written.
    """
    try:
        for name in (RESULTS_FILE, TEXTS_FILE, REPORT_FILE, SUMMARY_FILE, RUN_FILE):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror or error}") from None


def write_run(folder: Path, part: RunPart) -> None:
    """Write ``run.json`` and nothing else: for results that are known to be of this part.

    Raises:
        UserError: the file cannot be written.
    """
    write_atomically(folder / RUN_FILE, msgspec.json.encode(part) + b"\n")


def read_run(folder: Path) -> RunPart:
    """Read ``run.json``.

    Raises:
        UserError: it is not there, or not what a run of this version writes.
    """
    path = folder / RUN_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version != SCHEMA_VERSION:
            raise UserError(
                f"schema_version {version} is not {SCHEMA_VERSION}, which this version reads",
                Source(str(path)),
            )
        return msgspec.json.decode(data, type=RunPart)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"not the description of a run: {error}", Source(str(path))) from None
