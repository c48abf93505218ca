"""The five patterns: maps made by hand are what they are, and nothing but the map counts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tests.helpers.attention import random_texts
from tests.helpers.tiny import tiny
from tests.seams import layers_of, measured, measured_in
from torch import Tensor

from headscope.errors import OptionError
from headscope.kinds.pattern_maps import SIDE, pictures, reduced
from headscope.kinds.pattern_numbers import NUMBERS
from headscope.kinds.patterns import (
    PATTERNS,
    TRAINED,
    PatternClassifier,
    PatternShares,
    described,
)
from headscope.types import HeadGrid

LENGTHS = (12, 24, 64, 128, 300)


@pytest.fixture(scope="module")
def classifier() -> PatternClassifier:
    return PatternClassifier.load()


def normal(weights: Tensor) -> Tensor:
    return weights / weights.sum(-1, keepdim=True)


def background(length: int) -> Tensor:
    """Uneven, as real maps are, without any structure."""
    return torch.rand(length, length, generator=torch.Generator().manual_seed(length)) * 0.2 + 0.05


def line(length: int, offset: int) -> Tensor:
    weights = background(length) * 0.1
    places = torch.arange(length)
    weights[places, (places + offset).clamp(0, length - 1)] += 0.5 * length
    return normal(weights)


def column(length: int) -> Tensor:
    weights = background(length)
    weights[:, [0, length // 2]] += 0.3 * length
    return normal(weights)


def line_and_column(length: int) -> Tensor:
    weights = background(length) * 0.3
    weights[:, [1, 2 * length // 3]] += 0.12 * length
    weights += torch.eye(length) * 0.2 * length
    return normal(weights)


def blocks(length: int) -> Tensor:
    half = (torch.arange(length) >= length // 2).long()
    return normal(background(length) * torch.where(half[:, None] == half, 1.0, 0.03))


def even(length: int) -> Tensor:
    return torch.full((length, length), 1 / length)


def name(classifier: PatternClassifier, attention: Tensor) -> str:
    return PATTERNS[int(classifier.probabilities(attention[None])[0].argmax())]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("offset", [-1, 0, 1])
def test_a_line_is_diagonal(classifier: PatternClassifier, length: int, offset: int) -> None:
    assert name(classifier, line(length, offset)) == "diagonal"


@pytest.mark.parametrize("length", LENGTHS)
def test_columns_are_vertical(classifier: PatternClassifier, length: int) -> None:
    assert name(classifier, column(length)) == "vertical"


@pytest.mark.parametrize("length", LENGTHS[1:])
def test_both_are_both(classifier: PatternClassifier, length: int) -> None:
    assert name(classifier, line_and_column(length)) == "vertical+diagonal"


@pytest.mark.parametrize("length", LENGTHS[1:])
def test_two_squares_are_blocks(classifier: PatternClassifier, length: int) -> None:
    assert name(classifier, blocks(length)) == "block"


@pytest.mark.parametrize("length", LENGTHS)
def test_even_maps_and_chance_are_heterogeneous(classifier: PatternClassifier, length: int) -> None:
    assert name(classifier, even(length)) == "heterogeneous"
    assert name(classifier, normal(background(length))) == "heterogeneous"


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_the_shortest_texts_get_probabilities(classifier: PatternClassifier, length: int) -> None:
    found = classifier.probabilities(even(length)[None])
    assert found.isfinite().all()
    torch.testing.assert_close(found.sum(-1), torch.ones(1))


def test_padding_and_company_do_not_matter(classifier: PatternClassifier) -> None:
    maps = [line(30, 0), column(41), blocks(41), even(57), line_and_column(30)]
    alone = torch.cat([classifier.probabilities(attention[None]) for attention in maps])
    padded = torch.rand(len(maps), 64, 64)  # what padding holds must not be seen
    for place, attention in zip(padded, maps, strict=True):
        place[: len(attention), : len(attention)] = attention
    lengths = torch.tensor([len(attention) for attention in maps])
    torch.testing.assert_close(classifier.probabilities(padded, lengths), alone, rtol=1e-4, atol=1e-5)


def test_networks_vote_by_the_mean_of_their_probabilities(classifier: PatternClassifier) -> None:
    maps = torch.stack([line(50, -1), column(50), blocks(50)])
    number = described(maps, torch.full((3,), 50))
    alone = torch.stack([network(number).softmax(-1) for network in classifier.networks])
    assert alone.std(0).amax() > 1e-3, "or any one of them would do"
    torch.testing.assert_close(classifier.probabilities(maps), alone.mean(0), rtol=1e-5, atol=1e-6)


def test_a_map_that_is_not_square_is_refused(classifier: PatternClassifier) -> None:
    with pytest.raises(OptionError, match=r"\(1, 4, 5\)"):
        classifier.probabilities(torch.rand(1, 4, 5))


def some_maps(count: int, length: int) -> Tensor:
    return normal(torch.rand(count, length, length, generator=torch.Generator().manual_seed(length)) ** 4)


def seen_by_hand(attention: Tensor) -> Tensor:
    """(query, key) brightness with the scale that is exceeded by 0.2 % of the weights of 32 queries, by numpy."""
    length = len(attention)
    chosen = attention.numpy()[np.arange(SIDE) * length // SIDE].ravel()
    rank = max(1, round(0.002 * chosen.size))
    highest = max(np.sort(chosen)[-rank], 4 / length)
    return torch.from_numpy(np.sqrt(np.minimum(attention.numpy() / highest, 1)))


def test_pictures_are_means_of_weights_and_brightness() -> None:
    length = 2 * SIDE
    maps = some_maps(3, length)
    weights, bright = pictures(reduced(maps, torch.tensor([length])))
    wanted = seen_by_hand(maps[1])
    for row, key in [(0, 0), (5, 17), (31, 31)]:
        patch = (slice(2 * row, 2 * row + 2), slice(2 * key, 2 * key + 2))
        torch.testing.assert_close(weights[1, row, key] / length, maps[1][patch].mean())
        torch.testing.assert_close(bright[1, row, key], wanted[patch].mean())


@pytest.mark.parametrize("length", [1, 7, 31, 33, 50, 97])
def test_pictures_of_any_length_are_means_over_equal_shares(length: int) -> None:
    maps = some_maps(2, length)
    fine = torch.nn.functional.interpolate(maps[:, None], (SIDE * length,) * 2)
    wanted = torch.nn.functional.avg_pool2d(fine, length)[:, 0]
    weights, _ = pictures(reduced(maps, torch.tensor([length])))
    torch.testing.assert_close(weights / length, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("length", [5, 40, 75])
def test_the_band_holds_the_diagonals(length: int) -> None:
    maps = some_maps(2, length)
    band = reduced(maps, torch.tensor([length])).band
    for place, offset in enumerate(range(-6, 7)):
        wanted = maps[1].diagonal(offset)
        start = max(0, -offset)
        torch.testing.assert_close(band[1, start : start + len(wanted), place], wanted)
        assert band[1, :, place].count_nonzero() == wanted.count_nonzero()


def test_maps_of_several_lengths_are_described_as_each_alone() -> None:
    lengths = torch.tensor([9, 31, 64, 77, 77])
    padded = torch.rand(len(lengths), 80, 80)
    for place, length in zip(padded, lengths.tolist(), strict=True):
        place[:length, :length] = some_maps(1, length)[0]
    together = described(padded, lengths)
    for number, length in enumerate(lengths.tolist()):
        alone = described(some_maps(1, length), torch.tensor([length]))
        torch.testing.assert_close(together[number], alone[0], rtol=1e-4, atol=1e-5)


def numbers_of(attention: Tensor) -> Tensor:
    found = described(attention[None], torch.tensor([len(attention)]))[0]
    assert found.shape == (NUMBERS,)
    assert found.isfinite().all()
    return found


COLUMN_FOLLOWED, LINE_FOLLOWED, SQUARES, CUT_EFFECT, BEST_CUT = 11, 20, 44, 59, 64


def test_numbers_of_a_pure_column() -> None:
    maps = torch.zeros(40, 40)
    maps[:, 7] = 1
    found = numbers_of(maps)
    assert found[COLUMN_FOLLOWED] == 1  # the best column is followed by all queries
    assert found[COLUMN_FOLLOWED + 1] == 0  # and there is no second one
    assert found[LINE_FOLLOWED] < 0.1  # nor a line


def test_numbers_of_a_pure_line() -> None:
    found = numbers_of(torch.eye(40))
    assert found[LINE_FOLLOWED] == 1
    assert found[COLUMN_FOLLOWED] == 0


def test_numbers_of_squares_behind_stripes() -> None:
    """What every column has alone neither makes nor hides two squares."""
    stripes = 1 + 5 * torch.rand(64, generator=torch.Generator().manual_seed(1))
    half = torch.arange(64) >= 24
    same = (half[:, None] == half).float()
    assert abs(numbers_of(normal(stripes.expand(64, 64)))[CUT_EFFECT]) < 1e-3
    found = numbers_of(normal(stripes * (0.5 + same)))
    assert found[CUT_EFFECT] > 0.05
    assert found[CUT_EFFECT + 1] > 0.8  # nearly all that is left without rows and columns is the two squares
    assert round(float(found[BEST_CUT]) * SIDE) + 4 == 24 * SIDE // 64
    assert found[SQUARES] > 0.1


def test_a_saved_classifier_comes_back(classifier: PatternClassifier, tmp_path: Path) -> None:
    classifier.save(tmp_path / "copy.safetensors")
    again = PatternClassifier.load(tmp_path / "copy.safetensors")
    maps = torch.stack([line(50, -1), column(50), blocks(50)])
    assert torch.equal(again.probabilities(maps), classifier.probabilities(maps))
    assert again.facts == classifier.facts


def test_another_file_is_refused(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(OptionError, match="holds no pattern networks"):
        PatternClassifier.load(tmp_path / "other.safetensors")


def test_the_shipped_file_is_small_and_says_what_it_is(classifier: PatternClassifier) -> None:
    assert TRAINED.stat().st_size < 2_000_000
    assert float(classifier.facts["macro_f1"]) > 0.8
    assert classifier.facts["date"]


SHARED_TEXTS = ("a b c d e f g h", "a b", "b c a d e f a b c d e")


def test_shares_count_texts_and_merge() -> None:
    model = tiny("bert")
    whole = measured_in(model, PatternShares, SHARED_TEXTS, max_length=24)
    parts = measured_in(model, PatternShares, SHARED_TEXTS[:1], max_length=24)
    for some in ((), SHARED_TEXTS[1:]):
        parts.merge(measured_in(model, PatternShares, some, max_length=24))
    found, merged = whole.result(), parts.result()
    assert found["pattern_share"].dims == ("layer", "head", "pattern")
    assert found["pattern_share"].values.shape == (3, 4, len(PATTERNS))
    assert np.allclose(found["pattern_share"].values.sum(-1), 1)
    for key, array in found.items():
        torch.testing.assert_close(torch.tensor(array.values), torch.tensor(merged[key].values))


def test_shares_are_those_of_the_classifier(classifier: PatternClassifier) -> None:
    model = tiny("bert")
    found = measured_in(model, PatternShares, SHARED_TEXTS[:1], max_length=24).result()["pattern_share"]
    (maps,) = layers_of(model, SHARED_TEXTS[:1], max_length=24)["encoder"]  # (layer, head, query, key)
    for layer, of_layer in enumerate(maps):
        expected = classifier.probabilities(of_layer).argmax(-1)
        assert torch.equal(torch.tensor(found.values[layer]).argmax(-1), expected)


def test_shares_do_not_fit_cross_attention() -> None:
    assert not PatternShares.fits(HeadGrid("cross", 2, 2, causal=False))
    assert PatternShares.fits(HeadGrid("decoder", 2, 2, causal=True))


def test_the_whole_is_the_mean_of_all_layers() -> None:
    grid = HeadGrid("encoder", 3, 2, causal=False)
    [text] = random_texts(grid, [24], specials=False)
    of_layers = torch.stack([line(24, 0), column(24), even(24)])  # (layer, query, key)
    shown = replace(text, maps=of_layers[:, None].expand(-1, 2, -1, -1))
    found = measured(PatternShares, [shown], grid).result()
    by_layer = found["pattern_share_layer"].values
    assert len({tuple(row) for row in by_layer}) == 3
    np.testing.assert_allclose(found["pattern_share_whole"].values, by_layer.mean(0))
