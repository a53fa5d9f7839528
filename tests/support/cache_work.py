"""What a process of its own does to a shared cache file; importable by a fresh interpreter."""

from __future__ import annotations

from pathlib import Path

from pytest_plsqlbench.datasets.cache import EntryCache


def work(path: Path, number: int) -> None:
    """Put fifty entries of the process's own."""
    entries = EntryCache(path)
    for step in range(50):
        entries.put(bytes([number, step]) * 16, bytes([number]) * (1000 * number + step))
