"""Offset attention against a plain loop."""

import numpy as np
import pytest
from tests.helpers.attention import Text, encoder, random_texts
from tests.seams import measured

GRID = encoder(2, 3)
ONE = encoder(1, 1)


def reference(text: Text) -> np.ndarray:
    """(layer, head, offset) by loops; nan where the text is too short."""
    maps = text.maps.numpy()
    out = np.full((*maps.shape[:2], 17), np.nan)
    for layer, head, offset in np.ndindex(*maps.shape[:2], 17):
        found = [
            maps[layer, head, query, query + offset - 8]
            for query in range(len(text))
            if 0 <= query + offset - 8 < len(text)
        ]
        if found:
            out[layer, head, offset] = sum(found) / len(found)
    return out


def test_against_loops() -> None:
    texts = random_texts(GRID, [21, 30, 5, 9, 1])
    result = measured("offset_attention", texts, GRID, batch_size=3).result()["offset_attention"]
    expected = np.nanmean([reference(text) for text in texts], axis=0)
    np.testing.assert_allclose(result.values, expected, atol=1e-5, rtol=0)
    assert result.dims == ("layer", "head", "offset")
    assert list(result.coords["offset"]) == list(range(-8, 9))


def test_a_previous_token_head() -> None:
    """Every query but the first attends to its left neighbour; the first, having none, to itself."""
    (text,) = random_texts(ONE, [6])
    text.maps[:] = 0
    text.maps[0, 0, 0, 0] = 1
    for query in range(1, 6):
        text.maps[0, 0, query, query - 1] = 1
    values = measured("offset_attention", [text], ONE).result()["offset_attention"].values[0, 0]
    assert values[8 - 1] == 1
    assert values[8] == pytest.approx(1 / 6)
    assert values[8 + 1] == 0


def test_a_text_shorter_than_every_offset_still_counts_for_the_near_ones() -> None:
    values = (
        measured("offset_attention", random_texts(ONE, [2]), ONE).result()["offset_attention"].values[0, 0]
    )
    assert np.isfinite(values[7:10]).all()
    assert np.isnan(values[:7]).all()
    assert np.isnan(values[10:]).all()
