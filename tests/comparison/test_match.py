"""The same head elsewhere: a copy with permuted heads is recovered whole, against floor and ceiling."""

from copy import deepcopy
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import transformers as tf
from scipy.spatial.distance import jensenshannon
from tests.helpers.attention import batches, random_texts
from tests.helpers.tiny import HEADS, LAYERS, WORDS, tiny, wordpiece_tokenizer
from tests.helpers.two_models import moved
from tests.seams import layers_of

import headscope as hs
from headscope.comparison.divergence import layers_divergence
from headscope.comparison.match_result import StackMatch, paired
from headscope.errors import OptionError, TextError
from headscope.models import Model
from headscope.types import HeadGrid, HeadId

GRID = HeadGrid("encoder", LAYERS, HEADS, causal=False)


match, compare = partial(hs.match, max_length=32), partial(hs.compare, max_length=32)


def texts(number: int, *, seed: int = 0) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    return [(" ".join(rng.choice(WORDS, 6)), " ".join(rng.choice(WORDS, 5))) for _ in range(number)]


def shuffled(seed: int = 0) -> tuple[Model, dict[HeadId, HeadId]]:
    """The tiny BERT with the heads of every layer in another order, and which head of it is which of the original."""
    model = tiny("bert")
    network = deepcopy(model.network)
    rng = np.random.default_rng(seed)
    partners = {}
    for number, layer in enumerate(network.encoder.layer):
        order = rng.permutation(HEADS).tolist()
        partners |= {HeadId(number, new): HeadId(number, old) for new, old in enumerate(order)}
        size = network.config.hidden_size // HEADS
        rows = torch.cat([torch.arange(head * size, (head + 1) * size) for head in order])
        attention = layer.attention
        with torch.no_grad():
            for part in (attention.self.query, attention.self.key, attention.self.value):
                part.weight.copy_(part.weight[rows].clone())
                part.bias.copy_(part.bias[rows].clone())
            attention.output.dense.weight.copy_(attention.output.dense.weight[:, rows].clone())
    return Model("shuffled", network.eval(), model.tokenizer), partners


@pytest.mark.parametrize("seed", range(3))
def test_a_copy_with_permuted_heads_is_recovered_whole(seed: int) -> None:
    copy, partners = shuffled(seed)
    assert any(new != old for new, old in partners.items())
    found = match(tiny("bert"), copy, texts(6))
    assert found.stack().partners == partners
    for row in found.table():
        assert row["distance"] == pytest.approx(0, abs=1e-5)
        assert row["floor"] > 0.05
        assert row["same_in_halves"]
        assert row["counterpart"]
    assert found.summary().counts["counterparts"] == LAYERS * HEADS
    assert (
        found.summary().sentences[0].startswith("12 of 12 heads of tiny-bert have a counterpart in shuffled")
    )


def test_distances_are_those_of_scipy() -> None:
    lengths = [7, 9, 5]
    first = batches(GRID, random_texts(GRID, lengths, seed=0))
    second = batches(GRID, random_texts(GRID, lengths, seed=1))
    distance = layers_divergence(first, second, leaves_first=False)
    assert distance.shape == (3, LAYERS * HEADS, LAYERS * HEADS)
    for text, mine, theirs in [(0, 0, 0), (1, 5, 2), (2, 11, 7)]:
        maps = [
            layers[place // HEADS].attention[text, place % HEADS, : lengths[text], : lengths[text]]
            for layers, place in ((first, mine), (second, theirs))
        ]
        expected = np.mean(
            [jensenshannon(*rows) ** 2 for rows in zip(*(one.numpy() for one in maps), strict=True)]
        )
        assert distance[text, mine, theirs] == pytest.approx(expected, abs=1e-6)


def test_without_the_first_token_only_the_rest_of_each_row_is_compared() -> None:
    grid = HeadGrid("decoder", LAYERS, HEADS, causal=True)
    first, second = (batches(grid, random_texts(grid, [7, 1], seed=seed)) for seed in range(2))
    distance = layers_divergence(first, second, leaves_first=True)
    maps = [layers[0].attention[0, 1, 1:7, 1:7].numpy() for layers in (first, second)]
    expected = np.mean([jensenshannon(*rows) ** 2 for rows in zip(*maps, strict=True)])
    assert distance[0, 1, 1] == pytest.approx(expected, abs=1e-6)
    assert distance[1].isnan().all(), "one token, and it is left out"


def test_heads_of_decoders_are_paired_without_the_first_token() -> None:
    words = [text for pair in texts(6) for text in pair]
    measured = hs.analyze(tiny("gpt2"), words, measures=["head_distance"], distances="exact", max_length=32)
    found = match(tiny("gpt2"), tiny("gpt2"), words)
    np.testing.assert_allclose(found.stack().distance, measured["head_distance"].values, atol=1e-5)
    assert any("first token is left out" in note for note in found.source.notes)
    assert not any("first token" in note for note in match(tiny("bert"), tiny("bert"), texts(6)).source.notes)


def test_two_halves_make_up_the_whole() -> None:
    whole = match(tiny("bert"), moved("bert"), texts(7)).stack()
    assert whole.texts == 7
    np.testing.assert_allclose((4 * whole.halves[0] + 3 * whole.halves[1]) / 7, whole.distance, atol=1e-9)


def test_pairs_are_one_to_one_though_one_head_is_nearest_to_several() -> None:
    assert paired(np.array([[0.1, 0.2], [0.15, 0.6]])) == {0: 1, 1: 0}  # the worked example of the docs
    distance = np.array([[0.1, 0.5, 0.6], [0.2, 0.3, 0.9]])
    assert paired(distance) == {0: 0, 1: 1}
    assert paired(distance.T) == {0: 0, 1: 1}  # one head is left over


def stack(
    distance: float, *, floor: float = 0.4, stderr: float = 0.001, halves_agree: bool = True
) -> StackMatch:
    """Two heads a model, in which 0 and 1 belong together."""
    grid = HeadGrid("encoder", 1, 2, causal=False)
    near = np.array([[distance, 0.6], [0.6, distance]])
    other = near if halves_agree else near[::-1]
    same = np.full((2, 2), stderr)
    return StackMatch(grid, grid, near, same, np.stack([near, other]), np.full((2, 2), floor), same, texts=20)


def test_a_counterpart_is_clear_of_the_floor_and_the_same_in_both_halves() -> None:
    assert all(row["counterpart"] for row in stack(0.1).rows)
    assert not any(row["counterpart"] for row in stack(0.1, halves_agree=False).rows)
    assert not any(row["counterpart"] for row in stack(0.1, floor=0.1).rows)
    assert not any(row["counterpart"] for row in stack(0.33, stderr=0.02).rows)  # intervals touch


def test_models_of_different_size_are_matched_as_far_as_they_go() -> None:
    small = tf.BertConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        vocab_size=128,
        max_position_embeddings=64,
    )
    torch.manual_seed(0)
    other = Model("small", tf.BertModel(small).eval(), wordpiece_tokenizer())
    found = match(tiny("bert"), other, texts(5))
    assert len(found.table()) == 4
    assert found.summary().sentences[-1] == "8 heads of tiny-bert have no partner, as it has more heads."
    back = match(other, tiny("bert"), texts(5))
    heads = back.to_atlas()["match_head"].values
    assert heads.shape == (3, 4)
    assert (heads != "").sum() == 4


def test_what_an_atlas_holds() -> None:
    copy, partners = shuffled()
    atlas = match(tiny("bert"), copy, texts(4)).to_atlas()
    for head, partner in partners.items():
        assert atlas["match_head"].sel(layer=head.layer, head=head.head).item() == str(partner)
    assert atlas["match_counterpart"].min().item() == 1
    assert len(atlas.table("match")) == 12


def test_compare_holds_heads_against_their_partners() -> None:
    copy, partners = shuffled()
    told = texts(6)
    matched = match(tiny("bert"), copy, told)
    apart, paired_up = (
        compare(tiny("bert"), copy, told, k=2),
        compare(tiny("bert"), copy, told, k=2, match=matched),
    )
    assert max(row["js"] for row in apart.heads()) > 0.05
    for row in paired_up.heads():
        assert row["partner"] == str(partners[HeadId.parse(row["head"])])
        assert row["js"] == pytest.approx(0, abs=1e-5)
        assert row["cosine"] == pytest.approx(1, abs=1e-5)
    assert all(abs(row["change"]) < 1e-5 for row in paired_up.measures())
    assert any("compared with their partners" in note for note in paired_up.source.notes)
    with pytest.raises(OptionError, match="the match is of shuffled, not of moved-bert"):
        compare(tiny("bert"), moved("bert"), told, match=matched)


def test_what_cannot_be_matched_is_refused_in_words() -> None:
    with pytest.raises(OptionError, match="have different tokenizers"):
        match(tiny("bert"), tiny("gpt2"), texts(4))
    other = Model("encoder", tiny("bert").network, tiny("llama").tokenizer)
    with pytest.raises(OptionError, match=r"tiny-llama \(decoder\).* have no stack in common"):
        match(tiny("llama"), other, texts(4))
    with pytest.raises(TextError, match="holds 3 texts, and at least 4 are needed"):
        match(tiny("bert"), moved("bert"), texts(3))
    with pytest.raises(OptionError, match="limit must be at least 4"):
        match(tiny("bert"), moved("bert"), texts(9), limit=2)


def test_a_partner_may_be_in_another_layer() -> None:
    """Pairs that are said by hand: every head of B is held against the one a layer further up in A."""
    model = tiny("bert")
    matched = match(model, model, texts(6))
    grid = matched.stack().grid_a

    class Pairs(StackMatch):
        """The last layer of A stands beside the first of B."""

        @property
        def partners(self) -> dict[HeadId, HeadId]:
            return {
                HeadId(layer, head): HeadId((layer + 1) % grid.layers, head)
                for layer in range(grid.layers)
                for head in range(grid.heads)
            }

    by_hand = replace(matched, stacks={"encoder": Pairs(**vars(matched.stack()))})
    rows = compare(model, model, texts(6), k=2, match=by_hand).heads()
    maps = layers_of(model, texts(6), max_length=128)["encoder"]  # each text (layer, head, query, key)
    for row in rows:
        head = HeadId.parse(row["head"])
        above = (head.layer + 1) % grid.layers
        cosines = [
            torch.cosine_similarity(one[above, head.head].flatten(), one[head.layer, head.head].flatten(), 0)
            for one in maps
        ]
        assert row["cosine"] == pytest.approx(float(torch.stack(cosines).mean()), abs=1e-4)
