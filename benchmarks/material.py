"""What the benchmarks run on: 200 segments of exactly 128 tokens of the sample corpus, and two models."""

from itertools import cycle

import torch
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.models import Model

SEGMENTS, LENGTH = 200, 128


def models() -> dict[str, Model]:
    demo = hs.load("demo", device="cpu")
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        vocab_size=len(demo.tokenizer),
    )
    return {
        "demo 12 x 8 x 256": demo,
        "random 6 x 12 x 384": hs.wrap(BertModel(config).eval(), demo.tokenizer, name="6x12x384"),
    }


def pairs(count: int = SEGMENTS) -> list[tuple[str, str]]:
    """Pairs long enough that the tokenizer cuts each to exactly 128 tokens."""
    articles = hs.sample_path("articles").read_text(encoding="utf-8").split("\n\n")
    paragraphs = [line for article in articles for line in article.splitlines() if line.strip()]
    stream = cycle(paragraphs)
    return [(next(stream), next(stream)) for _ in range(count)]
