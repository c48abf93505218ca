"""Pairs and their controls against brute force, by hand, and with words that have no token."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.relations import Array, Spans, elsewhere, item, random_pair, strongest, tokens_for

from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.pairs import PairBatch
from headscope.probes.pointing.tally import PointingTally, Spot
from headscope.types import HeadGrid, LayerAttention


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


def relations_tally(grid: HeadGrid) -> PointingTally:
    return PointingTally(grid, batch_kind=PairBatch)


def test_even_attention_makes_no_difference() -> None:
    present = torch.ones(1, 9, dtype=torch.bool)
    tally = relations_tally(HeadGrid("encoder", 1, 2, causal=False))
    part = tally.empty()
    tokens = tokens_for(present)
    part.begin([item(9, ([2], [4, 5, 6]), ([8], [0, 1]))], present, tokens)
    part.update(LayerAttention(0, torch.full((1, 2, 9, 9), 1 / 9), tokens, tokens))
    tally.merge(part)
    assert np.abs(tally.scores[SCORE].mean("all")).max() < 1e-8
    assert tally.means["attention"][SCORE].mean("A") == pytest.approx(1 / 9)


def shown(*texts: tuple[int, torch.Tensor]) -> PointingTally:
    """A tally of texts of some words each, the predicate the first and the argument the second; all in one layer."""
    tally = relations_tally(HeadGrid("encoder", 1, 1, causal=False))
    for number, (length, words) in enumerate(texts):
        present = torch.ones(1, length, dtype=torch.bool)
        tokens = tokens_for(present)
        part = tally.empty()
        part.begin([replace(item(length, ([0], [1])), number=number)], present, tokens)
        part.update(LayerAttention(0, words[None, None], tokens, tokens))
        tally.merge(part)
    return tally


def test_the_best_example_is_right_and_readable() -> None:
    def text(length: int, argument: float, other: float) -> tuple[int, torch.Tensor]:
        words = torch.zeros(length, length)
        words[0, 1], words[0, 2] = argument, other
        return length, words

    # The second is surer but looks more at another word; the third is too long to look at.
    assert shown(text(6, 0.4, 0.3), text(6, 0.45, 0.5), text(40, 0.9, 0.0)).exemplars.spot(
        "A", 0, 0, 0
    ) == Spot(0, 0)
    assert shown(text(40, 0.9, 0.0)).exemplars.spot("A", 0, 0, 0) == Spot(0, 0)
    assert shown(text(6, 0.0, 0.0)).exemplars.spot("A", 0, 0, 0) is None
    # Nobody looks at the predicate.
    assert shown(text(6, 0.4, 0.3)).exemplars.spot("A", 1, 0, 0) is None


def parts(grid: HeadGrid) -> Iterator[PointingTally]:
    """What three batches count."""
    torch.manual_seed(0)
    draw = random.Random(1)
    for number in range(3):
        items = []
        for _ in range(4):
            length = draw.randint(4, 12)
            pairs = [random_pair(draw, length) for _ in range(3)]
            labels = ("A", "B") if number else ("B", "C")
            items.append(
                item(length, *[pair for pair in pairs if pair], labels=labels, half=draw.randint(0, 1))
            )
        width = max(len(one.content) for one in items)
        present = torch.tensor([[word < len(one.content) for word in range(width)] for one in items])
        tokens = tokens_for(present)
        tally = relations_tally(grid)
        tally.begin(items, present, tokens)
        for layer in range(grid.layers):
            tally.update(LayerAttention(layer, torch.rand(4, grid.heads, width, width), tokens, tokens))
        yield tally


def sums(tally: PointingTally) -> dict[str, Array]:
    return {
        f"{name}/{half}/{label}/{kind}": getattr(part[half], kind)(label)
        for name, part in tally.means.items()
        for half in (SELECT, SCORE)
        for label in ("all", "A", "B", "C")
        for kind in ("mean", "stderr", "count")
    }


def test_parts_merge_in_any_order() -> None:
    grid = HeadGrid("encoder", 2, 3, causal=False)
    one, two, three = parts(grid)
    first, second = relations_tally(grid), relations_tally(grid)
    for part in (one, two, relations_tally(grid), three):
        first.merge(part)
    middle = three.empty()
    for part in (three, one):
        middle.merge(part)
    for part in (relations_tally(grid), middle, two):
        second.merge(part)
    found, other = sums(first), sums(second)
    assert np.isfinite(found[f"difference/{SCORE}/B/stderr"]).all()
    for name, values in found.items():
        np.testing.assert_allclose(values, other[name], rtol=1e-9, err_msg=name)
    for label in ("A", "B", "C"):
        for cell in ((0, 0, 0), (1, 1, 2)):
            assert first.exemplars.spot(label, *cell) == second.exemplars.spot(label, *cell)
    assert first.first_seen.keys() == {"A", "B", "C"}
