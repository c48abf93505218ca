"""What a stack did on a batch, collected layer by layer: each layer in its place, whatever a reduction gives back."""

import numpy as np
import pytest
import torch
from tests.helpers.attention import batches, random_texts
from torch import Tensor

from headscope.attention import (
    AttentionBatch,
    ChosenRows,
    LayerAttention,
    LayerReductions,
    StackReads,
    Weighting,
)
from headscope.errors import CaptureError
from headscope.types import HeadGrid

GRID = HeadGrid("encoder", 3, 2, causal=False)
LENGTHS = [7, 4]


def first_column(layer: LayerAttention) -> Tensor:
    """(text, head, query) a view of the maps."""
    return layer.attention[:, :, :, 0]


def largest(layer: LayerAttention) -> Tensor:
    """(text, head)."""
    return layer.attention.amax((-2, -1))


def stack_of(
    *reductions: object, rows: tuple[ChosenRows, ...] = (), weighting: Weighting = "attention"
) -> tuple[AttentionBatch, list[LayerAttention]]:
    """A whole stack, and its layers."""
    layers = batches(GRID, random_texts(GRID, LENGTHS))
    collected = LayerReductions(GRID.layers, StackReads({weighting: reductions}, rows))  # type: ignore[arg-type]
    for layer in layers:
        collected.add(layer)
    return collected.batches(layers[0].queries, layers[0].keys, causal=False)[weighting], layers


def test_a_reduction_gives_every_layer_its_own_values() -> None:
    batch, layers = stack_of(largest, first_column)
    for number, layer in enumerate(layers):
        assert torch.equal(batch.reduce(largest)[:, number], layer.attention.amax((-2, -1)))
        assert torch.equal(batch.reduce(first_column)[:, number], layer.attention[..., 0])


def test_value_weighted_attention_is_reduced_likewise() -> None:
    batch, layers = stack_of(first_column, weighting="value")
    weights, lengths = layers[1].attention.double().numpy(), layers[1].moved.lengths.double().numpy()
    shares = weights * lengths[:, :, None]
    total = shares.sum(-1, keepdims=True)
    expected = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)[..., 0]
    np.testing.assert_allclose(batch.reduce(first_column)[:, 1].numpy(), expected, rtol=1e-5, atol=1e-7)


def test_what_a_measure_did_not_name_is_refused_by_name() -> None:
    batch, _ = stack_of(largest)
    with pytest.raises(CaptureError, match=r"first_column, which its `reads`"):
        batch.reduce(first_column)


def test_chosen_rows_come_layer_by_layer_and_head_by_head() -> None:
    places = torch.tensor([[2, 0], [3, 1]])
    batch, layers = stack_of(rows=(ChosenRows(places, None),))
    rows = batch.rows(ChosenRows(places, None))
    assert rows.shape == (2, GRID.size, 2, max(LENGTHS))
    for text, row in np.ndindex(2, 2):
        expected = [layer.attention[text, :, places[text, row]] for layer in layers]
        assert torch.equal(rows[text, :, row], torch.cat(expected))


def test_sums_of_chosen_rows_are_taken_layer_by_layer() -> None:
    places = torch.tensor([[2, 0]])
    chosen = ChosenRows(places, torch.tensor([1]), lambda rows: (rows.sum((0, 2, 3)), rows.amax((0, 2))))
    batch, layers = stack_of(rows=(chosen,))
    totals, most = batch.row_sums(chosen)
    of_text = torch.cat([layer.attention[1, :, places[0]] for layer in layers])  # (layer and head, row, key)
    torch.testing.assert_close(totals, of_text.sum((1, 2)))
    assert torch.equal(most, of_text.amax(1))


@pytest.mark.parametrize("causal", [False, True])
def test_uniform_attention_is_one_over_all_that_a_query_sees(causal: bool) -> None:
    layers = batches(GRID, random_texts(GRID, LENGTHS))
    collected = LayerReductions(GRID.layers, StackReads({"attention": ()}))
    batch = collected.batches(layers[0].queries, layers[0].keys, causal=causal)["attention"]
    found = batch.uniform.reduce(first_column)  # (text, 1, 1, query)
    for text, length in enumerate(LENGTHS):
        seen = np.arange(1, length + 1) if causal else np.full(length, length)
        np.testing.assert_allclose(found[text, 0, 0, :length].numpy(), 1 / seen, rtol=1e-6)
        assert not found[text, 0, 0, length:].any()
