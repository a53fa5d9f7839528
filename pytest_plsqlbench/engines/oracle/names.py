"""Names and literals in SQL that we write ourselves."""

from __future__ import annotations

import hashlib
import secrets
import string

PREFIX = "PLB_"
"""Every user of a run begins with it; nothing else of a server does."""
KEEP_PREFIX = "PLBK_"
"""Users that keep untouched copies of data which programs may write."""
CONTROL = "PLSQLBENCH"
"""The user that owns the register of loaded data and its gates."""
PROFILE = "PLB_LIMITS"


def quoted(name: str) -> str:
    """A quoted identifier.

    Raises:
        ValueError: no identifier of Oracle is so.
    """
    if not name or '"' in name or "\0" in name:
        raise ValueError(f"not an identifier: {name!r}")
    return f'"{name}"'


def literal(text: str) -> str:
    """A string literal."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def user_name(run_id: str, worker: str, role: str, generation: int) -> str:
    """Name of a user of a lane, at most 30 bytes so that old servers take it.

    Args:
        run_id: of the run.
        worker: of pytest-xdist, ``master`` without it.
        role: ``C`` candidate, ``R`` reference, ``P`` proxy.
        generation: users that could not be cleaned are left behind, and the next ones have other names.
    """
    tail = f"_{role}{generation}"
    worker_part = "".join(sign for sign in worker.upper() if sign.isascii() and sign.isalnum())[-8:]
    name = f"{run_prefix(run_id)}{worker_part}{tail}"
    if len(name) > 30:
        raise ValueError(f"the run id {run_id!r} is too long")
    return name


def run_prefix(run_id: str) -> str:
    """What the names of all users of a run begin with."""
    return f"{PREFIX}{run_id.upper()}_"


def program_name(run_id: str) -> str:
    """What sessions of a run show as their program."""
    return f"plsqlbench-{run_id}"


def keep_name(owner: str) -> str:
    """Name of the user that keeps the untouched copy of a data owner's tables."""
    return f"{KEEP_PREFIX}{_digest(owner)}"


def gate_name(owner: str) -> str:
    """Name of the table whose lock says who may use a data owner's tables."""
    return f"GATE_{_digest(owner)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12].upper()


def new_password() -> str:
    """A password that every server takes: 12 to 30 characters, upper, lower, digit, no name in it."""
    alphabet = string.ascii_letters + string.digits
    return "aZ7" + "".join(secrets.choice(alphabet) for _ in range(24))
