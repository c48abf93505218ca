"""RoPE is known by its modules, or by a setting where there are none."""

import pytest
import transformers as tf
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.capture import is_rotated
from headscope.models import wrap


@pytest.mark.parametrize(
    ("architecture", "rotates"), [("llama", True), ("gpt2", False), ("bert", False), ("t5", False)]
)
def test_by_module(architecture: str, rotates: bool) -> None:
    assert is_rotated(tiny(architecture)) == rotates


def test_by_setting() -> None:
    network = tf.GPTJModel(
        tf.GPTJConfig(vocab_size=99, n_embd=16, n_layer=1, n_head=2, rotary_dim=4, n_positions=32)
    )
    assert not any("rotary" in type(module).__name__.lower() for module in network.modules())
    assert is_rotated(wrap(network, tiny("gpt2").tokenizer, name="turning"))


def test_an_explanation_says_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["the cat sat.", "a dog saw it.", "the house was red."]
    plain = hs.explain(tiny("gpt2"), "0.0", texts, max_length=32).source.notes
    assert not any("rotation" in note for note in plain)
    monkeypatch.setattr(tiny("gpt2").config, "rotary_dim", 4, raising=False)
    assert any(
        "after rotation (RoPE)" in note
        for note in hs.explain(tiny("gpt2"), "0.0", texts, max_length=32).source.notes
    )
