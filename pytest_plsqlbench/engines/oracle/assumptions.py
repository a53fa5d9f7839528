"""What the engine takes for granted and was never run: docs/oracle-status.md, ``plsqlbench doctor``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from pytest_plsqlbench.engines.oracle import checks, language_checks
from pytest_plsqlbench.engines.oracle.bench import Bench
from pytest_plsqlbench.engines.oracle.checks import Finding
from pytest_plsqlbench.engines.oracle.facts import one_line
from pytest_plsqlbench.engines.oracle.port import DriverError
from pytest_plsqlbench.engines.oracle.session import LingeringSessionError
from pytest_plsqlbench.engines.protocol import EngineError

Weight = Literal["verdict", "isolation", "comfort"]
"""What hangs on it: right verdicts, programs kept apart, or only speed and detail."""


@dataclass(frozen=True, slots=True)
class Assumption:
    """One thing taken for granted."""

    name: str
    weight: Weight
    claim: str
    basis: str
    """Where it comes from."""
    otherwise: str
    """What follows where it does not hold."""
    check: Callable[[Bench], Finding]


@dataclass(frozen=True, slots=True)
class Result:
    """What the server showed."""

    assumption: Assumption
    holds: bool | None
    """None: it could not be tried."""
    seen: str


_MANUAL = "driver manual"
_REPORTS = "user reports"
_DOCS = "Oracle documentation"
_INFERRED = "inferred"

ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption(
        "proxy-login", "isolation",
        "A user without authentication can be logged in through a proxy user in the driver's thin mode.",
        _MANUAL, "nothing can be played: the engine needs another way to log in.", checks.login,
    ),
    Assumption(
        "session-numbers", "isolation",
        "SID and serial number that the driver names (the latter cut to 16 bits) lead to the session's row.",
        _MANUAL, "the watchdog looks the number up by SID and user, which must then work.",
        checks.session_numbers,
    ),
    Assumption(
        "pins", "verdict", "All pinned session settings are known to the server and allowed to the account.",
        _DOCS, "those refused are left as the server has them, for both sides; the report header names them.",
        checks.pins,
    ),
    Assumption(
        "output", "verdict",
        "DBMS_OUTPUT gives lines up to 32767 bytes, empty lines, leading blanks, and what was printed"
        " before a"
        " failure.",
        _DOCS, "printed output is incomplete: do not trust scores of printing programs.", checks.output,
    ),
    Assumption(
        "output-limit", "isolation", "A program that prints without end is stopped by the buffer's limit.",
        _REPORTS, "the time limit stops it, later.", checks.output_limit,
    ),
    Assumption(
        "compile-errors", "verdict",
        "A unit with errors is created with a warning; DBA_ERRORS lists it at once, lines counted from"
        " the first"
        " line of the text sent.",
        _MANUAL, "lines or columns of compile errors are shifted; verdicts stay right as long as errors"
        " are listed.",
        checks.compile_errors,
    ),
    Assumption(
        "block-position", "comfort", "ORA-06550 names line and column of the block that was sent.",
        _DOCS, "positions in reports are shifted.", checks.block_position,
    ),
    Assumption(
        "label-first", "verdict", "A block that begins with a label runs when wrapped in BEGIN … END.",
        _INFERRED, "such programs fail although they are right.", checks.label_first,
    ),
    Assumption(
        "timeout-loop", "isolation", "A spinning PL/SQL loop ends within seconds of its limit.",
        _REPORTS, "a worker hangs longer; look whether KILL SESSION works at all.", checks.timeout_loop,
    ),
    Assumption(
        "timeout-sleep", "isolation",
        "A sleeping session ignores the driver's break, but ends when it is killed IMMEDIATE.",
        _REPORTS, "its user is given up and left to the reaper.", checks.timeout_sleep,
    ),
    Assumption(
        "timeout-caught", "isolation", "A loop with a handler for ORA-01013 is ended by the kill.",
        _REPORTS, "its user is given up and left to the reaper.", checks.timeout_caught,
    ),
    Assumption(
        "self-kill", "verdict", "A program that ends its own session leaves the server up, which the"
        " probe sees.",
        _REPORTS, "such programs are counted as infrastructure errors after a retry.", checks.self_kill,
    ),
    Assumption(
        "clean-up", "isolation", "All kinds of objects can be dropped by the administrator; nothing is left.",
        _INFERRED, "a new user is made after each play that leaves such objects: slower.", checks.clean_up,
    ),
    Assumption(
        "rights", "isolation", "A graded user cannot create tables or triggers, nor see or do more than"
        " its own.",
        _DOCS, "programs can do more than they should: do not run hostile ones here.", checks.rights,
    ),
    Assumption(
        "network", "isolation", "Network packages are stopped by missing access lists (ORA-24247).",
        _DOCS, "programs can reach the network: close it outside of the database.", checks.network,
    ),
    Assumption(
        "own-password", "isolation", "A password that a program gives its user is taken away after the play.",
        _INFERRED, "a program could log in later from elsewhere: keep the server private.",
        checks.own_password,
    ),
    Assumption(
        "reading", "isolation", "READ on data works in stored units and allows neither changes nor locks.",
        _DOCS, "plays can disturb one another through locks.", checks.reading,
    ),
    Assumption(
        "marks", "verdict", "Every committed change of a table moves its count of rows or its newest"
        " ORA_ROWSCN.",
        _DOCS, "changes of data can go unnoticed: do not trust scores of tasks that write.", checks.marks,
    ),
    Assumption(
        "gates", "isolation", "Table locks let many readers in, and one writer alone.",
        _DOCS, "run with one worker.", checks.gates,
    ),
    Assumption(
        "stale-state", "verdict", "A statement that meets a recompiled package (ORA-04068) works the"
        " second time.",
        _REPORTS, "programs that create a package twice fail wrongly.", checks.stale_state,
    ),
    Assumption(
        "shadowing", "verdict", "A program's package named SYS makes our next call fail or is passed over:"
        " never is it answered with nothing. The administrator sees it and can drop it.",
        _INFERRED, "what such a program prints is lost before it is refused for that name.",
        language_checks.shadowing,
    ),
    Assumption(
        "collections", "verdict", "A BOOLEAN can take a comparison of nested tables, which ignores order and"
        " is NULL for a NULL.",
        _DOCS, "the cases of MBPP that compare collections fail to compile: do not trust their scores.",
        language_checks.collections,
    ),
    Assumption(
        "empty-clobs", "verdict", "NOT LIKE '_%' is true for a CLOB of no characters alone.",
        _INFERRED, "the flag vacuous_null is wrong for texts; published verdicts stay right.",
        language_checks.empty_clobs,
    ),
    Assumption(
        "full-raise", "verdict", "SYS.DBMS_STANDARD.RAISE_APPLICATION_ERROR raises, whatever the program"
        " calls by that name.",
        _INFERRED, "failing cases of MBPP do not fail, or all fail: do not trust its scores.",
        language_checks.full_raise,
    ),
    Assumption(
        "no-text", "verdict", "Bytes that are no text are fetched with a substitute; printed or raised, they"
        " cost the session at most.",
        _MANUAL, "programs that return them are counted as infrastructure errors.", language_checks.no_text,
    ),
    Assumption(
        "number-text", "verdict", "NUMBER prints without a zero before the point, in 40 characters at most.",
        _DOCS, "tests with expected rows (Spider) may fail on the numbers shown.", checks.number_texts,
    ),
    Assumption(
        "double-text", "verdict", "BINARY_DOUBLE prints 17 digits and a three-digit exponent.",
        _DOCS, "tests with expected rows may fail on such values.", checks.double_texts,
    ),
    Assumption(
        "time-zones", "verdict", "The driver gives the offset of a timestamp with time zone.",
        _REPORTS, "timestamps with zone are compared by their local fields only.", checks.time_zones,
    ),
    Assumption(
        "measured-work", "comfort", "Logical reads of a session can be read from outside.",
        _DOCS, "work is not reported.", checks.measured_work,
    ),
    Assumption(
        "profile", "comfort", "A profile limits graded users, and is enforced.",
        _DOCS, "sessions whose client died end only by the watchdog or the reaper.", checks.profile,
    ),
    Assumption(
        "strings", "verdict", "VARCHAR2 columns may have 32767 bytes.",
        _DOCS, "wider columns than 4000 bytes become CLOB: comparing them with = fails (ORA-00932).",
        checks.strings,
    ),
    Assumption(
        "schema-rights", "comfort", "READ ANY TABLE ON SCHEMA exists.",
        _DOCS, "object grants are used: slower at the first play on a database.", checks.schema_rights,
    ),
)  # fmt: skip


def examine(bench: Bench) -> Iterator[Result]:
    """Try every assumption, one after the other; what one breaks does not stop the next."""
    try:
        for assumption in ASSUMPTIONS:
            yield _try(assumption, bench)
    finally:
        checks.remove_table(bench)


def _try(assumption: Assumption, bench: Bench) -> Result:
    try:
        found = assumption.check(bench)
    except DriverError as error:
        return Result(assumption, None, one_line(error))
    except LingeringSessionError:
        bench.account.abandon()
        return Result(assumption, holds=False, seen="a killed session stays in V$SESSION")
    except EngineError as error:
        return Result(assumption, None, str(error))
    return Result(assumption, found.holds, found.seen)


def status_markdown() -> str:
    """The table of docs/oracle-status.md."""
    lines = ["| name | what is taken for granted | basis | weighs on | otherwise |", "|---|---|---|---|---|"]
    lines += [
        f"| `{item.name}` | {item.claim} | {item.basis} | {item.weight} | {item.otherwise} |"
        for item in ASSUMPTIONS
    ]
    return "\n".join(lines) + "\n"
