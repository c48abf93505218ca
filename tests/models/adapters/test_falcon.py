"""Falcon is asked for its attention with the eager setting, and has its own setting back afterwards."""

import torch
from tests.helpers.tiny import tiny

from headscope.models.adapters import Adapter, Falcon
from headscope.trace.observe import returned_attention


def test_its_masks_hide_what_follows(monkeypatch) -> None:
    model = tiny("falcon")
    assert isinstance(model.adapter, Falcon)
    monkeypatch.setattr(model.config, "_attn_implementation", "sdpa")
    ids = torch.tensor([[5, 6, 7, 8]])
    for weights in returned_attention(model.core, {"input_ids": ids}):
        assert not weights.triu(1).any()
    assert model.config._attn_implementation == "sdpa"


def test_others_are_left_alone() -> None:
    assert not Adapter.reads_attention_setting
