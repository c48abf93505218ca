"""Tests by chance: how often draws from a world without the effect show as much of it as was seen."""

from dataclasses import dataclass

import numpy as np

from headscope.types import Array

_ROUNDING = 1e-12
"""Draws equal to what was seen must count, though they were added up in another order."""

AT_ONCE = 1 << 20
"""How many distances are looked up at a time."""


def p_value(drawn: Array, seen: float) -> float:
    """The chance of so much or more, by (draw,) numbers; what was seen counts as a draw, so that it is never 0."""
    return float((1 + (drawn >= seen - _ROUNDING).sum()) / (1 + len(drawn)))


@dataclass(frozen=True)
class GroupTest:
    """Are members of one group more alike than members of different groups?"""

    within: float  # mean distance of two of one group
    between: float  # of two of different groups
    p_value: float  # how often groups dealt out at random are as much alike
    p_farther: float  # how often their members are as far from each other
    permutations: int


def group_test(
    distance: Array, groups: Array, random: np.random.Generator, *, permutations: int
) -> GroupTest:
    """Compare (member, member) distances inside (member,) groups with those between; p by dealing out groups anew."""
    first, second = np.nonzero(np.triu(groups[:, None] == groups, 1))  # (pair,) the pairs of one group
    itself = np.trace(distance)
    pairs, inside_pairs = len(groups) * (len(groups) - 1), 2.0 * len(first)

    def within(places: Array) -> Array:
        """(draw,) the mean distance of two of one group, with the members at these (draw, member) places."""
        means: Array = distance[places[:, first], places[:, second]].mean(1)
        return means

    members = np.arange(len(groups))
    seen = float(within(members[None])[0])
    orders = random.permuted(np.tile(members, (permutations, 1)), axis=1)  # (draw, place) who is dealt there
    places = np.empty_like(orders)  # (draw, member) where each was dealt to
    np.put_along_axis(places, orders, members[None], axis=1)
    most = max(1, AT_ONCE // max(1, len(first)))
    dealt = np.concatenate([within(places[start : start + most]) for start in range(0, permutations, most)])
    between = float((distance.sum() - itself - seen * inside_pairs) / (pairs - inside_pairs))
    return GroupTest(seen, between, p_value(-dealt, -seen), p_value(dealt, seen), permutations)
