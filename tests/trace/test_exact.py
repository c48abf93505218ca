"""What is seen is the model's own eager attention, for every architecture we promise."""

from math import log

import pytest
import torch
from tests.helpers.eager import AT_THE_SOFTMAX, DECODERS, eager_maps, sides
from tests.helpers.reference_edits import BOTH, batch
from tests.helpers.tiny import BUILDERS, tiny
from tests.seams import layers_of
from torch import Tensor

import headscope as hs

TEXTS = [("The cat sat on the mat.", "It was red."), ("A dog!", "It.")]


@pytest.mark.parametrize("architecture", BUILDERS)
def test_attention_is_the_models_own_to_the_last_bit(architecture: str) -> None:
    inputs, _ = batch(architecture)
    found = layers_of(tiny(architecture), inputs)
    expected = eager_maps(architecture, inputs)
    assert found.keys() == expected.keys()
    for stack, maps in expected.items():
        queries, keys = (side.sum(-1).tolist() for side in sides(stack, inputs))
        for text, seen in enumerate(found[stack]):
            own = torch.stack([layer[text, :, : queries[text]] for layer in maps])
            assert torch.equal(seen, own[..., : keys[text]])
            assert not own[..., keys[text] :].any(), "attention to padding"


@pytest.mark.parametrize("architecture", BUILDERS)
def test_stacks_and_the_way_to_them_are_found(architecture: str) -> None:
    atlas = hs.analyze(tiny(architecture), TEXTS, max_length=60, measures=["entropy"], sentences=0)
    sizes = {stack: atlas.shape(stack) for stack in atlas.stacks}
    if architecture in BOTH:
        heads = 4 if architecture == "t5" else 2
        assert sizes == {"encoder": (3, 4), "decoder": (2, heads), "cross": (2, heads)}
    else:
        assert sizes == {"decoder" if architecture in DECODERS else "encoder": (3, 4)}
    way = atlas.provenance["options"]["captured_by"]
    assert way == ("softmax" if architecture in AT_THE_SOFTMAX else "hook")


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5", "bart", "mpnet", "falcon"])
def test_a_decoder_is_compared_with_what_a_query_can_see(architecture: str) -> None:
    """Uniform attention is over the tokens up to the query in a decoder, and over all of them elsewhere."""
    model = tiny(architecture)
    atlas = hs.analyze(model, TEXTS, max_length=60, measures=["entropy"], sentences=0)
    for stack, texts in layers_of(model, TEXTS, max_length=60).items():
        expected = []
        for maps in texts:
            queries, keys = maps.shape[-2:]
            seen = [query + 1 if stack == "decoder" else keys for query in range(queries)]
            expected.append(sum(map(log, seen)) / queries)
        assert float(atlas[f"{stack}/entropy_uniform"]) == pytest.approx(sum(expected) / 2, abs=1e-5)


@pytest.mark.parametrize("architecture", DECODERS)
def test_decoders_do_not_see_the_future(architecture: str) -> None:
    for maps in layers_of(tiny(architecture), batch(architecture)[0])["decoder"]:
        assert not maps.triu(1).any()
        assert maps.tril(-1).any()


def test_distinct_heads_are_told_apart() -> None:
    """The comparison above would pass on uniform attention whatever the order; make sure it is not."""
    maps = torch.stack(eager_maps("bert", batch("bert")[0])["encoder"])  # (layer, text, head, query, key)
    assert (maps[0] - maps[1]).abs().max() > 0.1
    assert (maps[:, :, 0] - maps[:, :, 1]).abs().max() > 0.1


@pytest.mark.parametrize("architecture", [name for name in BUILDERS if name != "convbert"])
def test_padding_changes_nothing(architecture: str) -> None:
    """Of ConvBERT it does, and its texts go alone: test_analyze.py."""
    inputs, _ = batch(architecture)
    lengths = {
        side: int(inputs[f"{side}attention_mask"][1].sum()) for side in ("", "decoder_") if _has(inputs, side)
    }
    alone = {
        name: rows[1:, : lengths["decoder_" if name.startswith("decoder_") else ""]]
        for name, rows in inputs.items()
    }
    model = tiny(architecture)
    together, single = layers_of(model, inputs), layers_of(model, alone)
    for stack, texts in single.items():
        torch.testing.assert_close(together[stack][1], texts[0], atol=1e-5, rtol=1e-4)


def _has(inputs: dict[str, Tensor], side: str) -> bool:
    return f"{side}attention_mask" in inputs
