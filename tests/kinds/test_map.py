"""The head map: distances on a plane come back as they were, and always the same."""

import numpy as np
import pytest
import xarray as xr
from sklearn.manifold import smacof
from tests.helpers.atlases import atlas_of, head_distance, random_atlas
from tests.helpers.kinds import kinds_atlas, kinds_of_heads

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.kinds.map import feature_map, head_map


def planar(points: np.ndarray, *, layers: int, heads: int) -> Atlas:
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
    return atlas_of(head_distance(distance, layers=layers, heads=heads))


def places(found: xr.Dataset) -> np.ndarray:
    return np.stack([found["x"].values, found["y"].values], -1)


def procrustes_error(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest miss after the best shift, turn and mirroring."""
    found, wanted = found - found.mean(0), wanted - wanted.mean(0)
    left, _, right = np.linalg.svd(found.T @ wanted)
    return float(np.abs(found @ left @ right - wanted).max())


def test_points_of_a_plane_come_back_up_to_rotation() -> None:
    points = np.random.default_rng(3).uniform(0, 0.6, (24, 2))
    found = head_map(planar(points, layers=4, heads=6))
    assert procrustes_error(places(found), points) < 1e-4
    assert float(found["stress"]) < 1e-4


def test_a_known_rectangle_lies_along_the_axes() -> None:
    points = np.array([[0, 0], [0.4, 0], [0.4, 0.1], [0, 0.1]])
    found = places(head_map(planar(points, layers=2, heads=2)))
    assert sorted(np.round(np.abs(found[:, 0]), 3)) == [0.2] * 4
    assert sorted(np.round(np.abs(found[:, 1]), 3)) == [0.05] * 4


def test_labels_name_layer_and_head() -> None:
    found = head_map(random_atlas(3, 4))
    assert found["label"].values.tolist()[:5] == ["0.0", "0.1", "0.2", "0.3", "1.0"]
    assert found.sel(label="2.3")["layer"] == 2
    assert found.sel(label="2.3")["head"] == 3
    assert found["x"].attrs["units"] == "nats"


def test_stress_is_kruskals() -> None:
    atlas = random_atlas(3, 4)
    found = head_map(atlas)
    total = missed = 0.0
    points, wanted = places(found), atlas["head_distance"].values
    for one in range(12):
        for other in range(one):
            on_map = float(np.hypot(*(points[one] - points[other])))
            missed += (on_map - wanted[one, other]) ** 2
            total += on_map**2
    assert float(found["stress"]) == pytest.approx(np.sqrt(missed / total))
    assert 0.01 < float(found["stress"]) < 0.5  # three dimensions do not fit a plane


def test_the_same_seed_gives_the_same_map() -> None:
    atlas = random_atlas(3, 4)
    xr.testing.assert_identical(head_map(atlas, seed=5), head_map(atlas, seed=5))


def test_the_map_does_not_depend_on_units() -> None:
    atlas = random_atlas(3, 4)
    summed = atlas_of(head_distance(atlas["head_distance"].values * 5000, layers=3, heads=4))
    np.testing.assert_allclose(places(head_map(summed)), places(head_map(atlas)) * 5000, rtol=1e-6)


@pytest.mark.parametrize("distance", [np.zeros((4, 4)), np.zeros((1, 1))])
def test_heads_that_are_all_alike_are_one_point(distance: np.ndarray) -> None:
    found = head_map(atlas_of(head_distance(distance, layers=1, heads=len(distance))))
    assert not places(found).any()
    assert float(found["stress"]) == 0


def test_two_heads() -> None:
    found = head_map(atlas_of(head_distance(np.array([[0, 0.3], [0.3, 0]]), layers=1, heads=2)))
    assert abs(float(found["x"][0] - found["x"][1])) == pytest.approx(0.3)
    assert np.abs(found["y"].values).max() < 1e-9


def test_missing_distances_are_named() -> None:
    distance = random_atlas(2, 2)["head_distance"].values.copy()
    distance[3, :] = distance[:, 3] = np.nan
    with pytest.raises(AtlasError, match=r"7 of 16 distances between heads are missing \(heads 1\.1\)"):
        head_map(atlas_of(head_distance(distance, layers=2, heads=2)))


def test_an_atlas_without_distances_says_so() -> None:
    atlas = random_atlas(2, 2, stacks=("encoder", "decoder"))
    assert head_map(atlas, stack="decoder").sizes["label"] == 4
    with pytest.raises(AtlasError, match="no stack 'cross'"):
        head_map(atlas, stack="cross")


def test_the_best_of_all_starts_is_shown() -> None:
    """No start that scikit-learn runs to the end is clearly better than what is shown."""
    atlas = random_atlas(4, 6)
    wanted = atlas["head_distance"].values
    pairs = np.triu_indices(24, 1)
    random = np.random.default_rng(9)
    best = np.inf
    for _ in range(8):
        points, _ = smacof(wanted, init=random.uniform(-0.2, 0.2, (24, 2)), n_init=1, normalized_stress=False)
        gaps = np.linalg.norm(points[pairs[0]] - points[pairs[1]], axis=-1)
        best = min(best, float(np.sqrt(((gaps - wanted[pairs]) ** 2).sum() / (gaps**2).sum())))
    assert float(head_map(atlas)["stress"]) < best + 0.005


# t-SNE of distance features


def test_heads_of_a_kind_lie_together() -> None:
    found = feature_map(kinds_atlas())
    points = np.stack([found["x"].values, found["y"].values], -1)
    kinds = kinds_of_heads(6, 8).reshape(-1)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(gaps, np.inf)
    assert (kinds[gaps.argmin(1)] == kinds).all()
    assert found["label"].values[9] == "1.1"


def test_the_same_seed_gives_the_same_neighbours() -> None:
    first, second = (feature_map(kinds_atlas(), seed=2) for _ in range(2))
    np.testing.assert_array_equal(first["x"], second["x"])


def test_few_heads_are_refused() -> None:
    with pytest.raises(AtlasError, match="at least 8 heads"):
        feature_map(random_atlas(2, 3))


@pytest.mark.parametrize("seed", range(6))
def test_the_farthest_head_lies_on_the_positive_side_of_each_axis(seed: int) -> None:
    points = np.random.default_rng(seed).uniform(0, 0.6, (12, 2))
    for along in places(head_map(planar(points, layers=3, heads=4))).T:
        assert along.max() == np.abs(along).max()
