"""Value-weighted measures: each against the same measure of the value-weighted map, written out query by query."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.attention import Text, decoder, encoder, random_texts
from tests.seams import measured

import headscope as hs
from headscope.attention import moved_shares
from headscope.types import HeadGrid

LENGTHS = [23, 9, 17, 3]
ENCODER, DECODER = encoder(3, 2), decoder(3, 2)
NOT_WEIGHTED = {"loudness", "explained"}
"""Measures of attention weights alone."""
NAMES = [name for name in hs.MEASURES.names() if name not in NOT_WEIGHTED]
every_grid = pytest.mark.parametrize("grid", [ENCODER, DECODER], ids=["encoder", "decoder"])
every_measure = pytest.mark.parametrize("name", [name for name in NAMES if name != "head_distance"])


def lengths_of(text: Text) -> np.ndarray:
    """(layer, head, key) how long each value vector is after the output projection."""
    assert text.vectors is not None
    lengths: np.ndarray = np.linalg.norm(text.vectors.numpy(), axis=-1)
    return lengths


def value_weighted(text: Text) -> Text:
    """The text with value-weighted attention in place of attention: weight times length, over the sum of a row."""
    lengths, maps = lengths_of(text), text.maps.double().numpy()
    weighted = np.zeros_like(maps)
    for layer, head, query in np.ndindex(*maps.shape[:3]):
        row = [w * length for w, length in zip(maps[layer, head, query], lengths[layer, head], strict=True)]
        weighted[layer, head, query] = np.array(row) / sum(row)
    return replace(text, maps=torch.from_numpy(weighted).float())


def values_of(name: str, texts: list[Text], grid: HeadGrid, **options: object) -> dict[str, np.ndarray]:
    result = measured(name, texts, grid, **options).result()  # type: ignore[arg-type]
    return {key: array.values for key, array in result.items()}


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-4, atol=1e-5, err_msg=key)


@every_grid
@every_measure
def test_it_is_the_measure_of_the_value_weighted_map(name: str, grid: HeadGrid) -> None:
    texts = random_texts(grid, LENGTHS)
    found = values_of(name, texts, grid, weighting="value", padding=2)
    assert_same(found, values_of(name, [value_weighted(text) for text in texts], grid))
    assert np.nanmax(np.abs(found[name] - values_of(name, texts, grid)[name])) > 0.02


@every_measure
def test_value_vectors_of_equal_length_change_nothing(name: str) -> None:
    texts = []
    for text in random_texts(ENCODER, LENGTHS):
        assert text.vectors is not None
        lengths = torch.from_numpy(lengths_of(text))[..., None]
        texts.append(replace(text, vectors=text.vectors / lengths))
    assert_same(values_of(name, texts, ENCODER, weighting="value"), values_of(name, texts, ENCODER))


@every_measure
def test_longer_value_vectors_of_a_head_change_nothing(name: str) -> None:
    texts = random_texts(ENCODER, LENGTHS)
    expected = values_of(name, texts, ENCODER, weighting="value")
    for text in texts:
        assert text.vectors is not None
        text.vectors[1, 0] *= 7
    assert_same(values_of(name, texts, ENCODER, weighting="value"), expected)


def test_rows_add_up_to_1() -> None:
    values = values_of("role_attention", random_texts(ENCODER, LENGTHS), ENCODER, weighting="value")
    np.testing.assert_allclose(values["role_attention"].sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_where_every_value_vector_is_0_there_is_no_attention(name: str) -> None:
    (text,) = random_texts(ENCODER, [9])
    assert text.vectors is not None
    nothing = replace(text, vectors=torch.zeros_like(text.vectors))
    assert np.nanmax(np.abs(values_of(name, [nothing], ENCODER, weighting="value")[name])) == 0


@every_grid
def test_distances_between_heads_are_over_some_queries_of_every_text(grid: HeadGrid) -> None:
    texts = random_texts(grid, [40, 20])
    for text in texts:  # every query has the same attention, so that it does not matter which are sampled
        text.maps[:] = text.maps[:, :, -1:].clone()
        if grid.causal:  # but for the first, which sees itself alone and is not compared
            text.maps[:, :, 0] = torch.eye(len(text))[0]
    found = values_of("head_distance", texts, grid, weighting="value")
    assert_same(found, values_of("head_distance", [value_weighted(text) for text in texts], grid))


def test_a_decoders_text_of_which_only_the_first_query_is_sampled_does_not_count() -> None:
    texts = random_texts(DECODER, [5] * 30)
    distances = [values_of("head_distance", [text], DECODER, weighting="value") for text in texts]
    counted = [bool(np.isfinite(values["head_distance"][0, 1])) for values in distances]
    assert set(counted) == {False, True}


def test_distances_do_not_always_start_at_the_first_token() -> None:
    texts = random_texts(ENCODER, [40] * 30)
    for text in texts:  # heads differ at the first token only
        text.maps[:] = 1 / 40
        text.maps[0, 0, 0] = torch.eye(40)[3]
    values = [
        values_of("head_distance", [text], ENCODER, weighting="value")["head_distance"] for text in texts
    ]
    apart = np.array([distances[0, 4] for distances in values])
    first = np.array([distances[1, 4] for distances in values])
    assert 0 < np.mean(apart > first + 0.05) < 0.4


def test_rows_in_half_precision_are_weighted_in_all_digits_and_stay_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headscope.attention._NUMBERS_TOGETHER", 80)  # two texts at a time, then one
    torch.manual_seed(0)
    weights = torch.randn(3, 2, 4, 5).softmax(-1).half()
    lengths = torch.rand(3, 2, 5) * 1e6  # more than half precision holds
    found = moved_shares(weights, lengths)
    weighted = weights.double() * lengths.double()[:, :, None]
    assert found.dtype == torch.float16
    torch.testing.assert_close(
        found.double(), weighted / weighted.sum(-1, keepdim=True), atol=1e-7, rtol=1e-3
    )
