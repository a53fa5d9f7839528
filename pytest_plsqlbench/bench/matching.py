"""Matching: where two sequences first differ, in order, up to ties, or as bags.

Without a tolerance items are equal when their keys are. With one, equality is no equivalence any more (1 and
2 may match 1.5, but not each other), so bags are compared by a true matching: all items pair off, or not.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, TypeVar

from pytest_plsqlbench.bench.outcome import UnjudgeableError
from pytest_plsqlbench.bench.pairing import Pairing, Point, crowding, near
from pytest_plsqlbench.bench.values import Split

T = TypeVar("T", bound=Hashable)

Places = tuple[int | None, int | None]
"""Places of an expected item that is missing and of an actual one too many; None: there is none to name."""

MAX_PAIRS = 10_000_000
"""Most pairs that a verdict may need to look at; a task whose expected items could need more is refused."""
MAX_PAIRS_SHOWN = 200_000
"""Most pairs looked at for the sake of naming a difference, once it is known that there is one."""


def kind_of_difference(named: tuple[object, object], expected: int, actual: int) -> str:
    """Give ``missing``, ``extra`` or ``different``, by what is named of a difference between two bags.

    Where nothing is named the numbers of their items tell.
    """
    if named == (None, None):
        return "missing" if actual < expected else "extra" if actual > expected else "different"
    return "missing" if named[1] is None else "extra" if named[0] is None else "different"


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
        return left[0] == right[0] and near(left[1], right[1], self.tolerance)

    def first_unequal(self, expected: Sequence[T], actual: Sequence[T]) -> int | None:
        """Give the first place where two sequences differ; the shorter one's length where it is a prefix."""
        for place, (left, right) in enumerate(zip(expected, actual, strict=False)):
            if left != right and not self.same(left, right):
                return place
        return None if len(expected) == len(actual) else min(len(expected), len(actual))

    def bag_difference(self, expected: Sequence[T], actual: Sequence[T]) -> Places | None:
        """Give the places of the first expected item that is missing and of the first actual item too many.

        None exactly when the two are equal as bags (duplicates count). Where it would take too much work to
        name a difference that is known to be there, neither place is named.

        Raises:
            UnjudgeableError: ``check_crowding`` was not asked about these expected items, and refuses them.
        """
        if self.tolerance is not None:
            return self._matching_difference(expected, actual, self.tolerance, MAX_PAIRS, MAX_PAIRS_SHOWN)
        balance = Counter(expected)
        balance.subtract(actual)
        # Identical items cancel out, since equality is an equivalence here; keys are for what is left.
        surplus: Counter[Hashable] = Counter()
        for item, count in balance.items():
            if count:
                surplus[self.key(item)] += count
        missing = {key for key, count in surplus.items() if count > 0}
        extra = {key for key, count in surplus.items() if count < 0}
        if not missing and not extra:
            return None
        return self._first_of(expected, missing), self._first_of(actual, extra)

    def same_bag(self, expected: Sequence[T], actual: Sequence[T]) -> bool:
        """Tell whether two sequences are equal as bags: ``bag_difference``, without the work of naming one.

        Raises:
            UnjudgeableError: as ``bag_difference`` does.
        """
        if self.tolerance is None:
            return self.bag_difference(expected, actual) is None
        return self._matching_difference(expected, actual, self.tolerance, MAX_PAIRS, 0) is None

    def reordered(self, expected: Sequence[T], actual: Sequence[T]) -> bool:
        """Tell whether two sequences are the same items in another order, to name their difference by.

        False also where it would take too much work to find out.
        """
        if len(expected) != len(actual):
            return False
        if self.tolerance is None:
            return self.bag_difference(expected, actual) is None
        try:
            return self._matching_difference(expected, actual, self.tolerance, MAX_PAIRS_SHOWN, 0) is None
        except UnjudgeableError:
            return False

    def check_crowding(self, expected: Sequence[T]) -> None:
        """Make sure that expected items can be told from any others as bags, with a bearable amount of work.

        Raises:
            UnjudgeableError: the tolerance is so wide that too many of them could stand for each other.
        """
        if self.tolerance is None or len(expected) ** 2 <= MAX_PAIRS:
            return
        groups = self._by_structure(expected).values()
        pairs = sum(crowding([point for _, point in group], self.tolerance) for group in groups)
        if pairs > MAX_PAIRS:
            raise self._too_wide(pairs)

    def _too_wide(self, pairs: int) -> UnjudgeableError:
        return UnjudgeableError(
            f"the tolerance {self.tolerance} lets {pairs} pairs of rows stand for each other;"
            " state a smaller one"
        )

    def _first_of(self, items: Sequence[T], keys: set[Hashable]) -> int | None:
        if not keys:
            return None
        return next(place for place, item in enumerate(items) if self.key(item) in keys)

    def _matching_difference(
        self, expected: Sequence[T], actual: Sequence[T], tolerance: Decimal, most: int, most_shown: int
    ) -> Places | None:
        wanted, found = self._by_structure(expected), self._by_structure(actual)
        groups = [(wanted.get(kind, []), found.get(kind, [])) for kind in dict.fromkeys([*wanted, *found])]
        pairings = [
            Pairing([point for _, point in ours], [point for _, point in theirs], tolerance)
            for ours, theirs in groups
        ]
        unequal = any(pairing.unequal for pairing in pairings)
        looked_at = 0
        for pairing in pairings:
            if pairing.leftover is not None:
                continue
            looked_at += (pairs := pairing.pairs())
            if looked_at <= (most_shown if unequal else most):
                unequal |= pairing.match() != ([], [])
            elif unequal:
                looked_at -= pairs
            else:
                raise self._too_wide(looked_at)
        if not unequal:
            return None
        left = [pairing.leftover or pairing.hint for pairing in pairings]
        missing = [
            ours[place][0] for (ours, _), (lost, _) in zip(groups, left, strict=True) for place in lost
        ]
        extra = [
            theirs[place][0] for (_, theirs), (_, added) in zip(groups, left, strict=True) for place in added
        ]
        return min(missing, default=None), min(extra, default=None)

    def _by_structure(self, items: Sequence[T]) -> dict[Hashable, list[tuple[int, Point]]]:
        groups: defaultdict[Hashable, list[tuple[int, Point]]] = defaultdict(list)
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
