"""Entropy against scipy and hand-made heads."""

import numpy as np
import pytest
from scipy.stats import entropy as scipy_entropy
from tests.helpers.attention import Text, decoder, encoder, random_texts
from tests.seams import measured

GRID = encoder(2, 3)
ONE = encoder(1, 1)


def reference(text: Text, *, smooth: float = 0.0) -> np.ndarray:
    """(layer, head, query_role) with scipy's entropy of each query."""
    maps = text.maps.numpy().astype(float)
    out = np.zeros((*maps.shape[:2], 2))
    for layer, head in np.ndindex(*maps.shape[:2]):
        smoothed = (1 - smooth) * maps[layer, head] + smooth / len(text)
        each = [scipy_entropy(row) for row in smoothed]
        out[layer, head] = np.mean(each), each[text.token_class.index("cls")]
    return out


@pytest.mark.parametrize("published", [False, True])
def test_against_scipy(published: bool) -> None:
    texts = random_texts(GRID, [21, 30, 9, 2])
    result = measured("entropy", texts, GRID, batch_size=3, published=published).result()["entropy"]
    expected = np.mean([reference(text, smooth=0.0001 if published else 0) for text in texts], axis=0)
    np.testing.assert_allclose(result.values, expected, atol=1e-5, rtol=0)
    assert result.dims == ("layer", "head", "query_role")
    assert result.units == "nats"


def test_smoothing_is_visible() -> None:
    texts = random_texts(GRID, [30])
    plain = measured("entropy", texts, GRID).result()["entropy"].values
    smoothed = measured("entropy", texts, GRID, published=True).result()["entropy"].values
    assert (smoothed > plain + 1e-5).all()


def test_uniform_attention_and_attention_to_one_token() -> None:
    (text,) = random_texts(ONE, [8])
    text.maps[:] = 1 / 8
    uniform = measured("entropy", [text], ONE).result()
    np.testing.assert_allclose(uniform["entropy"].values, np.log(8), atol=1e-6)
    np.testing.assert_allclose(uniform["entropy_uniform"].values, np.log(8), atol=1e-6)
    text.maps[:] = 0
    text.maps[..., 3] = 1
    np.testing.assert_allclose(measured("entropy", [text], ONE).result()["entropy"].values, 0, atol=1e-6)


def test_baseline_is_the_mean_over_texts_of_log_n() -> None:
    texts = random_texts(GRID, [21, 30, 9])
    baseline = measured("entropy", texts, GRID).result()["entropy_uniform"].values
    np.testing.assert_allclose(baseline, np.mean(np.log([21, 30, 9])), rtol=1e-6)


def test_causal_baseline_is_the_entropy_of_uniform_attention() -> None:
    grid = decoder(1, 1)
    texts = random_texts(grid, [7, 12])
    for text in texts:
        for query in range(len(text)):
            text.maps[0, 0, query] = 0
            text.maps[0, 0, query, : query + 1] = 1 / (query + 1)
    result = measured("entropy", texts, grid).result()
    np.testing.assert_allclose(result["entropy"].values[0, 0, 0], result["entropy_uniform"].values, rtol=1e-6)
