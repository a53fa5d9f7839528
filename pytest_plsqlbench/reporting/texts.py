"""``turns.jsonl``: what was asked and answered, beside ``results.jsonl``, for reports to show later."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_plsqlbench.bench.result import SCHEMA_VERSION
from pytest_plsqlbench.bench.shard import TurnKey
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.reporting.jsonlines import decode_lines
from pytest_plsqlbench.reporting.linefile import LineFile
from pytest_plsqlbench.reporting.store import natural, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from pytest_plsqlbench.bench.task import Task, Test, Turn

TEXTS_FILE = "turns.jsonl"
LONGEST_TEXT = 20_000
"""Characters of a prompt, program or reference that are kept; the rest is cut off."""
LONGEST_CALL = 2_000
"""Characters of a test's calls that are kept."""
MOST_CALLS = 50
"""Tests of a turn whose calls are kept, the first ones."""


class TurnText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``turns.jsonl``: the texts of one turn and sample."""

    schema_version: int = SCHEMA_VERSION
    subset: str
    task: str
    dialect: str
    turn: int
    sample: int = 0
    prompt: str | None = None
    """None where another sample's line of the same turn has it; so are ``reference`` and ``calls``."""
    program: str | None = None
    """The candidate as it was played; None where there was no prediction."""
    reference: str | None = None
    """The reference program, or the gold queries; None where the benchmark has none."""
    calls: tuple[str, ...] = ()
    """What each test calls, in the order of the turn's tests."""
    cut: dict[str, int] = {}
    """Full length in characters of each text that was cut, by its name."""

    @property
    def key(self) -> TurnKey:
        """Names the result that the texts belong to."""
        return TurnKey(self.subset, self.task, self.dialect, self.turn, self.sample)  # type: ignore[arg-type]


def turn_text(task: Task, turn: Turn, sample: int, program: str | None) -> TurnText:
    """The texts of a turn, each cut at the length that is kept.

    Args:
        task: the task of the turn.
        turn: what was asked.
        sample: which answer.
        program: the answer as it was played; None where there is none.
    """
    cut: dict[str, int] = {}
    texts: dict[str, str | None] = {
        "prompt": turn.prompt,
        "program": program,
        "reference": turn.reference if turn.reference is not None else _gold(turn.tests),
    }
    for name, text in texts.items():
        if text is not None and len(text) > LONGEST_TEXT:
            cut[name] = len(text)
            texts[name] = text[:LONGEST_TEXT]
    return TurnText(
        subset=task.subset,
        task=task.id,
        dialect=task.dialect,
        turn=turn.index,
        sample=sample,
        prompt=texts["prompt"],
        program=texts["program"],
        reference=texts["reference"],
        calls=tuple(_call(test) for test in turn.tests[:MOST_CALLS]),
        cut=cut,
    )


def encode_text(text: TurnText) -> str:
    """As one line of JSON; characters that no encoding has (lone surrogates) are shown as escapes."""
    try:
        return msgspec.json.encode(text).decode()
    except UnicodeEncodeError:
        parts = {name: _encodable(getattr(text, name)) for name in ("prompt", "program", "reference")}
        calls = tuple(_encodable(call) or "" for call in text.calls)
        return msgspec.json.encode(msgspec.structs.replace(text, **parts, calls=calls)).decode()


def _encodable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def _gold(tests: Sequence[Test]) -> str | None:
    queries = [test.gold for test in tests if test.gold is not None]
    return "\n\n".join(dict.fromkeys(queries)) if queries else None


def _call(test: Test) -> str:
    text = "\n".join(test.calls)
    return text if len(text) <= LONGEST_CALL else f"{text[:LONGEST_CALL]}…"


def read_texts(path: Path) -> dict[TurnKey, TurnText]:
    """The texts of a report folder, by turn; those that lines of one turn share are in each of them.

    Nothing where there is no file (a run of an earlier version); a last line cut short is left out.

    Args:
        path: of the ``turns.jsonl``.

    Raises:
        UserError: the file cannot be read, or a line is not the texts of a turn (file:line).
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    return decode_texts(data, path)


def decode_texts(data: bytes, path: Path) -> dict[TurnKey, TurnText]:
    """Decode the content of a ``turns.jsonl``, as ``read_texts`` does.

    Raises:
        UserError: a line is not the texts of a turn (file:line).
    """
    texts: dict[TurnKey, TurnText] = {}
    shared: dict[TurnKey, TurnText] = {}
    for text in decode_lines(data, path, TurnText, called="the texts of a turn", torn=lambda _: True):
        texts[text.key] = text
        if text.prompt is not None:
            shared[_turn_of(text)] = text
    for key, text in texts.items():
        other = shared.get(_turn_of(text))
        if text.prompt is None and other is not None:
            cut = {name: length for name, length in other.cut.items() if name != "program"}
            texts[key] = msgspec.structs.replace(
                text,
                prompt=other.prompt,
                reference=other.reference,
                calls=other.calls,
                cut=cut | text.cut,
            )
    return texts


def encode_texts(texts: Iterable[TurnText]) -> bytes:
    """As JSON lines in the order of ``results.jsonl``; what samples of a turn share, in the first line."""
    lines = []
    last: TurnKey | None = None
    for text in sorted(texts, key=_order):
        turn = _turn_of(text)
        lines.append(encode_text(_own(text) if turn == last else text))
        last = turn
    return "".join(f"{line}\n" for line in lines).encode()


def _order(text: TurnText) -> tuple[object, ...]:
    return (text.subset, natural(text.task), text.task, text.dialect, text.turn, text.sample)


def _turn_of(text: TurnText) -> TurnKey:
    return msgspec.structs.replace(text.key, sample=0)


def _own(text: TurnText) -> TurnText:
    """Without what the samples of a turn share."""
    cut = {name: length for name, length in text.cut.items() if name == "program"}
    return msgspec.structs.replace(text, prompt=None, reference=None, calls=(), cut=cut)


class TextStore:
    """Appends lines as they come, and sorts the file at the end of the run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = LineFile(path)

    def add(self, line: str) -> None:
        """Keep the texts of a turn, as ``encode_text`` gives them; a later line of the same turn wins.

        Raises:
            UserError: the file cannot be written.
        """
        self._file.add(line.encode())

    def finish(self) -> None:
        """Sort the file, and keep once what the samples of a turn share.

        Raises:
            UserError: the file cannot be written.
        """
        data = self._file.content()
        if self._file.close():
            write_atomically(self.path, encode_texts(decode_texts(data, self.path).values()))
