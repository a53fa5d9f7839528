"""A real browser for tests: Chromium where it is installed, driven by playwright."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str:
    """Path of the browser.

    Skips the test where there is none; where PLSQLBENCH_REQUIRE_BROWSER is 1 it fails instead, so that CI
    cannot lose its browser unseen.
    """
    named = os.environ.get("PLSQLBENCH_CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None or find_spec("playwright") is None:
        what = "playwright is not installed" if found else "no Chromium is installed"
        if os.environ.get("PLSQLBENCH_REQUIRE_BROWSER") == "1":
            pytest.fail(f"{what}, and PLSQLBENCH_REQUIRE_BROWSER=1 asks for a browser")
        pytest.skip(f"{what}: name one by PLSQLBENCH_CHROMIUM")
    return found
