"""The features that kinds are made by: as measured, and in a decoder without its first token."""

import numpy as np
from tests.helpers.atlases import FEATURES
from tests.helpers.kinds import centre
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.kinds.features import HeadFeatures, _without_first, head_features

FIRST = FEATURES.index("cls")


def test_what_is_left_without_the_first_token_adds_up_to_1_in_the_same_proportions() -> None:
    resting = 0.2 * centre("diagonal")
    resting[FIRST] = 0.8
    np.testing.assert_allclose(_without_first(resting, FEATURES), centre("diagonal"), atol=1e-12)


def test_only_decoders_lose_it() -> None:
    text = ["the cat sat on the mat. the dog saw it, and the cat sat."]

    def features(architecture: str) -> tuple[hs.Atlas, HeadFeatures]:
        atlas = hs.analyze(tiny(architecture), text, measures=["distance_features"], max_length=60)
        return atlas, head_features(atlas)

    atlas, own = features("gpt2")
    measured = atlas["distance_features"].values.reshape(own.values.shape)
    assert own.first is not None
    assert own.folds is not None
    np.testing.assert_allclose(own.first, measured[:, FIRST])
    assert not own.values[:, FIRST].any()
    np.testing.assert_allclose(own.values.sum(1), 1, atol=1e-5)
    np.testing.assert_allclose(own.of_folds(np.arange(len(own.folds))), own.values, atol=1e-5)
    atlas, plain = features("bert")
    assert plain.first is None
    np.testing.assert_allclose(plain.values, atlas["distance_features"].values.reshape(plain.values.shape))
