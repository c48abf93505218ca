"""Tiny random models of many architectures, with tokenizers made on the spot: nothing is downloaded."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch
import transformers as tf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from headscope.models import Model, wrap

WORDS = [
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
]
MARKS = [",", ".", "!", "?"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-'\""
LAYERS, HEADS, WIDTH = 3, 4, 32


def wordpiece_tokenizer(
    *, cls: str = "[CLS]", sep: str = "[SEP]", double_sep: bool = False
) -> PreTrainedTokenizerFast:
    """Word pieces down to letters; pairs are `cls A sep (sep) B sep`."""
    specials = ["[PAD]", "[UNK]", cls, sep, "[MASK]"]
    entries = dict.fromkeys(
        [*specials, *WORDS, *MARKS, *LETTERS, *(f"##{letter}" for letter in LETTERS), "##s"]
    )
    vocabulary = {word: number for number, word in enumerate(entries)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    middle = f"{sep} {sep}" if double_sep else sep
    backend.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {middle} $B {sep}",
        special_tokens=[(cls, vocabulary[cls]), (sep, vocabulary[sep])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        cls_token=cls,
        sep_token=sep,
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token a byte, as GPT-2 before its merges; no special tokens are added."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {"<|endoftext|>": 0, **{letter: number + 1 for number, letter in enumerate(alphabet)}}
    backend = Tokenizer(models.BPE(vocabulary, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        unk_token="<|endoftext|>",
    )


def sentencepiece_tokenizer(*, bos: bool = False, eos: bool = False) -> PreTrainedTokenizerFast:
    """Words with the ▁ mark, as Llama (bos) and T5 (eos); the tokenizer itself knows no word boundaries."""
    pieces = ["<pad>", "</s>", "<unk>", "<s>", "▁", *(f"▁{word}" for word in WORDS), *WORDS, *MARKS, *LETTERS]
    scores = [
        (piece, 0.0 if number < 4 else -float(number)) for number, piece in enumerate(dict.fromkeys(pieces))
    ]
    backend = Tokenizer(models.Unigram(scores, unk_id=2))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Lowercase(), normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    backend.post_processor = processors.TemplateProcessing(
        single=f"{'<s> ' if bos else ''}$A{' </s>' if eos else ''}",
        special_tokens=[("<s>", 3), ("</s>", 1)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


_BERT_LIKE = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 48,
    "vocab_size": 128,
    "max_position_embeddings": 64,
}
_LLAMA_LIKE = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "vocab_size": 128,
    "max_position_embeddings": 64,
}

Build = Callable[[], tuple[PreTrainedModel, PreTrainedTokenizerFast]]

BUILDERS: dict[str, Build] = {
    "bert": lambda: (tf.BertModel(tf.BertConfig(**_BERT_LIKE)), wordpiece_tokenizer()),
    "roberta": lambda: (
        tf.RobertaModel(tf.RobertaConfig(**{**_BERT_LIKE, "max_position_embeddings": 66}, pad_token_id=0)),
        wordpiece_tokenizer(cls="<s>", sep="</s>", double_sep=True),
    ),
    "distilbert": lambda: (
        tf.DistilBertModel(
            tf.DistilBertConfig(
                dim=WIDTH,
                n_layers=LAYERS,
                n_heads=HEADS,
                hidden_dim=48,
                vocab_size=128,
                max_position_embeddings=64,
            )
        ),
        wordpiece_tokenizer(),
    ),
    "albert": lambda: (
        tf.AlbertModel(tf.AlbertConfig(**_BERT_LIKE, embedding_size=16)),
        wordpiece_tokenizer(),
    ),
    "electra": lambda: (
        tf.ElectraModel(tf.ElectraConfig(**_BERT_LIKE, embedding_size=16)),
        wordpiece_tokenizer(),
    ),
    "mpnet": lambda: (tf.MPNetModel(tf.MPNetConfig(**_BERT_LIKE, pad_token_id=0)), wordpiece_tokenizer()),
    "deberta": lambda: (
        tf.DebertaV2Model(
            tf.DebertaV2Config(**_BERT_LIKE, relative_attention=True, pos_att_type=["p2c", "c2p"])
        ),
        wordpiece_tokenizer(),
    ),
    "convbert": lambda: (
        tf.ConvBertModel(tf.ConvBertConfig(**_BERT_LIKE, embedding_size=16, head_ratio=1, num_groups=1)),
        wordpiece_tokenizer(),
    ),
    "xlnet": lambda: (
        tf.XLNetModel(
            tf.XLNetConfig(
                d_model=WIDTH, n_layer=LAYERS, n_head=HEADS, d_inner=48, vocab_size=128, pad_token_id=0
            )
        ),
        wordpiece_tokenizer(),
    ),
    "falcon": lambda: (
        tf.FalconModel(
            tf.FalconConfig(
                hidden_size=WIDTH,
                num_hidden_layers=LAYERS,
                num_attention_heads=HEADS,
                vocab_size=128,
                alibi=False,
            )
        ),
        sentencepiece_tokenizer(bos=True),
    ),
    "gpt2": lambda: (
        tf.GPT2Model(
            tf.GPT2Config(n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, vocab_size=300, n_positions=64)
        ),
        byte_tokenizer(),
    ),
    "llama": lambda: (tf.LlamaModel(tf.LlamaConfig(**_LLAMA_LIKE)), sentencepiece_tokenizer(bos=True)),
    "gemma2": lambda: (
        tf.Gemma2Model(
            tf.Gemma2Config(**_LLAMA_LIKE, head_dim=8, sliding_window=8, attn_logit_softcapping=2.0)
        ),
        sentencepiece_tokenizer(bos=True),
    ),
    "gptoss": lambda: (
        tf.GptOssModel(
            tf.GptOssConfig(
                **_LLAMA_LIKE, head_dim=8, num_local_experts=2, num_experts_per_tok=1, sliding_window=8
            )
        ),
        sentencepiece_tokenizer(bos=True),
    ),
    "t5": lambda: (
        tf.T5Model(
            tf.T5Config(
                d_model=WIDTH,
                num_layers=LAYERS,
                num_decoder_layers=2,
                num_heads=HEADS,
                d_kv=8,
                d_ff=48,
                vocab_size=128,
                decoder_start_token_id=0,
                pad_token_id=0,
            )
        ),
        sentencepiece_tokenizer(eos=True),
    ),
    "bart": lambda: (
        tf.BartModel(
            tf.BartConfig(
                d_model=WIDTH,
                encoder_layers=LAYERS,
                decoder_layers=2,
                encoder_attention_heads=HEADS,
                decoder_attention_heads=2,
                encoder_ffn_dim=48,
                decoder_ffn_dim=48,
                vocab_size=128,
                max_position_embeddings=64,
                decoder_start_token_id=3,
                pad_token_id=0,
            )
        ),
        wordpiece_tokenizer(),
    ),
}


@cache
def tiny(architecture: str) -> Model:
    """A random model with sharp enough attention to tell heads apart; the same at every call."""
    torch.manual_seed(sum(map(ord, architecture)))
    network, tokenizer = BUILDERS[architecture]()
    sharpen(network, 2 if architecture == "t5" else 20)  # T5 does not scale its scores down
    return wrap(network.eval(), tokenizer, name=f"tiny-{architecture}")


def saved(model: Model, folder: Path) -> Path:
    """The folder with the model in it, as save_pretrained writes it."""
    model.network.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder


def sharpen(network: PreTrainedModel, times: int = 20) -> None:
    """Make queries and keys larger, so that attention is far from even."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.dim() == 2 and any(
                part in name for part in ("query", "key", "q_lin", "k_lin", "c_attn", ".q", ".k")
            ):
                parameter.mul_(times)


@cache
def tinier(architecture: str, layers: int = 2) -> Model:
    """The same with two layers, or so many, of two heads: for what is interpreted head by head."""
    torch.manual_seed(0)
    like = tiny(architecture)
    config = deepcopy(like.network.config)
    config.num_hidden_layers, config.num_attention_heads = layers, 2
    network = type(like.network)(config)
    sharpen(network)
    return wrap(network.eval(), like.tokenizer, name=f"tinier-{architecture}")


@cache
def plain(architecture: str) -> Model:
    """The same model, reading what its tokenizer gives and no start token beside: for slow references."""
    model = tiny(architecture)
    return replace(model, start_token=False) if architecture == "gpt2" else model
