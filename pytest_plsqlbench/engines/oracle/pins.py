"""Session settings that are pinned, alike for reference and candidate: they change what programs show.

Any user may change any of them without a right, so they are set after every login and before every test.
"""

from __future__ import annotations

from pytest_plsqlbench.engines.oracle.names import literal, quoted

PINS: tuple[tuple[str, str], ...] = (
    ("NLS_LANGUAGE", "'AMERICAN'"),
    ("NLS_TERRITORY", "'AMERICA'"),
    ("NLS_DATE_FORMAT", "'YYYY-MM-DD'"),
    ("NLS_TIMESTAMP_FORMAT", "'YYYY-MM-DD HH24:MI:SS'"),
    ("NLS_TIMESTAMP_TZ_FORMAT", "'YYYY-MM-DD HH24:MI:SS TZH:TZM'"),
    ("NLS_NUMERIC_CHARACTERS", "'.,'"),
    ("NLS_SORT", "'BINARY'"),
    ("NLS_COMP", "'BINARY'"),
    ("NLS_LENGTH_SEMANTICS", "'BYTE'"),
    ("NLS_CALENDAR", "'GREGORIAN'"),
    ("NLS_CURRENCY", "'$'"),
    ("NLS_NCHAR_CONV_EXCP", "'FALSE'"),
    ("TIME_ZONE", "'+00:00'"),
    ("CURSOR_SHARING", "'EXACT'"),
    ("DDL_LOCK_TIMEOUT", "10"),
    ("PLSQL_OPTIMIZE_LEVEL", "2"),
    ("PLSQL_CODE_TYPE", "'INTERPRETED'"),
    ("PLSQL_WARNINGS", "'DISABLE:ALL'"),
    ("PLSQL_CCFLAGS", "''"),
    ("PLSCOPE_SETTINGS", "'IDENTIFIERS:NONE'"),
    ("RECYCLEBIN", "OFF"),
)
"""Parameters of ALTER SESSION in the order they are set (territory before formats, which it resets).

Dates and timestamps print as the benchmark prints its expected rows (FORMATS of Spider-PLSQL)."""


def alter_session(name: str, value: str) -> str:
    """One setting."""
    return f"ALTER SESSION SET {name} = {value}"


def pin_block(names: frozenset[str], schema: str) -> str:
    """One block that sets all pins that the server knows, and the schema where names are looked up."""
    settings = [alter_session(name, value) for name, value in PINS if name in names]
    settings.append(f"ALTER SESSION SET CURRENT_SCHEMA = {quoted(schema)}")
    calls = "".join(f"\n  EXECUTE IMMEDIATE {literal(setting)};" for setting in settings)
    return f"BEGIN{calls}\nEND;"
