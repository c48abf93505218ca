"""A tiny random network of any model type of transformers, from its own configuration class.

The configuration's own numbers say what is what: how many layers, heads and neurons there are is found by name and made
small. What names do not tell stands in `shapes.toml`, a few lines for the types that need them.
"""

import inspect
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto import modeling_auto as auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

VOCABULARY = 160
SPREAD = 0.2
"""Of random weights: enough that attention is not even, and an edit changes what comes out."""
MOST_PARAMETERS = 20_000_000

SHAPES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("shapes.toml").read_text())

# The first rule that fits a name counts. A number that is smaller already stays.
_RULES: tuple[tuple[str, int], ...] = (
    (r"num_kv_shared_layers|num_nextn_predict_layers|first_k_dense_replace|num_dense_layers", 0),
    (r"max_window_layers|decoder_sparse_step|encoder_sparse_step", 1),
    (r"(?:.*_)?(?:layers?|depth|num_blocks|num_hidden_layers)", 2),
    (r"(?:linear|mamba|index|n_mamba|swa|conf)?_?(?:num_|n_)?(?:key_|value_|mamba_)?heads", 4),
    (r"(?:.*_)?(?:attention_heads|num_heads|n_heads?)", 4),
    (r"(?:.*_)?(?:num_key_value_heads|num_kv_heads|kv_n_heads)", 2),
    (r"(?:.*_)?vocab_size(?:_.*)?", VOCABULARY),
    (r"type_vocab_size|sliding_window|attention_window|local_attention|.*chunk_size", 8),
    (
        r"max_position_embeddings|n_positions|n_ctx|max_seq_len|.*_position_embeddings|max_source_positions",
        128,
    ),
    (r"qk_head_dim", 10**9),  # the sum of two others
    (r"rotary_dim", 4),
    (r"(?:.*_)?(?:head_dim|d_kv|d_head|dim_head|mamba_d_head|kv_channels|attention_head_dim)", 8),
    (r"(?:.*_)?(?:hidden_size|d_model|n_embd|embed_dim|emb_dim|embedding_size|out_hidden_size)", 32),
    (r"dim|hidden_dim|projection_dim|projection_size|word_embed_proj_dim|output_dim|mlp_dim", 32),
    (r"(?:.*_)?(?:intermediate_size|ffn_dim|d_ff|d_inner|dff|dim_ff|ffn_hidden_size)", 48),
    (r"(?:.*_)?(?:lora_rank|laurel_rank)", 16),
    (r"(?:.*_)?(?:num_experts|n_routed_experts|num_local_experts|moe_num_experts)", 4),
    (r"num_experts_per_tok(?:en)?|moe_topk|moe_top_k|moe_k", 2),
    (r"n_group|topk_group|num_expert_group|n_shared_experts|num_shared_experts|moe_num_shared_experts", 1),
    (r"image_size|input_size|pretrain_image_size", 32),
    (r"patch_size", 8),
    (r"state_size|mamba_d_state|ssm_state_size|n_groups|mamba_n_groups", 4),
)
_UNSAID = {"head_dim": 8, "num_key_value_heads": 4, "pad_token_id": 0}
"""What a default configuration leaves open, and its network needs."""
_SPECIAL = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
_SPECIAL |= {"mask_token_id": 4, "decoder_start_token_id": 2, "unk_token_id": 1}

_WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "sat",
    "on",
    "mat",
    "and",
    "saw",
    "it",
    "was",
    "red",
    "blue",
    "house",
    "of",
    "in",
    ",",
    ".",
    "!",
    "?",
]
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-'"


def text_types() -> list[str]:
    """Every model type whose network reads tokens, by name."""
    return sorted(name for name in CONFIG_MAPPING if _reads_text(name))


def _reads_text(name: str) -> bool:
    try:
        network = network_class(name)
        return network is not None and "input_ids" in inspect.signature(network.forward).parameters
    except (ImportError, ValueError, AttributeError):  # what it needs is not installed, or not there at all
        return False


def network_class(name: str) -> type[PreTrainedModel] | None:
    """The network that `AutoModel` makes of a model type, without a task head where there is such."""
    return _listed(name, auto.MODEL_MAPPING) or headed_class(name)


def headed_class(name: str) -> type[PreTrainedModel] | None:
    """The network with the head that predicts tokens, if there is one."""
    mappings = (
        auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
        auto.MODEL_FOR_MASKED_LM_MAPPING,
        auto.MODEL_FOR_CAUSAL_LM_MAPPING,
    )
    return next((kind for mapping in mappings if (kind := _listed(name, mapping)) is not None), None)


def _listed(name: str, mapping: Any) -> type[PreTrainedModel] | None:
    kinds = mapping.get(CONFIG_MAPPING[name], None)
    return kinds[0] if isinstance(kinds, list | tuple) else kinds


def tiny_network(name: str, *, headed: bool = True) -> PreTrainedModel:
    """The network of a model type with a task head, if there is one, or without."""
    config, kind = tiny_config(name), headed_class(name) if headed else None
    if kind is None or not isinstance(
        config, kind.config_class
    ):  # some heads are for the part that reads text only
        kind = network_class(name)
    assert kind is not None
    torch.manual_seed(sum(map(ord, name)))
    with torch.device("meta"):
        parameters = sum(parameter.numel() for parameter in kind(config).parameters())
    if parameters > MOST_PARAMETERS:
        raise ValueError(f"{parameters:,} parameters are not tiny; shapes.toml must say more of {name}")
    network = kind(tiny_config(name)).eval()
    with torch.no_grad():
        for parameter in network.parameters():  # gates and the like begin at 0, and would hide what heads do
            if parameter.is_floating_point():
                parameter.add_(torch.randn_like(parameter) * SPREAD / 4)
    return network


def tiny_config(name: str) -> PreTrainedConfig:
    """The configuration of a model type, made small."""
    return _small(CONFIG_MAPPING[name], SHAPES.get(name, {}))


def _small(kind: type[PreTrainedConfig], shape: Mapping[str, Any], default: Any = None) -> PreTrainedConfig:
    default = kind() if default is None else default
    wanted = {**SHAPES.get(default.model_type, {}), **shape}
    values: dict[str, Any] = {}
    for name, value in vars(default).items():
        own = wanted.get(name)
        if isinstance(value, PreTrainedConfig):
            values[name] = _small(type(value), own or {}, value)
        elif own is None and value is None and name in _UNSAID:
            values[name] = _UNSAID[name]
        elif own is None and isinstance(value, int) and not isinstance(value, bool):
            values |= dict(_number(name, value))
    _fit(default, values)
    values |= {name: value for name, value in wanted.items() if name not in values}
    values |= {name: SPREAD for name in ("initializer_range", "init_std") if hasattr(default, name)}
    return kind(**values)


def _fit(default: Any, values: dict[str, Any]) -> None:
    """What has to fit together: groups of heads, and as many layers as it takes to meet one that attends."""
    own = vars(default)
    if own.get("num_key_value_heads") == own.get("num_attention_heads", 0):
        values |= {name: 4 for name in ("num_key_value_heads", "num_attention_heads") if name in values}
    kinds = getattr(default, "layer_types", None) or getattr(default, "layers_block_type", None) or ()
    attending = [number for number, kind in enumerate(kinds) if "attention" in kind and "linear" not in kind]
    if attending and "num_hidden_layers" in values:
        values["num_hidden_layers"] = max(2, attending[0] + 1)


def _number(name: str, value: int) -> Iterator[tuple[str, int]]:
    if re.fullmatch(r".*token_(id|index)", name):
        yield name, _SPECIAL.get(name, _other_token(name) if value >= 0 else value)
        return
    for pattern, most in _RULES:
        if re.fullmatch(pattern, name):
            yield name, min(value, most)
            return


def _other_token(name: str) -> int:
    """A token of a kind of its own, such as that of an image, among those that no text has."""
    return VOCABULARY - 1 - sum(map(ord, name)) % 32


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Word pieces down to letters; pairs are `[CLS] A [SEP] B [SEP]`."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    entries = dict.fromkeys([*special, *_WORDS, *_LETTERS, *(f"##{letter}" for letter in _LETTERS)])
    numbers = {word: number for number, word in enumerate(entries)}
    backend = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )
