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
from pytest_plsqlbench.servers.oracle_login import LOGIN_FORM, OracleLogin, check_files, parse_login
from pytest_plsqlbench.servers.started import StartedServer

DSN_VARIABLE = "PLSQLBENCH_ORACLE_DSN"
"""Environment variable that ``auto`` looks at; the place for a login that holds a password."""
OPTION, VARIABLE = "--plsql-oracle", "PLSQLBENCH_ORACLE"
"""The option that names a server, and its environment variable: a word or a login."""
_WORDS = frozenset(("auto", "container", "none", "preview"))
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
    given: str = OPTION
    """Where the login was given, for messages."""


def read_login(text: str, given: str) -> OracleLogin:
    """Read a login where nothing else will do.

    Args:
        text: what the user gave.
        given: where, for messages.

    Raises:
        UserError: it is none; no part of it is shown that may be secret.
    """
    if text.strip().lower() in _WORDS:
        raise UserError(
            f"{given}: {text.strip()!r} is a word of {OPTION}; here a login is needed: {LOGIN_FORM}"
        )
    try:
        return parse_login(text)
    except UserError as error:
        raise UserError(f"{given}: {error}") from None


def named_login(environment: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """The login that the environment names for tools, and the variable that holds it; None where none does.

    ``PLSQLBENCH_ORACLE`` comes first, as in a run; a word in it (``auto``, ``container`` …) names no login.
    """
    for variable in (VARIABLE, DSN_VARIABLE):
        text = environment.get(variable, "").strip()
        if text and not (variable == VARIABLE and text.lower() in _WORDS):
            return text, variable
    return None


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
            read_login(dsn, DSN_VARIABLE)
            return Resolved("dsn", f"from {DSN_VARIABLE}", dsn, DSN_VARIABLE)
        if docker_answers is not None and docker_answers():
            return Resolved("container", "Docker answers")
        return Resolved("none", f"neither {DSN_VARIABLE} nor Docker is there")
    if "@" in spec or "://" in spec:
        read_login(spec, OPTION)
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
    given: str = OPTION,
) -> StartedServer:
    """Start or reach the server that ``spec`` names, and log in once to be sure.

    Args:
        spec: see ``resolve_oracle``.
        probe: logs in; the engine's own (servers know no driver).
        container: starts a container; the controller alone calls this, workers get the address.
        sweep: drops what the run has left on a server that is not ours.
        docker_answers: see ``resolve_oracle``.
        environment: see ``resolve_oracle``.
        given: where ``spec`` was given, for messages.

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
    given = resolved.given if resolved.given != OPTION else given
    login = read_login(resolved.dsn or "", given)
    check_files(login, given=given)
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
