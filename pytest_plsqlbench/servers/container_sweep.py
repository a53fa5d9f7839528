"""Containers of runs that ended without removing them: how ours are marked, found and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.servers.daemon import Daemon, faults, one_line
from pytest_plsqlbench.servers.owner import Owner
from pytest_plsqlbench.servers.reaped import Reaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from docker.models.containers import Container

RUN_LABEL = "plsqlbench.run"
OWNER_LABEL = "plsqlbench.owner"


def labels(run_id: str, owner: Owner) -> dict[str, str]:
    """What a container of a run is marked with."""
    return {RUN_LABEL: run_id, OWNER_LABEL: str(owner)}


def label_filter(run_id: str, owner: Owner) -> list[str]:
    """The labels in the form in which the daemon looks containers up."""
    return [f"{name}={value}" for name, value in labels(run_id, owner).items()]


def sweep(*, foreign: bool = False) -> list[str]:
    """Remove the containers of dead runs.

    Args:
        foreign: also remove those of other hosts at the same daemon, of which nobody here can say whether
            their runs still live.

    Returns:
        The names of the removed containers.

    Raises:
        ServerUnavailableError: no Docker daemon answers.
    """
    daemon = Daemon.connect("leave containers alone")
    try:
        with faults("leave containers alone"):
            return sweep_at(daemon, foreign=foreign)
    finally:
        daemon.close()


def sweep_at(daemon: Daemon, *, foreign: bool = False) -> list[str]:
    """As ``sweep``, at a daemon that was reached before; raises what the Docker SDK raises."""
    return [
        str(container.name)
        for container, dead in _of_runs(daemon)
        if (dead or (dead is None and foreign)) and remove(container)
    ]


def reap(*, foreign: bool = False, dry_run: bool = False) -> Reaped:
    """As ``sweep``, telling what was found; ``dry_run``: nothing is removed.

    Raises:
        ServerUnavailableError: no Docker daemon answers.
    """
    from docker.errors import APIError  # noqa: PLC0415

    found = Reaped()
    daemon = Daemon.connect("leave containers alone")
    try:
        with faults("leave containers alone"):
            for container, dead in _of_runs(daemon):
                name = f"container {container.name}"
                if dead is False:
                    found.kept.append(name)
                elif dead is None and not foreign:
                    found.unknown.append(name)
                elif dry_run:
                    found.dropped.append(name)
                else:
                    try:
                        found.dropped += [name] if remove(container) else []
                    except APIError as error:
                        found.failed.append(f"{name}: {one_line(error)}")
    finally:
        daemon.close()
    return found


def _of_runs(daemon: Daemon) -> Iterator[tuple[Container, bool | None]]:
    """The containers of runs, and whether the run is dead; None: nobody here can say."""
    for container in daemon.client.containers.list(
        all=True, filters={"label": RUN_LABEL}, ignore_removed=True
    ):
        owner = Owner.parse(container.labels.get(OWNER_LABEL, ""))
        yield container, None if owner is None else owner.is_dead()


def remove(container: Container) -> bool:
    """Stop and remove a container and its volumes; False where somebody else did or does it."""
    from docker.errors import APIError, NotFound  # noqa: PLC0415 (loads with the first container)

    try:
        container.remove(force=True, v=True)
    except NotFound:
        return False
    except APIError as error:
        if error.status_code == 409:  # its removal is in progress
            return False
        raise
    return True
