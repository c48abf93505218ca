"""What every task has in common: batches that are encoded once, a forward pass, losses and scores by example."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, fields
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.accumulator import Sums
from headscope.capture.inputs import model_inputs
from headscope.capture.observe import evaluating
from headscope.models import Model
from headscope.registry import Registry
from headscope.run.one_pass import run_pass, whole
from headscope.run.options import BatchSize, check_batch_size, check_limit
from headscope.run.watch import ACCELERATOR_TOKENS, CPU_TOKENS
from headscope.tasks.heads import Head, check_head
from headscope.tasks.metric import Array, Metric
from headscope.tasks.network import check_output
from headscope.tasks.result import TaskResult
from headscope.text.align import Span
from headscope.text.batching import TextBatch, by_length
from headscope.text.corpus import Corpus
from headscope.text.encode import EncodedInput
from headscope.text.skipped import Skipped
from headscope.types import TokenBatch, padded

IGNORED = -100
"""The label of what is not predicted."""

OUTPUT_BYTES = 1 << 30
"""Most bytes of logits at a time: those over a vocabulary are by far the largest tensor."""


@dataclass(frozen=True)
class Row:
    """One input for the network: an example, or one window of it."""

    encoded: EncodedInput
    example: int
    labels: Sequence[int] | float
    characters: Sequence[Span] | None = None

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass(frozen=True)
class TaskBatch:
    """A padded batch: what the network is given, and what its output is held against."""

    text: TextBatch
    example: Tensor  # (row,) which example each row belongs to
    labels: (
        Tensor  # (row, label) class; first and last token of the answer; token to predict. (row,) a score.
    )
    characters: Tensor | None = None  # (row, token, 2) where in the passage each token stands; 0, 0 elsewhere

    @property
    def inputs(self) -> dict[str, Tensor]:
        """What the network is given."""
        return self.text.inputs

    @property
    def rows(self) -> int:
        """How many inputs the batch holds."""
        return len(self.example)

    @property
    def units(self) -> Tensor:
        """(row,) how many predictions a row's loss is the mean of; 0 for rows that have none."""
        if self.labels.is_floating_point():
            return torch.ones_like(self.labels)
        return (self.labels != IGNORED).sum(-1).to(torch.float32)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, part: slice, /) -> "TaskBatch":
        return self.take(range(self.rows)[part])

    def take(self, rows: Sequence[int]) -> "TaskBatch":
        """Some of the rows."""
        index = torch.tensor(list(rows), device=self.example.device)
        text = TextBatch(
            {name: tensor[index] for name, tensor in self.inputs.items()},
            _rows_of(self.text.source, index),
            None if self.text.target is None else _rows_of(self.text.target, index),
        )
        characters = None if self.characters is None else self.characters[index]
        return TaskBatch(text, self.example[index], self.labels[index], characters)


@dataclass(frozen=True)
class TaskBatches:
    """All batches of a task for one model, longest first; can be iterated over as often as wanted."""

    batches: tuple[TaskBatch, ...]
    documents: Array  # (example,) numbered from 0 up
    skipped: Skipped
    cut: int

    def __iter__(self) -> Iterator[TaskBatch]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)

    @property
    def rows(self) -> int:
        """How many inputs there are."""
        return sum(batch.rows for batch in self.batches)


@dataclass
class Records(Sums):
    """What a task read of the network's outputs, batch by batch."""

    passes: tuple[list[Array], ...]
    """One for each time that all batches go through the network: untouched, and after each edit."""


class Task(ABC):
    """Something a model can be good or bad at: data, a loss, and metrics.

    The data are encoded once for a model and kept, about 70 bytes a token. `evaluate` does all; a sweep that has
    outputs of its own uses its parts: `batches`, `read` for each output, `result`.
    """

    name: ClassVar[str]
    head: ClassVar[Head]

    def __init__(self, data: str) -> None:
        """`data` is what the data are called."""
        self.data = data
        self._kept: WeakKeyDictionary[PreTrainedModel, tuple[BatchSize, TaskBatches]] = WeakKeyDictionary()

    @classmethod
    @abstractmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """The task on the data of some files; `options` are those of the class."""

    @property
    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """The task's metrics, the most important one first."""

    @abstractmethod
    def corpus(self) -> Corpus:
        """The task's inputs as texts without their labels, for what is measured on texts."""

    @abstractmethod
    def encode(self, model: Model) -> "Encoded":
        """The task's data as input for a model."""

    @abstractmethod
    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) each row's mean loss over what it predicts (`batch.units`), differentiable; 0 for none."""

    @abstractmethod
    def read(self, output: Any, batch: TaskBatch) -> Array:
        """(row,) with named fields, `example` among them: all that the scores need of the network's output."""

    @abstractmethod
    def keep(self, limit: int) -> None:
        """Drop all but `limit` examples."""

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

    def result(self, rows: Sequence[Array], batches: TaskBatches, *, model: str) -> TaskResult:
        """The scores of what was read of all batches, in any order."""
        found = np.concatenate(list(rows))
        order = np.argsort(found["example"], kind="stable")
        return self._result(found[order], batches, model=model)

    def batches(self, model: Model, *, batch_size: BatchSize = "auto") -> TaskBatches:
        """The task's data as padded batches for a model, kept for the next time it is asked for them."""
        check_batch_size(batch_size)
        self.check(model)
        kept = self._kept.get(model.network)
        if kept is None or kept[0] != batch_size:
            with torch.inference_mode(False):  # a gradient may be asked for later, with the same batches
                kept = batch_size, self._batched(model, batch_size)
            self._kept[model.network] = kept
        return kept[1]

    def check(self, model: Model) -> None:
        """Raise unless the model can do the task."""
        check_head(model, self.head)

    def evaluate(self, model: Model, *, batch_size: BatchSize = "auto", progress: bool = False) -> TaskResult:
        """How well the model does the task on all examples."""
        batches = self.batches(model, batch_size=batch_size)
        records = Records(([],))

        def count(part: Records, batch: TaskBatch) -> None:
            part.passes[0].append(self.read(forward(model, batch), batch))

        title = f"{model.name} on {self.data}" if progress else None
        with evaluating(model.network), torch.inference_mode():
            run_pass(
                whole(batches), records, count, batches=iter, title=title, expected=lambda done: batches.rows
            )
        return self.result(records.passes[0], batches, model=model.name)

    def _result(self, records: Array, batches: TaskBatches, *, model: str) -> TaskResult:
        return TaskResult(
            self.name,
            model,
            self.data,
            self.metrics,
            records,
            batches.documents,
            skipped=batches.skipped,
            cut=batches.cut,
        )

    def _batched(self, model: Model, batch_size: BatchSize) -> TaskBatches:
        encoded = self.encode(model)
        rows = sorted(encoded.rows, key=len, reverse=True)
        size = _size(model, self.head) if batch_size == "auto" else lambda length: batch_size
        groups = by_length(rows, size if _can_pad(rows, model) else lambda length: 1)
        batches = tuple(_collated(group, model) for group in groups)
        _, documents = np.unique(np.array(encoded.documents, dtype=np.int64), return_inverse=True)
        cut = sum(row.encoded.cut for row in rows)
        return TaskBatches(batches, documents, encoded.skipped, cut)


TASKS: Registry[type[Task]] = Registry("task")
"""Every task by the name that --task takes."""


@dataclass(frozen=True)
class Encoded:
    """A task's data for one model."""

    rows: Iterable[Row]
    documents: list[int]  # of each example
    skipped: Skipped


def forward(model: Model, batch: TaskBatch) -> Any:
    """The whole network's output, task head and all; raises where what it predicts is nan."""
    options = {"use_cache": False} if "use_cache" in signature(model.network.forward).parameters else {}
    output = model.network(**batch.inputs, **options)
    check_output(model, output, batch.text)
    return output


def spread_evenly(count: int, limit: int) -> list[int]:
    """At most `limit` of so many places, from the first to the last."""
    return [int(place) for place in np.linspace(0, count - 1, min(count, limit)).round()]


def _size(model: Model, head: Head) -> Callable[[int], int]:
    """How many rows of a length go through the network together."""
    tokens = CPU_TOKENS if model.device.type == "cpu" else ACCELERATOR_TOKENS
    if head in ("masked-lm", "next-token"):
        tokens = min(tokens, OUTPUT_BYTES // (4 * int(model.config.vocab_size)))
    return lambda length: tokens // length


def _collated(rows: Sequence[Row], model: Model) -> TaskBatch:
    # Some networks find a text's end, or its positions, by the padding token that their config names.
    pad: int | None = getattr(model.config, "pad_token_id", None)
    text = model_inputs(model, [row.encoded for row in rows], pad=pad)
    whole = [row.labels for row in rows if not isinstance(row.labels, float)]
    labels = (
        padded(whole, value=IGNORED)  # (row, label)
        if whole
        else torch.tensor([row.labels for row in rows], dtype=torch.float32)  # (row,)
    )
    characters = None
    spans = [row.characters for row in rows if row.characters is not None]
    if spans:
        starts, ends = (padded([[span[k] for span in row] for row in spans], value=0) for k in (0, 1))
        characters = torch.stack([starts, ends], dim=-1).to(model.device)  # (row, token, 2)
    example = torch.tensor([row.example for row in rows], device=model.device)
    return TaskBatch(text, example, labels.to(model.device), characters)


def _can_pad(rows: Sequence[Row], model: Model) -> bool:
    """Whether the network gives a padded row the same output as the row alone, by trying with the shortest one.

    In some architectures (ConvBERT) padding changes the text, and decoders that classify by the last token cannot
    tell it from padding unless their config names a padding token.
    """
    short = rows[-1]
    longer = next((row for row in reversed(rows) if len(row) > len(short)), None)
    if longer is None:
        return True
    with evaluating(model.network), torch.inference_mode():
        alone = forward(model, _collated([short], model))
        try:
            both = forward(model, _collated([short, longer], model))
        except ValueError:  # no padding token
            return False
    rounding = 1e-3 if model.dtype in (torch.float32, torch.float64) else 5e-2
    for name, single in alone.items():
        if isinstance(single, Tensor) and single.is_floating_point() and single.dim() > 1:
            kept = both[name][:1][tuple(slice(size) for size in single.shape)]
            if (kept - single).abs().max() > rounding * single.abs().max().clamp_min(1):
                return False
    return True


def _rows_of(tokens: TokenBatch, index: Tensor) -> TokenBatch:
    names = [f.name for f in fields(tokens) if not f.name.startswith("_")]
    chosen: dict[str, Any] = {
        name: None if getattr(tokens, name) is None else getattr(tokens, name)[index] for name in names
    }
    return TokenBatch(**chosen)
