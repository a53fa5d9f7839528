"""Oracle column types and identifiers, and what they become in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from sqlglot import exp

Family = Literal["number", "varchar", "char", "clob", "date", "timestamp", "other"]
"""Families of Oracle column types that behave alike. ``other``: no PostgreSQL type is known to be equal."""

_VARCHAR_LIMIT = 10_485_760
"""Longest ``varchar(n)`` of PostgreSQL, in characters (manual, 8.3)."""
_NAME_BYTES = 63
"""Longest identifier of PostgreSQL (manual, 4.1.1)."""
_FRACTION_DIGITS = 6
"""Digits that a PostgreSQL timestamp keeps of a second."""


@dataclass(frozen=True, slots=True)
class OracleType:
    """An Oracle column type."""

    text: str
    """As Oracle writes it, for messages."""
    family: Family
    length: int | None = None
    """Of ``varchar`` and ``char``; in bytes unless ``characters`` is set, Oracle's default."""
    characters: bool = False
    precision: int | None = None
    """Of numbers: digits; of timestamps: digits of a second's fraction. None: Oracle's default."""
    scale: int | None = None

    def postgres(self) -> str | None:
        """The PostgreSQL type with the same values, None where there is none.

        Text sorts and compares by code point (collation C), as Oracle's default BINARY does. CHAR(n) becomes
        varchar(n) whose values are kept without their padding.
        """
        match self.family:
            case "number":
                return "numeric" if self.precision is None else f"numeric({self.precision},{self.scale or 0})"
            case "varchar" | "char" if self.length is not None and self.length <= _VARCHAR_LIMIT:
                return f'varchar({self.length}) COLLATE "C"'
            case "varchar" | "char" | "clob":
                return 'text COLLATE "C"'
            case "date":
                return "date"
            case "timestamp":
                return "timestamp" if self.precision is None else f"timestamp({self.precision})"
            case _:
                return None


def oracle_type(kind: exp.DataType) -> OracleType:
    """Read a type of parsed Oracle DDL; ``other`` where it is not one that translates exactly."""
    text = kind.sql("oracle")
    name = getattr(kind.this, "value", None)
    sizes = [parameter.this.name for parameter in kind.expressions if hasattr(parameter.this, "name")]
    unit = next(
        (
            str(parameter.args["expression"])
            for parameter in kind.expressions
            if parameter.args.get("expression")
        ),
        "",
    )
    numbers = [int(size) if size.isdecimal() else None for size in sizes]
    first = numbers[0] if numbers else None
    other = OracleType(text, "other")
    match name:
        case "DECIMAL" | "INT" | "SMALLINT":
            return _number(text, name, sizes) or other
        case "VARCHAR" | "NVARCHAR" if first:
            return OracleType(text, "varchar", first, unit.upper() == "CHAR" or name == "NVARCHAR")
        case "CHAR" | "NCHAR" if first or not sizes:
            return OracleType(text, "char", first or 1, unit.upper() == "CHAR" or name == "NCHAR")
        case "TEXT":
            return OracleType(text, "clob")
        case "DATE":
            return OracleType(text, "date")
        case "TIMESTAMP" if not sizes or (first is not None and first <= _FRACTION_DIGITS):
            return OracleType(text, "timestamp", precision=first)
        case _:
            return other


def _number(text: str, name: str, sizes: list[str]) -> OracleType | None:
    if name != "DECIMAL":
        return OracleType(text, "number", precision=38, scale=0)
    if not sizes:
        return OracleType(text, "number")
    precision = 38 if sizes[0] == "*" else int(sizes[0])
    scale = int(sizes[1]) if len(sizes) > 1 else 0
    # PostgreSQL before 15 has no scale outside 0..precision.
    return OracleType(text, "number", precision=precision, scale=scale) if 0 <= scale <= precision else None


def exact_name(identifier: exp.Expr) -> str:
    """An identifier as Oracle stores it: upper case unless quoted."""
    return identifier.name if identifier.args.get("quoted") else identifier.name.upper()


def postgres_name(name: str) -> str:
    """An Oracle name as it is called in PostgreSQL: in lower case, whether it was quoted or not."""
    return name.lower()


def postgres_quoted(name: str) -> str:
    """The same as a quoted identifier."""
    return '"' + postgres_name(name).replace('"', '""') + '"'


def fits_postgres(name: str) -> bool:
    """Whether PostgreSQL takes the name at its whole length."""
    return len(postgres_name(name).encode()) <= _NAME_BYTES


def exact_word(text: str) -> str:
    """The same for the text of a token."""
    return text[1:-1] if text.startswith('"') else text.upper()
