"""Commands of the SQL*Plus client: which exist, which are harmless, which we refuse. A command is a line."""

from __future__ import annotations

import re

_NAMES = {
    # name: (shortest abbreviation, refused)
    "ACCEPT": ("ACC", True),
    "APPEND": ("A", True),
    "ARCHIVE": ("ARCHIVE", True),
    "ATTRIBUTE": ("ATTRIBUTE", False),
    "BREAK": ("BRE", False),
    "BTITLE": ("BTI", False),
    "CHANGE": ("C", True),
    "CLEAR": ("CL", False),
    "COLUMN": ("COL", False),
    "COMPUTE": ("COMP", False),
    "CONNECT": ("CONN", True),
    "COPY": ("COPY", True),
    "DEFINE": ("DEF", False),
    "DEL": ("DEL", True),
    "DESCRIBE": ("DESC", False),
    "DISCONNECT": ("DISC", True),
    "EDIT": ("ED", True),
    "EXECUTE": ("EXEC", False),
    "EXIT": ("EXIT", False),
    "GET": ("GET", True),
    "HELP": ("HELP", False),
    "HOST": ("HO", True),
    "INPUT": ("I", True),
    "LIST": ("L", True),
    "PASSWORD": ("PASSW", True),
    "PAUSE": ("PAU", False),
    "PRINT": ("PRI", False),
    "PROMPT": ("PRO", False),
    "QUIT": ("QUIT", False),
    "RECOVER": ("RECOVER", True),
    "REMARK": ("REM", False),
    "REPFOOTER": ("REPF", False),
    "REPHEADER": ("REPH", False),
    "RUN": ("R", True),
    "SAVE": ("SAV", True),
    "SET": ("SET", False),
    "SHOW": ("SHO", False),
    "SHUTDOWN": ("SHUTDOWN", True),
    "SPOOL": ("SPO", True),
    "START": ("STA", True),
    "STARTUP": ("STARTUP", True),
    "STORE": ("STORE", True),
    "TIMING": ("TIMI", False),
    "TTITLE": ("TTI", False),
    "UNDEFINE": ("UNDEF", False),
    "VARIABLE": ("VAR", False),
    "WHENEVER": ("WHENEVER", False),
    "XQUERY": ("XQUERY", True),
}
"""SQL*Plus User's Guide and Reference, "SQL*Plus Command Reference"."""

WHOLE_LINE = frozenset(("PROMPT", "REMARK", "HOST", "TTITLE", "BTITLE", "REPHEADER", "REPFOOTER", "PAUSE"))
"""Commands whose text may hold semicolons and lone quotes."""

REFUSED = frozenset(name for name, (_, refused) in _NAMES.items() if refused) | {"@", "@@", "!", "$"}
"""Commands that touch files, the operating system or the connection, ask a person, or edit the buffer."""

_BY_WORD = {
    name[:length]: name for name, (short, _) in _NAMES.items() for length in range(len(short), len(name) + 1)
}
_SQL_SET = frozenset(("TRANSACTION", "ROLE", "CONSTRAINT", "CONSTRAINTS"))
_NEXT_WORD = re.compile(r"[ \t\r\n]*+([A-Za-z]*+)")


def client_command(word: str, text: str, end: int) -> str | None:
    """The full name of the SQL*Plus command that begins with ``word`` (upper case); None for SQL.

    ``end``: index in ``text`` after the word; some words begin both SQL and a command.
    """
    name = _BY_WORD.get(word)
    if name is None:
        return None
    found = _NEXT_WORD.match(text, end)
    following = found.group(1).upper() if found else ""
    if name == "SET" and following in _SQL_SET:
        return None
    if name == "EXECUTE" and following == "IMMEDIATE":
        return None
    if len(word) == 1 and not (following == "" or name == "HOST"):
        return None  # single letters edit the buffer; in prose they are words
    return name


def stops_playing(command: str) -> bool:
    """Whether SQL*Plus leaves the script here."""
    return command in {"EXIT", "QUIT"}
