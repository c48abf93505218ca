"""BLIP's text tower reads in both directions unless it is told that it is a decoder, as its head tells it."""

from pathlib import Path

import numpy as np
import torch
from tests.helpers.families import saved

import headscope as hs
from headscope.models.adapters import BlipText
from headscope.pages.seen import observe

TEXT = "the cat sat on the mat"


def test_captions_are_written_from_left_to_right(tmp_path: Path) -> None:
    model = hs.load(saved("blip", tmp_path), tower="text")
    assert isinstance(model.adapter, BlipText)
    seen = observe(model, TEXT)
    assert seen.stacks[0].causal
    model.core.set_attn_implementation("eager")
    ids = model.tokenizer(TEXT, return_tensors="pt").input_ids
    with torch.inference_mode():
        maps = model.core(input_ids=ids, is_decoder=True, output_attentions=True).attentions
    assert np.allclose(seen.layer("decoder", 1), maps[1][0].numpy(), atol=1e-6)
