"""The attention between the words of pairs, and between the words of every pair of the same shape.

The control of a pair is the pair itself moved through its sentence: predicate and argument together, by every
number of words that leaves both inside. So each control has the pair's distance, order and lengths, which matters
because the maximum over a longer argument is larger; and the mean over all of them is what random drawing would
come to in the end.

The maximum over an argument of any length is that of two overlapping stretches of a length that is a power of
two. Their maxima are computed once for all words of a layer, so that the work for a pair does not grow with the
length of its argument.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from headscope.probes.pointing.cases import Case, CaseBatch, Measured, Pointing
from headscope.types import Array, TokenBatch


@dataclass(frozen=True)
class Pair(Case):
    """A predicate and one argument: `asking` is the predicate's first word, `right` are the argument's words."""

    predicate: tuple[int, ...] = ()
    where: str = ""  # file:line


@dataclass(frozen=True)
class _Shapes:
    """Pairs, or pairs moved elsewhere, as numbers."""

    text: Array  # (row,)
    predicate: Array  # (row, predicate word)
    start: Array  # (row,) of the argument
    end: Array  # (row,)

    @classmethod
    def of(cls, pairs: Sequence[tuple[int, Pair]]) -> Self:
        """The pairs where they are."""
        most = max(len(pair.predicate) for _, pair in pairs)
        # A predicate of fewer words repeats its first one, which changes no maximum.
        words = [[*pair.predicate, *[pair.asking] * (most - len(pair.predicate))] for _, pair in pairs]
        return cls(
            np.array([place for place, _ in pairs]),
            np.array(words),
            np.array([pair.right[0] for _, pair in pairs]),
            np.array([pair.right[-1] + 1 for _, pair in pairs]),
        )

    def moved(self, rows: Array, move: Array | int = 0) -> "_Shapes":
        """Some of the rows, each moved by so many words."""
        by = np.broadcast_to(move, rows.shape)
        return _Shapes(
            self.text[rows], self.predicate[rows] + by[:, None], self.start[rows] + by, self.end[rows] + by
        )

    def have_tokens(self, has_token: Array) -> Array:
        """(row,) whether both sides have a word with a token, which is asked of the pairs themselves too."""
        counts = np.pad(has_token.cumsum(1), ((0, 0), (1, 0)))  # (text, word + 1)
        argument = counts[self.text, self.end] > counts[self.text, self.start]
        result: Array = argument & has_token[self.text[:, None], self.predicate].any(1)
        return result

    def places(self, level: int, words: int) -> Tensor:
        """(row, predicate word, 1 or 2) where the stretches of 2 ** level words lie in a table of that level."""
        row = self.text[:, None] * words + self.predicate  # (row, predicate word)
        ends = [self.start] if level == 0 else [self.start, self.end - 2**level]
        column = np.stack(ends, 1)  # (row, 1 or 2)
        return torch.from_numpy(row[:, :, None] * (words + 1 - 2**level) + column[:, None])


@dataclass(frozen=True)
class _Stretch:
    """The pairs whose argument is read by stretches of 2 ** level words; places count within the layer's table."""

    own: Tensor  # (pair, predicate word, 1 or 2)
    controls: Tensor  # (control, predicate words * 1 or 2)
    pairs: Tensor  # (pair,) their numbers
    of: Tensor  # (control,) the number of the pair it belongs to


class PairBatch(CaseBatch):
    """The pairs of a batch whose words have tokens, and where their controls lie.

    The difference between a pair's attention and its control is what heads are chosen by. It and the control are
    over pairs that have a control, `attention` is over all pairs.
    """

    quantities = ("difference", "attention", "control")

    def __init__(self, items: Sequence[Pointing], present: Tensor, tokens: TokenBatch) -> None:
        self.pairs: list[tuple[int, Pair]] = []
        self._lengths: list[int] = []  # of each pair's item, up to its last word with a token
        super().__init__(items, present, tokens)
        self.words = present.shape[1]
        self.controls = torch.zeros(len(self.pairs))  # (pair,) how many
        self._stretches: dict[int, _Stretch] = {}
        if self.pairs:
            self._lay_out(present.cpu().numpy(), present.device)

    def _take(self, place: int, has_token: list[bool], *, is_cut: bool) -> None:
        # Not the number of words: how many the batch has room for depends on the other items.
        length = max((word for word, has in enumerate(has_token) if has), default=-1) + 1
        item = self.items[place]
        for pair in item.cases:
            assert isinstance(pair, Pair)
            is_inside = max(*pair.predicate, pair.right[-1]) < length
            sides = (pair.predicate, pair.right)
            if is_inside and all(any(has_token[word] for word in side) for side in sides):
                self.cases.append((place, pair))
                self.pairs.append((place, pair))
                self._lengths.append(length)
            elif is_inside or not is_cut:  # what was cut off with the end of the text is told as such
                words = " ".join(item.content.words[word] for side in sides for word in side)
                self.lost.add(
                    f"{pair.where}: the tokenizer has no token for a side of the pair {words[:40]!r}"
                )

    def counts(self, quantity: str) -> Tensor:
        """(case,) every pair has attention; without a control it has neither that nor the difference."""
        return super().counts(quantity) if quantity == "attention" else self.controls.cpu() > 0

    def _lay_out(self, has_token: Array, device: torch.device) -> None:
        shapes = _Shapes.of(self.pairs)
        before = np.minimum(shapes.predicate.min(1), shapes.start)  # how far a pair can move to the front
        after = np.array(self._lengths) - 1 - np.maximum(shapes.predicate.max(1), shapes.end - 1)
        of = np.arange(len(self.pairs)).repeat(before + after)  # (control,) which pair it belongs to
        begins = (before + after).cumsum() - (before + after)
        move = np.arange(len(of)) - begins[of] - before[of]
        move += move >= 0  # every move but none at all
        moved = shapes.moved(of, move)
        usable = moved.have_tokens(has_token)
        of, moved = of[usable], moved.moved(usable.nonzero()[0])
        self.controls = torch.from_numpy(np.bincount(of, minlength=len(self.pairs))).float().to(device)
        levels = np.frexp(shapes.end - shapes.start)[1] - 1  # exact, as a logarithm need not be
        for level in np.unique(levels).tolist():
            own = (levels == level).nonzero()[0]
            controls = (levels[of] == level).nonzero()[0]
            self._stretches[level] = _Stretch(
                shapes.moved(own).places(level, self.words).to(device),
                moved.moved(controls).places(level, self.words).flatten(1).to(device),
                torch.from_numpy(own).to(device),
                torch.from_numpy(of[controls]).to(device),
            )
        first = shapes.text * self.words + shapes.predicate[:, 0]
        self._asking = torch.from_numpy(first).to(device)  # (pair,) the predicate's first word in its text

    def measure(self, words: Tensor) -> Measured:
        """The attention of one layer, and whether the predicate's first word and the argument have the most of it."""
        ways = [self._one_way(words.permute(0, 2, 3, 1)), self._one_way(words.permute(0, 3, 2, 1))]
        attention, control, asking, strongest = (torch.stack(way, 1).cpu() for way in zip(*ways, strict=True))
        values = {"difference": attention - control, "attention": attention, "control": control}
        return Measured(values, asking, (asking >= strongest) & (asking > 0))

    def _one_way(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(pair, head) each, from `words` (text, predicate's word, argument's word, head).

        The strongest between any two words of the pair; its mean over the controls, 0 where there is none; and between
        the predicate's first word and the argument, or any other word.
        """
        # A copy with the heads side by side, so that whole rows are read.
        table = words.clone(memory_format=torch.contiguous_format)
        # No pair and no control has a word on both sides; only the strongest word must not be the word itself.
        table.diagonal(dim1=1, dim2=2).fill_(-1.0)
        heads = table.shape[-1]
        strongest = table.amax(2).view(-1, heads)[self._asking].clamp_min(0)
        attention, control, asking = table.new_zeros(3, len(self.pairs), heads)
        for level in range(max(self._stretches) + 1):
            if level:
                step = 2 ** (level - 1)
                table = torch.maximum(table[:, :, :-step], table[:, :, step:])
            stretch = self._stretches.get(level)
            if stretch is not None:
                rows = table.view(-1, heads)
                own = rows[stretch.own].amax(2)  # (pair, predicate word, head)
                asking[stretch.pairs] = own[:, 0]
                attention[stretch.pairs] = own.amax(1)
                control.index_add_(0, stretch.of, rows[stretch.controls].amax(1))
        return attention, control / self.controls.clamp_min(1)[:, None], asking, strongest
