"""Named patterns against a plain loop over queries, and on heads built to follow one habit."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.helpers.attention import Text, measured, random_texts

from headscope.measures import NamedPatterns
from headscope.types import SEP, HeadGrid

GRID = HeadGrid("encoder", 2, 3, causal=False)


def word(text: Text, place: int) -> bool:
    return text.word[place] >= 0


def same_word(text: Text, query: int, key: int) -> bool:
    equal = text.word_type[query] == text.word_type[key] >= 0
    return equal and text.word[query] != text.word[key]


def is_pair(text: Text) -> bool:
    return 1 in text.segment


# For each habit: does it point from this query at this key?
POINTS: dict[str, Callable[[Text, int, int], bool]] = {
    "next_word": lambda t, q, k: (
        word(t, q) and word(t, k) and t.segment[q] == t.segment[k] and t.word[k] == t.word[q] + 1
    ),
    "previous_word": lambda t, q, k: (
        word(t, q) and word(t, k) and t.segment[q] == t.segment[k] and t.word[k] == t.word[q] - 1
    ),
    "same_word": same_word,
    "same_word_other_sentence": lambda t, q, k: same_word(t, q, k) and t.segment[q] != t.segment[k],
    "induction": lambda t, q, k: 1 <= k < q and t.ids[k - 1] == t.ids[q],
    "duplicate_token": lambda t, q, k: k < q and t.ids[k] == t.ids[q],
    "delimiters": lambda t, q, k: t.role[k] == SEP,
    "own_sentence": lambda t, q, k: is_pair(t) and t.segment[q] == t.segment[k] >= 0,
    "other_sentence": lambda t, q, k: is_pair(t) and t.segment[q] >= 0 and t.segment[k] == 1 - t.segment[q],
    "first_token": lambda t, q, k: q > 0 and k == 0,
}


def reference(text: Text) -> np.ndarray:
    """(layer, head, pattern) by loops; nan for habits that point nowhere in the text."""
    maps = text.maps.numpy()
    out = np.full((*maps.shape[:2], len(POINTS)), np.nan)
    for number, points in enumerate(POINTS.values()):
        asked = []
        for query in range(len(text)):
            keys = [key for key in range(len(text)) if points(text, query, key)]
            if keys:
                asked.append(maps[:, :, query, keys].sum(-1))
        if asked:
            out[..., number] = np.mean(asked, axis=0)
    return out


@pytest.mark.parametrize("specials", [True, False])
@pytest.mark.parametrize("pair", [True, False])
def test_against_loops(specials: bool, pair: bool) -> None:
    texts = random_texts(GRID, [21, 34, 9, 1, 3], specials=specials, pair=pair)
    result = measured(NamedPatterns, GRID, [texts[:2], texts[2:]]).result()["named_patterns"]
    assert list(result.coords["pattern"]) == list(POINTS)
    each = np.stack([reference(text) for text in texts])
    counted = ~np.isnan(each)
    expected = np.where(counted.any(0), np.nansum(each, 0) / np.maximum(counted.sum(0), 1), np.nan)
    np.testing.assert_allclose(result.values, expected, atol=1e-5, rtol=0)


def test_scores_lie_between_zero_and_one() -> None:
    values = (
        measured(NamedPatterns, GRID, [random_texts(GRID, [21, 34, 29])]).result()["named_patterns"].values
    )
    assert (values >= 0).all()
    assert (values <= 1 + 1e-6).all()


@pytest.mark.parametrize("habit", POINTS)
def test_a_head_that_follows_one_habit_scores_one(habit: str) -> None:
    grid = HeadGrid("encoder", 1, 1, causal=False)
    (text,) = random_texts(grid, [40], seed=5)
    for query in range(len(text)):
        keys = [key for key in range(len(text)) if POINTS[habit](text, query, key)]
        text.maps[0, 0, query] = 0
        text.maps[0, 0, query, keys or [query]] = 1 / max(1, len(keys))
    values = measured(NamedPatterns, grid, [[text]]).result()["named_patterns"].values[0, 0]
    assert values[list(POINTS).index(habit)] == pytest.approx(1)
