"""What the engine knows of error numbers. Numbers label; what happened is decided by clock and admin probe.

Any number can be raised by a program (EXCEPTION_INIT), so none of these sets alone makes a verdict. Failure
categories for reports are not decided here (``bench.taxonomy``).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.engines.oracle.port import DriverError

INFRASTRUCTURE_CODES = frozenset(
    (
        18,
        20,
        1033,
        1034,
        1089,
        1090,
        12154,
        12170,
        12505,
        12514,
        12516,
        12518,
        12519,
        12520,
        12526,
        12528,
        12541,
    )
)
"""The server refuses or cannot be reached: process and session limits, start-up, shutdown, listener."""
INFRASTRUCTURE_DRIVER = frozenset(("DPY-4005", "DPY-6000", "DPY-6001", "DPY-6003", "DPY-6005"))

STALE_STATE = frozenset((4061, 4062, 4065, 4068))
"""A session met a recompiled package whose state it holds; the state is now gone, so once more is fair."""
TIMED_OUT = frozenset(("DPY-4024", "ORA-01013"))
"""What a cancelled call reports. Believed only when our own clock agrees."""
MEMORY = frozenset((4030, 4031, 4036, 10260))
SERVER_FULL = frozenset(
    (257, 1536, 1544, 1652, 1653, 1654, 1658, 1659, 1683, 1688, 1691, 1692, 4030, 4031, 4036, 12954, 30036)
)
"""No space left (quota, tablespace, undo, archive, the 12 GB of Free) or memory: mended on the server."""
PROFILE = frozenset(range(2391, 2400))
"""Limits of the user's profile. 2391 is the number of sessions."""
OUTPUT_FULL = ("ORU-10027", "ORU-10028")
"""DBMS_OUTPUT's buffer or line limit; raised inside the program as ORA-20000."""
NAME_TAKEN = frozenset((955, 1920, 2379))
"""A table, user or profile of that name exists already."""
USER_CONNECTED = 1940
NO_SUCH_SESSION = frozenset((30,))
NOT_THERE = frozenset((942, 1432, 1418, 1434, 1918, 2289, 4043, 4080, 12003))
"""What is dropped is gone already, with something else that was dropped."""
GRANT_GONE = NOT_THERE | {1917, 1927, 1951, 1952}
"""What is revoked was never granted, or went with the owner of the data when that was loaded anew."""
LOCK_WAIT_OVER = frozenset((54, 30006))

_WRAPPED = re.compile(r"^PL/SQL: (?=ORA-\d{5}:)")
_ENTRY = re.compile(r"^(?:ORA|PLS|PLW|SP2|DPY|TNS|ORU)-\d{4,5}")
_CODE = re.compile(r"(ORA|PLS|PLW|SP2|DPY|TNS)-(\d{4,5})")
_POSITION = re.compile(r"ORA-06550: line (\d+), column (\d+)")
_OWN_LINE = re.compile(r"ORA-06512: at line (\d+)")
_WRAPPERS = frozenset(
    ("ORA-06550", "ORA-06512", "ORA-04088", "ORA-00604", "DPY-4011", "DPY-2041", "DPY-2042")
)
"""Entries that only lead to the next one: positions, the stack, a trigger's, recursive SQL, renamings."""

LineMap = Callable[[int, int], tuple[int, int]]
"""From line and column of the text that was sent, from 1, to those of the program or call."""


def is_infrastructure(error: DriverError) -> bool:
    """Whether an error of a session of ours comes from the server's or the network's state."""
    return (
        error.code in INFRASTRUCTURE_CODES or error.full_code in INFRASTRUCTURE_DRIVER or error.session_dead
    )


def printed_too_much(error: DriverError) -> bool:
    """Whether DBMS_OUTPUT refused a line."""
    return error.code == 20000 and any(mark in error.message for mark in OUTPUT_FULL)


_CONNECTION_ID = re.compile(r"\s*\(CONNECTION_ID=[^)\s]*\)")
"""Of the driver's attempt: nobody but a listener's own log knows it."""


def one_line(error: DriverError) -> str:
    """The error on one line, for messages of ours; where a connection fails, with the driver's reason."""
    message = _CONNECTION_ID.sub("", error.message)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if error.full_code.startswith("DPY-6"):
        return " ".join(lines[:2])
    return lines[0] if lines else error.full_code or "unknown error"


def entries(message: str) -> list[tuple[str, str]]:
    """Error stack of a message: code and text of each entry, continued lines joined."""
    found: list[tuple[str, str]] = []
    for text_line in message.splitlines():
        line = _WRAPPED.sub("", text_line)
        if _ENTRY.match(line):
            code, _, text = line.partition(":")
            found.append((code, text.strip()))
        elif found:
            code, text = found[-1]
            found[-1] = code, f"{text}\n{line}" if text else line
        elif line.strip():
            found.append(("", line))
    return found


def diagnose(error: DriverError, text: str, place: LineMap) -> Diagnostic:
    """The diagnostic of a failed statement.

    Its code is the first of the error stack that says what happened, so not the wrappers around it (ORA-06550
    gives the position, ORA-06512 the call stack). The whole stack is its ``detail``.

    Args:
        error: what the driver raised.
        text: the text that was sent, for errors that name a character of it.
        place: from lines and columns of that text to those of the program.
    """
    stack = entries(error.message)
    chosen = next(((code, said) for code, said in stack if code and code not in _WRAPPERS), None)
    if chosen is None:
        number = f"ORA-{error.code:05d}" if error.code else error.full_code or "ORA-00000"
        chosen = number, stack[0][1] if stack else error.message
    code, message = chosen
    line, column = _position(error, text)
    if line is not None:
        line, column = place(line, column or 1)
    where = "\n".join(f"{entry}: {said}" for entry, said in stack if entry == "ORA-06512")
    return Diagnostic(
        code=code,
        message=message.strip() or code,
        detail=error.message if len(stack) > 1 else None,
        line=line,
        column=column,
        where=where or None,
    )


def _position(error: DriverError, text: str) -> tuple[int | None, int | None]:
    """Line and column, from 1, of the text sent."""
    named = _POSITION.search(error.message)
    if named:
        return int(named[1]), int(named[2])
    own = _OWN_LINE.search(error.message)
    if own:
        return int(own[1]), 1
    if 0 < error.offset <= len(text):
        before = text[: error.offset]
        return before.count("\n") + 1, error.offset - (before.rfind("\n") + 1) + 1
    return None, None


def compile_code(text: str) -> str:
    """Code of an entry of the dictionary's error list: ``PLS-00201: …`` or ``PL/SQL: ORA-00942: …``."""
    found = _CODE.search(text)
    return f"{found[1]}-{found[2].zfill(5)}" if found else "PLS-00000"
