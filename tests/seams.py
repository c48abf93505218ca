"""The four ways in which tests reach the inside of headscope: what changes there is changed here, and in no test.

measured(measure, texts)       a measure over made texts, whose attention the test has written down
layers_of(model, texts)        the attention of every layer of a real model, text by text
reduced(model, texts, reads)   what reductions make of it, by the kernels or by the model's own function
edited(model, edit)            the model while a function of the test changes its attention weights
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from tests.helpers.attention import Text, batches
from torch import Tensor

from headscope.batches import ALL_LAYERS, AttentionBatch
from headscope.capture import AttentionCall, Forward, following, survey
from headscope.measures import MEASURES, Measure
from headscope.measures.loudness import given_sums
from headscope.measures.reductions import class_mass, mean_entropy, near_diagonals, pattern_sums, window_sums
from headscope.models import Model
from headscope.models.stacks import Place
from headscope.run.kernels import kernels_note
from headscope.run.watch import Watch
from headscope.run.weighing import carrier_for
from headscope.text.batching import TextBatch
from headscope.text.items import TextPair
from headscope.types import HeadGrid, StackName

Weighting = Literal["attention", "value"]
Backend = Literal["kernels", "reference"]
Reduction = Callable[[AttentionBatch], Any]
ModelText = str | tuple[str, str | None]

ANSWERED_AT_ONCE = (class_mass, mean_entropy, near_diagonals, window_sums, pattern_sums, given_sums)
"""The reductions that kernels answer for all layers of a stack together."""


def measured(
    measure: str | type[Measure],
    texts: Sequence[Text],
    grid: HeadGrid,
    *,
    weighting: Weighting = "attention",
    batch_size: int | None = None,
    padding: int = 0,
    published: bool = False,
    dtype: torch.dtype = torch.float32,
    garbage: float = 0.37,
) -> Measure:
    """The measure over texts in their order, all in one batch or so many at a time.

    Every batch is padded to its longest text and `padding` more; the rows of padding queries hold `garbage`.
    """
    kind = MEASURES.get(measure) if isinstance(measure, str) else measure
    state = kind.empty(grid, faithful=published)
    size = batch_size or max(1, len(texts))
    for start in range(0, len(texts), size):
        group = list(texts[start : start + size])
        for batch in batches(grid, group, extra=padding, dtype=dtype, rubbish=garbage):
            state.update(batch.moved if weighting == "value" else batch)
    return state


def layers_of(
    model: Model, texts: Sequence[ModelText], *, weighting: Weighting = "attention", max_length: int = 60
) -> dict[StackName, list[Tensor]]:
    """By stack, the attention of every text (layer, head, query, key) without padding; the texts run together."""
    watch = watched(model, weighting)
    batch = encoded(watch, texts, max_length)
    layers: dict[StackName, list[Tensor]] = {}
    sides: dict[StackName, tuple[list[int], list[int]]] = {}

    def see(stack: StackName, attention: AttentionBatch) -> None:
        layers.setdefault(stack, []).append(attention.attention.clone())
        sides[stack] = attention.queries.lengths.tolist(), attention.keys.lengths.tolist()

    watch.run(batch, see)
    return {
        stack: [
            torch.stack([layer[text, :, :queries, :keys] for layer in maps])
            for text, (queries, keys) in enumerate(zip(*sides[stack], strict=True))
        ]
        for stack, maps in layers.items()
    }


def reduced(
    model: Model,
    texts: Sequence[ModelText],
    reads: Sequence[Reduction],
    *,
    backend: Backend = "reference",
    weighting: Weighting = "attention",
    max_length: int = 60,
) -> dict[StackName, list[Tensor]]:
    """By stack, what each of the reductions gives: (text, layer, head, ...), the texts in one batch.

    `backend="kernels"` fails where the kernels are not used for this model.
    """
    watch = watched(model, "value")  # the kernels weigh attention both ways in one pass
    batch = encoded(watch, texts, max_length)
    layers: dict[StackName, dict[int, list[Tensor]]] = {}
    stacks: dict[StackName, dict[int, Tensor]] = {}

    def see(stack: StackName, attention: AttentionBatch) -> None:
        seen = attention.moved if weighting == "value" else attention
        at_once = seen.layer == ALL_LAYERS
        for number, reduction in enumerate(reads):
            if backend == "kernels" and at_once != (reduction in ANSWERED_AT_ONCE):
                continue
            value = seen.reduce(reduction)
            if at_once:
                grid = watch.capture.stacks.grid(stack)
                stacks.setdefault(stack, {})[number] = value.view(len(value), *grid.shape, *value.shape[2:])
            else:
                layers.setdefault(stack, {}).setdefault(number, []).append(value.clone())

    if backend == "kernels":
        watch.kernels = kernels_note(watch, wanted=True, faithful=False)
        assert watch.by_kernels, watch.kernels
        watch.run_reduced(batch, see)
    else:
        watch.weigh = "looked"
        watch.run(batch, see)
    for stack, by_reduction in layers.items():
        for number, values in by_reduction.items():
            stacks.setdefault(stack, {})[number] = torch.stack(values, 1)
    return {stack: [values[number] for number in range(len(reads))] for stack, values in stacks.items()}


Change = Callable[[StackName, int, Tensor], Tensor]
"""Given a stack, a layer and its weights (text, head, query, key): the weights that take their place."""


@contextmanager
def edited(model: Model, edit: Change) -> Iterator[None]:
    """Inside, every forward pass of the model has the attention that `edit` makes of its own, in all threads."""
    capture = survey(model)

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        every = torch.arange(call.weights.shape[1])
        return call.with_weights(every, edit(place.stack, place.layer, call.weights))

    with following(capture, capture.stacks.places, handle, edit="a function of the test"):
        yield


def watched(model: Model, weighting: Weighting) -> Watch:
    """What texts go through, with what is needed to weigh attention by value norms."""
    capture = survey(model)
    weigh: Literal["moved", "looked"] = "moved" if weighting == "value" else "looked"
    return Watch(capture, carrier=carrier_for(capture, weigh), weigh=weigh)


def encoded(watch: Watch, texts: Sequence[ModelText], max_length: int) -> TextBatch:
    """The texts as one padded batch."""
    encoder = watch.encoder(max_length)
    pairs = [TextPair(text) if isinstance(text, str) else TextPair(*text) for text in texts]
    return watch.batch([encoder.encode(pair) for pair in pairs])
