"""Printed output: which text counts, and when printed lines are the rows of a query.

Rules: docs/comparison.md, "Printed output" and "Rows as lines".
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from pytest_plsqlbench.bench.matching import Equality, tie_groups
from pytest_plsqlbench.bench.spelling import BLANKS, canonical_line, split_numbers
from pytest_plsqlbench.bench.values import Reading, Row, tie_key

MAX_PERMUTATIONS = 120
"""Column permutations tried; rows of more columns (from six on) are compared in the gold's own order only."""


def printed(lines: Iterable[str], reading: Reading) -> tuple[str, ...]:
    """Give the lines that count: split at newlines, trailing blanks and trailing empty lines dropped."""
    shown = [part.rstrip(BLANKS) for line in lines for part in line.split("\n")]
    while shown and is_empty(shown[-1], reading):
        shown.pop()
    return tuple(shown)


def is_empty(line: str, reading: Reading) -> bool:
    """Tell whether nothing but blanks stands on a line."""
    return not (canonical_line(line) if reading == "normalized" else line.rstrip(BLANKS))


def line_equality(reading: Reading) -> Equality[str]:
    """Give the equality of printed lines in a reading, without tolerance."""
    if reading == "normalized":
        return Equality(canonical_line, lambda line: split_numbers(line, normalized=True))
    return Equality(lambda line: line, lambda line: split_numbers(line, normalized=False))


def permutations(width: int) -> Iterator[tuple[int, ...]]:
    """Give the column permutations to try, the gold's own order first."""
    if math.factorial(min(width, 20)) > MAX_PERMUTATIONS:
        return iter([tuple(range(width))])
    return itertools.permutations(range(width))


class RowLines:
    """The lines that rows print as, in stretches: free order within a stretch, stretches in order."""

    def __init__(
        self, rows: Sequence[Row], width: int, order_keys: tuple[int, ...] | None, reading: Reading
    ) -> None:
        """Take the rows of the gold query; only their first ``width`` columns are printed.

        Raises:
            IndexError: an order key names a column that the rows do not have.
        """
        self._texts = [tuple(["" if cell is None else cell[1] for cell in row[:width]]) for row in rows]
        self._width = width
        self._sizes = [1 + sum(text.count("\n") for text in texts) for texts in self._texts]
        self._in_order = order_keys is None
        self._stretches: list[tuple[int, int]]
        if order_keys is None:
            self._stretches = [(place, place + 1) for place in range(len(rows))]
        elif not order_keys:
            self._stretches = [(0, len(rows))]
        else:
            keys = [tuple([tie_key(row[column], reading) for column in order_keys]) for row in rows]
            self._stretches = list(tie_groups(keys))
        self.total = sum(self._sizes)

    def lines(self, order: Sequence[int] | None = None) -> list[str]:
        """Give all lines, the columns in their own or another order."""
        order = range(self._width) if order is None else order
        return [line for texts in self._texts for line in _lines(texts, order)]

    def match(self, actual: Sequence[str], equality: Equality[str]) -> bool:
        """Tell whether printed lines are these rows, under one permutation of the columns for all of them.

        ``actual`` is what counts of the output (see ``printed``); empty lines are added at its end where rows
        print as nothing, since empty lines at the end do not count.
        """
        if len(actual) > self.total:
            return False
        padded = [*actual, *[""] * (self.total - len(actual))]
        if equality.tolerance is not None:
            return any(self._near(padded, order, equality) for order in permutations(self._width))
        stretches: list[Counter[Hashable]] = []
        place = 0
        for start, end in self._stretches:
            size = sum(self._sizes[start:end])
            stretches.append(Counter(map(equality.key, padded[place : place + size])))
            place += size
        return any(self._same(padded, stretches, order, equality) for order in permutations(self._width))

    def _same(
        self,
        padded: Sequence[str],
        stretches: Sequence[Counter[Hashable]],
        order: Sequence[int],
        equality: Equality[str],
    ) -> bool:
        if self._in_order:
            return equality.first_unequal(self.lines(order), padded) is None
        for (start, end), found in zip(self._stretches, stretches, strict=True):
            wanted: Counter[Hashable] = Counter()
            for texts in self._texts[start:end]:
                for line in _lines(texts, order):
                    key = equality.key(line)
                    wanted[key] += 1
                    if wanted[key] > found[key]:
                        return False
        return True

    def _near(self, padded: Sequence[str], order: Sequence[int], equality: Equality[str]) -> bool:
        lines = self.lines(order)
        if self._in_order:
            return equality.first_unequal(lines, padded) is None
        place = 0
        for start, end in self._stretches:
            size = sum(self._sizes[start:end])
            stretch = slice(place, place + size)
            if equality.bag_difference(lines[stretch], padded[stretch]) != (None, None):
                return False
            place += size
        return True


def _lines(texts: Sequence[str], order: Sequence[int]) -> list[str]:
    return [part.rstrip(BLANKS) for part in ",".join([texts[column] for column in order]).split("\n")]
