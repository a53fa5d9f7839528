"""Size and constructs of reference programs, read once and remembered by content."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.result import ReferenceFacts

if TYPE_CHECKING:
    from pytest_plsqlbench.bench.task import Dialect
    from pytest_plsqlbench.grading.cache import ReferenceCache

READER_VERSION = 1
"""Raised whenever programs are counted differently: what was counted before is then not reused."""


def reference_facts(text: str | None, dialect: Dialect, cache: ReferenceCache) -> ReferenceFacts | None:
    """What a reference program is like; None where there is none, or where it cannot be read.

    Reading takes milliseconds, looking it up some 50 microseconds.
    """
    if text is None:
        return None
    content = f"{READER_VERSION} {dialect} {text}".encode("utf-8", "surrogatepass")
    key = hashlib.sha256(content).hexdigest()
    known = cache.get(key, ReferenceFacts)
    if known is None:
        try:
            known = _read(text, dialect)
        except Exception:  # noqa: BLE001 (a fact for reports, never worth the verdict)
            return None
        cache.put(key, known)
    return known


def _read(text: str, dialect: Dialect) -> ReferenceFacts:
    from pytest_plsqlbench.sql.complexity import program_complexity  # noqa: PLC0415 (new references only)
    from pytest_plsqlbench.sql.constructs import constructs  # noqa: PLC0415
    from pytest_plsqlbench.sql.units import read_program  # noqa: PLC0415

    program = read_program(text, dialect)
    size = program_complexity(program)
    return ReferenceFacts(size.statements, size.cyclomatic, constructs(program))
