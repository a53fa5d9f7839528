"""The portable column types, their cells, and what they are in either dialect (docs/fixtures.md)."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal, get_args

from pytest_plsqlbench.bench.task import Dialect

TypeName = Literal["integer", "bigint", "numeric", "varchar", "char", "text", "boolean", "date", "timestamp"]
TYPE_NAMES: tuple[TypeName, ...] = get_args(TypeName)

_FORM = re.compile(r"([a-z]+)(?:\(\s*([0-9]{1,4})\s*(?:,\s*([0-9]{1,2})\s*)?\))?\Z")
_BITS = {"integer": 31, "bigint": 63}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?\Z")
_ORACLE: dict[TypeName, str] = {
    "integer": "NUMBER(10)",
    "bigint": "NUMBER(19)",
    "numeric": "NUMBER",
    "varchar": "VARCHAR2",
    "char": "CHAR",
    "text": "CLOB",
    "boolean": "NUMBER(1)",
    "date": "DATE",
    "timestamp": "TIMESTAMP(6)",
}
_LONGEST = {"varchar": 4000, "char": 2000}
"""Of Oracle's types where the server runs with MAX_STRING_SIZE=STANDARD, in bytes."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A portable type. Sizes are in characters; precision and scale in decimal digits."""

    name: TypeName
    size: int | None = None
    """Length of character types, precision of ``numeric``."""
    scale: int = 0

    def __str__(self) -> str:
        if self.size is None:
            return self.name
        return (
            f"{self.name}({self.size},{self.scale})"
            if self.name == "numeric"
            else f"{self.name}({self.size})"
        )

    @property
    def textual(self) -> bool:
        """Whether its cells are text."""
        return self.name in {"varchar", "char", "text"}

    def sql(self, dialect: Dialect) -> str:
        """The type in a CREATE TABLE."""
        if dialect == "postgres":
            return "timestamp(6)" if self.name == "timestamp" else str(self)
        if self.size is None:
            return _ORACLE[self.name]
        sizes = f"{self.size},{self.scale}" if self.name == "numeric" else f"{self.size} CHAR"
        return f"{_ORACLE[self.name]}({sizes})"

    def problem(self, cell: str) -> str | None:
        """Why a cell is not of the type; None where it is."""
        match self.name:
            case "integer" | "bigint":
                return self._whole_problem(cell)
            case "numeric":
                return self._numeric_problem(cell)
            case "varchar" | "char" | "text":
                return self._text_problem(cell)
            case "boolean":
                return None if cell in {"true", "false"} else "is not true or false"
            case "date":
                return None if _DATE.match(cell) and _is_moment(cell) else "is not a date YYYY-MM-DD"
            case "timestamp":
                fits = _TIMESTAMP.match(cell) and _is_moment(cell)
                return None if fits else "is not a timestamp YYYY-MM-DD HH:MM:SS"

    def text(self, cell: str, dialect: Dialect) -> str:
        """The cell in the text form in which the dialect's loader takes it.

        PostgreSQL: as COPY reads it. Oracle: dates and timestamps as ``YYYY-MM-DD HH24:MI:SS[.FF]``, booleans
        as 1 and 0, the rest as it is.
        """
        if dialect == "oracle" and self.name == "boolean":
            return "1" if cell == "true" else "0"
        if dialect == "oracle" and self.name == "date":
            return f"{cell} 00:00:00"
        return cell

    def literal(self, cell: str, dialect: Dialect) -> str:
        """The cell as an SQL literal."""
        if self.textual:
            return "'" + cell.replace("'", "''") + "'"
        if self.name in {"date", "timestamp"}:
            return f"{self.name.upper()} '{cell}'"
        return self.text(cell, dialect)

    def _whole_problem(self, cell: str) -> str | None:
        if not re.fullmatch(r"-?[0-9]{1,20}", cell):
            return "is not a whole number"
        limit = 1 << _BITS[self.name]
        return None if -limit <= int(cell) < limit else f"is out of the range of {self.name}"

    def _numeric_problem(self, cell: str) -> str | None:
        try:
            number = Decimal(cell)
        except InvalidOperation:
            return "is not a number"
        if not number.is_finite():
            return "is not a finite number"
        if self.size is None:
            return None
        exponent = number.as_tuple().exponent
        assert isinstance(exponent, int)
        if -exponent > self.scale:
            return f"has more than {self.scale} decimal places"
        return None if abs(number) < Decimal(10) ** (self.size - self.scale) else f"is too large for {self}"

    def _text_problem(self, cell: str) -> str | None:
        if "\0" in cell:
            return "holds the character U+0000, which no database keeps in text"
        if self.size is not None and len(cell) > self.size:
            return f"is longer than {self.size} characters"
        longest = _LONGEST.get(self.name)
        if longest is not None and len(cell.encode()) > longest:
            return f"is longer than the {longest} bytes that Oracle keeps"
        return None


def parse_type(text: str) -> ColumnType:
    """Read a type such as ``numeric(8,2)``.

    Raises:
        ValueError: saying what is wrong.
    """
    match = _FORM.match(text.strip())
    if match is None or match[1] not in TYPE_NAMES:
        raise ValueError(f"{text!r} is not a portable type; these are: {', '.join(TYPE_NAMES)}")
    name = TYPE_NAMES[TYPE_NAMES.index(match[1])]
    size = int(match[2]) if match[2] else None
    scale = int(match[3]) if match[3] else 0
    if match[3] and name != "numeric":
        raise ValueError(f"{text!r}: only numeric has a scale")
    if name == "numeric":
        if size is not None and not 1 <= size <= 38:
            raise ValueError(f"{text!r}: the precision of numeric is 1 to 38")
        if size is not None and scale > size:
            raise ValueError(f"{text!r}: the scale is larger than the precision")
    elif name in _LONGEST:
        if size is None or not 1 <= size <= _LONGEST[name]:
            raise ValueError(f"{text!r}: {name} needs a length of 1 to {_LONGEST[name]} characters")
    elif size is not None:
        raise ValueError(f"{text!r}: {name} has no length")
    return ColumnType(name, size, scale)


def _is_moment(cell: str) -> bool:
    try:
        dt.datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True
