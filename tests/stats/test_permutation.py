"""Tests by chance: p values by counting, and whether groups are alike."""

from itertools import permutations

import numpy as np
import pytest

from headscope.stats.permutation import group_test, p_value


def test_what_was_seen_counts_as_a_draw() -> None:
    drawn = np.array([0.1, 0.5, 0.5, 0.9])
    assert p_value(drawn, 0.5 + 1e-15) == 4 / 5  # equal but for rounding
    assert p_value(drawn, 2.0) == 1 / 5
    assert p_value(drawn, 0.0) == 1


def slow_within(distance: np.ndarray, groups: tuple[int, ...]) -> tuple[float, float]:
    inside: list[float] = []
    outside: list[float] = []
    for one in range(len(groups)):
        for other in range(one):
            (inside if groups[one] == groups[other] else outside).append(distance[one, other])
    return float(np.mean(inside)), float(np.mean(outside))


def test_groups_against_all_ways_to_deal_them_out() -> None:
    random = np.random.default_rng(0)
    distance = random.uniform(size=(6, 6))
    distance = distance + distance.T
    groups = (0, 0, 1, 1, 1, 2)
    test = group_test(distance, np.array(groups), np.random.default_rng(1), permutations=4000)
    assert (test.within, test.between) == pytest.approx(slow_within(distance, groups))
    ways = np.array([slow_within(distance, way)[0] for way in set(permutations(groups))])
    assert test.p_value == pytest.approx((ways <= test.within + 1e-9).mean(), abs=0.03)
    assert test.p_farther == pytest.approx((ways >= test.within - 1e-9).mean(), abs=0.03)
    assert test.permutations == 4000
