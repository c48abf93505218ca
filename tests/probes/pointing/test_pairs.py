"""Pairs and their controls against brute force, by hand, and with words that have no token."""

import random

import numpy as np
import pytest
import torch
from tests.helpers.relations import Spans, elsewhere, item, random_pair, strongest, tokens_for

from headscope.probes.pointing.pairs import PairBatch


def test_any_shape_against_brute_force() -> None:
    draw = random.Random(3)
    for _ in range(25):
        lengths = [draw.randint(2, 19) for _ in range(draw.randint(1, 4))]
        items = []
        for length in lengths:
            pairs = [random_pair(draw, length) for _ in range(draw.randint(0, 5))]
            items.append(item(length, *[pair for pair in pairs if pair]))
        width = max(lengths)
        present = torch.tensor([[word < length for word in range(width)] for length in lengths])
        words = torch.rand(len(lengths), 3, width, width)
        words *= present[:, None, :, None] * present[:, None, None]
        batch = PairBatch(items, present, tokens_for(present))
        assert len(batch.cases) == sum(len(one.cases) for one in items)
        if not batch.cases:
            continue
        measured = batch.measure(words)
        for number, (place, pair) in enumerate(batch.cases):
            attention = words[place].numpy()
            spans = (pair.predicate, pair.right)
            others = [strongest(attention, one) for one in elsewhere(spans, lengths[place])]
            np.testing.assert_array_equal(measured.values["attention"][number], strongest(attention, spans))
            asking = strongest(attention, ([pair.asking], pair.right))
            np.testing.assert_array_equal(measured.confidence[number], asking)
            rest = [word for word in range(lengths[place]) if word != pair.asking]
            is_right = (asking >= strongest(attention, ([pair.asking], rest))) & (asking > 0)
            np.testing.assert_array_equal(measured.is_right[number], is_right)
            assert batch.controls[number] == len(others)
            expected = np.mean(others, axis=0) if others else np.zeros((2, 3))
            np.testing.assert_allclose(measured.values["control"][number], expected, rtol=1e-5)


def test_by_hand() -> None:
    # Four words; the predicate is word 1, its argument word 2. Elsewhere: (0, 1) and (2, 3).
    words = torch.tensor(
        [[0.4, 0.1, 0.2, 0.3], [0.0, 0.2, 0.7, 0.1], [0.3, 0.3, 0.2, 0.2], [0.1, 0.5, 0.4, 0.0]]
    )
    present = torch.ones(1, 4, dtype=torch.bool)
    batch = PairBatch([item(4, ([1], [2]), ([1], [2, 3]), ([3], [0, 1, 2]))], present, tokens_for(present))
    before = words.clone()
    measured = batch.measure(words[None, None])
    assert torch.equal(words, before)  # others read the same maps
    attention, control = measured.values["attention"][..., 0], measured.values["control"][..., 0]
    assert attention.tolist() == pytest.approx(np.array([[0.7, 0.3], [0.7, 0.5], [0.5, 0.3]]))
    # (0, 1) and (2, 3) give 0.1 and 0.2, and are given 0.0 and 0.4.
    assert control[0].tolist() == pytest.approx([0.15, 0.2])
    # Word 0 with 1 and 2 gives at most 0.2 and is given at most 0.3.
    assert control[1].tolist() == pytest.approx([0.2, 0.3])
    assert batch.controls.tolist() == [2, 1, 0]
    assert control[2].tolist() == [0, 0]


def test_words_without_tokens() -> None:
    # Word 2 has no token, nor has word 6, the last one.
    present = torch.tensor([[True, True, False, True, True, True, False, False]])
    words = torch.rand(1, 2, 8, 8) * present[:, None, :, None] * present[:, None, None]
    pairs: list[Spans] = [([0], [1]), ([0], [1, 2]), ([1], [2]), ([2], [3]), ([0], [5, 6])]
    batch = PairBatch([item(7, *pairs)], present, tokens_for(present))
    assert [pair.right for _, pair in batch.cases] == [(1,), (1, 2)]
    assert batch.lost.count == 3
    assert batch.lost.places[0] == "x:3: the tokenizer has no token for a side of the pair 'w w'"
    measured = batch.measure(words)
    attention = words[0].numpy()
    # The pair (0, 1) elsewhere: both words need a token, so that only (3, 4) and (4, 5) are left.
    expected = np.mean([strongest(attention, ([3], [4])), strongest(attention, ([4], [5]))], axis=0)
    np.testing.assert_allclose(measured.values["control"][0], expected, rtol=1e-6)
    # (0; 1 2) elsewhere: (1; 2 3), (3; 4 5); of (2; 3 4) the predicate has no token.
    expected = np.mean([strongest(attention, ([1], [2, 3])), strongest(attention, ([3], [4, 5]))], axis=0)
    np.testing.assert_allclose(measured.values["control"][1], expected, rtol=1e-6)


def test_pairs_that_were_cut_off_are_not_told_one_by_one() -> None:
    present = torch.tensor([[True, True, True, False, False]])
    cut = PairBatch(
        [item(5, ([0], [1]), ([0], [2, 3]), ([4], [0]))], present, tokens_for(present, is_cut=[True])
    )
    assert [pair.right for _, pair in cut.cases] == [(1,)]
    assert cut.lost.count == 0
    assert cut.controls.tolist() == [1]  # only (1, 2) is inside what is left
