"""The main job, end to end, against plain loops over the model's own eager attention."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
import xarray as xr
from scipy.stats import entropy as scipy_entropy
from tests.helpers.tiny import BUILDERS, tiny

import headscope as hs
from headscope.errors import HeadscopeWarning, OptionError, TextError

SENTENCES = [
    "The cat sat on the mat.",
    "It was red, and the dog saw it.",
    "A dog!",
    "The blue house of the cat was in the red house.",
    "It sat, and sat.",
]
PAIRS = list(pairwise(SENTENCES))
CROSS = ("entropy", "example_map", "head_distance", "loudness", "role_attention")
NO_VALUES = ("convbert", "xlnet")
SHORT = [
    ("The cat sat on the mat.", "It was red, the cat."),
    ("A dog!", "A dog saw it."),
    ("The blue house.", "It."),
]


def eager(name: str, first: str, second: str) -> tuple[list[str], np.ndarray]:
    """Tokens and (layer, head, query, key) maps of one pair, by transformers alone."""
    model = hs.load(name)
    model.network.set_attn_implementation("eager")
    inputs = model.tokenizer(first, second, return_tensors="pt")
    with torch.inference_mode():
        maps = model.network(**inputs, output_attentions=True).attentions
    return model.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), torch.stack(maps, 1)[
        0
    ].double().numpy()


def assert_same_stack(left: hs.Atlas, right: hs.Atlas, stack: str) -> None:
    assert left.stack(stack).keys() == right.stack(stack).keys()
    for name, array in left.stack(stack).items():
        xr.testing.assert_allclose(array, right.stack(stack)[name], atol=1e-5)


def test_the_whole_road_against_transformers_and_loops() -> None:
    atlas = hs.analyze("demo", PAIRS)
    previous, separator, entropy, lengths = [], [], [], []
    for first, second in PAIRS:
        tokens, maps = eager("demo", first, second)
        count = len(tokens)
        lengths.append(count)
        previous.append(sum(maps[:, :, i, i - 1] for i in range(1, count)) / (count - 1))
        keys = [place for place, token in enumerate(tokens) if token == "[SEP]"]
        separator.append(maps[..., keys].sum(-1).mean(-1))
        entropy.append(scipy_entropy(maps, axis=-1).mean(-1))
    for found, expected in (
        (atlas["offset_attention"].sel(offset=-1), previous),
        (atlas["role_attention"].sel(query_role="all", role="sep"), separator),
        (atlas["entropy"].sel(query_role="all"), entropy),
    ):
        np.testing.assert_allclose(found.values, np.mean(expected, 0), atol=1e-5, rtol=0)
    spread = atlas["entropy_stderr"].sel(query_role="all").values
    np.testing.assert_allclose(spread, np.std(entropy, axis=0, ddof=1) / np.sqrt(len(PAIRS)), atol=1e-5)
    np.testing.assert_allclose(atlas["entropy_uniform"], np.mean(np.log(lengths)), rtol=1e-5)
    assert atlas.provenance["texts"] == len(PAIRS)
    assert atlas.provenance["tokens"] == sum(lengths)


@pytest.mark.parametrize("architecture", BUILDERS)
def test_every_architecture_gives_the_measures_that_fit_it(architecture: str) -> None:
    atlas = hs.analyze(tiny(architecture), SHORT, max_length=48)
    for stack in atlas.stacks:
        found = {name for name in atlas.stack(stack) if name in hs.MEASURES.names()}
        expected = {
            name
            for name in hs.MEASURES.names()
            if (stack != "cross" or name in CROSS) and (name != "loudness" or architecture not in NO_VALUES)
        }
        assert found == expected
    entropy = atlas["entropy"].sel(query_role="all")
    assert np.isfinite(entropy).all()
    assert (entropy < atlas["entropy_uniform"] + 1e-6).all()


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5", "mpnet", "convbert", "falcon", "xlnet"])
def test_batch_size_and_order_do_not_matter(architecture: str) -> None:
    model = tiny(architecture)
    one = hs.analyze(model, SHORT * 3, max_length=48, batch_size=1)
    for texts, size in ((SHORT * 3, 5), ((SHORT * 3)[::-1], 12), (SHORT * 3, "auto")):
        other = hs.analyze(model, texts, max_length=48, batch_size=size)  # type: ignore[arg-type]
        for stack in one.stacks:
            assert_same_stack(other, one, stack)


def test_documents_become_segments_with_two_segment_ids() -> None:
    """Two sentences of a document and the same two as a given pair are the same input."""
    document = hs.analyze("demo", [" ".join(SENTENCES[:2])])
    pair = hs.analyze("demo", [(SENTENCES[0], SENTENCES[1])])
    assert_same_stack(document, pair, "encoder")
    published = hs.analyze("demo", [(SENTENCES[0], SENTENCES[1])], faithful=True)
    gap = abs(published["offset_attention"] - pair["offset_attention"]).max()
    assert gap > 0.01, "segment ids all 0 must be visible in the demo's attention"


def test_limit_and_chosen_measures() -> None:
    atlas = hs.analyze(tiny("bert"), PAIRS, max_length=48, limit=2, measures=["entropy"])
    assert atlas.provenance["texts"] == 2
    assert atlas.measures == ["entropy", "entropy_moved"]
    first_two = hs.analyze(tiny("bert"), PAIRS[:2], max_length=48, measures=["entropy"])
    xr.testing.assert_allclose(atlas["entropy"], first_two["entropy"])
    assert atlas.provenance["corpus_hash"] == first_two.provenance["corpus_hash"]
    others = hs.analyze(tiny("bert"), PAIRS[1:3], max_length=48, measures=["entropy"])
    assert atlas.provenance["corpus_hash"] != others.provenance["corpus_hash"]


def test_the_network_is_left_as_it_was() -> None:
    model = tiny("bert")
    before = model.network.config._attn_implementation
    hs.analyze(model, PAIRS, max_length=48)
    assert model.network.config._attn_implementation == before


def test_provenance_names_everything() -> None:
    facts = hs.analyze(tiny("bert"), PAIRS, max_length=48).provenance
    assert facts["model"] == "tiny-bert"
    assert facts["weights_hash"] == f"sha256:{tiny('bert').weights_hash}"
    assert facts["options"]["max_length"] == 48
    assert {"python", "torch", "transformers", "headscope"} <= facts["versions"].keys()
    assert facts["duration_s"] > 0
    assert facts["threads"] == torch.get_num_threads()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 1000}, "more than the 64 tokens tiny-bert takes"),
        ({"max_length": 2}, "no room for words"),
        ({"limit": 0}, "limit must be at least 1"),
        ({"batch_size": 0}, "batch_size must be auto or at least 1"),
        ({"measures": ["nonsense"]}, "no measure called 'nonsense'; choose from"),
        ({"measures": []}, "no measure was asked for"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        hs.analyze(tiny("bert"), PAIRS, **{"max_length": 48, **options})  # type: ignore[arg-type]


def test_no_text_at_all() -> None:
    with pytest.raises(TextError):
        hs.analyze(tiny("bert"), ["  "], max_length=48)


def test_texts_cut_and_unknown_tokens_are_told() -> None:
    with pytest.warns(HeadscopeWarning, match="1 of 1 texts were longer than 16 tokens"):
        hs.analyze(tiny("bert"), [("the cat sat on the mat and saw the dog " * 3, "it")], max_length=16)
    with pytest.warns(HeadscopeWarning, match="unknown to the tokenizer of tiny-bert"):
        hs.analyze(tiny("bert"), ["שלום עולם the cat"], max_length=48)


@pytest.mark.parametrize("measure", hs.MEASURES.names())
def test_every_measure_alone_gives_an_atlas_that_opens(measure: str, tmp_path: Path) -> None:
    """Some fit no cross attention; its stack is then absent, not empty."""
    hs.analyze(tiny("t5"), SHORT, max_length=48, measures=[measure]).save(tmp_path / "a.nc")
    atlas = hs.open(tmp_path / "a.nc")
    assert measure in atlas.measures
    assert f"encoder/{measure}" in atlas
    assert ("cross" in atlas.stacks) == (measure in CROSS)
    assert "tiny-t5" in repr(atlas)


def test_faithful_drops_a_document_that_no_blank_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text("The cat sat.\n\nA dog saw it.", encoding="utf-8")
    for faithful, texts in ((False, 2), (True, 1)):
        atlas = hs.analyze(tiny("bert"), hs.read_text(path), max_length=48, faithful=faithful)
        assert atlas.provenance["texts"] == texts


def test_two_threads_on_one_model_take_turns() -> None:
    model = tiny("bert")
    before = model.network.config._attn_implementation
    alone = hs.analyze(model, SHORT, max_length=48)
    with ThreadPoolExecutor(4) as pool:
        for atlas in pool.map(lambda _: hs.analyze(model, SHORT, max_length=48), range(12)):
            assert_same_stack(atlas, alone, "encoder")
    assert model.network.config._attn_implementation == before


def test_texts_that_padding_would_change_go_alone() -> None:
    convbert = hs.analyze(tiny("convbert"), SHORT, max_length=48, batch_size=3, measures=["entropy"])
    each = [hs.analyze(tiny("convbert"), [pair], max_length=48, measures=["entropy"]) for pair in SHORT]
    np.testing.assert_allclose(convbert["entropy"], np.mean([one["entropy"] for one in each], 0), atol=1e-6)


def test_documents_are_counted_apart_from_texts() -> None:
    two = ["The cat sat. " * 20, "A dog saw it."]
    facts = hs.analyze(tiny("bert"), two, max_length=32, measures=["entropy"]).provenance
    assert facts["documents"] == 2
    assert facts["texts"] > 2
    assert hs.analyze(tiny("bert"), SHORT, max_length=48, measures=["entropy"]).provenance[
        "documents"
    ] == len(SHORT)


@pytest.mark.parametrize("distances", ["sampled", "exact"])
def test_the_atlas_says_how_heads_were_compared(distances: Literal["sampled", "exact"]) -> None:
    long = [("The cat sat on the mat. " * 3, "It was red, the cat. " * 3)]
    atlas = hs.analyze(tiny("bert"), long, max_length=64, measures=["head_distance"], distances=distances)
    assert atlas.provenance["options"]["distances"] == distances
    assert ("queries of each text" in atlas["head_distance"].attrs["long_name"]) == (distances == "sampled")


def test_sampled_and_exact_distances_are_near_and_published_ones_are_exact() -> None:
    long = [
        (f"The cat sat on the mat. {word} " * 3, "It was red, the cat. " * 3) for word in ("A", "It", "dog")
    ]
    found = {
        distances: hs.analyze(
            tiny("bert"), long, max_length=64, measures=["head_distance"], weigh="looked", distances=distances
        )["head_distance"].values
        for distances in ("sampled", "exact")
    }
    assert 0 < np.abs(found["sampled"] - found["exact"]).max() < 0.02
    faithful = hs.analyze(tiny("bert"), long, max_length=64, measures=["head_distance"], faithful=True)
    assert faithful.provenance["options"]["distances"] == "exact"


def test_distances_can_be_left_out() -> None:
    atlas = hs.analyze(
        tiny("bert"), SHORT, max_length=48, measures=["entropy", "head_distance"], distances="none"
    )
    assert "head_distance" not in atlas
    assert "entropy" in atlas
    with pytest.raises(OptionError, match="only measure asked for is head_distance"):
        hs.analyze(tiny("bert"), SHORT, max_length=48, measures=["head_distance"], distances="none")
    with pytest.raises(OptionError, match="one of sampled, exact, none, not 'some'"):
        hs.analyze(tiny("bert"), SHORT, max_length=48, distances="some")


def test_a_profile_accounts_for_the_time_by_measure(tmp_path: Path) -> None:
    atlas = hs.analyze(tiny("bert"), SHORT, max_length=48, measures=["entropy", "loudness"], profile=True)
    atlas.save(tmp_path / "a.nc")
    profile = hs.open(tmp_path / "a.nc").provenance["profile"]
    parts = {part["part"]: part for part in profile["parts"]}
    assert {"entropy", "entropy_moved", "loudness", "waiting for texts", "typical sentences"} < set(parts)
    assert sum(part["share"] for part in profile["parts"]) == pytest.approx(1, abs=0.01)
    assert profile["beside_the_model"]["reading and encoding"] > 0
    assert profile["tokens_per_second"] > 0
    assert "profile" not in hs.analyze(tiny("bert"), SHORT, max_length=48, measures=["entropy"]).provenance
