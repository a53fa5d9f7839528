"""Commands of the SQL*Plus client: which exist, which are harmless, which we refuse. A command is a line.

A word that could begin a command begins one only where the rest of the line could belong to it: "Define a
function as follows" is prose.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

_LOWER = string.ascii_lowercase
_Check = Callable[[list[str]], bool]


def _split(words: str) -> tuple[str, ...]:
    return tuple(words.split())


_SETTINGS = _split(
    "APPInfo ARRAYsize AUTOcommit AUTOPrint AUTORECOVERY AUTOTrace BLOckterminator CMDSep COLINVIsible "
    "COLSEP CONcat COPYCommit COPYTYPECHECK CSV DEFine DESCRIBE ECHO EDITFile EMBedded ERRORLogging ESCape "
    "ESCCHAR EXITCommit FEEDback FLAGGER FLUsh HEAding HEADSep HISTory INSTANCE JSONPRINT LINesize "
    "LOBOFfset LOBPREFETCH LOGSOURCE LONG LONGChunksize MARKup NEWPage NULL NUMFormat NUMwidth PAGESize "
    "PAUse PRELIMINARY RECSEP RECSEPCHAR ROWLIMIT ROWPREFETCH SECUREDCOL SERVEROUTput SHIFTinout SHOWmode "
    "SQLBLanklines SQLCase SQLCOntinue SQLNumber SQLPLUSCOMPATibility SQLPREfix SQLPrompt SQLTerminator "
    "STATEMENTCache SUFfix TAB TERMout TIme TIMIng TRIMout TRIMSpool UNDerline VERify WRAp "
    "XMLOPTIMIZATIONCHECK XQUERY"
)
"""SET system variables; what may be left out is in lower case."""
_SHOWN = frozenset(
    _split(
        "ALL BTI BTITLE CON_ID CON_NAME CONNECTION EDITION ERR ERRORS LNO LOBPREFETCH PARAMETER PARAMETERS "
        "PDBS PNO RECYC RECYCLEBIN REL RELEASE REPF REPH ROWPREFETCH SGA SPOO SPOOL SPPARAMETERS SQLCODE "
        "STATEMENTCACHE TTI TTITLE USER"
    )
)


def _is_setting(word: str) -> bool:
    return any(
        word.startswith(setting.rstrip(_LOWER)) and setting.upper().startswith(word) for setting in _SETTINGS
    )


def _any(words: list[str]) -> bool:
    del words
    return True


def _at_most(number: int) -> _Check:
    return lambda words: len(words) <= number


def _first(*allowed: str) -> _Check:
    return lambda words: bool(words) and words[0] in allowed


def _definition(words: list[str]) -> bool:
    return len(words) < 2 or words[1] == "=" or "=" in words[0]


def _exit(words: list[str]) -> bool:
    return len(words) <= 2


def _set(words: list[str]) -> bool:
    return bool(words) and _is_setting(words[0])


def _show(words: list[str]) -> bool:
    return bool(words) and (words[0] in _SHOWN or _is_setting(words[0]))


def _variable(words: list[str]) -> bool:
    types = _split("NUMBER CHAR NCHAR VARCHAR NVARCHAR CLOB NCLOB BLOB BFILE REFCURSOR BINARY BOOLEAN VECTOR")
    return len(words) < 2 or (words[1].startswith(types) and len(words) <= 7)


_COMMANDS: dict[str, tuple[str, bool, _Check]] = {
    # name: (shortest form, refused, whether the words after it could belong to it)
    "ACCEPT": ("ACC", True, _at_most(8)),
    "APPEND": ("APPEND", True, _any),
    "ARCHIVE": ("ARCHIVE", True, _first("LOG")),
    "ATTRIBUTE": ("ATTRIBUTE", False, _at_most(6)),
    "BREAK": ("BRE", False, lambda words: not words or words[0] == "ON"),
    "BTITLE": ("BTI", False, _any),
    "CLEAR": (
        "CL",
        False,
        _first(
            "BRE",
            "BREAKS",
            "BUFF",
            "BUFFER",
            "COL",
            "COLUMNS",
            "COMP",
            "COMPUTES",
            "SCR",
            "SCREEN",
            "SQL",
            "TIMI",
            "TIMING",
        ),
    ),
    "COLUMN": ("COL", False, lambda words: len(words) != 1 or "." not in words[0]),
    "COMPUTE": ("COMP", False, _any),
    "CONNECT": ("CONN", True, _at_most(3)),
    "COPY": ("COPY", True, _first("FROM", "TO")),
    "DEFINE": ("DEF", False, _definition),
    "DESCRIBE": ("DESC", False, _at_most(1)),
    "DISCONNECT": ("DISC", True, _at_most(0)),
    "EDIT": ("ED", True, _at_most(1)),
    "EXECUTE": ("EXEC", False, _any),
    "EXIT": ("EXIT", False, _exit),
    "GET": ("GET", True, _at_most(2)),
    "HELP": ("HELP", False, _at_most(1)),
    "HOST": ("HO", True, _any),
    "LIST": ("L", True, _at_most(0)),
    "PASSWORD": ("PASSW", True, _at_most(1)),
    "PAUSE": ("PAU", False, _any),
    "PRINT": ("PRI", False, _at_most(4)),
    "PROMPT": ("PRO", False, _any),
    "QUIT": ("QUIT", False, _exit),
    "RECOVER": ("RECOVER", True, _at_most(6)),
    "REMARK": ("REM", False, _any),
    "REPFOOTER": ("REPF", False, _any),
    "REPHEADER": ("REPH", False, _any),
    "RUN": ("R", True, _at_most(0)),
    "SAVE": ("SAV", True, _at_most(2)),
    "SET": ("SET", False, _set),
    "SHOW": ("SHO", False, _show),
    "SHUTDOWN": ("SHUTDOWN", True, _at_most(2)),
    "SPOOL": ("SPO", True, _at_most(2)),
    "START": ("STA", True, _at_most(1)),
    "STARTUP": ("STARTUP", True, _at_most(6)),
    "STORE": ("STORE", True, _first("SET")),
    "TIMING": ("TIMI", False, lambda words: not words or words[0] in {"START", "SHOW", "STOP"}),
    "TTITLE": ("TTI", False, _any),
    "UNDEFINE": ("UNDEF", False, _at_most(3)),
    "VARIABLE": ("VAR", False, _variable),
    "WHENEVER": ("WHENEVER", False, _first("SQLERROR", "OSERROR")),
    "XQUERY": ("XQUERY", True, _any),
}
"""SQL*Plus User's Guide and Reference, "SQL*Plus Command Reference"."""

WHOLE_LINE = frozenset(("PROMPT", "REMARK", "HOST", "TTITLE", "BTITLE", "REPHEADER", "REPFOOTER", "PAUSE"))
"""Commands whose text may hold semicolons and lone quotes."""

REFUSED = frozenset(name for name, (_, refused, _check) in _COMMANDS.items() if refused) | {
    "@",
    "@@",
    "!",
    "$",
}
"""Commands that touch files, the operating system or the connection, ask a person, or edit the buffer."""

_BY_WORD = {
    name[:length]: name
    for name, (short, _, _) in _COMMANDS.items()
    for length in range(len(short), len(name) + 1)
}
_LINE = re.compile(r"[^\n]*+")


def client_command(word: str, text: str, end: int) -> str | None:
    """The full name of the SQL*Plus command that begins with ``word`` (upper case); None for anything else.

    ``end``: index in ``text`` after the word; the rest of the line decides whether it is a command.
    """
    name = _BY_WORD.get(word)
    if name is None:
        return None
    found = _LINE.match(text, end)
    line = found.group() if found else ""
    words = line.partition(";")[0].upper().split(None, 12)
    if name == "EXECUTE" and words[:1] == ["IMMEDIATE"]:
        return None
    return name if _COMMANDS[name][2](words) else None


def stops_playing(command: str) -> bool:
    """Whether SQL*Plus leaves the script here."""
    return command in {"EXIT", "QUIT"}
