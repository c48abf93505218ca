"""GPT-J turns queries and keys without a module for it; whoever shows neurons must know."""

import pytest
import transformers as tf
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.models import wrap
from headscope.models.adapters import GPTJ


def test_it_is_rotated_without_a_rotary_module() -> None:
    config = tf.GPTJConfig(vocab_size=99, n_embd=16, n_layer=1, n_head=2, rotary_dim=4, n_positions=32)
    model = wrap(tf.GPTJModel(config), tiny("gpt2").tokenizer, name="turning")
    assert not any("rotary" in type(module).__name__.lower() for module in model.network.modules())
    assert isinstance(model.adapter, GPTJ)
    assert model.is_rotated


def test_an_explanation_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat sat.", "a dog saw it.", "the house was red."]
    plain = hs.explain(tiny("gpt2"), "0.0", texts, max_length=32).source.notes
    assert not any("rotation" in note for note in plain)
    monkeypatch.setitem(tiny("gpt2").__dict__, "is_rotated", True)
    notes = hs.explain(tiny("gpt2"), "0.0", texts, max_length=32).source.notes
    assert any("after rotation (RoPE)" in note for note in notes)
