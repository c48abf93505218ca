"""Edited heads do exactly what a slow and obvious reference says, in every architecture."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import (
    BOTH,
    DECODERS,
    EDITABLE,
    SPOTS,
    Reference,
    batch,
    bert_by_hand,
    patched,
    real_states,
    run,
)
from tests.helpers.tiny import tiny
from torch import Tensor

from headscope.edits import edit
from headscope.edits.select import Heads
from headscope.errors import InterventionError
from headscope.trace import surveyed

WAYS = [
    ("zero", False),
    ("uniform", False),
    ("mean", False),
    ("intra", False),
    ("inter", False),
    ("intra", True),
    ("inter", True),
]


def some_heads(architecture: str) -> dict[tuple[str, int], list[int]]:
    """Heads of every stack, and a layer without any."""
    heads = {spot: [1] for spot in SPOTS[architecture] if spot != ("encoder", 1)}
    first = SPOTS[architecture][0]
    return {**heads, first: [0, 3]} if first in heads else heads


def as_heads(heads: Mapping[tuple[str, int], list[int]]) -> Heads:
    return [(stack, layer, head) for (stack, layer), numbers in heads.items() for head in numbers]


def options(architecture: str, reference: Reference) -> dict[str, Any]:
    """The reference's edit in headscope's words."""
    masks = reference.how in ("intra", "inter")
    sentences: Any = torch.tensor(reference.source)
    if architecture in BOTH:
        sentences = {"source": sentences, "target": torch.tensor(reference.target)}
    return {
        "heads": as_heads(reference.heads),
        "how": reference.how,
        "renormalise": reference.renormalise,
        "means": reference.means,
        "sentences": sentences if masks else None,
    }


def some_means(architecture: str) -> dict[str, Tensor]:
    torch.manual_seed(0)
    return {
        grid.stack: torch.randn(
            grid.layers, grid.heads, 16 if (architecture, grid.heads) == ("bart", 2) else 8
        )
        for grid in surveyed(tiny(architecture)).stacks.grids
    }


def wanted(architecture: str, how: str, *, renormalise: bool) -> tuple[dict[str, Tensor], Reference]:
    inputs, reference = batch(architecture)
    means = some_means(architecture) if how == "mean" else None
    return inputs, replace(
        reference, heads=some_heads(architecture), how=how, renormalise=renormalise, means=means
    )


@pytest.mark.parametrize(("how", "renormalise"), WAYS)
@pytest.mark.parametrize("architecture", EDITABLE)
def test_an_edit_is_the_reference(architecture: str, how: str, renormalise: bool) -> None:
    inputs, reference = wanted(architecture, how, renormalise=renormalise)
    plain = run(architecture, inputs)
    with patched(architecture, tiny(architecture).network, reference):
        expected = run(architecture, inputs)
    with edit(tiny(architecture), **options(architecture, reference)):
        ours = run(architecture, inputs)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)
    assert (ours - plain).abs().max() > 1e-3, "the edit does something"
    assert torch.equal(run(architecture, inputs), plain), "and leaves no trace"


@pytest.mark.parametrize(("how", "renormalise"), WAYS)
def test_an_edited_bert_is_bert_written_by_hand(how: str, renormalise: bool) -> None:
    inputs, reference = wanted("bert", how, renormalise=renormalise)
    network = tiny("bert").network
    inputs["token_type_ids"] = torch.tensor(reference.source).clamp(max=1)
    reference = replace(reference, source=inputs["token_type_ids"].tolist())
    with torch.no_grad():
        expected = bert_by_hand(network, inputs, reference)
        with edit(tiny("bert"), **{**options("bert", reference), "sentences": None}):
            ours = network(**inputs).last_hidden_state
        torch.testing.assert_close(
            real_states(ours, inputs), real_states(expected, inputs), atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("architecture", DECODERS)
def test_uniform_looks_at_no_padding_on_the_left(architecture: str) -> None:
    inputs, reference = batch(architecture, left=True)
    reference = replace(reference, heads=some_heads(architecture), how="uniform")
    with patched(architecture, tiny(architecture).network, reference):
        expected = run(architecture, inputs)
    with edit(tiny(architecture), **options(architecture, reference)):
        ours = run(architecture, inputs)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "gemma2", "t5"])
def test_a_batch_without_a_mask_has_no_padding(architecture: str) -> None:
    inputs, reference = batch(architecture)
    inputs = {name: ids for name, ids in inputs.items() if name.endswith("input_ids")}
    everything = [[True] * 12] * 2
    reference = replace(
        reference,
        heads=some_heads(architecture),
        how="uniform",
        real_source=everything,
        real_target=everything,
    )
    with patched(architecture, tiny(architecture).network, reference):
        expected = run(architecture, inputs)
    with edit(tiny(architecture), **options(architecture, reference)):
        ours = run(architecture, inputs)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)


def test_a_mask_that_says_true_for_visible_is_understood() -> None:
    inputs, reference = batch("bert")
    reference = replace(reference, heads={("encoder", 1): [2]}, how="uniform")
    with patched("bert", tiny("bert").network, reference):
        expected = run("bert", inputs)
    boolean = inputs["attention_mask"].bool()[:, None, None, :].expand(-1, 1, 12, -1)
    with edit(tiny("bert"), "1.2", how="uniform"), torch.no_grad():
        ours = tiny("bert").network(input_ids=inputs["input_ids"], attention_mask=boolean)[0]
    torch.testing.assert_close(real_states(ours, inputs), expected, atol=1e-5, rtol=1e-5)


def test_uniform_is_not_misled_by_weights_that_underflow() -> None:
    inputs, reference = batch("bert")
    reference = replace(reference, heads={("encoder", 0): [0, 1, 2, 3]}, how="uniform")
    network = tiny("bert").network
    query = network.get_submodule("encoder.layer.0.attention.self.query").weight
    before = query.detach().clone()
    try:
        with torch.no_grad():
            query.mul_(1e4)
        with patched("bert", network, reference):
            expected = run("bert", inputs)
        with edit(tiny("bert"), "0.*", how="uniform"):
            torch.testing.assert_close(run("bert", inputs), expected, atol=1e-5, rtol=1e-5)
    finally:
        with torch.no_grad():
            query.copy_(before)


def test_architectures_that_cannot_be_reached_are_refused() -> None:
    with (
        pytest.raises(InterventionError, match="can be watched but not edited"),
        edit(replace(surveyed(tiny("mpnet")), hooked=False), "1.1"),
    ):
        raise AssertionError("never here")
