"""How limits are written, and which values they take."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_plsqlbench.bench.limits import BOUNDS, DEFAULTS, Limits, parse_limit, shown_limit


def test_every_limit_but_time_has_bounds_around_its_default() -> None:
    assert {field.name for field in dataclasses.fields(Limits)} == {"time", *BOUNDS}
    for name, bound in BOUNDS.items():
        assert bound.least <= getattr(DEFAULTS, name) <= bound.most


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("rows=10", ("rows", 10)),
        (" rows = 10 ", ("rows", 10)),
        ("output_bytes=500000", ("output_bytes", 500_000)),
        ("output_bytes=64kB", ("output_bytes", 65_536)),
        ("temp_files=64MB", ("temp_files", 64 << 20)),
        ("temp_files=64 mb", ("temp_files", 64 << 20)),
        ("server_memory=2GB", ("server_memory", 2 << 30)),
        ("disk=1TB", ("disk", 1 << 40)),
        ("disk=1048576B", ("disk", 1 << 20)),
        ("sessions=8", ("sessions", 8)),
    ],
)
def test_what_users_write(text: str, limit: tuple[str, int]) -> None:
    assert parse_limit(text) == limit


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rows", "'rows' is not NAME=VALUE, for example output_lines=1000"),
        ("=5", "'=5' is not NAME=VALUE, for example output_lines=1000"),
        ("rows=", "rows: '' is not a whole number"),
        ("rows=-1", "rows: '-1' is not a whole number"),
        ("rows=1e3", "rows: '1e3' is not a whole number"),
        ("rows=٣", "rows: '٣' is not a whole number"),
        ("rows=5MB", "rows: '5MB' is not a whole number"),
        ("rows=0", "rows: 0 is not from 1 to 1000000000"),
        ("sessions=7", "sessions: 7 is not from 8 to 64"),
        ("disk=5 parsecs", "disk: '5 parsecs' is not a size such as 500000 or 64MB (kB, MB, GB)"),
        ("disk=1.5GB", "disk: '1.5GB' is not a size such as 500000 or 64MB (kB, MB, GB)"),
        ("server_memory=1MB", "server_memory: 1MB is not from 320MB to 1TB"),
        ("output_bytes=2TB", "output_bytes: 2TB is not from 1 to 1TB"),
        ("time=5", "the limit 'time' is set by --plsql-timeout"),
    ],
)
def test_what_is_no_limit(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^") as caught:
        parse_limit(text)
    assert str(caught.value) == reason


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"^no limit is named 'lines'; there are output_bytes, .*, sessions$"
    ):
        parse_limit("lines=5")


def test_all_that_bounds_what_is_observed_is_part_of_keys() -> None:
    for name in BOUNDS:
        changed = dataclasses.replace(DEFAULTS, **{name: BOUNDS[name].least})
        assert (changed.part() != DEFAULTS.part()) == (name != "sessions")


@pytest.mark.parametrize("name", BOUNDS)
def test_shown_values_read_back(name: str) -> None:
    for value in (BOUNDS[name].least, getattr(DEFAULTS, name), BOUNDS[name].most):
        assert parse_limit(f"{name}={shown_limit(name, value)}") == (name, value)
