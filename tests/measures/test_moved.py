"""Measures shown what heads move: every shared reduction against the map formed by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.attention import batches, random_texts
from tests.measures.test_common import GRIDS, assert_same

from headscope.batches import moved_shares
from headscope.measures import MEASURES, HeadDistance, Loudness, Measure
from headscope.types import AttentionBatch, HeadGrid

LENGTHS = [23, 9, 17, 3]
KINDS = [kind for kind in map(MEASURES.get, MEASURES.names()) if kind.weighable and kind is not HeadDistance]
every_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))
every_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


def by_hand(batch: AttentionBatch) -> AttentionBatch:
    """A batch with the moved shares as its attention, text by text, head by head and query by query."""
    carried = batch.carried
    assert carried is not None
    moved = torch.zeros_like(batch.attention)
    for text, length in enumerate(batch.keys.lengths.tolist()):
        for head, root in enumerate(carried.root):
            lengths = [float((value @ root).norm()) for value in carried.value[text, head, :length]]
            for query in range(int(batch.queries.lengths[text])):
                row = [
                    float(w) * f for w, f in zip(batch.attention[text, head, query], lengths, strict=False)
                ]
                moved[text, head, query, :length] = torch.tensor(row) / sum(row)
    return AttentionBatch(batch.layer, moved, batch.queries, batch.keys)


def counted(kind: type[Measure], grid: HeadGrid, layers: list[AttentionBatch]) -> Measure:
    state = kind.empty(grid)
    for batch in layers:
        state.update(batch)
    return state


@every_grid
@every_kind
def test_it_is_the_measure_of_the_moved_map(kind: type[Measure], grid: HeadGrid) -> None:
    layers = batches(grid, random_texts(grid, LENGTHS), extra=2)
    moved = counted(kind, grid, [batch.moved for batch in layers])
    assert_same(moved, counted(kind, grid, list(map(by_hand, layers))), rtol=1e-4, atol=1e-5)
    looked = counted(kind, grid, layers).result()[kind.name].values
    assert np.nanmax(np.abs(moved.result()[kind.name].values - looked)) > 0.02


@every_kind
def test_values_of_equal_length_move_what_is_looked_at(kind: type[Measure]) -> None:
    grid = GRIDS["encoder"]
    layers = batches(grid, random_texts(grid, LENGTHS))
    equal = []
    for batch in layers:
        assert batch.carried is not None
        made = (batch.carried.value @ batch.carried.root).norm(dim=-1, keepdim=True)
        carried = replace(batch.carried, value=batch.carried.value / made)
        equal.append(replace(batch, carried=carried).moved)
    assert_same(counted(kind, grid, equal), counted(kind, grid, layers), rtol=1e-4, atol=1e-5)


def test_a_head_whose_values_are_larger_moves_the_same_shares() -> None:
    grid = GRIDS["encoder"]
    batch = batches(grid, random_texts(grid, LENGTHS))[0]
    assert batch.carried is not None
    louder = replace(batch.carried, value=batch.carried.value * 7)
    torch.testing.assert_close(replace(batch, carried=louder).moved.attention, batch.moved.attention)


def test_rows_add_up_to_1_and_to_0_where_nothing_is_fetched() -> None:
    grid = GRIDS["encoder"]
    batch = batches(grid, random_texts(grid, [9]))[0]
    assert batch.carried is not None
    torch.testing.assert_close(batch.moved.attention.sum(-1), torch.ones(1, 2, 9))
    nothing = replace(batch, carried=replace(batch.carried, value=torch.zeros_like(batch.carried.value)))
    assert not nothing.moved.attention.any()
    for kind in KINDS:
        state = counted(kind, HeadGrid("encoder", 1, 2, causal=False), [nothing.moved])
        assert np.nanmax(np.abs(state.result()[kind.name].values)) == 0, kind.name


@every_grid
def test_distances_between_heads_are_over_some_queries_of_every_text(grid: HeadGrid) -> None:
    texts = random_texts(grid, [40, 20])
    for text in texts:  # every query looks alike, so that it does not matter which are taken
        text.maps[:] = text.maps[:, :, -1:].clone()
        if grid.causal:  # but for the first, which sees itself alone and is not compared
            text.maps[:, :, 0] = torch.eye(len(text))[0]
    layers = batches(grid, texts)
    moved = counted(HeadDistance, grid, [batch.moved for batch in layers])
    assert_same(moved, counted(HeadDistance, grid, list(map(by_hand, layers))), rtol=1e-4, atol=1e-5)


def test_a_decoders_text_of_which_only_the_first_query_is_sampled_does_not_count() -> None:
    grid = GRIDS["decoder"]
    texts = random_texts(grid, [5] * 30)
    counts = [
        counted(HeadDistance, grid, [batch.moved for batch in batches(grid, [text])]).means.texts[0, 1].item()
        for text in texts
    ]
    assert set(counts) == {0, 1}


def test_distances_do_not_always_start_at_the_first_token() -> None:
    grid = GRIDS["encoder"]
    texts = random_texts(grid, [40] * 30)
    for text in texts:  # heads differ at the first token only
        text.maps[:] = 1 / 40
        text.maps[0, 0, 0] = torch.eye(40)[3]
    states = [counted(HeadDistance, grid, [batch.moved for batch in batches(grid, [text])]) for text in texts]
    apart = np.array([state.result()["head_distance"].values[0, 4] for state in states])
    first = np.array([state.result()["head_distance"].values[1, 4] for state in states])
    assert 0 < np.mean(apart > first + 0.05) < 0.4


def test_loudness_is_not_about_attention() -> None:
    assert not Loudness.weighable
    assert Loudness.needs_carried


def test_rows_in_half_precision_are_weighed_in_all_digits_and_stay_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headscope.batches._NUMBERS_TOGETHER", 80)  # two texts at a time, then one
    torch.manual_seed(0)
    weights = torch.randn(3, 2, 4, 5).softmax(-1).half()
    lengths = torch.rand(3, 2, 5) * 1e6  # more than half precision holds
    found = moved_shares(weights, lengths)
    moved = weights.double() * lengths.double()[:, :, None]
    assert found.dtype == torch.float16
    torch.testing.assert_close(found.double(), moved / moved.sum(-1, keepdim=True), atol=1e-7, rtol=1e-3)
