"""Names of what a run creates on a server: each begins with ``plsqlbench_<run id>_``."""

from __future__ import annotations


def run_prefix(run_id: str) -> str:
    """What all names of a run begin with."""
    return f"plsqlbench_{run_id}_"


def owner_role(run_id: str) -> str:
    """The role that owns the data of a run: neither the administrator nor a graded program.

    The server's starter creates it, and drops it last: while it exists, so may the rest.
    """
    return f"{run_prefix(run_id)}owner"


def membership(role: str, server_version: int) -> str:
    """A statement by which an administrator who is no superuser may act for a (quoted) role it created."""
    options = " WITH INHERIT TRUE, SET TRUE" if server_version >= 160000 else ""
    return f"GRANT {role} TO CURRENT_USER{options}"


def quoted(identifier: str) -> str:
    """An identifier as SQL text."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A string constant as SQL text (``standard_conforming_strings`` on)."""
    return "'" + text.replace("'", "''") + "'"
