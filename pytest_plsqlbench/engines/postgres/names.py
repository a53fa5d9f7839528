"""Names of the databases and roles of lanes."""

from __future__ import annotations

import hashlib
import re
import secrets

from pytest_plsqlbench.engines.protocol import Side
from pytest_plsqlbench.servers.naming import literal, owner_role, quoted, run_prefix

__all__ = [
    "fresh_database",
    "literal",
    "owner_role",
    "quoted",
    "run_prefix",
    "side_role",
    "template_database",
]

_LONGEST = 63
"""Bytes of an identifier (NAMEDATALEN - 1)."""


def template_database(run_id: str, fingerprint: str) -> str:
    """The loaded database that lanes copy."""
    return f"{run_prefix(run_id)}t_{hashlib.sha256(fingerprint.encode()).hexdigest()[:32]}"


def side_role(run_id: str, worker: str, side: Side, generation: int = 0) -> str:
    """The login role of one side of a worker's lane; another generation where the one before is stained."""
    return f"{run_prefix(run_id)}{_word(worker)}_{side[0]}{generation or ''}"


def fresh_database(run_id: str, worker: str) -> str:
    """A new name for a database of a worker's lane."""
    name = f"{run_prefix(run_id)}{_word(worker)}_{secrets.token_hex(4)}"
    assert len(name) <= _LONGEST
    return name


def _word(worker: str) -> str:
    return re.sub(r"[^a-z0-9]", "", worker.lower())[:16] or "w"
