"""Stored weights: never off by more than is said, read back alike, and within their budget."""

import zlib

import numpy as np
import pytest
from tests.helpers.stored import inflated, read_maps

from headscope.pages.quantise import CODES, MOST_ERROR, Code, deflated, quantise

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
    assert np.abs(stored - weights).max() <= MOST_ERROR / 2


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
    assert gaps.max() <= MOST_ERROR  # so that either level around a weight is near enough


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


def between_words(weights: np.ndarray, queries: list[int], keys: list[int]) -> np.ndarray:
    """(head, word, word) sums over the pieces looked at, means over those that look, one by one."""
    from_to = [[*zip(starts, [*starts[1:], end], strict=True)] for starts, end in ((queries, 9), (keys, 40))]
    return np.array(
        [
            [
                [np.mean([sum(head[q, k0:k1]) for q in range(q0, q1)]) for k0, k1 in from_to[1]]
                for q0, q1 in from_to[0]
            ]
            for head in weights.astype(float)
        ]
    )


QUERIES, KEYS = [0, 1, 4, 5, 7], [0, 1, 2, 30, 31, 38]


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("sharp", [0.1, 3.0])
def test_the_error_between_words_is_told(sharp: float, fine: bool) -> None:
    weights = softmax(sharp * np.random.default_rng(3).normal(size=(2, 9, 40)))
    words = {"only": (np.array(QUERIES), np.array(KEYS))}
    found = quantise({"only": weights}, words=words, fine=fine)
    stored = read_maps(found.chunks["only"], found.code.table, heads=2, queries=9, keys=40)
    apart = between_words(stored, QUERIES, KEYS) - between_words(weights, QUERIES, KEYS)
    assert found.word_error == pytest.approx(np.abs(apart).max(), abs=1e-6)
    assert found.max_error == pytest.approx(np.abs(stored - weights).max(), abs=1e-6)
    assert found.word_error != found.max_error
    assert quantise({"only": weights}).word_error == quantise({"only": weights}).max_error


@pytest.mark.parametrize("code", CODES, ids=lambda code: f"{code.smallest:g}, {code.growth:g}")
@pytest.mark.parametrize("sharp", [0.0, 0.3, 2.0, 6.0])
def test_long_words_are_as_right_as_their_pieces(code: Code, sharp: float) -> None:
    """Weights a little below half a level all round down, and a word of many such pieces is then far off."""
    scores = sharp * np.random.default_rng(4).normal(size=(3, 9, 40))
    scores[..., :2] += 4
    weights = softmax(scores)
    stored = np.array(code.table)[code.encode_words(weights, np.array(KEYS))]
    words = np.add.reduceat(stored - weights, KEYS, axis=-1)
    assert np.abs(words).max() <= MOST_ERROR / 2 + 1e-4  # a nearest level is found to 2e-5
    assert np.abs(stored - weights).max() <= MOST_ERROR
    alone = [0, 1, 30]  # words of one piece
    np.testing.assert_array_equal(
        code.encode_words(weights, np.array(KEYS))[..., alone], code.encode(weights)[..., alone]
    )


def test_words_are_made_up_for_when_they_would_be_off() -> None:
    weights = np.full((2, 9, 40), 0.0024, dtype=np.float32)  # nothing, in the coarsest code
    weights[..., 0] = 1 - 39 * 0.0024
    words = {"only": (np.arange(9), np.array(KEYS))}
    assert np.add.reduceat(CODES[-1].levels[CODES[-1].encode(weights)] - weights, KEYS, -1).min() < -0.06
    found = quantise({"only": weights}, words=words, budget=0)
    assert found.code == CODES[-1]
    assert found.word_error <= MOST_ERROR
    assert found.max_error <= MOST_ERROR


@pytest.mark.parametrize("name", cases())
def test_two_bytes_leave_three_digits_true(name: str) -> None:
    weights = cases()[name]
    found = quantise({"only": weights}, fine=True)
    stored = read_maps(found.chunks["only"], found.code.table, heads=4, queries=TOKENS, keys=TOKENS)
    assert np.abs(stored - weights).max() == pytest.approx(found.max_error, abs=1e-6)
    assert found.max_error < 0.00005
    small = weights < 0.01
    assert np.abs(stored - weights)[small].max(initial=0) < 0.00001
    np.testing.assert_array_equal(stored[weights == 0], 0)
    np.testing.assert_array_equal(stored[weights == 1], 1)


def test_the_first_plane_stands_for_itself() -> None:
    weights = cases()["random"]
    fine, plain = quantise({"only": weights}, fine=True), quantise({"only": weights})
    assert fine.code.table == plain.code.table
    assert inflated(fine.chunks["only"])[: weights.size] == inflated(plain.chunks["only"])
