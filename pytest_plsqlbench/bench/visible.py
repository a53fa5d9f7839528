"""Text of models, databases and errors as people may see it: nothing in it is hidden, or moves a cursor.

The one place where such text is made fit for terminals, JUnit XML and reports. Invisible is what
``str.isprintable`` does not find printable: C0 and C1 controls, DEL, format characters (among them those that
turn the direction of writing), lone surrogates, separators, unassigned and private characters.
"""

from __future__ import annotations

LONGEST_NAME = 60
"""Characters of a model's name that a line, a heading or the row of a table shows."""
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def escape(text: str) -> str:
    r"""One line that tells all: backslashes are doubled, the invisible is ``\t``, ``\x1b``, ``\u202e``."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(char if char.isprintable() and char != "\\" else _escape_char(char) for char in text)


def visible(text: str, keep: str = "\n") -> str:
    r"""Text for people, in which backslashes stay as they are: the invisible is ``\x1b``, ``\u202e``.

    Args:
        text: of any source.
        keep: characters that are meant though not printable; nothing for what must be one line.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escape_char(char) for char in text)


def shorten(text: str, width: int) -> str:
    """Cut in the middle: names that are alike begin alike, and end alike."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def shown_name(name: str, width: int = LONGEST_NAME) -> str:
    """The name of a model on one line, not longer than a line has room for."""
    return shorten(visible(name, keep=""), width)


def _escape_char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
