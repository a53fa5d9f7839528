"""Where the bundled suite lies: inside an installed wheel, or in the checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled_path(what: str) -> Path:
    """Folder of the bundled ``tasks``, ``fixtures`` or ``examples``.

    Raises:
        FileNotFoundError: the installation lacks it.
    """
    for root in (_PACKAGE / "bundled", _PACKAGE.parent):
        folder = root / what
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"this installation has no bundled {what}")
