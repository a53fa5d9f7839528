"""What the given account and server can do, found out once at the start of a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.pins import PINS, alter_session
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.protocol import EngineUnavailableError

OLDEST = 18
"""Users without authentication exist from 18c on."""
SCHEMA_RIGHTS = 23
"""Rights on whole schemas exist from 23ai on."""
INDISPENSABLE = frozenset(("CREATE SESSION", "CREATE USER", "ALTER USER", "DROP USER", "ALTER SYSTEM"))
WORKERS_LEAST, WORKERS_MOST = 2, 4


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Features of server and account."""

    version: str
    major: int
    banner: str
    tablespace: str
    """Default tablespace of new users."""
    extended_strings: bool
    """VARCHAR2 columns may have more than 4000 bytes."""
    schema_rights: bool
    profile: bool
    reads_statistic: int | None
    """Number of the statistic 'session logical reads'; None: work is not measured."""
    autonomous: bool
    cpus: int
    pins: frozenset[str]
    """Session settings that this server knows and this account may change."""
    unlisted: tuple[str, ...]
    """Privileges that the account does not list; Autonomous has the like of some under other names."""

    @property
    def workers(self) -> tuple[int, str]:
        """How many workers suit one such server, and why."""
        count = min(WORKERS_MOST, max(WORKERS_LEAST, self.cpus))
        return count, (
            f"{count} workers suit this server ({self.cpus} CPUs): more only stretch the times of all;"
            " use more servers for more speed"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is done without, one line each, for the report header."""
        missing = {
            "rights on whole schemas (object grants instead)": self.schema_rights,
            "extended strings (wide VARCHAR2 columns become CLOB)": self.extended_strings,
            "a profile (the watchdog alone limits)": self.profile,
            "measured work (V$SESSTAT)": self.reads_statistic is not None,
        }
        without = tuple(f"without {what}" for what, present in missing.items() if not present)
        unpinned = sorted({name for name, _ in PINS} - self.pins)
        shown = {"not pinned": unpinned, "the account does not list": self.unlisted}
        return (*without, *(f"{what}: {', '.join(names)}" for what, names in shown.items() if names))


def probe(admin: Admin) -> Capabilities:
    """Find out.

    Raises:
        EngineUnavailableError: the account lacks what the engine cannot do without; it names all of it.
        DriverError: the server is lost meanwhile.
    """
    connection = admin.fresh()
    try:
        version = connection.version
        pins = frozenset(name for name, value in PINS if _runs(connection.run, alter_session(name, value)))
    finally:
        connection.close()
    major = int(version.split(".")[0])
    if major < OLDEST:
        raise EngineUnavailableError(
            f"Oracle {version} is too old: users without authentication need {OLDEST}c or later"
        )
    rights = {str(right) for (right,) in admin.query("SELECT privilege FROM session_privs")}
    unlisted = [right for right in sql.ADMIN_RIGHTS if right not in rights]
    lacking = [right for right in unlisted if right in INDISPENSABLE]
    lacking += [
        f"SELECT ON {view}"
        for view in sql.ADMIN_VIEWS
        if _read(admin, f"SELECT 1 FROM {view} WHERE 1 = 0") is None
    ]
    if lacking:
        raise EngineUnavailableError(
            f"the Oracle account {admin.login.user} lacks {', '.join(lacking)}: grant them,"
            " or name another account (docs/oracle-privileges.md)"
        )
    autonomous = bool(_value(admin, "SELECT SYS_CONTEXT('USERENV', 'CLOUD_SERVICE') FROM DUAL"))
    statistic = _value(admin, "SELECT statistic# FROM v$statname WHERE name = 'session logical reads'")
    measurable = statistic is not None and _read(admin, "SELECT 1 FROM v$sesstat WHERE 1 = 0") is not None
    return Capabilities(
        version=version,
        major=major,
        banner=str(_value(admin, "SELECT banner FROM v$version WHERE ROWNUM = 1") or f"Oracle {version}"),
        tablespace=str(
            _value(
                admin,
                "SELECT property_value FROM database_properties"
                " WHERE property_name = 'DEFAULT_PERMANENT_TABLESPACE'",
            )
            or "USERS"
        ),
        extended_strings=_parameter(admin, "max_string_size") == "EXTENDED",
        schema_rights=major >= SCHEMA_RIGHTS and "GRANT ANY SCHEMA PRIVILEGE" in rights,
        profile="CREATE PROFILE" in rights,
        reads_statistic=int(statistic) if measurable else None,
        autonomous=autonomous,
        cpus=int(_parameter(admin, "cpu_count") or WORKERS_LEAST),
        pins=pins,
        unlisted=tuple(unlisted),
    )


def _runs(run: Any, text: str) -> bool:
    try:
        run(text)
    except DriverError as error:
        if error.session_dead:
            raise
        return False
    return True


def _read(admin: Admin, text: str) -> list[tuple[Any, ...]] | None:
    """Rows, None where the account may not see them."""
    try:
        return admin.query(text)
    except DriverError as error:
        if error.session_dead:
            raise
        return None


def _value(admin: Admin, text: str) -> Any:
    rows = _read(admin, text)
    return rows[0][0] if rows else None


def _parameter(admin: Admin, name: str) -> str | None:
    value = _value(admin, f"SELECT value FROM v$parameter WHERE name = '{name}'")
    return None if value is None else str(value)
