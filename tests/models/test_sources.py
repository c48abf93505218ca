"""Where models are read from: GGUF files, quantised weights, device maps, towers."""

import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
import transformers as tf
from tests.helpers.families import built, saved
from transformers import PreTrainedModel

import headscope as hs
from headscope.errors import HeadscopeError, ModelError, OptionError
from headscope.models import Model
from headscope.models.sources import Origin
from headscope.pages.seen import observe

TEXT = "the cat sat on the mat"


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


NAMES = {
    "embed_tokens": "token_embd",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "lm_head": "output",
}


def write_gguf(network: PreTrainedModel, path: Path) -> None:
    """A Qwen 2 as llama.cpp keeps it, with a tokenizer of single bytes."""
    config = network.config
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_tokenizer_model("gpt2")
    letters = [chr(number) for number in range(33, 127)]
    tokens = [
        "<|end|>",
        "Ġ",
        "ab",
        *letters,
        *(f"unused{number}" for number in range(config.vocab_size - 98)),
    ]
    writer.add_token_list(tokens)
    writer.add_token_types([3, *[1] * (len(tokens) - 1)])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(0)
    writer.add_bos_token_id(0)
    for name, tensor in network.state_dict().items():
        part, _, kind = name.removeprefix("model.").rpartition(".")
        layer, part = part.split(".", 2)[1:] if part.startswith("layers.") else ("", part)
        own = "output_norm" if part == "norm" else NAMES[part]
        prefix = f"blk.{layer}." if layer else ""
        writer.add_tensor(f"{prefix}{own}.{kind}", tensor.numpy().astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def gguf_file(tmp_path: Path) -> Path:
    write_gguf(built("qwen2")[0], tmp_path / "qwen.gguf")
    return tmp_path / "qwen.gguf"


def test_a_gguf_file_and_its_folder_load(gguf_file: Path) -> None:
    network = built("qwen2")[0]
    model = hs.load(gguf_file)
    ids = torch.tensor([[5, 6, 7, 8]])
    with torch.inference_mode():
        assert torch.allclose(model.network(ids)[0], network.model(ids)[0], atol=1e-5)
        headed = hs.with_head(hs.load(gguf_file.parent), "next-token")
        assert torch.allclose(headed.network(ids).logits, network(ids).logits, atol=1e-5)
    assert observe(model, "the cat").stacks[0].layers == 2


def test_several_gguf_files_are_not_guessed_between(gguf_file: Path) -> None:
    (gguf_file.parent / "other.gguf").write_bytes(b"")
    with pytest.raises(ModelError, match=r"has 2 GGUF files; name one: .*other\.gguf"):
        hs.load(gguf_file.parent)


def test_a_broken_gguf_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF of nothing")
    with pytest.raises(ModelError, match=r"broken\.gguf could not be loaded as a transformer"):
        hs.load(tmp_path / "broken.gguf")


@pytest.mark.parametrize(
    ("package", "options", "command"),
    [
        ("bitsandbytes", {"bits": 8}, r"bits \(--bits\).*pip install 'headscope\[bits\]'"),
        (
            "accelerate",
            {"device_map": "auto"},
            r"device_map \(--device-map\).*pip install 'headscope\[bits\]'",
        ),
        ("gguf", {}, r"a GGUF file needs.*pip install 'headscope\[gguf\]'"),
    ],
)
def test_a_missing_package_is_named_with_its_command(
    package: str, options: dict[str, object], command: str, gguf_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = sys.modules["headscope.models.sources"]
    monkeypatch.setattr(sources, "find_spec", lambda name: None if name == package else object())
    with pytest.raises(ModelError, match=command):
        hs.load(gguf_file, **options)  # type: ignore[arg-type]


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="bits must be 8 or 4, not 3"):
        hs.load("demo", bits=3)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="tower must be text"):
        hs.load("demo", tower="image")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="has no text tower of its own; leave tower"):
        hs.load("demo", tower="text")


def test_weights_are_spread_by_a_device_map(tmp_path: Path) -> None:
    folder = saved("qwen3", tmp_path)
    model = hs.load(folder, device_map="auto", device="cpu")
    assert model.weights_hash == hs.load(folder).weights_hash
    assert hs.with_head(model, "next-token").origin.device_map == "auto"


def test_positions_that_are_computed_need_not_be_saved(tmp_path: Path) -> None:
    network = built("marian")[0]
    model = hs.load(saved("marian", tmp_path))
    ids = torch.tensor([[5, 6, 7]])
    with torch.inference_mode():
        ours = model.network(input_ids=ids, decoder_input_ids=ids)[0]
        assert torch.allclose(ours, network.model(input_ids=ids, decoder_input_ids=ids)[0], atol=1e-6)
    assert hs.with_head(model, "writing").architecture == "MarianMTModel"


@pytest.mark.parametrize("family", ["clip", "siglip", "flava", "blip"])
def test_the_text_tower_is_offered(family: str, tmp_path: Path) -> None:
    folder = saved(family, tmp_path)
    with pytest.raises(HeadscopeError, match=r"tower='text' \(--tower text\)"):
        observe(hs.load(folder), TEXT)
    seen = observe(hs.load(folder, tower="text"), TEXT)
    assert (seen.stacks[0].layers, seen.stacks[0].heads) == (2, 4)


def maps_of(model: Model, network: PreTrainedModel, **options: bool) -> list[torch.Tensor]:
    network.set_attn_implementation("eager")
    ids = model.tokenizer(TEXT, return_tensors="pt").input_ids
    with torch.inference_mode():
        maps: list[torch.Tensor] = network(input_ids=ids, output_attentions=True, **options).attentions
    return maps


def test_a_text_tower_is_the_networks_own(tmp_path: Path) -> None:
    folder = saved("clip", tmp_path)
    model = hs.load(folder, tower="text")
    expected = maps_of(model, tf.CLIPTextModel.from_pretrained(folder).eval())
    seen = observe(model, TEXT)
    assert np.allclose(seen.layer("decoder", 1), expected[1][0].numpy(), atol=1e-6)


def test_the_class_of_the_checkpoint_has_the_head(tmp_path: Path) -> None:
    headed = hs.with_head(hs.load(saved("llava", tmp_path)), "next-token")
    assert headed.architecture == "LlavaForConditionalGeneration"
    assert hs.with_head(hs.load(saved("florence2", tmp_path)), "writing").architecture.startswith(
        "Florence2For"
    )


def test_weights_with_a_device_map_lie_where_it_says_and_others_are_moved() -> None:
    assert not Origin("a", "a").is_placed
    assert "device_map" not in Origin("a", "a").weights
    placed = Origin("a", "a", device_map="auto")
    assert placed.is_placed
    assert placed.weights["device_map"] == "auto"
