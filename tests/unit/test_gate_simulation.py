"""What gates promise, tried out: 2,000 simulated pairs of runs a case, tasks in clusters or not."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from pytest_plsqlbench.bench.gates.against import decide
from pytest_plsqlbench.bench.gates.text import Against, parse_gate
from pytest_plsqlbench.bench.metrics import Unit
from pytest_plsqlbench.bench.statistics.intervals import Keys
from pytest_plsqlbench.bench.statistics.pairing import Difference, compare_pairs

RUNS = 2000
LEVEL = 0.025
ZERO, ONE = Fraction(0), Fraction(1)


def claim(text: str) -> Against:
    gate = parse_gate(text)
    assert isinstance(gate, Against)
    return gate


NO_WORSE = claim("no_worse_than(baseline, margin=0)")
NO_WORSE_2 = claim("no_worse_than(baseline, margin=2%)")
BETTER = claim("better_than(baseline)")


class Design(NamedTuple):
    """A test set: how many tasks each database has, and how unlike each other databases are."""

    sizes: tuple[int, ...]
    spread: float
    """Standard deviation of the difference of skill between databases, in parts of the discordance."""
    discordance: float
    """Share of tasks that only one of the two models solves."""


ALONE = Design((1,) * 63, 0.0, 0.2)
RARE = Design((1,) * 120, 0.0, 0.06)
FEW = Design((22, 13, 9, 7, 5, 4, 3), 0.5, 0.25)
MANY = Design((14, 12, 12, 9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 5, 4, 4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1), 0.6, 0.2)
SEVEN = Design(tuple(5 * size for size in FEW.sizes), 0.15, 0.25)
DESIGNS = {"63 tasks": ALONE, "7 databases": FEW, "26 databases": MANY}


def simulate(design: Design, gap: float, runs: int, seed: int) -> list[Difference]:
    """Compare pairs of models whose true difference is ``gap``, over fresh tasks and databases each time."""
    dice = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(len(design.sizes)), design.sizes)
    units: list[Unit] = [("s", f"t{place:04}", "postgres") for place in range(len(clusters))]
    keys: Keys = {unit: f"c{clusters[place]:03}" for place, unit in enumerate(units)}
    found = []
    for _ in range(runs):
        tilt = np.clip(dice.normal(0, design.spread, len(design.sizes)), -1, 1) if design.spread else 0.0
        rate = np.broadcast_to(design.discordance * (1 + np.asarray(tilt)) / 2, len(design.sizes))[clusters]
        gained = np.minimum(rate + gap / 2, 1).tolist()
        lost = np.clip(design.discordance - rate - gap / 2, 0, 1).tolist()
        draw = dice.random(len(clusters)).tolist()
        pairs = {
            unit: (ZERO, ONE) if value < up else (ONE, ZERO) if value < up + down else (ONE, ONE)
            for unit, value, up, down in zip(units, draw, gained, lost, strict=True)
        }
        difference = compare_pairs([pairs], keys)
        assert difference is not None
        found.append(difference)
    return found


def shares(gate: Against, found: list[Difference]) -> dict[str, float]:
    counts = Counter(decide(gate, difference) for difference in found)
    return {verdict: counts[verdict] / len(found) for verdict in ("held", "broken", "not_enough_evidence")}


@pytest.mark.parametrize("name", DESIGNS)
def test_models_of_equal_skill(name: str) -> None:
    found = simulate(DESIGNS[name], 0.0, RUNS, 1)
    no_worse = shares(NO_WORSE, found)
    assert no_worse["broken"] <= LEVEL
    assert no_worse["held"] <= LEVEL  # a margin of nothing asks for a better model
    assert shares(NO_WORSE_2, found)["broken"] <= LEVEL
    better = shares(BETTER, found)
    assert better["held"] <= LEVEL  # and so below 5 %
    assert better["broken"] <= LEVEL
    # the level is used, not thrown away: an interval that holds everything would pass the above, too
    assert better["not_enough_evidence"] < 1


@pytest.mark.parametrize("design", [ALONE, SEVEN, MANY], ids=["63 tasks", "7 databases", "26 databases"])
def test_a_gap_of_twice_the_detectable_difference_is_decided(design: Design) -> None:
    detectable = float(np.median([found.detectable for found in simulate(design, 0.0, 50, 2)]))
    wider = design._replace(discordance=max(design.discordance, 2.2 * detectable))
    if wider != design:  # a gap cannot be larger than the discordance; the more there is the more noise, too
        detectable = float(np.median([found.detectable for found in simulate(wider, 0.0, 50, 2)]))
        wider = wider._replace(discordance=min(1.0, 2.2 * detectable))
    better = simulate(wider, 2 * detectable, 100, 3)
    worse = simulate(wider, -2 * detectable, 100, 4)
    assert shares(BETTER, better)["held"] > 0.9
    assert shares(NO_WORSE, better)["held"] > 0.9
    assert shares(BETTER, worse)["broken"] > 0.9
    assert shares(NO_WORSE, worse)["broken"] > 0.9


@pytest.mark.parametrize("design", [RARE, FEW], ids=["rarely discordant", "7 databases"])
def test_a_model_that_is_worse_by_the_margin_is_not_let_through(design: Design) -> None:
    found = simulate(design, -0.02, 500, 5)
    assert shares(NO_WORSE_2, found)["held"] <= 0.04  # 2.5 %, and what 500 runs may be off


@pytest.mark.parametrize("few", [2, 4])
def test_a_small_subset_beside_a_large_one_keeps_the_level(few: int) -> None:
    """Of equal models none is told to be better or worse more often than it should."""
    dice = np.random.default_rng(7)
    large: list[Unit] = [("large", f"t{place}", "postgres") for place in range(40)]
    small: list[Unit] = [("small", f"t{place}", "postgres") for place in range(few)]
    keys: Keys = {unit: f"{unit[0]} {unit[1]}" for unit in (*large, *small)}
    wrong = 0
    for _ in range(300):
        subsets = [
            {
                unit: ((ZERO, ONE), (ONE, ZERO), (ONE, ONE))[dice.choice(3, p=[0.2, 0.2, 0.6])]
                for unit in units
            }
            for units in (large, small)
        ]
        difference = compare_pairs(subsets, keys)
        assert difference is not None
        wrong += difference.low > 0 or difference.high < 0
    assert wrong / 300 <= 0.07  # 5 %, and what 300 runs may be off


def test_a_comparison_that_ignores_databases_would_fail() -> None:
    """The clusters matter: by tasks alone, equal models are told apart far too often."""
    dice = np.random.default_rng(6)
    wrong = 0
    for _ in range(300):
        sums = []
        for size in FEW.sizes:
            tilt = float(np.clip(dice.normal(0, 0.9), -1, 1))
            sums.append(dice.choice([-1, 0, 1], size, p=[0.25 * (1 - tilt), 0.5, 0.25 * (1 + tilt)]))
        units: list[Unit] = [("s", f"t{place:04}", "postgres") for place in range(sum(FEW.sizes))]
        pairs = {
            unit: (ONE, ZERO) if change < 0 else (ZERO, ONE) if change > 0 else (ONE, ONE)
            for unit, change in zip(units, np.concatenate(sums).tolist(), strict=True)
        }
        difference = compare_pairs([pairs], {unit: unit[1] for unit in units})
        assert difference is not None
        wrong += decide(BETTER, difference) != "not_enough_evidence"
    assert wrong / 300 > 0.1
