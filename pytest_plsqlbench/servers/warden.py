"""The warden of a container: a small process that outlives the run by a moment and removes what it left.

It waits for the end of its standard input, which the run holds open: however the run ends, SIGKILL included,
the kernel closes it. A run that has removed its container itself says so first. Executed as a script
(``python -I -S warden.py CONFIG``), in a session of its own, so that Ctrl-C at a terminal does not reach it.
The Docker SDK is loaded only when there is something to remove.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

ROUNDS = 4
"""A container may come into being just after its run has died: look again, once a second."""


def main(config: dict[str, Any]) -> int:
    """Wait for the end of the run, then remove its containers."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    told = b""
    while chunk := os.read(0, 512):
        told += chunk
    if told:
        return 0
    sys.path[:] = config["path"]
    import docker  # noqa: PLC0415 (only in the bad case)

    environment = {**os.environ, "DOCKER_HOST": config["host"]}
    ssh = config["host"].startswith("ssh://")
    client = docker.from_env(environment=environment, timeout=60, use_ssh_client=ssh)
    for _round in range(ROUNDS):
        for container in client.containers.list(
            all=True, filters={"label": config["labels"]}, ignore_removed=True
        ):
            try:
                container.remove(force=True, v=True)
            except docker.errors.APIError:
                continue  # gone, or going
        time.sleep(1)
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
