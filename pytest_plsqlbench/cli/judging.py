"""Options of the commands that judge saved results: gates, a baseline, what is taken for granted."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable

WAY = "--common"
"""How the user asks to compare the common part of two runs, for messages."""

_OPTIONS = (
    click.option(
        "--gate",
        "gates",
        multiple=True,
        metavar="EXPR",
        help="A gate, such as 'coverage >= 0.99'; repeatable.",
    ),
    click.option(
        "--gates-file",
        "files",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A file with a gate a line; lines that begin with # are comments.",
    ),
    click.option(
        "--baseline",
        metavar="DIR_OR_FILE",
        type=click.Path(path_type=Path),
        help="An earlier run, to compare with.",
    ),
    click.option(WAY, is_flag=True, help="Compare what both have, where tasks or engines differ."),
    click.option(
        "--assume-complete",
        is_flag=True,
        help="Take results as a whole run's where no summary.json beside them says so.",
    ),
)


class Asked(NamedTuple):
    """What results are held against."""

    gates: tuple[str, ...]
    """As texts."""
    files: tuple[Path, ...]
    """With a gate a line."""
    baseline: Path | None
    common: bool
    """Compare the common part where run and baseline differ."""
    assume_complete: bool
    """Take results as a whole run's where nothing says otherwise."""


def judging_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options; it gets them as one argument, ``asked``."""

    @wraps(function)
    def call(**given: Any) -> None:
        asked = Asked(**{name: given.pop(name) for name in Asked._fields})
        function(asked=asked, **given)

    decorated: Callable[..., None] = call
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


__all__ = ["WAY", "Asked", "judging_options"]
