"""Matching: where two sequences first differ, in order, up to ties, or as bags.

Without a tolerance items are equal when their keys are. With one, equality is no equivalence any more (1 and
2 may match 1.5, but not each other), so bags are compared by a true matching: all items pair off, or not.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Generic, TypeVar

from pytest_plsqlbench.bench.outcome import UnjudgeableError
from pytest_plsqlbench.bench.values import Split

T = TypeVar("T", bound=Hashable)

MAX_CANDIDATES = 5_000_000
"""Most pairs within the tolerance that a matching looks at."""

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_Point = tuple[Decimal, ...]


@dataclass(frozen=True, slots=True)
class Equality(Generic[T]):
    """When two items (lines, rows, cells) are equal. Items that are identical are always equal."""

    key: Callable[[T], Hashable]
    split: Callable[[T], Split]
    tolerance: Decimal | None = None

    def same(self, expected: T, actual: T) -> bool:
        """Tell whether two items are equal."""
        if expected == actual:
            return True
        if self.tolerance is None:
            return self.key(expected) == self.key(actual)
        left, right = self.split(expected), self.split(actual)
        return left[0] == right[0] and _near(left[1], right[1], self.tolerance)

    def first_unequal(self, expected: Sequence[T], actual: Sequence[T]) -> int | None:
        """Give the first place where two sequences differ; the shorter one's length where it is a prefix."""
        for place, (left, right) in enumerate(zip(expected, actual, strict=False)):
            if left != right and not self.same(left, right):
                return place
        return None if len(expected) == len(actual) else min(len(expected), len(actual))

    def bag_difference(self, expected: Sequence[T], actual: Sequence[T]) -> tuple[int | None, int | None]:
        """Give the places of the first expected item that is missing and of the first actual item too many.

        Both are None exactly when the two are equal as bags (duplicates count).

        Raises:
            UnjudgeableError: the tolerance is so wide that too many items could stand for each other.
        """
        if self.tolerance is not None:
            return self._matching_difference(expected, actual, self.tolerance)
        balance = Counter(expected)
        balance.subtract(actual)
        # Identical items cancel out, since equality is an equivalence here; keys are for what is left.
        surplus: Counter[Hashable] = Counter()
        for item, count in balance.items():
            if count:
                surplus[self.key(item)] += count
        missing = {key for key, count in surplus.items() if count > 0}
        extra = {key for key, count in surplus.items() if count < 0}
        return self._first_of(expected, missing), self._first_of(actual, extra)

    def _first_of(self, items: Sequence[T], keys: set[Hashable]) -> int | None:
        if not keys:
            return None
        return next(place for place, item in enumerate(items) if self.key(item) in keys)

    def _matching_difference(
        self, expected: Sequence[T], actual: Sequence[T], tolerance: Decimal
    ) -> tuple[int | None, int | None]:
        wanted, found = self._by_structure(expected), self._by_structure(actual)
        missing: list[int] = []
        extra: list[int] = []
        for structure in wanted.keys() | found.keys():
            ours, theirs = wanted.get(structure, []), found.get(structure, [])
            lost, added = _unmatched([p for _, p in ours], [p for _, p in theirs], tolerance)
            missing += [ours[place][0] for place in lost]
            extra += [theirs[place][0] for place in added]
        return min(missing, default=None), min(extra, default=None)

    def _by_structure(self, items: Sequence[T]) -> dict[Hashable, list[tuple[int, _Point]]]:
        groups: defaultdict[Hashable, list[tuple[int, _Point]]] = defaultdict(list)
        for place, item in enumerate(items):
            structure, numbers = self.split(item)
            groups[structure].append((place, numbers))
        return groups


def tie_groups(keys: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Give the runs of equal sort keys as (start, end), in order."""
    start = 0
    for place in range(1, len(keys) + 1):
        if place == len(keys) or keys[place] != keys[start]:
            yield start, place
            start = place


def _near(left: _Point, right: _Point, tolerance: Decimal) -> bool:
    # copy_abs, since abs() would round to the precision of the caller's context.
    return all(_EXACT.subtract(a, b).copy_abs() <= tolerance for a, b in zip(left, right, strict=True))


def _unmatched(
    expected: list[_Point], actual: list[_Point], tolerance: Decimal
) -> tuple[list[int], list[int]]:
    """Give the places left over by a largest matching of two lists of points of one dimension.

    Equal points are not taken out first: the pair that is nearest need not belong to a perfect matching.
    """
    if not expected or not actual:
        return list(range(len(expected))), list(range(len(actual)))
    size = len(expected[0])
    if size == 0:
        shared = min(len(expected), len(actual))
        return list(range(shared, len(expected))), list(range(shared, len(actual)))
    ours = sorted(range(len(expected)), key=expected.__getitem__)
    theirs = sorted(range(len(actual)), key=actual.__getitem__)
    if size == 1:
        return _sweep(expected, actual, ours, theirs, tolerance)
    if len(ours) == len(theirs) and all(
        _near(expected[e], actual[a], tolerance) for e, a in zip(ours, theirs, strict=True)
    ):
        return [], []
    return _match(_neighbours(expected, actual, tolerance), len(actual))


def _sweep(
    expected: list[_Point], actual: list[_Point], ours: list[int], theirs: list[int], tolerance: Decimal
) -> tuple[list[int], list[int]]:
    """On a line, pairing in sorted order and dropping what lies too low is a largest matching."""
    lost: list[int] = []
    added: list[int] = []
    i = j = 0
    while i < len(ours) and j < len(theirs):
        left, right = expected[ours[i]][0], actual[theirs[j]][0]
        if _near((left,), (right,), tolerance):
            i, j = i + 1, j + 1
        elif left < right:
            lost.append(ours[i])
            i += 1
        else:
            added.append(theirs[j])
            j += 1
    return lost + ours[i:], added + theirs[j:]


def _neighbours(expected: list[_Point], actual: list[_Point], tolerance: Decimal) -> list[list[int]]:
    """Give for each expected point the actual ones within the tolerance, by way of the most telling axis."""
    best: tuple[int, int, list[int], list[tuple[int, int]]] | None = None
    for axis in range(len(expected[0])):
        order = sorted(range(len(actual)), key=lambda place, axis=axis: actual[place][axis])  # type: ignore[misc]
        values = [actual[place][axis] for place in order]
        windows = [
            (
                bisect.bisect_left(values, _EXACT.subtract(point[axis], tolerance)),
                bisect.bisect_right(values, _EXACT.add(point[axis], tolerance)),
            )
            for point in expected
        ]
        pairs = sum(end - start for start, end in windows)
        if best is None or pairs < best[0]:
            best = (pairs, axis, order, windows)
    assert best is not None
    pairs, _, order, windows = best
    if pairs > MAX_CANDIDATES:
        raise UnjudgeableError(
            f"the tolerance {tolerance} lets {pairs} pairs of rows stand for each other; state a smaller one"
        )
    return [
        [place for place in order[start:end] if _near(point, actual[place], tolerance)]
        for point, (start, end) in zip(expected, windows, strict=True)
    ]


def _match(neighbours: list[list[int]], right_size: int) -> tuple[list[int], list[int]]:
    """Find a largest matching (Hopcroft and Karp); give what is left over on both sides."""
    left_to: list[int | None] = [None] * len(neighbours)
    right_to: list[int | None] = [None] * right_size
    while True:
        levels = _levels(neighbours, left_to, right_to)
        if levels is None:
            break
        for start in range(len(neighbours)):
            if left_to[start] is None:
                _augment(start, neighbours, left_to, right_to, levels)
    lost = [place for place, partner in enumerate(left_to) if partner is None]
    added = [place for place, partner in enumerate(right_to) if partner is None]
    return lost, added


def _levels(
    neighbours: list[list[int]], left_to: list[int | None], right_to: list[int | None]
) -> list[int | None] | None:
    """Number the left side by its distance from a free place; None when no augmenting path is left."""
    levels: list[int | None] = [0 if partner is None else None for partner in left_to]
    queue = deque(place for place, partner in enumerate(left_to) if partner is None)
    reachable = False
    while queue:
        left = queue.popleft()
        level = levels[left]
        assert level is not None
        for right in neighbours[left]:
            partner = right_to[right]
            if partner is None:
                reachable = True
            elif levels[partner] is None:
                levels[partner] = level + 1
                queue.append(partner)
    return levels if reachable else None


def _augment(
    start: int,
    neighbours: list[list[int]],
    left_to: list[int | None],
    right_to: list[int | None],
    levels: list[int | None],
) -> None:
    """Follow one augmenting path from a free place, without recursion; dead ends are not entered again."""
    path: list[tuple[int, Iterator[int]]] = [(start, iter(neighbours[start]))]
    taken: list[int] = []
    while path:
        left, choices = path[-1]
        for right in choices:
            partner = right_to[right]
            if partner is None:
                taken.append(right)
                for (place, _), chosen in zip(path, taken, strict=True):
                    left_to[place], right_to[chosen] = chosen, place
                return
            here = levels[left]
            if here is not None and levels[partner] == here + 1:
                taken.append(right)
                path.append((partner, iter(neighbours[partner])))
                break
        else:
            levels[left] = None
            path.pop()
            if taken:
                taken.pop()
