"""The folders of a run's parts, as users name them, and where their join may go without harm to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.shard import Shard
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.runfile import RESULTS_FILE, RUN_FILE, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARKS = (RUN_FILE, RESULTS_FILE)
"""Files that make a folder one of results."""
_PATTERN = frozenset("*?[")


def find_parts(paths: Iterable[Path], out: Path) -> list[Path]:
    """The folders that hold parts: those named, and those below a named folder that is none itself.

    Args:
        paths: folders, or the ``results.jsonl`` or ``run.json`` in them.
        out: where the joined run goes; a joined run that lies there already is no part.

    Raises:
        UserError: a path is not there or holds no part, or is a part and holds others as well; or to write
            ``out`` would harm a part, now or in the next merge.
    """
    _check_out(out)
    found: dict[Path, Path] = {}
    for path in paths:
        for folder in _parts_at(path, out):
            found.setdefault(folder.resolve(), folder)
    target = out.resolve()
    for place, folder in found.items():
        if place == target:
            raise UserError(f"--out {out} is one of the parts: it would be overwritten; name another folder")
        if target in place.parents:
            raise UserError(
                f"--out {out} holds the part {folder}: the next merge would take the joined run for a part;"
                f" name another folder, such as {out / 'joined'}"
            )
    return list(found.values())


def _check_out(out: Path) -> None:
    """The results of a part are never overwritten, whether it is among those given or not."""
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is a file: name a folder")
    if (out / RUN_FILE).is_file() and (shard := read_run(out).shard) != Shard():
        raise UserError(
            f"--out {out} holds shard {shard} of a run: it would be overwritten; name another folder"
        )


def _parts_at(path: Path, out: Path) -> list[Path]:
    if not path.exists():
        if _PATTERN & set(str(path)):
            raise UserError(f"{path} does not exist: give the pattern without quotes, or the folder above")
        raise UserError(f"{path} does not exist")
    if path.is_file():
        if path.name not in _MARKS:
            raise UserError(f"{path} is neither a folder nor a {RESULTS_FILE} or {RUN_FILE}: name its folder")
        return [path.parent]
    below = sorted({file.parent for name in _MARKS for file in path.rglob(name)} - {path})
    below = [folder for folder in below if folder.resolve() != out.resolve()]
    if any((path / name).is_file() for name in _MARKS):
        if below:
            raise UserError(
                f"{path} holds results of its own ({_marks_of(path)}) and others below"
                f" ({below[0]}{_more(below)}): which are meant? Name the folders of the parts one by one"
            )
        return [path]
    if not below:
        raise UserError(f"no {RUN_FILE} in {path} or below: it holds no part of a run")
    return below


def _marks_of(folder: Path) -> str:
    return " and ".join(name for name in _MARKS if (folder / name).is_file())


def _more(folders: list[Path]) -> str:
    return f" and {len(folders) - 1} more" if len(folders) > 1 else ""
