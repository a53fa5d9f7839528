"""The lines above a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_plsqlbench.header import header_lines
from pytest_plsqlbench.hosts import Hosts
from pytest_plsqlbench.servers.address import ServerAddress
from pytest_plsqlbench.settings import Settings

ADDRESS = ServerAddress(
    dialect="postgres",
    kind="dsn",
    conninfo="host=db",
    label="db:5432",
    version="18.1",
    run_id="r",
    superuser=True,
)


def lines(
    *addresses: ServerAddress, no_oracle: str = "", notes: tuple[str, ...] = (), **more: Any
) -> list[str]:
    given: dict[str, Any] = {
        "predictions": None,
        "dialects": None,
        "postgres": "embedded",
        "timeout": 10.0,
        "compare": "published",
        "report": Path("reports"),
    }
    hosts = Hosts()
    hosts.notes, hosts.oracle = notes, "container"
    return header_lines(
        Settings(**(given | more)),
        predictions="predictions out.jsonl (1 program; m\x1b[31m)",
        addresses=addresses,
        hosts=hosts,
        no_oracle=no_oracle,
        quarantined=1,
        resumed="3 earlier results in reports",
    )


def test_it_says_what_is_graded_how_and_on_what() -> None:
    what = r"predictions out.jsonl (1 program; m\x1b[31m)"
    first = f"plsqlbench: {what}; compare published/1; postgres 18.1 (db:5432)"
    assert lines(ADDRESS) == [first, "plsqlbench: Oracle server container"]
    assert "no server started" in lines()[0]


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"no_oracle": "Docker does not answer"}, "no Oracle server: Docker does not answer"),
        ({"notes": ("memory is not limited",)}, "memory is not limited"),
        ({"shard": (2, 3)}, "shard 2/3 of the turns"),
        ({"repeat": 4}, "each turn is played 4 times"),
        ({"quarantine": Path("x/list.jsonl")}, "quarantine: list.jsonl names 1 turn, which is not graded"),
        ({"resume": True}, "resumed: 3 earlier results in reports"),
    ],
)
def test_what_is_out_of_the_ordinary_has_a_line(more: dict[str, Any], line: str) -> None:
    assert f"plsqlbench: {line}" in lines(ADDRESS, **more)
    assert f"plsqlbench: {line}" not in lines(ADDRESS)


def test_a_password_is_not_shown() -> None:
    assert "s3cret" not in "".join(lines(ADDRESS, notes=("at postgresql://me:s3cret@db/x",)))
