"""A tiny encoder that computes attention in ways of its own, as remote code may: out of reach, or wrong."""

from typing import Any, Literal

import torch
import transformers as tf
from tests.helpers.tiny import sentencepiece_tokenizer, wordpiece_tokenizer
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

import headscope as hs

Way = Literal[
    "by exponentials",  # no softmax is called
    "beside",  # the maps are computed by a softmax, and what comes out without them
    "scores",  # returned in place of weights
    "sees padding",
    "fewer heads above",  # the second layer has half as many
    "pooled",  # maps between pairs of tokens
]


class OddModel(tf.PreTrainedModel):
    """Embeddings and two layers of attention alone."""

    config_class = tf.BertConfig
    base_model_prefix = "odd"

    def __init__(self, config: tf.BertConfig, way: Way) -> None:
        super().__init__(config)
        self.way = way
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(OddLayer(config, way, number) for number in range(2))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Those of words."""
        return self.words

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **options: Any
    ) -> BaseModelOutput:
        """The states, and the maps (text, head, query, key) of every layer."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        states, maps = self.words(input_ids), []
        for layer in self.layers:
            states, weights = layer(states, mask)
            maps.append(weights)
        attentions = tuple(maps) if options.get("output_attentions") else None
        return BaseModelOutput(last_hidden_state=states, attentions=attentions)


class OddLayer(nn.Module):
    """Attention with a residual stream."""

    def __init__(self, config: tf.BertConfig, way: Way, number: int) -> None:
        super().__init__()
        self.way = way
        self.heads = 2 if way == "fewer heads above" and number else config.num_attention_heads
        self.query, self.key, self.value, self.dense = (
            nn.Linear(config.hidden_size, config.hidden_size) for _ in range(4)
        )

    def forward(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The next states, and the maps."""
        if self.way == "pooled":
            states_, mask = states[:, : states.shape[1] // 2 * 2].unflatten(1, (-1, 2)).mean(2), mask[:, 1::2]
        else:
            states_ = states
        query, key, value = (
            part(states_).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.mT * query.shape[-1] ** -0.5
        if self.way != "sees padding":
            scores = scores.masked_fill(~mask.bool()[:, None, None], torch.finfo(scores.dtype).min)
        if self.way == "beside":
            weights = nn.functional.softmax(scores, -1)
            weights @ value
        else:
            raised = (scores - scores.amax(-1, keepdim=True)).exp()
            weights = raised / raised.sum(-1, keepdim=True)
        mixed = states_ if self.way == "beside" else (weights @ value).transpose(1, 2).flatten(2)
        if self.way == "pooled":
            mixed = mixed.repeat_interleave(2, 1)
            mixed = nn.functional.pad(mixed, (0, 0, 0, states.shape[1] - mixed.shape[1]))
        return states + self.dense(mixed), scores if self.way == "scores" else weights


def odd_model(way: Way) -> hs.Model:
    """Random, and always the same."""
    torch.manual_seed(0)
    config = tf.BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, vocab_size=128, initializer_range=0.3
    )
    return hs.wrap(OddModel(config, way).eval(), wordpiece_tokenizer(), name="odd")


def diffllama() -> hs.Model:
    """Attends twice in each layer."""
    torch.manual_seed(0)
    config = tf.DiffLlamaConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=48,
        vocab_size=128,
        initializer_range=0.3,
    )
    return hs.wrap(tf.DiffLlamaModel(config).eval(), sentencepiece_tokenizer(bos=True))
