"""Head distances against scipy's Jensen-Shannon distance, pair by pair and query by query."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from tests.helpers.attention import Text, decoder, encoder, random_texts
from tests.helpers.backends import passing_for_a_gpu
from tests.seams import measured

from headscope.measures import SampledHeadDistance
from headscope.measures.head_distance import divergence_sums, without_first
from headscope.types import HeadGrid

GRID = encoder(3, 2)
CAUSAL = decoder(3, 2)
SAMPLED = 32
"""How many queries of a text are compared where not all are."""


def by_query(text: Text, *, smooth: float = 0.0) -> np.ndarray:
    """(query, head, head) divergence."""
    maps = text.maps.numpy().astype(float).reshape(-1, len(text), len(text))
    maps = (1 - smooth) * maps + smooth / len(text)
    places = range(len(text))
    return np.array([[[jensenshannon(p[i], q[i]) ** 2 for q in maps] for p in maps] for i in places])


def by_the_rest(text: Text) -> np.ndarray:
    """(head, head) mean divergence over all queries but the first, of attention without the first token."""
    maps = text.maps.numpy().astype(float).reshape(-1, len(text), len(text))[:, 1:, 1:]
    maps = maps / maps.sum(-1, keepdims=True)
    pairs = [[[jensenshannon(p, q) ** 2 for p, q in zip(a, b, strict=True)] for b in maps] for a in maps]
    mean: np.ndarray = np.mean(pairs, -1)
    return mean


def distances(texts: list[Text], grid: HeadGrid, **options: object) -> np.ndarray:
    values: np.ndarray = measured("head_distance", texts, grid, **options).result()["head_distance"].values  # type: ignore[arg-type]
    return values


@pytest.mark.parametrize("grid", [GRID, CAUSAL], ids=["encoder", "decoder"])
def test_against_scipy(grid: HeadGrid) -> None:
    texts = random_texts(grid, [21, 9, 2, 40])
    result = measured("head_distance", texts, grid, batch_size=3).result()["head_distance"]
    expected = [by_the_rest(text) if grid.causal else by_query(text).mean(0) for text in texts]
    np.testing.assert_allclose(result.values, np.mean(expected, 0), atol=1e-5, rtol=0)
    assert ("without the first token" in result.description) is grid.causal
    assert result.dims == ("head_a", "head_b")
    assert tuple(result.coords["head_a"]) == ("0.0", "0.1", "1.0", "1.1", "2.0", "2.1")


def test_the_published_form_smooths_and_sums_and_gives_no_error_bar() -> None:
    texts = random_texts(GRID, [21, 9])
    result = measured("head_distance", texts, GRID, published=True).result()
    expected = sum(by_query(text, smooth=0.001).sum(0) for text in texts)
    np.testing.assert_allclose(result["head_distance"].values, expected, atol=1e-3)
    assert set(result) == {"head_distance"}
    assert "summed" in result["head_distance"].description


def test_equal_heads_and_opposite_heads() -> None:
    grid = encoder(1, 3)
    (text,) = random_texts(grid, [6])
    text.maps[:] = 0
    text.maps[0, 0, :, 1] = 1
    text.maps[0, 1, :, 1] = 1
    text.maps[0, 2, :, 4] = 1
    expected = np.log(2) * np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    np.testing.assert_allclose(distances([text], grid), expected, atol=1e-6)


def test_in_a_decoder_heads_that_rest_on_the_first_token_are_told_apart_by_the_rest() -> None:
    grid = decoder(1, 3)
    (text,) = random_texts(grid, [6])
    busy = text.maps[0, 0].clone()
    first = torch.zeros_like(busy)
    first[:, 0] = 1
    text.maps[0, 1] = 0.02 * busy + 0.98 * first  # the same head, resting most of the time
    values = distances([text], grid)
    assert values[0, 1] < 1e-5
    assert values[0, 2] > 0.05
    assert distances([text], grid, published=True)[0, 1] > 0.5


# Sampled queries. In these texts head k + 1 differs from head 0 at query k alone, so that their distance says how often
# query k was sampled.


def telltale(lengths: list[int], heads: int) -> tuple[list[Text], HeadGrid]:
    grid = encoder(1, heads)
    texts = random_texts(grid, lengths)
    for text in texts:
        text.maps[:] = 0
        text.maps[..., 0] = 1
        for query in range(len(text)):
            text.maps[0, query + 1, query] = torch.eye(len(text))[1]
    return texts, grid


def shares_sampled(texts: list[Text], grid: HeadGrid, queries: int, **options: object) -> np.ndarray:
    """(query,) in which share of the texts it was sampled, of so many `queries` that are sampled of each text."""
    result = measured(SampledHeadDistance, texts, grid, **options).result()  # type: ignore[arg-type]
    length = max(map(len, texts))
    found: np.ndarray = result["head_distance"].values[0, 1 : length + 1] * queries / np.log(2)
    return found


def test_a_sample_is_the_mean_over_its_queries_and_short_texts_have_all_theirs() -> None:
    texts = random_texts(GRID, [70, 9, SAMPLED])
    (telling, *_), grid = telltale([70, 9, SAMPLED], 71)
    assert telling.ids == texts[0].ids
    sampled = shares_sampled([telling], grid, SAMPLED) > 0.5
    assert sampled.sum() == SAMPLED
    result = measured(SampledHeadDistance, texts, GRID, batch_size=2).result()
    expected = [by_query(texts[0])[sampled].mean(0), *(by_query(text).mean(0) for text in texts[1:])]
    np.testing.assert_allclose(result["head_distance"].values, np.mean(expected, 0), atol=1e-5)
    assert f"from {SAMPLED} queries" in result["head_distance"].description
    assert "head_distance_stderr" in result


def test_every_query_is_as_likely_to_be_sampled_and_the_text_alone_decides() -> None:
    texts, grid = telltale([50] * 300, 51)
    shares = shares_sampled(texts, grid, SAMPLED, batch_size=30)
    assert shares.sum() == pytest.approx(SAMPLED)
    share = SAMPLED / 50
    assert np.abs(shares - share).max() < 5 * (share * (1 - share) / len(texts)) ** 0.5
    together = shares_sampled(texts[:6], grid, SAMPLED)
    alone = [shares_sampled([text], grid, SAMPLED, padding=13) for text in texts[:6]]
    np.testing.assert_allclose(np.mean(alone, 0), together, atol=1e-5)


@pytest.mark.parametrize(("heads", "queries"), [(512, 32), (1024, 8), (2048, 4)])
def test_stacks_of_many_heads_compare_fewer_queries(heads: int, queries: int) -> None:
    texts, grid = telltale([40], heads)
    assert shares_sampled(texts, grid, queries).sum() == pytest.approx(queries)
    nothing = measured(SampledHeadDistance, [], grid).result()["head_distance"]
    assert f"from {queries} queries" in nothing.description


# The sums themselves


def test_large_and_small_blocks_and_texts_by_themselves_agree() -> None:
    """The way of an accelerator (all texts together, padding included) and that of a CPU."""
    torch.manual_seed(0)
    maps = (torch.randn(6, 3, 33, 33) * 3).softmax(-1).double()  # (head, text, query, key)
    maps[:, 1, 12:] = maps[:, 1, :, 12:] = 0
    together = divergence_sums(maps, block=1 << 20)
    torch.testing.assert_close(divergence_sums(maps, block=70), together, atol=1e-6, rtol=0)
    alone = divergence_sums(maps[:, 1:2, :12, :12], block=1 << 20)
    torch.testing.assert_close(alone[0], together[1], atol=1e-6, rtol=0)


@pytest.mark.parametrize("sharpness", [0.1, 3, 30])
def test_the_compiled_loops_are_as_exact_as_double_precision(sharpness: float) -> None:
    maps = (torch.randn(6, 2, 11, 700) * sharpness).softmax(-1)
    maps[:, :, 4] = 0  # padding
    precise = divergence_sums(maps.double(), block=1 << 12)
    torch.testing.assert_close(divergence_sums(maps, block=1 << 12), precise, atol=4e-6, rtol=1e-6)


def test_what_no_head_sees_may_be_left_out() -> None:
    maps = torch.randn(4, 2, 30, 30).masked_fill(torch.ones(30, 30).triu(1).bool(), -torch.inf).softmax(-1)
    whole = divergence_sums(maps, block=1 << 12)
    torch.testing.assert_close(divergence_sums(maps, block=1 << 12, causal=True), whole, atol=3e-5, rtol=0)


def test_what_is_left_of_a_row_is_nothing_where_it_has_no_digits() -> None:
    left = torch.tensor([0.0, 1.0, 3.0])
    rows = torch.stack([left * 1e-20, left * 1e-38, left * 1e-40]) + torch.tensor([1.0, 0.0, 0.0])
    expected = torch.tensor([[0.25, 0.75], [0.0, 0.0], [0.0, 0.0]])
    torch.testing.assert_close(without_first(rows), expected)


@pytest.mark.parametrize("published", [False, True], ids=["default", "published"])
@pytest.mark.parametrize("grid", [GRID, CAUSAL], ids=["encoder", "decoder"])
def test_a_gpu_counts_the_same_by_its_kernels(grid: HeadGrid, published: bool) -> None:
    texts = random_texts(grid, [9, 14, 11])
    expected = measured("head_distance", texts, grid, batch_size=2, published=published).result()
    with passing_for_a_gpu() as texts_counted:
        state = measured("head_distance", texts, grid, batch_size=2, published=published)
    assert sum(texts_counted) == 3
    found = state.result()
    assert found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_allclose(array.values, expected[name].values, atol=2e-5, err_msg=name)
