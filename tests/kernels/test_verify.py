"""The kernels against the model's own function, end to end: compiled for a CPU, and those of a GPU interpreted."""

import gc
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.odd_models import diffllama, odd_model
from tests.helpers.tiny import tinier, tiny
from tests.seams import ANSWERED_AT_ONCE, KernelsNotUsedError, kernels_as, layers_of, reduced
from torch import Tensor, nn
from transformers import BertModel
from transformers.models.bert import modeling_bert

import headscope as hs

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*encountered in.*:RuntimeWarning"
)  # numpy, of minus infinity

PAIRS = [("A dog!", "It."), ("The cat sat, the cat was red.", "A dog, the cat.")]
LENGTH = 37
"""Of texts, so that tensors of them are known by their shapes."""


@pytest.fixture(params=["numba", pytest.param("triton", marks=pytest.mark.slow)])
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Kernels for a CPU, or those for a GPU, which are interpreted on a CPU."""
    if request.param == "triton":
        pytest.importorskip("triton")
    with kernels_as(request.param):
        yield str(request.param)


def analyzed(model: hs.Model, **options: Any) -> hs.Atlas:
    return hs.analyze(model, PAIRS, **{"max_length": 48, "sentences": 0, **options})


def note(model: hs.Model, **options: Any) -> str:
    """What the atlas says of kernels."""
    return str(analyzed(model, measures=["entropy"], **options).provenance["options"]["kernels"])


def assert_same(found: hs.Atlas, expected: hs.Atlas) -> None:
    assert found.stacks == expected.stacks
    for stack in expected.stacks:
        assert found.stack(stack).keys() == expected.stack(stack).keys()
        for name, array in expected.stack(stack).items():
            np.testing.assert_allclose(
                found.stack(stack)[name].values, array.values, atol=2e-5, rtol=1e-4, err_msg=f"{stack} {name}"
            )


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_every_measure_is_the_same_by_kernels_and_by_the_models_own_function(
    architecture: str, kind: str
) -> None:
    model = tinier(architecture)
    found = analyzed(model)
    assert found.provenance["options"]["kernels"] == "used"
    assert_same(found, analyzed(model, kernels=False))


def test_tables_that_are_made_with_the_batch_change_nothing(kind: str) -> None:
    """As they are for an accelerator, while it is at work; of texts that are read and of those that are written."""
    model = tinier("t5")
    options: dict[str, Any] = {"limit": 1} if kind == "triton" else {}  # interpreted, it takes its time
    plain = analyzed(model, **options)
    with kernels_as(kind, tables_beforehand=True):  # type: ignore[arg-type]
        known = analyzed(model, **options)
    assert known.provenance["options"]["kernels"] == "used"
    for stack in plain.stacks:
        for name, array in plain.stack(stack).items():
            np.testing.assert_array_equal(known.stack(stack)[name].values, array.values, err_msg=name)


def test_rows_may_be_summed_up_a_layer_at_a_time(kind: str) -> None:
    """As they are of long texts, whose rows of all layers would take gigabytes."""
    model = tinier("bert")
    with kernels_as(kind, keep_rows=False):  # type: ignore[arg-type]
        found = analyzed(model)
    own = analyzed(model, kernels=False)
    for name in ("example_map", "example_map_moved", "explained_weight"):
        mine, theirs = found[name].values, own[name].values
        assert np.isfinite(theirs).any()
        np.testing.assert_allclose(mine, theirs, atol=2e-5, rtol=1e-4, err_msg=name)


# Where they are not used, and what the atlas says


Attend = Callable[..., tuple[Tensor, Tensor]]


@contextmanager
def computing(attend: Attend) -> Iterator[None]:
    """Inside, `attend` is BERT's own attention function."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modeling_bert, "eager_attention_forward", attend)
        yield


def softmax(scores: Tensor, mask: Any) -> Tensor:
    """(text, head, query, key) weights as those of BERT."""
    return (scores if mask is None else scores + mask).softmax(-1)


def other_weights(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> Any:
    """As BERT, but the second layer says that its heads look elsewhere."""
    weights = softmax(query @ key.mT * options["scaling"], mask)
    said = weights.flip(1) if module.layer_idx == 1 else weights
    return (weights @ value).transpose(1, 2), said


def capped(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> Any:
    """As BERT, but for a cap that the scores of a tiny model do not come near."""
    weights = softmax(2e3 * torch.tanh(query @ key.mT * options["scaling"] / 2e3), mask)
    return (weights @ value).transpose(1, 2), weights


def another_output(module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, **options: Any) -> Any:
    """As BERT, but the second layer gives a little more, too little for the last states to show it."""
    weights = softmax(query @ key.mT * options["scaling"], mask)
    return (weights @ value).transpose(1, 2) * (1.0005 if module.layer_idx == 1 else 1), weights


@pytest.mark.parametrize(
    ("attend", "says"),
    [
        (other_weights, r"not used: .* of layer 1 of the encoder differs by"),
        (capped, r"not used: sharper output of layer 0 of the encoder differs by"),
        (another_output, r"not used: .*output of layer 1 of the encoder differs by"),
    ],
)
def test_kernels_that_differ_from_the_model_are_not_used_and_the_layer_is_named(
    attend: Attend, says: str, kind: str
) -> None:
    model = hs.wrap(deepcopy(tinier("bert").network), tinier("bert").tokenizer)
    for layer, block in enumerate(model.network.encoder.layer):
        block.attention.self.layer_idx = layer
    with computing(attend):
        assert re.match(says, note(model, weigh="looked"))


def test_an_option_that_kernels_do_not_know_is_named() -> None:
    model = hs.wrap(deepcopy(tiny("bert").network), tiny("bert").tokenizer)

    def turn(module: object, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return given, {**named, "turned": 0.5, "held": None}

    model.network.encoder.layer[0].attention.self.register_forward_pre_hook(turn, with_kwargs=True)
    assert note(model) == "not used: layer 0 of the encoder is given turned, which kernels do not know"


def test_a_kernel_that_does_not_run_is_not_used() -> None:
    with kernels_as(fails=RuntimeError("out of resource: shared memory\nmore")):
        said = note(tiny("bert"))
    assert said == "not used: the kernel does not run here (RuntimeError: out of resource: shared memory)"


def test_why_kernels_are_not_used() -> None:
    assert note(tiny("bert")) == "used"
    assert note(tiny("bert"), kernels=False) == "not used: switched off (--no-kernels)"
    assert "published forms" in note(tiny("bert"), faithful=True)
    assert "out of the hook's reach" in note(tiny("mpnet"))
    assert "out of the hook's reach" in note(odd_model("by exponentials"))
    assert "attention more than once" in note(diffllama())
    with hs.edit(tiny("bert"), "1.1"):
        assert note(tiny("bert")) == "not used: the model is edited"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_on_a_cpu_they_are_for_single_precision(dtype: torch.dtype) -> None:
    model = hs.wrap(deepcopy(tiny("bert").network).to(dtype), tiny("bert").tokenizer)
    assert note(model) == f"not used: the model runs in {str(dtype).removeprefix('torch.')} on cpu"


@pytest.mark.parametrize(
    ("device", "dtype", "why"),
    [
        ("cuda", torch.float64, "the model runs in float64 on cuda"),
        ("cuda", torch.float32, "Triton is not installed (pip install triton)"),
        ("mps", torch.float32, "the model runs on mps"),
    ],
)
def test_where_kernels_do_not_reach(
    device: str, dtype: torch.dtype, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices that this machine does not have: nothing runs, it is only asked for."""
    model = hs.wrap(deepcopy(tiny("bert").network).to(dtype), tiny("bert").tokenizer)
    reduced(model, ["A dog!"], ANSWERED_AT_ONCE)  # after which it is known
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.setattr(hs.Model, "device", torch.device(device))
    with pytest.raises(KernelsNotUsedError) as raised:
        reduced(model, ["A dog!"], [], backend="kernels")
    assert str(raised.value) == f"not used: {why}"


# What is held


def texts_of_length(count: int) -> list[tuple[str, None]]:
    """Texts of LENGTH tokens, special ones counted."""
    return [(" ".join(["the cat saw a dog"] * 7), None)] * count


def tensors_of_texts() -> list[tuple[int, ...]]:
    """The shapes of all tensors there are that have to do with those texts, garbage too."""
    shapes = []
    for thing in gc.get_objects():
        if type(thing) in (Tensor, nn.Parameter) and LENGTH in thing.shape:
            shapes.append(tuple(thing.shape))
    return shapes


@contextmanager
def without_looking_for_cycles() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.fixture(params=["numba", pytest.param("triton", marks=pytest.mark.slow), "none"])
def observe(request: pytest.FixtureRequest) -> Iterator[Callable[..., hs.Atlas]]:
    """`hs.analyze` of so many texts of LENGTH tokens, one at a time: by either kernels, or without."""
    if request.param == "triton":
        pytest.importorskip("triton")

    def run(model: hs.Model, texts: int, **options: Any) -> hs.Atlas:
        options |= {"max_length": LENGTH, "batch_size": 1, "sentences": 0, "kernels": request.param != "none"}
        atlas = hs.analyze(model, texts_of_length(texts), **options)
        assert (atlas.provenance["options"]["kernels"] == "used") == options["kernels"]
        return atlas

    with kernels_as("triton" if request.param == "triton" else "numba"):
        yield run


def test_what_a_batch_leaves_is_let_go_of_without_a_look_for_cycles(observe: Callable[..., hs.Atlas]) -> None:
    """On a GPU it would else stay beside that of the next batches, gigabytes of it."""
    model = tinier("bert")
    reduced(model, PAIRS, ANSWERED_AT_ONCE)  # after which the model is known
    with without_looking_for_cycles():
        before = len(tensors_of_texts())
        assert observe(model, 2).provenance["tokens"] == 2 * LENGTH
        assert tensors_of_texts()[before:] == []


def test_a_layer_that_has_passed_leaves_nothing(observe: Callable[..., hs.Atlas]) -> None:
    """Queries, keys, values and the residual stream are as large as what a layer gives: no sum needs them."""
    config = deepcopy(tinier("bert").network.config)
    config.num_hidden_layers = 4
    network = BertModel(config).eval()
    model = hs.wrap(network, tinier("bert").tokenizer)
    reduced(model, PAIRS, ANSWERED_AT_ONCE)
    counts: list[int] = []
    for layer in network.encoder.layer:
        layer.attention.register_forward_pre_hook(lambda *_: counts.append(len(tensors_of_texts())))
    with without_looking_for_cycles():
        observe(model, 1, measures=["entropy", "role_attention", "named_patterns", "loudness"])
    # The first layers make room for all; the passes before are of texts by which kernels are proved.
    assert counts[-2] == counts[-1]


def test_the_residual_stream_is_let_go_of_with_its_layer() -> None:
    """What holds it while a layer attends holds none when the next batch begins."""
    model = hs.wrap(deepcopy(tiny("llama").network), tiny("llama").tokenizer)
    text = "the cat saw a dog " * 7
    length = layers_of(model, [text], weighting="value")["decoder"][0].shape[-1]
    counts: list[int] = []

    def count(*_: object) -> None:
        states = [one for one in gc.get_objects() if type(one) is Tensor and one.shape[1:] == (length, 32)]
        counts.append(len(states))

    model.core.register_forward_pre_hook(count)
    with without_looking_for_cycles():
        hs.analyze(model, [(text, None)] * 3, max_length=60, measures=["entropy"], batch_size=1, sentences=0)
    assert counts[-3:] == [0, 0, 0]
