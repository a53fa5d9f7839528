"""Error codes: what a SQLSTATE or an ORA-/PLS-/DPY- code says about a failed program. The one table of codes.

Sources: PLSQLBench App. E.2 for the three categories and the codes it names; PostgreSQL's appendix of error
codes and Oracle's error messages for the rest. Codes are labels only: a program can raise any code, so time
limits and lost sessions are decided by the engine, never by a code.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from pytest_plsqlbench.bench.observation import Diagnostic

Category = Literal["wrong_result", "invalid_program", "interface", "limit"]
CATEGORIES: tuple[Category, ...] = ("wrong_result", "invalid_program", "interface", "limit")


class CodeRule(NamedTuple):
    """What some codes mean."""

    category: Category
    subcategory: str
    group: str
    """Class of Oracle codes for the mode ``error_class``; a SQLSTATE's class is its first two characters."""
    codes: str
    """Codes, separated by blanks; one that ends in ``*`` stands for all that begin so and have no own row."""


CODE_RULES: tuple[CodeRule, ...] = (
    # PostgreSQL: the text is no valid program
    CodeRule("invalid_program", "syntax_error", "", "42601 42602 42622 42939"),
    CodeRule("invalid_program", "type_error", "", "42804 42846 42P18 42P21 42P22 42P38"),
    CodeRule(
        "invalid_program", "invalid_object", "", "42P10 42P11 42P12 42P13 42P14 42P15 42P16 42P17 42611"
    ),
    CodeRule("invalid_program", "invalid_query", "", "42701 42702 42712 42803 42P08 42P09 42P19 42P20"),
    CodeRule("invalid_program", "duplicate_object", "", "42710 42723 42P03 42P04 42P05 42P06 42P07"),
    CodeRule("invalid_program", "forbidden", "", "42501"),
    CodeRule("invalid_program", "unsupported_feature", "", "0A000"),
    CodeRule("invalid_program", "bad_encoding", "", "22021"),
    # PostgreSQL: the program does not fit its callers or the schema
    CodeRule("interface", "missing_entry_point", "", "42883"),
    CodeRule("interface", "wrong_arguments", "", "42725 42809 42P02"),
    CodeRule("interface", "unknown_column", "", "42703"),
    CodeRule("interface", "unknown_table", "", "42P01"),
    CodeRule("interface", "unknown_object", "", "26000 34000 3D000 3F000 42704"),
    # Limits of PostgreSQL
    CodeRule("limit", "memory_limit", "", "53200"),
    CodeRule("limit", "disk_limit", "", "53100"),
    CodeRule("limit", "session_limit", "", "53300"),
    CodeRule("limit", "recursion_limit", "", "54001"),
    CodeRule("limit", "resource_limit", "", "53* 54*"),
    # PostgreSQL: run time
    CodeRule(
        "wrong_result",
        "runtime_error",
        "",
        "01* 02* 08* 09* 0B* 0F* 0L* 0P* 0Z* 10* 20* 21* 22* 23* 24* 25* 27* 2B* 2D* 2F* 38* 39* 3B* 40* 44*"
        " 55* 57014 58* 72* HV* P0* XX*",
    ),
    CodeRule("wrong_result", "session_lost", "", "57P01 57P02 57P03 57P05"),
    # Oracle: the text is no valid program
    CodeRule(
        "invalid_program",
        "syntax_error",
        "syntax",
        "PLS-00049 PLS-00103 PLS-00112 PLS-00114 ORA-00900 ORA-00901 ORA-00903 ORA-00905 ORA-00906 ORA-00907"
        " ORA-00908 ORA-00909 ORA-00911 ORA-00917 ORA-00920 ORA-00921 ORA-00922 ORA-00923 ORA-00924 ORA-00926"
        " ORA-00927 ORA-00928 ORA-00933 ORA-00936 ORA-00946 ORA-00969 ORA-00972 ORA-01740 ORA-01756 ORA-02000"
        " ORA-03048 ORA-03049 ORA-03050 DPY-2041 DPY-2042",
    ),
    CodeRule("invalid_program", "unbound_placeholder", "syntax", "ORA-01006 ORA-01008 DPY-4010"),
    CodeRule(
        "invalid_program",
        "invalid_object",
        "invalid",
        "PLS-00304 PLS-00320 PLS-00323 PLS-00905 ORA-02303 ORA-04045 ORA-04061 ORA-04062 ORA-04063 ORA-04065"
        " ORA-04068 ORA-04098 ORA-06508 ORA-22866 ORA-24344 DPY-7000",
    ),
    CodeRule(
        "invalid_program",
        "type_error",
        "type",
        "PLS-00231 PLS-00363 PLS-00372 PLS-00382 PLS-00386 PLS-00455 PLS-00503 PLS-00642 ORA-00932",
    ),
    CodeRule(
        "invalid_program",
        "invalid_query",
        "query",
        "PLS-00204 PLS-00394 PLS-00428 ORA-00913 ORA-00918 ORA-00934 ORA-00937 ORA-00947 ORA-00957 ORA-00960"
        " ORA-00979 ORA-01789 ORA-01790 ORA-01791",
    ),
    CodeRule("invalid_program", "duplicate_object", "duplicate", "PLS-00305 PLS-00371 ORA-00955"),
    CodeRule(
        "invalid_program",
        "forbidden",
        "forbidden",
        "ORA-01031 ORA-01536 ORA-01950 ORA-24247 ORA-27486 ORA-29280 ORA-29283 ORA-41900",
    ),
    # Oracle: the program does not fit its callers or the schema
    CodeRule("interface", "missing_entry_point", "undeclared", "PLS-00201 ORA-04067 ORA-06576"),
    CodeRule("interface", "missing_member", "undeclared", "PLS-00225 PLS-00302"),
    CodeRule(
        "interface", "wrong_arguments", "arguments", "PLS-00221 PLS-00222 PLS-00306 PLS-00307 PLS-00703"
    ),
    CodeRule("interface", "unknown_column", "schema", "PLS-00417 ORA-00904"),
    CodeRule("interface", "unknown_table", "schema", "ORA-00942"),
    CodeRule("interface", "unknown_object", "schema", "ORA-01418 ORA-02289 ORA-04043 ORA-04080"),
    # Limits of Oracle
    CodeRule("limit", "output_limit", "limit", "ORU-10027 ORU-10028"),
    CodeRule("limit", "time_limit", "limit", "ORA-02391 ORA-02392 ORA-02393 ORA-02394 ORA-02395 DPY-4024"),
    CodeRule("limit", "memory_limit", "limit", "ORA-04030 ORA-04031 ORA-04036 ORA-10260"),
    CodeRule("limit", "disk_limit", "limit", "ORA-01652 ORA-01653 ORA-12954 ORA-30036"),
    CodeRule("limit", "recursion_limit", "limit", "ORA-00036"),
    CodeRule("limit", "cursor_limit", "limit", "ORA-01000"),
    # Oracle: run time
    CodeRule("wrong_result", "runtime_error", "no_data", "ORA-00100 ORA-01403"),
    CodeRule("wrong_result", "runtime_error", "too_many_rows", "ORA-01422 ORA-01427"),
    CodeRule("wrong_result", "runtime_error", "zero_divide", "ORA-01476"),
    CodeRule(
        "wrong_result",
        "runtime_error",
        "value",
        "ORA-01401 ORA-01426 ORA-01428 ORA-01438 ORA-01489 ORA-01722 ORA-06502 ORA-06530 ORA-06531 ORA-06532"
        " ORA-06533 ORA-12899 ORA-22835",
    ),
    CodeRule(
        "wrong_result",
        "runtime_error",
        "date",
        "ORA-01821 ORA-01830 ORA-01839 ORA-01840 ORA-01841 ORA-01843 ORA-01847 ORA-01858 ORA-01861",
    ),
    CodeRule(
        "wrong_result",
        "runtime_error",
        "constraint",
        "ORA-00001 ORA-01400 ORA-01407 ORA-02290 ORA-02291 ORA-02292",
    ),
    CodeRule("wrong_result", "runtime_error", "cursor", "ORA-01001 ORA-01002 ORA-06504 ORA-06511"),
    CodeRule("wrong_result", "runtime_error", "no_return", "ORA-06503"),
    CodeRule("wrong_result", "runtime_error", "case_not_found", "ORA-06592"),
    CodeRule(
        "wrong_result",
        "runtime_error",
        "transaction",
        "ORA-01086 ORA-01456 ORA-04092 ORA-06519 ORA-14551 ORA-14552",
    ),
    CodeRule("wrong_result", "runtime_error", "mutating", "ORA-04091"),
    CodeRule("wrong_result", "runtime_error", "lock", "ORA-00054 ORA-00060 ORA-04020 ORA-04021"),
    CodeRule("wrong_result", "runtime_error", "bulk", "ORA-24381"),
    CodeRule("wrong_result", "runtime_error", "unhandled", "ORA-06501 ORA-06510"),
    CodeRule("wrong_result", "runtime_error", "cancelled", "ORA-01013"),
    CodeRule("wrong_result", "runtime_error", "user", "ORA-20*"),
    CodeRule(
        "wrong_result",
        "session_lost",
        "session",
        "ORA-00028 ORA-00600 ORA-03113 ORA-03114 ORA-07445 DPY-4011",
    ),
)

_EXACT = {code: rule for rule in CODE_RULES for code in rule.codes.split() if not code.endswith("*")}
_PREFIX = {code[:-1]: rule for rule in CODE_RULES for code in rule.codes.split() if code.endswith("*")}

_ORACLE = re.compile(r"(ORA|PLS|ORU|DPY|PLW)-([0-9]{1,5})", re.ASCII)
_SQLSTATE = re.compile(r"[0-9A-Z]{5}", re.ASCII)
_WRAPPERS = ("ORA-06550", "ORA-06512", "ORA-24344", "ORA-04088", "DPY-7000")
"""Codes that only say where, not what: the cause follows in the message."""


def canonical_code(code: str) -> str:
    """Give a code as the table writes it: upper case, Oracle's numbers with their leading zeros."""
    code = code.strip().upper()
    match = _ORACLE.fullmatch(code)
    if match is None:
        return code
    return f"{match[1]}-{match[2].zfill(4 if match[1] == 'DPY' else 5)}"


def effective_code(error: Diagnostic) -> str:
    """Give the code of an error's cause: the one inside where the outer one only says where it happened.

    ``ORA-06550: line 1 …: PLS-00201: …`` is PLS-00201; ORA-20000 with an ORU code is the full output buffer.
    """
    code = canonical_code(error.code)
    if code not in _WRAPPERS and code != "ORA-20000":
        return code
    inner = [canonical_code(match[0]) for match in _ORACLE.finditer(error.message)]
    if code == "ORA-20000":
        return next((found for found in inner if found.startswith("ORU-")), code)
    return next((found for found in inner if found not in _WRAPPERS), code)


def code_rule(code: str) -> CodeRule | None:
    """Give the row of the table for a code; None where it has none."""
    code = canonical_code(code)
    if code in _EXACT:
        return _EXACT[code]
    return next((rule for prefix, rule in _PREFIX.items() if _covers(prefix, code)), None)


def error_class(code: str) -> str:
    """Give the class of a code for the mode ``error_class``.

    A SQLSTATE's class is its first two characters (SQL standard); Oracle's codes are grouped by the table,
    and a code that has no group is a class of its own.
    """
    code = canonical_code(code)
    if _SQLSTATE.fullmatch(code):
        return code[:2]
    rule = code_rule(code)
    return rule.group if rule is not None else code


def _covers(prefix: str, code: str) -> bool:
    is_sqlstate = _SQLSTATE.fullmatch(code) is not None
    return code.startswith(prefix) and (is_sqlstate if len(prefix) == 2 else not is_sqlstate)
