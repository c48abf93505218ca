"""What the capture sees is the model's own eager attention, for every architecture we promise."""

import pytest
import torch
from tests.helpers.tiny import BUILDERS, tiny
from torch import Tensor

from headscope.capture import survey
from headscope.models.stacks import Place
from headscope.text.batching import TextBatch, collate
from headscope.text.encode import TextEncoder
from headscope.text.items import TextPair
from headscope.types import Layout

TEXTS = [
    TextPair("The cat sat on the mat.", "It was red, and the dog saw it."),
    TextPair("A dog!"),
    TextPair("The blue house.", "The cat."),
]
DECODERS = ("gpt2", "llama", "gemma2", "gptoss", "falcon")
BOTH = ("t5", "bart")
SECOND_ROAD = ("mpnet", "deberta", "convbert", "xlnet", "falcon")


def batch_for(architecture: str) -> TextBatch:
    model = tiny(architecture)
    layout: Layout = (
        "source-target" if architecture in BOTH else "joined" if architecture in DECODERS else "pair"
    )
    encoder = TextEncoder(
        model.tokenizer, layout, 48, model.config.decoder_start_token_id if architecture in BOTH else None
    )
    return collate(
        [encoder.encode(pair) for pair in TEXTS],
        pad=model.tokenizer.pad_token_id or 0,
        has_segments=model.has_segments,
        one_segment=False,
        device=model.device,
    )


def eager_maps(architecture: str, inputs: dict[str, Tensor]) -> dict[str, list[Tensor]]:
    """The maps the model itself returns when asked for, which is what people did before headscope."""
    network = tiny(architecture).network
    before = network.config._attn_implementation
    if architecture in SECOND_ROAD:
        network.config._attn_implementation = "eager"  # Falcon's masks depend on it
    else:
        network.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            # Without its cache, as we run it: a cache lays keys out differently, which changes the last bit.
            options = {"use_cache": False} if "use_cache" in tiny(architecture).accepts else {}
            output = network(**inputs, **options, output_attentions=True)
    finally:
        if architecture in SECOND_ROAD:
            network.config._attn_implementation = before
        else:
            network.set_attn_implementation(before)  # in the parts' own configs too
    if architecture in BOTH:
        return {
            "encoder": list(output.encoder_attentions),
            "decoder": list(output.decoder_attentions),
            "cross": list(output.cross_attentions),
        }
    return {"decoder" if architecture in DECODERS else "encoder": list(output.attentions)}


@pytest.mark.parametrize("architecture", BUILDERS)
def test_captured_attention_is_the_models_own(architecture: str) -> None:
    batch = batch_for(architecture)
    capture = survey(tiny(architecture))
    seen: dict[str, list[Tensor]] = {}

    def see(place: Place, attention: Tensor) -> None:
        assert place.layer == len(seen.setdefault(place.stack, []))
        seen[place.stack].append(attention)

    capture.run(batch.inputs, see)
    expected = eager_maps(architecture, batch.inputs)
    assert {stack: len(maps) for stack, maps in seen.items()} == {
        stack: len(maps) for stack, maps in expected.items()
    }
    for stack, maps in expected.items():
        queries = batch.source if stack == "encoder" or batch.target is None else batch.target
        keys = batch.source if stack in ("encoder", "cross") or batch.target is None else batch.target
        for ours, theirs in zip(seen[stack], maps, strict=True):
            real = queries.is_token[:, None, :, None]
            assert torch.equal(ours * real, theirs * real)
            assert not (ours * real * ~keys.is_token[:, None, None, :]).any(), "attention to padding"


@pytest.mark.parametrize("architecture", BUILDERS)
def test_survey_finds_the_stacks(architecture: str) -> None:
    grids = survey(tiny(architecture)).stacks.grids
    found = {grid.stack: (grid.layers, grid.heads, grid.causal) for grid in grids}
    if architecture == "t5":
        assert found == {"encoder": (3, 4, False), "decoder": (2, 4, True), "cross": (2, 4, False)}
    elif architecture == "bart":
        assert found == {"encoder": (3, 4, False), "decoder": (2, 2, True), "cross": (2, 2, False)}
    elif architecture in DECODERS:
        assert found == {"decoder": (3, 4, True)}
    else:
        assert found == {"encoder": (3, 4, False)}
    assert survey(tiny(architecture)).road == ("softmax" if architecture in SECOND_ROAD else "hook")


@pytest.mark.parametrize("architecture", DECODERS)
def test_decoders_do_not_see_the_future(architecture: str) -> None:
    batch = batch_for(architecture)

    def see(_: Place, attention: Tensor) -> None:
        real = attention * batch.source.is_token[:, None, :, None]
        assert not real.triu(1).any()
        assert real.tril().any()

    survey(tiny(architecture)).run(batch.inputs, see)


def test_distinct_heads_are_told_apart() -> None:
    """The comparison above would pass on uniform attention whatever the order; make sure it is not."""
    maps = eager_maps("bert", batch_for("bert").inputs)["encoder"]
    stacked = torch.stack(maps)  # (layer, text, head, query, key)
    assert (stacked[0] - stacked[1]).abs().max() > 0.1
    assert (stacked[:, :, 0] - stacked[:, :, 1]).abs().max() > 0.1


@pytest.mark.parametrize("architecture", BUILDERS)
def test_padding_is_known_to_change_nothing_or_not_used(architecture: str) -> None:
    assert survey(tiny(architecture)).pads == (architecture != "convbert")
