"""Classification of texts and pairs of texts."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from torch import Tensor
from torch.nn.functional import cross_entropy

from headscope.errors import ModelError, TextError
from headscope.models import Model
from headscope.run.options import longest_text
from headscope.tasks.base import TASKS, Encoded, Row, Task, TaskBatch, spread_evenly
from headscope.tasks.metric import Array, ClassF1, Matthews, Mean, Metric
from headscope.tasks.network import output_of
from headscope.text.corpus import Corpus, as_corpus
from headscope.text.encode import TextEncoder
from headscope.text.formats.labelled import LabelledText, LabelledTexts, read_labelled
from headscope.text.items import TextPair
from headscope.text.skipped import Skipped

USUAL_LENGTH = 512

_RECORD = np.dtype([("example", "i8"), ("prediction", "i8"), ("gold", "i8"), ("right", "f8"), ("loss", "f8")])


@TASKS.register("classification")
class Classification(Task):
    """Texts or pairs with one of several labels: accuracy, F1 and Matthews' correlation.

    Labels are the names in the model's config, in any case, or their numbers. F1 is that of class 1 for two classes,
    and the mean over classes for more.
    """

    name = "classification"
    head = "classification"

    def __init__(
        self, texts: LabelledTexts, *, labels: Mapping[int, str], max_length: int | None = None
    ) -> None:
        """`labels` are the names of the classes by number, as in the model's `config.id2label`."""
        super().__init__(texts.name)
        self.labels = {int(number): str(name) for number, name in labels.items()}
        self.max_length = max_length
        self.skipped = Skipped("texts")
        self.skipped.merge(texts.skipped)
        self.texts: list[LabelledText] = []
        self.golds: list[int] = []
        for text in texts.texts:
            gold = self._class_of(text.label)
            if gold is None:
                known = ", ".join(f"{number} ({name})" for number, name in self.labels.items())
                self.skipped.add(f"{text.where}: label {text.label!r} is none of {known}")
                continue
            self.texts.append(text)
            self.golds.append(gold)
        if not self.texts:
            raise TextError(f"{self.data}: no label is one of the model's; {self.skipped.places[0]}")

    @classmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """Labelled texts, from tab-separated columns or JSON lines; the model says what its labels are called."""
        return cls(read_labelled(*paths), labels=model.config.id2label, **options)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Accuracy and F1 in %, Matthews' correlation, and the loss."""
        classes = len(self.labels)
        return (
            Mean("accuracy", "%", low=0, high=100, field="right"),
            ClassF1("f1", "%", low=0, high=100, classes=classes),
            Matthews("matthews", digits=3, low=-1, high=1, classes=classes),
            Mean("loss", "nats", digits=3, higher_is_better=False, low=0, field="loss"),
        )

    def check(self, model: Model) -> None:
        """Raise unless the model has as many classes as the task."""
        super().check(model)
        if int(model.config.num_labels) != len(self.labels):
            raise ModelError(
                f"{model.name} has {model.config.num_labels} classes and the task {len(self.labels)}; "
                "make the task for this model"
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
        rows = [
            Row(encoded, number, [gold])
            for number, (encoded, gold) in enumerate(
                zip(encoded_texts(self.texts, model, self.max_length), self.golds, strict=True)
            )
        ]
        return Encoded(rows, list(range(len(rows))), self.skipped)

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) cross-entropy."""
        return cross_entropy(output_of(output, "logits"), batch.labels[:, 0], reduction="none")

    def read(self, output: Any, batch: TaskBatch) -> Array:
        """(row,) guesses and golds."""
        logits = output_of(output, "logits").detach()  # (row, class)
        rows = np.zeros(batch.rows, _RECORD)
        rows["example"] = batch.example.cpu().numpy()
        rows["prediction"] = logits.argmax(-1).cpu().numpy()
        rows["gold"] = batch.labels[:, 0].cpu().numpy()
        rows["right"] = 100.0 * (rows["prediction"] == rows["gold"])
        rows["loss"] = self.loss(output, batch).detach().cpu().numpy()
        return rows

    def _class_of(self, label: str) -> int | None:
        for number, name in self.labels.items():
            if name.lower() == label.lower():
                return number
        try:
            number = int(float(label)) if float(label).is_integer() else -1
        except (ValueError, OverflowError):
            return None
        return number if number in self.labels else None


def labelled_corpus(texts: Sequence[LabelledText], name: str) -> Corpus:
    """Labelled texts and pairs without their labels."""
    return as_corpus([TextPair(text.first, text.second) for text in texts], name=name)


def encoded_texts(texts: list[LabelledText], model: Model, max_length: int | None) -> list[Any]:
    """Each text or pair as input for the model, as it is fine-tuned: pairs with the tokenizer's own marks."""
    length = longest_text(model, max_length, USUAL_LENGTH)
    single = TextEncoder(model.tokenizer, "pair", length)
    return [single.encode(TextPair(text.first, text.second)) for text in texts]
