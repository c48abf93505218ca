"""Real attention maps by reference: a model, a text of the sample corpus, a layer and a head.

A text is written `articles/LENGTH/NUMBER`: that segment (from 0) of the sample articles, cut for at most LENGTH
tokens, its two parts given to the model as a pair; with `/joined` at the end they are given as one text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.models import Model
from headscope.text.encode import EncodedInput
from headscope.text.items import TextPair
from headscope.text.segments import segments
from headscope.trace import survey
from headscope.trace.watch import Watch
from headscope.types import LayerAttention

FOLDS = 5
"""Heads and documents are both dealt into this many folds; a labelled map has its head and its text in the same."""


@dataclass(frozen=True)
class RealText:
    """One text as one model saw it."""

    attention: Tensor  # (layer, head, query, key)
    boundary: int | None
    """Where the second text begins, None when there is no second text."""


def real_text(model: str, text: str) -> RealText:
    """All attention maps of a model on a text."""
    watch = _watch(model)
    batch = watch.batch([_encoded(model, text)])
    layers: list[Tensor] = []

    def see(_: str, seen: LayerAttention) -> None:
        layers.append(seen.attention[0].clone())

    watch.run(batch, see)
    second = (batch.source.segment[0] == 1).nonzero()
    return RealText(torch.stack(layers), int(second[0, 0]) if len(second) else None)


def tokens_in(text: str) -> int:
    """How many tokens a text has; all models have one tokenizer."""
    return len(_encoded("demo", text))


def _encoded(model: str, text: str) -> EncodedInput:
    length, number, joined = parse(text)
    pair = _segments(length)[number]
    if joined:
        pair = TextPair(pair.first if pair.second is None else f"{pair.first} {pair.second}")
    return _watch(model).encoder(length).encode(pair)


def parse(text: str) -> tuple[int, int, bool]:
    """Most tokens, number of the segment, and whether its two parts are joined."""
    name, length, number, *rest = text.split("/")
    assert name == "articles", text
    assert rest in ([], ["joined"]), text
    return int(length), int(number), bool(rest)


def documents_at(length: int) -> list[int]:
    """The document of every segment at this length."""
    return [pair.document or 0 for pair in _segments(length)]


def is_pair(length: int, number: int) -> bool:
    """Whether the segment has two parts."""
    return _segments(length)[number].second is not None


def fold_of_document(document: int) -> int:
    """The fold of a sample article."""
    return document % FOLDS


def fold_of_head(layer: int, head: int) -> int:
    """The fold of a head, the same in every model, since all were made from one."""
    return (layer * 3 + head) % FOLDS


@cache
def model(name: str) -> Model:
    """A demo model, or one of the made ones."""
    return MADE[name]() if name in MADE else hs.load(name, device="cpu")


def _random(spread: float) -> Model:
    """A BERT of the demo model's shape with random weights."""
    demo = model("demo")
    config = BertConfig(**{**demo.config.to_dict(), "initializer_range": spread})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = BertModel(config).eval()  # type: ignore[no-untyped-call]
    return hs.wrap(network, demo.tokenizer, name="random")


def _sharpened(name: str, factor: float) -> Model:
    """A demo model whose attention scores are all multiplied."""
    made = hs.load(name, device="cpu")
    with torch.no_grad():
        for key, parameter in made.network.named_parameters():
            if ".attention.self.query." in key:
                parameter.mul_(factor)
    return made


MADE: dict[str, Callable[[], Model]] = {
    "random-0.02": lambda: _random(0.02),
    "random-0.1": lambda: _random(0.1),
    "demo-sharp": lambda: _sharpened("demo", 2.0),
    "demo-qa-sharp": lambda: _sharpened("demo-qa", 2.0),
}
MODELS = ("demo", "demo-mrpc", "demo-qa", *MADE)


@cache
def _watch(name: str) -> Watch:
    return Watch(survey(model(name)))


@cache
def _segments(length: int) -> tuple[TextPair, ...]:
    items = hs.read_text(hs.sample_path("articles")).items()
    return tuple(segments(items, _watch("demo").encoder(length)))
