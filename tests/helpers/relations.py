"""The relations probe done slowly: word attention and maxima in plain loops over the model's own maps."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.helpers.tiny import tiny

from headscope.probes.halves import SCORE
from headscope.probes.pointing.pairs import Pair
from headscope.text.words import WordText
from headscope.types import TokenBatch

Array = np.ndarray[Any, Any]
Spans = tuple[Sequence[int], Sequence[int]]
"""The words of a predicate and of an argument."""

VOCABULARY = [
    "the",
    "cat",
    "dogs",
    "sat",
    "on",
    "mats",
    "saw",
    "it",
    "redhouse",
    "in",
    ",",
    "blue",
    "zebra",
    ".",
]


def made_up(folder: Path, *, rows: int = 30, seed: int = 5, longest: int = 14) -> Path:
    """Random sentences with one to three predicates each, in documents of four; some words split into pieces."""
    draw = random.Random(seed)
    lines = []
    for number in range(rows):
        words = draw.choices(VOCABULARY, k=draw.randint(3, longest))
        for _ in range(draw.randint(1, 3)):
            predicate = draw.randrange(len(words))
            arguments = []
            for label in ("ARG0", "ARG1", "ARGM-TMP"):
                start = draw.randrange(len(words))
                end = draw.randint(start + 1, len(words))
                if not start <= predicate < end:
                    arguments.append({"label": label, "start": start, "end": end})
            row = {"sent_id": f"d{number // 4}-{number}", "tokens": words, "predicate": predicate}
            lines.append(json.dumps({**row, "arguments": arguments}))
    path = folder / "made-up.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def bert_words(words: Sequence[str]) -> tuple[dict[str, Any], list[int | None]]:
    """What BERT is given, and which word each token belongs to, as the tokenizer itself says."""
    given = tiny("bert").tokenizer([*words], is_split_into_words=True, return_tensors="pt")
    return dict(given), given.word_ids()


def gpt2_words(words: Sequence[str]) -> tuple[dict[str, Any], list[int | None]]:
    """One token a byte; the spaces belong to no word."""
    text = " ".join(words)
    owners = [owner for number, word in enumerate(words) for owner in (*[number] * len(word), None)][:-1]
    given = tiny("gpt2").tokenizer(text, return_tensors="pt")
    return dict(given), owners


def eager_words(architecture: str, words: Sequence[str], *, first_piece: bool = False) -> Array:
    """(layer, head, word, word) from the maps the model returns when asked for, word by word."""
    inputs, owners = bert_words(words) if architecture == "bert" else gpt2_words(words)
    network = tiny(architecture).network
    before = network.config._attn_implementation
    network.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            maps = network(**inputs, output_attentions=True).attentions
    finally:
        network.set_attn_implementation(before)
    tokens = np.stack([one[0].double().numpy() for one in maps])  # (layer, head, token, token)
    assert tokens.shape[-1] == len(owners)
    found = np.zeros((*tokens.shape[:2], len(words), len(words)))
    for asking in range(len(words)):
        asked = [place for place, owner in enumerate(owners) if owner == asking]
        if first_piece:
            asked = asked[:1]
        for other in range(len(words)):
            pieces = [place for place, owner in enumerate(owners) if owner == other]
            found[:, :, asking, other] = tokens[:, :, asked][..., pieces].sum(-1).mean(-1)
    return found


def strongest(words: Array, pair: Spans) -> Array:
    """(direction, ...) the maximum between the words of a pair, one by one."""
    predicate, argument = pair
    given = np.max([words[..., p, a] for p in predicate for a in argument], axis=0)
    received = np.max([words[..., a, p] for p in predicate for a in argument], axis=0)
    return np.stack([given, received])


def elsewhere(pair: Spans, length: int) -> list[Spans]:
    """The pair at all other places of its sentence."""
    moved = [([p + k for p in pair[0]], [a + k for a in pair[1]]) for k in range(-length, length + 1) if k]
    return [(p, a) for p, a in moved if all(0 <= word < length for word in (*p, *a))]


@dataclass
class Slow:
    """What a slow loop finds for one role: every pair's numbers and its sentence."""

    attention: list[Array]
    control: list[Array]
    difference: list[Array]
    sentences: list[str]
    compared: list[str]


def slow(path: Path, architecture: str, label: str, *, first_piece: bool = False) -> Slow:
    found = Slow([], [], [], [], [])
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        words = eager_words(architecture, row["tokens"], first_piece=first_piece)
        for argument in row["arguments"]:
            if label not in ("all", argument["label"]):
                continue
            pair = ([row["predicate"]], list(range(argument["start"], argument["end"])))
            score = strongest(words, pair)
            found.attention.append(score)
            found.sentences.append(row["sent_id"])
            others = [strongest(words, one) for one in elsewhere(pair, len(row["tokens"]))]
            if others:
                found.control.append(np.mean(others, axis=0))
                found.difference.append(score - np.mean(others, axis=0))
                found.compared.append(row["sent_id"])
    return found


def cluster_error(values: list[Array], sentences: list[str]) -> Array:
    """The standard error of a mean over pairs whose sentences are the sample, from the residuals."""
    mean = np.mean(values, axis=0)
    sums = {name: np.zeros_like(mean) for name in sentences}
    for value, name in zip(values, sentences, strict=True):
        sums[name] += value - mean
    clusters = len(sums)
    squares = np.sum([one**2 for one in sums.values()], axis=0)
    result: Array = np.sqrt(squares * clusters / (clusters - 1)) / len(values)
    return result


@dataclass(frozen=True)
class Item:
    """A sentence with its pairs, as the probe shows it."""

    content: WordText
    cases: tuple[Pair, ...]
    half: int = SCORE
    number: int = 0
    document: int = 0
    name: str = "x"

    def where(self, word: int) -> str:
        return "x:1"


def item(length: int, *pairs: Spans, labels: Sequence[str] = ("A", "B", "C"), half: int = SCORE) -> Item:
    cases = tuple(
        Pair(labels[number % len(labels)], p[0], tuple(a), predicate=tuple(p), where=f"x:{number + 1}")
        for number, (p, a) in enumerate(pairs)
    )
    return Item(WordText.of(["w"] * length), cases, half)


def tokens_for(present: torch.Tensor, *, is_cut: Sequence[bool] | None = None) -> TokenBatch:
    """One token a word that has one."""
    word = torch.where(present, torch.arange(present.shape[1]), -1)
    none = torch.zeros_like(word)
    cut = None if is_cut is None else torch.tensor(is_cut)
    return TokenBatch(none, torch.ones_like(present), none, none, word, none, is_cut=cut)


def random_pair(draw: random.Random, length: int) -> Spans | None:
    start = draw.randrange(length)
    end = draw.randint(start + 1, length)
    free = [word for word in range(length) if not start <= word < end]
    if not free:
        return None
    return sorted(draw.sample(free, k=min(len(free), draw.choice([1, 1, 2, 3])))), list(range(start, end))
