"""Attention between words: summed over the pieces looked at, averaged over the pieces that look."""

import numpy as np
import pytest
import torch
from tests.helpers.attention import batches, random_texts, token_batch

from headscope.probes.words import word_attention, word_attention_by_first_piece, words_present
from headscope.types import HeadGrid, LayerAttention, TokenBatch

GRID = HeadGrid("encoder", 2, 3, causal=False)


def tokens(word: list[list[int]]) -> TokenBatch:
    numbers = torch.tensor(word)
    real = torch.ones_like(numbers).bool()
    return TokenBatch(numbers, real, numbers * 0, numbers * 0, numbers, numbers)


def one_map(rows: list[list[float]], word: list[int]) -> LayerAttention:
    known = tokens([word])
    return LayerAttention(0, torch.tensor(rows)[None, None], known, known)


def test_known_values() -> None:
    """[CLS] cat ##s sat: two words, the first of two pieces."""
    attention = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.3, 0.2, 0.1, 0.4], [0.0, 0.25, 0.5, 0.25]]
    batch = one_map(attention, [-1, 0, 0, 1])
    # From cats: the mean of (.2 + .3) and (.2 + .1) to itself, of .4 and .4 to sat. From sat: .25 + .5, and .25.
    expected = torch.tensor([[0.4, 0.4], [0.75, 0.25]])
    assert torch.allclose(word_attention(batch)[0, 0], expected)
    first = torch.tensor([[0.5, 0.4], [0.75, 0.25]])
    assert torch.allclose(word_attention_by_first_piece(batch)[0, 0], first)


def test_pieces_of_a_word_need_not_be_neighbours() -> None:
    """Word 0 is the first and the third token."""
    batch = one_map([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.5, 0.5, 0.0]], [0, 1, 0])
    assert torch.allclose(word_attention(batch)[0, 0], torch.tensor([[0.65, 0.35], [0.7, 0.3]]))
    first = word_attention_by_first_piece(batch)[0, 0]
    assert torch.allclose(first, torch.tensor([[0.8, 0.2], [0.7, 0.3]]))


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize("extra", [0, 3])
def test_against_a_slow_loop(faithful: bool, extra: int) -> None:
    texts = random_texts(GRID, [9, 4, 14], seed=3)
    reduction = word_attention_by_first_piece if faithful else word_attention
    for layer, batch in enumerate(batches(GRID, texts, extra=extra)):
        found = reduction(batch).numpy()  # (text, head, word, word)
        assert found.shape == (3, 3, *[max(max(text.word) for text in texts) + 1] * 2)
        slow = np.zeros_like(found)
        for number, text in enumerate(texts):
            for i in range(max(text.word) + 1):
                asking = [place for place, word in enumerate(text.word) if word == i]
                asking = asking[:1] if faithful else asking
                for j in range(max(text.word) + 1):
                    asked = [place for place, word in enumerate(text.word) if word == j]
                    for head in range(GRID.heads):
                        maps = text.maps[layer, head].numpy()
                        slow[number, head, i, j] = np.mean([maps[a, asked].sum() for a in asking])
        np.testing.assert_allclose(found, slow, atol=1e-6)


def test_words_without_a_token_give_and_get_nothing() -> None:
    batch = one_map([[0.5, 0.5], [0.5, 0.5]], [0, 2])
    found = word_attention(batch)[0, 0]
    assert torch.allclose(found, torch.tensor([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]]))
    assert not word_attention_by_first_piece(batch)[0, 0, 1].any()
    assert words_present(batch.queries).tolist() == [[True, False, True]]


def test_which_words_have_a_token() -> None:
    assert words_present(tokens([[-1, 0, 0, 2, -1], [-1, 1, -1, -1, -1]])).tolist() == [
        [True, False, True],
        [False, True, False],
    ]


def test_a_batch_without_words_still_has_a_place_for_one() -> None:
    batch = one_map([[0.5, 0.5], [0.5, 0.5]], [-1, -1])
    assert words_present(batch.queries).tolist() == [[False]]
    assert word_attention(batch).tolist() == [[[[0.0]]]]


def test_queries_and_keys_may_differ() -> None:
    """A target of two words that looks at a source of three."""
    attention = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.6, 0.2, 0.2]])[None, None]
    batch = LayerAttention(0, attention, tokens([[0, 1, 1]]), tokens([[0, 1, 2]]))
    expected = torch.tensor([[0.2, 0.3, 0.5], [0.35, 0.15, 0.5]])
    assert torch.allclose(word_attention(batch)[0, 0], expected)


def test_the_precision_of_the_attention_is_kept() -> None:
    texts = random_texts(GRID, [7], seed=1)
    known = token_batch(texts)
    double = LayerAttention(0, texts[0].maps[0].double()[None], known, known)
    assert word_attention(double).dtype == torch.float64
