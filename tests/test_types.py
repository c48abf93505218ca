"""What the rooms pass around."""

import numpy as np
import pytest
import torch
from tests.helpers.attention import random_texts, token_batch

from headscope.errors import OptionError
from headscope.types import HeadChoice, HeadGrid, HeadId, LabelledArray, LayerAttention, numbering


def test_heads_are_written_layer_dot_head() -> None:
    assert str(HeadId(3, 2)) == "3.2"
    assert HeadId.parse(" 11.0 ") == HeadId(11, 0)
    assert HeadGrid("encoder", 2, 2, causal=False).labels == ("0.0", "0.1", "1.0", "1.1")


@pytest.mark.parametrize("text", ["3", "3,2", "a.b", "-1.2", "3.2.1", ""])
def test_what_is_no_head_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"write layer\.head"):
        HeadId.parse(text)


@pytest.mark.parametrize(
    ("text", "stack", "heads"),
    [
        ("1.2", None, ["1.2"]),
        (" 1 . 2 ", None, ["1.2"]),
        ("1.*", None, ["1.0", "1.1", "1.2"]),
        ("layer 1", None, ["1.0", "1.1", "1.2"]),
        ("layers 0-1", None, ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]),
        ("all", None, ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]),
        ("encoder:1.2", "encoder", ["1.2"]),
        ("Decoder 0.1", "decoder", ["0.1"]),
        ("cross: layer 0", "cross", ["0.0", "0.1", "0.2"]),
        ("cross all", "cross", ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]),
    ],
)
def test_heads_as_people_write_them(text: str, stack: str | None, heads: list[str]) -> None:
    choice = HeadChoice.parse(text)
    assert choice.stack == stack
    assert [str(head) for head in choice.within(2, 3)] == heads
    assert [
        label for label in HeadGrid("encoder", 2, 3, causal=False).labels if HeadId.parse(label) in choice
    ] == heads
    assert HeadChoice.parse(str(choice)).within(2, 3) == choice.within(2, 3)


@pytest.mark.parametrize("text", ["", "3", "a.b", "-1.2", "3.2.1", "type:dense", "layer", "middle:1.2"])
def test_an_error_says_how_heads_are_written(text: str) -> None:
    with pytest.raises(OptionError, match=r"write a head as 3\.2 .* layer 3, or all; .* encoder:3\.2"):
        HeadChoice.parse(text)


def test_one_head_is_one_head() -> None:
    assert HeadChoice.parse("encoder:1.2").one() == HeadId(1, 2)
    for text in ("1.*", "layers 0-1", "all"):
        with pytest.raises(OptionError, match=r"is not one head; write layer\.head"):
            HeadChoice.parse(text).one()


@pytest.mark.parametrize("text", ["2.0", "0.3", "layer 2", "layers 1-2"])
def test_heads_outside_a_grid_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match="layers go from 0 to 1, heads from 0 to 2"):
        HeadChoice.parse(text).within(2, 3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_observed_in_single(dtype: torch.dtype) -> None:
    tokens = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), [4]))
    weights = torch.full((1, 1, 4, 4), 0.25, dtype=dtype)
    assert LayerAttention.observed(0, weights, tokens, tokens).attention.dtype == torch.float32


def test_reductions_and_derivations_are_computed_once() -> None:
    tokens = token_batch(random_texts(HeadGrid("encoder", 1, 1, causal=False), [4]))
    batch = LayerAttention.observed(0, torch.rand(1, 1, 4, 4), tokens, tokens)
    calls = []

    def reduction(seen: LayerAttention) -> torch.Tensor:
        calls.append(seen)
        return seen.attention.sum()

    assert batch.reduce(reduction) is batch.reduce(reduction)
    assert len(calls) == 1
    assert tokens.derive(len_of) is tokens.derive(len_of)


def len_of(tokens: object) -> object:
    return object()


def test_an_array_has_the_dimensions_of_its_labels() -> None:
    grid = HeadGrid("encoder", 2, 3, causal=False)
    array = LabelledArray.of(np.zeros((2, 3)), grid.coords, "nothing", "nats")
    assert array.dims == ("layer", "head")
    assert array.coords == {"layer": range(2), "head": range(3)}
    assert (array.description, array.units) == ("nothing", "nats")


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ((), ""),
        ((3,), "Layer 0 of the decoder is layer 3 of the network."),
        ((1, 3, 5), "Layers 0, 1, 2 of the decoder are layers 1, 3, 5 of the network."),
    ],
)
def test_layers_that_are_counted_otherwise_in_the_network(layers: tuple[int, ...], words: str) -> None:
    assert numbering("decoder", layers) == words
    assert HeadGrid("decoder", 3, 2, causal=True, module_layers=layers).numbering == words
