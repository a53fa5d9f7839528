"""Printed output: which text counts, and when printed lines are the rows of a query.

Rules: docs/comparison.md, "Printed output" and "Rows as lines".
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from pytest_plsqlbench.bench.matching import Equality, Places, tie_groups
from pytest_plsqlbench.bench.spelling import BLANKS, canonical_line, split_numbers
from pytest_plsqlbench.bench.values import Reading, Row, tie_key

MAX_PERMUTATIONS = 120
"""Column permutations tried; rows of more columns (from six on) are compared in the gold's own order only."""

_LINES_REMEMBERED = 50_000
_ROWS_SHOWN = 200
"""Rows looked at to choose the order of columns that a difference is shown in."""


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
        # Rows are printed in many orders of their columns, and often the same line comes of it.
        remembered = functools.lru_cache(_LINES_REMEMBERED)(canonical_line)
        return Equality(remembered, lambda line: split_numbers(line, normalized=True))
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
        self._stretches = [(0, len(rows))]
        if order_keys:
            keys = [tuple([tie_key(row[column], reading) for column in order_keys]) for row in rows]
            self._stretches = list(tie_groups(keys))
        self.total = sum(self._sizes)

    def lines(self, order: Sequence[int]) -> list[str]:
        """Give all lines, the columns in an order."""
        return [line for texts in self._texts for line in _lines(texts, order)]

    def match(self, actual: Sequence[str], equality: Equality[str]) -> bool:
        """Tell whether printed lines are these rows, under one permutation of the columns for all of them.

        ``actual`` is what counts of the output (see ``printed``). Empty lines are added at its end where rows
        print as nothing, since empty lines at the end do not count.
        """
        if len(actual) > self.total:
            return False
        padded = self._padded(actual)
        if equality.tolerance is not None:
            return any(self._near(padded, order, equality) for order in self._orders())
        if self._in_order:
            return any(self._same_in_order(padded, order, equality) for order in self._orders())
        found = [Counter(map(equality.key, padded[start:end])) for start, end in self._line_stretches()]
        return any(self._same_bags(found, order, equality) for order in self._orders())

    def nearest(self, actual: Sequence[str], equality: Equality[str]) -> tuple[int, ...]:
        """Give the order of columns in which most of the first rows are found: the one to show people."""
        found = Counter(map(equality.key, actual))
        first = self._texts[:_ROWS_SHOWN]

        def overlap(order: Sequence[int]) -> int:
            wanted = Counter(equality.key(line) for texts in first for line in _lines(texts, order))
            return (wanted & found).total()

        return max(self._orders(), key=overlap)  # of equals the first: the gold's own order

    def difference(
        self, actual: Sequence[str], order: Sequence[int], equality: Equality[str]
    ) -> Places | None:
        """Give the first difference, as places in ``lines(order)`` and in ``actual``; None: there is none.

        Where ``actual`` is longer or shorter, its lines are compared as a bag.
        """
        wanted, padded = self.lines(order), self._padded(actual)
        if len(padded) != len(wanted):
            return equality.bag_difference(wanted, padded)
        if self._in_order:
            place = equality.first_unequal(wanted, padded)
            return None if place is None else (place, place)
        for start, end in self._line_stretches():
            places = equality.bag_difference(wanted[start:end], padded[start:end])
            if places is not None:
                missing, extra = places
                return None if missing is None else start + missing, None if extra is None else start + extra
        return None

    def check_crowding(self, equality: Equality[str]) -> None:
        """Make sure that the lines can be told from any others, in every order of columns.

        Raises:
            UnjudgeableError: the tolerance is so wide that too many of them could stand for each other.
        """
        if self._in_order or equality.tolerance is None:
            return
        for order in self._orders():
            lines = self.lines(order)
            for start, end in self._line_stretches():
                equality.check_crowding(lines[start:end])

    def _orders(self) -> Iterator[tuple[int, ...]]:
        """Give the permutations to try, one of those that print the same: equal columns may swap unseen."""
        columns = list(zip(*self._texts, strict=True)) or [()] * self._width
        first = [columns.index(column) for column in columns]
        seen: set[tuple[int, ...]] = set()
        for order in permutations(self._width):
            printed_as = tuple([first[column] for column in order])
            if printed_as not in seen:
                seen.add(printed_as)
                yield order

    def _padded(self, actual: Sequence[str]) -> list[str]:
        return [*actual, *[""] * (self.total - len(actual))]

    def _line_stretches(self) -> Iterator[tuple[int, int]]:
        end = 0
        for first, last in self._stretches:
            start, end = end, end + sum(self._sizes[first:last])
            yield start, end

    def _same_in_order(self, padded: Sequence[str], order: Sequence[int], equality: Equality[str]) -> bool:
        lines = (line for texts in self._texts for line in _lines(texts, order))
        return all(equality.same(line, found) for line, found in zip(lines, padded, strict=True))

    def _near(self, padded: Sequence[str], order: Sequence[int], equality: Equality[str]) -> bool:
        lines = self.lines(order)
        if self._in_order:
            return equality.first_unequal(lines, padded) is None
        return all(
            equality.same_bag(lines[start:end], padded[start:end]) for start, end in self._line_stretches()
        )

    def _same_bags(
        self, stretches: Sequence[Counter[Hashable]], order: Sequence[int], equality: Equality[str]
    ) -> bool:
        for (start, end), found in zip(self._stretches, stretches, strict=True):
            wanted: Counter[Hashable] = Counter()
            for texts in self._texts[start:end]:
                for line in _lines(texts, order):
                    key = equality.key(line)
                    wanted[key] += 1
                    if wanted[key] > found[key]:
                        return False
        return True


def _lines(texts: Sequence[str], order: Sequence[int]) -> list[str]:
    text = ",".join([texts[column] for column in order])
    return [line.rstrip(BLANKS) for line in text.split("\n")] if "\n" in text else [text.rstrip(BLANKS)]
