"""T5's position bias has an entry for each head, and the layers of a stack share it."""

import pytest
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import InterventionError
from headscope.models.adapters import T5


def test_the_same_heads_can_be_taken_out_of_all_layers() -> None:
    model = tiny("t5")
    assert isinstance(model.adapter, T5)
    smaller = hs.prune(model, [f"encoder:{layer}.1" for layer in range(3)])
    first = smaller.core.encoder.block[0].layer[0].SelfAttention
    assert first.relative_attention_bias.weight.shape[1] == 3
    assert first.q.weight.shape[0] == first.o.weight.shape[1]


def test_a_head_of_one_layer_alone_is_refused() -> None:
    with pytest.raises(InterventionError, match="share their position bias"):
        hs.prune(tiny("t5"), ["encoder:1.1"])
