"""Role attention against a plain loop."""

import numpy as np
from tests.helpers.attention import Text, measured, random_texts

from headscope.measures import RoleAttention
from headscope.types import ROLES, SEP, HeadGrid

GRID = HeadGrid("encoder", 2, 3, causal=False)


def reference(text: Text) -> np.ndarray:
    """(layer, head, query_role, role) by loops; nan for query roles the text lacks."""
    maps = text.maps.numpy()
    out = np.full((*maps.shape[:2], 3, len(ROLES)), np.nan)
    queries = [
        list(range(len(text))),
        [place for place in range(len(text)) if text.role[place] == SEP],
        [place for place in range(len(text)) if text.role[place] != SEP],
    ]
    for layer, head in np.ndindex(*maps.shape[:2]):
        for number, asked in enumerate(queries):
            for role in range(len(ROLES)):
                keys = [place for place in range(len(text)) if text.role[place] == role]
                sums = [sum(maps[layer, head, query, key] for key in keys) for query in asked]
                if asked:
                    out[layer, head, number, role] = sum(sums) / len(asked)
    return out


def test_against_loops() -> None:
    texts = random_texts(GRID, [21, 30, 9]) + random_texts(GRID, [8, 13], specials=False, seed=1)
    result = measured(RoleAttention, GRID, [texts[:2], texts[2:]]).result()["role_attention"]
    expected = np.nanmean([reference(text) for text in texts], axis=0)
    np.testing.assert_allclose(result.values, expected, atol=1e-5, rtol=0)
    assert result.dims == ("layer", "head", "query_role", "role")
    assert result.coords["query_role"] == ("all", "sep", "other")
    assert result.coords["role"] == ("cls", "sep", "period", "comma", "other")


def test_roles_add_up_to_one() -> None:
    texts = random_texts(GRID, [21, 30, 9])
    values = measured(RoleAttention, GRID, [texts]).result()["role_attention"].values
    np.testing.assert_allclose(values.sum(-1), 1, atol=1e-5)


def test_texts_without_a_separator_are_left_out_of_its_queries() -> None:
    with_sep, without = random_texts(GRID, [12]), random_texts(GRID, [12], specials=False, seed=3)
    alone = measured(RoleAttention, GRID, [with_sep]).result()["role_attention"].values
    both = measured(RoleAttention, GRID, [with_sep + without]).result()["role_attention"].values
    np.testing.assert_allclose(both[:, :, 1], alone[:, :, 1], atol=1e-6)
    assert np.abs(both[:, :, 0] - alone[:, :, 0]).max() > 1e-3
