"""The constructs that a program uses, by the labels with which benchmarks annotate their tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from pytest_plsqlbench.sql.code import Code, CodeStatement
from pytest_plsqlbench.sql.lexer import Token
from pytest_plsqlbench.sql.unit import ProgramUnit
from pytest_plsqlbench.sql.units import Program, program_tokens

CONSTRUCTS = (
    "procedure",
    "function",
    "package",
    "trigger",
    "anonymous_block",
    "nested_subprogram",
    "overloading",
    "recursion",
    "default_parameter",
    "out_parameter",
    "cursor",
    "cursor_for_loop",
    "cursor_variable",
    "select_into",
    "exception_handling",
    "user_exception",
    "raise",
    "dynamic_sql",
    "collection",
    "record",
    "object_type",
    "bulk_processing",
    "pipelined",
    "autonomous_transaction",
    "transaction_control",
    "loop",
    "conditional",
    "goto",
    "returning",
    "anchored_type",
    "printed_output",
    "insert",
    "update",
    "delete",
    "merge",
    "analytic_function",
    "common_table_expression",
    "hierarchical_query",
    "regular_expression",
)
"""All labels, in the order in which they are reported."""

_LOOPS = frozenset(("for", "while", "loop", "foreach"))
_BY_STATEMENT = {
    "if": "conditional",
    "case": "conditional",
    "goto": "goto",
    "raise": "raise",
    "execute": "dynamic_sql",
    "commit": "transaction_control",
    "rollback": "transaction_control",
    "savepoint": "transaction_control",
    "forall": "bulk_processing",
    "open": "cursor",
    "insert": "insert",
    "update": "update",
    "delete": "delete",
    "merge": "merge",
} | dict.fromkeys(_LOOPS, "loop")
_BY_UNIT = {
    "procedure": "procedure",
    "function": "function",
    "package": "package",
    "package_body": "package",
    "trigger": "trigger",
    "block": "anonymous_block",
    "type_body": "object_type",
}


def constructs(program: Program) -> tuple[str, ...]:
    """The labels of a program, in the order of ``CONSTRUCTS``."""
    found: set[str] = set()
    for unit in program.units:
        found.update(_of_unit(unit))
        found.update(_of_code(unit.code))
    for statement in program.script.statements:
        if statement.kind == "transaction":
            found.add("transaction_control")
    for tokens in program_tokens(program):
        found.update(_of_tokens(tokens))
    return tuple(label for label in CONSTRUCTS if label in found)


def _of_unit(unit: ProgramUnit) -> Iterator[str]:
    if unit.kind in _BY_UNIT and not unit.statement.from_exec:
        yield _BY_UNIT[unit.kind]
    if unit.kind == "type":
        yield "collection" if unit.detail.startswith(("table of", "varray", "varying")) else "object_type"
    for routine in unit.routines:
        yield routine.kind
    if unit.nested:
        yield "nested_subprogram"
    names = [routine.name for routine in unit.members if routine.has_body or unit.kind != "package_body"]
    if len(set(names)) < len(names):
        yield "overloading"
    parameters = [
        *unit.parameters,
        *(parameter for routine in unit.routines for parameter in routine.parameters),
    ]
    if any(parameter.default is not None for parameter in parameters):
        yield "default_parameter"
    if any(parameter.mode in {"out", "in out"} for parameter in parameters):
        yield "out_parameter"
    if _calls_itself(unit):
        yield "recursion"


def _calls_itself(unit: ProgramUnit) -> bool:
    """Whether the name of a routine is called between its own header and its end."""
    code = unit.code
    names: list[tuple[str, int, int]] = []
    if unit.kind in {"function", "procedure"} and unit.name is not None and code.routines:
        start = max(code.routines[0].header_end, 0)
        names.append((unit.name.name.upper(), start, len(code.tokens)))
    for routine in code.routines:
        if routine.has_body and routine.kind in {"function", "procedure"} and routine.start:
            at = routine.start
            while at < routine.header_end and code.tokens[at].value not in {"FUNCTION", "PROCEDURE"}:
                at += 1
            end = routine.end if routine.end >= 0 else len(code.tokens)
            names.append((code.tokens[min(at + 1, end - 1)].value, routine.header_end, end))
    counts = Counter(name for name, _, _ in names)
    alone = {
        name: (start, end) for name, start, end in names if counts[name] == 1
    }  # overloads call each other
    for at in range(1, len(code.tokens) - 1):
        start, end = alone.get(code.tokens[at].value.upper(), (at, at))
        if start < at < end and code.tokens[at + 1].value == "(" and code.tokens[at - 1].value != "END":
            return True
    return False


def _of_code(code: Code) -> Iterator[str]:
    for statement in code.statements:
        label = _BY_STATEMENT.get(statement.kind)
        if label is not None:
            yield label
        if statement.kind == "forall":
            yield from _forall_verb(code, statement)
        if statement.detail == "bulk":
            yield "bulk_processing"
        if statement.kind == "select" and statement.detail:
            yield "select_into"
        if statement.kind == "for" and statement.detail in {"query", "cursor", "dynamic"}:
            yield "cursor_for_loop"
            if statement.detail == "dynamic":
                yield "dynamic_sql"
    for branch in code.branches:
        if branch.kind == "handler":
            yield "exception_handling"
    yield from _of_declarations(code)


def _forall_verb(code: Code, statement: CodeStatement) -> Iterator[str]:
    for token in code.tokens[statement.start : statement.end]:
        if token.value in {"INSERT", "UPDATE", "DELETE", "MERGE", "EXECUTE"}:
            yield "dynamic_sql" if token.value == "EXECUTE" else token.value.lower()
            return


def _of_declarations(code: Code) -> Iterator[str]:
    for declaration in code.declarations:
        if declaration.kind == "cursor":
            yield "cursor"
        elif declaration.kind == "exception":
            yield "user_exception"
        elif declaration.kind == "type":
            yield from _declared_type(code.tokens[declaration.start : declaration.end])
        elif declaration.kind == "pragma" and declaration.name == "AUTONOMOUS_TRANSACTION":
            yield "autonomous_transaction"


def _declared_type(tokens: Sequence[Token]) -> Iterator[str]:
    words = {token.value for token in tokens[:5]}
    if "RECORD" in words:
        yield "record"
    elif "TABLE" in words or "VARRAY" in words or "VARYING" in words:
        yield "collection"
    elif "REF" in words:
        yield "cursor_variable"


def _of_tokens(tokens: Sequence[Token]) -> Iterator[str]:
    for at, token in enumerate(tokens):
        label = _BY_WORD.get(token.value)
        if label is not None and (token.kind == "word" or token.value == "["):
            found = label(tokens, at) if callable(label) else label
            if found:
                yield found


def _following(tokens: Sequence[Token], at: int, count: int = 1) -> tuple[str, ...]:
    return tuple(token.value for token in tokens[at + 1 : at + 1 + count])


def _when_next(label: str, *allowed: str) -> Callable[[Sequence[Token], int], str]:
    return lambda tokens, at: (
        label if _following(tokens, at)[:1] and _following(tokens, at)[0] in allowed else ""
    )


def _anchored(tokens: Sequence[Token], at: int) -> str:
    return "anchored_type" if at and tokens[at - 1].value == "%" else ""


def _rowtype(tokens: Sequence[Token], at: int) -> str:
    return "record" if at and tokens[at - 1].value == "%" else ""


def _common_table(tokens: Sequence[Token], at: int) -> str:
    following = _following(tokens, at, 2)
    shaped = following[:1] == ("RECURSIVE",) or following[1:] in {("AS",), ("(",)}
    return "common_table_expression" if shaped and following[0] not in _AFTER_OTHER_WITH else ""


def _returning(tokens: Sequence[Token], at: int) -> str:
    """RETURNING of a DML statement; JSON functions have one too, inside parentheses."""
    depth = 0
    for token in reversed(tokens[max(0, at - 400) : at]):
        depth += (token.value == ")") - (token.value == "(")
        if depth < 0:
            return ""
        if token.value == ";" or token.value in {"INSERT", "UPDATE", "DELETE", "MERGE"}:
            break
    return "returning"


_AFTER_OTHER_WITH = frozenset(("ORDINALITY", "TIES", "TIME", "LOCAL", "CHECK", "NO", "DATA", "("))
_BY_WORD: dict[str, str | Callable[[Sequence[Token], int], str]] = {
    "OVER": _when_next("analytic_function", "("),
    "CONNECT": _when_next("hierarchical_query", "BY"),
    "PIPELINED": "pipelined",
    "SYS_REFCURSOR": "cursor_variable",
    "REFCURSOR": "cursor_variable",
    "TYPE": _anchored,
    "ROWTYPE": _rowtype,
    "RECORD": "record",
    "DBMS_OUTPUT": _when_next("printed_output", "."),
    "DBMS_SQL": _when_next("dynamic_sql", "."),
    "NOTICE": "printed_output",
    "RAISE_APPLICATION_ERROR": "raise",
    "RETURNING": _returning,
    "WITH": _common_table,
    "REGEXP_LIKE": "regular_expression",
    "REGEXP_REPLACE": "regular_expression",
    "REGEXP_SUBSTR": "regular_expression",
    "REGEXP_INSTR": "regular_expression",
    "REGEXP_COUNT": "regular_expression",
    "REGEXP_MATCHES": "regular_expression",
    "REGEXP_MATCH": "regular_expression",
    "REGEXP_SPLIT_TO_TABLE": "regular_expression",
    "REGEXP_SPLIT_TO_ARRAY": "regular_expression",
    "SIMILAR": _when_next("regular_expression", "TO"),
    "ARRAY": _when_next("collection", "["),
    "FOREACH": "collection",
    "MULTISET": "collection",
    "RECURSIVE": "hierarchical_query",
}
