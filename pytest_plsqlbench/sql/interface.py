"""Does a program define what its tests call? Names, kinds and arguments, from the texts alone.

Used to say precisely why a call failed; whether it failed is the server's to say. What the tests call is
certain where the reference program is given (what it defines and the tests name). Without it: calls that
stand as statements, and functions that SQL does not have, if they resemble what the program defines or the
tests call nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Literal

import msgspec

from pytest_plsqlbench.bench.plural import numbered
from pytest_plsqlbench.bench.task import Dialect
from pytest_plsqlbench.sql.references import Reference, read_references
from pytest_plsqlbench.sql.signature import Parameter
from pytest_plsqlbench.sql.unit import ProgramUnit, Routine
from pytest_plsqlbench.sql.units import read_program

Problem = Literal["missing_entry_point", "missing_member", "wrong_arguments"]
"""``wrong_arguments`` also where a function is called as a procedure, or a procedure as a function."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SUPPLIED = ("DBMS_", "UTL_", "APEX_", "CTX_", "SYS", "STANDARD", "PG_", "OWA", "HTP", "XML", "JSON")
_KEYWORDS = _words(
    "ALL ANY AS AND BEGIN BETWEEN BY CASE CAST CHECK COALESCE CURSOR DATE DECLARE DISTINCT ELSE END EXISTS "
    "EXTRACT FETCH FILTER FOR FROM GROUP HAVING IF IN INTERVAL INTO IS JOIN KEY LIKE LIMIT LOOP NOT "
    "NULL OF ON OR ORDER OVER PARTITION PRIMARY RAISE REFERENCES RETURN RETURNING ROW ROWS SELECT SET "
    "SOME TABLE THEN TIMESTAMP UNION UNIQUE UPDATE USING VALUES WHEN WHERE WHILE WITH WITHIN VARCHAR2 "
    "VARCHAR CHAR NUMBER NUMERIC DECIMAL INTEGER INT RAW CLOB FLOAT CALL PERFORM "
    "RAISE_APPLICATION_ERROR EXECUTE EXEC SQL"
)


class Entry(msgspec.Struct, frozen=True):
    """Something that can be called."""

    path: tuple[str, ...]
    """``("F",)``, or ``("PK", "F")`` for a member."""
    kind: Literal["function", "procedure"]
    parameters: tuple[Parameter, ...]

    @property
    def shown(self) -> str:
        """The name for people, in lower case."""
        return ".".join(self.path).lower()

    def accepts(self, reference: Reference) -> bool:
        """Whether the arguments of a call can fit, by number and names."""
        given = reference.arguments or 0
        takes = self.parameters
        if not set(reference.names) <= {parameter.name for parameter in takes}:
            return False
        if any(parameter.mode == "variadic" for parameter in takes):
            return given >= sum(parameter.required for parameter in takes)
        return sum(parameter.required for parameter in takes) <= given <= len(takes)


class InterfaceFinding(msgspec.Struct, frozen=True):
    """One thing that the tests call and the program does not offer."""

    problem: Problem
    called: str
    """The name that the tests call, in lower case."""
    message: str
    """One line without the problem's name."""

    def __str__(self) -> str:
        return f"{self.problem}: {self.message}"


def entries(program: str, dialect: Dialect) -> list[Entry]:
    """What a program offers to callers: routines, members of packages, methods and constructors of types."""
    found: list[Entry] = []
    units = read_program(program, dialect).units
    specified = {unit.name.name for unit in units if unit.kind == "package" and unit.name is not None}
    for unit in units:
        found.extend(_unit_entries(unit, specified))
    if dialect == "postgres":
        found = [_without_out(entry) if entry.kind == "function" else entry for entry in found]
    return found


def _without_out(entry: Entry) -> Entry:
    """A PostgreSQL function is called without its OUT parameters (a procedure with them)."""
    passed = tuple(parameter for parameter in entry.parameters if parameter.mode not in {"out", "table"})
    return msgspec.structs.replace(entry, parameters=passed)


def check_interface(
    program: str,
    calls: Sequence[str],
    dialect: Dialect,
    *,
    reference: str | None = None,
    earlier: Sequence[str] = (),
) -> tuple[InterfaceFinding, ...]:
    """What the tests call and the program does not define as they call it.

    Args:
        program: the candidate's program.
        calls: the scripts of the tests.
        dialect: how all of it is read.
        reference: the task's own program, where there is one: what it defines is what may be called.
        earlier: programs of earlier turns of the same side, whose definitions still stand.
    """
    offered = [entry for text in (*earlier, program) for entry in entries(text, dialect)]
    wanted = None
    if reference is not None:
        wanted = [entry for text in (*earlier, reference) for entry in entries(text, dialect)]
    named = [name for call in calls for name in read_references(call, dialect)]
    strangers = wanted is None and not any(
        _matches(name.path, entry.path) for name in named for entry in offered
    )
    findings: dict[tuple[Problem, str], InterfaceFinding] = {}
    for name in named:
        finding = _judge(name, offered, wanted, strangers=strangers)
        if finding is not None:
            findings.setdefault((finding.problem, finding.called), finding)
    return tuple(findings.values())


def interface_findings(
    program: str, calls: Sequence[str], dialect: Dialect, *, reference: str | None = None
) -> list[str]:
    """The findings of ``check_interface``, one sentence each, the problem's name first."""
    return [str(finding) for finding in check_interface(program, calls, dialect, reference=reference)]


def _unit_entries(unit: ProgramUnit, specified: set[str]) -> Iterator[Entry]:
    if unit.name is None:
        return
    name = unit.name.name
    if unit.kind in {"function", "procedure"}:
        yield Entry((name,), "function" if unit.kind == "function" else "procedure", unit.parameters)
    elif unit.kind == "package" or (unit.kind == "package_body" and name not in specified):
        for member in unit.members:
            yield Entry((name, member.name), member.kind, member.parameters)
    elif unit.kind == "type":
        yield from _type_entries(name, unit.members, unit.attributes)


def _type_entries(
    name: str, members: Sequence[Routine], attributes: tuple[Parameter, ...]
) -> Iterator[Entry]:
    if attributes:
        yield Entry((name,), "function", attributes)
    for member in members:
        path = (name,) if member.name == name else (name, member.name)
        yield Entry(path, member.kind, member.parameters)


def _judge(
    name: Reference, offered: Sequence[Entry], wanted: Sequence[Entry] | None, *, strangers: bool
) -> InterfaceFinding | None:
    """What is wrong with one reference; None where it can be served, or is none of the program's business."""
    candidates = [entry for entry in offered if _matches(name.path, entry.path)]
    if not candidates:
        wants = _is_wanted(name, offered, strangers=strangers) if wanted is None else _named(name, wanted)
        return _missing(name, offered) if wants else None
    if name.arguments is None and not name.statement:
        return None  # a column, a variable, or a call without parentheses
    fitting = [entry for entry in candidates if entry.accepts(name)]
    if not fitting:
        expected = " or ".join(_signature(entry) for entry in candidates[:3])
        given = numbered(name.arguments or 0, "argument")
        if name.names:
            given += f" ({', '.join(sorted(name.names)).lower()} by name)"
        message = f"defines `{expected}`, tests call `{name.shown}` with {given}"
        return InterfaceFinding("wrong_arguments", name.shown, message)
    kinds = {entry.kind for entry in fitting}
    as_function = not name.statement or name.performed
    if kinds == {"function"} and not as_function:
        message = f"`{name.shown}` is a function, tests call it as a procedure"
        return InterfaceFinding("wrong_arguments", name.shown, message)
    if kinds == {"procedure"} and as_function and not _is_procedure(name, wanted or ()):
        message = f"`{name.shown}` is a procedure, tests call it as a function"
        return InterfaceFinding("wrong_arguments", name.shown, message)
    return None


def _is_procedure(name: Reference, wanted: Sequence[Entry]) -> bool:
    """Whether the reference has a procedure there, too: then the call is one, however it reads."""
    kinds = {entry.kind for entry in wanted if _matches(name.path, entry.path)}
    return kinds == {"procedure"}


def _matches(path: tuple[str, ...], entry: tuple[str, ...]) -> bool:
    """Whether a name means an entry; a schema may stand before it."""
    return path == entry or (len(path) == len(entry) + 1 and path[1:] == entry)


def _named(name: Reference, wanted: Sequence[Entry]) -> bool:
    return any(_matches(name.path, entry.path) for entry in wanted)


def _is_wanted(name: Reference, offered: Sequence[Entry], *, strangers: bool) -> bool:
    """Whether the program ought to define what is called, as far as can be told without a reference.

    ``strangers``: the tests call nothing that the program defines, so an unknown function is what they want;
    else it is more likely a type or function that the database has.
    """
    if any(entry.path[0] == name.path[0] and len(entry.path) > 1 for entry in offered):
        return len(name.path) > 1  # a package or type of the program, but not this member
    head = name.path[0].upper()
    if head.startswith(_SUPPLIED) or head in _KEYWORDS:
        return False
    if name.statement:
        return True
    if name.arguments is None or len(name.path) > 1 or _is_builtin(head):
        return False
    return strangers or bool(get_close_matches(name.shown, [entry.shown for entry in offered], cutoff=0.7))


def _is_builtin(name: str) -> bool:
    """Whether a function of that name belongs to SQL, as far as sqlglot knows the dialects."""
    import sqlglot.expressions  # noqa: PLC0415 - slow to import, only for failures

    return name in sqlglot.expressions.FUNCTION_BY_NAME or name in _ALSO_BUILTIN


_ALSO_BUILTIN = _words(
    "ASCIISTR BITAND CARDINALITY CHARTOROWID COLLECT DECODE DUMP EMPTY_BLOB EMPTY_CLOB HEXTORAW INITCAP "
    "INSTR LNNVL NVL2 NLSSORT NUMTODSINTERVAL NUMTOYMINTERVAL ORA_HASH RAWTOHEX REMAINDER SQLERRM "
    "SYS_CONTEXT SYS_GUID TO_BINARY_DOUBLE TO_BINARY_FLOAT TO_CLOB TO_DSINTERVAL TO_NCHAR TO_NUMBER "
    "TO_TIMESTAMP_TZ TO_YMINTERVAL TREAT TRUNC USERENV VSIZE WIDTH_BUCKET ARRAY_LENGTH GENERATE_SERIES "
    "NEXTVAL CURRVAL SETVAL QUOTE_IDENT QUOTE_LITERAL TO_REGCLASS UNNEST NOW FORMAT "
    "RAISE_APPLICATION_ERROR VALUE DEREF REF SET_CONFIG"
)


def _missing(name: Reference, offered: Sequence[Entry]) -> InterfaceFinding:
    shown = {entry.shown: entry for entry in offered}
    within = [entry for entry in offered if len(entry.path) > 1 and entry.path[0] in name.path[:-1]]
    problem: Problem = "missing_member" if within else "missing_entry_point"
    close = get_close_matches(name.shown, shown, n=1)
    defined = close or [entry.shown for entry in (within or offered)[:3]]
    if not defined:
        return InterfaceFinding(problem, name.shown, f"defines nothing, tests call `{name.shown}`")
    listed = ", ".join(f"`{entry}`" for entry in dict.fromkeys(defined))
    return InterfaceFinding(problem, name.shown, f"defines {listed}, tests call `{name.shown}`")


def _signature(entry: Entry) -> str:
    names = [parameter.name or parameter.type for parameter in entry.parameters]
    return f"{entry.shown}({', '.join(names).lower()})"
