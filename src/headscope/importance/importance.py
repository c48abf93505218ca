"""Gradient importance of a model on a task: batches through the network and back, and sums of what came of it."""

import hashlib
import os
from contextlib import nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import torch

from headscope.capture import Capture, nan_advice, surveyed
from headscope.errors import CaptureError, TextError
from headscope.importance.gradients import layer_gradients
from headscope.importance.result import ImportanceResult
from headscope.importance.sums import ImportanceSums
from headscope.measures.base import TextMean
from headscope.models import Model
from headscope.probes.result import Source
from headscope.run.progress import RunProgress, progress_bar, silent
from headscope.run.watch import HELD_BYTES, HELD_BYTES_ELSEWHERE, in_halves
from headscope.tasks import Task, TaskBatch, TaskBatches, with_head
from headscope.tasks.base import IGNORED, BatchSize

# A weight is held as such, as its gradient, and by the backward pass as scores, softmax and products.
TENSORS_HELD = 6
SETTINGS = {"max_length": "max_length", "stride": "stride", "share": "share", "hide": "how", "seed": "seed"}
"""What decides a task's loss: the options, and the attributes that keep them."""


def gradient_importance(
    model: Model | str | os.PathLike[str],
    task: Task,
    *,
    limit: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
) -> ImportanceResult:
    """What a task's loss says of every attention weight of a model, and of every head.

    For every text, with A the attention weights and L the text's loss, in eval mode: the mean of |dL/dA| by the
    role of the key (Clark et al. 2019, section 3.2), the sum of A dL/dA by the same, and |sum of A dL/dA| over all
    keys, which is how fast the loss changes as a head's output is turned down (Michel et al. 2019). Results are
    means over texts with standard errors. `limit` takes fewer examples: of running text the first
    segments, of questions and labelled texts as many spread evenly over the data. A model given by name is loaded with
    the task's head.
    """
    model = model if isinstance(model, Model) else with_head(model, task.head)
    started = perf_counter()
    task = task.limited(limit)
    batches = task.batches(model, batch_size=batch_size)
    capture = surveyed(model)
    tally = _Tally(task, capture)
    expected = sum(int((batch.units > 0).sum()) for batch in batches)
    with progress_bar(f"{model.name} on {task.data}") if progress else nullcontext(silent) as tell:
        for batch in batches:
            rows = torch.nonzero(batch.units > 0).flatten().tolist()

            def add(chosen: list[int], batch: TaskBatch = batch) -> None:
                tally.add(batch.take(chosen))

            for part in _parts(rows, batch, capture):
                in_halves(part, add)
                tell(RunProgress(tally.rows, expected))
            tally.without_loss += batch.rows - len(rows)
    if not tally.rows:
        raise TextError(f"{task.data}: no text has anything to predict, so there is no loss to differentiate")
    return tally.result(batches, limit=limit, duration=perf_counter() - started)


@dataclass
class _Tally:
    """All that is known so far; a batch that fails leaves no trace."""

    task: Task
    capture: Capture
    loss: TextMean = field(default_factory=TextMean.zeros)
    rows: int = 0
    tokens: int = 0
    cut: int = 0
    without_loss: int = 0
    examples: set[int] = field(default_factory=set)
    digests: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sums = self._empty()

    def _empty(self) -> dict[str, ImportanceSums]:
        return {grid.stack: ImportanceSums.empty(grid) for grid in self.capture.stacks.grids}

    def add(self, batch: TaskBatch) -> None:
        """Count a batch of texts that all have a loss."""
        loss, layers = layer_gradients(self.task, self.capture, batch)
        part = self._empty()
        for layer in layers:
            part[layer.place.stack].add(layer)
        for stack, sums in part.items():
            self._check(sums)
            self.sums[stack].merge(sums)
        self.loss.add(loss)
        self.rows += batch.rows
        self.tokens += batch.text.tokens
        is_cut = batch.text.source.is_cut
        self.cut += 0 if is_cut is None else int(is_cut.sum())
        self.examples.update(batch.example.tolist())
        self.digests += _digests(batch)

    def _check(self, sums: ImportanceSums) -> None:
        """Raise where a gradient is nan or infinite though the attention and the loss are numbers."""
        broken = ~sums.importance.total.isfinite()  # (layer, head)
        if broken.any():
            model, stack = self.capture.model, sums.grid.stack
            raise CaptureError(
                f"{model.name}: the gradients of layer {int(torch.nonzero(broken)[0, 0])} of the {stack} hold nan; "
                f"{nan_advice(model)}"
            )

    def result(self, batches: TaskBatches, *, limit: int | None, duration: float) -> ImportanceResult:
        """The means, and where they come from."""
        task, model = self.task, self.capture.model
        units = "squared error" if task.name == "regression" else "nats"
        settings = {option: getattr(task, name) for option, name in SETTINGS.items() if hasattr(task, name)}
        limit = getattr(task, "limit", None) if limit is None else limit
        source = Source(
            data=task.data,
            data_hash=hashlib.sha256(b"".join(sorted(self.digests))).hexdigest(),
            annotator=None,
            texts=self.rows,
            documents=len(np.unique(batches.documents[sorted(self.examples)])),
            tokens=self.tokens,
            texts_cut=self.cut,
            skipped=batches.skipped.count,
            options={"task": task.name, "limit": limit, **settings},
            duration=duration,
            notes=tuple(self._notes(batches)),
        )
        found = {stack: sums.arrays(units) for stack, sums in self.sums.items()}
        return ImportanceResult(model, source, found, float(self.loss.mean()), float(self.loss.stderr()))

    def _notes(self, batches: TaskBatches) -> list[str]:
        model = self.capture.model
        notes = [batches.skipped.note()]
        if self.without_loss:
            inputs = "1 input has" if self.without_loss == 1 else f"{self.without_loss:,} inputs have"
            notes.append(f"{inputs} nothing to predict, so no loss; left out")
        if model.dtype in (torch.float16, torch.bfloat16):
            name = str(model.dtype).removeprefix("torch.")
            notes.append(f"gradients were computed in {name}, in which small ones vanish; use float32")
        return [note for note in notes if note is not None]


def _parts(rows: list[int], batch: TaskBatch, capture: Capture) -> list[list[int]]:
    """The rows in parts whose maps, with all that a backward pass needs, fit into what may be held."""
    length = max(tensor.shape[1] for tensor in batch.inputs.values())
    heads = sum(grid.layers * grid.heads for grid in capture.stacks.grids)
    row_bytes = TENSORS_HELD * 4 * heads * length * length
    size = max(1, 4 * HELD_BYTES.get(batch.example.device.type, HELD_BYTES_ELSEWHERE) // row_bytes)
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _digests(batch: TaskBatch) -> list[bytes]:
    """A fingerprint of each row, padding left out: what it shows, and what is to be predicted of it."""
    found = []
    for row in range(batch.rows):
        real = batch.text.source.is_token[row]
        labels = batch.labels[row]
        places = torch.nonzero(labels != IGNORED) if labels.dim() else torch.zeros(0)
        told: list[Any] = [batch.text.source.ids[row][real], places, labels[labels != IGNORED]]
        content = "|".join(",".join(map(str, part.flatten().tolist())) for part in told)
        found.append(hashlib.sha256(content.encode()).digest())
    return found
