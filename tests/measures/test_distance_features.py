"""Distance features against a plain loop."""

import numpy as np
import pytest
from tests.helpers.attention import Text, measured, random_texts

from headscope.measures import DistanceFeatures
from headscope.types import CLS, COMMA, OTHER, PERIOD, SEP, HeadGrid

GRID = HeadGrid("encoder", 2, 3, causal=False)
FEATURES = ("cls", "sep", "comma", "period", "self", *(f"w{window:02d}" for window in range(16)))


def reference(text: Text) -> np.ndarray:
    """(layer, head, feature) by loops, straight from the definition."""
    maps = text.maps.numpy()
    length = len(text)
    special = {CLS: 0, SEP: 1, COMMA: 2, PERIOD: 3}
    out = np.zeros((*maps.shape[:2], 21))
    for query, key in np.ndindex(length, length):
        if text.role[key] != OTHER:
            feature = special[text.role[key]]
        elif query == key:
            feature = 4
        else:
            feature = 5 + int(np.floor(abs(query - key) * 16 / length))
        out[..., feature] += maps[:, :, query, key] / length
    return out


@pytest.mark.parametrize("causal", [False, True])
def test_against_loops(causal: bool) -> None:
    grid = HeadGrid("decoder" if causal else "encoder", 2, 3, causal=causal)
    texts = random_texts(grid, [21, 30, 9, 64, 3, 17])
    result = measured(DistanceFeatures, grid, [texts[:2], texts[2:]]).result()["distance_features"]
    np.testing.assert_allclose(
        result.values, np.mean([reference(text) for text in texts], axis=0), atol=1e-5, rtol=0
    )
    assert result.dims == ("layer", "head", "feature")
    assert tuple(result.coords["feature"]) == FEATURES


def test_add_up_to_one() -> None:
    values = (
        measured(DistanceFeatures, GRID, [random_texts(GRID, [21, 30, 9])])
        .result()["distance_features"]
        .values
    )
    np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)


def test_a_text_of_one_token_looks_at_itself() -> None:
    grid = HeadGrid("encoder", 1, 1, causal=False)
    (text,) = random_texts(grid, [1])
    values = measured(DistanceFeatures, grid, [[text]]).result()["distance_features"].values[0, 0]
    assert values[FEATURES.index("cls")] == 1


def test_the_parts_of_the_texts_make_up_the_whole() -> None:
    texts = random_texts(GRID, list(range(3, 63)))
    result = measured(DistanceFeatures, GRID, [texts[:7], texts[7:]]).result()
    counts, parts = result["distance_features_fold_texts"].values, result["distance_features_folds"].values
    assert counts.sum() == 60
    assert (counts > 0).sum() > 10
    filled = counts > 0
    whole = np.einsum("f,flhd->lhd", counts[filled] / 60, parts[filled].astype(float))
    np.testing.assert_allclose(whole, result["distance_features"].values, atol=1e-6)
    assert np.isnan(parts[~filled]).all()


def test_a_part_is_the_mean_of_its_own_texts() -> None:
    texts = random_texts(GRID, list(range(3, 63)))
    alone = [measured(DistanceFeatures, GRID, [[text]]).result() for text in texts]
    fold = [int(one["distance_features_fold_texts"].values.argmax()) for one in alone]
    result = measured(DistanceFeatures, GRID, [texts]).result()
    for number in set(fold):
        own = [reference(text) for text, part in zip(texts, fold, strict=True) if part == number]
        np.testing.assert_allclose(
            result["distance_features_folds"].values[number], np.mean(own, axis=0), atol=1e-5
        )
        assert result["distance_features_fold_texts"].values[number] == len(own)
