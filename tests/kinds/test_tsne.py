"""t-SNE of distance features: kinds lie together, and the map is always the same."""

import numpy as np
import pytest
from tests.helpers.atlases import random_atlas
from tests.helpers.kinds import kinds_atlas, kinds_of_heads

from headscope.errors import AtlasError
from headscope.kinds import feature_map


def test_heads_of_a_kind_lie_together() -> None:
    found = feature_map(kinds_atlas())
    points = np.stack([found["x"].values, found["y"].values], -1)
    kinds = kinds_of_heads(6, 8).reshape(-1)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.fill_diagonal(gaps, np.inf)
    assert (kinds[gaps.argmin(1)] == kinds).all()
    assert found["label"].values[9] == "1.1"


def test_the_same_seed_gives_the_same_map() -> None:
    first, second = (feature_map(kinds_atlas(), seed=2) for _ in range(2))
    np.testing.assert_array_equal(first["x"], second["x"])


def test_few_heads_are_refused() -> None:
    with pytest.raises(AtlasError, match="at least 8 heads"):
        feature_map(random_atlas(2, 3))
