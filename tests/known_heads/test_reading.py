"""What is read off a map, beside slow loops over its pairs and hand-made heads."""

import pytest
import torch
from torch import Tensor

from headscope.known_heads import reading
from headscope.types import SEP, LayerAttention, TokenBatch

HALF, START = 4, 1
LENGTH = START + 2 * HALF


def causal(texts: int, heads: int, length: int, *, seed: int) -> Tensor:
    """(text, head, query, key) random attention that only looks back."""
    scores = torch.randn(texts, heads, length, length, generator=torch.Generator().manual_seed(seed)) * 2
    return scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf).softmax(-1)


def planted(offset: int) -> Tensor:
    """(1, 1, query, key) a head that looks `offset` back, and at the first token where there is nothing."""
    weights = torch.zeros(1, 1, LENGTH, LENGTH)
    for query in range(LENGTH):
        weights[0, 0, query, max(query - offset, 0)] = 1
    return weights


def test_planted_heads_are_what_they_are() -> None:
    assert reading.previous_token(planted(1), START)[0].item() == 1
    assert reading.earlier_copy(planted(HALF), HALF, START).item() == 1
    assert reading.after_copy(planted(HALF - 1), HALF, START).item() == 1
    assert reading.after_copy(planted(HALF), HALF, START).item() == 0
    assert reading.earlier_copy(planted(HALF - 1), HALF, START).item() == 0
    assert reading.first_token(planted(LENGTH))[0].item() == 1


def test_places_on_made_text_by_a_loop() -> None:
    weights = causal(2, 3, LENGTH, seed=0)
    second = range(START + HALF, LENGTH)
    duplicate = torch.stack([weights[:, :, query, query - HALF] for query in second]).mean(0)
    followed = [query for query in second if query - HALF + 1 < START + HALF]
    induction = torch.stack([weights[:, :, query, query - HALF + 1] for query in followed]).mean(0)
    before = torch.stack([weights[:, :, query, query - 1] for query in range(START + 1, LENGTH)]).mean(0)
    first = torch.stack([weights[:, :, query, 0] for query in range(1, LENGTH)]).mean(0)
    torch.testing.assert_close(reading.earlier_copy(weights, HALF, START), duplicate)
    torch.testing.assert_close(reading.after_copy(weights, HALF, START), induction)
    torch.testing.assert_close(reading.previous_token(weights, START)[0], before)
    torch.testing.assert_close(reading.first_token(weights)[0], first)


def test_even_attention_is_its_own_control() -> None:
    even = torch.ones(LENGTH, LENGTH).tril()
    even = (even / even.sum(-1, keepdim=True)).expand(1, 1, -1, -1)
    for value, control in (reading.previous_token(even, START), reading.first_token(even)):
        torch.testing.assert_close(value, control)


def tokens(rows: list[list[int]], lengths: list[int]) -> TokenBatch:
    """Texts whose first token is special (role 0)."""
    ids = torch.tensor(rows)
    is_token = torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]
    role = torch.full_like(ids, 4)
    role[:, 0] = 0
    return TokenBatch(ids, is_token, role, role * 0, role * 0, role * 0)


@pytest.fixture
def batch() -> LayerAttention:
    words = tokens([[9, 5, 6, 5, 7, 5, 6, 7], [9, 3, 3, 4, 2, 0, 0, 0]], [8, 5])
    return LayerAttention.observed(0, causal(2, 2, 8, seed=1), words, words)


def test_copies_in_natural_text(batch: LayerAttention) -> None:
    copies = {(q, k) for q, k in torch.nonzero(reading.copies(batch)[0]).tolist()}
    assert copies == {(3, 1), (5, 1), (5, 3), (6, 2), (7, 4)}
    after = {(q, k) for q, k in torch.nonzero(reading.after_copies(batch)[0]).tolist()}
    assert after == {(3, 2), (5, 2), (5, 4), (6, 3), (7, 5)}
    assert torch.nonzero(reading.copies(batch)[1]).tolist() == [[2, 1]]
    assert not reading.after_copies(batch)[1].any()  # what follows the copy is the query itself


@pytest.mark.parametrize("pairs", [reading.copies, reading.after_copies])
def test_natural_control_is_other_keys_as_far_away(pairs, batch: LayerAttention) -> None:  # type: ignore[no-untyped-def]
    chosen = pairs(batch)
    value, control, applies = reading.natural(batch, chosen)
    for text in range(2):
        asking = [query for query in range(8) if chosen[text, query].any()]
        assert bool(applies[text]) == bool(asking)
        length = int(batch.queries.is_token[text].sum())
        for head in range(2):
            weights = batch.attention[text, head]
            expected = usual = 0.0
            for query in asking:
                for key in range(query):
                    if not chosen[text, query, key]:
                        continue
                    expected += float(weights[query, key]) / len(asking)
                    apart = query - key
                    others = [
                        float(weights[place, place - apart])
                        for place in range(apart, length)
                        if not chosen[text, place, place - apart]
                    ]
                    usual += sum(others) / len(others) / len(asking) if others else 0
            assert float(value[text, head]) == pytest.approx(expected, abs=1e-6)
            assert float(control[text, head]) == pytest.approx(usual, abs=1e-6)


def test_a_head_of_fixed_distance_has_no_difference() -> None:
    words = tokens([[9, 5, 6, 5, 7, 5, 6, 7]], [8])
    weights = torch.zeros(1, 1, 8, 8)
    for query in range(8):
        weights[0, 0, query, max(query - 2, 0)] = 1
    batch = LayerAttention.observed(0, weights, words, words)
    value, control, _ = reading.natural(batch, reading.copies(batch))
    assert float(value) == pytest.approx(float(control))
    assert float(value) > 0.4


def test_place_alone_beside_even_attention(batch: LayerAttention) -> None:
    for pairs, key_of in ((reading.before, lambda query: query - 1), (reading.first, lambda query: 0)):
        value, even, applies = reading.beside_even(batch, pairs(batch))
        for text, length in enumerate((8, 5)):
            queries = range(1, length)
            mean = sum(float(batch.attention[text, 1, query, key_of(query)]) for query in queries)
            assert float(value[text, 1]) == pytest.approx(mean / len(queries), abs=1e-6)
            assert float(even[text, 1]) == pytest.approx(sum(1 / (q + 1) for q in queries) / len(queries))
        assert applies.all()


def test_separators_are_no_copies_of_each_other() -> None:
    words = tokens([[9, 5, 3, 5, 3]], [5])
    words.role[0, [2, 4]] = SEP
    batch = LayerAttention.observed(0, causal(1, 2, 5, seed=1), words, words)
    assert torch.nonzero(reading.copies(batch)[0]).tolist() == [[3, 1]]
