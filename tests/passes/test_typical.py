"""Where a head is most typical, against slow loops over the model's own eager attention."""

import random
import re
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tiny import BUILDERS, tiny
from tests.seams import layers_of

import headscope as hs
from headscope.atlas import Atlas, Typical
from headscope.errors import OptionError
from headscope.passes.typical import foremost, likeness
from headscope.types import HeadId

Array = np.ndarray[Any, Any]

SENTENCES = [
    "The cat sat on the mat.",
    "It was red, and the dog saw it.",
    "The blue house of the cat was in the red house.",
    "The dog saw the cat, the mat, and the house.",
    "A cat and a dog sat in the house.",
    "The mat was blue and the house was red.",
]
DOCUMENTS = [" ".join(SENTENCES[:4]), " ".join(SENTENCES[4:])]


def heads_of(atlas: Atlas, stack: str | None = None) -> list[HeadId]:
    layers, heads = atlas.shape(stack or atlas.stacks[0]) or (0, 0)
    return [HeadId(layer, head) for layer in range(layers) for head in range(heads)]


def everything(atlas: Atlas) -> dict[str, list[Typical]]:
    return {
        f"{stack} {head}": atlas.typical(head, stack=stack)
        for stack in atlas.stacks
        for head in heads_of(atlas, stack)
    }


def assert_same(left: Atlas, right: Atlas) -> None:
    mine, others = everything(left), everything(right)
    assert mine.keys() == others.keys()
    for head, found in mine.items():
        assert [one.words for one in found] == [one.words for one in others[head]], head
        for one, other in zip(found, others[head], strict=True):
            assert one.keys == other.keys
            np.testing.assert_allclose(one.weights, other.weights, atol=1.1e-3)
            assert one.likeness == pytest.approx(other.likeness, abs=2e-4)


# Against transformers and loops


def eager(model: hs.Model, sentence: str) -> tuple[list[str], list[tuple[int, int]], Array]:
    """Tokens, the characters of each, and (layer, head, query, key) maps, by transformers alone."""
    before = model.network.config._attn_implementation
    model.network.set_attn_implementation("eager")
    inputs = model.tokenizer(sentence, return_tensors="pt", return_offsets_mapping=True)
    offsets = [tuple(span) for span in inputs.pop("offset_mapping")[0].tolist()]
    with torch.inference_mode():
        maps = torch.stack(model.network(**inputs, output_attentions=True).attentions, 1)[0]
    model.network.set_attn_implementation(before)
    return model.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), offsets, maps.double().numpy()


def slow_profile(tokens: list[str], weights: Array) -> list[float]:
    """What one head does on one sentence: roles [CLS], [SEP], full stop, comma, other; then offsets -8 to 8."""
    count = len(tokens)
    names = {"[CLS]": 0, "[SEP]": 1, ".": 2, ",": 3}
    roles = [0.0] * 5
    for query in range(count):
        for key in range(count):
            roles[names.get(tokens[key], 4)] += weights[query, key] / count
    offsets = []
    for offset in range(-8, 9):
        cells = [weights[i, i + offset] for i in range(count) if 0 <= i + offset < count]
        offsets.append(sum(cells) / len(cells) if cells else 0.0)
    return roles + offsets


def slow_words(sentence: str, offsets: list[tuple[int, int]]) -> list[list[int]]:
    """The tokens of each word; special tokens, which stand for no characters, one by one."""
    spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", sentence)]
    groups: list[list[int]] = []
    owner = None
    for place, (start, end) in enumerate(offsets):
        word = None if start == end else next(k for k, (a, b) in enumerate(spans) if a <= start < b)
        if word is not None and word == owner:
            groups[-1].append(place)
        else:
            groups.append([place])
        owner = word
    return groups


def slow_shares(groups: list[list[int]], weights: Array) -> list[list[float]]:
    """What each word gives each word: mean from its pieces, sum to theirs."""
    return [
        [sum(sum(weights[i, j] for j in keys) for i in asking) / len(asking) for keys in groups]
        for asking in groups
    ]


@pytest.mark.parametrize("name", ["demo", "tiny"])
def test_against_transformers_and_loops(name: str) -> None:
    model = hs.load("demo") if name == "demo" else tiny("bert")
    split = ["Flowerless fertilisation twitched, unseasonably, in the pumice."] if name == "demo" else []
    sentences = [*SENTENCES, *split]
    atlas = hs.analyze(model, [*DOCUMENTS, *split], max_length=48, measures=["entropy"])
    seen = {sentence: eager(model, sentence) for sentence in sentences}
    layers, heads = next(iter(seen.values()))[2].shape[:2]
    own: dict[tuple[int, int], list[Array]] = {}
    for tokens, _, maps in seen.values():
        every = {
            (layer, head): np.array(slow_profile(tokens, maps[layer, head]))
            for layer in range(layers)
            for head in range(heads)
        }
        common = sum(every.values()) / len(every)
        for place, profile in every.items():
            own.setdefault(place, []).append(profile - common)
    pieces = 0
    for (layer, head), profiles in own.items():
        character = sum(profiles) / len(profiles)
        cosines = {
            sentence: float(one @ character / np.sqrt((one @ one) * (character @ character)))
            for sentence, one in zip(seen, profiles, strict=True)
        }
        found = atlas.typical(HeadId(layer, head))
        assert len(found) == 3
        best = sorted(cosines.values(), reverse=True)
        for rank, one in enumerate(found):
            sentence = next(s for s in sentences if "".join(one.words[1:-1]) == s.replace(" ", ""))
            assert one.likeness == pytest.approx(cosines[sentence], abs=2e-4)
            assert one.likeness == pytest.approx(best[rank], abs=2e-4)
            _, offsets, maps = seen[sentence]
            groups = slow_words(sentence, offsets)
            pieces = max(pieces, *map(len, groups))
            assert len(one.words) == len(groups)
            shares = slow_shares(groups, maps[layer, head])
            for place, weight, given in zip(one.looks_at, one.weights, shares, strict=True):
                assert weight == pytest.approx(max(given), abs=6e-4)
                assert given[place] == pytest.approx(max(given), abs=1e-5)
    assert (pieces > 2) == bool(split)  # words of several pieces were shown


def test_cross_attention_looks_from_what_is_written_to_what_is_read() -> None:
    model = tiny("t5")
    texts = [
        ("the cat sat on the mat", "a dog saw the red house"),
        ("it was in the blue house", "the cat sat on it"),
    ]
    atlas = hs.analyze(model, texts, max_length=48, measures=["entropy"])
    model.network.set_attn_implementation("eager")
    for first, second in texts:
        source, target = (model.tokenizer(text, return_tensors="pt").input_ids for text in (first, second))
        start = torch.tensor([[model.config.decoder_start_token_id]])
        with torch.inference_mode():
            maps = model.network(
                input_ids=source,
                decoder_input_ids=torch.cat([start, target[:, :-1]], 1),
                output_attentions=True,
            ).cross_attentions
        for layer, weights in enumerate(maps):
            for head in range(weights.shape[1]):
                [one] = [
                    one
                    for one in atlas.typical(HeadId(layer, head), stack="cross")
                    if one.words[1:] == tuple(second.split())
                ]
                assert one.keys is not None
                assert one.keys[: len(first.split())] == tuple(first.split())
                best = weights[0, head].max(-1)
                if len(one.words) == len(best.values) and len(one.keys) == source.shape[1]:
                    np.testing.assert_allclose(one.weights, best.values, atol=1e-3)
                    assert one.looks_at == tuple(best.indices.tolist())
    assert atlas.typical("0.0", stack="encoder")[0].keys is None
    assert atlas.typical("0.0")[0] == atlas.typical("0.0", stack="encoder")[0]


# What a head's likeness is


def test_likeness_finds_the_odd_text_out() -> None:
    """Two heads that do opposite things on two of three texts and change places on the third."""
    profile = np.zeros((3, 1, 2, 2), dtype=np.float32)
    profile[:2, 0, 0] = profile[2, 0, 1] = [1, 0]
    profile[:2, 0, 1] = profile[2, 0, 0] = [0, 1]
    np.testing.assert_allclose(likeness(profile)[:, 0, 0], [1, 1, -1])
    np.testing.assert_allclose(
        likeness(profile + 7.0)[:, 0, 1], [1, 1, -1]
    )  # what all heads share says nothing


def test_a_head_with_nothing_of_its_own_is_like_nothing() -> None:
    assert likeness(np.ones((4, 1, 1, 3), dtype=np.float32)).tolist() == [[[0.0]]] * 4


# What it does not depend on


@pytest.mark.parametrize("architecture", BUILDERS)
def test_every_head_of_every_stack_has_its_sentences(architecture: str) -> None:
    atlas = hs.analyze(tiny(architecture), DOCUMENTS, max_length=48, measures=["entropy"])
    for head, found in everything(atlas).items():
        assert len(found) == 3, head
        assert [one.likeness for one in found] == sorted((one.likeness for one in found), reverse=True)
        for one in found:
            assert one.is_whole
            assert (one.keys is not None) == head.startswith("cross")
            assert all(0 <= weight <= 1.0001 for weight in one.weights)  # 0: a sink takes all
            assert len({one.words for one in found}) == 3


@pytest.mark.filterwarnings("ignore:.*their ends were cut")
@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5", "convbert"])
def test_batch_size_and_order_do_not_matter(architecture: str) -> None:
    model = tiny(architecture)
    pairs = [*SENTENCES, *pairwise(SENTENCES)]
    one = hs.analyze(model, pairs, max_length=64, measures=["entropy"], batch_size=1)
    shuffled = random.Random(1).sample(pairs * 3, len(pairs) * 3)
    for texts, size in ((pairs, 3), (shuffled, "auto")):
        assert_same(hs.analyze(model, texts, max_length=64, measures=["entropy"], batch_size=size), one)  # type: ignore[arg-type]


def test_what_comes_after_the_limit_is_not_read() -> None:
    some = hs.analyze(tiny("bert"), SENTENCES, max_length=48, measures=["entropy"], limit=4)
    first = hs.analyze(tiny("bert"), SENTENCES[:4], max_length=48, measures=["entropy"])
    assert_same(some, first)
    packed = hs.analyze(tiny("bert"), [" ".join(SENTENCES)], max_length=16, measures=["entropy"], limit=1)
    shown = {"".join(one.words[1:-1]) for found in everything(packed).values() for one in found}
    assert shown == {"Thecatsatonthemat."}
    mixed = hs.analyze(
        tiny("bert"),
        [SENTENCES[0], (SENTENCES[1], SENTENCES[2])],
        max_length=48,
        measures=["entropy"],
        limit=1,
    )
    assert {one.words for found in everything(mixed).values() for one in found} == {
        packed.typical("0.0")[0].words
    }


def test_a_sentence_that_comes_twice_is_shown_once() -> None:
    atlas = hs.analyze(tiny("bert"), SENTENCES[:2] * 5, max_length=48, measures=["entropy"])
    assert all(len(found) == 2 for found in everything(atlas).values())


def test_without_sentences_an_atlas_holds_no_text(tmp_path: Path) -> None:
    atlas = hs.analyze(tiny("bert"), ["The unmistakable otter swam."], max_length=48, sentences=0)
    assert not any(everything(atlas).values())
    atlas.save(tmp_path / "a.nc")
    assert b"otter" not in (tmp_path / "a.nc").read_bytes()
    assert atlas.provenance["options"]["sentences"] == 0
    assert atlas.provenance["headscope_format"] == 1  # numbers only, for older readers
    with pytest.raises(OptionError, match="sentences must be at least 0, not -1"):
        hs.analyze(tiny("bert"), SENTENCES, max_length=48, sentences=-1)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")
@pytest.mark.parametrize(
    "text",
    [
        "word " * 2000,  # one long line without an end
        "x",
        "שלום עולם. שלום! שלום",
        "猫は座った。犬は見た。" * 20,
        "half a \ud83d character in a sentence",
        "\u200b the \u0000 cat \x1b[31m sat on it \u202e",
        "👩‍👧" * 200,
        "w" * 6000,
    ],
)
def test_any_text_will_do(architecture: str, text: str, tmp_path: Path) -> None:
    atlas = hs.analyze(tiny(architecture), [text], max_length=48, measures=["entropy"])
    atlas.save(tmp_path / "a.nc")
    assert everything(hs.open(tmp_path / "a.nc")) == everything(atlas)
    assert all(found and all(one.is_whole for one in found) for found in everything(atlas).values())


def test_a_text_of_nothing_is_left_out() -> None:
    """A decoder's tokenizer makes no tokens of an empty second thought; the other texts still count."""
    atlas = hs.analyze(
        tiny("bert"), [("\u200b", None), (SENTENCES[0], None)], max_length=48, measures=["entropy"]
    )
    assert any(one.words[1:3] == ("The", "cat") for one in atlas.typical("0.0"))


def test_running_out_of_memory_leaves_no_trace() -> None:
    model = hs.wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer)
    options: dict[str, Any] = {"max_length": 48, "measures": ["entropy"], "kernels": False}
    whole = hs.analyze(model, DOCUMENTS, batch_size=4, **options)
    sizes: list[int] = []

    def fail(module: object, given: tuple[torch.Tensor, ...]) -> None:
        sizes.append(len(given[0]))
        if sizes[-1] > 2:
            raise torch.OutOfMemoryError("out of memory")

    model.network.encoder.layer[2].register_forward_pre_hook(fail)
    assert_same(hs.analyze(model, DOCUMENTS, batch_size=4, **options), whole)
    assert {2, 4} <= set(sizes)


def test_what_differs_by_rounding_only_stands_in_reading_order() -> None:
    found = np.array([0.50001, 0.9, 0.50003, 0.50002])[:, None, None]
    assert foremost(found)[:, 0, 0].tolist() == [1, 0, 2, 3]


def test_what_is_moved_in_a_typical_sentence_is_that_of_the_text_alone() -> None:
    text = "The cat's dogs sat on it."
    model = tiny("bert")
    atlas = hs.analyze(model, [text], max_length=48, measures=["entropy"])
    (maps,) = layers_of(model, [text], weighting="value")["encoder"]
    offsets = eager(model, text)[1]
    groups = slow_words(text, offsets)
    assert len(groups) < len(offsets), "a word of several pieces"
    for place in heads_of(atlas):
        (sentence,) = atlas.typical(place)
        assert sentence.takes_from is not None
        assert sentence.moved is not None
        between = np.array(slow_shares(groups, maps[place.layer, place.head].numpy()))
        np.testing.assert_allclose(sentence.moved, between.max(1), atol=6e-4)  # kept to three decimals
        assert sentence.takes_from == tuple(between.argmax(1).tolist())
    alone = hs.analyze(model, [text], max_length=48, measures=["entropy"], weigh="looked")
    assert alone.typical("0.0")[0].by_moved is None
