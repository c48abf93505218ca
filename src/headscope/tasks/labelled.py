"""Labels of texts and pairs of texts: classes, and scores such as how alike two sentences are."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from torch import Tensor
from torch.nn.functional import cross_entropy

from headscope.errors import ModelError, TextError
from headscope.models import Model
from headscope.tasks.base import TASKS, Task
from headscope.tasks.batches import TaskBatch, output_of
from headscope.tasks.metric import ClassF1, Matthews, Mean, Metric, Pearson, Spearman
from headscope.text.encode import EncodedInput
from headscope.text.formats.labelled import LabelledText, LabelledTexts, read_labelled
from headscope.text.items import TextPair
from headscope.text.skipped import Skipped


class LabelledTask(Task):
    """Texts or pairs, from tab-separated columns or JSON lines, each with a label."""

    head = "classification"
    reader = staticmethod(read_labelled)
    nothing: str
    """What is wrong when not a single label can be used."""

    def __init__(self, texts: LabelledTexts, *, max_length: int | None = None) -> None:
        """Texts with labels of another sort are skipped."""
        skipped = Skipped("texts")
        skipped.merge(texts.skipped)
        usable: list[tuple[LabelledText, float]] = []
        for text in texts.texts:
            if (gold := self.gold(text.label)) is None:
                skipped.add(f"{text.where}: {self.wrong(text.label)}")
            else:
                usable.append((text, gold))
        if not usable:
            raise TextError(f"{texts.name}: {self.nothing}; {skipped.places[0]}")
        super().__init__(texts.name, usable, max_length=max_length, skipped=skipped)

    @abstractmethod
    def gold(self, label: str) -> float | None:
        """What a label in the file stands for; None for one of another sort."""

    @abstractmethod
    def wrong(self, label: str) -> str:
        """Why a label cannot be used."""

    def pair(self, example: tuple[LabelledText, float]) -> TextPair:
        """The text, or both."""
        return TextPair(example[0].first, example[0].second)


@TASKS.register("classification")
class Classification(LabelledTask):
    """Texts or pairs with one of several labels: accuracy, F1 and Matthews' correlation.

    Labels are the names in the model's config, in any case, or their numbers. F1 is that of class 1 for two classes,
    and the mean over classes for more.
    """

    name = "classification"
    does = "classifying texts"
    nothing = "no label is one of the model's"

    def __init__(
        self, texts: LabelledTexts, *, labels: Mapping[int, str], max_length: int | None = None
    ) -> None:
        """`labels` are the names of the classes by number, as in the model's `config.id2label`."""
        self.labels = {int(number): str(name) for number, name in labels.items()}
        super().__init__(texts, max_length=max_length)

    @classmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """Labelled texts; the model says what its labels are called."""
        return super().from_files(paths, model, labels=model.config.id2label, **options)

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

    def gold(self, label: str) -> int | None:
        """The number of a class."""
        for number, name in self.labels.items():
            if name.lower() == label.lower():
                return number
        try:
            number = int(float(label)) if float(label).is_integer() else -1
        except (ValueError, OverflowError):
            return None
        return number if number in self.labels else None

    def wrong(self, label: str) -> str:
        """The classes there are."""
        known = ", ".join(f"{number} ({name})" for number, name in self.labels.items())
        return f"label {label!r} is none of {known}"

    def labels_of(self, example: tuple[LabelledText, int], encoded: EncodedInput, model: Model) -> list[int]:
        """The class."""
        return [example[1]]

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) cross-entropy."""
        return cross_entropy(output_of(output, "logits"), batch.labels[:, 0], reduction="none")

    def scores(self, output: Any, batch: TaskBatch) -> dict[str, Tensor]:
        """Guesses and golds."""
        prediction, gold = output_of(output, "logits").argmax(-1), batch.labels[:, 0]
        right = 100.0 * (prediction == gold)
        return {"prediction": prediction, "gold": gold, "right": right, "loss": self.loss(output, batch)}


@TASKS.register("regression")
class Regression(LabelledTask):
    """Texts or pairs with a number: Pearson's and Spearman's correlation, and the mean squared error."""

    name = "regression"
    does = "scoring texts"
    loss_units = "squared error"
    nothing = "no label is a number"
    metrics = (
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

    def gold(self, label: str) -> float | None:
        """The number that is written there."""
        try:
            number = float(label)
        except ValueError:
            return None
        return number if math.isfinite(number) else None

    def wrong(self, label: str) -> str:
        """That it is none."""
        return f"{label!r} is no number"

    def labels_of(self, example: tuple[LabelledText, float], encoded: EncodedInput, model: Model) -> float:
        """The score."""
        return example[1]

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) squared error."""
        return (output_of(output, "logits")[:, 0] - batch.labels) ** 2

    def scores(self, output: Any, batch: TaskBatch) -> dict[str, Tensor]:
        """Predictions and golds."""
        prediction, gold = output_of(output, "logits")[:, 0].double(), batch.labels.double()
        return {"prediction": prediction, "gold": gold, "squared_error": (prediction - gold) ** 2}
