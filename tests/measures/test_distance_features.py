"""Distance features against a plain loop."""

import numpy as np
import pytest
from tests.helpers.attention import Text, decoder, encoder, random_texts
from tests.seams import measured

GRID = encoder(2, 3)
FEATURES = ("cls", "sep", "comma", "period", "self", *(f"w{window:02d}" for window in range(16)))


def reference(text: Text) -> np.ndarray:
    """(layer, head, feature) by loops, straight from the definition."""
    maps = text.maps.numpy()
    length = len(text)
    out = np.zeros((*maps.shape[:2], len(FEATURES)))
    for query, key in np.ndindex(length, length):
        if text.token_class[key] != "other":
            feature = text.token_class[key]
        elif query == key:
            feature = "self"
        else:
            feature = f"w{abs(query - key) * 16 // length:02d}"
        out[..., FEATURES.index(feature)] += maps[:, :, query, key] / length
    return out


@pytest.mark.parametrize("causal", [False, True])
def test_against_loops(causal: bool) -> None:
    grid = decoder(2, 3) if causal else encoder(2, 3)
    texts = random_texts(grid, [21, 30, 9, 64, 3, 17])
    result = measured("distance_features", texts, grid, batch_size=4).result()["distance_features"]
    np.testing.assert_allclose(
        result.values, np.mean([reference(text) for text in texts], axis=0), atol=1e-5, rtol=0
    )
    assert result.dims == ("layer", "head", "feature")
    assert tuple(result.coords["feature"]) == FEATURES


def test_add_up_to_one() -> None:
    texts = random_texts(GRID, [21, 30, 9])
    values = measured("distance_features", texts, GRID).result()["distance_features"].values
    np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)


def test_a_text_of_one_token_attends_to_itself() -> None:
    grid = encoder(1, 1)
    values = (
        measured("distance_features", random_texts(grid, [1]), grid)
        .result()["distance_features"]
        .values[0, 0]
    )
    assert values[FEATURES.index("cls")] == 1


def test_the_parts_of_the_texts_make_up_the_whole() -> None:
    texts = random_texts(GRID, list(range(3, 63)))
    result = measured("distance_features", texts, GRID, batch_size=7).result()
    counts, parts = result["distance_features_fold_texts"].values, result["distance_features_folds"].values
    assert counts.sum() == 60
    assert (counts > 0).sum() > 10
    filled = counts > 0
    whole = np.einsum("f,flhd->lhd", counts[filled] / 60, parts[filled].astype(float))
    np.testing.assert_allclose(whole, result["distance_features"].values, atol=1e-6)
    assert np.isnan(parts[~filled]).all()


def test_a_part_is_the_mean_of_its_own_texts() -> None:
    texts = random_texts(GRID, list(range(3, 63)))
    alone = [measured("distance_features", [text], GRID).result() for text in texts]
    fold = [int(one["distance_features_fold_texts"].values.argmax()) for one in alone]
    result = measured("distance_features", texts, GRID).result()
    for number in set(fold):
        own = [reference(text) for text, part in zip(texts, fold, strict=True) if part == number]
        np.testing.assert_allclose(
            result["distance_features_folds"].values[number], np.mean(own, axis=0), atol=1e-5
        )
        assert result["distance_features_fold_texts"].values[number] == len(own)
