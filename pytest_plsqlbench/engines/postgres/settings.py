"""Session settings that are pinned: they change what programs show, or how they are limited."""

from __future__ import annotations

from functools import cache

from pytest_plsqlbench.servers.naming import literal, quoted

_SHOWN = {
    "datestyle": "ISO, MDY",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "xmlbinary": "base64",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "lc_time": "C",
    "standard_conforming_strings": "on",
}
"""How values are read and printed."""

_BEHAVIOUR = {
    "client_min_messages": "notice",
    "check_function_bodies": "on",
    "row_security": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "plpgsql.check_asserts": "on",
    "array_nulls": "on",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "max_parallel_workers_per_gather": "0",  # the order of rows must not depend on who is first
    "synchronize_seqscans": "off",
    "jit": "off",
    "lock_timeout": "0",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "idle_session_timeout": "0",
    "client_connection_check_interval": "0",
    "xmloption": "content",
    "backslash_quote": "safe_encoding",
    "default_text_search_config": "pg_catalog.simple",
    "plpgsql.extra_errors": "none",
    "plpgsql.extra_warnings": "none",
    "plpgsql.print_strict_params": "off",
}

REPORTED = {
    b"DateStyle": b"ISO, MDY",
    b"IntervalStyle": b"postgres",
    b"TimeZone": b"UTC",
    b"client_encoding": b"UTF8",
}
"""Settings whose changes the server tells the client by itself, and their values while they are as pinned."""
UNREPORTED = ("extra_float_digits", "bytea_output")
"""The others that change how values print."""


def search_path(schemas: tuple[str, ...]) -> str:
    """Value of ``search_path`` for these schemas."""
    return ", ".join(quoted(schema) for schema in schemas)


@cache
def connect_options(schemas: tuple[str, ...], *, check_client: bool) -> str:
    """The ``options`` of a connection that pins everything from its first moment.

    Args:
        schemas: the search path.
        check_client: the server can notice that the client is gone while it works.
    """
    settings = {**_SHOWN, **_BEHAVIOUR, "search_path": search_path(schemas)}
    if check_client:
        settings["client_connection_check_interval"] = "200"
    else:
        del settings["client_connection_check_interval"]
    return " ".join(f"-c {name}={_escaped(value)}" for name, value in settings.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace(" ", "\\ ")


@cache
def pin(schemas: tuple[str, ...], *, local: bool = True) -> str:
    """A statement that sets everything again, whatever a program has set.

    Args:
        schemas: the search path.
        local: until the transaction ends; else until the session does.
    """
    settings = {**_SHOWN, **_BEHAVIOUR, "search_path": search_path(schemas)}
    del settings["client_connection_check_interval"]
    del settings["statement_timeout"]
    del settings["default_transaction_isolation"]
    calls = (
        f"pg_catalog.set_config({literal(name)}, {literal(value)}, {str(local).lower()})"
        for name, value in settings.items()
    )
    return f"SELECT {', '.join(calls)}"


def printing() -> str:
    """A query for the values of ``UNREPORTED``, as they are now."""
    return "SELECT " + ", ".join(f"pg_catalog.current_setting({literal(name)})" for name in UNREPORTED)


PINNED_PRINTING = tuple(_SHOWN[name].encode() for name in UNREPORTED)
"""What ``printing`` answers while the settings are as pinned."""
