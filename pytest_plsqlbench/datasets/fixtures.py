"""Databases by name: where their descriptions lie, and what they are in a dialect (docs/fixtures.md).

A description is ``fixtures/NAME.yaml``, or a raw script a dialect: ``fixtures/NAME.postgres.sql`` and
``fixtures/NAME.oracle.sql``. The folders ``fixtures`` beside and above the task file are looked into, nearest
first, then the bundled ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_plsqlbench.bench.database import Database, Statement
from pytest_plsqlbench.bench.task import DIALECTS, Dialect, Source, UserError
from pytest_plsqlbench.datasets.bundled import bundled_path
from pytest_plsqlbench.datasets.dataset import at
from pytest_plsqlbench.datasets.fixture_names import check_database_name
from pytest_plsqlbench.datasets.fixture_render import fingerprint, render
from pytest_plsqlbench.datasets.fixture_schema import read_description
from pytest_plsqlbench.datasets.validation import Fault, close_match
from pytest_plsqlbench.datasets.yamlfile import decode_utf8, parse_yaml, read_bytes

FOLDER = "fixtures"


def database(name: str, beside: Path, dialect: Dialect) -> Database:
    """The database of that name, as a task file sees it.

    Args:
        name: of the database.
        beside: the task file (or any path) where the search begins.
        dialect: in which it is rendered.

    Raises:
        UserError: there is none, not in this dialect, or its description is wrong.
    """
    folder = find(name, beside)
    if folder is None:
        raise UserError(_unknown(name, beside))
    return load(folder, name, dialect)


def require(name: str, beside: Path, source: Callable[[], Source]) -> None:
    """Check that a database is there, without reading it.

    Raises:
        UserError: it is not; at the given source.
    """
    if find(name, beside) is None:
        raise UserError(_unknown(name, beside), source())


def find(name: str, beside: Path) -> Path | None:
    """The folder that describes a database, None where none does."""
    return _find(name, beside.absolute().parent)


def available(beside: Path) -> list[str]:
    """Names of all databases that a file beside may name, sorted."""
    names = set()
    for folder in _folders(beside.absolute().parent):
        for path in folder.glob("*"):
            name, _, rest = path.name.partition(".")
            if rest in {"yaml", "yml", *(f"{dialect}.sql" for dialect in DIALECTS)}:
                names.add(name)
    return sorted(names)


def load(folder: Path, name: str, dialect: Dialect) -> Database:
    """The database that a folder describes.

    Raises:
        UserError: it is not described for this dialect, or the description is wrong.
    """
    files = _files(folder, name)
    descriptions = [path for path in files if path.suffix != ".sql"]
    if len(descriptions) > 1 or (descriptions and len(files) > 1):
        shown = ", ".join(path.name for path in files)
        raise UserError(f"database {name!r} is described more than once: {shown}", at(folder))
    script = folder / f"{name}.{dialect}.sql"
    if not descriptions and script not in files:
        raise UserError(f"database {name!r} has no {dialect} script: {script.name} is missing", at(folder))
    path = descriptions[0] if descriptions else script
    known = _loaded.get((path, dialect))
    if known is None or known.stamps != _stamps(known.stamps):
        read = _read_description if descriptions else _read_script
        known = _loaded[path, dialect] = read(path, name, dialect)
    return known.database


@dataclass(frozen=True, slots=True)
class _Loaded:
    database: Database
    stamps: dict[Path, tuple[int, int]]
    """Time of change and size of the files it was read from."""


_loaded: dict[tuple[Path, Dialect], _Loaded] = {}


def _stamps(paths: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    found = {}
    for path in paths:
        try:
            stat = path.stat()
        except OSError:
            continue
        found[path] = (stat.st_mtime_ns, stat.st_size)
    return found


def _unknown(name: str, beside: Path) -> str:
    known = available(beside)
    choice = close_match(name, known) or f"; known here: {', '.join(known)}"
    return f"database: there is no database {name!r}{choice}"


def _folders(start: Path) -> Iterator[Path]:
    for folder in (start, *start.parents):
        if (folder / FOLDER).is_dir():
            yield folder / FOLDER
    try:
        yield bundled_path(FOLDER)
    except FileNotFoundError:
        return


@functools.lru_cache(maxsize=4096)
def _find(name: str, start: Path) -> Path | None:
    return next((folder for folder in _folders(start) if _files(folder, name)), None)


def _files(folder: Path, name: str) -> list[Path]:
    endings = [".yaml", ".yml", *(f".{dialect}.sql" for dialect in DIALECTS)]
    return [path for ending in endings if (path := folder / f"{name}{ending}").is_file()]


def _read_description(path: Path, name: str, dialect: Dialect) -> _Loaded:
    _check_name(name, path)
    stamps = _stamps([path])
    description = read_description(parse_yaml(read_bytes(path), path, typed=False))
    stamps |= _stamps(table.rows_path for table in description.tables)
    if dialect not in description.dialects:
        raise UserError(
            f"database {name!r} is described for {', '.join(description.dialects)} only", at(path)
        )
    return _Loaded(render(description, name, dialect), stamps)


def _read_script(path: Path, name: str, dialect: Dialect) -> _Loaded:
    """A raw script, played with the database's own schema as the current one."""
    stamps = _stamps([path])
    from pytest_plsqlbench.sql.script import read_script  # noqa: PLC0415 (only for raw scripts)

    _check_name(name, path)
    script = read_script(decode_utf8(read_bytes(path), path), dialect)
    problem = next((finding for finding in script.findings if finding.severity == "error"), None)
    if problem is not None:
        raise UserError(problem.message, at(path, problem.line))
    for statement in script.statements:
        if statement.kind in {"client", "copy"}:
            word = statement.command or "COPY ... FROM STDIN"
            raise UserError(f"{word} belongs to a client: only SQL is played here", at(path, statement.line))
    if not script.statements:
        raise UserError("holds no statement", at(path))
    schema = name.upper() if dialect == "oracle" else name
    if dialect == "postgres":
        enter = [f"CREATE SCHEMA {schema}", f"SET search_path TO {schema}, pg_catalog"]
        leave = ["RESET search_path"]
    else:
        enter = [f"ALTER SESSION SET CURRENT_SCHEMA = {schema}"]
        leave = []
    before = [Statement(text, at(path)) for text in enter]
    before += [Statement(statement.text, at(path, statement.line)) for statement in script.statements]
    after = [Statement(text, at(path)) for text in leave]
    found = Database(
        name=name,
        dialect=dialect,
        schemas=(schema,),
        before=tuple(before),
        data=(),
        after=tuple(after),
        fingerprint=fingerprint(dialect, (schema,), before, (), after),
    )
    return _Loaded(found, stamps)


def _check_name(name: str, path: Path) -> None:
    try:
        check_database_name(name)
    except Fault as fault:
        raise UserError(fault.problem, at(path)) from None
