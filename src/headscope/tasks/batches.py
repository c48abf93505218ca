"""A task's data as padded batches for one model, and the network's output on them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from inspect import signature
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headscope.errors import ModelError
from headscope.models import Model
from headscope.passes.options import BatchSize
from headscope.tasks.heads import Head
from headscope.text.batching import TextBatch, by_length
from headscope.text.encode import Shown
from headscope.text.skipped import Skipped
from headscope.text.words import Span
from headscope.trace import nan_advice, surveyed
from headscope.trace.inputs import model_inputs
from headscope.trace.observe import evaluating
from headscope.trace.watch import ACCELERATOR_TOKENS, CPU_TOKENS
from headscope.types import Array, padded

IGNORED = -100
"""The label of what is not predicted."""

OUTPUT_BYTES = 1 << 30
"""Most bytes of logits at a time: those over a vocabulary are by far the largest tensor."""

_PREDICTIONS = ("logits", "prediction_logits", "start_logits", "end_logits")
"""What the networks' outputs call the numbers that tasks read."""


@dataclass(frozen=True)
class Row(Shown):
    """One input for the network: an example, or one window of it."""

    example: int
    labels: Sequence[int] | float
    characters: Sequence[Span] | None = None


@dataclass(frozen=True)
class Encoded:
    """A task's data for one model."""

    rows: Iterable[Row]
    documents: list[int]  # of each example
    skipped: Skipped


@dataclass(frozen=True)
class TaskBatch:
    """A padded batch: what the network is given, and what its output is held against."""

    text: TextBatch
    example: Tensor  # (row,) which example each row belongs to
    # (row, label) class; first and last token of the answer; token to predict. (row,) a score.
    labels: Tensor
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

    @property
    def signature(self) -> str:
        """All of it that matters, in writing."""
        parts = (*self.inputs.values(), self.example, self.labels)
        said = sha256()
        for part in parts:
            said.update(f"{tuple(part.shape)}".encode() + part.cpu().numpy().tobytes())
        return said.hexdigest()

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, part: slice, /) -> "TaskBatch":
        return self.take(range(self.rows)[part])

    def take(self, rows: Sequence[int]) -> "TaskBatch":
        """Some of the rows."""
        index = torch.tensor(list(rows), device=self.example.device)
        text = self.text.map(lambda tensor: tensor[index])
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


def batched(encoded: Encoded, model: Model, head: Head, batch_size: BatchSize) -> TaskBatches:
    """The rows in batches of like length, as many together as fit."""
    rows = sorted(encoded.rows, key=len, reverse=True)
    size = _size(model, head) if batch_size == "auto" else lambda length: batch_size
    groups = by_length(rows, size if _can_pad(rows, model) else lambda length: 1)
    batches = tuple(_collated(group, model) for group in groups)
    _, documents = np.unique(np.array(encoded.documents, dtype=np.int64), return_inverse=True)
    return TaskBatches(batches, documents, encoded.skipped, sum(row.encoded.cut for row in rows))


def forward(model: Model, batch: TaskBatch) -> Any:
    """The whole network's output, task head and all.

    Raises where it predicts nan for a real token or text: CaptureError if its attention is nan already.
    """
    options = {"use_cache": False} if "use_cache" in signature(model.network.forward).parameters else {}
    output = model.network(**batch.inputs, **options)
    for name in _PREDICTIONS:
        logits = getattr(output, name, None)
        if not isinstance(logits, Tensor) or not _holds_nan(logits.detach(), batch.text, name):
            continue
        if not model.is_encoder_decoder:  # whose decoder is not always given in the inputs
            surveyed(model).run(batch.inputs, lambda place, weights: None)
        raise ModelError(
            f"{model.name}: its predictions ({name}) are nan though its attention is not, so they cannot be scored; "
            f"{nan_advice(model)}"
        )
    return output


def output_of(output: Any, *names: str) -> Tensor:
    """The first of the named fields that the network's output has, in float32 at least."""
    for name in names:
        logits = getattr(output, name, None)
        if isinstance(logits, Tensor):
            return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    raise ModelError(f"the network's output ({type(output).__name__}) has no {' or '.join(names)}")


def _holds_nan(logits: Tensor, text: TextBatch, name: str) -> bool:
    """Whether `logits`, (text, token) or (text, class) or (text, token, vocabulary), hold nan that counts."""
    if not logits.sum().isnan():  # the usual case, by one cheap reduction
        return False
    by_token = logits.dim() == 3 or name in ("start_logits", "end_logits")
    broken = logits.isnan().any(-1) if logits.dim() == 3 else logits.isnan()
    real = (text.target or text.source).is_token  # (text, token); padding may give anything
    return bool((broken & real if by_token and broken.shape == real.shape else broken).any())


def _size(model: Model, head: Head) -> Callable[[int], int]:
    """How many rows of a length go through the network together."""
    tokens = CPU_TOKENS if model.device.type == "cpu" else ACCELERATOR_TOKENS
    if head in ("masked-lm", "next-token", "writing"):
        tokens = min(tokens, OUTPUT_BYTES // (4 * (model.vocabulary or len(model.tokenizer))))
    return lambda length: tokens // length


def _collated(rows: Sequence[Row], model: Model) -> TaskBatch:
    # Some networks find a text's end, or its positions, by the padding token that their config names.
    pad: int | None = getattr(model.text_config, "pad_token_id", None)
    text = model_inputs(model, [row.encoded for row in rows], pad=pad)
    listed = [row.labels for row in rows if not isinstance(row.labels, float)]
    labels = (
        padded(listed, value=IGNORED)  # (row, label)
        if listed
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
