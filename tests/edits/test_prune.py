"""Pruned models are smaller and give what zeroing gives; what cannot be pruned is refused."""

import pickle
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from tests.helpers.reference_edits import EDITABLE, batch, real_states, run
from tests.helpers.tiny import sentencepiece_tokenizer, tiny, wordpiece_tokenizer

from headscope.edits import edit, prune
from headscope.errors import InterventionError
from headscope.models import wrap
from headscope.trace import surveyed

# What each architecture allows, and how many parameters go: rows of width 32 (or 8 a head) with their biases.
SEPARATE, BARE, GROUP = 3 * (32 * 8 + 8) + 8 * 32, 4 * 32 * 8, 2 * 32 * 8 + 2 * 32 * 2 * 8
ALLOWED: dict[str, tuple[str, int]] = {
    "bert": ("0.1, 2.0, 2.2, 2.3", 4 * SEPARATE),
    "roberta": ("0.1, 2.0", 2 * SEPARATE),
    "electra": ("1.3", SEPARATE),
    "distilbert": ("0.1, 2.0", 2 * SEPARATE),
    "albert": ("0.2, 1.2, 2.2", SEPARATE),
    "gpt2": ("0.1, 1.0, 1.3", 3 * SEPARATE),
    "llama": ("0.0, 0.1, 2.2, 2.3", 2 * GROUP),
    "gemma2": ("1.2, 1.3", GROUP),
    "gptoss": ("1.2, 1.3", GROUP + 2 * 8 + 2 * 8 + 2),
    "t5": (
        "encoder 0.1, encoder 1.1, encoder 2.1, decoder 0.2, decoder 1.2, cross 0.0, cross 1.0",
        7 * BARE + 2 * 32,
    ),
    "bart": ("encoder 0.1, encoder 1.2, decoder 1.0, cross 0.1", 2 * SEPARATE + 2 * 2 * SEPARATE),
}


@pytest.mark.parametrize("architecture", EDITABLE)
def test_a_pruned_model_is_the_zeroed_one(architecture: str) -> None:
    heads, gone = ALLOWED[architecture]
    inputs, _ = batch(architecture)
    model = tiny(architecture)
    plain = run(architecture, inputs)
    smaller = prune(model, heads)
    with edit(model, heads):
        expected = run(architecture, inputs)
    with torch.no_grad():
        ours = real_states(smaller.network(**inputs)[0], inputs)
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)
    assert (ours - plain).abs().max() > 1e-3
    assert model.parameters - smaller.parameters == gone
    assert torch.equal(run(architecture, inputs), plain), "the original is left alone"


def test_a_pruned_writer_writes_what_the_zeroed_one_does() -> None:
    torch.manual_seed(0)
    network = tf.GPT2LMHeadModel(deepcopy(tiny("gpt2").config)).eval()
    network.transformer.load_state_dict(tiny("gpt2").network.state_dict())
    model: Any = wrap(network, tiny("gpt2").tokenizer)
    ids = torch.tensor([[7, 21, 30, 9]])
    options = {
        "max_new_tokens": 6,
        "do_sample": False,
        "pad_token_id": 0,
        "eos_token_id": None,
        "bos_token_id": 3,
        "attention_mask": torch.ones_like(ids),
    }
    smaller: Any = prune(model, "0.1, 0.2, 1.0")
    with edit(model, "0.1, 0.2, 1.0"):
        expected = model.network.generate(ids, **options)
    assert smaller.network.generate(ids, **options).tolist() == expected.tolist()
    assert expected.tolist() != model.network.generate(ids, **options).tolist()


def test_a_network_with_a_task_head_keeps_it() -> None:
    torch.manual_seed(0)
    network = tf.BertForSequenceClassification(deepcopy(tiny("bert").config)).eval()
    model: Any = wrap(network, wordpiece_tokenizer())
    inputs, _ = batch("bert")
    smaller: Any = prune(model, "0.1, 1.2")
    with torch.no_grad():
        with edit(model, "0.1, 1.2"):
            expected = network(**inputs).logits
        torch.testing.assert_close(smaller.network(**inputs).logits, expected, atol=1e-5, rtol=1e-5)


def test_a_model_with_as_many_heads_in_each_layer_can_be_analysed_and_edited() -> None:
    smaller = prune(tiny("bert"), "0.1, 1.2, 2.3")
    assert surveyed(smaller).stacks.grids[0].heads == 3
    inputs, _ = batch("bert")
    with edit(smaller, "0.1"), edit(tiny("bert"), "0.1, 1.2, 2.3, 0.2"), torch.no_grad():
        ours = smaller.network(**inputs)[0]
        expected = tiny("bert").network(**inputs)[0]
    torch.testing.assert_close(real_states(ours, inputs), real_states(expected, inputs), atol=1e-5, rtol=1e-5)


def test_saving_is_refused_and_the_state_dict_loads_again(tmp_path: Path) -> None:
    smaller = prune(tiny("bert"), "0.1, 1.2")
    with pytest.raises(InterventionError, match=r"save its network\.state_dict"):
        smaller.network.save_pretrained(tmp_path)
    again = prune(tiny("bert"), "0.1, 1.2")
    again.network.load_state_dict(pickle.loads(pickle.dumps(smaller.network.state_dict())))


@pytest.mark.parametrize(
    ("architecture", "heads", "message"),
    [
        ("bert", "1.*", "no head left"),
        ("albert", "1.1", "share their weights"),
        ("albert", "0.1, 1.1, 2.2", "share their weights"),
        ("llama", "1.1", "heads 0, 1 share their keys and values"),
        ("t5", "encoder 1.1", "share their position bias"),
        ("t5", "cross 1.1", "share their position bias"),
        ("mpnet", "1.1", "does not run with heads taken out"),
    ],
)
def test_what_cannot_be_pruned_is_refused(architecture: str, heads: str, message: str) -> None:
    with pytest.raises(InterventionError, match=message):
        prune(tiny(architecture), heads)


def test_a_layout_that_is_not_known_is_refused() -> None:
    config = tf.GPTNeoXConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=128
    )
    model = wrap(tf.GPTNeoXModel(config).eval(), sentencepiece_tokenizer(bos=True), name="tiny-neox")
    with pytest.raises(
        InterventionError, match=r"where GPTNeoXAttention keeps its heads.*edit\(how='zero'\)"
    ):
        prune(model, "1.1")


def test_a_pruned_model_that_differs_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("headscope.edits.prune")  # by its name in the package it is the function
    own = module._spread

    def wrong(numbers: list[int], size: int) -> torch.Tensor:
        return own([(number + 1) % 4 for number in numbers], size)

    monkeypatch.setattr(module, "_spread", wrong)
    with pytest.raises(InterventionError, match="differs by"):
        prune(tiny("bert"), "1.1")


def test_an_edited_model_is_not_pruned() -> None:
    inputs, _ = batch("bert")
    with edit(tiny("bert"), "0.0"):
        run("bert", inputs)
        with pytest.raises(InterventionError, match="leave the edit"):
            prune(tiny("bert"), "1.1")
