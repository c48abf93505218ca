"""Every attention call is known by its place, and what an edit makes of it is what happens."""

import threading
from collections import Counter
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import pytest
import torch
from tests.helpers.reference_edits import EDITABLE, SPOTS, batch, run, sees
from tests.helpers.tiny import tiny
from tests.seams import edited, layers_of
from torch import Tensor, nn
from transformers.models.bert import modeling_bert

import headscope as hs
from headscope.errors import CaptureError


def as_it_is(stack: str, layer: int, weights: Tensor) -> Tensor:
    return weights


@pytest.mark.parametrize("architecture", EDITABLE)
def test_every_layer_comes_once_and_weights_times_values_are_what_heads_give(architecture: str) -> None:
    """An edit that leaves weights as they are computes what heads give anew, from these and the values."""
    inputs, _ = batch(architecture)
    plain = run(architecture, inputs)
    seen: Counter[tuple[str, int]] = Counter()
    sizes: set[tuple[str, tuple[int, ...]]] = set()

    def noted(stack: str, layer: int, weights: Tensor) -> Tensor:
        seen[stack, layer] += 1
        sizes.add((stack, tuple(weights.shape[2:])))
        return weights

    with edited(tiny(architecture), noted):
        torch.testing.assert_close(run(architecture, inputs), plain, atol=1e-5, rtol=1e-5)
    assert seen == Counter(SPOTS[architecture])
    source, target = (
        inputs.get(f"{side}input_ids", inputs["input_ids"]).shape[1] for side in ("", "decoder_")
    )
    expected = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    assert sizes == {(stack, expected[stack]) for stack, _ in SPOTS[architecture]}


@pytest.mark.parametrize("architecture", EDITABLE)
def test_what_a_query_may_see_is_told_by_lengths_direction_and_window(architecture: str) -> None:
    """A head that looks uniformly looks at just that."""
    inputs, reference = batch(architecture)
    with hs.edit(tiny(architecture), "all", how="uniform"):
        layers = layers_of(tiny(architecture), inputs)
    for stack, texts in layers.items():
        for text, maps in enumerate(texts):
            for layer, heads in enumerate(maps):
                window = getattr(layers.calls[stack, layer].module, "sliding_window", None)
                visible = sees(reference, (stack, layer), text, heads.shape[1:], window)
                expected = visible / visible.sum(-1, keepdim=True)
                torch.testing.assert_close(heads, expected.expand_as(heads), atol=1e-6, rtol=0)


def test_one_layer_of_a_module_that_all_layers_share_is_edited_alone() -> None:
    inputs, _ = batch("albert")
    plain = layers_of(tiny("albert"), inputs)["encoder"]
    with edited(tiny("albert"), lambda stack, layer, weights: weights * 0, [("encoder", 1)]):
        for _ in range(2):
            found = layers_of(tiny("albert"), inputs)["encoder"]
            for before, after in zip(plain, found, strict=True):
                assert torch.equal(after[0], before[0])
                assert [bool(layer.any()) for layer in after] == [True, False, True]


def test_who_looks_on_in_one_thread_does_not_see_another() -> None:
    model, others = tiny("bert"), batch("bert")[0]
    expected = layers_of(model, ["The cat sat."])["encoder"][0]
    own = threading.get_ident()
    outputs: list[Tensor] = []

    def another(*_: object) -> None:
        if threading.get_ident() == own:
            thread = threading.Thread(target=lambda: outputs.append(run("bert", others)))
            thread.start()
            thread.join()

    hook = model.network.encoder.layer[1].register_forward_pre_hook(another)
    try:
        found = layers_of(model, ["The cat sat."])["encoder"][0]
    finally:
        hook.remove()
    assert torch.equal(found, expected)
    assert outputs
    torch.testing.assert_close(outputs[0], run("bert", others), atol=1e-5, rtol=1e-4)


def test_outer_edits_come_before_inner_ones_and_who_looks_on_last() -> None:
    inputs, _ = batch("bert")
    plain = layers_of(tiny("bert"), inputs)["encoder"][0]
    place = [("encoder", 0)]
    with (
        edited(tiny("bert"), lambda stack, layer, weights: weights / 2, place),
        edited(tiny("bert"), lambda stack, layer, weights: weights.square(), place),
    ):
        found = layers_of(tiny("bert"), inputs)["encoder"][0]
    torch.testing.assert_close(found[0], (plain[0] / 2).square())
    assert torch.equal(layers_of(tiny("bert"), inputs)["encoder"][0], plain)


def test_layers_that_nobody_edits_or_watches_keep_their_fast_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inputs, _ = batch("bert")
    tiny("bert").network.set_attn_implementation("sdpa")
    layers_of(tiny("bert"), inputs)  # after which it is known
    fast = nn.functional.scaled_dot_product_attention
    calls: list[Tensor] = []

    def noted(*given: Any, **options: Any) -> Tensor:
        calls.append(fast(*given, **options))
        return calls[-1]

    monkeypatch.setattr(nn.functional, "scaled_dot_product_attention", noted)
    for expected, heads in ((3, []), (2, [("encoder", 1, 2)]), (1, [("encoder", 0, 0), ("encoder", 2, 1)])):
        calls.clear()
        with hs.edit(tiny("bert"), heads) if heads else nullcontext():
            run("bert", inputs)
        assert len(calls) == expected
    calls.clear()
    layers_of(tiny("bert"), inputs)
    assert not calls, "who looks on wants weights"


def test_what_a_model_is_made_of_is_found_out_without_its_edits() -> None:
    """A head that looks nowhere looks ahead nowhere, as a decoder's."""
    model = hs.wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer)
    with edited(model, as_it_is), hs.edit(model, "all"):
        again = hs.wrap(model.network, model.tokenizer)
        atlas = hs.analyze(
            again, ["the cat sat on the mat"], max_length=32, measures=["entropy"], sentences=0
        )
    assert atlas.stacks == ["encoder"]
    assert not atlas["entropy"].any()


def test_recomputed_attention_is_refused() -> None:
    inputs, _ = batch("bert")
    network: Any = deepcopy(tiny("bert").network).train()  # a copy: transformers leaves hooks behind
    network.gradient_checkpointing_enable({"use_reentrant": False})
    with edited(hs.wrap(network, tiny("bert").tokenizer), as_it_is):
        loss = network(**inputs)[0].sum()
        with pytest.raises(CaptureError, match="gradient checkpointing"):
            loss.backward()


@pytest.mark.parametrize("change", ["output in one piece", "fewer values", "another output"])
def test_an_edit_of_what_is_not_understood_is_refused(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = modeling_bert.eager_attention_forward

    def odd(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> Any:
        output, weights = own(module, query, key, value, mask, **options)
        if change == "output in one piece":
            return output.flatten(2), weights
        return (output[..., :4].repeat(1, 1, 1, 2) if change == "fewer values" else 1.1 * output), weights

    model = hs.wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer)
    layers_of(model, ["The cat sat."])
    monkeypatch.setattr(modeling_bert, "eager_attention_forward", odd)
    with (
        hs.edit(model, "1.1", how="uniform"),
        pytest.raises(CaptureError, match=r"cannot\s+edit"),
    ):
        model.network(**batch("bert")[0])
