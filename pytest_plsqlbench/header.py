"""What stands above a run: what is graded, how and on what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.comparison import comparator_name
from pytest_plsqlbench.bench.plural import noun, numbered
from pytest_plsqlbench.bench.redaction import presentable
from pytest_plsqlbench.bench.shard import Shard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_plsqlbench.hosts import Hosts
    from pytest_plsqlbench.servers.address import ServerAddress
    from pytest_plsqlbench.settings import Settings


def header_lines(
    settings: Settings,
    *,
    predictions: str,
    addresses: Iterable[ServerAddress],
    hosts: Hosts,
    no_oracle: str,
    quarantined: int,
    resumed: str,
) -> list[str]:
    """Lines for pytest's report header, without secrets and control characters.

    Args:
        settings: of the run.
        predictions: what is graded, for people.
        addresses: of the servers that play it.
        hosts: which of them was chosen, and what is to be known of them.
        no_oracle: why there is no Oracle server; empty where there is one.
        quarantined: turns on the list of those that are not graded.
        resumed: how many earlier results there are and where.
    """
    servers = ", ".join(f"{a.dialect} {a.version} ({a.label})" for a in addresses)
    reading = comparator_name(settings.compare)
    lines = [f"{predictions}; compare {reading}; {servers or 'no server started'}"]
    if no_oracle:
        lines.append(f"no Oracle server: {no_oracle}")
    elif hosts.oracle:
        lines.append(f"Oracle server {hosts.oracle}")
    lines += hosts.notes
    if settings.shard is not None:
        lines.append(f"shard {Shard(*settings.shard)} of the turns")
    if settings.repeat > 1:
        lines.append(f"each turn is played {settings.repeat} times")
    if settings.quarantine is not None:
        turns = f"{numbered(quarantined, 'turn')}, which {noun(quarantined, 'is', 'are')} not graded"
        lines.append(f"quarantine: {settings.quarantine.name} names {turns}")
    if settings.resume:
        lines.append(f"resumed: {resumed}")
    return [presentable(f"plsqlbench: {line}", keep="") for line in lines]
