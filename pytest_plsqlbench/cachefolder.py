"""Where what is kept between runs lies: prepared data directories, parsed tasks, what references showed."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """The folder that ``PLSQLBENCH_CACHE_DIR`` names, else the user's cache folder; it may not exist yet."""
    given = os.environ.get("PLSQLBENCH_CACHE_DIR")
    if given:
        return Path(given).absolute()
    import platformdirs  # noqa: PLC0415 (only without the variable)

    return Path(platformdirs.user_cache_dir("pytest-plsqlbench", appauthor=False))
