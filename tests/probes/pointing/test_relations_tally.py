"""Sums over pairs: nothing for even attention, and the same whatever the parts."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.relations import Array, item, random_pair, tokens_for

from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.pairs import PairBatch
from headscope.probes.pointing.tally import PointingTally, Spot
from headscope.types import AttentionBatch, HeadGrid


def relations_tally(grid: HeadGrid) -> PointingTally:
    return PointingTally(grid, batch_kind=PairBatch)


def test_even_attention_makes_no_difference() -> None:
    present = torch.ones(1, 9, dtype=torch.bool)
    tally = relations_tally(HeadGrid("encoder", 1, 2, causal=False))
    part = tally.empty()
    tokens = tokens_for(present)
    part.begin([item(9, ([2], [4, 5, 6]), ([8], [0, 1]))], present, tokens)
    part.update(AttentionBatch(0, torch.full((1, 2, 9, 9), 1 / 9), tokens, tokens))
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
        part.update(AttentionBatch(0, words[None, None], tokens, tokens))
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
            tally.update(AttentionBatch(layer, torch.rand(4, grid.heads, width, width), tokens, tokens))
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
