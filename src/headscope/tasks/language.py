"""What the two language-modelling tasks share: texts cut into segments, and tokens to predict."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from headscope.errors import TextError
from headscope.models import Model
from headscope.run.options import check_limit, longest_text
from headscope.tasks.base import IGNORED, Encoded, Row, Task, TaskBatch
from headscope.tasks.metric import Array, Mean, Metric
from headscope.tasks.network import output_of
from headscope.text.corpus import Corpus, read_text
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.segments import segments
from headscope.text.skipped import Skipped
from headscope.types import Layout

USUAL_LENGTH = 128

_RECORD = np.dtype([("example", "i8"), ("loss", "f8"), ("right", "f8"), ("tokens", "f8")])


class LanguageModelling(Task):
    """Texts, cut into segments as for `analyze`, of which some tokens are to be predicted.

    Loss and accuracy are those of all predicted tokens together, so that a text counts by their number; their
    errors are over documents.
    """

    layout: ClassVar[Layout]

    def __init__(self, texts: Corpus, *, max_length: int | None = None, limit: int | None = None) -> None:
        """`limit` stops after that many segments."""
        super().__init__(texts.name)
        check_limit(limit)
        self.texts = texts
        self.max_length = max_length
        self.limit = limit

    @classmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """Plain text, JSON lines or pairs, as `read_text` takes them."""
        return cls(read_text(*paths), **options)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Loss in nats a token, and accuracy in %."""
        return (
            Mean("loss", "nats", digits=3, higher_is_better=False, low=0, field="loss", count="tokens"),
            Mean("accuracy", "%", low=0, high=100, field="right", count="tokens", scale=100),
        )

    def keep(self, limit: int) -> None:
        """Stop after that many segments."""
        self.limit = limit if self.limit is None else min(self.limit, limit)

    @abstractmethod
    def hide(self, encoded: EncodedInput, model: Model) -> tuple[EncodedInput, list[int]]:
        """The text as it is shown to the model, and for every place the token to predict there or IGNORED."""

    def corpus(self) -> Corpus:
        """The texts, all of them: `limit` counts segments."""
        return self.texts

    def encode(self, model: Model) -> Encoded:
        """A row for each segment that has something to predict."""
        skipped = Skipped("segments")
        encoder = TextEncoder(
            model.tokenizer, self.layout, longest_text(model, self.max_length, USUAL_LENGTH)
        )
        rows: list[Row] = []
        documents: list[int] = []
        for number, (encoded, document) in enumerate(self._segments(encoder)):
            shown, labels = self.hide(encoded, model)
            if all(label == IGNORED for label in labels):
                skipped.add(f"{self.data}: segment {number}: no token to predict")
                continue
            rows.append(Row(shown, len(rows), labels))
            # A pair that was given as it is, is a document of its own.
            documents.append(-1 - number if document is None else document)
        if not rows:
            raise TextError(f"{self.data} holds no text in which a token could be predicted")
        return Encoded(rows, documents, skipped)

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) mean cross-entropy of each row's tokens to predict."""
        row, logits, labels = self._predicted(output, batch)
        losses = cross_entropy(logits, labels, reduction="none")  # (predicted,)
        total = losses.new_zeros(batch.rows).index_add(0, row, losses)
        return total / batch.units.clamp_min(1)

    def read(self, output: Any, batch: TaskBatch) -> Array:
        """(row,) summed loss, right guesses, and how many tokens were to predict."""
        row, logits, labels = self._predicted(output, batch)
        losses = cross_entropy(logits.detach(), labels, reduction="none").cpu().double()  # (predicted,)
        right = (logits.argmax(-1) == labels).cpu().double()  # (predicted,)
        row = row.cpu()
        zeros = losses.new_zeros(batch.rows)
        rows = np.zeros(batch.rows, _RECORD)
        rows["example"] = batch.example.cpu().numpy()
        rows["loss"] = zeros.index_add(0, row, losses).numpy()
        rows["right"] = zeros.index_add(0, row, right).numpy()
        rows["tokens"] = batch.units.cpu().numpy()
        return rows

    def _predicted(self, output: Any, batch: TaskBatch) -> tuple[Tensor, Tensor, Tensor]:
        """(predicted,) rows, (predicted, vocabulary) logits and (predicted,) right tokens."""
        chosen = batch.labels != IGNORED  # (row, token)
        logits = output_of(output, "logits", "prediction_logits")  # (row, token, vocabulary)
        return torch.nonzero(chosen)[:, 0], logits[chosen], batch.labels[chosen]

    def _segments(self, encoder: TextEncoder) -> Iterator[tuple[EncodedInput, int | None]]:
        for pair in islice(segments(self.texts, encoder), self.limit):
            yield encoder.encode(pair), pair.document
