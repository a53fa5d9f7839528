"""Stored units: what a CREATE statement makes, and what the dictionary says about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_plsqlbench.bench.observation import Diagnostic
from pytest_plsqlbench.engines.oracle import provisioning as sql
from pytest_plsqlbench.engines.oracle.admin import Admin
from pytest_plsqlbench.engines.oracle.facts import LineMap, compile_code
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.sql.lexer import significant_tokens

_KINDS = frozenset(("PROCEDURE", "FUNCTION", "PACKAGE", "TYPE", "TRIGGER", "VIEW"))
_MODIFIERS = frozenset(
    (
        "OR",
        "REPLACE",
        "EDITIONABLE",
        "NONEDITIONABLE",
        "EDITIONING",
        "FORCE",
        "NO",
        "NOFORCE",
        "IF",
        "NOT",
        "EXISTS",
    )
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A stored unit, named as DBA_OBJECTS names it."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A row of DBA_OBJECTS; equal rows are the same object in the same version."""

    number: int
    kind: str
    name: str
    changed: str
    """When it was last compiled or altered."""
    valid: bool

    @property
    def unit(self) -> Unit:
        """As a unit."""
        return Unit(self.kind, self.name)


STATEFUL = frozenset(("TABLE", "SEQUENCE", "MATERIALIZED VIEW", "JOB"))
"""Objects that hold something a test can change."""


def created_unit(text: str) -> Unit | None:
    """The unit that a CREATE statement makes or replaces; None for other statements."""
    tokens = significant_tokens(text, "oracle")
    if not tokens or tokens[0].value != "CREATE":
        return None
    at = 1
    while at < len(tokens) and tokens[at].value in _MODIFIERS:
        at += 1
    if at >= len(tokens) or tokens[at].value not in _KINDS:
        return None
    kind, at = tokens[at].value, at + 1
    if at < len(tokens) and tokens[at].value == "BODY":
        kind, at = f"{kind} BODY", at + 1
    while at < len(tokens) and tokens[at].value in {"IF", "NOT", "EXISTS"}:
        at += 1
    if at + 2 < len(tokens) and tokens[at + 1].value == ".":
        at += 2
    if at >= len(tokens) or tokens[at].kind not in {"word", "quoted"}:
        return None
    name = tokens[at]
    return Unit(kind, name.text[1:-1] if name.kind == "quoted" else name.value)


def objects_of(admin: Admin, user: str) -> dict[int, StoredObject]:
    """All objects of a user by number."""
    rows = admin.query(
        "SELECT object_id, object_type, object_name, TO_CHAR(last_ddl_time, 'YYYYMMDDHH24MISS') || timestamp,"
        " status FROM dba_objects WHERE owner = :1 AND object_id IS NOT NULL",
        (user,),
    )
    return {
        int(number): StoredObject(int(number), str(kind), str(name), str(changed), status == "VALID")
        for number, kind, name, changed, status in rows
    }


def compile_errors(
    admin: Admin, user: str, unit: Unit, place: LineMap, attribute: Literal["ERROR", "WARNING"] = "ERROR"
) -> tuple[Diagnostic, ...]:
    """What the dictionary lists against a unit, in its order.

    Entries that only say that a statement was ignored follow the one that says why; they are left out as long
    as another one stands.
    """
    rows = admin.query(
        "SELECT line, position, text FROM dba_errors WHERE owner = :1 AND name = :2 AND type = :3"
        " AND attribute = :4 ORDER BY sequence",
        (user, unit.name, unit.kind, attribute),
    )
    found = []
    for line, position, text in rows:
        spot = place(max(1, int(line)), max(1, int(position)))
        said = str(text).strip()
        code = compile_code(said)
        message = said.split(": ", 1)[1] if said.startswith(code) and ": " in said else said
        severity: Literal["error", "warning"] = "error" if attribute == "ERROR" else "warning"
        found.append(
            Diagnostic(
                code=code,
                message=message,
                severity=severity,
                line=spot[0],
                column=spot[1],
                where=f"{unit.kind} {unit.name}",
            )
        )
    telling = [entry for entry in found if not entry.message.endswith("tatement ignored")]
    return tuple(telling or found)


def compile_again(admin: Admin, user: str, invalid: list[Unit]) -> None:
    """Compile units as their next use would: what one of them missed may have been created since."""
    for unit in invalid:
        if unit.kind in sql.COMPILED_TYPES:
            try:
                admin.run(sql.compile_object(user, unit.kind, unit.name))
            except DriverError as error:
                if error.session_dead:
                    raise
