"""Gradient importance of a model on a task: batches through the network and back, and sums of what came of it."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from time import perf_counter
from typing import ClassVar

import numpy as np
import torch

from headscope.accumulator import Sums
from headscope.atlas import Results
from headscope.errors import CaptureError, TextError
from headscope.importance.gradients import KEY_ROLES, ImportanceSums, layer_gradients
from headscope.measures.base import TextMean
from headscope.models import Model, ModelName
from headscope.passes.options import BatchSize
from headscope.passes.provenance import Source
from headscope.passes.run_pass import run_pass
from headscope.probes.result import ProbeResult, Row, plain
from headscope.tasks import IGNORED, Task, TaskBatch, TaskBatches, with_head
from headscope.tasks.base import BATCHES_A_SHARD
from headscope.trace import Capture, nan_advice, surveyed
from headscope.trace.watch import HELD_BYTES, HELD_BYTES_ELSEWHERE
from headscope.types import Array, HeadId, LabelledArray, StackName

# A weight is held as such, as its gradient, and by the backward pass as scores, softmax and products.
TENSORS_HELD = 6

BACKWARD_TIMES = 4
"""How much longer a batch takes there and back than there alone, about."""


@dataclass(frozen=True)
class ImportanceResult(ProbeResult):
    """Gradients by role, attribution, and the importance of every head, by stack."""

    probe: ClassVar[str] = "importance"

    found: Mapping[str, Mapping[str, LabelledArray]]
    loss: float
    """The mean loss over texts, and its standard error."""
    loss_stderr: float

    def arrays(self) -> Results:
        """`gradient`, `gradient_layer`, `attribution` and `head_importance`, with standard errors."""
        return self.found

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each layer: the mean size of the gradient by role of the key, and the most important head."""
        gradients, heads = self._numbers("gradient_layer", stack), self._numbers("head_importance", stack)
        rows: list[Row] = []
        for layer in range(len(heads)):
            head = int(np.argmax(heads[layer, :, 0]))
            importance, stderr = map(plain, heads[layer, head])
            by_role = {
                role: {"gradient": plain(gradient), "stderr": plain(error)}
                for role, (gradient, error) in zip(KEY_ROLES, gradients[layer], strict=True)
            }
            best = {"head": str(HeadId(layer, head)), "importance": importance, "importance_stderr": stderr}
            rows.append({"layer": layer, **by_role, **best})
        return rows

    def heads(self, *, stack: str | None = None) -> list[Row]:
        """Every head with its importance and the standard error, the most important one first."""
        numbers = self._numbers("head_importance", stack)
        places = [HeadId(*divmod(place, numbers.shape[1])) for place in range(numbers[..., 0].size)]
        return [
            {"head": str(head), "importance": plain(importance), "stderr": plain(error)}
            for head, (importance, error) in sorted(
                zip(places, numbers.reshape(-1, 2), strict=True), key=lambda row: -row[1][0]
            )
        ]

    def _numbers(self, name: str, stack: str | None) -> Array:
        """(..., 2) an array of a stack, the first by default, and its standard errors."""
        arrays = self.found[stack or next(iter(self.found))]
        return np.stack([arrays[name].values, arrays[f"{name}_stderr"].values], axis=-1)


def gradient_importance(
    model: ModelName,
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
    tally = _Tally(
        {grid.stack: ImportanceSums.zeros(grid) for grid in capture.stacks.grids}, TextMean.zeros()
    )
    expected = sum(int((batch.units > 0).sum()) for batch in batches)
    run_pass(
        _with_loss(batches, capture),
        tally,
        lambda part, batch: part.update(task, capture, batch),
        batches=iter,
        title=f"{model.name} on {task.data}" if progress else None,
        expected=lambda done: expected,
        units=len,
        least=BATCHES_A_SHARD // BACKWARD_TIMES,
    )
    if not tally.rows:
        raise TextError(f"{task.data}: no text has anything to predict, so there is no loss to differentiate")
    options = {"task": task.name, "does": task.does, "limit": limit, **task.settings}
    source = tally.source(task.data, batches, model, options=options, duration=perf_counter() - started)
    arrays = {str(stack): sums.result(task.loss_units) for stack, sums in tally.sums.items()}
    return ImportanceResult(model, source, arrays, float(tally.loss.mean()), float(tally.loss.stderr()))


@dataclass
class _Tally(Sums):
    """All that is known of texts that have a loss."""

    sums: Mapping[StackName, ImportanceSums]
    loss: TextMean
    rows: int = 0
    tokens: int = 0
    cut: int = 0
    examples: set[int] = field(default_factory=set)
    digests: list[bytes] = field(default_factory=list)

    def update(self, task: Task, capture: Capture, batch: TaskBatch) -> None:
        """Count a batch of texts that all have a loss."""
        loss, layers = layer_gradients(task, capture, batch)
        for layer in layers:
            self.sums[layer.place.stack].update(layer)
        for sums in self.sums.values():
            _check(sums, capture.model)
        self.loss.add(loss)
        self.rows += batch.rows
        self.tokens += batch.text.tokens
        is_cut = batch.text.source.is_cut
        self.cut += 0 if is_cut is None else int(is_cut.sum())
        self.examples.update(batch.example.tolist())
        self.digests += map(_digest, range(batch.rows), repeat(batch))

    def source(
        self, data: str, batches: TaskBatches, model: Model, *, options: Mapping[str, object], duration: float
    ) -> Source:
        """Where the numbers come from."""
        return Source(
            data=data,
            data_hash=hashlib.sha256(b"".join(sorted(self.digests))).hexdigest(),
            texts=self.rows,
            documents=len(np.unique(batches.documents[sorted(self.examples)])),
            tokens=self.tokens,
            texts_cut=self.cut,
            skipped=batches.skipped.count,
            options=options,
            duration=duration,
            notes=tuple(_notes(self, batches, model)),
        )


def _check(sums: ImportanceSums, model: Model) -> None:
    """Raise where a gradient is nan or infinite though the attention and the loss are numbers."""
    broken = ~sums.means["head_importance"].total.isfinite()  # (layer, head)
    if broken.any():
        raise CaptureError(
            f"{model.name}: the gradients of layer {int(torch.nonzero(broken)[0, 0])} of the {sums.grid.stack} hold "
            f"nan; {nan_advice(model)}"
        )


def _notes(tally: _Tally, batches: TaskBatches, model: Model) -> list[str]:
    notes = [batches.skipped.note()]
    without_loss = batches.rows - tally.rows
    if without_loss:
        inputs = "1 input has" if without_loss == 1 else f"{without_loss:,} inputs have"
        notes.append(f"{inputs} nothing to predict, so no loss; left out")
    if model.dtype in (torch.float16, torch.bfloat16):
        name = str(model.dtype).removeprefix("torch.")
        notes.append(f"gradients were computed in {name}, in which small ones vanish; use float32")
    return [note for note in notes if note is not None]


def _with_loss(batches: TaskBatches, capture: Capture) -> Iterator[TaskBatch]:
    """The rows that have a loss, in parts whose maps and all that a backward pass needs fit into what may be held."""
    heads = sum(grid.size for grid in capture.stacks.grids)
    for batch in batches:
        rows = torch.nonzero(batch.units > 0).flatten().tolist()
        length = max(tensor.shape[1] for tensor in batch.inputs.values())
        row_bytes = TENSORS_HELD * 4 * heads * length * length
        size = max(1, 4 * HELD_BYTES.get(batch.example.device.type, HELD_BYTES_ELSEWHERE) // row_bytes)
        for start in range(0, len(rows), size):
            yield batch.take(rows[start : start + size])


def _digest(row: int, batch: TaskBatch) -> bytes:
    """A fingerprint of a row, padding left out: what it shows, and what is to be predicted of it."""
    shown = batch.text.source.ids[row][batch.text.source.is_token[row]]
    labels = batch.labels[row]
    places = torch.nonzero(labels != IGNORED) if labels.dim() else torch.zeros(0)
    parts = (shown, places, labels[labels != IGNORED])
    content = "|".join(",".join(map(str, part.flatten().tolist())) for part in parts)
    return hashlib.sha256(content.encode()).digest()
