"""Text of models and databases as a page may show it: nothing invisible, nothing that turns it around."""

from __future__ import annotations

_KEPT = "\n\t "


def visible(text: str) -> str:
    r"""The text with control, format and other unprintable characters as escapes (``\x1b``, ``\u202e``).

    Newlines, tabs and all printable characters stay as they are, backslashes too.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _KEPT else _escape(char) for char in text)


def one_line(text: str, width: int) -> str:
    """The first line that says something, cut where it is too long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = visible(line)
    return shown if len(shown) <= width else f"{shown[: width - 1]}…"


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
