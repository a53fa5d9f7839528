"""What the readers noticed in a text: recovered, refused, unterminated."""

from __future__ import annotations

from typing import Literal

import msgspec

Severity = Literal["error", "warning", "note"]
"""``error``: no server can run the text as it is, or we refuse to; ``warning``: read in another way than the
published tool would; ``note``: worth knowing."""


class Finding(msgspec.Struct, frozen=True):
    """One remark about a place in a text."""

    code: str
    """Stable word, for example ``missing_slash``; docs/sql-reading.md lists them."""
    message: str
    severity: Severity
    offset: int
    """Index of the character in the text, from 0."""
    line: int
    """From 1."""
    column: int
    """From 1."""

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"
