"""The native task format as it stands in a file (docs/tasks.md): field by field, nothing filled in."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from pytest_plsqlbench.bench.task import Comparison, Mode


class NativeAttachment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Material handed to the model with the prompt."""

    file: str
    text: str
    kind: str = "document"


class NativeExpectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a test must show, stated."""

    lines: tuple[str, ...] | None = None
    rows: tuple[tuple[Any, ...], ...] | None = None
    error: str | None = None


class NativeTest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One test."""

    name: str
    call: str | None = None
    calls: tuple[str, ...] | None = None
    compare: Mode | Comparison | tuple[Mode | Comparison, ...] | None = None
    expect: NativeExpectation | None = None
    may_fail: bool = False
    on_error: Literal["stop", "continue"] | None = None
    transaction: bool = False


class NativeTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One turn of a conversation."""

    prompt: str
    tests: tuple[NativeTest, ...]
    reference: str | None = None
    attachments: tuple[NativeAttachment, ...] = ()


class NativeVariant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task in one dialect: one turn, or ``turns``."""

    prompt: str | None = None
    tests: tuple[NativeTest, ...] | None = None
    reference: str | None = None
    attachments: tuple[NativeAttachment, ...] | None = None
    turns: tuple[NativeTurn, ...] | None = None
    setup: str | tuple[str, ...] | None = None


class NativeVariants(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The dialects of a task."""

    postgres: NativeVariant | None = None
    oracle: NativeVariant | None = None


class NativeTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task file, or a line of a JSONL file."""

    id: str
    subset: str
    variants: NativeVariants
    title: str | None = None
    difficulty: Literal["simple", "medium", "hard"] | None = None
    reasoning_types: tuple[str, ...] = ()
    constructs: tuple[str, ...] = ()
    database: str | None = None
