"""Reductions of one layer, beside slow loops over texts, heads, queries and keys; padding holds real weights."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tests.helpers.attention import batches, decoder, encoder, random_texts

from headscope.attention import LayerAttention
from headscope.reductions import (
    FARTHEST,
    KeyClass,
    QueryGroup,
    class_mass,
    given_sums,
    in_plain_torch,
    mean_entropy,
    near_diagonals,
)
from headscope.types import ROLES, HeadGrid

LENGTHS = [9, 4, 13]
GRIDS = [encoder(1, 3), decoder(1, 3)]
Maps = NDArray[np.float64]

with_and_without_loops = pytest.mark.parametrize(
    "prepared", [lambda layer: layer, in_plain_torch], ids=["loops", "torch"]
)
both_grids = pytest.mark.parametrize("grid", GRIDS, ids=["encoder", "decoder"])
both_weightings = pytest.mark.parametrize("weighting", ["attention", "value"])


def layer_of(grid: HeadGrid, weighting: str) -> tuple[LayerAttention, list[Maps]]:
    """A padded layer, and the maps (head, query, key) of each text without padding, weighted by hand."""
    [layer] = batches(grid, random_texts(grid, LENGTHS), extra=3)
    maps = [layer.attention[text, :, :n, :n].double().numpy() for text, n in enumerate(LENGTHS)]
    if weighting == "attention":
        return layer, maps
    assert layer.carried is not None
    norms = [layer.carried.fetched[text, :, :n].double().numpy() for text, n in enumerate(LENGTHS)]
    shares = [one * norm[:, None] for one, norm in zip(maps, norms, strict=True)]
    return layer.moved, [share / share.sum(-1, keepdims=True) for share in shares]


@both_weightings
@both_grids
@with_and_without_loops
def test_mass_of_the_roles_is_the_mean_over_queries_of_their_sums(
    prepared: Callable[[LayerAttention], LayerAttention], grid: HeadGrid, weighting: str
) -> None:
    layer, maps = layer_of(grid, weighting)
    found = prepared(layer).reduce(class_mass)  # (text, head, group, class)
    for text, one in enumerate(maps):
        roles = layer.keys.role[text, : LENGTHS[text]].numpy()
        for role in range(len(ROLES)):
            expected = one[:, :, roles == role].sum(-1).mean(-1)
            np.testing.assert_allclose(found[text, :, QueryGroup.ALL, role].numpy(), expected, atol=1e-6)
        expected = one[:, 1:, 0].mean(-1)
        first = found[text, :, QueryGroup.NOT_FIRST_TOKEN, KeyClass.FIRST_TOKEN]
        np.testing.assert_allclose(first.numpy(), expected, atol=1e-6)


@both_weightings
@both_grids
@with_and_without_loops
def test_entropy_is_that_of_each_querys_distribution(
    prepared: Callable[[LayerAttention], LayerAttention], grid: HeadGrid, weighting: str
) -> None:
    layer, maps = layer_of(grid, weighting)
    found = prepared(layer).reduce(mean_entropy)[:, :, QueryGroup.ALL]
    for text, one in enumerate(maps):
        logarithms = np.log(one, out=np.zeros_like(one), where=one > 0)
        np.testing.assert_allclose(found[text].numpy(), -(one * logarithms).sum(-1).mean(-1), atol=1e-5)


@both_weightings
@both_grids
@with_and_without_loops
def test_an_offset_holds_the_weights_of_its_diagonal(
    prepared: Callable[[LayerAttention], LayerAttention], grid: HeadGrid, weighting: str
) -> None:
    layer, maps = layer_of(grid, weighting)
    found = prepared(layer).reduce(near_diagonals)
    for text, one in enumerate(maps):
        for place, offset in enumerate(range(-FARTHEST, FARTHEST + 1)):
            expected = [np.trace(head, offset) for head in one]
            np.testing.assert_allclose(found[text, :, place].numpy(), expected, atol=1e-5)


@both_grids
def test_output_norms_are_those_of_what_each_head_writes(grid: HeadGrid) -> None:
    layer, _ = layer_of(grid, "attention")
    found = layer.reduce(given_sums)
    carried = layer.carried
    assert carried is not None
    assert carried.stream is not None
    for text, head in np.ndindex(len(LENGTHS), grid.heads):
        real = slice(0, LENGTHS[text])
        written = (carried.output[text, real, head].double() @ carried.root[head].double()).numpy()
        norms = np.linalg.norm(written, axis=-1)
        stream = torch.linalg.vector_norm(carried.stream[text, real].double(), dim=-1).numpy()
        expected = (norms.sum(), (norms**2).sum(), (norms / stream).sum(), np.linalg.norm(written.sum(0)))
        np.testing.assert_allclose(found[text, head].numpy(), expected, rtol=1e-4)
