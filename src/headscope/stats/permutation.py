"""Tests by chance: how often draws from a world without the effect show as much of it as was seen."""

from dataclasses import dataclass

import numpy as np

from headscope.types import Array

_ROUNDING = 1e-12
"""Draws equal to what was seen must count, though they were added up in another order."""


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
    one_hot = (groups[:, None] == np.unique(groups)).astype(float)  # (member, group)
    itself = np.trace(distance)
    pairs = len(groups) * (len(groups) - 1)
    inside_pairs = float((one_hot.sum(0) * (one_hot.sum(0) - 1)).sum())

    def within(membership: Array) -> float:
        return float(np.vdot(membership, distance @ membership) - itself) / inside_pairs

    seen = within(one_hot)
    dealt = np.array([within(one_hot[random.permutation(len(groups))]) for _ in range(permutations)])
    between = float((distance.sum() - itself - seen * inside_pairs) / (pairs - inside_pairs))
    return GroupTest(seen, between, p_value(-dealt, -seen), p_value(dealt, seen), permutations)
