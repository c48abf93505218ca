"""How many texts go through a model together, and what happens when they are too many for its memory."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.odd_models import odd_model
from tests.helpers.tiny import tiny
from tests.seams import layers_of, texts_together
from torch import Tensor
from transformers.models.bert.modeling_bert import BertModel

import headscope as hs

TEXTS = [("the cat sat on the mat", "it was red"), ("a dog", "it"), ("the blue house", "a cat")] * 3
OPTIONS: dict[str, Any] = {"max_length": 48, "sentences": 0}


def given(model: hs.Model, texts: list[Any], **options: Any) -> list[dict[str, Tensor]]:
    """What a model is given by a run over texts, batch by batch; what it is tried on beforehand is left out."""
    layers_of(model, ["A dog!"])
    seen: list[dict[str, Tensor]] = []
    hook = model.core.register_forward_pre_hook(lambda _, __, named: seen.append(named), with_kwargs=True)
    try:
        hs.analyze(
            model, texts, kernels=False, **OPTIONS | {"measures": ["entropy"], "weigh": "looked"} | options
        )
    finally:
        hook.remove()
    return seen


# How texts are given


def test_how_a_model_takes_two_texts() -> None:
    pair = [("the cat sat", "it was")]
    (bert,), (gpt2,), (t5,), (bart,) = (given(tiny(name), pair) for name in ("bert", "gpt2", "t5", "bart"))
    assert bert["token_type_ids"].tolist() == [[0] * 5 + [1] * 3]
    assert "token_type_ids" not in gpt2
    assert tiny("gpt2").tokenizer.decode(gpt2["input_ids"][0]).endswith("the cat sat it was")
    assert t5["input_ids"].shape == (1, 4)
    assert t5["decoder_input_ids"].shape == (1, 3)
    assert t5["decoder_input_ids"][0, 0] == 0
    assert bart["decoder_input_ids"][0, 0] == 3


def test_the_published_forms_have_one_segment() -> None:
    (published,) = given(tiny("bert"), [("the cat", "it was")], faithful=True)
    assert not published["token_type_ids"].any()


def test_a_model_without_a_start_token_begins_with_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("t5").config
    monkeypatch.setattr(config, "decoder_start_token_id", None)
    monkeypatch.setattr(config, "pad_token_id", 7)
    (inputs,) = given(tiny("t5"), [("the cat", "it was")])
    assert inputs["decoder_input_ids"][0, 0] == 7


def test_each_stack_has_the_tokens_of_its_sides() -> None:
    found = layers_of(tiny("t5"), [("the cat sat", "it was")])
    sizes = {stack: tuple(maps[0].shape[2:]) for stack, maps in found.items()}
    assert sizes == {"encoder": (4, 4), "decoder": (3, 3), "cross": (3, 4)}


# How many texts go together


@pytest.mark.parametrize(("size", "most"), [(1, 1), (2, 2), (5, 5), ("auto", 9)])
def test_as_many_as_asked_for(size: Any, most: int) -> None:
    sizes = [len(inputs["input_ids"]) for inputs in given(tiny("bert"), TEXTS, batch_size=size)]
    assert sum(sizes) == len(TEXTS)
    assert max(sizes) == most
    assert texts_together(tiny("bert"), 10, batch_size=7) == 7


@pytest.mark.parametrize("size", [8, "auto"])
def test_a_model_that_cannot_be_padded_takes_one_at_a_time(size: Any) -> None:
    assert {len(inputs["input_ids"]) for inputs in given(tiny("convbert"), TEXTS, batch_size=size)} == {1}


def test_as_many_as_are_fast_on_this_device() -> None:
    assert [texts_together(tiny("bert"), length) for length in (1, 8, 64)] == [1024, 128, 16]
    assert texts_together(tiny("bert"), 5000) == 1


def test_one_layer_of_a_batch_stays_within_its_bytes() -> None:
    room = 4 * 4 * 10 * 10 * 3  # three texts of ten tokens, four heads
    assert [texts_together(tiny("bert"), length, layer_bytes=room) for length in (10, 11, 40)] == [3, 2, 1]


def test_all_layers_of_a_batch_stay_within_theirs_when_they_are_held() -> None:
    room = 3 * 4 * 4 * 10 * 10 * 5  # three layers, five texts
    assert texts_together(tiny("bert"), 10, held_bytes=room) == 102
    assert texts_together(tiny("bert"), 10, held_bytes=room, keeps_maps=True) == 5
    # Two layers that come only all at once.
    assert texts_together(odd_model("by exponentials"), 10, held_bytes=room) == 7


def test_kernels_on_an_accelerator_hold_little_unless_it_would_idle() -> None:
    """A ninth of what a plain pass takes may be held, and 8,192 tokens go together however much is held."""
    model = tiny("bert")
    config = model.config
    held = 3 * 4 * 10 * 4  # bytes of a token of ten: three layers of four heads
    own = (2 * config.intermediate_size + 3 * config.hidden_size) * 4  # of a token in a plain pass
    weights = sum(weight.numel() for weight in model.network.parameters()) * 4
    on_gpu: dict[str, Any] = {"device": "cuda", "by_kernels": True, "keeps_maps": True}
    fitting = texts_together(model, 10, least_tokens=0, **on_gpu)
    plain = weights + 32_768 * own
    taken = weights + 10 * fitting * (own + held)
    assert 1 < taken / plain <= 1 + 1 / 9 < (taken + 10 * (own + held)) / plain
    assert texts_together(model, 10, least_tokens=30_000, **on_gpu) == 3000 > fitting
    assert texts_together(model, 8, **on_gpu) >= 8192 // 8


# Too large for memory


@contextmanager
def running_out(fails: Callable[[int], bool], error: Exception) -> Iterator[list[int]]:
    """Inside, BERT fails on batches of so many texts when two of its layers have run; gives how many texts each had.

    Its class is changed and no module of it, as a network with hooks is not copied for other threads.
    """
    sizes: list[int] = []
    forward = BertModel.forward

    def failing(self: BertModel, input_ids: Tensor, *arguments: Any, **options: Any) -> Any:
        sizes.append(len(input_ids))
        if not fails(len(input_ids)):
            return forward(self, input_ids, *arguments, **options)
        hook = self.encoder.layer[2].register_forward_pre_hook(_raising(error))
        try:
            return forward(self, input_ids, *arguments, **options)
        finally:
            hook.remove()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BertModel, "forward", failing)
        yield sizes


def _raising(error: Exception) -> Callable[..., None]:
    def raise_it(*_: object) -> None:
        raise error

    return raise_it


OUT_OF_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory"),
    MemoryError(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you tried"),
]


@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("error", OUT_OF_MEMORY, ids=["torch", "python", "a CPU"])
def test_a_batch_too_large_for_memory_goes_in_halves_and_nothing_counts_twice(
    error: Exception, kernels: bool
) -> None:
    options: dict[str, Any] = {**OPTIONS, "kernels": kernels, "batch_size": 7}
    whole = hs.analyze(tiny("bert"), TEXTS, **options)
    with running_out(lambda texts: texts > 2, error) as sizes:
        halves = hs.analyze(tiny("bert"), TEXTS, **options)
    assert {1, 2} <= set(sizes)
    assert 7 in sizes
    assert halves.provenance["options"]["kernels"] == whole.provenance["options"]["kernels"]
    for name, array in whole.stack("encoder").items():
        np.testing.assert_allclose(halves[name].values, array.values, atol=2e-5, rtol=1e-4, err_msg=name)


def test_a_batch_that_fails_once_is_counted_in_two_halves() -> None:
    tries: list[int] = []

    def first_of_four(texts: int) -> bool:
        tries.append(texts)
        return texts == 4 and tries.count(4) == 1

    options: dict[str, Any] = {**OPTIONS, "kernels": False, "batch_size": 4}
    whole = hs.analyze(tiny("bert"), TEXTS[:4], **options)
    with running_out(first_of_four, OUT_OF_MEMORY[0]) as sizes:
        halves = hs.analyze(tiny("bert"), TEXTS[:4], **options)
    assert sizes[-3:] == [4, 2, 2]
    for name, array in whole.stack("encoder").items():
        np.testing.assert_allclose(halves[name].values, array.values, atol=1e-5, err_msg=name)


def test_one_text_too_large_for_memory_fails() -> None:
    with running_out(lambda texts: True, OUT_OF_MEMORY[0]), pytest.raises(torch.OutOfMemoryError):
        hs.analyze(tiny("bert"), TEXTS, kernels=False, **OPTIONS)


def test_other_failures_are_not_tried_again() -> None:
    with (
        running_out(lambda texts: texts == 4, RuntimeError("shapes do not fit")) as sizes,
        pytest.raises(RuntimeError, match="shapes do not fit"),
    ):
        hs.analyze(tiny("bert"), TEXTS[:4], kernels=False, batch_size=4, **OPTIONS)
    assert sizes[-1] == 4


@pytest.mark.parametrize("distances", ["sampled", "exact"])
def test_a_failed_batch_lets_its_maps_go_before_it_is_tried_again(distances: Any) -> None:
    """Otherwise the halves would run out of the same memory."""
    model = hs.wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer)
    layers_of(model, ["A dog!"], weighting="value")  # after which it is known
    text = (" ".join(["the cat saw a dog"] * 5), None)
    length = 27
    held: list[int] = []
    batches = 0

    def count(*_: object) -> None:
        held.append(
            sum(
                type(thing) is Tensor and thing.dim() == 4 and thing.shape[-1] == length
                for thing in gc.get_objects()
            )
        )

    def fail_first(*_: object) -> None:
        nonlocal batches
        batches += 1
        if batches == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")

    model.network.embeddings.register_forward_pre_hook(count)
    model.network.encoder.layer[2].register_forward_pre_hook(fail_first)
    gc.collect()
    gc.disable()
    try:
        hs.analyze(
            model,
            [text] * 4,
            max_length=length,
            measures=["head_distance"],
            distances=distances,
            kernels=False,
            batch_size=4,
            sentences=0,
        )
    finally:
        gc.enable()
    assert batches == 3
    assert held == [held[0]] * 3
