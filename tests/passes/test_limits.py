"""Models that take few tokens, and models of so many heads that not all pairs of them can be compared."""

import pytest
import torch
import transformers as tf
from tests.helpers.tiny import byte_tokenizer, tiny

import headscope as hs
from headscope.errors import HeadscopeWarning
from headscope.kernels.verify import choose_kernels
from headscope.models import wrap
from headscope.trace import survey
from headscope.trace.watch import USED, Watch


def test_kernels_are_tried_on_no_more_tokens_than_a_model_takes() -> None:
    torch.manual_seed(0)
    config = tf.GPT2Config(n_embd=24, n_layer=2, n_head=2, n_positions=16, vocab_size=300)
    model = wrap(tf.GPT2Model(config).eval(), byte_tokenizer(), name="short-gpt2")
    watch = Watch(survey(model))
    choose_kernels(watch, wanted=True, faithful=False)
    assert watch.kernels == USED


def test_too_many_pairs_of_heads_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.passes.analyze.MOST_COMPARED", 11)  # the model has twelve heads
    texts = ["the cat sat on the mat .", "a dog saw it ."]
    with pytest.warns(HeadscopeWarning, match="12 heads make 66 pairs, so head_distance was left out"):
        without = hs.analyze(tiny("bert"), texts, max_length=16, sentences=0)
    assert "head_distance" not in without.stack("encoder")
    named = hs.analyze(tiny("bert"), texts, max_length=16, sentences=0, measures=["head_distance"])
    assert "head_distance" in named.stack("encoder")
