"""A double of python-oracledb, at the level of connections and cursors, over a small model of a server.

It replays what the driver is documented to do: error objects, compile warnings, call time-outs that either
leave the session alive or cut it, killed sessions, DBMS_OUTPUT arrays, LOBs, cursors. Error objects are the
driver's own class, so its renaming of codes is the real one. Statements of programs answer as the test says
(``on``); our own statements are understood by the model, and anything else is an error of the double.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import oracledb
from oracledb import errors

from pytest_plsqlbench.engines.oracle import provisioning
from pytest_plsqlbench.engines.oracle.names import gate_name

SERVICE = "localhost:1521/FREEPDB1"
CONNINFO = f"oracle://system:secret@{SERVICE}"


def ora(code: int, message: str = "", offset: int = 0) -> oracledb.Error:
    """An error of the server, as the driver raises it."""
    detail = errors._Error(f"ORA-{code:05d}: {message or 'message'}", code=code, offset=offset)
    return detail.exc_type(detail)


def dpy(number: int, text: str = "message", more: str = "") -> oracledb.Error:
    """An error of the driver."""
    detail = errors._Error(f"DPY-{number:04d}: {text}" + (f"\n{more}" if more else ""))
    return detail.exc_type(detail)


@dataclass
class Result:
    """Columns (name, driver type) and rows."""

    columns: list[tuple[str, Any]]
    rows: list[tuple[Any, ...]]
    fails_after: oracledb.Error | None = None
    """Raised once the rows are fetched."""


@dataclass
class Reply:
    """How a statement of a program answers."""

    lines: Sequence[str | None] = ()
    result: Result | None = None
    error: Exception | None = None
    warning: bool = False
    implicit: Sequence[Result] = ()
    binds: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    breakable: bool = True
    """Whether a break ends the call; a sleep or lock wait goes on."""
    dies: bool = False
    """The call ends its own session with this reply's error."""
    effect: Callable[[FakeConnection], None] | None = None
    times: int | None = None
    """How often this reply is given; None: always."""


@dataclass
class FakeObject:
    """A row of DBA_OBJECTS."""

    owner: str
    kind: str
    name: str
    number: int
    changed: str = "t0"
    valid: bool = True
    entries: list[tuple[int, int, str]] = field(default_factory=list)
    """Line, position, text of DBA_ERRORS."""


@dataclass
class FakeTable:
    """A table of a data owner."""

    columns: list[tuple[str, str]]
    rows: list[tuple[Any, ...]]
    scn: int = 1


class FakeVar:
    """A bind variable."""

    def __init__(self, typ: Any, size: int = 0, count: int = 1) -> None:
        self.typ, self.size, self.count = typ, size, count
        self.value: Any = None
        self.encoding_errors: str | None = None

    def setvalue(self, _position: int, value: Any) -> None:
        self.value = value

    def getvalue(self) -> Any:
        return self.value


class FakeDescription:
    """What the driver says of a column."""

    def __init__(self, name: str, type_code: Any) -> None:
        self.name, self.type_code = name, type_code


class FakeCursor:
    """A cursor."""

    def __init__(self, connection: FakeConnection, result: Result | None = None) -> None:
        self.connection = connection
        self.arraysize = 100
        self.warning: Any = None
        self.closed = False
        self.sizes: tuple[Any, ...] = ()
        self.description: list[FakeDescription] | None = None
        self._implicit: list[Result] = []
        self._result: Result | None = None
        self._position = 0
        if result is not None:
            self._open(result)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, result: Result) -> None:
        self._result, self._position = result, 0
        self.description = [FakeDescription(name, kind) for name, kind in result.columns]
        handler = self.connection.outputtypehandler
        if handler is not None:
            for column in self.description:
                handler(self, column)

    def execute(self, text: str, parameters: Any = None, *, fetch_lobs: bool | None = None) -> None:
        self.warning = None
        self._result = self.description = None
        self._implicit = []
        reply = self.connection.perform(text, parameters or {})
        if reply.warning:
            self.warning = errors._create_warning(errors.WRN_COMPILATION_ERROR)
        self._implicit = list(reply.implicit)
        if reply.result is not None:
            self._open(reply.result)

    def executemany(self, text: str, rows: list[list[Any]]) -> None:
        self.connection.perform_many(text, rows, self.sizes)

    def setinputsizes(self, *sizes: Any) -> None:
        self.sizes = sizes

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(1_000_000_000)

    def fetchmany(self, count: int) -> list[tuple[Any, ...]]:
        self.connection.check()
        assert self._result is not None
        rows = self._result.rows[self._position : self._position + count]
        self._position += len(rows)
        if self._result.fails_after is not None and len(rows) < count:
            raise self._result.fails_after
        return rows

    def getimplicitresults(self) -> list[FakeCursor]:
        return [FakeCursor(self.connection, result) for result in self._implicit]

    def var(
        self, typ: Any, size: int = 0, arraysize: int = 1, *, encoding_errors: str | None = None
    ) -> FakeVar:
        made = FakeVar(typ, size, arraysize)
        made.encoding_errors = encoding_errors
        return made

    def arrayvar(self, typ: Any, value: int, size: int = 0) -> FakeVar:
        return FakeVar(typ, size, value)

    def close(self) -> None:
        self.connection.check()
        self.closed = True


class FakeConnection:
    """A session."""

    def __init__(self, server: FakeOracle, user: str, program: str) -> None:
        self.server, self.user, self.program = server, user, program
        self.session_id = next(server.numbers)
        self.serial = 70_000 + self.session_id
        self.serial_num = self.serial & 0xFFFF  # the driver keeps 16 bits
        self.version = server.version
        self.call_timeout = 0
        self.outputtypehandler: Any = None
        self.output: list[str | None] = []
        self.output_on = False
        self.killed = threading.Event()
        self.dead = False
        self.closed = False
        self.commits = self.rollbacks = 0

    def cursor(self) -> FakeCursor:
        return FakeCursor(self)

    def check(self) -> None:
        if self.closed:
            raise dpy(1001, "not connected to database")
        if self.dead:
            raise dpy(4011, "the database or network closed the connection")
        if self.server.down:
            self.dead = True
            raise ora(3113, "end-of-file on communication channel")
        if self.killed.is_set():
            self.end()
            raise ora(28, "your session has been killed")

    def end(self) -> None:
        self.dead = True
        if not self.server.undead:
            self.server.sessions.pop(self.session_id, None)

    def perform(self, text: str, parameters: Any) -> Reply:
        self.check()
        self.server.log.append((self.user, text, parameters))
        reply = self.server.answer(self, text, parameters)
        self._spend(reply)
        if self.output_on:
            self.output += list(reply.lines)
        for name, value in reply.binds.items():
            parameters[name].value = value
        if reply.effect is not None:
            reply.effect(self)
        if reply.dies:
            self.end()
        if reply.error is not None:
            raise reply.error
        return reply

    def perform_many(self, text: str, rows: list[list[Any]], sizes: tuple[Any, ...]) -> None:
        self.check()
        self.server.log.append((self.user, text, rows))
        self.server.insert_many(text, rows, sizes)

    def _spend(self, reply: Reply) -> None:
        """A call that lasts: the limit sends a break, and a second one cuts the connection."""
        if not reply.seconds:
            return
        limit = self.call_timeout / 1000 or None
        wait = reply.seconds if limit is None else min(limit, reply.seconds)
        if self.killed.wait(wait):
            self.check()
        if limit is None or limit >= reply.seconds:
            return
        if reply.breakable:
            raise dpy(4024, f"call timeout of {self.call_timeout} ms exceeded")
        if self.killed.wait(min(limit, reply.seconds - limit)):
            self.check()
        self.dead = True  # the server works on
        raise dpy(4011, "the database or network closed the connection")

    def commit(self) -> None:
        self.check()
        self.commits += 1

    def rollback(self) -> None:
        self.check()
        self.rollbacks += 1
        self.server.locks = [lock for lock in self.server.locks if lock[0] != self.session_id]

    def close(self) -> None:
        self.check()
        self.closed = True
        self.server.locks = [lock for lock in self.server.locks if lock[0] != self.session_id]
        if not self.server.undead:
            self.server.sessions.pop(self.session_id, None)


Answer = Callable[["FakeOracle", FakeConnection, re.Match[str], Any], Reply | None]
_ANSWERS: list[tuple[re.Pattern[str], Answer]] = []


def _answers(pattern: str) -> Callable[[Answer], Answer]:
    def register(function: Answer) -> Answer:
        _ANSWERS.append((re.compile(pattern, re.DOTALL), function))
        return function

    return register


def _rows(*rows: tuple[Any, ...]) -> Reply:
    width = len(rows[0]) if rows else 0
    return Reply(result=Result([(f"C{n}", oracledb.DB_TYPE_VARCHAR) for n in range(width)], list(rows)))


class FakeOracle:
    """The model of a server. Attributes are what tests set and look at."""

    def __init__(self) -> None:
        self.version = "23.26.0.0.0"
        self.privileges = {*provisioning.ADMIN_RIGHTS, "CREATE PROFILE", "GRANT ANY SCHEMA PRIVILEGE"}
        self.hidden_views: set[str] = set()
        self.parameters: dict[str, str] = {"max_string_size": "EXTENDED", "cpu_count": "2"}
        self.cloud: str | None = None
        self.numbers = itertools.count(101)
        self.sessions: dict[int, FakeConnection] = {}
        self.all_sessions: list[FakeConnection] = []
        self.users: dict[str, str] = {"SYSTEM": "PASSWORD"}
        self.objects: dict[int, FakeObject] = {}
        self.tables: dict[tuple[str, str], FakeTable] = {}
        self.register: dict[str, list[Any]] = {}
        self.register_there = False
        self.loads = 0
        self.locks: list[tuple[int, str, str]] = []
        self.foreign_keys: list[tuple[str, str, str]] = []
        self.triggered: list[tuple[str, str]] = []
        self.identity: set[str] = set()
        self.sequences: dict[tuple[str, str], list[int]] = {}
        self.log: list[tuple[str, str, Any]] = []
        self.down = False
        self.undead = False
        """Killed sessions stay in V$SESSION."""
        self.logins_fail: list[Exception] = []
        self.silent = False
        self.reads = 1000
        self._replies: list[tuple[re.Pattern[str], Reply, str | None]] = []

    # -- what tests say ----------------------------------------

    def on(self, pattern: str, reply: Reply, user: str | None = None) -> None:
        """Statements that match answer so; the latest rule wins. ``user``: how its name begins."""
        self._replies.insert(0, (re.compile(pattern, re.DOTALL), reply, user))

    def add_object(self, owner: str, kind: str, name: str, **more: Any) -> FakeObject:
        number = next(self.numbers)
        made = FakeObject(owner, kind, name, number, **more)
        self.objects[number] = made
        return made

    def objects_of(self, owner: str) -> list[FakeObject]:
        return [found for found in self.objects.values() if found.owner == owner]

    def find(self, owner: str, kind: str, name: str) -> FakeObject | None:
        return next((o for o in self.objects_of(owner) if (o.kind, o.name) == (kind, name)), None)

    def sent(self, pattern: str) -> list[str]:
        """Statements that were sent and match."""
        return [text for _, text, _ in self.log if re.search(pattern, text)]

    def graded(self) -> list[FakeConnection]:
        """All graded sessions there ever were."""
        return [session for session in self.all_sessions if re.match(r"PLB_\w+_[CR]\d", session.user)]

    # -- the driver's entry ----------------------------------------

    def connect(self, **options: Any) -> FakeConnection:
        self.options = options
        if self.silent:
            threading.Event().wait(0.5)
        if self.logins_fail:
            raise self.logins_fail.pop(0)
        if self.down:
            raise dpy(6005, "cannot connect to database", "[Errno 111] Connection refused")
        user = options["user"]
        proxied = re.fullmatch(r"(\w+)\[(\w+)\]", user)
        if proxied:
            assert self.users[proxied[1]] == options["password"], "the proxy's password"
            user = proxied[2]
        if user.upper() not in self.users:
            raise ora(1017, "invalid credential or not authorized; logon denied")
        session = FakeConnection(self, user.upper(), options["program"])
        self.sessions[session.session_id] = session
        self.all_sessions.append(session)
        return session

    def answer(self, session: FakeConnection, text: str, parameters: Any) -> Reply:
        for pattern, reply, user in self._replies:
            if not pattern.search(text) or (user is not None and not session.user.startswith(user)):
                continue
            if reply.times is not None:
                if reply.times == 0:
                    continue
                reply.times -= 1
            if reply.error is None and not reply.dies:
                self._create(session, text)
            return reply
        for pattern, function in _ANSWERS:
            match = pattern.match(text)
            if match:
                found = function(self, session, match, parameters)
                return Reply() if found is None else found
        if re.match(r"PLB_\w+_[CR]\d", session.user) and self._create(session, text):
            return Reply()
        raise AssertionError(f"the double does not know: {session.user}: {text}")

    def _create(self, session: FakeConnection, text: str) -> bool:
        match = re.match(
            r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(PACKAGE BODY|PACKAGE|PROCEDURE|FUNCTION|TYPE|TRIGGER|VIEW"
            r"|TABLE|SEQUENCE)\s+([\w$\"]+)",
            text,
            re.IGNORECASE,
        )
        if match is None or session.user == "SYSTEM":
            return False
        kind = match[1].upper()
        name = match[2][1:-1] if match[2].startswith('"') else match[2].upper()
        found = self.find(session.user, kind, name) or self.add_object(session.user, kind, name)
        found.changed = f"t{next(self.numbers)}"
        return True

    def insert_many(self, text: str, rows: list[list[Any]], sizes: tuple[Any, ...]) -> None:
        match = re.match(r'INSERT INTO "(\w+)"\."(\w+)" \((.*?)\)', text)
        assert match is not None, text
        assert len(sizes) == text.count(":")
        for pattern, reply, _ in self._replies:
            if pattern.search(text) and reply.error is not None:
                raise reply.error
        table = self.tables[match[1], match[2]]
        table.rows += [tuple(row) for row in rows]
        table.scn += 1

    def drop_owner(self, user: str) -> None:
        self.users.pop(user, None)
        for number in [n for n, o in self.objects.items() if o.owner == user]:
            del self.objects[number]
        for key in [key for key in self.tables if key[0] == user]:
            del self.tables[key]


_FIXED: dict[str, Callable[[FakeOracle], Any]] = {
    r"SELECT banner FROM v\$version": lambda s: f"Oracle AI Database 26ai Free {s.version}",
    r"SELECT property_value FROM database_properties": lambda s: "USERS",
    r"SELECT SYS_CONTEXT\('USERENV', 'CLOUD_SERVICE'\)": lambda s: s.cloud,
    r"SELECT statistic# FROM v\$statname": lambda s: None if "V$STATNAME" in s.hidden_views else 12,
    r"SELECT 1 FROM DUAL": lambda s: 1,
}
for _pattern, _give in _FIXED.items():

    def _fixed(
        server: FakeOracle, _session: FakeConnection, _match: Any, _binds: Any, give: Any = _give
    ) -> Reply:
        value = give(server)
        return _rows() if value is None else _rows((value,))

    _answers(_pattern)(_fixed)


@_answers(r"SELECT privilege FROM session_privs")
def _privileges(server: FakeOracle, *_: Any) -> Reply:
    return _rows(*[(name,) for name in sorted(server.privileges)])


@_answers(r"SELECT 1 FROM ([\w$]+) WHERE 1 = 0")
def _view(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    if match[1].upper() in server.hidden_views:
        return Reply(error=ora(942, "table or view does not exist"))
    return _rows()


@_answers(r"SELECT value FROM v\$parameter WHERE name = '(\w+)'")
def _parameter(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    if "V$PARAMETER" in server.hidden_views:
        return Reply(error=ora(942, "table or view does not exist"))
    return _rows((server.parameters[match[1]],)) if match[1] in server.parameters else _rows()


@_answers(r"SELECT (?:1|serial#) FROM v\$session WHERE sid = :1 AND username = :2")
def _session_by_sid(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    found = server.sessions.get(binds[0])
    return _rows((found.serial,)) if found is not None and found.user == binds[1] else _rows()


@_answers(r"SELECT sid, serial# FROM v\$session WHERE username = :1")
def _sessions_of(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*[(s.session_id, s.serial) for s in server.sessions.values() if s.user == binds[0]])


@_answers(r"SELECT DISTINCT program FROM v\$session")
def _programs(server: FakeOracle, *_: Any) -> Reply:
    living = {s.program for s in server.sessions.values() if not s.user.startswith("PLB_")}
    return _rows(*[(name,) for name in sorted(living)])


@_answers(r"SELECT value FROM v\$sesstat")
def _sesstat(server: FakeOracle, *_: Any) -> Reply:
    server.reads += 7
    return _rows((server.reads,))


@_answers(r"ALTER SYSTEM KILL SESSION '(\d+),(\d+)' IMMEDIATE")
def _kill(server: FakeOracle, session: FakeConnection, match: re.Match[str], _b: Any) -> Reply:
    found = server.sessions.get(int(match[1]))
    if found is None or found.serial != int(match[2]):
        return Reply(error=ora(30, "User session ID does not exist."))
    found.killed.set()
    if not server.undead:
        server.sessions.pop(found.session_id)
    return Reply()


@_answers(r"ALTER SYSTEM SET RESOURCE_LIMIT|CREATE PROFILE|ALTER SESSION SET")
def _nothing(*_: Any) -> None:
    return None


@_answers(r"SELECT 1 FROM dba_users WHERE username = :1")
def _user(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows((1,)) if binds[0] in server.users else _rows()


@_answers(r"SELECT authentication_type FROM dba_users")
def _authentication(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows((server.users[binds[0]],)) if binds[0] in server.users else _rows()


@_answers(r"SELECT username FROM dba_users WHERE username LIKE")
def _prefixed(server: FakeOracle, *_: Any) -> Reply:
    return _rows(*[(name,) for name in sorted(server.users) if name.startswith("PLB_")])


@_answers(r'CREATE USER "(\w+)" (NO AUTHENTICATION|IDENTIFIED BY "(\w+)")')
def _create_user(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    if match[1] in server.users:
        return Reply(error=ora(1920, "user name conflicts with another user or role name"))
    server.users[match[1]] = match[3] or "NONE"
    return Reply()


@_answers(r'ALTER USER "(\w+)" (NO AUTHENTICATION)?')
def _alter_user(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> None:
    if match[2]:
        server.users[match[1]] = "NONE"


@_answers(r'DROP USER "(\w+)" CASCADE')
def _drop_user(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    if match[1] not in server.users:
        return Reply(error=ora(1918, "user does not exist"))
    if any(session.user == match[1] for session in server.sessions.values()):
        return Reply(error=ora(1940, "cannot drop a user that is currently connected"))
    server.drop_owner(match[1])
    return Reply()


@_answers(r"GRANT |REVOKE ")
def _grants(*_: Any) -> None:
    return None


@_answers(r'CREATE SYNONYM "(\w+)"\."([\w$]+)"')
def _synonym(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> None:
    server.add_object(match[1], "SYNONYM", match[2])


@_answers(r"SELECT object_id, object_type, object_name")
def _objects(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(
        *[
            (o.number, o.kind, o.name, o.changed, "VALID" if o.valid else "INVALID")
            for o in server.objects_of(binds[0])
        ]
    )


@_answers(r"SELECT object_name, object_type FROM dba_objects")
def _data_objects(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*sorted((o.name, o.kind) for o in server.objects_of(binds[0])))


@_answers(r"SELECT object_name FROM dba_objects WHERE owner = :1 AND object_type = 'TABLE'")
def _kept_tables(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*[(o.name,) for o in server.objects_of(binds[0]) if o.kind == "TABLE"])


@_answers(r"SELECT line, position, text FROM dba_errors")
def _errors(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    found = server.find(binds[0], binds[2], binds[1])
    return _rows(*(found.entries if found is not None and binds[3] == "ERROR" else ()))


@_answers(r'ALTER (PACKAGE|PROCEDURE|FUNCTION|TYPE|TRIGGER|VIEW) "(\w+)"\."([^"]+)" COMPILE( BODY)?')
def _compile(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply | None:
    found = server.find(match[2], match[1] + (match[4] or ""), match[3])
    if found is not None and not found.entries:
        found.valid = True
    return Reply(warning=found is not None and not found.valid)


@_answers(
    r"DROP (TRIGGER|MATERIALIZED VIEW|VIEW|PACKAGE|PROCEDURE|FUNCTION|TABLE|TYPE|SEQUENCE|SYNONYM)"
    r' "(\w+)"\."([^"]+)"'
)
def _drop(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    doomed = [
        o.number
        for o in server.objects_of(match[2])
        if o.name == match[3] and o.kind in {match[1], f"{match[1]} BODY"}
    ]
    if not doomed and not match[3].startswith("GATE_"):
        return Reply(error=ora(4043, "object does not exist"))
    for number in doomed:
        del server.objects[number]
    return Reply()


# -- the register, gates, data ----------------------------------------


@_answers(r'CREATE TABLE "PLSQLBENCH"\."([\w$]+)"')
def _control_table(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    if match[1] == "DATA":
        if server.register_there:
            return Reply(error=ora(955, "name is already used by an existing object"))
        server.register_there = True
    return Reply()


@_answers(r'SELECT owner, database, fingerprint, state, detail.* FROM "PLSQLBENCH"')
def _register_read(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    entry = server.register.get(binds[0])
    return _rows((binds[0], *entry)) if entry else _rows()


@_answers(r'SELECT owner FROM "PLSQLBENCH"')
def _register_all(server: FakeOracle, *_: Any) -> Reply:
    if not server.register_there:
        return Reply(error=ora(942, "table or view does not exist"))
    return _rows(*[(owner,) for owner in sorted(server.register)])


@_answers(r'DELETE FROM "PLSQLBENCH"\."DATA"')
def _register_delete(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> None:
    server.register.pop(binds[0], None)


@_answers(r'INSERT INTO "PLSQLBENCH"\."DATA"')
def _register_insert(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> None:
    server.loads += 1
    server.register[binds[0]] = [binds[1], binds[2], "loading", None, f"load {server.loads}"]


@_answers(r'UPDATE "PLSQLBENCH"\."DATA"')
def _register_update(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> None:
    server.register[binds[2]][2:4] = [binds[0], binds[1]]


@_answers(r'LOCK TABLE "PLSQLBENCH"\."(\w+)" IN (SHARE|EXCLUSIVE) MODE WAIT \d+')
def _lock(server: FakeOracle, session: FakeConnection, match: re.Match[str], _b: Any) -> Reply:
    others = [lock for lock in server.locks if lock[1] == match[1] and lock[0] != session.session_id]
    if any("EXCLUSIVE" in (match[2], mode) for _, _, mode in others):
        return Reply(error=ora(30006, "resource busy; acquire with WAIT timeout expired"))
    server.locks.append((session.session_id, match[1], match[2]))
    return Reply()


@_answers(r"BEGIN SYS\.DBMS_STATS\.")
def _stats(*_: Any) -> None:
    return None


@_answers(r"CREATE TABLE (\w+)\.(\w+) \((.*)\)\s*$")
def _data_table(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> None:
    owner, name = match[1].upper(), match[2].upper()
    columns = [part.strip().split()[:2] for part in match[3].split(",")]
    server.tables[owner, name] = FakeTable([(c.upper(), t.upper()) for c, t in columns], [])
    server.add_object(owner, "TABLE", name)


@_answers(r'CREATE TABLE "(\w+)"\."([\w$]+)" AS SELECT (\*|sequence_name, last_number) FROM ("?\w+"?)')
def _copy_table(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> None:
    server.add_object(match[1], "TABLE", match[2])
    if match[3] == "*":
        source = server.tables[match[4].strip('"'), match[2]]
        server.tables[match[1], match[2]] = FakeTable(list(source.columns), list(source.rows))


@_answers(r'SELECT COUNT\(\*\), MAX\(ORA_ROWSCN\) FROM "(\w+)"\."(\w+)"')
def _marks(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    table = server.tables[match[1], match[2]]
    return _rows((len(table.rows), table.scn if table.rows else None))


@_answers(r'SELECT COUNT\(\*\) FROM "(\w+)"\."(\w+)"')
def _count(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    return _rows((len(server.tables[match[1], match[2]].rows),))


@_answers(r"SELECT column_name, data_type FROM dba_tab_cols")
def _types(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    table = server.tables.get((binds[0], binds[1]))
    return _rows(*[(name, kind.split("(")[0]) for name, kind in table.columns] if table else [])


@_answers(r"SELECT column_name FROM dba_tab_cols")
def _columns(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*[(name,) for name, _ in server.tables[binds[0], binds[1]].columns])


@_answers(r"SELECT 1 FROM dba_tab_cols WHERE owner = :1 AND identity_column")
def _identity(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows((1,)) if binds[0] in server.identity else _rows()


@_answers(r"SELECT table_name, constraint_name FROM dba_constraints")
def _constraints(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*[(table, name) for owner, table, name in server.foreign_keys if owner == binds[0]])


@_answers(r"SELECT DISTINCT table_name FROM dba_triggers")
def _triggers(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*[(table,) for owner, table in server.triggered if owner == binds[0]])


@_answers(r"SELECT trigger_name FROM dba_triggers WHERE owner = :1")
def _event_triggers(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*[(o.name,) for o in server.objects_of(binds[0]) if o.name.startswith("ON_")])


@_answers(r"SELECT k\.sequence_name, k\.last_number, s\.last_number")
def _sequences(server: FakeOracle, _s: Any, _m: Any, binds: list[Any]) -> Reply:
    return _rows(*[(name, *at) for (owner, name), at in server.sequences.items() if owner == binds[0]])


@_answers(r'ALTER SEQUENCE "(\w+)"\."(\w+)" RESTART START WITH (\d+)')
def _restart(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> None:
    server.sequences[match[1], match[2]][1] = int(match[3])


@_answers(r'ALTER TABLE "\w+"\."\w+" (?:ENABLE|DISABLE) ')
def _switch(*_: Any) -> None:
    return None


@_answers(r'DELETE FROM "(\w+)"\."(\w+)"$')
def _delete(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> None:
    server.tables[match[1], match[2]].rows.clear()


@_answers(r'INSERT INTO "(\w+)"\."(\w+)" \(.*?\) SELECT .*? FROM "(\w+)"')
def _insert_select(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> None:
    table = server.tables[match[1], match[2]]
    table.rows += server.tables[match[3], match[2]].rows
    table.scn += 100


_TYPES = {
    "NUMBER": oracledb.DB_TYPE_NUMBER,
    "VARCHAR2": oracledb.DB_TYPE_VARCHAR,
    "DATE": oracledb.DB_TYPE_DATE,
}


@_answers(r'SELECT (?:"\w+"(?:, )?)+ FROM "(\w+)"\."(\w+)"')
def _read_table(server: FakeOracle, _s: Any, match: re.Match[str], _b: Any) -> Reply:
    table = server.tables[match[1], match[2]]
    columns = [
        (name, _TYPES.get(kind.split("(")[0], oracledb.DB_TYPE_VARCHAR)) for name, kind in table.columns
    ]
    return Reply(result=Result(columns, list(table.rows)))


# -- our calls on graded sessions ----------------------------------------


@_answers(r"BEGIN\s+EXECUTE IMMEDIATE 'ALTER SESSION")
def _pins(*_: Any) -> None:
    return None


@_answers(r"BEGIN SYS\.DBMS_OUTPUT\.DISABLE; SYS\.DBMS_OUTPUT\.ENABLE\((\d+)\); END;")
def _output_on(_server: FakeOracle, session: FakeConnection, _m: Any, _b: Any) -> None:
    session.output.clear()
    session.output_on = True


@_answers(r"BEGIN SYS\.DBMS_OUTPUT\.GET_LINES\(:lines, :n\); END;")
def _get_lines(_server: FakeOracle, session: FakeConnection, _m: Any, binds: dict[str, FakeVar]) -> None:
    array, number = binds["lines"], binds["n"]
    assert array.size == 32767, "GET_LINES needs elements of the longest line"
    taken, session.output = session.output[: number.value], session.output[number.value :]
    array.value = taken + [None] * (array.count - len(taken))
    number.value = len(taken)


@_answers(r"BEGIN\s+SYS\.DBMS_SESSION\.RESET_PACKAGE")
def _reset(_server: FakeOracle, session: FakeConnection, _m: Any, _b: Any) -> None:
    session.output.clear()
    session.output_on = False  # RESET_PACKAGE turns it off


def gate_of(owner: str) -> str:
    """Name of a gate's table."""
    return gate_name(owner)
