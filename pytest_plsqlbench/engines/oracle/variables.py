"""Client variables of SQL*Plus: VARIABLE declares, statements bind, PRINT shows."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_plsqlbench.engines.oracle.port import Connection, Variable
from pytest_plsqlbench.sql.lexer import significant_tokens, tokenize

_TYPES = frozenset(
    (
        "NUMBER", "CHAR", "NCHAR", "VARCHAR2", "NVARCHAR2", "CLOB", "NCLOB", "BLOB", "REFCURSOR",
        "BINARY_FLOAT", "BINARY_DOUBLE", "BOOLEAN",
    )
)  # fmt: skip
_UNBOUND_KINDS = frozenset(("ddl_other", "transaction", "session"))


class ClientVariables:
    """The variables of one call, by upper-case name."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}
        self._values: dict[str, Variable] = {}

    def declare(self, arguments: str) -> str | None:
        """``VARIABLE name type``; an error message where SQL*Plus would give one.

        A declaration may give a value (``= …``) in newer clients; that is refused, not ignored.
        """
        words = significant_tokens(arguments, "oracle")
        if len(words) < 2:
            return None  # VARIABLE alone, or with a name, lists
        name, kind = words[0].value, words[1].value
        if kind not in _TYPES or any(word.value == "=" for word in words):
            return f"VARIABLE {arguments}: not understood"
        self._kinds[name] = kind
        self._values.pop(name, None)
        return None

    def binds(self, names: Iterable[str], connection: Connection) -> dict[str, Variable] | str:
        """Variables for these names; the first undeclared name otherwise."""
        found = {}
        for name in names:
            if name not in self._kinds:
                return name
            found[name] = self.get(name, connection)
        return found

    def get(self, name: str, connection: Connection) -> Variable:
        """A declared variable."""
        if name not in self._values:
            self._values[name] = connection.variable(self._kinds[name])
        return self._values[name]

    def printed(self, arguments: str) -> list[str]:
        """Names that ``PRINT …`` shows: all, where it names none."""
        words = [token.value.lstrip(":").upper() for token in significant_tokens(arguments, "oracle")]
        return [word for word in words if word not in {",", ":"}] or list(self._kinds)

    def knows(self, name: str) -> bool:
        """Whether it was declared."""
        return name in self._kinds

    def kind(self, name: str) -> str:
        """Its declared type."""
        return self._kinds[name]


def bind_names(text: str, kind: str) -> list[str]:
    """Placeholders of a statement, upper case, each once.

    The driver does not look for them in DDL (so ``:NEW`` in a trigger is safe), nor right after a string,
    where a colon belongs to JSON syntax.
    """
    if kind.startswith("create_") or kind in _UNBOUND_KINDS:
        return []
    names: dict[str, None] = {}
    previous = ""
    for token in tokenize(text, "oracle"):
        if token.silent:
            continue
        if token.kind == "bind" and previous != "string":
            names[token.value[1:].upper()] = None
        previous = token.kind
    return list(names)
