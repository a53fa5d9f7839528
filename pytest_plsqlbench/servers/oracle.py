"""Oracle servers by what the user named: a container, an existing server by its DSN, or none."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, Self

from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.oracle_login import parse_login
from pytest_plsqlbench.servers.started import StartedServer

DSN_VARIABLE = "PLSQLBENCH_ORACLE_DSN"
"""Environment variable that ``auto`` looks at; the place for a login that holds a password."""
Choice = Literal["container", "dsn", "none"]


class LoginProbe(Protocol):
    """Logs in once; ``engines.oracle.engine.probe_login`` is one."""

    def __call__(self, conninfo: str, run_id: str) -> str:
        """The server's version.

        Raises:
            Exception: the server refuses, or cannot be reached yet.
        """
        ...


ContainerStart = Callable[[], StartedServer]
"""Starts a container of our own and waits until SYSTEM can log in. Raises UserError: no Docker, no image …"""


@dataclass(frozen=True, slots=True)
class Resolved:
    """Which server will be used, and why; the reason is shown in the report header."""

    choice: Choice
    reason: str
    dsn: str | None = None


def resolve_oracle(
    spec: str,
    *,
    environment: Mapping[str, str] = os.environ,
    docker_answers: Callable[[], bool] | None = None,
) -> Resolved:
    """Decide which server ``--plsql-oracle`` means, without starting anything.

    Args:
        spec: ``auto``, ``container``, ``none`` or a DSN.
        environment: where ``auto`` looks for a DSN.
        docker_answers: whether a Docker engine can be used; None: it cannot be asked, so no.

    Raises:
        UserError: none of these.
    """
    spec = spec.strip()
    if spec == "none":
        return Resolved("none", "none was asked for")
    if spec == "container":
        return Resolved("container", "as asked for")
    if spec == "auto":
        dsn = environment.get(DSN_VARIABLE, "").strip()
        if dsn:
            parse_login(dsn)
            return Resolved("dsn", f"from {DSN_VARIABLE}", dsn)
        if docker_answers is not None and docker_answers():
            return Resolved("container", "Docker answers")
        return Resolved("none", f"neither {DSN_VARIABLE} nor Docker is there")
    if "@" in spec:
        parse_login(spec)
        return Resolved("dsn", "as asked for", spec)
    if spec == "preview":
        raise UserError(
            "--plsql-oracle=preview: this version has no preview engine; say auto, container or none,"
            " or give a DSN"
        )
    named = f" {spec!r}" if spec.isalnum() else ""  # anything else may hold a password
    raise UserError(
        f"no Oracle server{named}: say auto, container or none, or give a DSN such as"
        " oracle://system:password@localhost:1521/FREEPDB1"
    )


class ExistingOracle:
    """A server of the user's: used within users of our own, which are dropped when the run ends."""

    def __init__(self, address: ServerAddress, sweep: Callable[[ServerAddress], None] | None) -> None:
        self.address = address
        self._sweep = sweep
        self._stopped = False

    def stop(self) -> None:
        """Drop what the run has left, the loaded data excepted: the next run finds it."""
        if self._stopped:
            return
        self._stopped = True
        if self._sweep is not None:
            self._sweep(self.address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_oracle(
    spec: str,
    *,
    probe: LoginProbe,
    container: ContainerStart | None = None,
    sweep: Callable[[ServerAddress], None] | None = None,
    docker_answers: Callable[[], bool] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> StartedServer:
    """Start or reach the server that ``spec`` names, and log in once to be sure.

    Args:
        spec: see ``resolve_oracle``.
        probe: logs in; the engine's own (servers know no driver).
        container: starts a container; the controller alone calls this, workers get the address.
        sweep: drops what the run has left on a server that is not ours.
        docker_answers: see ``resolve_oracle``.
        environment: see ``resolve_oracle``.

    Raises:
        UserError: the server cannot be had; one line that says why and what to do, without passwords.
    """
    resolved = resolve_oracle(spec, environment=environment, docker_answers=docker_answers)
    if resolved.choice == "none":
        raise UserError(
            f"no Oracle server: {resolved.reason}; name one with --plsql-oracle or {DSN_VARIABLE}"
        )
    if resolved.choice == "container":
        if container is None:
            raise UserError("containers cannot be started here: give the DSN of an Oracle server")
        return container()
    login = parse_login(resolved.dsn or "")
    run_id = secrets.token_hex(4)
    try:
        version = probe(login.conninfo, run_id)
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 (whatever goes wrong here is the user's news)
        raise UserError(f"the Oracle server {login.label} cannot be used: {error}") from None
    address = ServerAddress(
        dialect="oracle",
        kind="dsn",
        conninfo=login.conninfo,
        label=login.label,
        version=version,
        run_id=run_id,
        superuser=True,
    )
    return ExistingOracle(address, sweep)
