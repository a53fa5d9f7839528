"""Pairing: what is left over when points of two lists are paired off, near ones with each other.

Two points are near when no coordinate differs by more than the tolerance. What can be decided without looking
at pairs is: by the numbers of points, in sorted order, along each axis. Only what is left needs a matching,
and by then the expected points alone bound its size (docs/comparison.md, "Tolerance").
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal

from pytest_plsqlbench.bench.bipartite import largest_matching

Point = tuple[Decimal, ...]
Leftover = tuple[list[int], list[int]]
"""Places of the expected and of the actual points that find no partner."""

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_Windows = list[tuple[int, int]]


def near(left: Point, right: Point, tolerance: Decimal) -> bool:
    """Tell whether two points of one dimension are near."""
    # copy_abs, since abs() would round to the precision of the caller's context.
    return all(_EXACT.subtract(a, b).copy_abs() <= tolerance for a, b in zip(left, right, strict=True))


def crowding(points: Sequence[Point], tolerance: Decimal) -> int:
    """Give the most pairs that a verdict can need to look at, whatever the actual points are.

    A matching is needed only where both sides pair off along every single axis. An actual point that is near
    an expected one on an axis then has a partner of its own there, within twice the tolerance of that one. So
    no axis has more pairs than the expected points among themselves have within twice the tolerance.
    """
    if not points or len(points[0]) < 2:
        return 0
    distinct = list(dict.fromkeys(points))
    reach = _EXACT.add(tolerance, tolerance)
    return min(_size(_Axis(points, axis).windows(distinct, reach)) for axis in range(len(points[0])))


class Pairing:
    """Two lists of points of one dimension, not both empty, and what is known of pairing them off."""

    def __init__(self, expected: Sequence[Point], actual: Sequence[Point], tolerance: Decimal) -> None:
        """Find out what can be known without looking at pairs."""
        self._expected = expected
        self._actual = actual
        self._tolerance = tolerance
        self.leftover: Leftover | None = None
        """What a largest matching leaves over, once it is known."""
        self.unequal = len(expected) != len(actual)
        """Whether it is known that something is left over."""
        self.hint: Leftover = ([], [])
        """Where it is known by one axis: what is left over there."""
        size = len((expected or actual)[0])
        if not expected or not actual or size == 0:
            shared = min(len(expected), len(actual))
            self.leftover = list(range(shared, len(expected))), list(range(shared, len(actual)))
        elif size == 1:
            self.leftover = self._sweep(0)
            self.unequal = self.leftover != ([], [])
        elif not self.unequal:
            self._look_along_axes(size)

    def _look_along_axes(self, size: int) -> None:
        pairs = zip(sorted(self._expected), sorted(self._actual), strict=True)
        if all(near(left, right, self._tolerance) for left, right in pairs):
            self.leftover = [], []
            return
        for axis in range(size):
            self.hint = self._sweep(axis)
            if self.hint != ([], []):
                self.unequal = True
                return

    def _sweep(self, number: int) -> Leftover:
        """On a line, pairing in sorted order and dropping what lies too low is a largest matching."""
        ours, theirs = _Axis(self._expected, number), _Axis(self._actual, number)
        lost: list[int] = []
        added: list[int] = []
        i = j = 0
        while i < len(ours.order) and j < len(theirs.order):
            left, right = ours.values[i], theirs.values[j]
            if near((left,), (right,), self._tolerance):
                i, j = i + 1, j + 1
            elif left < right:
                lost.append(ours.order[i])
                i += 1
            else:
                added.append(theirs.order[j])
                j += 1
        return lost + ours.order[i:], added + theirs.order[j:]

    def pairs(self) -> int:
        """Give the number of pairs that ``match`` looks at; equal expected points count as one."""
        return self._narrowest()[0]

    def match(self) -> Leftover:
        """Give what a largest matching leaves over.

        Equal points are not taken out first: the pair that is nearest need not belong to a perfect matching.
        """
        places: dict[Point, list[int]] = {}  # equal expected points have the same neighbours
        for place, point in enumerate(self._expected):
            places.setdefault(point, []).append(place)
        room, added = largest_matching(
            self._neighbours(list(places)), [len(of) for of in places.values()], len(self._actual)
        )
        lost = [
            place for of, left in zip(places.values(), room, strict=True) for place in of[len(of) - left :]
        ]
        self.leftover = lost, added
        return self.leftover

    def _narrowest(self) -> tuple[int, int]:
        """Give the axis along which the fewest pairs are near, after their number."""
        distinct = list(dict.fromkeys(self._expected))
        return min(
            (_size(_Axis(self._actual, number).windows(distinct, self._tolerance)), number)
            for number in range(len(distinct[0]))
        )

    def _neighbours(self, points: Sequence[Point]) -> list[list[int]]:
        """Give for each point the actual ones that are near: those on one axis, less those far on others."""
        _, narrowest = self._narrowest()
        axis = _Axis(self._actual, narrowest)
        neighbours = [axis.order[start:end] for start, end in axis.windows(points, self._tolerance)]
        for number in range(len(points[0])):
            if number == narrowest:
                continue
            axis = _Axis(self._actual, number)
            ranks = axis.ranks()
            for place, (start, end) in enumerate(axis.windows(points, self._tolerance)):
                if end - start < len(ranks):
                    neighbours[place] = [other for other in neighbours[place] if start <= ranks[other] < end]
        return neighbours


class _Axis:
    """The points in the order of one of their coordinates."""

    def __init__(self, points: Sequence[Point], number: int) -> None:
        self._number = number
        self.order = sorted(range(len(points)), key=lambda place: points[place][number])
        """Places of the points."""
        self.values = [points[place][number] for place in self.order]

    def windows(self, points: Sequence[Point], reach: Decimal) -> _Windows:
        """Give for each of some points what is within reach here, as start and end in the order."""
        return [
            (
                bisect.bisect_left(self.values, _EXACT.subtract(point[self._number], reach)),
                bisect.bisect_right(self.values, _EXACT.add(point[self._number], reach)),
            )
            for point in points
        ]

    def ranks(self) -> list[int]:
        """Give for each point its place in the order."""
        ranks = [0] * len(self.order)
        for rank, place in enumerate(self.order):
            ranks[place] = rank
        return ranks


def _size(windows: _Windows) -> int:
    return sum(end - start for start, end in windows)
