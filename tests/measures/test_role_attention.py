"""Role attention against a plain loop."""

import numpy as np
from tests.helpers.attention import Text, encoder, random_texts
from tests.seams import measured

GRID = encoder(2, 3)
CLASSES = ("cls", "sep", "period", "comma", "other")


def reference(text: Text) -> np.ndarray:
    """(layer, head, query_role, role) by loops; nan for query roles the text lacks."""
    maps = text.maps.numpy()
    out = np.full((*maps.shape[:2], 3, len(CLASSES)), np.nan)
    places = range(len(text))
    groups = [
        list(places),
        [place for place in places if text.token_class[place] == "sep"],
        [place for place in places if text.token_class[place] != "sep"],
    ]
    for layer, head in np.ndindex(*maps.shape[:2]):
        for group, queries in enumerate(groups):
            for number, token_class in enumerate(CLASSES):
                keys = [place for place in places if text.token_class[place] == token_class]
                sums = [sum(maps[layer, head, query, key] for key in keys) for query in queries]
                if queries:
                    out[layer, head, group, number] = sum(sums) / len(queries)
    return out


def test_against_loops() -> None:
    texts = random_texts(GRID, [21, 30, 9]) + random_texts(GRID, [8, 13], specials=False, seed=1)
    result = measured("role_attention", texts, GRID, batch_size=2).result()["role_attention"]
    expected = np.nanmean([reference(text) for text in texts], axis=0)
    np.testing.assert_allclose(result.values, expected, atol=1e-5, rtol=0)
    assert result.dims == ("layer", "head", "query_role", "role")
    assert result.coords["query_role"] == ("all", "sep", "other")
    assert result.coords["role"] == CLASSES


def test_classes_add_up_to_one() -> None:
    texts = random_texts(GRID, [21, 30, 9])
    values = measured("role_attention", texts, GRID).result()["role_attention"].values
    np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)


def test_texts_without_a_separator_are_left_out_of_its_queries() -> None:
    with_sep, without = random_texts(GRID, [12]), random_texts(GRID, [12], specials=False, seed=3)
    alone = measured("role_attention", with_sep, GRID).result()["role_attention"].values
    both = measured("role_attention", with_sep + without, GRID).result()["role_attention"].values
    np.testing.assert_allclose(both[:, :, 1], alone[:, :, 1], atol=1e-6)
    assert np.abs(both[:, :, 0] - alone[:, :, 0]).max() > 1e-3
