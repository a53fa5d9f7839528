"""Largest matchings of bipartite graphs (Hopcroft and Karp), with room for several on the left side."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence


def largest_matching(
    neighbours: Sequence[Sequence[int]], room: Sequence[int], right_size: int
) -> tuple[list[int], list[int]]:
    """Give how much room is left over at each place on the left, and the places left over on the right.

    Args:
        neighbours: for each place on the left the places on the right that it may be matched with.
        room: for each place on the left, how many of them it takes.
        right_size: number of places on the right; each is matched once at most.
    """
    free = list(room)
    partners: list[int | None] = [None] * right_size
    while (levels := _levels(neighbours, free, partners)) is not None:
        # What a place once turned down in a phase is of no use to it before the next one.
        choices = [iter(places) for places in neighbours]
        for start in range(len(neighbours)):
            while free[start] and _augment(start, choices, partners, levels):
                free[start] -= 1
    return free, [place for place, partner in enumerate(partners) if partner is None]


def _levels(
    neighbours: Sequence[Sequence[int]], free: Sequence[int], partners: Sequence[int | None]
) -> list[int | None] | None:
    """Number the left side by its distance from a place with room; None when no augmenting path is left."""
    levels: list[int | None] = [0 if left else None for left in free]
    queue = deque(place for place, left in enumerate(free) if left)
    reachable = False
    while queue:
        left = queue.popleft()
        level = levels[left]
        assert level is not None
        for right in neighbours[left]:
            partner = partners[right]
            if partner is None:
                reachable = True
            elif levels[partner] is None:
                levels[partner] = level + 1
                queue.append(partner)
    return levels if reachable else None


def _augment(
    start: int, choices: Sequence[Iterator[int]], partners: list[int | None], levels: Sequence[int | None]
) -> bool:
    """Follow one augmenting path from a place with room, without recursion."""
    path = [start]
    taken: list[int] = []
    while path:
        left = path[-1]
        here = levels[left]
        assert here is not None
        for right in choices[left]:
            partner = partners[right]
            if partner is None:
                taken.append(right)
                for place, chosen in zip(path, taken, strict=True):
                    partners[chosen] = place
                return True
            if levels[partner] == here + 1:
                taken.append(right)
                path.append(partner)
                break
        else:  # a dead end: its choices are used up, so that nobody goes further from here in this phase
            path.pop()
            if taken:
                taken.pop()
    return False
