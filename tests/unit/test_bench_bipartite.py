"""Largest matchings, against the textbook's one path at a time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_plsqlbench.bench.bipartite import largest_matching


def _largest(neighbours: list[list[int]]) -> int:
    partner: dict[int, int] = {}

    def find(left: int, seen: set[int]) -> bool:
        for right in neighbours[left]:
            if right not in seen:
                seen.add(right)
                if right not in partner or find(partner[right], seen):
                    partner[right] = left
                    return True
        return False

    return sum(find(left, set()) for left in range(len(neighbours)))


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[list[list[int]], list[int], int]:
    size = draw(st.integers(1, 9))
    neighbours = draw(st.lists(st.lists(st.integers(0, size - 1), max_size=4, unique=True), max_size=9))
    room = draw(st.lists(st.integers(0, 3), min_size=len(neighbours), max_size=len(neighbours)))
    return neighbours, room, size


@settings(deadline=None, max_examples=400)
@given(_graphs())
def test_a_matching_is_a_largest_one(graph: tuple[list[list[int]], list[int], int]) -> None:
    neighbours, room, size = graph
    # A place with room for several is as many places with the same neighbours.
    one_by_one = [places for places, several in zip(neighbours, room, strict=True) for _ in range(several)]
    free, added = largest_matching(neighbours, room, size)
    assert all(0 <= left <= several for left, several in zip(free, room, strict=True))
    assert sum(room) - sum(free) == size - len(added) == _largest(one_by_one)


def test_dead_ends_and_long_paths() -> None:
    chain = [[n, n + 1] for n in range(400)]
    assert largest_matching([*chain, [0]], [1] * 401, 401) == ([0] * 401, [])
    assert sum(largest_matching([*reversed(chain), [0], [0]], [1] * 402, 401)[0]) == 1
    dead_ends = [[0, 1], [0], [1, 2], [2, 3], [2], [5, 3], [4, 5]]
    assert sum(largest_matching(dead_ends, [1] * 7, 6)[0]) == 1


def test_nothing_is_matched_with_nothing() -> None:
    assert largest_matching([], [], 2) == ([], [0, 1])
    assert largest_matching([[], []], [1, 2], 0) == ([1, 2], [])
