"""Named patterns against a plain loop over queries, and on heads built to follow one pattern."""

import numpy as np
import pytest
from tests.helpers.attention import Text, encoder, random_texts
from tests.helpers.patterns import PATTERNS
from tests.seams import measured

GRID = encoder(2, 3)


def reference(text: Text) -> np.ndarray:
    """(layer, head, pattern) by loops; nan for patterns that point nowhere in the text."""
    maps = text.maps.numpy()
    out = np.full((*maps.shape[:2], len(PATTERNS)), np.nan)
    for number, points in enumerate(PATTERNS.values()):
        queries = []
        for query in range(len(text)):
            keys = [key for key in range(len(text)) if points(text, query, key)]
            if keys:
                queries.append(maps[:, :, query, keys].sum(-1))
        if queries:
            out[..., number] = np.mean(queries, axis=0)
    return out


@pytest.mark.parametrize("specials", [True, False])
@pytest.mark.parametrize("pair", [True, False])
def test_against_loops(specials: bool, pair: bool) -> None:
    texts = random_texts(GRID, [21, 34, 9, 1, 3], specials=specials, pair=pair)
    result = measured("named_patterns", texts, GRID, batch_size=3).result()["named_patterns"]
    assert list(result.coords["pattern"]) == list(PATTERNS)
    each = np.stack([reference(text) for text in texts])
    counted = ~np.isnan(each)
    expected = np.where(counted.any(0), np.nansum(each, 0) / np.maximum(counted.sum(0), 1), np.nan)
    np.testing.assert_allclose(result.values, expected, atol=1e-5, rtol=0)


def test_scores_lie_between_zero_and_one() -> None:
    texts = random_texts(GRID, [21, 34, 29])
    values = measured("named_patterns", texts, GRID).result()["named_patterns"].values
    assert (values >= 0).all()
    assert (values <= 1 + 1e-6).all()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_head_that_follows_one_pattern_scores_one(pattern: str) -> None:
    grid = encoder(1, 1)
    (text,) = random_texts(grid, [40], seed=5)
    for query in range(len(text)):
        keys = [key for key in range(len(text)) if PATTERNS[pattern](text, query, key)]
        text.maps[0, 0, query] = 0
        text.maps[0, 0, query, keys or [query]] = 1 / max(1, len(keys))
    values = measured("named_patterns", [text], grid).result()["named_patterns"].values[0, 0]
    assert values[list(PATTERNS).index(pattern)] == pytest.approx(1)
