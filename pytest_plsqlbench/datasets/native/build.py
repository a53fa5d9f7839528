"""From the native format to tasks: defaults filled in, rules checked that types cannot state."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

import msgspec

from pytest_plsqlbench.bench.task import (
    DIALECTS,
    Attachment,
    Comparison,
    Dialect,
    Expectation,
    Mode,
    Source,
    Task,
    Test,
    Turn,
)
from pytest_plsqlbench.datasets.native.schema import (
    NativeAttachment,
    NativeExpectation,
    NativeTask,
    NativeTest,
    NativeTurn,
    NativeVariant,
)
from pytest_plsqlbench.datasets.validation import Fault, KeyPath

Place = Callable[[KeyPath], Source]
"""Gives the place in the file of a value of the task."""

_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}\Z")
_DATABASE = re.compile(r"[a-z][a-z0-9_]{0,29}\Z")
_ERROR: dict[Dialect, tuple[re.Pattern[str], str]] = {
    "postgres": (re.compile(r"[0-9A-Z]{5}\Z"), "a SQLSTATE of five characters such as '22012'"),
    "oracle": (re.compile(r"(?:ORA|PLS)-[0-9]{5}\Z"), "a code with five digits such as 'ORA-01403'"),
}
_STATED_BY: dict[Mode, str] = {
    "error_class": "error",
    "error_code": "error",
    "lines": "lines",
    "lines_bag": "lines",
    "value": "rows",
    "list": "rows",
    "bag": "rows",
    "permuted": "rows",
}
"""The part of a stated expectation that a mode compares with."""


def build_tasks(native: NativeTask, place: Place) -> tuple[Task, ...]:
    """The tasks of a native task, one a dialect; their source is the line of the variant.

    Raises:
        Fault: a rule is broken.
    """
    for key, value in (("id", native.id), ("subset", native.subset)):
        if not _ID.match(value):
            raise Fault((key,), f"{value!r} must be lower-case letters, digits, '-' and '_', at most 100")
    if native.database is not None and not _DATABASE.match(native.database):
        raise Fault(
            ("database",), f"{native.database!r} must be lower-case letters, digits and '_', at most 30"
        )
    variants = native.variants
    found: dict[Dialect, NativeVariant | None] = {"postgres": variants.postgres, "oracle": variants.oracle}
    if not any(found.values()):
        raise Fault(("variants",), f"names no dialect: give {' or '.join(sorted(DIALECTS))}, or both")
    tasks = []
    for dialect, variant in found.items():
        if variant is None:
            continue
        keys: KeyPath = ("variants", dialect)
        tasks.append(
            Task(
                id=native.id,
                subset=native.subset,
                dialect=dialect,
                turns=tuple(_turns(native.id, dialect, variant, keys)),
                source=place(keys),
                database=native.database,
                conversation=variant.turns is not None,
                title=native.title,
                difficulty=native.difficulty,
                reasoning_types=native.reasoning_types,
                constructs=native.constructs,
            )
        )
    return tuple(tasks)


def _turns(task_id: str, dialect: Dialect, variant: NativeVariant, keys: KeyPath) -> Iterator[Turn]:
    setup = _setup(variant.setup, (*keys, "setup"))
    for turn in _bare_turns(task_id, dialect, variant, keys):
        yield msgspec.structs.replace(turn, setup=setup) if setup else turn


def _setup(given: str | tuple[str, ...] | None, keys: KeyPath) -> tuple[str, ...]:
    """The programs that are installed first on both sides."""
    if given is None:
        return ()
    several = isinstance(given, tuple)
    programs: tuple[str, ...] = given if isinstance(given, tuple) else (given,)
    if not programs:
        raise Fault(keys, "is empty: leave it out where nothing is to be installed first")
    for number, program in enumerate(programs):
        here = (*keys, number) if several else keys
        if not program.strip():
            raise Fault(here, "is empty")
        if "\0" in program:
            raise Fault(here, "holds the character U+0000, which no database takes")
    return programs


def _bare_turns(task_id: str, dialect: Dialect, variant: NativeVariant, keys: KeyPath) -> Iterator[Turn]:
    if variant.turns is None:
        if variant.prompt is None:
            raise Fault(keys, "the key 'prompt' is missing (or 'turns', for a conversation)")
        if variant.tests is None:
            raise Fault(keys, "the key 'tests' is missing")
        single = NativeTurn(variant.prompt, variant.tests, variant.reference, variant.attachments or ())
        yield _turn(single, 1, task_id, dialect, keys)
        return
    for key in ("prompt", "tests", "reference", "attachments"):
        if getattr(variant, key) is not None:
            raise Fault((*keys, key), "stands in each of the turns where there are 'turns'")
    if not variant.turns:
        raise Fault((*keys, "turns"), "is empty: a conversation has at least one turn")
    for index, turn in enumerate(variant.turns, 1):
        yield _turn(turn, index, f"{task_id}_q{index:02d}", dialect, (*keys, "turns", index - 1))


def _turn(turn: NativeTurn, index: int, turn_id: str, dialect: Dialect, keys: KeyPath) -> Turn:
    if not turn.prompt.strip():
        raise Fault((*keys, "prompt"), "is empty")
    if turn.reference is not None and not turn.reference.strip():
        raise Fault((*keys, "reference"), "is empty: leave it out where all tests state what they expect")
    if "\0" in (turn.reference or ""):
        raise Fault((*keys, "reference"), "holds the character U+0000, which no database takes")
    if not turn.tests:
        raise Fault((*keys, "tests"), "is empty: a turn has at least one test")
    tests = []
    names: set[str] = set()
    for number, native in enumerate(turn.tests):
        here = (*keys, "tests", number)
        if not native.name.strip() or "\n" in native.name:
            raise Fault((*here, "name"), "must be one line of text")
        if native.name in names:
            raise Fault((*here, "name"), f"two tests of the turn are called {native.name!r}")
        names.add(native.name)
        tests.append(_test(native, dialect, has_reference=turn.reference is not None, keys=here))
    return Turn(
        index=index,
        id=turn_id,
        prompt=turn.prompt,
        reference=turn.reference,
        tests=tuple(tests),
        attachments=_attachments(turn.attachments, (*keys, "attachments")),
    )


def _attachments(attachments: tuple[NativeAttachment, ...], keys: KeyPath) -> tuple[Attachment, ...]:
    files: set[str] = set()
    for number, attachment in enumerate(attachments):
        if not attachment.file.strip() or attachment.file in files:
            raise Fault((*keys, number, "file"), "must be a name that no other attachment of the turn has")
        files.add(attachment.file)
    return tuple(Attachment(a.file, a.kind, a.text) for a in attachments)


def _test(native: NativeTest, dialect: Dialect, *, has_reference: bool, keys: KeyPath) -> Test:
    if native.call is not None and native.calls is not None:
        raise Fault((*keys, "calls"), "a test has 'call' or 'calls', not both")
    suite = native.calls is not None
    calls = native.calls if native.calls is not None else (native.call,) if native.call is not None else ()
    if suite and not calls:
        raise Fault((*keys, "calls"), "is empty")
    for number, call in enumerate(calls):
        here = (*keys, "calls", number) if suite else (*keys, "call")
        if not call.strip():
            raise Fault(here, "is empty")
        if "\0" in call:
            raise Fault(here, "holds the character U+0000, which no database takes")
    if not has_reference and native.expect is None:
        raise Fault(keys, "needs 'expect', or the turn needs a 'reference': nothing says what is right")
    expect = None if native.expect is None else _expectation(native.expect, dialect, (*keys, "expect"))
    compare = _compare(native, expect, suite=suite, called=bool(calls))
    for number, rule in enumerate(compare):
        several = isinstance(native.compare, tuple)
        _check_rule(rule, expect, (*keys, "compare", number) if several else (*keys, "compare"))
    return Test(
        name=native.name,
        calls=calls,
        compare=compare,
        on_error=native.on_error or ("continue" if suite else "stop"),
        may_fail=native.may_fail or (expect is not None and expect.error is not None),
        expect=expect,
        transaction=native.transaction,
    )


def _compare(
    native: NativeTest, expect: Expectation | None, *, suite: bool, called: bool
) -> tuple[Comparison, ...]:
    """The rules as written; where none are, those of the kind of test (docs/tasks.md, "What is compared")."""
    if native.compare is not None:
        rules = native.compare if isinstance(native.compare, tuple) else (native.compare,)
        return tuple(rule if isinstance(rule, Comparison) else Comparison(rule) for rule in rules)
    if expect is not None:
        stated: tuple[tuple[Mode, object], ...] = (
            ("lines", expect.lines),
            ("list", expect.rows),
            ("error_code", expect.error),
        )
        return tuple(Comparison(mode) for mode, value in stated if value is not None)
    if suite:
        return (Comparison("state"),)
    return (Comparison("lines"), Comparison("list")) if called else (Comparison("lines"),)


def _check_rule(rule: Comparison, expect: Expectation | None, keys: KeyPath) -> None:
    if rule.tolerance is not None and not rule.tolerance >= 0:
        raise Fault((*keys, "tolerance"), "must be zero or more")
    if rule.order_keys is not None and rule.mode not in {"list", "permuted"}:
        raise Fault(
            (*keys, "order_keys"), f"has no meaning for mode {rule.mode!r}, only for list and permuted"
        )
    if rule.order_keys is not None and any(column < 0 for column in rule.order_keys):
        raise Fault((*keys, "order_keys"), "are columns, counted from 0")
    if rule.hidden_columns and (rule.mode != "permuted" or rule.hidden_columns < 0):
        raise Fault((*keys, "hidden_columns"), "is a number of columns, and only for mode permuted")
    if rule.mode == "permuted" and (expect is None or expect.rows is None):
        raise Fault(keys, "mode permuted compares printed lines with stated rows: give 'expect: {rows: …}'")
    if expect is None or rule.mode == "outcome":
        return
    part = _STATED_BY.get(rule.mode)
    if part is None:
        raise Fault(keys, f"mode {rule.mode} cannot be stated: leave 'expect' out and give a reference")
    if getattr(expect, part) is None:
        raise Fault(keys, f"mode {rule.mode} compares {part}, but 'expect' states none")


def _expectation(native: NativeExpectation, dialect: Dialect, keys: KeyPath) -> Expectation:
    if native.lines is None and native.rows is None and native.error is None:
        raise Fault(keys, "states nothing: give lines, rows or error")
    for number, line in enumerate(native.lines or ()):
        if "\n" in line or "\r" in line:
            raise Fault((*keys, "lines", number), "is several lines: one entry a line")
    width = len(native.rows[0]) if native.rows else 0
    for number, row in enumerate(native.rows or ()):
        here = (*keys, "rows", number)
        if len(row) != width:
            raise Fault(here, f"has {len(row)} values, the first row has {width}")
        for column, cell in enumerate(row):
            if not (cell is None or isinstance(cell, str | int | float | bool | Decimal)):
                raise Fault((*here, column), "must be a number, text, true, false or null")
    if native.error is not None:
        pattern, form = _ERROR[dialect]
        if not pattern.match(native.error):
            raise Fault((*keys, "error"), f"{native.error!r} is not {form}")
    return Expectation(native.lines, native.rows, native.error)
