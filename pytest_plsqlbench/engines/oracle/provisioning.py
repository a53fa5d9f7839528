"""Every statement that creates, grants, alters or drops something on the server. Texts only, nothing is run.

docs/oracle-privileges.md is generated from these functions (``privileges``), so that a DBA can review them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pytest_plsqlbench.engines.oracle.names import CONTROL, PROFILE, gate_name, keep_name, literal, quoted

BASE_RIGHTS = ("CREATE SESSION", "CREATE PROCEDURE", "CREATE TYPE")
"""What a graded user always has. No role: what comes through a role does not count in stored units."""
NEEDED_RIGHTS = (
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE SEQUENCE",
    "CREATE TRIGGER",
    "CREATE MATERIALIZED VIEW",
    "CREATE SYNONYM",
)
"""What a graded user gets for one play only, where the text of that play creates such things."""
QUOTA_MB = 256
"""Space of a graded user while it may create tables."""
CPU_CENTISECONDS = 90_000
READS_PER_CALL = 1_000_000_000
"""Backstops for sessions whose client has died: the watchdog is the real limit."""
CALL_MINUTES = 240

ADMIN_RIGHTS = (
    "CREATE SESSION", "CREATE USER", "ALTER USER", "DROP USER", "ALTER SYSTEM", "GRANT ANY PRIVILEGE",
    "GRANT ANY OBJECT PRIVILEGE", "CREATE ANY TABLE", "ALTER ANY TABLE", "DROP ANY TABLE", "SELECT ANY TABLE",
    "INSERT ANY TABLE", "UPDATE ANY TABLE", "DELETE ANY TABLE", "LOCK ANY TABLE", "CREATE ANY INDEX",
    "CREATE ANY VIEW", "DROP ANY VIEW", "CREATE ANY SYNONYM", "DROP ANY SYNONYM", "CREATE ANY SEQUENCE",
    "ALTER ANY SEQUENCE", "DROP ANY SEQUENCE", "CREATE ANY PROCEDURE", "ALTER ANY PROCEDURE",
    "DROP ANY PROCEDURE",
    "CREATE ANY TYPE", "ALTER ANY TYPE", "DROP ANY TYPE", "CREATE ANY TRIGGER", "ALTER ANY TRIGGER",
    "DROP ANY TRIGGER",
)  # fmt: skip
"""System privileges that the administrating account must have; SYSTEM and Autonomous' ADMIN have them."""
ADMIN_VIEWS = (
    "DBA_USERS", "DBA_OBJECTS", "DBA_ERRORS", "DBA_TAB_COLS", "DBA_CONSTRAINTS", "DBA_SEQUENCES",
    "DBA_TRIGGERS", "V$SESSION",
)  # fmt: skip
"""Views it must be able to read."""


# -- control: once a server
# -------------------------------------------------------------------------------------


def create_control(tablespace: str) -> list[str]:
    """The register of loaded data."""
    owner = quoted(CONTROL)
    table = (
        f'CREATE TABLE {owner}."DATA" (owner VARCHAR2(128) PRIMARY KEY, database VARCHAR2(128) NOT NULL,'
        " fingerprint VARCHAR2(64) NOT NULL, state VARCHAR2(10) NOT NULL, detail VARCHAR2(2000),"
        " loaded TIMESTAMP DEFAULT SYSTIMESTAMP NOT NULL)"
    )
    return [
        f"CREATE USER {owner} NO AUTHENTICATION",
        f"ALTER USER {owner} QUOTA UNLIMITED ON {quoted(tablespace)}",
        table,
    ]


def create_gate(owner: str) -> str:
    """The table whose lock guards a data owner: SHARE to read, EXCLUSIVE to load, write or restore."""
    return f"CREATE TABLE {quoted(CONTROL)}.{quoted(gate_name(owner))} (n NUMBER)"


def drop_gate(owner: str) -> str:
    """Drop it with its data owner."""
    return f"DROP TABLE {quoted(CONTROL)}.{quoted(gate_name(owner))} PURGE"


def lock_gate(owner: str, *, alone: bool, seconds: int) -> str:
    """Wait for a gate."""
    mode = "EXCLUSIVE" if alone else "SHARE"
    return f"LOCK TABLE {quoted(CONTROL)}.{quoted(gate_name(owner))} IN {mode} MODE WAIT {seconds}"


_REGISTER = f'{quoted(CONTROL)}."DATA"'
REGISTER_READ = (
    "SELECT owner, database, fingerprint, state, detail, TO_CHAR(loaded, 'YYYY-MM-DD HH24:MI:SS.FF6')"
    f" FROM {_REGISTER} WHERE owner = :1"
)
REGISTER_ALL = f"SELECT owner FROM {_REGISTER} ORDER BY owner"
REGISTER_ENTER = (
    f"INSERT INTO {_REGISTER} (owner, database, fingerprint, state) VALUES (:1, :2, :3, 'loading')"
)
REGISTER_STATE = f"UPDATE {_REGISTER} SET state = :1, detail = :2 WHERE owner = :3"
REGISTER_REMOVE = f"DELETE FROM {_REGISTER} WHERE owner = :1"


def create_profile() -> str:
    """Limits of graded users."""
    return (
        f"CREATE PROFILE {PROFILE} LIMIT SESSIONS_PER_USER 4 CPU_PER_CALL {CPU_CENTISECONDS}"
        f" LOGICAL_READS_PER_CALL {READS_PER_CALL} CONNECT_TIME {CALL_MINUTES} IDLE_TIME 60"
        " FAILED_LOGIN_ATTEMPTS UNLIMITED PASSWORD_LIFE_TIME UNLIMITED"
    )


def enforce_profiles() -> str:
    """Profiles limit nothing while this is off; servers differ in its default."""
    return "ALTER SYSTEM SET RESOURCE_LIMIT = TRUE"


# -- users of a lane
# ----------------------------------------------------------------------------------------------


def create_proxy(user: str, password: str) -> list[str]:
    """The only user with a password; it can do nothing but log in for the graded ones."""
    return [
        f'CREATE USER {quoted(user)} IDENTIFIED BY "{password}"',
        f"GRANT CREATE SESSION TO {quoted(user)}",
    ]


def create_graded(user: str, proxy: str, *, profile: bool) -> list[str]:
    """A user that owns and runs programs of one side."""
    limits = f" PROFILE {PROFILE}" if profile else ""
    return [
        f"CREATE USER {quoted(user)} NO AUTHENTICATION{limits}",
        f"GRANT {', '.join(BASE_RIGHTS)} TO {quoted(user)}",
        connect_through(user, proxy),
    ]


def connect_through(user: str, proxy: str) -> str:
    """Let the proxy log in for a graded user."""
    return f"ALTER USER {quoted(user)} GRANT CONNECT THROUGH {quoted(proxy)}"


def forget_password(user: str) -> str:
    """Take away a password that a program has given its own user."""
    return f"ALTER USER {quoted(user)} NO AUTHENTICATION"


def grant_rights(user: str, rights: Iterable[str]) -> str:
    """Rights for one play."""
    return f"GRANT {', '.join(rights)} TO {quoted(user)}"


def revoke_rights(user: str, rights: Iterable[str]) -> str:
    """Take them back."""
    return f"REVOKE {', '.join(rights)} FROM {quoted(user)}"


def set_quota(user: str, tablespace: str, megabytes: int) -> str:
    """Space for own tables; 0 takes it back."""
    size = f"{megabytes}M" if megabytes else "0"
    return f"ALTER USER {quoted(user)} QUOTA {size} ON {quoted(tablespace)}"


def drop_user(user: str) -> str:
    """Drop a user with all it owns."""
    return f"DROP USER {quoted(user)} CASCADE"


def kill_session(sid: int, serial: int) -> str:
    """End a session at once."""
    return f"ALTER SYSTEM KILL SESSION '{sid},{serial}' IMMEDIATE"


# -- rights on data
# -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DataObject:
    """Something in a data owner's schema that programs may use."""

    owner: str
    name: str
    type: str
    """As DBA_OBJECTS names it."""


_READ = {"TABLE": "READ", "VIEW": "READ", "MATERIALIZED VIEW": "READ", "SEQUENCE": "SELECT"}
_READ_ANY = {"TABLE": "READ ANY TABLE", "VIEW": "READ ANY TABLE", "MATERIALIZED VIEW": "READ ANY TABLE"}
_READ_ANY |= {"SEQUENCE": "SELECT ANY SEQUENCE"}
_EXECUTABLE = frozenset(("FUNCTION", "PROCEDURE", "PACKAGE", "TYPE"))
WRITE = ("SELECT", "INSERT", "UPDATE", "DELETE")
USABLE_TYPES = frozenset(_READ) | _EXECUTABLE


def data_grants(
    user: str,
    objects: Iterable[DataObject],
    what: Literal["read", "write"],
    *,
    by_schema: bool,
    undo: bool = False,
) -> list[str]:
    """Rights on data, given to the user itself. READ, unlike SELECT, cannot lock what others read.

    Args:
        user: the graded user.
        objects: of the data owners.
        what: ``write``: rows of tables, on top of reading; a play that has it runs alone on this data.
        by_schema: the server knows rights on whole schemas (23ai).
        undo: REVOKE instead of GRANT.
    """
    by_target: dict[str, dict[str, None]] = {}
    for item in objects:
        target = f"SCHEMA {quoted(item.owner)}" if by_schema else f"{quoted(item.owner)}.{quoted(item.name)}"
        for right in _rights(item.type, what, by_schema=by_schema):
            by_target.setdefault(target, {})[right] = None
    verb, preposition = ("REVOKE", "FROM") if undo else ("GRANT", "TO")
    return [
        f"{verb} {', '.join(names)} ON {target} {preposition} {quoted(user)}"
        for target, names in by_target.items()
    ]


def _rights(kind: str, what: Literal["read", "write"], *, by_schema: bool) -> list[str]:
    if what == "write":
        verbs = WRITE if kind == "TABLE" else ()
        return [f"{verb} ANY TABLE" if by_schema else verb for verb in verbs]
    if kind in _EXECUTABLE:
        any_kind = "TYPE" if kind == "TYPE" else "PROCEDURE"
        return [f"EXECUTE ANY {any_kind}" if by_schema else "EXECUTE"]
    return [_READ_ANY[kind] if by_schema else _READ[kind]]


def create_synonym(user: str, item: DataObject) -> str:
    """Let a program name the object without its schema."""
    return f"CREATE SYNONYM {quoted(user)}.{quoted(item.name)} FOR {quoted(item.owner)}.{quoted(item.name)}"


# -- data owners
# --------------------------------------------------------------------------------------------------


def create_data_owner(owner: str, tablespace: str) -> list[str]:
    """A user that owns data and cannot log in."""
    return [
        f"CREATE USER {quoted(owner)} NO AUTHENTICATION",
        f"ALTER USER {quoted(owner)} QUOTA UNLIMITED ON {quoted(tablespace)}",
    ]


def gather_statistics(owner: str) -> list[str]:
    """Statistics, once; then locked, so that plans are alike for all workers."""
    name = literal(quoted(owner))
    return [
        f"BEGIN SYS.DBMS_STATS.GATHER_SCHEMA_STATS(ownname => {name}, no_invalidate => FALSE); END;",
        f"BEGIN SYS.DBMS_STATS.LOCK_SCHEMA_STATS(ownname => {name}); END;",
    ]


def keep_table(owner: str, table: str) -> str:
    """An untouched copy, from which rows are restored."""
    return (
        f"CREATE TABLE {quoted(keep_name(owner))}.{quoted(table)} AS"
        f" SELECT * FROM {quoted(owner)}.{quoted(table)}"
    )


def keep_sequences(owner: str) -> str:
    """Where the sequences stand, beside the copies."""
    return (
        f'CREATE TABLE {quoted(keep_name(owner))}."PLB$SEQUENCES" AS SELECT sequence_name, last_number'
        f" FROM dba_sequences WHERE sequence_owner = {literal(owner)}"
    )


def restore_table(owner: str, table: str, columns: Iterable[str]) -> list[str]:
    """Rows as they were."""
    names = ", ".join(map(quoted, columns))
    target = f"{quoted(owner)}.{quoted(table)}"
    return [
        f"DELETE FROM {target}",
        f"INSERT INTO {target} ({names}) SELECT {names} FROM {quoted(keep_name(owner))}.{quoted(table)}",
    ]


def switch_constraint(owner: str, table: str, name: str, *, on: bool) -> str:
    """Foreign keys are off while rows are restored table by table."""
    verb = "ENABLE" if on else "DISABLE"
    return f"ALTER TABLE {quoted(owner)}.{quoted(table)} {verb} CONSTRAINT {quoted(name)}"


def switch_triggers(owner: str, table: str, *, on: bool) -> str:
    """Triggers of data tables are off while rows are restored."""
    return f"ALTER TABLE {quoted(owner)}.{quoted(table)} {'ENABLE' if on else 'DISABLE'} ALL TRIGGERS"


def restart_sequence(owner: str, name: str, start: int) -> str:
    """The next value as it was."""
    return f"ALTER SEQUENCE {quoted(owner)}.{quoted(name)} RESTART START WITH {start}"


# -- doctor -----------------------------------------------------------------------------------------

DOCTOR_TABLE = "PLB$DOCTOR"
"""Table of the register's user on which ``plsqlbench doctor`` tries rights, marks and locks."""
_DOCTOR = f"{quoted(CONTROL)}.{quoted(DOCTOR_TABLE)}"
DOCTOR_CREATE = f"CREATE TABLE {_DOCTOR} (n NUMBER)"
DOCTOR_DROP = f"DROP TABLE {_DOCTOR} PURGE"
DOCTOR_CHANGES = (
    f"INSERT INTO {_DOCTOR} VALUES (1)",
    f"UPDATE {_DOCTOR} SET n = 2",
    f"DELETE FROM {_DOCTOR}",
)
DOCTOR_MARKS = f"SELECT COUNT(*), MAX(ORA_ROWSCN) FROM {_DOCTOR}"
DOCTOR_LOCKS = tuple(
    f"LOCK TABLE {_DOCTOR} IN {mode} MODE WAIT 1" for mode in ("SHARE", "SHARE", "EXCLUSIVE")
)


# -- objects of programs
# ------------------------------------------------------------------------------------------

DROPS: dict[str, tuple[int, str]] = {
    "JOB": (0, ""),
    "TRIGGER": (1, "DROP TRIGGER {}"),
    "MATERIALIZED VIEW": (2, "DROP MATERIALIZED VIEW {}"),
    "VIEW": (3, "DROP VIEW {} CASCADE CONSTRAINTS"),
    "PACKAGE": (4, "DROP PACKAGE {}"),
    "PROCEDURE": (4, "DROP PROCEDURE {}"),
    "FUNCTION": (4, "DROP FUNCTION {}"),
    "TABLE": (5, "DROP TABLE {} CASCADE CONSTRAINTS PURGE"),
    "TYPE": (6, "DROP TYPE {} FORCE"),
    "SEQUENCE": (7, "DROP SEQUENCE {}"),
    "SYNONYM": (8, "DROP SYNONYM {}"),
}
"""Order and form of drops. Bodies, indexes and LOBs go with what they belong to, and so do the sequences of
identity columns (ISEQ$$…), which cannot be dropped by name."""


def drop_order(kind: str, name: str) -> int | None:
    """When an object is to be dropped; None for what goes along with something else, or cannot be dropped."""
    if kind not in DROPS or (kind == "SEQUENCE" and name.startswith("ISEQ$$")):
        return None
    return DROPS[kind][0]


def drop_object(owner: str, kind: str, name: str) -> str:
    """Drop one object."""
    target = f"{quoted(owner)}.{quoted(name)}"
    if kind == "JOB":
        return f"BEGIN SYS.DBMS_SCHEDULER.DROP_JOB({literal(target)}, force => TRUE); END;"
    return DROPS[kind][1].format(target)


_COMPILED = {"PACKAGE BODY": ("PACKAGE", " BODY"), "TYPE BODY": ("TYPE", " BODY")}
COMPILED_TYPES = frozenset(
    ("PROCEDURE", "FUNCTION", "PACKAGE", "PACKAGE BODY", "TYPE", "TYPE BODY", "TRIGGER", "VIEW")
)


def compile_object(owner: str, kind: str, name: str) -> str:
    """Compile once more, as the server itself would at the next use."""
    what, part = _COMPILED.get(kind, (kind, ""))
    return f"ALTER {what} {quoted(owner)}.{quoted(name)} COMPILE{part}"
