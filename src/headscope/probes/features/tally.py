"""How much attention the tokens of each class get in a text, head by head."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
from torch import Tensor

from headscope.accumulator import Sums
from headscope.probes.features.classes import FEATURES, WORD_FEATURES, FeatureText
from headscope.probes.means import CaseMeans
from headscope.probes.observe import Tally
from headscope.text.skipped import Skipped
from headscope.types import CLS, SEP, HeadGrid, LayerAttention, TokenBatch

QUANTITIES = ("attention", "control", "excess", "preference")
"""What is known of a class in a text; see `Marks.measure`."""

ATTENTION, CONTROL, EXCESS, PREFERENCE = range(len(QUANTITIES))


class Marks:
    """Which tokens of a batch are of which class.

    A token counts as [CLS] or [SEP] or as a piece of its word, never as both: where a model has no [CLS], a
    text's first token plays it, and draws attention for its place and not for the word it belongs to.
    """

    def __init__(self, items: Sequence[FeatureText], tokens: TokenBatch, *, causal: bool) -> None:
        """`causal`: a query sees nothing after it."""
        self.is_token = tokens.is_token
        is_first = (tokens.role == CLS) & tokens.is_token
        is_separator = (tokens.role == SEP) & tokens.is_token
        self.is_word = (tokens.word >= 0) & tokens.is_token & ~is_first & ~is_separator  # (text, token)
        of_words = _classes(items, tokens.word) & self.is_word[:, None]
        self.targets = torch.cat([of_words, is_first[:, None], is_separator[:, None]], 1)
        """(text, feature, token) True for the tokens of a class."""
        self.has = self.targets.any(-1)  # (text, feature)
        # (text, query) what asks as [CLS]
        self.first = is_first / is_first.sum(-1, keepdim=True).clamp_min(1)
        even = LayerAttention(0, torch.zeros(()), tokens, tokens).even(causal=causal)
        self.even = received(even)[:, 0]  # (text, token) what a token gets when heads look evenly
        self.even_from_first = self.from_first(even.attention)[:, 0]  # (text, token) and then from [CLS]
        words = len(WORD_FEATURES)
        counts = self.targets.sum(-1)  # (text, feature)
        width = tokens.ids.shape[1]
        self._word_chances = chances(counts[:, :words], self.is_word.sum(-1), width)
        self._other_chances = chances(counts[:, words:], tokens.lengths, width)

    def from_first(self, attention: Tensor) -> Tensor:
        """(text, head, token) what tokens get from [CLS] alone."""
        return (self.first[:, None, None].to(attention.dtype) @ attention)[:, :, 0]

    def highest(self, share: Tensor) -> Tensor:
        """(text, head, feature) the most that a token of the class gets of `share` (text, head, token)."""
        return torch.where(self.targets[:, None], share[:, :, None], 0).amax(-1)

    def measure(self, share: Tensor, even: Tensor) -> Tensor:
        """(text, head, quantity, feature) of the attention that tokens get, `share` (text, head, token).

        attention: the most that one token of the class gets. control: what that would be on average if as many
        tokens were drawn from the text, among the words for words, among all for [CLS] and [SEP]. excess:
        attention minus control. preference: what the class gets in all, over what it would get from a head that
        looks evenly, `even` (text, token).
        """
        attention = self.highest(share)
        control = torch.cat(
            [
                _drawn(share, self.is_word, self._word_chances),
                _drawn(share, self.is_token, self._other_chances),
            ],
            -1,
        )
        members = self.targets.to(share.dtype).mT  # (text, token, feature)
        by_chance = even.to(share.dtype)[:, None] @ members  # (text, 1, feature)
        # A class that a text lacks, or that no query can see, has no share of either kind: 0, not nan.
        preference = (share @ members) / torch.where(by_chance > 0, by_chance, 1)
        return torch.stack([attention, control, attention - control, preference], 2)


def received(batch: LayerAttention) -> Tensor:
    """(text, head, token) the mean over all queries of the attention a token gets."""
    return batch.attention.sum(2) / batch.queries.lengths[:, None, None]


def chances(drawn: Tensor, pool: Tensor, width: int) -> Tensor:
    """(text, rank, feature) how likely the rank is the best of `drawn` (text, feature) out of `pool` (text,).

    The first of r ranks are all missed with probability prod over s < r of (N - s - k) / (N - s), and the next is
    drawn then with probability k / (N - r).
    """
    rank = torch.arange(width, device=drawn.device)
    left = (pool[:, None] - rank).clamp_min(1)[..., None]  # (text, rank, 1)
    missed = ((left - drawn[:, None]).clamp_min(0) / left).cumprod(1)  # (text, rank, feature)
    before = torch.cat([torch.ones_like(missed[:, :1]), missed[:, :-1]], 1)
    inside = (rank < pool[:, None])[..., None]  # (text, rank, 1)
    return torch.where(inside, before * drawn[:, None] / left, 0)


def _drawn(share: Tensor, pool: Tensor, by_rank: Tensor) -> Tensor:
    """(text, head, feature) the expected highest share (text, head, token) of tokens drawn from the pool."""
    ranked = share.masked_fill(~pool[:, None], 0).sort(-1, descending=True).values
    return ranked @ by_rank.to(share.dtype)


def _classes(items: Sequence[FeatureText], word: Tensor) -> Tensor:
    """(text, feature, token) which class the word of a token has; `word` is (text, token)."""
    width = max(1, *(len(item.content) for item in items))
    table = torch.zeros(len(items), len(WORD_FEATURES), width, dtype=torch.bool)
    for text, item in enumerate(items):
        for place, feature in item.targets:
            table[text, WORD_FEATURES.index(feature), place] = True
    places = word.clamp_min(0)[:, None].expand(-1, len(WORD_FEATURES), -1)
    return table.to(word.device).gather(2, places)


@dataclass(frozen=True)
class Values:
    """Every text's own numbers."""

    number: Tensor  # (text,) its place among all that were read
    document: Tensor  # (text,) the number of its document
    tokens: Tensor  # (text,)
    has: Tensor  # (text, feature) whether it has a token of the class
    values: Tensor  # (text, quantity, feature, layer, head)
    from_first: Tensor  # (text, quantity, feature, head) from [CLS] in the last layer
    even: Tensor  # (text, queries, feature) attention, if heads looked evenly: from all queries, from [CLS]

    @classmethod
    def joined(cls, parts: Sequence["Values"]) -> Self:
        """All texts of the parts in the order they were read."""
        order = torch.cat([part.number for part in parts]).argsort()
        names = [field.name for field in fields(cls)]
        return cls(*(torch.cat([getattr(part, name) for part in parts]).cpu()[order] for name in names))

    def minus(self, other: "Values") -> "Values":
        """The difference text by text; a text has a class where both have it."""
        if not torch.equal(self.number, other.number):
            raise ValueError("differences are taken of the same texts")
        return replace(
            self,
            has=self.has & other.has,
            **{name: getattr(self, name) - getattr(other, name) for name in ("values", "from_first", "even")},
        )


@dataclass
class FeatureMeans(Sums):
    """What each class gets, as means over the texts that have it: such a text is a case."""

    values: CaseMeans  # (quantity, layer, head)
    from_first: CaseMeans  # (quantity, head)
    even: CaseMeans  # (queries,)

    @classmethod
    def zeros(cls, grid: HeadGrid) -> Self:
        """Nothing counted yet."""
        kinds = len(QUANTITIES)
        return cls(CaseMeans(kinds, *grid.shape), CaseMeans(kinds, grid.heads), CaseMeans(2))

    def add(self, texts: Values) -> None:
        """Count the texts, each in the classes it has."""
        text, feature = texts.has.nonzero(as_tuple=True)  # (case,)
        labels = [FEATURES[number] for number in feature.tolist()]
        documents = texts.document[text].tolist()
        for means, values in (
            (self.values, texts.values),
            (self.from_first, texts.from_first),
            (self.even, texts.even),
        ):
            means.add(means.begin(text.tolist(), labels, documents), values[text, :, feature])


@dataclass(eq=False)
class FeatureTally(Tally[FeatureText]):
    """Holds every text's own numbers, to be taken off it before there are too many."""

    grid: HeadGrid

    def __post_init__(self) -> None:
        self.parts: list[Values] = []
        self.lost = Skipped("words")

    def begin(self, items: Sequence[FeatureText], present: Tensor, tokens: TokenBatch) -> None:
        """Mark the tokens of every class."""
        self._marks = Marks(items, tokens, causal=self.grid.causal)
        self._number = torch.tensor([item.number for item in items])
        self._document = torch.tensor([item.document for item in items])
        self._layers: list[Tensor] = []  # (text, head, quantity, feature) each
        for item, has_token in zip(items, present.tolist(), strict=True):
            length = max((word for word, has in enumerate(has_token) if has), default=-1) + 1
            for word in sorted({word for word, _ in item.targets}):
                # What lies behind the last token was cut off, which is told as such.
                if word < length and not has_token[word]:
                    form = item.sentence.forms[word]
                    where = item.sentence.where(word)
                    self.lost.add(f"{where}: the tokenizer has no token for the word {form!r} alone")

    def update(self, seen: LayerAttention) -> None:
        """Take the numbers of one layer."""
        marks = self._marks
        self._layers.append(marks.measure(seen.reduce(received), marks.even))
        if seen.layer < self.grid.layers - 1:
            return
        first = marks.measure(marks.from_first(seen.attention), marks.even_from_first)
        self.parts = [
            Values(
                number=self._number,
                document=self._document,
                tokens=marks.is_token.sum(-1),
                has=marks.has,
                values=torch.stack(self._layers, 3).permute(0, 2, 4, 3, 1),
                from_first=first.permute(0, 2, 3, 1),
                even=marks.highest(torch.stack([marks.even, marks.even_from_first], 1)),
            )
        ]

    def merge(self, other: Self) -> None:
        """Hold all that `other` holds."""
        self.parts = [*self.parts, *other.parts]
        self.lost.merge(other.lost)

    def result(self) -> Values:
        """The numbers of all texts in the order they were read."""
        return Values.joined(self.parts)
