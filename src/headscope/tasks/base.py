"""What every task has in common: data encoded once for a model, losses and scores by example, a result."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.accumulator import Counted
from headscope.errors import OptionError
from headscope.models import Model
from headscope.passes.options import BatchSize, check_batch_size, check_limit, longest_text
from headscope.passes.progress import tick
from headscope.passes.run_pass import run_pass
from headscope.registry import Registry
from headscope.tasks.asked import forward_asked, prove
from headscope.tasks.batches import Encoded, Row, TaskBatch, TaskBatches, batched
from headscope.tasks.heads import Head, check_head
from headscope.tasks.metric import Metric
from headscope.tasks.result import TaskResult
from headscope.text.corpus import Corpus, as_corpus
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.text.skipped import Skipped
from headscope.trace.observe import evaluating
from headscope.types import Array

BATCHES_A_SHARD = 64
"""How many times a batch goes through the network for a shard; at least once for each edit."""

Pass = Callable[[Callable[[], Any]], Any]
"""Runs a forward pass that it is given, as it is or with something changed, and gives its output."""


Records = Counted[tuple[list[Array], ...]]
"""What a task read of the network's outputs batch by batch, for each time that all batches go through the network:
untouched, and after each edit."""


class Task(ABC):
    """Something a model can be good or bad at: examples, a loss, and metrics.

    A task of one text or pair an example says what each example's text and labels are (`pair`, `labels_of`), and what
    its loss and scores are; others `encode` by themselves. The data are encoded once for a model and kept, about 70
    bytes a token. `evaluate` does all; a sweep that has outputs of its own uses its parts: `batches`, `read` for each
    output, `result`.
    """

    name: ClassVar[str]
    head: ClassVar[Head]
    does: ClassVar[str]
    """What a model does in it, such as "classifying texts"."""
    loss_units: ClassVar[str] = "nats"
    usual_length: ClassVar[int] = 512
    """Most tokens of a text where nobody asked for another number."""
    reader: ClassVar[Callable[..., Any]]
    """What reads its files, unless `from_files` does otherwise."""

    def __init__(
        self,
        data: str,
        examples: Sequence[Any],
        *,
        max_length: int | None = None,
        skipped: Skipped | None = None,
    ) -> None:
        """`data` is what the data are called; `skipped` what of them could not be used."""
        self.data = data
        self.examples = list(examples)
        self.max_length = max_length
        self.skipped = skipped or Skipped("examples")
        self._kept: WeakKeyDictionary[PreTrainedModel, tuple[BatchSize, TaskBatches]] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: all but what was encoded for a model of this one."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The task as it was, with nothing encoded yet."""
        vars(self).update(state, _kept=WeakKeyDictionary())

    @classmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """The task on the data of some files; `options` are those of the class."""
        return cls(cls.reader(*paths), **options)

    @property
    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """The task's metrics, the most important one first."""

    @abstractmethod
    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) each row's mean loss over what it predicts (`batch.units`), differentiable; 0 for none."""

    @abstractmethod
    def scores(self, output: Any, batch: TaskBatch) -> Mapping[str, Tensor]:
        """(row,) each, by name: all that the metrics need of the network's output."""

    def pair(self, example: Any) -> TextPair:
        """The text, or pair of texts, of an example."""
        raise NotImplementedError

    def labels_of(self, example: Any, encoded: EncodedInput, model: Model) -> Sequence[int] | float:
        """What is to be predicted of an example: classes or tokens, or a score."""
        raise NotImplementedError

    @property
    def settings(self) -> dict[str, object]:
        """The options that decide its loss."""
        return {"max_length": self.max_length}

    def check(self, model: Model) -> None:
        """Raise unless the model can do the task."""
        check_head(model, self.head)

    def corpus(self) -> Corpus:
        """The task's inputs as texts without their labels, for what is measured on texts."""
        return as_corpus([self.pair(example) for example in self.examples], name=self.data)

    def encode(self, model: Model) -> Encoded:
        """The task's data as input for a model; here a row and a document for each example."""
        encoder = TextEncoder(
            model.tokenizer, "pair", longest_text(model, self.max_length, self.usual_length)
        )
        rows = []
        for number, example in enumerate(self.examples):
            encoded = encoder.encode(self.pair(example))
            rows.append(Row(encoded, number, self.labels_of(example, encoded, model)))
        return Encoded(rows, list(range(len(rows))), self.skipped)

    def read(self, output: Any, batch: TaskBatch) -> Array:
        """(row,) with named fields: `example`, and the scores of the network's output."""
        fields = {"example": batch.example, **self.scores(output, batch)}
        rows = np.zeros(batch.rows, [(name, "i8" if name == "example" else "f8") for name in fields])
        for name, values in fields.items():
            rows[name] = values.detach().cpu().numpy()
        return rows

    def keep(self, limit: int) -> None:
        """Drop all but `limit` examples, spread evenly over the data."""
        count = len(self.examples)
        places = np.linspace(0, count - 1, min(count, limit)).round()
        self.examples = [self.examples[int(place)] for place in places]

    def limited(self, limit: int | None) -> Self:
        """The task on at most `limit` of its examples; of questions and labelled texts, spread evenly over the data.

        Evenly, because neighbours share an article, and it is articles that are independent. Of running text it is
        the first segments.
        """
        if limit is None:
            return self
        check_limit(limit)
        fewer = copy(self)
        fewer._kept = WeakKeyDictionary()
        fewer.keep(limit)
        return fewer

    def batches(self, model: Model, *, batch_size: BatchSize = "auto") -> TaskBatches:
        """The task's data as padded batches for a model, kept for the next time it is asked for them."""
        check_batch_size(batch_size)
        self.check(model)
        kept = self._kept.get(model.network)
        if kept is None or kept[0] != batch_size:
            with torch.inference_mode(False):  # a gradient may be asked for later, with the same batches
                kept = batch_size, batched(self.encode(model), model, self.head, batch_size)
            prove(model, kept[1].batches[0])
            self._kept[model.network] = kept
        return kept[1]

    def evaluate(self, model: Model, *, batch_size: BatchSize = "auto", progress: bool = False) -> TaskResult:
        """How well the model does the task on all examples."""
        batches = self.batches(model, batch_size=batch_size)
        title = f"{model.name} on {self.data}" if progress else None
        return next(self.results(model, batches, [lambda run: run()], title=title))

    def results(
        self, model: Model, batches: TaskBatches, passes: Sequence[Pass], *, title: str | None
    ) -> Iterator[TaskResult]:
        """How well it is done in each of several passes; all passes of a batch come before the next batch."""
        records: Records = Counted(tuple([] for _ in passes))

        def count(part: Records, batch: TaskBatch) -> None:
            with evaluating(model.network), torch.inference_mode():
                for once, rows in zip(passes, part.value, strict=True):
                    rows.append(self.read(once(lambda: forward_asked(model, batch)), batch))
                    tick(batch.rows)

        run_pass(
            batches,
            records,
            count,
            batches=iter,
            title=title,
            expected=lambda done: batches.rows * len(passes),
            units=lambda batch: batch.rows * len(passes),
            least=max(1, BATCHES_A_SHARD // len(passes)),  # with many edits a batch takes long
        )
        return (self.result(rows, batches, model=model.name) for rows in records.value)

    def result(self, rows: Sequence[Array], batches: TaskBatches, *, model: str) -> TaskResult:
        """The scores of what was read of all batches, in any order."""
        read = np.concatenate(list(rows))
        records, predictions = self.by_example(read[np.argsort(read["example"], kind="stable")])
        return TaskResult(
            self.name,
            model,
            self.data,
            self.metrics,
            records,
            batches.documents,
            skipped=batches.skipped,
            cut=batches.cut,
            does=self.does,
            predictions=predictions,
        )

    def by_example(self, rows: Array) -> tuple[Array, tuple[str, ...]]:
        """One record an example, of all rows in the order of examples; and what was answered, in words, if it was."""
        return rows, ()


TASKS: Registry[type[Task]] = Registry("task")
"""Every task by the name that --task takes."""


def task_for(name: str, data: str | Path | Sequence[str | Path], model: Model, **options: object) -> Task:
    """The task of that name ("qa", "classification", "regression", "mlm", "lm", "seq2seq") on some files, for a model.

    `options` are those of the task's class. The model is asked for what its labels are called; whether it has the
    head that the task needs is seen to when it is evaluated.
    """
    kind = TASKS.get(name)
    known = [
        option
        for option, parameter in inspect.signature(kind).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and option not in ("labels", "skipped")
    ]
    for option in options:
        if option not in known:
            raise OptionError(
                f"the task {name} has no option called {option!r}; choose from {', '.join(known)}"
            )
    paths = [data] if isinstance(data, str | Path) else list(data)
    if not paths:
        raise OptionError(f"the task {name} was given no file")
    return kind.from_files([Path(path) for path in paths], model, **options)
