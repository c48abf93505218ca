"""Regression: a score for a text or a pair of texts, such as how alike two sentences are."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from torch import Tensor

from headscope.errors import ModelError, TextError
from headscope.models import Model
from headscope.tasks.base import TASKS, Encoded, Row, Task, TaskBatch, spread_evenly
from headscope.tasks.classification import encoded_texts, labelled_corpus
from headscope.tasks.metric import Array, Mean, Metric, Pearson, Spearman
from headscope.tasks.network import output_of
from headscope.text.corpus import Corpus
from headscope.text.formats.labelled import LabelledText, LabelledTexts, read_labelled
from headscope.text.skipped import Skipped

_RECORD = np.dtype([("example", "i8"), ("prediction", "f8"), ("gold", "f8"), ("squared_error", "f8")])


@TASKS.register("regression")
class Regression(Task):
    """Texts or pairs with a number: Pearson's and Spearman's correlation, and the mean squared error."""

    name = "regression"
    head = "classification"

    def __init__(self, texts: LabelledTexts, *, max_length: int | None = None) -> None:
        """The labels of the texts must be numbers."""
        super().__init__(texts.name)
        self.max_length = max_length
        self.skipped = Skipped("texts")
        self.skipped.merge(texts.skipped)
        self.texts: list[LabelledText] = []
        self.golds: list[float] = []
        for text in texts.texts:
            gold = _number(text.label)
            if gold is None:
                self.skipped.add(f"{text.where}: {text.label!r} is no number")
                continue
            self.texts.append(text)
            self.golds.append(gold)
        if not self.texts:
            raise TextError(f"{self.data}: no label is a number; {self.skipped.places[0]}")

    @classmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """Texts with a score, from tab-separated columns or JSON lines."""
        return cls(read_labelled(*paths), **options)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The two correlations and the mean squared error."""
        return (
            Pearson("pearson", digits=3, low=-1, high=1),
            Spearman("spearman", digits=3, low=-1, high=1),
            Mean("mse", digits=3, higher_is_better=False, low=0, field="squared_error"),
        )

    def check(self, model: Model) -> None:
        """Raise unless the model gives one number a text."""
        super().check(model)
        if int(model.config.num_labels) != 1:
            raise ModelError(
                f"{model.name} has {model.config.num_labels} classes and gives no score; use the task "
                "classification, or a model with num_labels 1"
            )

    def keep(self, limit: int) -> None:
        """Drop all but some texts, spread over the data."""
        places = spread_evenly(len(self.texts), limit)
        self.texts = [self.texts[place] for place in places]
        self.golds = [self.golds[place] for place in places]

    def corpus(self) -> Corpus:
        """The texts and pairs."""
        return labelled_corpus(self.texts, self.data)

    def encode(self, model: Model) -> Encoded:
        """A row for each text."""
        encoded = encoded_texts(self.texts, model, self.max_length)
        rows = [
            Row(one, number, gold) for number, (one, gold) in enumerate(zip(encoded, self.golds, strict=True))
        ]
        return Encoded(rows, list(range(len(rows))), self.skipped)

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) squared error."""
        return (output_of(output, "logits")[:, 0] - batch.labels) ** 2

    def read(self, output: Any, batch: TaskBatch) -> Array:
        """(row,) predictions and golds."""
        rows = np.zeros(batch.rows, _RECORD)
        rows["example"] = batch.example.cpu().numpy()
        rows["prediction"] = output_of(output, "logits")[:, 0].detach().cpu().numpy()
        rows["gold"] = batch.labels.cpu().numpy()
        rows["squared_error"] = (rows["prediction"] - rows["gold"]) ** 2
        return rows


def _number(label: str) -> float | None:
    try:
        number = float(label)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
