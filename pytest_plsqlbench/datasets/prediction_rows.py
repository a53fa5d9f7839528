"""One row of a predictions file: which keys name the task, which hold the program (docs/predictions.md)."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

from pytest_plsqlbench.bench.prediction import Prediction
from pytest_plsqlbench.bench.task import Dialect, Source, UserError
from pytest_plsqlbench.bench.visible import visible

ID_KEYS = ("instance_id", "task_id", "id")
"""Keys that name a task or turn, in the order in which they are asked; those not used stay in ``extra``."""
PROGRAM_KEYS = ("generated_plsql", "solution", "completion", "pred_sqls", "submission")

_DIALECTS: dict[str, Dialect] = {
    "postgres": "postgres",
    "postgresql": "postgres",
    "plpgsql": "postgres",
    "oracle": "oracle",
    "plsql": "oracle",
}
_TYPES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    dict: "a mapping",
    list: "a list",
    bool: "a boolean",
}

LONGEST_MODEL = 1_000
"""Characters of a model's name: it stands in every result."""
T = TypeVar("T")


def read_row(line: bytes, source: Source) -> Prediction:
    """The prediction of a line.

    Raises:
        UserError: what is wrong with the line, one line.
    """
    row = _decode(line, source)
    identity, turn = _identity(row, source)
    program = _program(row, source)
    dialect = _dialect(_optional(row, "dialect", str, source), source)
    if isinstance(program, list):
        program = join_statements(program, dialect)
    sample = _optional(row, "sample", int, source)
    if sample is not None and sample < 0:
        raise UserError(f"sample: is counted from 0, not {sample}", source)
    latency = _optional(row, "latency_seconds", float, source)
    return Prediction(
        id=identity,
        turn=turn,
        program=program,
        model=_model(row, source),
        dialect=dialect,
        sample=sample or 0,
        latency_seconds=latency,
        usage=_optional(row, "usage", dict, source),
        extra=row,
        source=source,
    )


def _model(row: dict[str, Any], source: Source) -> str | None:
    """The model's name as all files and reports have it: on one line, nothing hidden; None: blanks."""
    name = _optional(row, "model", str, source)
    if name is not None and len(name) > LONGEST_MODEL:
        raise UserError(f"model: a name of {len(name):,} characters; at most {LONGEST_MODEL:,}", source)
    return None if name is None or not name.strip() else visible(name, keep="")


def join_statements(statements: list[str], dialect: Dialect | None) -> str:
    """A program of a list of statements: one after the other, each on lines of its own and with its end.

    A statement whose last token is neither ``;`` nor ``/`` gets a ``;``. It stands on a line of its own,
    since the statement may end with a comment. Nothing else is added, and nothing is taken away.
    """
    from pytest_plsqlbench.sql.lexer import significant_tokens  # noqa: PLC0415 (only where there are lists)

    parts = []
    for statement in statements:
        tokens = significant_tokens(statement, dialect or "postgres")
        ended = not tokens or tokens[-1].kind == "broken" or tokens[-1].text in {";", "/"}
        parts.append(statement if ended else f"{statement}\n;")
    return "\n".join(parts)


def _decode(line: bytes, source: Source) -> dict[str, Any]:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        row = _decode_leniently(line, source)
    if not isinstance(row, dict):
        raise UserError("is not a JSON object: one object a line", source)
    _refuse_doubled_keys(line, source)
    return row


def _refuse_doubled_keys(line: bytes, source: Source) -> None:
    """JSON readers keep the last of two equal keys: which of two programs is graded must not be chance."""

    def check(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        doubled = next((name for name in names if names.count(name) > 1), None) if len(names) > 1 else None
        if doubled is not None:
            raise UserError(f"the key {doubled!r} is given twice", source)

    json.loads(line.decode().removeprefix("\ufeff"), object_pairs_hook=check, parse_int=str)


def _decode_leniently(line: bytes, source: Source) -> Any:
    """What Python's own json writes and standard JSON has not: half surrogate pairs, NaN."""
    try:
        return _mended(json.loads(line.decode()))
    except json.JSONDecodeError as error:
        what = f"{error.msg.removesuffix(' at')} at column {error.colno}"
        raise UserError(f"is not valid JSON: {what}; one object a line", source) from None
    except RecursionError:
        raise UserError("is not valid JSON: nested too deeply", source) from None
    except ValueError:
        raise UserError("is not usable JSON: a number has too many digits", source) from None


def _mended(value: Any) -> Any:
    """Half a surrogate pair, with which an answer cut off in an emoji ends, becomes U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(part) for part in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(part) for key, part in value.items()}
    return value


def _identity(row: dict[str, Any], source: Source) -> tuple[str, int | None]:
    turn = _optional(row, "turn_index", int, source)
    if turn is not None and turn < 1:
        raise UserError(f"turn_index: is counted from 1, not {turn}", source)
    if row.get("conversation_id") is not None:
        if turn is None:
            raise UserError("turn_index: is missing beside conversation_id", source)
        keys: tuple[str, ...] = ("conversation_id",)
    else:
        row.pop("conversation_id", None)
        keys = ID_KEYS
    for key in keys:
        value = row.get(key)
        if value is None:
            continue
        del row[key]
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value), turn
        if not isinstance(value, str):
            raise UserError(f"{key}: must be text, not {_name(value)}", source)
        if not value:
            raise UserError(f"{key}: is empty", source)
        return value, turn
    raise UserError("names no task: give instance_id, task_id, id, or conversation_id and turn_index", source)


def _program(row: dict[str, Any], source: Source) -> str | list[str]:
    present = [key for key in PROGRAM_KEYS if row.get(key) is not None]
    if not present:
        null = next((key for key in PROGRAM_KEYS if key in row), None)
        if null is not None:
            mend = 'write "" for a failed generation, or leave the row out'
            raise UserError(f"has no program ({null} is null): {mend}", source)
        raise UserError(f"has no program: give {', '.join(PROGRAM_KEYS[:-1])} or {PROGRAM_KEYS[-1]}", source)
    if len(present) > 1:
        raise UserError(f"has several programs, in {' and '.join(present)}: give one", source)
    key = present[0]
    value = row.pop(key)
    for other in PROGRAM_KEYS:
        row.pop(other, None)
    if key == "pred_sqls":
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise UserError(f"{key}: must be a list of texts", source)
        return value
    if key == "submission":
        program, rest = _submission(value, source)
        if rest:
            row[key] = rest
        return program
    if not isinstance(value, str):
        raise UserError(f"{key}: must be text, not {_name(value)}", source)
    return value


def _submission(value: Any, source: Source) -> tuple[str, dict[str, Any]]:
    """The program of a submission, and what else it holds."""
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise UserError("submission: must be a mapping of form and text", source)
    form = value.get("form", "code")
    if form == "diff":
        raise UserError(
            'submission: answers of form "diff" are not graded yet: give the whole program as form "code"',
            source,
        )
    if form != "code":
        raise UserError(f'submission: form must be "code", not {form!r}', source)
    return value["text"], {name: part for name, part in value.items() if name not in {"form", "text"}}


def _dialect(value: str | None, source: Source) -> Dialect | None:
    if value is None:
        return None
    dialect = _DIALECTS.get(value.strip().lower())
    if dialect is None:
        raise UserError(f"dialect: {value!r} is neither 'postgres' nor 'oracle'", source)
    return dialect


def _optional(row: dict[str, Any], key: str, kind: type[T], source: Source) -> T | None:
    """Take a key out of the row; None where it is missing or null."""
    value = row.pop(key, None)
    if value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    fits = (
        whole
        if kind is int
        else isinstance(value, float) or whole
        if kind is float
        else isinstance(value, kind)
    )
    if not fits:
        raise UserError(f"{key}: must be {_TYPES[kind]}, not {_name(value)}", source)
    if kind is float:
        try:
            float(value)  # as whoever reads the results will have it
        except OverflowError:
            raise UserError(f"{key}: is out of range", source) from None
    return value  # type: ignore[no-any-return]


def _name(value: object) -> str:
    return _TYPES.get(type(value), "null")
