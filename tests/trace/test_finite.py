"""Attention that is nan is refused; what only looks like it is not."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from tests.helpers.tiny import tiny
from tests.seams import Change, edited, layers_of
from torch import Tensor

import headscope as hs
from headscope.errors import CaptureError

TEXTS = ["The cat sat on the mat.", "A dog!"]
HOUSE = "A house was blue."
"""Holds a word that no model is tried on beforehand."""


def copy_of(architecture: str, name: str = "broken") -> hs.Model:
    model = tiny(architecture)
    return hs.wrap(deepcopy(model.network), model.tokenizer, name=name)


def putting(number: float, layer: int, *where: Any) -> Change:
    """Puts a number into the weights (text, head, query, key) of one layer."""

    def edit(stack: str, place: int, weights: Tensor) -> Tensor:
        if place == layer:
            weights = weights.clone()
            weights[where] = number
        return weights

    return edit


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_one_weight_of_one_head_is_enough(number: float) -> None:
    with (
        edited(tiny("bert"), putting(number, 1, 1, 2, 4, 0)),
        pytest.raises(CaptureError, match=r"tiny-bert: the attention of layer 1 holds nan \(head 2\)"),
    ):
        layers_of(tiny("bert"), TEXTS)


def test_padding_may_hold_anything() -> None:
    length = layers_of(tiny("bert"), TEXTS)["encoder"][1].shape[-1]
    with edited(tiny("bert"), putting(torch.nan, 2, 1, slice(None), slice(length, None))):
        assert layers_of(tiny("bert"), TEXTS)["encoder"][1].isfinite().all()
    with (
        edited(tiny("bert"), putting(torch.nan, 2, 1, slice(None), slice(length - 1, None))),
        pytest.raises(CaptureError, match=r"layer 2 holds nan \(all heads\)"),
    ):
        layers_of(tiny("bert"), TEXTS)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_long_texts_in_other_precisions_are_no_nan(dtype: torch.dtype) -> None:
    model = copy_of("llama")
    model.network.to(dtype)
    (maps,) = layers_of(model, ["the cat " * 150], max_length=300)["decoder"]
    assert maps.shape[-1] == 300


def test_a_head_that_looks_nowhere_is_no_nan() -> None:
    with hs.edit(tiny("bert"), "1.*"):
        maps = layers_of(tiny("bert"), TEXTS)["encoder"][0]
    assert [bool(layer.any()) for layer in maps] == [True, False, True]


@pytest.mark.parametrize("architecture", ["bert", "mpnet"])
def test_a_broken_model_is_refused_with_the_layer_and_the_heads(architecture: str) -> None:
    model = copy_of(architecture)
    projection = next(
        module
        for name, module in model.network.named_modules()
        if name.startswith("encoder.layer.2") and name.endswith(("query", ".q"))
    )
    with torch.no_grad():
        projection.weight[8, 0] = torch.nan
    with pytest.raises(
        CaptureError, match=r"broken: the attention of layer 2 holds nan \(head 1\); its weights hold"
    ):
        hs.analyze(model, TEXTS, max_length=32)


def test_stacks_are_named_where_there_are_several() -> None:
    model = copy_of("t5")
    with torch.no_grad():
        model.network.decoder.block[1].layer[1].EncDecAttention.q.weight[:] = torch.nan
    with pytest.raises(CaptureError, match=r"the attention of layer 1 of the cross holds nan \(all heads\)"):
        hs.analyze(model, TEXTS, max_length=32)


@pytest.mark.parametrize("architecture", ["bert", "mpnet"])
def test_every_pass_is_checked(architecture: str) -> None:
    """Weights may change while a model is in memory, and what it is made of is found out once."""
    model = copy_of(architecture)
    layers_of(model, TEXTS)
    attention = model.network.encoder.layer[1].attention
    projection = attention.self.query if architecture == "bert" else attention.attn.q
    with torch.no_grad():
        projection.weight[24, 0] = torch.nan  # of eight rows a head
    with pytest.raises(CaptureError, match=r"layer 1 holds nan \(head 3\)"):
        layers_of(model, TEXTS)


@pytest.mark.parametrize("kernels", [True, False])
def test_a_nan_that_one_text_brings_ends_a_run_and_is_named(kernels: bool) -> None:
    model = copy_of("bert")
    house = model.tokenizer.convert_tokens_to_ids("house")
    has_house: list[bool] = []

    def look(module: object, given: tuple[Tensor]) -> None:
        has_house[:] = [bool((given[0] == house).any())]

    def break_head_1(module: object, given: object, queries: Tensor) -> Tensor:
        return queries.index_fill(-1, torch.arange(8, 16), torch.nan) if has_house[0] else queries

    model.network.embeddings.word_embeddings.register_forward_pre_hook(look)
    model.network.encoder.layer[1].attention.self.query.register_forward_hook(break_head_1)
    options: dict[str, Any] = {"max_length": 32, "batch_size": 1, "kernels": kernels, "sentences": 0}
    atlas = hs.analyze(model, TEXTS, **options)
    assert (atlas.provenance["options"]["kernels"] == "used") == kernels
    with pytest.raises(CaptureError, match=r"the attention of layer 1 holds nan \(head 1\)"):
        hs.analyze(model, [*TEXTS, HOUSE, *TEXTS], **options)
    with pytest.raises(CaptureError, match=r"the attention of layer 1 holds nan \(head 1\)"):
        hs.analyze(model, [HOUSE], **options)  # no batch comes after it


def test_in_half_precision_the_advice_is_another_precision() -> None:
    model = copy_of("bert", "half")
    model.network.half()
    with (
        edited(model, putting(torch.nan, 1, 0, 0, 0, 0)),
        pytest.raises(CaptureError, match=r'it runs in float16, .* dtype="float32" \(--dtype float32\)'),
    ):
        layers_of(model, TEXTS)
