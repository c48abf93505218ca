"""Attention from anywhere: read alike whatever holds it, and refused with a reason."""

from typing import Any

import numpy as np
import pytest
import torch

from headscope.errors import HeadscopeWarning, OptionError
from headscope.pages.arrays import from_attentions

LAYERS, HEADS, TOKENS = 2, 3, 5
NAMES = ["[CLS]", "the", "dog", "##s", "[SEP]"]


def weights(queries: int = TOKENS, keys: int = TOKENS) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(keys), size=(LAYERS, HEADS, queries))


def jax_like(array: np.ndarray) -> Any:
    class Elsewhere:
        def __iter__(self) -> Any:
            return iter(Inner(layer) for layer in array)

    class Inner:
        def __init__(self, layer: np.ndarray) -> None:
            self.layer = layer

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            return self.layer.astype(dtype)

    return Elsewhere()


@pytest.mark.parametrize(
    "given",
    [
        weights(),
        weights().tolist(),
        list(weights()),
        torch.tensor(weights()),
        torch.tensor(weights(), requires_grad=True),
        tuple(torch.tensor(layer)[None] for layer in weights()),  # as transformers returns them
        torch.tensor(weights())[:, None],
        jax_like(weights()),
    ],
    ids=["numpy", "lists", "list of numpy", "torch", "gradients", "tuple of batches", "batch axis", "jax"],
)
def test_anything_that_holds_numbers(given: Any) -> None:
    observed = from_attentions(given, NAMES)
    for layer in range(LAYERS):
        np.testing.assert_allclose(observed.layer("encoder", layer), weights()[layer], atol=1e-6)
    assert observed.stacks[0].model_dump() == {
        "name": "encoder",
        "layers": LAYERS,
        "heads": HEADS,
        "queries": "source",
        "keys": "source",
        "causal": False,
        "module_layers": [],
    }
    assert observed.source.words == ["the", "dogs"]
    assert observed.source.word == [-1, 0, 1, 1, -1]
    assert observed.source.segment == [-1, 0, 0, 0, -1]


def test_half_precision() -> None:
    observed = from_attentions(torch.tensor(weights()).bfloat16(), NAMES)
    np.testing.assert_allclose(observed.layer("encoder", 1), weights()[1], atol=4e-3)


def test_a_model_that_sees_no_future_is_a_decoder() -> None:
    causal = np.tril(weights())
    causal /= causal.sum(-1, keepdims=True)
    [stack] = from_attentions(causal, NAMES).stacks
    assert (stack.name, stack.causal) == ("decoder", True)


def test_cross_attention_has_tokens_of_its_own_on_both_sides() -> None:
    observed = from_attentions(weights(5, 4), NAMES, key_tokens=list("wxyz"))
    [stack] = observed.stacks
    assert (stack.name, stack.queries, stack.keys) == ("cross", "target", "source")
    assert observed.source.pieces == list("wxyz")
    assert observed.target is not None
    assert observed.target.pieces == NAMES


def test_segments() -> None:
    assert from_attentions(weights(), NAMES, segments=[-1, 0, 1, 1, -1]).source.segment == [-1, 0, 1, 1, -1]


def test_segments_say_what_is_special() -> None:
    names = ["<s>", "see", "</script>", "[1]", "end"]
    source = from_attentions(weights(), names, segments=[-1, 0, 1, 1, -1]).source
    assert source.special == [True, False, False, False, True]
    assert source.word == [-1, 0, 1, 2, -1]
    assert from_attentions(weights(), names).source.special == [True, False, True, False, False]


def broken(value: float) -> np.ndarray:
    array = weights()
    array[1, 2, 3, 4] = value
    return array


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        (weights()[0], {}, r"layer 0 of attentions has shape \(5, 5\)"),
        (weights()[0, 0], {}, "expected"),
        (5, {}, "int cannot be read"),
        ([["a"]], {}, "cannot be read as numbers"),
        ([], {}, "is empty"),
        (np.zeros((2, 0, 5, 5)), {}, "holds no weights"),
        ([*weights(), weights(4, 4)[0]], {}, r"layer 2 of attentions has shape \(3, 4, 4\)"),
        (np.stack([weights(), weights()], 1), {}, "is of 2 texts"),
        (weights(4, 5), {}, "5 tokens, and attentions has 4 queries"),
        (weights(5, 4), {}, "give key_tokens="),
        (weights(5, 4), {"key_tokens": ["a"]}, "1 key_tokens, and attentions has 4 keys"),
        (weights(), {"segments": [0, 1]}, "segments"),
        (weights(), {"segments": [0, 1, 2, 0, 0]}, "segments"),
        (broken(float("nan")), {}, "layer 1 of attentions has nan at head 2, query 3, key 4"),
        (broken(-0.1), {}, r"from -0.1 to"),
        (broken(3.0), {}, "before the softmax"),
    ],
)
def test_what_is_no_attention_is_refused(given: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        from_attentions(given, NAMES, **options)


def test_one_text_is_no_list_of_tokens() -> None:
    with pytest.raises(OptionError, match="not one text"):
        from_attentions(weights(), "abcde")


def test_rows_that_do_not_add_up_are_shown_with_a_warning() -> None:
    array = weights()
    array[1, 2, 3] /= 2
    with pytest.warns(HeadscopeWarning, match=r"layer 1 .* head 2, query 3 add up to 0.500"):
        observed = from_attentions(array, NAMES)
    np.testing.assert_allclose(observed.layer("encoder", 1), array[1], atol=1e-6)


def test_one_layer_that_only_looks_back_makes_no_decoder() -> None:
    maps = weights()
    maps[0] = np.tril(maps[0])
    maps[0] /= maps[0].sum(-1, keepdims=True)
    assert [stack.name for stack in from_attentions(maps, NAMES).stacks] == ["encoder"]
    both = np.tril(weights())
    assert [stack.name for stack in from_attentions(both / both.sum(-1, keepdims=True), NAMES).stacks] == [
        "decoder"
    ]
