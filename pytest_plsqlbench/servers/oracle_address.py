"""Where an Oracle server is, as connect strings say it; checked before a driver sees them. Pure.

The thin driver takes whatever it cannot read for an alias of ``tnsnames.ora``, and says so (DPY-4027).
"""

from __future__ import annotations

import re

_ALIAS = re.compile(r"[\w.$#-]+")
_PROTOCOL = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)
_NUMBERED = re.compile(r"[\w.-]+:\d+(:\w+)?")
"""``host:port``, and what stood behind it in the old form with a SID; nothing else of a wrong address is
shown, since it may be what is left of a password."""
_FORM = "write host:1521/service"


def is_alias(text: str) -> bool:
    """Whether it is the name of an entry of ``tnsnames.ora``."""
    return _ALIAS.fullmatch(text) is not None


def fault_of(text: str) -> str | None:
    """What is wrong with a connect string, on one line; None: it is an alias, an address or a descriptor.

    Args:
        text: what follows the ``@`` of a login.
    """
    if text.startswith("(") or is_alias(text):
        return None
    protocol = _PROTOCOL.match(text)
    address = text[protocol.end() :] if protocol else text
    hosts, slash, service = address.partition("/")
    if not slash:
        return _without_service(hosts.partition("?")[0])
    if not service.partition("?")[0]:
        return _without_service(hosts)
    for host in re.split(r"[,;]", hosts):
        _, colon, port = host.rpartition(":") if not host.endswith("]") else ("", "", "")
        if not host or (colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536)):
            return f"the address has no host, or a port that is not a number from 1 to 65535: {_FORM}"
    return None


def _without_service(place: str) -> str:
    numbered = _NUMBERED.fullmatch(place)
    if numbered and numbered[1]:
        return (
            f"the address {place!r} is in the old form with a SID: {_FORM}; a SID is named in a descriptor,"
            " (DESCRIPTION=(ADDRESS=…)(CONNECT_DATA=(SID=…)))"
        )
    named = f" {place!r}" if numbered else ""
    return f"the address{named} has no service: {_FORM}"


def shown_address(text: str) -> str:
    """The address for people: no descriptor, and no parameters, which may hold paths and passwords."""
    shown = text.partition("?")[0]
    return shown if len(shown) <= 60 and not shown.startswith("(") else "descriptor"
