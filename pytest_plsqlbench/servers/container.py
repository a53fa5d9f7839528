"""Database servers in containers: started by a run's controller, used by all its workers, gone with it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pytest_plsqlbench.servers import container_sweep
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.servers.container_spec import ContainerSpec, Login, NotYetError, Place, Probe
from pytest_plsqlbench.servers.daemon import (
    LOOPBACK,
    Daemon,
    Notify,
    Pull,
    faults,
    host_name,
    log_tail,
)
from pytest_plsqlbench.servers.owner import Owner
from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

_POLL = 0.1
_EAGER = 10.0
_PATIENT_POLL = 0.5
"""Seconds between two looks, during the first ``_EAGER`` seconds and later."""
_TELL = 30.0
"""Seconds between two messages that we still wait."""
_LOG_LINES = 2000
_REMOVED = "somebody removed it"
_REMOVAL = 30
"""Seconds after which a daemon that does not answer a removal counts as gone."""


class ContainerServer:
    """A database server in a container of our own. Use as a context manager, or call ``stop``."""

    def __init__(self, running: _Running, address: ServerAddress) -> None:
        self._running = running
        self.address = address

    @classmethod
    def start(
        cls,
        spec: ContainerSpec,
        probe: Probe,
        *,
        seconds: float,
        pull: Pull = "missing",
        notify: Notify | None = None,
    ) -> ContainerServer:
        """Start a container and wait until its database takes logins.

        Containers of dead runs are swept first. If the start fails or is interrupted, nothing is left behind.

        Args:
            spec: what to start.
            probe: tries to log in.
            seconds: how long the database may take from the start of its container.
            pull: whether a missing image may be pulled.
            notify: is told about progress, a line at a time.

        Raises:
            ServerUnavailableError: one line that says why and what to do.
        """
        tell = notify or _silent
        daemon = Daemon.connect(spec.instead)
        try:
            with faults(spec.instead):
                for name in container_sweep.sweep_at(daemon):
                    tell(f"removed the container {name} of a run that is dead")
                daemon.ensure_image(_full_name(spec.image), pull=pull, option=spec.option, notify=tell)
            running = _Running(spec, daemon, tell)
        except BaseException:
            daemon.close()
            raise
        try:
            with faults(spec.instead):
                running.create()
                login = running.wait(probe, seconds)
        except BaseException:
            running.end()
            raise
        address = ServerAddress(
            dialect=spec.dialect,
            kind="container",
            conninfo=login.conninfo,
            label=f"container {spec.image}",
            version=login.version,
            run_id=running.run_id,
            superuser=True,
        )
        return cls(running, address)

    @property
    def container_name(self) -> str:
        """Name of the container, as ``docker ps`` shows it."""
        return self._running.name

    def why_down(self) -> str | None:
        """What became of the container, on one line; None while it runs (or the daemon does not tell)."""
        try:
            with faults(self._running.spec.instead):
                return self._running.why_down()
        except ServerUnavailableError:
            return None

    def stop(self) -> None:
        """Remove the container and its data; does nothing when that was done."""
        self._running.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Running:
    """A container from before its creation to after its removal."""

    def __init__(self, spec: ContainerSpec, daemon: Daemon, tell: Notify) -> None:
        self.spec = spec
        self.run_id = spec.run_id
        self.name = f"plsqlbench-{spec.dialect}-{self.run_id}"
        self._daemon = daemon
        self._tell = tell
        self._owner = Owner.this_process()
        self._warden: subprocess.Popen[bytes] | None = None
        self._wrapper: Any = None
        self._container: Any = None
        self._ended = False

    # -- start -------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Create and start the container; what the Docker libraries raise passes through."""
        from testcontainers.core.container import DockerContainer  # noqa: PLC0415

        self._warden = _start_warden(container_sweep.label_filter(self.run_id, self._owner))
        bind, _host = self._daemon.published()
        self._wrapper = DockerContainer(
            self.spec.image,
            name=self.name,
            env=dict(self.spec.environment),
            command=list(self.spec.command) or None,  # type: ignore[arg-type]
            labels=container_sweep.labels(self.run_id, self._owner),
            mem_limit=self.spec.memory,
            memswap_limit=self.spec.memory,
            **self.spec.host_settings,
        )
        self._wrapper.tmpfs = dict(self.spec.tmpfs)
        # the typed methods of testcontainers offer no address to bind; its dict goes to the SDK as it is
        self._wrapper.ports = {f"{self.spec.port}/tcp": (bind, None) if bind else None}
        with _without_ryuk():
            self._wrapper.start()
        self._container = self._wrapper.get_wrapped_container()

    def wait(self, probe: Probe, seconds: float) -> Login:
        """Wait until the database takes logins.

        Raises:
            ServerUnavailableError: the container has ended, or the time is over.
        """
        began = time.monotonic()
        told = began
        while True:
            answer = self._attempt(probe)
            if isinstance(answer, Login):
                return answer
            now = time.monotonic()
            if now - began > seconds:
                raise ServerUnavailableError(self._never_ready(seconds, answer))
            if now - told > _TELL:
                told = now
                self._tell(f"waiting for the database in {self.spec.image} ({now - began:.0f} s): {answer}")
            time.sleep(_POLL if now - began < _EAGER else _PATIENT_POLL)

    def _attempt(self, probe: Probe) -> Login | str:
        """A login, or why there is none yet.

        Raises:
            ServerUnavailableError: the container has ended.
        """
        from docker.errors import NotFound  # noqa: PLC0415

        try:
            down = self.why_down()
            ready = not down and self._said_ready()
        except NotFound:
            down, ready = _REMOVED, False
        if down:
            raise ServerUnavailableError(
                f"the container of {self.spec.image} ended at start: {down};"
                f" name another image with {self.spec.option}, or {self.spec.instead}"
            )
        return self._log_in(probe) if ready else f"its log has no line {self.spec.ready_line!r}"

    def _log_in(self, probe: Probe) -> Login | str:
        """Try the places in order; one that answers late, while a later one was tried, still goes first."""
        answer = ""
        places = list(self._places())
        for number, place in enumerate(places):
            try:
                login = probe(place)
            except NotYetError as error:
                answer = str(error)
                continue
            for earlier in places[:number]:
                with contextlib.suppress(NotYetError):
                    return probe(earlier)
            return login
        return answer

    def _said_ready(self) -> bool:
        line = self.spec.ready_line
        return line is None or line.encode() in self._container.logs(tail=_LOG_LINES)

    def _places(self) -> Iterator[Place]:
        """Where the database may answer: its published port; from within a container also its own address."""
        from testcontainers.core.utils import inside_container  # noqa: PLC0415

        _bind, host = self._daemon.published()
        network = self._container.attrs.get("NetworkSettings") or {}
        for binding in (network.get("Ports") or {}).get(f"{self.spec.port}/tcp") or ():
            yield Place(host, int(binding["HostPort"]))
            break
        if host == LOOPBACK and inside_container():
            for joined in (network.get("Networks") or {}).values():
                if joined.get("IPAddress"):
                    yield Place(joined["IPAddress"], self.spec.port)

    def _never_ready(self, seconds: float, answer: str) -> str:
        said = self._last_words()
        what = "is up, but its database does not answer" if self._said_ready() else "did not become ready"
        return (
            f"the container of {self.spec.image} {what} after {seconds:.0f} s ({answer});"
            + (f" last words of its log: {said};" if said else " its log is empty;")
            + f" name another image with {self.spec.option}, or {self.spec.instead}"
        )

    # -- state -------------------------------------------------------------------------------------------

    def why_down(self) -> str | None:
        """What became of the container; None while it runs."""
        from docker.errors import NotFound  # noqa: PLC0415

        if self._container is None:
            return "it was never created"
        try:
            self._container.reload()
        except NotFound:
            return _REMOVED
        state = self._container.attrs.get("State") or {}
        if state.get("Status") not in {"exited", "dead", "removing"}:
            return None
        parts = [f"exit code {state.get('ExitCode')}"]
        if state.get("OOMKilled"):
            parts.append(f"killed at its memory limit of {self.spec.memory >> 20} MB")
        said = self._last_words()
        parts.append(f"its log ends with: {said}" if said else "its log is empty")
        return ", ".join(parts)

    def _last_words(self) -> str:
        return log_tail(self._container.logs(tail=20), self.spec.secrets)

    # -- end ---------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Remove the container, however far it came, then let the warden go. May be called again."""
        if self._ended:
            return
        self._ended = True
        removed = False
        try:
            with faults(self.spec.instead):
                self._remove()
            removed = True
        except ServerUnavailableError as error:
            self._tell(f"the container {self.name} could not be removed: {error}")
        finally:
            if self._warden is not None:
                _dismiss(self._warden, done=removed)
            if self._wrapper is not None:
                self._wrapper.get_docker_client().client.close()
            self._daemon.close()

    def _remove(self) -> None:
        """Remove by label: the creation may have been interrupted before we were told of the container."""
        self._daemon.client.api.timeout = _REMOVAL
        wanted = {"label": container_sweep.label_filter(self.run_id, self._owner)}
        unsure = self._wrapper is not None and self._container is None
        last = time.monotonic() + (2.0 if unsure else 0.0)
        while True:
            for container in self._daemon.client.containers.list(
                all=True, filters=wanted, ignore_removed=True
            ):
                container_sweep.remove(container)
                unsure = False
            if not unsure or time.monotonic() > last:
                return
            time.sleep(_POLL)


def _silent(_message: str) -> None:
    pass


def _full_name(image: str) -> str:
    """The image as testcontainers will ask for it, with the user's prefix of a private registry."""
    from testcontainers.core.config import testcontainers_config  # noqa: PLC0415

    return f"{testcontainers_config.hub_image_name_prefix}{image}"


@contextmanager
def _without_ryuk() -> Iterator[None]:
    """Start no reaper of testcontainers: its image may be out of reach, and our warden does its work."""
    from testcontainers.core.config import testcontainers_config as config  # noqa: PLC0415

    before = config.ryuk_disabled
    config.ryuk_disabled = True
    try:
        yield
    finally:
        config.ryuk_disabled = before


def _start_warden(labels: list[str]) -> subprocess.Popen[bytes]:
    config = {"host": host_name(), "labels": labels, "path": [entry for entry in sys.path if entry]}
    return subprocess.Popen(  # noqa: S603 (our own script)
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("warden.py")), json.dumps(config)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def _dismiss(warden: subprocess.Popen[bytes], *, done: bool) -> None:
    """Let the warden go: with a word where nothing is left to do, without one where it is to do our work."""
    assert warden.stdin is not None
    with contextlib.suppress(OSError):
        if done:
            warden.stdin.write(b"done\n")
        warden.stdin.close()
    if done:
        try:
            warden.wait(timeout=5)
        except subprocess.TimeoutExpired:
            warden.kill()
            warden.wait()
