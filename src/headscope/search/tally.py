"""How much attention goes along arrows, against other words as far away, and against arrows with targets at random.

For an arrow from word q to word k the *candidates* are k and the other words at the same distance class: on the same
side of q, and as k 1 to 2 words away, 3 to 4, 5 to 8, and so on. Its score is A[q, k] less the mean of A[q, k'] over
the other candidates; a text's is the mean over its arrows. Where no other word is in the class, all other words of the
text are candidates. Left out are q itself, words that q has further arrows to, and what the stack cannot see.

A draw gives every arrow one of its candidates as target instead, each as likely. If it does not matter to a head which
of the words at that distance an arrow points at, what was seen is a draw like any other. The numbers of a text are
drawn from a hash of the text, so that they do not depend on batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Self

import numpy as np
import torch
from torch import Tensor

from headscope.probes.observe import Tally
from headscope.probes.words import word_attention
from headscope.text.annotated.arrows import Arrow, ArrowText
from headscope.text.skipped import Skipped
from headscope.types import Array, HeadGrid, LayerAttention, TokenBatch


def distance_class(distance: int) -> int:
    """1 for words up to 2 behind, 2 for 3 to 4, 3 for 5 to 8, and so on; negative for words before, 0 for itself."""
    size = max(1, (abs(distance) - 1).bit_length()) if distance else 0
    return size if distance > 0 else -size


def candidates(arrow: Arrow, pointed_at: set[int], sees: Sequence[int]) -> list[int]:
    """The target, and the other words it is held against, out of the words that the source `sees`.

    `pointed_at` are the targets of all arrows of the same source.
    """
    source, target = arrow
    others = [word for word in sees if word not in pointed_at and word != source]
    wanted = distance_class(target - source)
    near = [word for word in others if distance_class(word - source) == wanted]
    return [target, *(near or others)]


@dataclass(frozen=True)
class _Batch:
    """The arrows of a batch that can be scored, as numbers."""

    text: Tensor  # (arrow,) its place among the texts of the batch that have arrows
    place: Tensor  # (arrow,) the row of the source in the batch's table of words
    words: Tensor  # (arrow, candidate) the target first; where there are fewer, the target again
    count: Tensor  # (arrow,) how many candidates
    drawn: Tensor  # (arrow, draw) which of the candidates is the target
    share: Tensor  # (arrow,) one over the number of arrows of its text


@dataclass(eq=False)
class ArrowTally(Tally[ArrowText]):
    """Every text's numbers, and the sums over texts of what targets at random give."""

    grid: HeadGrid
    draws: int
    seed: int

    def __post_init__(self) -> None:
        self.texts: list[Tensor] = []
        """A text each, (quantity, layer, head): attention to the target, and score."""
        self.arrows = 0
        self.ahead = 0  # arrows to what a stack that only looks back cannot see
        self.lost = Skipped("arrows")
        self.drawn = torch.zeros(
            *self.grid.shape, self.draws, dtype=torch.float64
        )  # sum over texts of scores
        self._batch: _Batch | None = None

    def begin(self, items: Sequence[ArrowText], present: Tensor, tokens: TokenBatch) -> None:
        """Lay out the arrows whose words have tokens."""
        rows: list[tuple[int, int, list[int], Array]] = []  # text, source's row, candidates, drawn ones
        sizes: list[int] = []
        for place, (item, has_token) in enumerate(zip(items, present.tolist(), strict=True)):
            own = list(self._usable(item, has_token))
            random = np.random.default_rng([self.seed, *sha256(item.signature.encode()).digest()])
            for arrow, words in own:
                drawn = random.integers(len(words), size=self.draws)
                rows.append((len(sizes), place * present.shape[1] + arrow.source, words, drawn))
            sizes += [len(own)] if own else []
        self.arrows += len(rows)
        self.texts = list(torch.zeros(len(sizes), 2, *self.grid.shape, dtype=torch.float64))
        self._batch = _laid_out(rows, sizes, present.device) if rows else None

    def _usable(self, item: ArrowText, has_token: list[bool]) -> list[tuple[Arrow, list[int]]]:
        known = [word for word, has in enumerate(has_token) if has]
        usable = []
        for arrow in item.arrows:
            sees = [word for word in known if word <= arrow.source] if self.grid.causal else known
            if arrow.source not in known or arrow.target not in known:
                words = " and ".join(repr(item.content.words[word][:20]) for word in arrow)
                self.lost.add(f"{item.where}: no token for {words}, or cut off with the end of the text")
            elif arrow.target not in sees:
                self.ahead += 1
            else:
                same = {other.target for other in item.arrows if other.source == arrow.source}
                words_of = candidates(arrow, same, sees)
                if len(words_of) > 1:
                    usable.append((arrow, words_of))
                else:
                    self.lost.add(f"{item.where}: no other word to compare the target with")
        return usable

    def update(self, seen: LayerAttention) -> None:
        """Count one layer of the batch."""
        batch = self._batch
        if batch is None:
            return
        table = word_attention(seen).permute(0, 2, 3, 1).flatten(0, 1)  # (text and word, word, head)
        weights = table[batch.place[:, None], batch.words].double()  # (arrow, candidate, head)
        # (arrow, candidate)
        real = torch.arange(weights.shape[1], device=weights.device) < batch.count[:, None]
        mean = (weights * real[..., None]).sum(1, keepdim=True) / batch.count[:, None, None]
        # The target less the mean of the others is n / (n - 1) times the target less the mean of all n.
        scores = (weights - mean) * (batch.count / (batch.count - 1))[:, None, None]
        by_text = weights.new_zeros(len(self.texts), 2, self.grid.heads)
        own = torch.stack([weights[:, 0], scores[:, 0]], 1) * batch.share[:, None, None]
        by_text.index_add_(0, batch.text, own)
        for text, numbers in zip(self.texts, by_text.cpu(), strict=True):
            text[:, seen.layer] = numbers
        at = batch.drawn[..., None].expand(-1, -1, self.grid.heads)  # (arrow, draw, head)
        drawn = (scores.gather(1, at) * batch.share[:, None, None]).sum(0)  # (draw, head)
        self.drawn[seen.layer] += drawn.T.cpu()

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        self.texts += other.texts
        self.arrows += other.arrows
        self.ahead += other.ahead
        self.lost.merge(other.lost)
        self.drawn += other.drawn


def _laid_out(
    rows: Sequence[tuple[int, int, list[int], Array]], sizes: Sequence[int], device: torch.device
) -> _Batch:
    texts, places, words, drawn = zip(*rows, strict=True)
    most = max(map(len, words))
    filled = [[*own, *[own[0]] * (most - len(own))] for own in words]
    count = [len(own) for own in words]
    share = [1 / sizes[text] for text in texts]
    text, place, word, size = (torch.tensor(own, device=device) for own in (texts, places, filled, count))
    return _Batch(
        text,
        place,
        word,
        size,
        torch.from_numpy(np.stack(drawn)).to(device),
        torch.tensor(share, dtype=torch.float64, device=device),
    )
