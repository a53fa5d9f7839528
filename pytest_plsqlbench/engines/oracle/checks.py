"""How each assumption is tried on a server. Each function says whether it holds, and what was seen."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise
from typing import NamedTuple

from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.bench import Bench
from pytest_plsqlbench.engines.oracle.cells import cell, number_text
from pytest_plsqlbench.engines.oracle.facts import NAME_TAKEN
from pytest_plsqlbench.engines.oracle.names import CONTROL, quoted
from pytest_plsqlbench.engines.oracle.pins import PINS
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.provisioning import DataObject

LIMIT_SECONDS = 2.0
"""Limit of the calls that must be ended."""
_LOOP = "DECLARE n NUMBER := 0; BEGIN LOOP n := MOD(n + 1, 1000); END LOOP; END;\n/"
_CATCHING = """DECLARE
  cancelled EXCEPTION; PRAGMA EXCEPTION_INIT(cancelled, -1013);
  n NUMBER := 0;
BEGIN
  LOOP
    BEGIN
      LOOP n := MOD(n + 1, 1000); END LOOP;
    EXCEPTION WHEN cancelled THEN NULL;
    END;
  END LOOP;
END;
/"""


class Finding(NamedTuple):
    """What a check found."""

    holds: bool
    seen: str


def login(bench: Bench) -> Finding:
    """A graded user logs in through the proxy."""
    bench.ready()
    seconds = bench.timed(bench.session)
    name = bench.play("SELECT USER FROM DUAL;").results[0].rows[0][0]
    return Finding(
        name == ("text", bench.account.name), f"logged in as {name[1] if name else '?'} in {seconds:.2f} s"
    )


def session_numbers(bench: Bench) -> Finding:
    """SID and serial number of the driver lead to the row of V$SESSION."""
    bench.ready()
    sid, serial = bench.session().sid
    rows = bench.admin.query(
        "SELECT serial# FROM v$session WHERE sid = :1 AND username = :2", (sid, bench.account.name)
    )
    found = int(rows[0][0]) if rows else -1
    return Finding(
        bool(rows) and found & 0xFFFF == serial & 0xFFFF, f"driver {sid},{serial}; server serial {found}"
    )


def pins(bench: Bench) -> Finding:
    """All session settings are known and allowed."""
    missing = sorted({name for name, _ in PINS} - bench.capabilities.pins)
    return Finding(not missing, f"refused: {', '.join(missing)}" if missing else f"all {len(PINS)} accepted")


def output(bench: Bench) -> Finding:
    """Long, empty and late lines arrive, also after a failure."""
    bench.ready()
    seen = bench.play(
        "BEGIN DBMS_OUTPUT.PUT_LINE(RPAD('x', 32767, 'x')); DBMS_OUTPUT.PUT_LINE('');"
        " DBMS_OUTPUT.PUT_LINE(' a');"
        " RAISE_APPLICATION_ERROR(-20001, 'end'); END;\n/"
    )
    lengths = [len(line) for line in seen.lines]
    right = lengths == [32767, 0, 2] and seen.error is not None and seen.error.code == "ORA-20001"
    return Finding(right, f"lengths {lengths}, then {seen.error.code if seen.error else 'no error'}")


def output_limit(bench: Bench) -> Finding:
    """A program that prints too much gets ORA-20000 with ORU-10027, or is cut by us."""
    bench.ready()
    seen = bench.play(
        "BEGIN FOR i IN 1 .. 200000 LOOP DBMS_OUTPUT.PUT_LINE(RPAD('x', 1000, 'x')); END LOOP; END;\n/"
    )
    return Finding(
        seen.limit == "output_limit",
        f"limit {seen.limit}, {seen.error.message if seen.error else 'no error'}",
    )


def compile_errors(bench: Bench) -> Finding:
    """A unit with errors is created with a warning, and the dictionary tells line and column at once."""
    bench.ready()
    seen = bench.play("CREATE OR REPLACE\nPROCEDURE p IS\nBEGIN\n  nonsense;\nEND;\n/")
    entries = [(entry.code, entry.line, entry.column) for entry in seen.diagnostics]
    return Finding(entries[:1] == [("PLS-00201", 4, 3)], f"entries (code, line, column): {entries}")


def block_position(bench: Bench) -> Finding:
    """An anonymous block's compile error names line and column of the text sent."""
    bench.ready()
    seen = bench.play("BEGIN\n  nonsense;\nEND;\n/").error
    at = (seen.code, seen.line, seen.column) if seen else None
    return Finding(at == ("PLS-00201", 2, 3), f"code, line, column: {at}")


def label_first(bench: Bench) -> Finding:
    """A block that begins with a label runs when it is wrapped."""
    bench.ready()
    seen = bench.play("<<a>>\nDECLARE n NUMBER := 1; BEGIN DBMS_OUTPUT.PUT_LINE(a.n); END;\n/")
    return Finding(seen.lines == ("1",), seen.error.message if seen.error else f"printed {seen.lines}")


def timeout_loop(bench: Bench) -> Finding:
    """A spinning loop ends at its time limit."""
    return _ends(bench, _LOOP)


def timeout_sleep(bench: Bench) -> Finding:
    """A sleeping session ends at its time limit, if need be by kill."""
    return _ends(bench, "BEGIN DBMS_SESSION.SLEEP(60); END;\n/")


def timeout_caught(bench: Bench) -> Finding:
    """A loop that catches the cancellation ends all the same."""
    return _ends(bench, _CATCHING)


def _ends(bench: Bench, text: str) -> Finding:
    bench.ready()
    found = []
    seconds = bench.timed(lambda: found.append(bench.play(text, LIMIT_SECONDS)))
    code = found[0].error.code if found[0].error else "none"
    gone = not bench.admin.sessions_of(bench.account.name)
    return Finding(
        found[0].limit == "time_limit" and gone and seconds < 20,
        f"{code}, {seconds:.1f} s for a limit of {LIMIT_SECONDS:g} s, gone: {gone}",
    )


def self_kill(bench: Bench) -> Finding:
    """A program that ends its own session is told from an outage."""
    bench.ready()
    seen = bench.play("DECLARE e EXCEPTION; PRAGMA EXCEPTION_INIT(e, -3113); BEGIN RAISE e; END;\n/")
    code = seen.error.code if seen.error else "none"
    return Finding(seen.error is not None, f"{code}, session lost: {seen.lost}")


def clean_up(bench: Bench) -> Finding:
    """Every kind of object can be dropped by the administrator; nothing is left."""
    bench.ready(rights=True)
    errors = [
        code
        for text in (
            "CREATE TABLE t (id NUMBER GENERATED ALWAYS AS IDENTITY, c CLOB)",
            "CREATE SEQUENCE s",
            "CREATE VIEW v AS SELECT id FROM t",
            "CREATE TYPE a AS OBJECT (n NUMBER)",
            "CREATE TYPE b AS TABLE OF a",
            "CREATE PROCEDURE p IS BEGIN NULL; END;",
            "CREATE FUNCTION f RETURN NUMBER IS BEGIN RETURN 1; END;",
            "CREATE PACKAGE k IS n NUMBER; END;",
            "CREATE PACKAGE BODY k IS BEGIN n := 1; END;",
        )
        if (code := bench.raw(text))
    ]
    name = bench.account.name
    bench.end()
    seconds = bench.timed(bench.account.clean)
    kept = bench.account.exists and bench.account.name == name
    return Finding(kept and not errors, f"{seconds:.1f} s, user kept: {kept}, errors: {errors or 'none'}")


def rights(bench: Bench) -> Finding:
    """A graded user can do no more than it should."""
    bench.ready()
    refused = {
        text: bench.raw(text)
        for text in (
            "CREATE TABLE t (n NUMBER)",
            "CREATE TRIGGER t AFTER LOGON ON SCHEMA BEGIN NULL; END;",
            "BEGIN EXECUTE IMMEDIATE 'DROP USER system'; END;",
            "SELECT COUNT(*) FROM dba_users",
            "BEGIN DBMS_LOCK.SLEEP(0); END;",
        )
    }
    allowed = [text for text, code in refused.items() if not code]
    return Finding(
        not allowed, f"allowed: {allowed}" if allowed else f"refused with {sorted(set(refused.values()))}"
    )


def network(bench: Bench) -> Finding:
    """The network is closed to graded users."""
    bench.ready()
    seen = bench.play("SELECT UTL_INADDR.GET_HOST_ADDRESS('localhost') FROM DUAL;")
    return Finding(seen.error is not None, seen.error.code if seen.error else "a name was looked up")


def own_password(bench: Bench) -> Finding:
    """A user that gives itself a password loses it again."""
    bench.ready()
    code = bench.raw(f'ALTER USER {quoted(bench.account.name)} IDENTIFIED BY "aZ7xyzxyzxyzxyz"')
    bench.end()
    bench.account.release()
    kind = bench.value("SELECT authentication_type FROM dba_users WHERE username = :1", bench.account.name)
    return Finding(kind == "NONE", f"its own ALTER USER: {code or 'allowed'}; afterwards {kind}")


def reading(bench: Bench) -> Finding:
    """Data can be read from stored units, and neither changed nor locked."""
    item = _table(bench)
    bench.ready((item,))
    made = bench.play(f"CREATE FUNCTION f RETURN NUMBER IS n NUMBER; BEGIN SELECT COUNT(*) INTO n FROM"
    f" {item.name};"
                      " RETURN n; END;\n/\nSELECT f FROM DUAL;")  # fmt: skip
    change = bench.raw(f"DELETE FROM {item.name}")
    lock = bench.raw(f"SELECT * FROM {item.name} FOR UPDATE")
    right = made.error is None and bool(change) and bool(lock)
    error = made.error.code if made.error else "works"
    return Finding(
        right, f"reading in a unit: {error}; DELETE: {change or 'allowed'}; FOR UPDATE: {lock or 'allowed'}"
    )


def marks(bench: Bench) -> Finding:
    """Committed changes move a table's marks."""
    _table(bench)
    seen = []
    for text in sql.DOCTOR_CHANGES:
        seen.append(bench.admin.query(sql.DOCTOR_MARKS)[0])
        bench.admin.run(text)
        bench.admin.commit()
    seen.append(bench.admin.query(sql.DOCTOR_MARKS)[0])
    moved = all(one != two for one, two in pairwise(seen))
    return Finding(moved, f"marks after each change: {[tuple(map(str, mark)) for mark in seen]}")


def gates(bench: Bench) -> Finding:
    """Two sessions can share a gate; one that wants to be alone has to wait."""
    _table(bench)
    sessions = [bench.admin.fresh() for _ in sql.DOCTOR_LOCKS]
    refused = ""
    try:
        for session, text in zip(sessions, sql.DOCTOR_LOCKS, strict=True):
            session.run(text)
    except DriverError as error:
        refused = f"ORA-{error.code:05d}"
    finally:
        for session in sessions:
            session.close()
    return Finding(
        refused in {"ORA-00054", "ORA-30006"}, f"the third was refused with {refused or 'nothing'}"
    )


def stale_state(bench: Bench) -> Finding:
    """A recompiled package costs one repetition, not the test."""
    bench.ready()
    package = "CREATE OR REPLACE PACKAGE k IS n NUMBER := {}; END;\n/\nBEGIN k.n := k.n + 1; END;\n/\n"
    seen = bench.play(package.format(1) + package.format(2))
    return Finding(seen.error is None, seen.error.code if seen.error else "played without an error")


def number_texts(bench: Bench) -> Finding:
    """NUMBER prints as the expected rows of Spider are written."""
    values = (
        "0",
        "0.5",
        "-0.25",
        "100",
        "1E39",
        "1E40",
        "1E125",
        "1E-39",
        "1E-41",
        "-123.456",
        "1/3",
        "1E-130",
    )
    bad = []
    for value in values:
        number, text = bench.admin.query(f"SELECT {value}, TO_CHAR({value}) FROM DUAL")[0]
        ours = number_text(Decimal(number))
        if ours != text:
            bad.append(f"{value}: {text} by the server, {ours} by us")
    return Finding(not bad, "; ".join(bad) or f"{len(values)} values alike")


def double_texts(bench: Bench) -> Finding:
    """BINARY_DOUBLE likewise."""
    bad = []
    for value in ("0.1d", "1.5d", "1e300d", "-2d", "BINARY_DOUBLE_INFINITY", "BINARY_DOUBLE_NAN"):
        number, text = bench.admin.query(f"SELECT {value}, TO_CHAR({value}) FROM DUAL")[0]
        ours = cell(number, "BINARY_DOUBLE")
        if ours is None or ours[1] != text:
            bad.append(f"{value}: {text} by the server, {ours} by us")
    return Finding(not bad, "; ".join(bad) or "alike")


def time_zones(bench: Bench) -> Finding:
    """What the driver makes of a timestamp with time zone."""
    bench.ready()
    seen = bench.play("SELECT TIMESTAMP '2024-02-29 10:00:00 +02:00' FROM DUAL;")
    found = seen.results[0].rows[0][0] if seen.results else None
    expected = ("timestamptz", "2024-02-29 10:00:00+02:00")
    return Finding(found == expected, f"{found}")


def measured_work(bench: Bench) -> Finding:
    """Logical reads of a session can be read from outside, and grow."""
    bench.ready()
    session = bench.session()
    before = session.reads()
    bench.play("SELECT COUNT(*) FROM all_objects WHERE ROWNUM < 100;")
    after = session.reads()
    return Finding(before is not None and after is not None and after > before, f"{before} → {after}")


def profile(bench: Bench) -> Finding:
    """The profile is there and enforced."""
    enforced = bench.value("SELECT value FROM v$parameter WHERE name = 'resource_limit'")
    return Finding(bench.capabilities.profile and enforced == "TRUE", f"RESOURCE_LIMIT is {enforced}")


def strings(bench: Bench) -> Finding:
    """Wide VARCHAR2 columns are possible."""
    wide = bench.capabilities.extended_strings
    return Finding(wide, f"MAX_STRING_SIZE is {'EXTENDED' if wide else 'STANDARD'}")


def schema_rights(bench: Bench) -> Finding:
    """Rights on whole schemas can be granted."""
    return Finding(bench.capabilities.schema_rights, f"Oracle {bench.capabilities.version}")


def _table(bench: Bench) -> DataObject:
    for text in sql.create_control(bench.capabilities.tablespace):
        bench.admin.tolerate(text, NAME_TAKEN)
    bench.admin.tolerate(sql.DOCTOR_CREATE, NAME_TAKEN)
    return DataObject(CONTROL, sql.DOCTOR_TABLE, "TABLE")


def remove_table(bench: Bench) -> None:
    """Drop what ``reading``, ``marks`` and ``gates`` have used."""
    bench.admin.tolerate(sql.DOCTOR_DROP, frozenset((942,)))
