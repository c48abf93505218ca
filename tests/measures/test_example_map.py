"""The example map: which text is shown, and that nothing of it is lost or invented."""

import numpy as np
import pytest
from tests.helpers.attention import Text, encoder, random_texts
from tests.seams import measured

GRID = encoder(2, 3)
SIDE = 32
"""How many rows and columns the map has."""
LONG = 64
"""How many tokens a text has that is long enough."""


def pooled(weights: np.ndarray) -> np.ndarray:
    """(row, column) the largest weight of each cell, cell by cell; a token on a border belongs to both cells."""
    length = len(weights)
    edges = [(row * length // SIDE, -(-(row + 1) * length // SIDE)) for row in range(SIDE)]
    return np.array([[weights[a:b, c:d].max() for c, d in edges] for a, b in edges])


@pytest.mark.parametrize("length", [7, SIDE, 50, 128])
def test_cells_hold_the_largest_weight(length: int) -> None:
    (text,) = random_texts(GRID, [length])
    result = measured("example_map", [text], GRID).result()
    for layer, head in np.ndindex(2, 3):
        expected = pooled(text.maps[layer, head].numpy())
        np.testing.assert_allclose(result["example_map"].values[layer, head], expected, rtol=1e-6)
    np.testing.assert_array_equal(result["example_map_lengths"].values, [length, length])


def shown(texts: list[Text]) -> int:
    """The length of the text that is shown."""
    return int(measured("example_map", texts, GRID).result()["example_map_lengths"].values[0])


def test_a_long_text_goes_before_short_ones() -> None:
    assert shown(random_texts(GRID, [5, LONG + 9, 12])) == LONG + 9
    assert shown(random_texts(GRID, [5, 20, 12])) == 20


def test_all_heads_and_layers_show_the_same_text() -> None:
    texts = random_texts(GRID, [LONG + 1, LONG + 2, LONG + 3, LONG + 4])
    result = measured("example_map", texts, GRID, batch_size=2).result()
    chosen = next(text for text in texts if len(text) == result["example_map_lengths"].values[0])
    for layer, head in np.ndindex(2, 3):
        expected = pooled(chosen.maps[layer, head].numpy())
        np.testing.assert_allclose(result["example_map"].values[layer, head], expected, rtol=1e-6)
