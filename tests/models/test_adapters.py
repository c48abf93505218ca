"""Architecture adapters: which one a model has, what it answers, and that each is documented."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers as tf
from tests.helpers.families import saved
from tests.helpers.tiny import BUILDERS, byte_tokenizer, tiny

import headscope as hs
from headscope.edits import prune
from headscope.errors import InterventionError, OptionError
from headscope.models import Model, wrap
from headscope.models.adapters import (
    ADAPTERS,
    GPT2,
    GPTJ,
    T5,
    Adapter,
    BlipText,
    Falcon,
    GPTBigCode,
    XLNet,
    adapter_for,
)
from headscope.pages.seen import observe
from headscope.trace.observe import returned_attention

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("model_type", ADAPTERS.names())
def test_every_model_type_is_documented(model_type: str) -> None:
    assert f"`{model_type}`" in (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


def test_families_without_an_adapter_have_the_plain_one() -> None:
    assert type(adapter_for(tiny("bert").config)) is Adapter
    assert type(adapter_for(SimpleNamespace(model_type="unheard of"))) is Adapter
    assert type(adapter_for(None)) is Adapter


def test_every_tiny_model_says_how_it_takes_pairs() -> None:
    for architecture in BUILDERS:
        model = tiny(architecture)
        layout = model.adapter.layout(model.config, causal=False)
        assert layout == ("source-target" if model.is_encoder_decoder else "pair")
    assert Adapter().layout(tiny("gpt2").config, causal=True) == "joined"


@pytest.mark.parametrize(
    ("architecture", "rotates"), [("llama", True), ("gpt2", False), ("bert", False), ("t5", False)]
)
def test_rotation_is_known_by_its_modules(architecture: str, rotates: bool) -> None:
    assert tiny(architecture).is_rotated == rotates


def test_roberta_loses_the_positions_up_to_its_padding_index() -> None:
    model = tiny("roberta")
    assert model.adapter.lost_positions(model.core) == model.config.pad_token_id + 1
    assert Adapter().lost_positions(tiny("bert").core) == 0


def test_a_mask_of_true_and_false_becomes_one_to_add() -> None:
    mask = torch.tensor([[True, False]])
    added = Adapter().additive_mask(mask, torch.float16)
    assert added is not None
    assert added.tolist() == [[0.0, torch.finfo(torch.float16).min]]
    assert Adapter().additive_mask(added, torch.float16) is added
    assert Adapter().additive_mask(None, torch.float16) is None


@pytest.fixture
def registered() -> Iterator[type[Adapter]]:
    @ADAPTERS.register("bert")
    class Backwards(Adapter):
        def layout(self, config: object, *, causal: bool) -> str:  # type: ignore[override]
            return "joined"

    yield Backwards
    del ADAPTERS._found["bert"]


def test_a_new_adapter_is_asked(registered: type[Adapter]) -> None:
    model = tiny("bert")
    assert isinstance(model.adapter, registered)
    assert model.adapter.layout(model.config, causal=False) == "joined"
    with pytest.raises(OptionError, match="two adapters are called 'bert'"):
        ADAPTERS.register("bert")(Adapter)


# T5's position bias has an entry for each head, and the layers of a stack share it.


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


# GPT-2's one matrix for queries, keys and values is cut in all three parts.


def test_its_heads_can_be_taken_out() -> None:
    model = tiny("gpt2")
    assert isinstance(model.adapter, GPT2)
    smaller = hs.prune(model, ["1.2"])  # proved on a probe to give the same as zeroing
    whole, cut = (one.core.h[1].attn.c_attn.weight.shape[1] for one in (model, smaller))
    assert cut == whole * 3 // 4


def test_it_has_no_segments_though_it_takes_token_types() -> None:
    assert "token_type_ids" in tiny("gpt2").accepts
    assert not tiny("gpt2").has_segments


# GPT-BigCode keeps queries, keys and values in one matrix, in one of two orders; pruning must know which.


def bigcode(*, multi_query: bool) -> Model:
    torch.manual_seed(3)
    config = tf.GPTBigCodeConfig(
        n_embd=32,
        n_layer=2,
        n_head=4,
        vocab_size=300,
        n_positions=64,
        multi_query=multi_query,
        bos_token_id=0,
        eos_token_id=0,
    )
    return wrap(tf.GPTBigCodeForCausalLM(config).eval(), byte_tokenizer(), name="bigcode")


@pytest.mark.parametrize("multi_query", [True, False])
def test_a_single_head_is_taken_out(multi_query: bool) -> None:
    model = bigcode(multi_query=multi_query)
    smaller = prune(model, "0.1, 1.0, 1.3")  # raises unless it gives what zeroing gives
    of_head = 8 * 32 * 2 + 8 if multi_query else 8 * 32 * 4 + 3 * 8
    assert model.parameters - smaller.parameters == 3 * of_head


def test_rows_of_a_head() -> None:
    rows = GPTBigCode().joined_rows([1], width=4, size=2, rows=8)
    assert rows == [2, 3, 4, 5, 6, 7]  # its queries, and the key and value of all
    assert GPTBigCode().joined_rows([1], width=4, size=2, rows=12) == [6, 7, 8, 9, 10, 11]


# GPT-J turns queries and keys without a module for it; whoever shows neurons must know.


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


# Falcon is asked for its attention with the eager setting, and has its own setting back afterwards.


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


# XLNet tells two texts apart, though its configuration has no table of segments.


def test_it_has_segments() -> None:
    model = tiny("xlnet")
    assert isinstance(model.adapter, XLNet)
    assert not hasattr(model.config, "type_vocab_size")
    assert model.has_segments


# BLIP's text tower reads in both directions unless it is told that it is a decoder, as its head tells it.


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
