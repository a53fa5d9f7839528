"""How to reach a running server: plain data, handed from the controller to the workers."""

from __future__ import annotations

import msgspec

from pytest_plsqlbench.bench.task import Dialect


class ServerAddress(msgspec.Struct, frozen=True, kw_only=True):
    """A started server and the run it serves. Holds a secret: never print it, show ``label`` instead."""

    dialect: Dialect
    kind: str
    """``embedded``, ``container`` or ``dsn``."""
    conninfo: str
    """Connection string of the administrating role, in the driver's own form."""
    label: str
    """For headers and results: no password, no machine path."""
    version: str
    """With ``deviations``: what other settings have shown is of another engine."""
    run_id: str
    """Short lower-case word, unique among runs; every database and role of the run has it in its name."""
    superuser: bool
    """Whether the administrating role is a superuser (some limits need it)."""
    deviations: tuple[str, ...] = ()
    """Settings that change what programs show, and that nobody here may set: ``name = value``."""

    def __repr__(self) -> str:
        return f"ServerAddress({self.kind} {self.dialect} {self.version}, {self.label}, run {self.run_id})"
