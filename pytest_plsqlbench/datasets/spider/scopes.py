"""What names mean inside a gold query, and what a query that was built for PostgreSQL holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from pytest_plsqlbench.datasets.plsqlbench.gold_query import UntranslatableError
from pytest_plsqlbench.datasets.plsqlbench.oracle_types import postgres_name
from pytest_plsqlbench.datasets.spider.types import ColumnKind, Value


@dataclass(slots=True)
class Scope:
    """Names that a query sees: the sources of its FROM, then those of the query around it."""

    parent: Scope | None
    ctes: dict[str, dict[str, ColumnKind]]
    sources: dict[str, dict[str, ColumnKind]] = field(default_factory=dict)
    outputs: dict[str, Value | None] = field(default_factory=dict)
    """Outputs by name: what a bare name may mean; None where it is more than a column of that name."""
    correlated: bool = False
    """A name was found outside."""

    def find(self, source: str, column: str) -> ColumnKind:
        """What a column of a source holds.

        Raises:
            UntranslatableError: no source of that name has it.
        """
        scope: Scope | None = self
        crossed: list[Scope] = []
        while scope is not None:
            if source in scope.sources:
                for inner in crossed:
                    inner.correlated = True
                if column in scope.sources[source]:
                    return scope.sources[source][column]
                break
            crossed.append(scope)
            scope = scope.parent
        raise UntranslatableError(f"{source}.{column} is no column of a known type")


@dataclass(frozen=True, slots=True)
class Built:
    """A query that was built."""

    query: exp.Query
    names: tuple[str, ...]
    """Exact names of the outputs, as the gold query knows them."""
    emitted: tuple[str, ...]
    """What they are called in the built query."""
    kinds: tuple[ColumnKind, ...]

    def columns(self) -> dict[str, ColumnKind]:
        """Kinds by exact name, of the outputs that can be referred to by it."""
        return {
            name: kind
            for name, emitted, kind in zip(self.names, self.emitted, self.kinds, strict=True)
            if self.names.count(name) == 1 and emitted == postgres_name(name)
        }
