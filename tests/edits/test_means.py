"""Mean outputs of heads."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import EDITABLE, batch
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from torch import Tensor

from headscope.edits import mean_outputs
from headscope.errors import InterventionError, OptionError, TextError
from headscope.text.items import TextPair
from headscope.trace import surveyed
from headscope.trace.watch import Watch

TEXTS = ["The cat sat on the mat.", "A dog!", "It was red, and the dog saw it in the blue house."]


def outputs_by_hand(architecture: str, inputs: dict[str, Tensor]) -> dict[tuple[str, int], Tensor]:
    """(text, query, head, dim) of one text, from what goes into the output projection."""
    network: Any = tiny(architecture).network
    found: dict[tuple[str, int], Tensor] = {}
    if architecture == "bert":
        projections = [
            ("encoder", n, layer.attention.output.dense) for n, layer in enumerate(network.encoder.layer)
        ]
    elif architecture == "llama":
        projections = [("decoder", n, layer.self_attn.o_proj) for n, layer in enumerate(network.layers)]
    else:
        blocks = network.decoder.block
        projections = [
            ("encoder", n, block.layer[0].SelfAttention.o) for n, block in enumerate(network.encoder.block)
        ]
        projections += [("decoder", n, block.layer[0].SelfAttention.o) for n, block in enumerate(blocks)]
        projections += [("cross", n, block.layer[1].EncDecAttention.o) for n, block in enumerate(blocks)]
    handles = [
        module.register_forward_pre_hook(
            lambda _, given, spot=(stack, layer): found.update({spot: given[0].unflatten(-1, (4, -1))})
        )
        for stack, layer, module in projections
    ]
    with torch.no_grad():
        network(**inputs)
    for handle in handles:
        handle.remove()
    return found


@pytest.mark.parametrize("architecture", ["bert", "llama", "t5"])
def test_means_are_over_real_tokens(architecture: str) -> None:
    inputs, _ = batch(architecture)
    found = outputs_by_hand(architecture, inputs)
    means = mean_outputs(tiny(architecture), [inputs])
    for (stack, layer), outputs in found.items():
        target = stack != "encoder" and architecture == "t5"
        mask = inputs["decoder_attention_mask" if target else "attention_mask"].bool()
        expected = outputs[mask].mean(0)  # (head, dim)
        torch.testing.assert_close(means[stack][layer], expected, atol=1e-5, rtol=1e-5)  # type: ignore[index]


def test_padding_of_a_target_that_the_network_makes_itself_does_not_count() -> None:
    """BART as a classifier is given a source alone, and its decoder reads that again, a token later."""
    model = headed("bart", "classification")
    texts = ["the cat sat on the mat and the dog saw it .", "a dog"]
    tokenized = [
        dict(model.tokenizer(text, return_tensors="pt", return_token_type_ids=False)) for text in texts
    ]
    together = model.tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    one_by_one, padded = mean_outputs(model, tokenized), mean_outputs(model, [dict(together)])
    for stack in ("encoder", "decoder", "cross"):
        torch.testing.assert_close(padded[stack], one_by_one[stack], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("architecture", EDITABLE)
def test_texts_give_the_same_means_together_and_one_by_one(architecture: str) -> None:
    together = mean_outputs(tiny(architecture), (text for text in TEXTS))
    lengths = []
    singles = []
    for text in TEXTS:
        singles.append(mean_outputs(tiny(architecture), [TextPair(text)]))
        tokenized = tiny(architecture).tokenizer(text)
        begun = Watch(surveyed(tiny(architecture))).encoder(64).added  # a decoder's texts get a start token
        lengths.append(len(tokenized["input_ids"]) + begun)
    for grid in surveyed(tiny(architecture)).stacks.grids:
        weighted = sum(n * one[grid.stack] for n, one in zip(lengths, singles, strict=True)) / sum(lengths)
        assert together[grid.stack].shape[:2] == (grid.layers, grid.heads)
        torch.testing.assert_close(together[grid.stack], weighted, atol=1e-5, rtol=1e-4)


def test_long_texts_are_cut() -> None:
    long = mean_outputs(tiny("bert"), ["the cat " * 100], max_length=10)
    short = mean_outputs(tiny("bert"), ["the cat " * 4])
    torch.testing.assert_close(long["encoder"], short["encoder"])


def test_the_mode_comes_back() -> None:
    network = tiny("bert").network
    expected = mean_outputs(tiny("bert"), TEXTS)
    network.train()
    try:
        assert torch.equal(mean_outputs(tiny("bert"), TEXTS)["encoder"], expected["encoder"]), "no dropout"
        assert network.training
    finally:
        network.eval()


def test_what_cannot_work_is_refused() -> None:
    with pytest.raises(TextError, match="no texts"):
        mean_outputs(tiny("bert"), [])
    with pytest.raises(OptionError, match="not both"):
        mean_outputs(tiny("bert"), ["A text.", batch("bert")[0]])
    with pytest.raises(OptionError, match="takes texts"):
        mean_outputs(tiny("bert"), [3])  # type: ignore[list-item]
    with pytest.raises(InterventionError, match="does not show"):
        mean_outputs(replace(surveyed(tiny("mpnet")), hooked=False), TEXTS)
