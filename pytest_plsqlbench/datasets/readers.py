"""Which reader reads a file: decided by its name and shape, in one registry."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pytest_plsqlbench.bench.dialect import Dialect
from pytest_plsqlbench.bench.task import DIALECTS, Task, UserError
from pytest_plsqlbench.datasets.dataset import UTF16_MARKS, Dataset, at, join

_HEAD = 65_536
"""Bytes of a file that decide what it is (a published record can be tens of kilobytes long)."""

_NATIVE_KEYS = re.compile(rb"^(?:\xef\xbb\xbf)?(id|subset|variants)[ \t]*:", re.MULTILINE)

_ESCAPE = re.compile(rb"\\(u00|x)[0-9a-fA-F]")
"""With which a letter of a key could be spelled otherwise."""

_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "build", "dist", "venv"})


@dataclass(frozen=True, slots=True)
class Reader:
    """A format that is read."""

    name: str
    """As messages call it."""
    suffixes: frozenset[str]
    """Lower-case file suffixes, with the dot."""
    recognises: Callable[[bytes], bool]
    """Whether a file of this beginning is of the format; looks at the text, parses nothing."""
    read: Callable[[Path, bytes | None], Dataset]
    """Reads a file. Its content is given where it is known already, None where it is not."""
    dialects: Callable[[bytes], frozenset[Dialect]]
    """Dialects that tasks of a file of this content may be in; parses nothing."""


def _first_line(head: bytes) -> bytes:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]


def _is_native_yaml(head: bytes) -> bool:
    return len(set(_NATIVE_KEYS.findall(head))) >= 2


def _is_native_jsonl(head: bytes) -> bool:
    line = _first_line(head)
    return line.startswith(b"{") and b'"variants"' in line


def _is_spider(head: bytes) -> bool:
    line = _first_line(head)
    return line.startswith(b"{") and b'"gold_sql_query"' in line and b'"db_id"' in line


def _is_spider2(head: bytes) -> bool:
    line = _first_line(head)
    return line.startswith(b"{") and b'"reference_answer"' in line and b'"tests"' in line


def _is_mbpp(head: bytes) -> bool:
    line = _first_line(head)
    return line.startswith(b"{") and b'"type_ddl_info"' in line and b'"test"' in line


def _read_yaml(path: Path, content: bytes | None) -> Dataset:
    from pytest_plsqlbench.datasets.native.reader import read_yaml  # noqa: PLC0415 (only where such files are read)

    return read_yaml(path, content)


def _read_jsonl(path: Path, content: bytes | None) -> Dataset:
    from pytest_plsqlbench.datasets.native.reader import read_jsonl  # noqa: PLC0415

    return read_jsonl(path, content)


def _read_spider(path: Path, content: bytes | None) -> Dataset:
    del content
    from pytest_plsqlbench.datasets.spider.reader import read_spider  # noqa: PLC0415

    return read_spider(path)


def _read_spider2(path: Path, content: bytes | None) -> Dataset:
    del content
    from pytest_plsqlbench.datasets.plsqlbench.spider2 import read_spider2  # noqa: PLC0415

    return read_spider2(path)


def _read_mbpp(path: Path, content: bytes | None) -> Dataset:
    del content
    from pytest_plsqlbench.datasets.plsqlbench.mbpp import read_mbpp  # noqa: PLC0415

    return read_mbpp(path)


def _named_dialects(content: bytes) -> frozenset[Dialect]:
    if _ESCAPE.search(content):
        return frozenset(DIALECTS)
    return frozenset(dialect for dialect in DIALECTS if dialect.encode() in content)


def _all_dialects(content: bytes) -> frozenset[Dialect]:
    del content
    return frozenset(DIALECTS)


def _oracle_alone(content: bytes) -> frozenset[Dialect]:
    del content
    return frozenset(("oracle",))


_YAML, _JSONL = frozenset({".yaml", ".yml"}), frozenset({".jsonl"})
TASK_SUFFIXES = _YAML | _JSONL
"""Files that may hold tasks; one that is named on the command line and does not is an error."""
READERS: tuple[Reader, ...] = (
    Reader("native YAML", _YAML, _is_native_yaml, _read_yaml, _named_dialects),
    Reader("native JSONL", _JSONL, _is_native_jsonl, _read_jsonl, _named_dialects),
    Reader("PLSQLBench Spider-PLSQL", _JSONL, _is_spider, _read_spider, _all_dialects),
    Reader("PLSQLBench Spider2", _JSONL, _is_spider2, _read_spider2, _oracle_alone),
    Reader("PLSQLBench MBPP-PLSQL", _JSONL, _is_mbpp, _read_mbpp, _oracle_alone),
)
"""In the order in which they are asked."""


def dialects_in(path: Path) -> frozenset[Dialect]:
    """Dialects that tasks of a file may be in, all where that cannot be told; the file is not parsed."""
    reader, content = _recognise(path)
    if reader is None:
        return frozenset(DIALECTS)
    try:
        return reader.dialects(path.read_bytes() if content is None else content)
    except OSError:
        return frozenset(DIALECTS)


def reader_of(path: Path) -> Reader | None:
    """The reader of a file, None where no format fits it or it cannot be opened."""
    return _recognise(path)[0]


def _recognise(path: Path) -> tuple[Reader | None, bytes | None]:
    """The reader of a file, and the content where the file was short enough to be read in passing."""
    suffix = path.suffix.lower()
    readers = [reader for reader in READERS if suffix in reader.suffixes]
    if not readers:
        return None, None
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None, None
    reader = next((reader for reader in readers if reader.recognises(head)), None)
    return reader, head if len(head) < _HEAD else None


def task_files(folder: Path) -> Iterator[Path]:
    """Files below a folder that may hold tasks, sorted; hidden folders and databases are left out."""
    return _walk(folder, frozenset())


def _walk(folder: Path, above: frozenset[str]) -> Iterator[Path]:
    real = os.path.realpath(folder)
    if real in above:  # a link that leads back
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", at(folder)) from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        path = Path(entry.path)
        if entry.is_dir():
            if not ignored_folder(path):
                yield from _walk(path, above | {real})
        elif entry.is_file():
            yield path


def ignored_folder(path: Path) -> bool:
    """Whether a walk leaves this folder out: databases, virtual environments, build results, caches."""
    name = path.name
    return (
        name in _SKIPPED_FOLDERS
        or name == "fixtures"
        or name.startswith(".")
        or (path / "pyvenv.cfg").is_file()
    )


def load_path(path: Path) -> Dataset:
    """Read the tasks of a file or of all task files below a folder.

    A file that is named must be of a known format; in a folder, other files are passed over.

    Raises:
        UserError: what is wrong, with file and line.
    """
    if path.is_dir():
        found = ((file, *_recognise(file)) for file in task_files(path))
        return join(_read(reader, file, content) for file, reader, content in found if reader is not None)
    return join([load_file(path)])


def load_file(path: Path) -> Dataset:
    """Read the tasks of one file that the user named.

    Raises:
        UserError: what is wrong, with file and line.
    """
    reader, content = _recognise(path)
    if reader is not None:
        return _read(reader, path, content)
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", at(path)) from None
    suffix = path.suffix.lower()
    if suffix in TASK_SUFFIXES and head.startswith(UTF16_MARKS):
        raise UserError("is UTF-16 text: save it as UTF-8", at(path, 1))
    if suffix in _JSONL and not head.strip():
        raise UserError("is empty: one task a line is expected", at(path))
    if suffix == ".gz":
        raise UserError("is packed: unpack it first (gunzip), tasks are read as they are", at(path))
    if suffix in {".json", ".ndjson"}:
        raise UserError("is not a file of tasks: write one JSON object a line, into a file *.jsonl", at(path))
    if suffix in {".yaml", ".yml"}:
        return _read_yaml(path, None)
    known = ", ".join(f"{reader.name} ({'/'.join(sorted(reader.suffixes))})" for reader in READERS)
    raise UserError(f"is not a file of tasks; formats that are read: {known}", at(path))


def _read(reader: Reader, path: Path, content: bytes | None) -> Dataset:
    """Read a file; of a row that is wrong, say where it is one of another format."""
    try:
        return reader.read(path, content)
    except UserError as error:
        if reader.suffixes != _JSONL or error.source is None or not error.source.line:
            raise
        with path.open("rb") as file:
            line = next(islice(file, error.source.line - 1, None), b"")
        if reader.recognises(line):
            raise
        other = next((one for one in READERS if one.suffixes == _JSONL and one.recognises(line)), None)
        if other is None:
            raise
        raise UserError(
            f"is a row of {other.name} in a file of {reader.name}: one format a file", error.source
        ) from None


def suite_root(path: Path) -> Path:
    """The folder of the whole suite that a path lies in.

    The nearest folder at or above it that is called ``tasks`` (native) or ``datasets`` (PLSQLBench's layout),
    else the path itself, or for a file its folder.
    """
    start = path.absolute()
    if not start.is_dir():
        start = start.parent
    for folder in (start, *start.parents):
        if folder.name in {"tasks", "datasets"}:
            return folder
    return start


def suite_tasks(paths: Iterable[Path]) -> tuple[Task, ...]:
    """The tasks of all suites that the paths lie in: what a predictions file may name beside the selection.

    Raises:
        UserError: a file of such a suite is wrong.
    """
    roots = dict.fromkeys(suite_root(path) for path in paths)
    outer = [root for root in roots if not any(parent in roots for parent in root.parents)]
    return tuple(task for root in outer for task in load_path(root).tasks)
