"""Tiny random checkpoints of families that people meet today, with their task heads, as save_pretrained leaves them."""

from collections.abc import Callable
from pathlib import Path

import torch
import transformers as tf
from tests.helpers.tiny import byte_tokenizer, sentencepiece_tokenizer, wordpiece_tokenizer
from transformers import PreTrainedModel, PreTrainedTokenizerFast

_TEXT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": 128,
    "max_position_embeddings": 256,
}
_DECODER = {**_TEXT, "num_key_value_heads": 2, "bos_token_id": 3, "eos_token_id": 1, "pad_token_id": 0}
_GEMMA = {**_DECODER, "head_dim": 8, "sliding_window": 8}
_IMAGE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 28,
    "patch_size": 14,
}
_BART = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": 128,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 3,
    "eos_token_id": 1,
}
_MARKS = {"bos_token_id": 3, "eos_token_id": 1, "pad_token_id": 0}

Network = Callable[[], PreTrainedModel]

DECODERS: dict[str, Network] = {
    "gemma3": lambda: tf.Gemma3ForConditionalGeneration(
        tf.Gemma3Config(text_config=_GEMMA, vision_config=_IMAGE, mm_tokens_per_image=4, **_IMAGE_TOKENS)
    ),
    "gemma3_text": lambda: tf.Gemma3ForCausalLM(tf.Gemma3TextConfig(**_GEMMA)),
    "qwen2": lambda: tf.Qwen2ForCausalLM(tf.Qwen2Config(**_DECODER)),
    "qwen3": lambda: tf.Qwen3ForCausalLM(tf.Qwen3Config(**_DECODER, head_dim=8)),
    "fuyu": lambda: tf.FuyuForCausalLM(
        tf.FuyuConfig(**_TEXT, **_MARKS, image_size=28, patch_size=14, text_config={**_TEXT, "model_type": "persimmon"})
    ),
    "opt": lambda: tf.OPTForCausalLM(
        tf.OPTConfig(
            hidden_size=32,
            ffn_dim=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            vocab_size=128,
            word_embed_proj_dim=32,
            max_position_embeddings=256,
            **_MARKS,
        )
    ),
    "llava": lambda: tf.LlavaForConditionalGeneration(
        tf.LlavaConfig(
            text_config=tf.LlamaConfig(**_DECODER),
            vision_config=tf.CLIPVisionConfig(**_IMAGE),
            image_token_index=100,
        )
    ),
}  # fmt: skip
_IMAGE_TOKENS = {"image_token_index": 100, "boi_token_index": 101, "eoi_token_index": 102}

WRITERS: dict[str, Network] = {
    "t5": lambda: tf.T5ForConditionalGeneration(
        tf.T5Config(
            d_model=32,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            d_kv=8,
            d_ff=48,
            vocab_size=128,
            decoder_start_token_id=0,
            pad_token_id=0,
            eos_token_id=1,
        )
    ),
    "marian": lambda: tf.MarianMTModel(
        tf.MarianConfig(**_BART, decoder_vocab_size=128, decoder_start_token_id=0)
    ),
    "bart": lambda: tf.BartForConditionalGeneration(tf.BartConfig(**_BART, decoder_start_token_id=1)),
    "florence2": lambda: tf.Florence2ForConditionalGeneration(
        tf.Florence2Config(
            text_config={**_BART, "model_type": "bart", "decoder_start_token_id": 2},
            vision_config={
                "depths": (1, 1),
                "patch_size": (7, 3),
                "patch_stride": (4, 2),
                "patch_padding": (3, 1),
                "patch_prenorm": (False, True),
                "embed_dim": (8, 16),
                "num_heads": (2, 2),
                "num_groups": (2, 2),
                "window_size": 4,
                "projection_dim": 32,
            },
            image_token_id=100,
        )
    ),
}

TOWERS: dict[str, Network] = {
    "clip": lambda: tf.CLIPModel(
        tf.CLIPConfig(text_config={**_TEXT, **_MARKS}, vision_config=_IMAGE, projection_dim=16)
    ),
    "siglip": lambda: tf.SiglipModel(
        tf.SiglipConfig(text_config={**_TEXT, **_MARKS, "projection_size": 32}, vision_config=_IMAGE)
    ),
    "flava": lambda: tf.FlavaModel(
        tf.FlavaConfig(
            text_config=_TEXT,
            image_config=_IMAGE,
            multimodal_config={key: _TEXT[key] for key in list(_TEXT)[:4]},
            hidden_size=32,
            projection_dim=16,
        )
    ),
    "blip": lambda: tf.BlipForConditionalGeneration(
        tf.BlipConfig(
            text_config={**_TEXT, "encoder_hidden_size": 32, "sep_token_id": 1, **_MARKS},
            vision_config=_IMAGE,
            projection_dim=16,
        )
    ),
}

BYTES: dict[str, Network] = {
    "gpt_bigcode": lambda: tf.GPTBigCodeForCausalLM(
        tf.GPTBigCodeConfig(
            n_embd=32, n_layer=2, n_head=4, vocab_size=300, n_positions=64, bos_token_id=0, eos_token_id=0
        )
    ),
}


def built(family: str) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """The network, random and always the same, and a tokenizer for it."""
    torch.manual_seed(sum(map(ord, family)))
    if family in BYTES:
        return BYTES[family]().eval(), byte_tokenizer()
    if family in DECODERS:
        return DECODERS[family]().eval(), sentencepiece_tokenizer(bos=True)
    if family in ("flava", "blip"):
        return TOWERS[family]().eval(), wordpiece_tokenizer()
    return (WRITERS | TOWERS)[family]().eval(), sentencepiece_tokenizer(bos=family == "clip", eos=True)


def saved(family: str, folder: Path) -> Path:
    """The checkpoint in a folder of its own."""
    network, tokenizer = built(family)
    network.save_pretrained(folder / family)
    tokenizer.save_pretrained(folder / family)
    return folder / family
