"""What a graded program has no business with: packages, functions and statements, by dialect."""

from __future__ import annotations

from pytest_plsqlbench.bench.task import Dialect


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PACKAGES: dict[Dialect, dict[str, frozenset[str]]] = {
    "oracle": {
        "files": _words(
            "UTL_FILE DBMS_FILE_TRANSFER DBMS_XSLPROCESSOR DBMS_ADVISOR DBMS_DATAPUMP "
            "DBMS_BACKUP_RESTORE DBMS_LOGMNR"
        ),
        "network": _words(
            "UTL_HTTP UTL_TCP UTL_SMTP UTL_MAIL UTL_INADDR DBMS_LDAP DBMS_NETWORK_ACL_ADMIN "
            "DBMS_CLOUD DBMS_AQ APEX_WEB_SERVICE"
        ),
        "jobs": _words("DBMS_SCHEDULER DBMS_JOB DBMS_PARALLEL_EXECUTE DBMS_AQADM"),
        "sessions": _words(
            "DBMS_PIPE DBMS_ALERT DBMS_LOCK DBMS_SYSTEM DBMS_MONITOR DBMS_SUPPORT DBMS_SERVICE"
        ),
        "privileges": _words(
            "DBMS_SYS_SQL DBMS_RLS DBMS_FGA DBMS_MACADM DBMS_REDACT DBMS_JAVA DBMS_SCHEMA_COPY"
        ),
    },
    "postgres": {},
}
"""Packages, by what they reach. Sources: Oracle PL/SQL Packages and Types Reference."""

FUNCTIONS: dict[Dialect, dict[str, frozenset[str]]] = {
    "oracle": {
        "files": _words("BFILENAME"),
        "network": _words("HTTPURITYPE DBURITYPE"),
    },
    "postgres": {
        "files": _words(
            "PG_READ_FILE PG_READ_BINARY_FILE PG_LS_DIR PG_STAT_FILE PG_LS_LOGDIR PG_LS_WALDIR "
            "PG_LS_TMPDIR PG_FILE_WRITE PG_FILE_UNLINK PG_FILE_RENAME LO_IMPORT LO_EXPORT "
            "PG_CURRENT_LOGFILE"
        ),
        "network": _words(
            "DBLINK DBLINK_CONNECT DBLINK_EXEC DBLINK_OPEN DBLINK_SEND_QUERY POSTGRES_FDW_HANDLER PG_NOTIFY"
        ),
        "sessions": _words(
            "PG_TERMINATE_BACKEND PG_CANCEL_BACKEND PG_RELOAD_CONF PG_ROTATE_LOGFILE PG_PROMOTE "
            "PG_SWITCH_WAL PG_CREATE_RESTORE_POINT PG_LOGICAL_EMIT_MESSAGE"
        ),
    },
}
"""Functions, by what they reach. Sources: PostgreSQL manual, 9.28; Oracle SQL Language Reference."""

STATEMENTS: dict[Dialect, dict[str, tuple[tuple[str, ...], ...]]] = {
    "oracle": {
        "users": (
            ("CREATE", "USER"), ("ALTER", "USER"), ("DROP", "USER"), ("CREATE", "ROLE"), ("ALTER", "ROLE"),
            ("DROP", "ROLE"), ("CREATE", "PROFILE"), ("ALTER", "PROFILE"), ("DROP", "PROFILE"),
            ("SET", "ROLE"),
        ),
        "privileges": (("GRANT",), ("REVOKE",), ("AUDIT",), ("NOAUDIT",), ("ADMINISTER",)),
        "system": (
            ("ALTER", "SYSTEM"), ("ALTER", "DATABASE"), ("ALTER", "PLUGGABLE"), ("CREATE", "DATABASE"),
            ("CREATE", "PLUGGABLE"), ("DROP", "DATABASE"), ("DROP", "PLUGGABLE"), ("CREATE", "TABLESPACE"),
            ("ALTER", "TABLESPACE"), ("DROP", "TABLESPACE"), ("FLASHBACK", "DATABASE"),
            ("CREATE", "CONTROLFILE"),
            ("CREATE", "SPFILE"), ("CREATE", "PFILE"), ("CREATE", "UNDO"),
        ),
        "files": (("CREATE", "DIRECTORY"), ("CREATE", "LIBRARY"), ("CREATE", "JAVA"), ("DROP", "DIRECTORY")),
        "network": (("CREATE", "PUBLIC", "DATABASE", "LINK"), ("CREATE", "SHARED", "DATABASE", "LINK")),
        "sessions": (("ALTER", "SESSION", "SET", "CURRENT_SCHEMA"), ("ALTER", "SESSION", "SET", "CONTAINER")),
    },
    "postgres": {
        "users": (
            ("CREATE", "USER"), ("ALTER", "USER"), ("DROP", "USER"), ("CREATE", "ROLE"), ("ALTER", "ROLE"),
            ("DROP", "ROLE"), ("CREATE", "GROUP"), ("ALTER", "GROUP"), ("DROP", "GROUP"), ("DROP", "OWNED"),
            ("REASSIGN", "OWNED"), ("SET", "ROLE"), ("SET", "SESSION", "AUTHORIZATION"),
            ("SET", "LOCAL", "ROLE"), ("RESET", "ROLE"), ("RESET", "SESSION", "AUTHORIZATION"),
        ),
        "privileges": (
            ("GRANT",), ("REVOKE",), ("ALTER", "DEFAULT", "PRIVILEGES"), ("SECURITY", "LABEL"),
        ),
        "system": (
            ("ALTER", "SYSTEM"), ("ALTER", "DATABASE"), ("CREATE", "DATABASE"), ("DROP", "DATABASE"),
            ("CREATE", "TABLESPACE"), ("ALTER", "TABLESPACE"), ("DROP", "TABLESPACE"),
            ("CREATE", "EXTENSION"),
            ("ALTER", "EXTENSION"), ("DROP", "EXTENSION"), ("CREATE", "LANGUAGE"), ("DROP", "LANGUAGE"),
            ("LOAD",), ("CHECKPOINT",), ("CREATE", "EVENT", "TRIGGER"), ("CREATE", "ACCESS", "METHOD"),
            ("PREPARE", "TRANSACTION"), ("COMMIT", "PREPARED"), ("ROLLBACK", "PREPARED"),
        ),
        "files": (("COPY",),),
        "network": (
            ("CREATE", "SERVER"), ("CREATE", "FOREIGN"), ("CREATE", "SUBSCRIPTION"),
            ("CREATE", "PUBLICATION"),
            ("IMPORT", "FOREIGN"), ("NOTIFY",), ("LISTEN",),
        ),
        "sessions": (("DISCARD",),),
    },
}  # fmt: skip
"""Statements, by their first words (OR REPLACE and the like passed over)."""

LANGUAGES = _words("c internal plpython3u plpythonu plpython2u plperlu pltclu plsh plv8u")
"""PostgreSQL languages whose routines leave the database's bounds."""

EXPLANATIONS = {
    "users": "users, roles and profiles are not the program's to change",
    "privileges": "privileges are not the program's to change",
    "system": "the server is not the program's to change",
    "files": "files are out of bounds",
    "network": "the network and other databases are out of bounds",
    "jobs": "jobs would outlive the test",
    "sessions": "other sessions, and whose session this is, are out of bounds",
    "foreign_object": "the object is not the program's own",
    "foreign_schema": "the schema is not the program's own",
    "system_trigger": "triggers on the schema or database would fire for others",
    "language": "routines in this language leave the database's bounds",
    "read_only_dml": "the task only reads: rows of given tables must stay as they are",
    "read_only_lock": "the task only reads: it takes no locks",
    "dynamic_sql": "built at run time: not judged",
}
"""Rule → why."""
