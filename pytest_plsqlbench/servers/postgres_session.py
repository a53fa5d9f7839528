"""Sessions of ours begin with settings of ours, whatever environment, DSN, role, database or server say.

What a client asks for as it connects wins over the settings of servers, databases and roles. The driver's
library adds settings from the environment, too: one in place of what the connection string leaves out
(``PGCLIENTENCODING``, ``PGOPTIONS``), others always.
Reference: https://www.postgresql.org/docs/current/libpq-envars.html
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import psycopg

READING = "-c standard_conforming_strings=on -c quote_all_identifiers=off"
"""Options under which the texts that we write, and the names that we read, are what we take them for."""
_ALWAYS_SENT = ("PGDATESTYLE", "PGGEQO", "PGTZ")
"""Settings of the environment that win over options, and that nothing in a connection string undoes."""


def settled(conninfo: str, options: str = "") -> str:
    """A connection string whose sessions read and write texts as we do.

    Args:
        conninfo: how to connect; options in it stay, for what we say nothing of.
        options: further ones, which win.
    """
    from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: PLC0415 (only where a server is used)

    given = str(conninfo_to_dict(conninfo).get("options") or "")
    words = " ".join(filter(None, (given, READING, options)))
    return make_conninfo(conninfo, client_encoding="UTF8", options=words)


def options_around(given: Mapping[str, Any]) -> str:
    """Options of a login that its connection string leaves to a service file or to the environment.

    Args:
        given: what the connection string says, by keyword.
    """
    from psycopg.pq import Conninfo  # noqa: PLC0415

    with _environment({"PGSERVICE": given.get("service") or os.environ.get("PGSERVICE")}):
        found = {option.keyword: option.val for option in Conninfo.get_defaults()}
    return (found.get(b"options") or b"").decode("utf-8", "surrogateescape")


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """While a session is opened: without the settings that the environment adds to every login."""
    with _environment(dict.fromkeys(_ALWAYS_SENT)):
        yield


@contextlib.contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """With other values of variables; None: without them."""
    before = {name: os.environ.get(name) for name in values}
    changed = {name: value for name, value in values.items() if value != before[name]}
    try:
        _put(changed)
        yield
    finally:
        _put({name: before[name] for name in changed})


def _put(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def open_session(conninfo: str) -> psycopg.Connection[tuple[Any, ...]]:
    """A session in autocommit.

    Args:
        conninfo: settled.

    Raises:
        psycopg.OperationalError: the server does not take it.
    """
    import psycopg  # noqa: PLC0415

    with undisturbed():
        return psycopg.connect(conninfo, autocommit=True)
