"""Rows through the network: as it is, and with one edge of each removed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headscope.edits import Edge, without_edges
from headscope.passes.options import BatchSize
from headscope.passes.progress import RunProgress, Tell
from headscope.tasks.batches import output_of
from headscope.text.batching import TextBatch, by_length
from headscope.trace import AttentionCall, Capture, Forward, following
from headscope.trace.architecture import Place
from headscope.trace.inputs import model_inputs
from headscope.trace.observe import evaluating
from headscope.trace.watch import Watch
from headscope.types import Array, HeadId, StackName
from headscope.usage.rows import Row, Rows


@dataclass(frozen=True)
class Cut:
    """The edge to remove in a case: a head, and two words, of which the first looks."""

    head: HeadId
    query: int
    key: int


@dataclass
class Network:
    """One model with its head, ready to be scored."""

    capture: Capture
    rows: Rows
    tell: Tell = lambda progress: None
    expected: int | None = None
    """How many rows there will be in all passes together."""
    batch_size: BatchSize = "auto"
    done: int = 0

    def untouched(self, heads: Sequence[HeadId]) -> tuple[Array, list[dict[HeadId, Array]]]:
        """(case,) the score of the model as it is; and for every case (word, word) attention of these heads."""
        maps: list[dict[HeadId, Array]] = [{} for _ in self.rows.cases]
        scores = np.zeros(len(self.rows.cases))
        by_layer: dict[Place, list[HeadId]] = {}
        for head in heads:
            by_layer.setdefault(Place(self.stack, head.layer), []).append(head)
        for chosen in self._batches(self.rows.rows):

            def see(
                place: Place, call: AttentionCall, forward: Forward, chosen: list[Row] = chosen
            ) -> AttentionCall:
                for head in by_layer[place]:
                    for text, row in enumerate(chosen):
                        # Of the two sentences of a pair the right one, which comes first, tells.
                        if head not in maps[row.case]:
                            maps[row.case][head] = word_map(row, call.weights[text, head.head])
                return call

            with following(self.capture, by_layer, see):
                self._score(chosen, scores)
        return scores, maps

    def without(self, cuts: Mapping[int, Cut]) -> Array:
        """(case,) the score without an edge of each case; nan for cases that have none to remove."""
        scores = np.where([case in cuts for case in range(len(self.rows.cases))], 0.0, np.nan)
        for chosen in self._batches([row for row in self.rows.rows if row.case in cuts]):
            edges = [
                Edge(text, self.stack, cut.head, row.pieces(cut.query), row.pieces(cut.key))
                for text, row in enumerate(chosen)
                for cut in (cuts[row.case],)
            ]
            with without_edges(self.capture, edges):
                self._score(chosen, scores)
        return scores

    @property
    def stack(self) -> StackName:
        """The only stack of the model."""
        return self.capture.stacks.grids[0].stack

    def _batches(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        for chosen in by_length(rows, Watch(self.capture).texts_at(self.batch_size)):
            yield chosen
            self.done += len(chosen)
            self.tell(RunProgress(self.done, self.expected))

    def _score(self, rows: Sequence[Row], scores: Array) -> None:
        """Add the rows' log probabilities to the scores of their cases."""
        model = self.capture.model
        batch: TextBatch = model_inputs(model, [row.encoded for row in rows])
        with evaluating(model.network), torch.inference_mode():
            output = model.network(**batch.inputs, **model.no_cache)
        logits = output_of(output, "logits", "prediction_logits")  # (row, token, vocabulary)
        for text, row in enumerate(rows):
            places, tokens, signs = (
                torch.tensor(part, device=logits.device) for part in zip(*row.terms, strict=True)
            )
            chances = logits[text, places].double().log_softmax(-1)  # (term, vocabulary)
            scores[row.case] += float((chances.gather(1, tokens[:, None])[:, 0] * signs).sum())


def word_map(row: Row, weights: Tensor) -> Array:
    """(word, word) attention between words of one head's weights (query, key): means over pieces that look, sums over
    pieces that are looked at; nan where a word has no token."""
    words = torch.tensor(row.encoded.source.word, device=weights.device)
    count = int(words.max()) + 1
    members = (words[:, None] == torch.arange(count, device=words.device)).to(weights.dtype)  # (token, word)
    size = members.sum(0)
    own = weights[: len(words), : len(words)]
    between = (members.T @ own @ members) / size[:, None]
    between[:, size == 0] = torch.nan
    result: Array = between.float().cpu().numpy()
    return result
