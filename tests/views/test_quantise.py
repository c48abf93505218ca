"""Stored weights: never off by more than is said, read back alike, and within their budget."""

import zlib

import numpy as np
import pytest

from headscope.views.quantise import CODES, MOST_ERROR, Code, deflated, inflated, quantise, read_maps

TOKENS = 48


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def cases() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    shape = (4, TOKENS, TOKENS)
    return {
        "even": np.full(shape, 1 / TOKENS, dtype=np.float32),
        "random": softmax(generator.normal(size=shape)),
        "peaked": softmax(8 * generator.normal(size=shape)),
        "identity": np.broadcast_to(np.eye(TOKENS, dtype=np.float32), shape).copy(),
        "every weight there is": generator.uniform(size=shape).astype(np.float32),
        "nothing": np.zeros(shape, dtype=np.float32),
    }


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("code", CODES, ids=lambda code: f"{code.smallest:g}, {code.growth:g}")
def test_no_weight_is_off_by_more_than_said(code: Code, name: str) -> None:
    weights = cases()[name]
    stored = np.array(code.table)[code.encode(weights)]
    apart = np.abs(stored - weights).max()
    assert apart <= MOST_ERROR
    assert apart == pytest.approx(code.error(weights, code.encode(weights)), abs=1e-6)


@pytest.mark.parametrize("code", CODES)
def test_the_code_is_the_nearest_level_found_one_by_one(code: Code) -> None:
    weights = np.random.default_rng(1).uniform(size=500) ** 3
    for weight, byte in zip(weights, code.encode(weights.astype(np.float32)), strict=True):
        nearest = min(abs(level - weight) for level in code.table)
        assert abs(code.table[byte] - weight) <= nearest + 2e-5


@pytest.mark.parametrize("code", CODES)
def test_levels_rise_from_0_to_1_and_are_finer_below(code: Code) -> None:
    table = np.array(code.table)
    gaps = np.diff(code.levels)
    assert len(table) == 256
    assert (table[0], table.max()) == (0, 1)
    assert (np.diff(table) >= 0).all()
    assert gaps.min() > 0
    assert (np.diff(gaps[:-1]) >= -1e-6).all()  # the last gap is what was left
    assert gaps.max() <= 2 * MOST_ERROR


def test_0_and_1_are_exact() -> None:
    for code in CODES:
        assert [code.table[byte] for byte in code.encode(np.array([0.0, 1.0, 1.0000001]))] == [0, 1, 1]


def test_the_finest_code_is_close_for_small_weights() -> None:
    weights = np.geomspace(1e-4, 1e-2, 200).astype(np.float32)
    stored = np.array(CODES[0].table)[CODES[0].encode(weights)]
    assert np.abs(stored - weights).max() <= 0.0005


def test_codes_are_listed_from_the_largest_to_the_smallest_result() -> None:
    maps = {"a": cases()["random"], "b": cases()["peaked"]}
    sizes = [
        sum(len(deflated(code.encode(weights).tobytes())) for weights in maps.values()) for code in CODES
    ]
    assert sizes == sorted(sizes, reverse=True)


def test_what_is_stored_reads_back_through_another_reader() -> None:
    maps = {f"maps/encoder/{number}": weights for number, weights in enumerate(cases().values())}
    found = quantise(maps)
    assert found.code == CODES[0]
    for key, weights in maps.items():
        codes = np.frombuffer(zlib.decompressobj(wbits=-15).decompress(found.chunks[key]), dtype=np.uint8)
        again = np.array(found.code.table)[codes.reshape(weights.shape)]
        np.testing.assert_array_equal(
            again,
            read_maps(found.chunks[key], found.code.table, heads=4, queries=TOKENS, keys=TOKENS),
        )
        assert np.abs(again - weights).max() <= found.max_error + 1e-6


def test_the_finest_code_that_fits_is_taken() -> None:
    maps = {str(seed): softmax(2 * np.random.default_rng(seed).normal(size=(8, 64, 64))) for seed in range(3)}
    sizes = {
        code: sum(len(deflated(code.encode(weights).tobytes())) for weights in maps.values())
        for code in CODES
    }
    for code in CODES[1:-1]:
        assert quantise(maps, budget=sizes[code]).code == code
        assert quantise(maps, budget=sizes[code]).size == sizes[code]
    assert quantise(maps, budget=10**9).code == CODES[0]
    assert quantise(maps, budget=0).code == CODES[-1]


def test_deflate_is_undone() -> None:
    for content in (b"", b"a", bytes(range(256)) * 5, b"\0" * 10_000):
        assert inflated(deflated(content)) == content


def test_the_budget_holds_when_the_heads_that_were_looked_at_first_mislead() -> None:
    noisy = softmax(np.random.default_rng(0).normal(size=(16, 64, 64)))
    noisy[::8] = 0  # the heads that tell how well a code compresses
    budget = 25_000
    found = quantise({"only": noisy}, budget=budget)
    assert found.size <= budget < quantise({"only": noisy}).size
