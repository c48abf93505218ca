"""Made attention maps of each of the five patterns, for training.

A map is a softmax over scores, as a head's is, and the scores are a sum: chance (smooth over a small vocabulary, so
that equal words make equal rows and columns, and rough), and the structures of its class: columns, a diagonal, blocks.
What the class does not have may still be there, but weaker than can be followed. The rules of README.md say where one
class ends.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.kinds.patterns import PATTERNS

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

SHORTEST, LONGEST = 8, 512
CAUSAL = 0.12
"""The share of maps in which a query sees nothing that comes after it."""
FLAT = 0.12
"""The share of heterogeneous maps that are all but even."""


@dataclass(frozen=True)
class MadeMap:
    """A made map and what it is."""

    attention: Tensor  # (query, key)
    label: int  # index into PATTERNS


def made_maps(count: int, *, seed: int, longest: int = LONGEST) -> list[MadeMap]:
    """`count` maps, all patterns alike, the same for the same seed."""
    rng = np.random.default_rng(seed)
    return [made_map(PATTERNS[number % len(PATTERNS)], rng, longest=longest) for number in range(count)]


def made_map(pattern: str, rng: np.random.Generator, *, longest: int = LONGEST) -> MadeMap:
    """One map of a pattern, of a random length."""
    length = int(np.exp(rng.uniform(np.log(SHORTEST), np.log(longest + 1))))
    if pattern == "block":
        length = max(length, 12)
    text = _Text(length, rng, causal=rng.random() < CAUSAL)
    if pattern == "heterogeneous" and rng.random() < FLAT:
        scores: Array = rng.normal(size=(length, length)) * rng.uniform(0, 0.15)
    else:
        scores = _chance(text, rng) + _BUILDERS[pattern](text, rng)
    if text.causal:
        scores = np.where(np.tri(length) > 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    attention = torch.from_numpy(weights / weights.sum(-1, keepdims=True)).float()
    return MadeMap(attention, PATTERNS.index(pattern))


class _Text:
    """Where a made text has its sentences and its repeated words."""

    def __init__(self, length: int, rng: np.random.Generator, *, causal: bool) -> None:
        self.length = length
        self.causal = causal
        vocabulary = max(3, int(length * rng.uniform(0.4, 1.0)))
        common = rng.zipf(1.6, length) % vocabulary
        self.word = np.where(
            rng.random(length) < 0.5, common, rng.integers(0, vocabulary, length)
        )  # (token,)
        self.second = int(length * rng.uniform(0.25, 0.75))  # where the second text begins
        cuts = {self.second}
        for _ in range(int(rng.integers(0, 4)) if length >= 40 else 0):
            cuts.add(int(rng.integers(4, length - 4)))
        # Sentences of a few words are no squares that anyone could see.
        kept: list[int] = []
        for cut in sorted(cuts):
            others = [0, length, self.second, *kept]
            if cut == self.second or all(abs(cut - other) > length / 8 for other in others):
                kept.append(cut)
        self.sentence = np.searchsorted(np.array(kept), np.arange(length), side="right")  # (token,)
        self.segment = (np.arange(length) >= self.second).astype(int)  # (token,)
        self.offset = np.arange(length)[None, :] - np.arange(length)[:, None]  # (query, key)


def _chance(text: _Text, rng: np.random.Generator) -> Array:
    """(query, key) scores without structure."""
    length = text.length
    rank = int(rng.integers(2, 12))
    words = int(text.word.max()) + 1
    queries = rng.normal(size=(words, rank))[text.word] + 0.5 * rng.normal(size=(length, rank))
    keys = rng.normal(size=(words, rank))[text.word] + 0.5 * rng.normal(size=(length, rank))
    smooth = queries @ keys.T / np.sqrt(rank)
    scores: Array = smooth * rng.uniform(0, 0.9) + rng.normal(size=(length, length)) * rng.uniform(0, 0.6)
    # Fine stripes, none of which stands out: words that get more wherever they are, and places that do.
    scores += np.clip(rng.normal(size=words)[text.word], -1.2, 1.2) * rng.choice([0.0, 0.2, 0.4])
    scores += np.clip(rng.normal(size=length), -1.2, 1.2) * rng.uniform(0, 0.3)
    if rng.random() < 0.2:  # faint waves along the diagonal, as position embeddings make them
        scores += np.cos(text.offset * 2 * np.pi / (length * rng.uniform(0.1, 0.6))) * rng.uniform(0.1, 0.5)
    # Queries that differ in how sharply they look.
    scores *= np.exp(rng.normal(size=(length, 1)) * rng.uniform(0, 0.3))
    return scores


def _columns(text: _Text, rng: np.random.Generator, *, low: float, high: float) -> Array:
    """A few keys that all queries, or most in a row, look at."""
    length = text.length
    scores = np.zeros((length, length))
    count = int(rng.integers(1, 1 + min(6, max(1, length // 8))))
    special = [0, text.second - 1, length - 1]
    for number in range(count):
        key = int(rng.choice(special)) if rng.random() < 0.4 else int(rng.integers(length))
        if text.causal:  # a late key is seen by few
            key = 0 if rng.random() < 0.5 else key // 3
        # The first column is the one that stands out; the others may be weaker.
        strength = rng.uniform(low, high) * (1.0 if number == 0 else rng.uniform(0.5, 1.0))
        along = strength * np.ones(length) + rng.normal(size=length) * rng.uniform(0, 0.5)
        if rng.random() < 0.4:  # it fades towards one end, but not before the middle
            fade = np.clip((np.linspace(0, 1, length) - rng.uniform(0.5, 0.9)) * 8, 0, 1)
            along *= 1 - rng.uniform(0.3, 1) * (fade if rng.random() < 0.5 else fade[::-1])
        if rng.random() < 0.3:  # dashes
            along *= np.where(rng.random(length) < rng.uniform(0.05, 0.3), 0.2, 1.0)
        scores[:, key] = np.maximum(scores[:, key], along)
    return scores


def _diagonal(text: _Text, rng: np.random.Generator, *, low: float, high: float) -> Array:
    """A line beside or on the main diagonal, a band around it, or steps along it."""
    length = text.length
    if rng.random() < 0.2:
        return _steps(text, rng, strength=rng.uniform(low, high))
    strength = rng.uniform(low, high)
    along = strength + rng.normal(size=(length, 1)) * rng.uniform(0, 0.25) * strength
    if rng.random() < 0.5:  # gaps
        along *= np.where(rng.random((length, 1)) < rng.uniform(0.05, 0.4), rng.uniform(0, 0.4), 1.0)
    centre = int(rng.choice([-2, -1, -1, 0, 0, 1, 1, 2])) if length >= 12 else int(rng.integers(-1, 2))
    distance = np.abs(text.offset - centre)
    kind = rng.random()
    if kind < 0.5:
        shape = np.maximum(1 - distance / rng.uniform(0.5, 2.5), 0)
    else:  # a band; its scores fall off evenly or as a bell
        width = rng.uniform(1.5, max(2.0, length / 12))
        shape = (
            np.exp(-0.5 * (distance / width) ** 2)
            if kind < 0.8
            else np.maximum(1 - distance / (2 * width), 0)
        )
    scores: Array = np.maximum(along, 0) * shape
    return scores


def _steps(text: _Text, rng: np.random.Generator, *, strength: float) -> Array:
    """Phrases of a few tokens, each looking at itself, or at one token of its own."""
    length = text.length
    longest = max(2, length // 12)
    starts = np.cumsum(rng.integers(1, longest + 1, length))
    phrase = np.searchsorted(starts, np.arange(length), side="right")  # (token,)
    same = phrase[:, None] == phrase[None, :]
    scores: Array = same * strength * rng.uniform(0.4, 1.0)
    if rng.random() < 0.6:
        chosen = rng.random(length) < 2 / longest
        scores = scores + same * chosen[None, :] * strength * rng.uniform(0.3, 0.8)
    near: Array = np.maximum(1 - np.abs(text.offset) / (1.5 * longest), 0) * strength * rng.uniform(0, 0.5)
    return scores + near


def _blocks(text: _Text, rng: np.random.Generator, *, low: float, high: float) -> Array:
    """Two squares, or one for each sentence."""
    place = text.sentence if rng.random() < 0.4 else text.segment
    same = place[:, None] == place[None, :]
    # One square may be brighter than the other.
    strength = rng.uniform(low, high) * rng.uniform(0.75, 1.25, int(place.max()) + 1)
    scores: Array = same * strength[place][:, None]
    return scores


def _vertical(text: _Text, rng: np.random.Generator) -> Array:
    scores = _columns(text, rng, low=1.4, high=3.5 if rng.random() < 0.6 else 8.0)
    if rng.random() < 0.3:
        scores = scores + _blocks(text, rng, low=0.0, high=0.7)
    if rng.random() < 0.3:
        scores = np.maximum(scores, _diagonal(text, rng, low=0.0, high=0.6))
    return scores


def _line(text: _Text, rng: np.random.Generator) -> Array:
    level = rng.uniform(2.2, 9.0)
    scores = _diagonal(text, rng, low=level, high=level)
    if rng.random() < 0.3:
        scores = scores + _blocks(text, rng, low=0.0, high=1.0)
    if rng.random() < 0.4:  # columns, barely to be seen beside the line
        scores = np.maximum(scores, _columns(text, rng, low=0.0, high=min(1.5, level - 2)))
    return scores


def _both(text: _Text, rng: np.random.Generator) -> Array:
    # Of like strength in weight, so that neither is lost beside the other.
    level = rng.uniform(2.0, 6.0)
    columns = _columns(text, rng, low=level - 0.6, high=level + 0.6)
    scores: Array = np.maximum(columns, _diagonal(text, rng, low=level - 0.3, high=level + 1.2))
    if rng.random() < 0.3:
        scores = scores + _blocks(text, rng, low=0.0, high=1.0)
    return scores


def _block(text: _Text, rng: np.random.Generator) -> Array:
    scores = _blocks(text, rng, low=1.2, high=5.0)
    if rng.random() < 0.4:  # columns that stop at the border
        same = text.segment[:, None] == text.segment[None, :]
        scores = scores + same * _columns(text, rng, low=0.3, high=1.5)
    if rng.random() < 0.4:  # nearer tokens get more
        scores = scores - np.abs(text.offset) / text.length * rng.uniform(0, 4)
    if rng.random() < 0.2:
        scores = scores + _diagonal(text, rng, low=0.0, high=0.8)
    return scores


def _none(text: _Text, rng: np.random.Generator) -> Array:
    length = text.length
    scores = np.zeros((length, length))
    kind = rng.random()
    if kind < 0.25:  # dots
        scores += (rng.random((length, length)) < rng.uniform(0.01, 0.08)) * rng.uniform(1.0, 4.0)
    elif kind < 0.4:  # patches
        for _ in range(int(rng.integers(1, 4))):
            rows, columns = np.sort(rng.integers(0, length, 2)), np.sort(rng.integers(0, length, 2))
            scores[rows[0] : rows[1] + 1, columns[0] : columns[1] + 1] += rng.uniform(0.3, 1.2)
    elif kind < 0.5:  # attention to the other text
        scores += _blocks(text, rng, low=-3.0, high=-1.0)
    elif kind < 0.6:  # sharp chance
        scores += rng.normal(size=(length, length)) * rng.uniform(1, 2.5)
    elif kind < 0.7:  # one square alone
        first = text.segment == int(rng.integers(2))
        scores += np.outer(first, first) * rng.uniform(0.5, 1.5)
    elif kind < 0.8:  # a blur too wide to be a line
        width = length * rng.uniform(0.25, 0.5)
        scores += np.exp(-0.5 * (text.offset / width) ** 2) * rng.uniform(0.5, 2.0)
    if rng.random() < 0.25:
        scores += _columns(text, rng, low=0.0, high=0.8)
    if rng.random() < 0.25:
        scores += _diagonal(text, rng, low=0.0, high=0.7)
    if rng.random() < 0.25:
        scores += _blocks(text, rng, low=0.0, high=0.4)
    return scores


_BUILDERS: dict[str, Callable[[_Text, np.random.Generator], Array]] = {
    "vertical": _vertical,
    "diagonal": _line,
    "vertical+diagonal": _both,
    "block": _block,
    "heterogeneous": _none,
}
