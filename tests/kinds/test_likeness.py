"""Likeness: neighbours, groups and the test of layers, against obvious loops."""

import itertools

import numpy as np
import pytest
from tests.helpers.atlases import atlas_of, head_distance, random_atlas

from headscope.errors import AtlasError, OptionError
from headscope.kinds.likeness import Likeness
from headscope.types import HeadId


def likeness_of(distance: np.ndarray, *, layers: int, heads: int) -> Likeness:
    return Likeness(atlas_of(head_distance(distance, layers=layers, heads=heads)))


def grouped() -> Likeness:
    """Heads 0.0, 0.1 and 1.2 in one place, 1.0 and 1.1 in another, 0.2 far from all."""
    points = np.array([[0, 0], [0.01, 0], [9, 9], [3, 0], [3, 0.01], [0, 0.01]])
    return likeness_of(np.linalg.norm(points[:, None] - points[None], axis=-1), layers=2, heads=3)


def test_neighbours_are_the_nearest_other_heads() -> None:
    found = random_atlas(3, 4)
    distance = found["head_distance"].values
    nearest = Likeness(found).neighbours("1.2", most=4)
    order = sorted((distance[6, other], other) for other in range(12) if other != 6)
    assert [near.head for near in nearest] == [HeadId(*divmod(other, 4)) for _, other in order[:4]]
    assert [near.distance for near in nearest] == pytest.approx([gap for gap, _ in order[:4]])


def test_an_unknown_head_is_refused() -> None:
    with pytest.raises(OptionError, match=r"no head 7\.0 .* 0\.0 to 1\.2"):
        grouped().neighbours("7.0")


def test_groups_hold_heads_that_are_all_near_each_other() -> None:
    groups = [[str(head) for head in group] for group in grouped().groups(threshold=0.05)]
    assert groups == [["0.0", "0.1", "1.2"], ["1.0", "1.1"]]
    assert grouped().groups(threshold=0.001) == []


def test_a_chain_is_no_group() -> None:
    line = np.arange(6) * 0.04
    found = likeness_of(np.abs(line[:, None] - line), layers=2, heads=3)
    for group in found.groups(threshold=0.05):
        for one, other in itertools.combinations(group, 2):
            assert found.distance[found.heads.index(one), found.heads.index(other)] <= 0.05


def test_within_and_between_are_means_over_pairs() -> None:
    found = random_atlas(3, 4)
    likeness, distance = Likeness(found), found["head_distance"].values
    pairs = list(itertools.combinations(range(12), 2))
    inside = [distance[one, other] for one, other in pairs if one // 4 == other // 4]
    outside = [distance[one, other] for one, other in pairs if one // 4 != other // 4]
    test = likeness.layer_test()
    assert test.within == pytest.approx(np.mean(inside))
    assert test.between == pytest.approx(np.mean(outside))


def test_p_is_small_only_when_layers_hold_together() -> None:
    random = np.random.default_rng(0)
    points = random.normal(size=(20, 2)) + 3 * np.repeat(np.arange(5), 4)[:, None]
    together = likeness_of(np.linalg.norm(points[:, None] - points[None], axis=-1), layers=5, heads=4)
    assert together.layer_test().p_value == pytest.approx(1e-4)
    mixed = random.permutation(points)
    apart = likeness_of(np.linalg.norm(mixed[:, None] - mixed[None], axis=-1), layers=5, heads=4)
    assert apart.layer_test().p_value > 0.01
    assert together.layer_test().p_farther == 1


def test_p_is_the_share_of_all_deals_for_a_tiny_model() -> None:
    points = np.array([0.0, 0.1, 1.0, 1.1])
    found = likeness_of(np.abs(points[:, None] - points), layers=2, heads=2)
    # Of the three ways to deal four heads to two layers of two, one is as near as what was seen.
    assert found.layer_test().p_value == pytest.approx(1 / 3, abs=0.02)


def test_one_layer_has_nothing_to_compare() -> None:
    assert not Likeness(random_atlas(1, 4)).has_layers
    with pytest.raises(AtlasError, match="two layers"):
        Likeness(random_atlas(1, 4)).layer_test()


@pytest.mark.parametrize("threshold", [0.0, -1.0])
def test_a_threshold_of_nothing_is_refused(threshold: float) -> None:
    with pytest.raises(OptionError, match="threshold"):
        grouped().groups(threshold=threshold)
