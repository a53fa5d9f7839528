"""The Docker daemon: reach it, name it, see that an image is there, say in one line what went wrong."""

from __future__ import annotations

import gc
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from pytest_plsqlbench.servers.unavailable import ServerUnavailableError

if TYPE_CHECKING:
    from testcontainers.core.docker_client import DockerClient

Notify = Callable[[str], None]
Pull = Literal["missing", "never"]

_FIRST_CONTACT = 15
_REQUEST = 120
"""Seconds after which a silent daemon counts as gone, at first contact and later."""
_PULL_SILENCE = 90.0
"""Seconds without any progress after which a pull is given up."""
_PULL_TELL = 10.0
"""Seconds between two messages about a pull."""
_DEFAULT_HOST = "unix:///var/run/docker.sock"
LOOPBACK = "127.0.0.1"
_LOOPBACK_NAMES = frozenset(("localhost", LOOPBACK, "::1"))


class Daemon:
    """A Docker daemon that answers."""

    def __init__(self, client: DockerClient) -> None:
        """Take over a client."""
        self.client: Any = client.client
        """The client of the Docker SDK."""

    @classmethod
    def connect(cls, instead: str) -> Daemon:
        """Reach the daemon that the environment, testcontainers' properties or the Docker context name.

        Args:
            instead: what to do without one, for the message.

        Raises:
            ServerUnavailableError: none answers, or testcontainers is not installed.
        """
        with warnings.catch_warnings():
            # the SDK forgets to close the socket of a first contact that failed
            warnings.simplefilter("ignore", ResourceWarning)
            try:
                return cls._connect(instead)
            except ServerUnavailableError as error:
                message = str(error)
            gc.collect()
        raise ServerUnavailableError(message)

    @classmethod
    def _connect(cls, instead: str) -> Daemon:
        with faults(instead, _FIRST_CONTACT):
            try:
                from testcontainers.core.docker_client import DockerClient  # noqa: PLC0415 (loads for 0.5 s)
            except ValueError as error:  # a malformed TC_* or TESTCONTAINERS_* variable
                raise ServerUnavailableError(
                    f"testcontainers cannot be set up: {_shown(str(error))}"
                ) from None
            daemon = cls(DockerClient(timeout=_FIRST_CONTACT))
            daemon.client.ping()
            daemon.client.api.timeout = _REQUEST
            return daemon

    def published(self) -> tuple[str | None, str]:
        """Where ports are published: the address to bind (None: all), and the host to reach them at.

        Ports of a local daemon are published on the loopback interface alone.
        """
        from testcontainers.core.config import testcontainers_config  # noqa: PLC0415

        override = testcontainers_config.tc_host_override
        if override:
            return None, override
        url = urlsplit(host_name())
        if (
            url.scheme in {"tcp", "http", "https", "ssh"}
            and url.hostname
            and url.hostname not in _LOOPBACK_NAMES
        ):
            return None, url.hostname
        return LOOPBACK, LOOPBACK

    def ensure_image(self, image: str, *, pull: Pull, option: str, notify: Notify) -> None:
        """See that an image is there, pulling it where that is wanted and possible.

        Args:
            image: its name and tag.
            pull: whether to ask a registry for a missing image.
            option: the option that names another image, for the message.
            notify: is told about progress.

        Raises:
            ServerUnavailableError: it is not there and cannot be had.
        """
        from docker.errors import APIError, ImageNotFound  # noqa: PLC0415
        from requests.exceptions import RequestException  # noqa: PLC0415

        try:
            self.client.images.get(image)
        except ImageNotFound:
            pass
        else:
            return
        mend = f"load it (docker load, docker import) or name one that is there with {option}"
        if pull == "never":
            raise ServerUnavailableError(
                f"the image {image} is not at the Docker daemon {host_name()},"
                f" and pulling is switched off; {mend}"
            )
        notify(f"pulling {image}")
        try:
            reason = self._pull(image, notify)
        except (APIError, RequestException) as error:
            reason = one_line(error)
        if reason:
            raise ServerUnavailableError(
                f"the image {image} is not at the Docker daemon {host_name()} and cannot be pulled"
                f" ({reason}); {mend}"
            )

    def _pull(self, image: str, notify: Notify) -> str | None:
        """Pull; returns why it failed."""
        progress = _Progress()
        told = time.monotonic()
        for event in _with_silence_limit(lambda: self._pull_events(image), _PULL_SILENCE):
            if event is None:
                return f"no progress for {_PULL_SILENCE:.0f} s"
            if "error" in event:
                return _shown(str(event["error"]))
            progress.take(event)
            if time.monotonic() - told >= _PULL_TELL:
                told = time.monotonic()
                notify(f"pulling {image}: {progress}")
        return None

    def _pull_events(self, image: str) -> Iterator[dict[str, Any]]:
        from docker.utils import parse_repository_tag  # noqa: PLC0415

        repository, tag = parse_repository_tag(image)
        events: Iterator[dict[str, Any]] = self.client.api.pull(
            repository, tag=tag or "latest", stream=True, decode=True
        )
        return events

    def close(self) -> None:
        """Close the connection."""
        self.client.close()


class _Progress:
    """How much of an image has come."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}

    def take(self, event: dict[str, Any]) -> None:
        detail = event.get("progressDetail") or {}
        if event.get("status") == "Downloading" and detail.get("total"):
            self._layers[str(event.get("id"))] = (int(detail.get("current", 0)), int(detail["total"]))
        elif event.get("status") == "Download complete":
            total = self._layers.get(str(event.get("id")), (0, 0))[1]
            self._layers[str(event.get("id"))] = (total, total)

    def __str__(self) -> str:
        current, total = (
            (sum(column) for column in zip(*self._layers.values(), strict=True)) if self._layers else (0, 0)
        )
        return f"{current >> 20} of {total >> 20} MB"


def _with_silence_limit(
    source: Callable[[], Iterator[dict[str, Any]]], seconds: float
) -> Iterator[dict[str, Any] | None]:
    """Events of a source that may fall silent (the SDK pulls without a time limit); None at the limit."""
    events: queue.Queue[dict[str, Any] | BaseException | None] = queue.Queue()

    def read() -> None:
        try:
            for event in source():
                events.put(event)
            events.put(None)
        except BaseException as error:  # noqa: BLE001 (raised again by the reader)
            events.put(error)

    threading.Thread(target=read, name="plsqlbench-pull", daemon=True).start()
    while True:
        try:
            event = events.get(timeout=seconds)
        except queue.Empty:
            yield None
            return
        if event is None:
            return
        if isinstance(event, BaseException):
            raise event
        yield event


def daemon_answers() -> bool:
    """Whether a Docker daemon can be used here."""
    try:
        Daemon.connect("").close()
    except ServerUnavailableError:
        return False
    return True


def host_name() -> str:
    """Address of the daemon in use, as properties, DOCKER_HOST or the Docker context name it."""
    try:
        from testcontainers.core.docker_client import get_docker_host  # noqa: PLC0415

        return get_docker_host() or _DEFAULT_HOST
    except (ImportError, ValueError):
        return os.environ.get("DOCKER_HOST") or _DEFAULT_HOST


@contextmanager
def faults(instead: str, seconds: int = _REQUEST) -> Iterator[None]:
    """Turn what the Docker libraries raise into one line that names the daemon.

    Args:
        instead: what to do without a container, for the message.
        seconds: how long the daemon may be silent.

    Raises:
        ServerUnavailableError: in place of their exceptions.
    """
    try:
        import docker.errors  # noqa: PLC0415
        import requests.exceptions  # noqa: PLC0415
    except ImportError as error:
        raise ServerUnavailableError(
            f"containers need the package testcontainers ({error}); install it, or {instead}"
        ) from None
    try:
        yield
    except ImportError as error:
        raise ServerUnavailableError(
            f"containers need the package testcontainers ({error}); install it, or {instead}"
        ) from None
    except docker.errors.APIError as error:
        raise ServerUnavailableError(
            f"the Docker daemon {host_name()} refused: {one_line(error)}; mend that, or {instead}"
        ) from None
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        host = host_name()
        if _is_silence(error):
            raise ServerUnavailableError(
                f"the Docker daemon {host} does not answer within {seconds} s; restart it, or {instead}"
            ) from None
        if host.startswith("ssh://") and "paramiko" in str(error):
            raise ServerUnavailableError(
                f"the Docker daemon {host} cannot be reached without the package paramiko;"
                f" install it (pip install paramiko), or {instead}"
            ) from None
        raise ServerUnavailableError(
            f"no Docker daemon answers at {host} ({one_line(error)}); start it, set DOCKER_HOST, or {instead}"
        ) from None


def _is_silence(error: BaseException) -> bool:
    """Whether the daemon took the call and said nothing, wherever in the chain that is told."""
    from requests.exceptions import Timeout  # noqa: PLC0415

    chain: list[BaseException] = []
    reason: BaseException | None = error
    while reason is not None and reason not in chain:
        chain.append(reason)
        reason = reason.__cause__ or reason.__context__
    return any(isinstance(reason, Timeout | TimeoutError) for reason in chain)


def one_line(error: BaseException) -> str:
    """The reason at the bottom of an exception of the Docker libraries, without the wrappings."""
    explanation = getattr(error, "explanation", None)
    if explanation:
        return _shown(
            explanation.decode(errors="replace") if isinstance(explanation, bytes) else str(explanation)
        )
    reason: BaseException = error
    seen = set()
    while id(reason) not in seen:
        seen.add(id(reason))
        if isinstance(reason, OSError) and reason.strerror:
            return reason.strerror
        reason = reason.__cause__ or reason.__context__ or reason
    return _shown(str(error)) or type(error).__name__


def _shown(text: str, most: int = 300) -> str:
    """Foreign text on one line, without control characters, not endless."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def log_tail(log: bytes, secrets: tuple[str, ...] = (), lines: int = 3) -> str:
    """The last words of a container's log on one line, without passwords; empty where it said nothing."""
    text = log.decode(errors="replace")
    for secret in secrets:
        text = text.replace(secret, "***")
    said = [line for line in map(_shown, text.splitlines()) if line]
    return " | ".join(said[-lines:])
