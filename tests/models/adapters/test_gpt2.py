"""GPT-2's one matrix for queries, keys and values is cut in all three parts."""

from tests.helpers.tiny import tiny

import headscope as hs
from headscope.models.adapters import GPT2


def test_its_heads_can_be_taken_out() -> None:
    model = tiny("gpt2")
    assert isinstance(model.adapter, GPT2)
    smaller = hs.prune(model, ["1.2"])  # proved on a probe to give the same as zeroing
    whole, cut = (one.core.h[1].attn.c_attn.weight.shape[1] for one in (model, smaller))
    assert cut == whole * 3 // 4


def test_it_has_no_segments_though_it_takes_token_types() -> None:
    assert "token_type_ids" in tiny("gpt2").accepts
    assert not tiny("gpt2").has_segments
