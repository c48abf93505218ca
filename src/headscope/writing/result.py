"""What heads were found to write."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from headscope.atlas import Results
from headscope.facts.description import described_in
from headscope.probes.result import COUNT, OVER, ProbeResult, Row, largest
from headscope.stats.intervals import mean_interval
from headscope.types import Array, Coords, HeadGrid, HeadId, LabelledArray
from headscope.writing.effects import CURRENT, LOOKED_AT, NEXT, WrittenSums
from headscope.writing.weights import READS

MOST = 10
"""How many tokens are listed that a head raises, and that it lowers."""
CHANGES = ("raised", "lowered")

_ROWS = {
    "copying": (LOOKED_AT, 1),
    "copy_suppression": (LOOKED_AT, -1),
    "raises_next": (NEXT, 1),
    "lowers_next": (NEXT, -1),
    "raises_current": (CURRENT, 1),
    "lowers_current": (CURRENT, -1),
}
"""What a row is about: whose score, and whether it is raised or lowered."""

DESCRIPTION = described_in(__file__)


@dataclass(frozen=True)
class FromWeights:
    """What the weights alone say; None where they are kept in an unknown form."""

    copying: Array | None  # (layer, head)
    composition: Array | None  # (read, layer, head, layer of the first, head of the first)


@dataclass(frozen=True)
class Token:
    """A token and what a head adds to its score on average."""

    token: str
    effect: float


@dataclass(frozen=True)
class WritesResult(ProbeResult):
    """Direct effects of every head, the tokens it raises and lowers, copying and composition."""

    description = DESCRIPTION

    grid: HeadGrid
    sums: WrittenSums
    directions: Tensor
    weights: FromWeights

    def intervals(self) -> str:
        """What intervals are over, in words."""
        return f"over texts, after correction for {self.grid.size} heads"

    def arrays(self) -> Results:
        """`direct_effect` (target, layer, head) with control and difference, tokens, `copying` and `composition`."""
        words = {
            "value": "what a head adds directly to the logit of a token, minus the vocabulary's mean",
            "control": "the same of the head's output at another position of the same text",
            "difference": "direct_effect minus direct_effect_control, text by text",
        }
        arrays = self.sums.effects.labelled("direct_effect", "target", self.grid, words, "logits")
        heads = self.grid.coords
        tokens, effects = self._most_written
        ranks: Coords = {"change": CHANGES, "rank": range(tokens.shape[1]), **heads}
        most = "the tokens whose scores a head raises, and lowers, most on average over positions"
        adds = "what a head adds to the score of each written_token"
        arrays["written_token"] = LabelledArray.of(tokens, ranks, most)
        arrays["written_effect"] = LabelledArray.of(effects, ranks, adds, "logits")
        if self.weights.copying is not None and self.weights.composition is not None:
            reads = {"read": READS}
            pairs = {**reads, **heads, **{f"from_{dim}": labels for dim, labels in heads.items()}}
            copies = "sum of the eigenvalues of embedding, value, output and unembedding over the sum of their sizes"
            composes = (
                "how much of what an earlier head writes a head reads, as a ratio of Frobenius norms; random matrices "
                f"have {self.chance:.3f}"
            )
            at_random = np.full(len(READS), self.chance)
            arrays |= {
                "copying": LabelledArray.of(self.weights.copying, heads, copies),
                "composition": LabelledArray.of(self.weights.composition, pairs, composes),
                "composition_random": LabelledArray.of(
                    at_random, reads, "the composition of random matrices"
                ),
            }
        return {self.grid.stack: arrays}

    @property
    def chance(self) -> float:
        """The composition of random matrices: one over the root of the stream's width."""
        return float(self.directions.shape[1] ** -0.5)

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each effect: the head that has most of it."""
        self.stack_of([self.grid.stack], stack)
        return [self._row(name, *about) for name, about in _ROWS.items()]

    def _row(self, name: str, target: str, sign: int) -> Row:
        means = self.sums.effects.by_name[target]
        row: Row = {"effect": name, "cases": means.texts, OVER: "texts", COUNT: means.texts}
        columns = ("logits", "control", "difference", "low", "high")
        difference, error = sign * means.difference.mean(), means.difference.stderr()
        value = sign * means.value.mean()
        # Less than its control is not yet the other way round.
        best = largest(np.where(value > 0, difference, -np.inf))
        if best is None:
            return row | dict.fromkeys(("head", *columns))
        texts = float(means.difference.texts[best])
        low, high = mean_interval(difference, error, texts, comparisons=difference.size)
        numbers = (value, sign * means.control.mean(), difference, low, high)
        values = {column: float(array[best]) for column, array in zip(columns, numbers, strict=True)}
        return row | {"head": str(HeadId(*best))} | values

    def tokens(self, head: HeadId | str, *, most: int = MOST) -> tuple[list[Token], list[Token]]:
        """The tokens whose scores a head raises, and lowers, most on average over the texts; ten each at most."""
        at = HeadId.parse(str(head))
        tokens, effects = (each[:, :most, at.layer, at.head] for each in self._most_written)
        raised, lowered = (
            [Token(str(token), float(effect)) for token, effect in zip(*pair, strict=True)]
            for pair in zip(tokens, effects, strict=True)
        )
        return raised, lowered

    @cached_property
    def _most_written(self) -> tuple[Array, Array]:
        """(change, rank, layer, head) the tokens that every head raises, and lowers, most, and by how much."""
        directions = self.directions.double().cpu()  # (token, hidden)
        most = min(MOST, len(directions))
        shape = (len(CHANGES), most, *self.grid.shape)
        places, effects = np.zeros(shape, int), np.zeros(shape)
        for layer in range(self.grid.layers):
            mean = self.sums.written[layer] / max(self.sums.tokens, 1)  # (head, hidden)
            by_token = mean @ directions.T  # (head, token)
            for change, raised in enumerate((True, False)):
                values, at = torch.topk(by_token, most, largest=raised)  # (head, rank)
                places[change, :, layer], effects[change, :, layer] = at.T.numpy(), values.T.numpy()
        names = {place: str(self.model.tokenizer.decode([place])) for place in np.unique(places).tolist()}
        return np.vectorize(names.__getitem__, otypes=[np.str_])(places), effects
