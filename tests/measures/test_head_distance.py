"""Head distances against scipy's Jensen-Shannon distance, pair by pair and query by query."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from tests.helpers.attention import Text, batches, measured, random_texts, token_batch

from headscope.errors import CaptureError
from headscope.measures import HeadDistance, SampledHeadDistance
from headscope.measures.head_distance import (
    SAMPLED_QUERIES,
    compared_queries,
    divergence_sums,
    evenly_sampled,
    without_first,
)
from headscope.types import HeadGrid

GRID = HeadGrid("encoder", 3, 2, causal=False)
CAUSAL = HeadGrid("decoder", 3, 2, causal=True)


def reference(text: Text, *, smooth: float = 0.0) -> np.ndarray:
    """(head, head) divergence, summed over queries."""
    maps = text.maps.numpy().astype(float).reshape(-1, len(text), len(text))
    maps = (1 - smooth) * maps + smooth / len(text)
    out = np.zeros((len(maps), len(maps)))
    for a, b in np.ndindex(out.shape):
        out[a, b] = sum(jensenshannon(p, q) ** 2 for p, q in zip(maps[a], maps[b], strict=True))
    return out


def by_the_rest(text: Text) -> np.ndarray:
    """(head, head) mean divergence over all queries but the first, of attention without the first token."""
    maps = text.maps.numpy().astype(float).reshape(-1, len(text), len(text))[:, 1:, 1:]
    maps = maps / maps.sum(-1, keepdims=True)
    pairs = [[[jensenshannon(p, q) ** 2 for p, q in zip(a, b, strict=True)] for b in maps] for a in maps]
    mean: np.ndarray = np.mean(pairs, -1)
    return mean


@pytest.mark.parametrize("causal", [False, True])
def test_against_scipy(causal: bool) -> None:
    grid = HeadGrid("decoder" if causal else "encoder", 3, 2, causal=causal)
    texts = random_texts(grid, [21, 9, 2, 40])
    result = measured(HeadDistance, grid, [texts[:3], texts[3:]]).result()["head_distance"]
    expected = np.mean([by_the_rest(text) if causal else reference(text) / len(text) for text in texts], 0)
    np.testing.assert_allclose(result.values, expected, atol=1e-5, rtol=0)
    assert ("without the first token" in result.description) is causal
    assert result.dims == ("head_a", "head_b")
    assert tuple(result.coords["head_a"]) == ("0.0", "0.1", "1.0", "1.1", "2.0", "2.1")


def test_faithful_smooths_and_sums_and_gives_no_error_bar() -> None:
    texts = random_texts(GRID, [21, 9])
    result = measured(HeadDistance, GRID, [texts], faithful=True).result()
    np.testing.assert_allclose(
        result["head_distance"].values, sum(reference(text, smooth=0.001) for text in texts), atol=1e-3
    )
    assert set(result) == {"head_distance"}
    assert "summed" in result["head_distance"].description


def test_equal_heads_and_opposite_heads() -> None:
    grid = HeadGrid("encoder", 1, 3, causal=False)
    (text,) = random_texts(grid, [6])
    text.maps[:] = 0
    text.maps[0, 0, :, 1] = 1
    text.maps[0, 1, :, 1] = 1
    text.maps[0, 2, :, 4] = 1
    values = measured(HeadDistance, grid, [[text]]).result()["head_distance"].values
    np.testing.assert_allclose(values, np.log(2) * np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]]), atol=1e-6)


def test_blocks_and_whole_batches_agree_with_one_text_at_a_time() -> None:
    """The accelerator's way (all texts together, padding included) and the CPU's, in large and small blocks."""
    layers = batches(GRID, random_texts(GRID, [33, 12, 20]))
    maps = torch.cat([layer.attention for layer in layers], 1).transpose(0, 1)  # (head, text, query, key)
    together = divergence_sums(maps, block=1 << 20)
    torch.testing.assert_close(divergence_sums(maps, block=70), together, atol=1e-4, rtol=0)
    alone = divergence_sums(maps[:, 1:2, :12, :12], block=1 << 20)
    torch.testing.assert_close(alone[0], together[1], atol=1e-4, rtol=0)


def test_layers_out_of_order_and_merging_half_way_are_refused() -> None:
    first, second, _ = batches(GRID, random_texts(GRID, [9]))
    state = HeadDistance.empty(GRID)
    with pytest.raises(CaptureError, match="in order"):
        state.update(second)
    state.update(first)
    with pytest.raises(CaptureError, match="middle of a batch"):
        state.merge(HeadDistance.empty(GRID))


def by_query(text: Text) -> np.ndarray:
    """(query, head, head) divergence."""
    maps = text.maps.numpy().astype(float).reshape(-1, len(text), len(text))
    return np.array(
        [[[jensenshannon(p[i], q[i]) ** 2 for q in maps] for p in maps] for i in range(len(text))]
    )


def test_a_sample_is_the_mean_over_its_queries_and_short_texts_have_all_theirs() -> None:
    texts = random_texts(GRID, [70, 9, SAMPLED_QUERIES])
    result = measured(SampledHeadDistance, GRID, [texts[:2], texts[2:]]).result()
    places, real = evenly_sampled(token_batch(texts[:1]))
    assert len(set(places[0].tolist())) == real.sum() == SAMPLED_QUERIES
    expected = [by_query(texts[0])[places[0]].mean(0), *(by_query(text).mean(0) for text in texts[1:])]
    np.testing.assert_allclose(result["head_distance"].values, np.mean(expected, 0), atol=1e-5)
    assert f"from {SAMPLED_QUERIES} queries" in result["head_distance"].description
    assert "head_distance_stderr" in result


def test_every_query_is_as_likely_to_be_sampled_and_the_text_alone_decides() -> None:
    texts = random_texts(GRID, [50] * 400)
    places, _ = evenly_sampled(token_batch(texts))
    counts = torch.bincount(places.flatten(), minlength=50)
    share = SAMPLED_QUERIES / 50
    assert counts.sum() == 400 * SAMPLED_QUERIES
    assert (counts / 400 - share).abs().max() < 5 * (share * (1 - share) / 400) ** 0.5
    alone, _ = evenly_sampled(token_batch(texts[7:8], extra=13))
    assert torch.equal(alone[0], places[7])


def test_in_a_decoder_heads_that_rest_on_the_first_token_are_told_apart_by_the_rest() -> None:
    grid = HeadGrid("decoder", 1, 3, causal=True)
    (text,) = random_texts(grid, [6])
    own = text.maps[0, 0].clone()
    first = torch.zeros_like(own)
    first[:, 0] = 1
    text.maps[0, 1] = 0.02 * own + 0.98 * first  # the same head, resting most of the time
    values = measured(HeadDistance, grid, [[text]]).result()["head_distance"].values
    assert values[0, 1] < 1e-5
    assert values[0, 2] > 0.05
    published = measured(HeadDistance, grid, [[text]], faithful=True).result()["head_distance"].values
    assert published[0, 1] > 0.5


def test_what_is_left_of_a_row_is_nothing_where_it_has_no_digits() -> None:
    left = torch.tensor([0.0, 1.0, 3.0])
    rows = torch.stack([left * 1e-20, left * 1e-38, left * 1e-40]) + torch.tensor([1.0, 0.0, 0.0])
    expected = torch.tensor([[0.25, 0.75], [0.0, 0.0], [0.0, 0.0]])
    torch.testing.assert_close(without_first(rows), expected)


def test_stacks_of_many_heads_compare_fewer_queries() -> None:
    def compared(layers: int, heads: int) -> int:
        return compared_queries(HeadGrid("decoder", layers, heads, causal=True))

    assert [compared(12, 8), compared(24, 16), compared(32, 32), compared(80, 64)] == [32, 32, 8, 4]
    grid = HeadGrid("decoder", 32, 32, causal=True)
    assert "from 8 queries" in SampledHeadDistance.empty(grid).described


@pytest.mark.parametrize("faithful", [False, True], ids=["plain", "faithful"])
@pytest.mark.parametrize("grid", [GRID, CAUSAL], ids=["encoder", "decoder"])
def test_a_gpu_counts_the_same_by_its_kernels(
    grid: HeadGrid, faithful: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton", reason="triton is not installed (pip install triton)")
    texts = random_texts(grid, [9, 14, 11])
    expected = measured(HeadDistance, grid, [texts[:2], texts[2:]], faithful=faithful).result()
    # No GPU here: tensors are taken for such, and the kernels are interpreted.
    monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda tensor: True))
    state = HeadDistance.empty(grid, faithful=faithful)
    by_kernel = HeadDistance._add_by_kernel
    counted: list[int] = []

    def noted(self: HeadDistance, maps: torch.Tensor, asked: torch.Tensor) -> None:
        counted.append(len(maps))
        by_kernel(self, maps, asked)

    monkeypatch.setattr(HeadDistance, "_add_by_kernel", noted)
    for group in (texts[:2], texts[2:]):
        for batch in batches(grid, group):
            state.update(batch)
    monkeypatch.undo()
    assert sum(counted) == 3
    assert state.result().keys() == expected.keys()
    for name, array in state.result().items():
        np.testing.assert_allclose(array.values, expected[name].values, atol=2e-5, err_msg=name)
