"""Text that others wrote, in Markdown: shown as it is, whatever it says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_plsqlbench.bench.difference import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST = 300
"""Characters of a text that are shown."""
_BACKTICKS = re.compile("`+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!~@:$])")
_WORD = re.compile("(?i)w(?=ww)")


def code(text: str) -> str:
    """A name as a code span, in which nothing has a meaning: no markup, no HTML, no link.

    A bar is left as it is: ``table`` takes care of it.
    """
    shown = _short(escape(text)) or " "
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or shown != shown.strip() else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def plain(text: str) -> str:
    """A sentence that may quote names: no markup, no HTML, no link."""
    shown = _SPECIAL.sub(r"\\\1", _short(escape(text)))
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _WORD.sub(r"&#119;", shown)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Iterator[str]:
    """A table.

    Args:
        head: titles.
        rows: cells, Markdown already.
        left: how many columns, from the first, are not numbers.
    """
    yield _row(head)
    yield _row([":---" if place < left else "---:" for place in range(len(head))])
    for row in rows:
        yield _row(row)


def _row(cells: Sequence[str]) -> str:
    inner = " | ".join(cell.replace("|", "\\|") for cell in cells)
    return f"| {inner} |"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
