"""The ways in which tests reach the inside of headscope: what changes there is changed here, and in no test.

measured(measure, texts)       a measure over made texts, whose attention the test has written down
layers_of(model, texts)        the attention of every layer of a real model, text by text
reduced(model, texts, reads)   what reductions make of it, by the kernels or by the model's own function
edited(model, edit)            the model while a function of the test changes its attention weights

And for what these four cannot show:

differentiated(model)          gradients with respect to attention weights
kernels_as(...)                another kernel than this machine's, or one that has little room, or fails
texts_together(model, length)  how many texts go through a model at once, on a device that this machine need not have
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, cast

import pytest
import torch
from tests.helpers.attention import Text, batches, token_batch
from tests.helpers.calls import LAYERS
from tests.helpers.exact import MadeCall, exact_weights
from torch import Tensor, nn

from headscope import kernels
from headscope.attention import (
    AttentionBatch,
    Carried,
    ChosenRows,
    LayerAttention,
    LayerReductions,
    Reduction,
    StackReads,
    TokenBatch,
    Weighting,
)
from headscope.kernels.batch import ANSWERED, Asked, Root
from headscope.kernels.verify import Verification, choose_kernels
from headscope.measures import MEASURES, PUBLISHED, Measure
from headscope.models import Model
from headscope.reductions import (
    class_mass,
    given_sums,
    mean_entropy,
    near_diagonals,
    pattern_sums,
    window_sums,
)
from headscope.text.batching import TextBatch
from headscope.text.items import TextPair
from headscope.trace import AttentionCall, Forward, following, retained, surveyed
from headscope.trace import watch as watching
from headscope.trace.architecture import Place
from headscope.trace.call import AttentionInputs
from headscope.trace.inputs import model_inputs
from headscope.trace.output_projection import carrier_for
from headscope.trace.watch import ReadyBatch, Watch
from headscope.types import OTHER, HeadGrid, StackName

Backend = Literal["kernels", "reference"]
ModelText = str | tuple[str, str | None]
Inputs = Mapping[str, Tensor]

ANSWERED_AT_ONCE: tuple[Reduction, ...] = (
    class_mass,
    mean_entropy,
    near_diagonals,
    window_sums,
    pattern_sums,
    given_sums,
)
"""The reductions that kernels compute themselves, for all layers of a stack together."""
WITHIN_TEXT: tuple[Reduction, ...] = (near_diagonals, window_sums, pattern_sums)
"""Those of them that cross attention has no place for."""
OUTPUT_NORMS: Reduction = given_sums
"""The one that needs output projections, and is not weighted."""


def maps(layer: LayerAttention) -> Tensor:
    """(text, head, query, key) a reduction that reduces nothing."""
    return layer.attention


@dataclass(frozen=True, eq=False)
class Rows:
    """A reduction to the rows (text, head, row, key) of some queries, which kernels keep of every layer."""

    places: Tensor  # (text, row)
    texts: Tensor | None = None  # (text,) which of the batch; None for all

    def __call__(self, layer: LayerAttention) -> Tensor:
        """Those of a layer, or of all of them where they were kept."""
        return layer.rows(self.places, self.texts)

    def wanted(self, weighting: Weighting) -> ChosenRows:
        """As kernels are told beforehand."""
        return ChosenRows(self.places, self.texts, moved=weighting == "value")


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
    state = (PUBLISHED.get(kind.name, kind) if published else kind).empty(grid)
    size = batch_size or max(1, len(texts))
    for start in range(0, len(texts), size):
        group = list(texts[start : start + size])
        layers = batches(grid, group, extra=padding, dtype=dtype, rubbish=garbage)
        queries, keys = layers[0].queries, layers[0].keys
        rows = state.wanted(queries, keys, moved=weighting == "value")
        collected = LayerReductions(grid.layers, StackReads({weighting: state.reads}, tuple(rows)))
        for layer in layers:
            collected.add(layer)
        state.update(collected.batches(queries, keys, causal=grid.causal)[weighting])
    return state


def measured_in(
    model: Model, measure: type[Measure], texts: Sequence[ModelText], *, max_length: int = 60
) -> Measure:
    """The measure over the attention weights of a real model's first stack, the texts in one batch."""
    watch = watched(model, "attention")
    grid = watch.capture.stacks.grids[0]
    state = measure.empty(grid)
    if texts:
        batch = encoded(watch, texts, max_length)
        reads = {own.stack: StackReads({}) for own in watch.capture.stacks.grids}
        reads[grid.stack] = StackReads({"attention": state.reads})
        state.update(watch.reduced(batch, reads)[grid.stack, "attention"])
    return state


class Layers(dict[str, list[Tensor]]):
    """By stack, the attention of every text (layer, head, query, key) without padding."""

    inputs: Inputs
    """What the model was given."""
    calls: Mapping[tuple[str, int], AttentionCall]
    """Every attention call by stack and layer, with padding; empty where the model does not show them."""


def layers_of(
    model: Model,
    texts: Sequence[ModelText] | Inputs,
    *,
    weighting: Weighting = "attention",
    max_length: int = 60,
) -> Layers:
    """What all heads look at, the texts in one batch; or of `texts` that are made already into what a model takes."""
    watch = watched(model, weighting)
    batch = made_batch(texts) if isinstance(texts, Mapping) else encoded(watch, texts, max_length)
    shown: dict[StackName, list[Tensor]] = {}
    sides: dict[StackName, tuple[list[int], list[int]]] = {}

    def see(stack: StackName, attention: LayerAttention) -> None:
        shown.setdefault(stack, []).append(attention.attention.clone())
        sides[stack] = attention.queries.lengths.tolist(), attention.keys.lengths.tolist()

    watch.run(batch, see)
    layers = Layers()
    for stack, found in shown.items():
        layers[stack] = [
            torch.stack([layer[text, :, :queries, :keys] for layer in found])
            for text, (queries, keys) in enumerate(zip(*sides[stack], strict=True))
        ]
    layers.inputs, layers.calls = batch.inputs, {}
    if watch.capture.hooked:
        calls: dict[tuple[str, int], AttentionCall] = {}
        watch.run_calls(batch, lambda place, call: calls.update({(place.stack, place.layer): call}))
        layers.calls = calls
    return layers


class KernelsNotUsedError(Exception):
    """Why the kernels are not used for a model, as its atlas would say."""


class Reduced(dict[str, list[Tensor]]):
    """By stack, what each of the reductions gives: (text, layer, head, ...)."""

    outputs: list[Tensor]
    """(text, query, head, dim) what the heads of each layer give, of calls that the test has made."""


def reduced(
    model: Model | Iterable[MadeCall],
    texts: Sequence[ModelText] | Sequence[Text],
    reads: Sequence[Reduction],
    *,
    backend: Backend = "reference",
    weighting: Weighting = "attention",
    max_length: int = 60,
    keys: Sequence[Text] | None = None,
    causal: bool = False,
) -> Reduced:
    """What the reductions make of a model's attention, or of that of calls that the test has made, one a layer.

    `backend="kernels"` raises KernelsNotUsedError where the kernels are not used for this model. Of made calls the
    reference is attention in float64; they may come from a generator, so that one is gone when the next is made; `keys`
    are other texts that are looked at.
    """
    if not isinstance(model, Model):
        asking = token_batch([text for text in texts if isinstance(text, Text)])
        asked = asking if keys is None else token_batch(list(keys))
        return _of_calls(model, (asking, asked), reads, backend, weighting, causal=causal)
    # The kernels weigh attention both ways in one pass.
    values = backend == "kernels" or weighting == "value" or OUTPUT_NORMS in reads
    watch = watched(model, "value" if values else "attention")
    if backend == "kernels":
        choose_kernels(watch, wanted=True, faithful=False)
        if not watch.by_kernels:
            raise KernelsNotUsedError(watch.kernels)
    watch.weigh = "looked"
    batch = encoded(watch, [text for text in texts if not isinstance(text, Text)], max_length)
    asked = _Reads.of(reads, weighting)
    found = watch.reduced(batch, {grid.stack: asked.of_stack for grid in watch.capture.stacks.grids})
    return Reduced(
        {
            grid.stack: asked.values(
                grid, {way: one for (stack, way), one in found.items() if stack == grid.stack}
            )
            for grid in watch.capture.stacks.grids
        }
    )


@dataclass(frozen=True)
class _Reads:
    """What a test reads of a stack, and how it is read again."""

    reads: Sequence[Reduction]
    weighting: Weighting
    rows: Mapping[int, ChosenRows]  # by place among `reads`

    @classmethod
    def of(cls, reads: Sequence[Reduction], weighting: Weighting) -> "_Reads":
        """The same, with the rows that kernels are told of beforehand."""
        chosen = {
            number: read.wanted(weighting) for number, read in enumerate(reads) if isinstance(read, Rows)
        }
        return cls(reads, weighting, chosen)

    @property
    def of_stack(self) -> StackReads:
        """As the tracer is told."""
        by_weighting: dict[Weighting, list[Reduction]] = {self.weighting: []}
        for read in self.reads:
            if not isinstance(read, Rows):
                by_weighting.setdefault(self._weighting_of(read), []).append(read)
        reductions = {weighting: tuple(own) for weighting, own in by_weighting.items()}
        return StackReads(reductions, tuple(self.rows.values()))

    def _weighting_of(self, read: Reduction) -> Weighting:
        return "attention" if read is OUTPUT_NORMS else self.weighting

    def values(self, grid: HeadGrid, found: Mapping[Weighting, AttentionBatch]) -> list[Tensor]:
        """(text, layer, head, ...) of every reduction, in their order."""
        values: list[Tensor] = []
        for number, read in enumerate(self.reads):
            if number in self.rows:
                rows = found[self.weighting].rows(self.rows[number])
                values.append(rows.view(len(rows), *grid.shape, *rows.shape[2:]))
            else:
                values.append(found[self._weighting_of(read)].reduce(read))
        return values


def _of_calls(
    calls: Iterable[MadeCall],
    sides: tuple[TokenBatch, TokenBatch],
    reads: Sequence[Reduction],
    backend: Backend,
    weighting: Weighting,
    *,
    causal: bool,
) -> Reduced:
    """The same of calls that a test has made, one for each of LAYERS."""
    stack: Any = None
    outputs: list[Tensor] = []
    asked = _Reads.of(reads, weighting)
    of_stack = asked.of_stack
    others: LayerReductions | None = None
    name: StackName = "decoder" if causal else "encoder"
    stream, layer = iter(calls), -1
    while (call := next(stream, None)) is not None:  # by no loop that would hold the call before
        layer += 1
        grid = HeadGrid(name, LAYERS, call.query.shape[1], causal=causal)
        if backend == "reference":
            others = others or LayerReductions(LAYERS, of_stack)
            weights, value = exact_weights(call), call.value.double()
            output = (weights @ value.repeat_interleave(grid.heads // value.shape[1], 1)).transpose(1, 2)
            outputs.append(output)
            carried = Carried(value, output, call.root.double(), call.stream.double())
            others.add(LayerAttention.observed(layer, weights, *sides, carried))
            call = None
            continue
        inputs = _inputs_of(call)
        if stack is None:
            stack = kernels.stack_for(torch.device("cpu"))(grid, sides, of_stack.rows)
            own = {
                way: tuple(one for one in all_ if one not in ANSWERED)
                for way, all_ in of_stack.reductions.items()
            }
            others = LayerReductions(LAYERS, StackReads(own))
        assert others is not None
        sums = bool(of_stack.rows) or others.reads != of_stack
        made = stack.attend(
            layer, inputs, Asked(Root.of(call.root, torch.float32), call.stream, weighting == "value", sums)
        )
        outputs.append(made.output)
        carried = Carried(inputs.value, made.output, call.root, call.stream)
        if any(others.reads.reductions.values()):
            others.add(stack.layer(layer, made, carried))
        del inputs, made, carried  # as a model lets go of them
        call = None
    assert others is not None
    rows = others.rows if stack is None else {one.key: stack.rows_of(one) for one in of_stack.rows}
    found = {}
    for way, own_reads in of_stack.reductions.items():
        reductions = others.reduced(way)
        if reductions.keys() != set(own_reads):
            reductions = stack.reduced(way) | reductions
        found[way] = AttentionBatch(*sides, way, reductions, rows=rows)
    values = Reduced({name: asked.values(grid, found)})
    values.outputs = outputs
    return values


def _inputs_of(call: MadeCall) -> AttentionInputs:
    module = nn.Module()
    if call.sinks is not None:
        module.sinks = nn.Parameter(call.sinks)
    given = (call.query, call.key, call.value, call.mask, call.position_bias, call.scaling, call.soft_cap)
    return AttentionInputs(module, *given)


Change = Callable[[str, int, Tensor], Tensor]
"""Given a stack, a layer and its weights (text, head, query, key): the weights that take their place."""


@contextmanager
def edited(model: Model, edit: Change, places: Collection[tuple[str, int]] | None = None) -> Iterator[None]:
    """Inside, every forward pass of the model has the attention that `edit` makes of its own, in all threads.

    What heads give is computed anew from these weights and the values. `places` are stacks and layers, by default all.
    """
    capture = surveyed(model)

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        every = torch.arange(call.weights.shape[1])
        return call.with_weights(every, edit(place.stack, place.layer, call.weights))

    chosen = capture.stacks.places if places is None else _places(places)
    with following(capture, chosen, handle, edit="a function of the test"):
        yield


def _places(places: Collection[tuple[str, int]]) -> list[Place]:
    return [Place(cast(StackName, stack), layer) for stack, layer in places]


@contextmanager
def differentiated(
    model: Model, places: Collection[tuple[str, int]] | None = None
) -> Iterator[Mapping[tuple[str, int], Tensor]]:
    """Inside, the weights (text, head, query, key) of the last forward pass by stack and layer, with `.grad`."""
    chosen = None if places is None else _places(places)
    with retained(surveyed(model), chosen) as kept:
        yield _ByStackAndLayer(kept)


class _ByStackAndLayer(Mapping[tuple[str, int], Tensor]):
    """What is kept while forward passes run, known by stacks and layers."""

    def __init__(self, kept: Mapping[Place, Tensor]) -> None:
        self._kept = kept

    def __getitem__(self, place: tuple[str, int]) -> Tensor:
        return self._kept[_places([place])[0]]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return ((place.stack, place.layer) for place in self._kept)

    def __len__(self) -> int:
        return len(self._kept)


@contextmanager
def kernels_as(
    kind: Literal["numba", "triton"] = "numba",
    *,
    scores_together: int | None = None,
    keep_rows: bool = True,
    tables_beforehand: bool = False,
    fails: Exception | None = None,
) -> Iterator[None]:
    """Inside, `reduced` and `hs.analyze` have these kernels; those of Triton are interpreted on a CPU.

    `scores_together`: so many scores are worked on at once. Without `keep_rows`, rows of which only sums are wanted
    are summed up layer by layer, as those of long texts are. `tables_beforehand`: what tokens alone decide is made with
    the batch, as for an accelerator. `fails` is what the kernels raise.
    """
    with pytest.MonkeyPatch.context() as patch:
        if kind == "triton":
            from headscope.kernels.triton import stack as gpu

            patch.setattr(kernels, "stack_for", lambda device: gpu.TritonStack)
            if not keep_rows:
                patch.setattr(gpu, "_SUMMED_BYTES", 0)
        if kind == "numba":
            from headscope.kernels.cpu import stack as cpu

            if scores_together is not None:
                patch.setattr(cpu, "SCORES", scores_together)
            if not keep_rows:
                patch.setattr(cpu, "KEPT", 0)
        if tables_beforehand:
            patch.setattr(Watch, "ready", _ready_as_for_an_accelerator)
        if fails is not None:
            patch.setattr(Verification, "_one_layer", _Failing(fails))
        yield


def _ready_as_for_an_accelerator(watch: Watch, texts: Sequence[Any]) -> ReadyBatch[Any]:
    """`Watch.ready` for a device that this machine does not have."""
    batch = model_inputs(watch.model, [text.encoded for text in texts], one_segment=watch.one_segment)
    of_kernels = kernels.stack_for(watch.model.device).derives if watch.by_kernels else ()
    return ReadyBatch(watch, texts, batch.knowing((*of_kernels, *watch._derives)))


@dataclass(frozen=True)
class _Failing:
    error: Exception

    def __call__(self, *_: object) -> None:
        raise self.error


def texts_together(
    model: Model,
    length: int,
    *,
    batch_size: int | Literal["auto"] = "auto",
    device: str = "cpu",
    by_kernels: bool = False,
    keeps_maps: bool = False,
    layer_bytes: int | None = None,
    held_bytes: int | None = None,
    least_tokens: int | None = None,
) -> int:
    """How many texts of a length go through the model together.

    `keeps_maps`: what looks on keeps all layers' maps of a batch. The other numbers are those of a smaller machine.
    """
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        watch = Watch(surveyed(model), holds_all=keeps_maps)
        watch.answered = ANSWERED if by_kernels else None
        if device != "cpu":
            patch.setattr(Model, "device", torch.device(device))
        for name, number in (("LAYER_BYTES", layer_bytes), ("LEAST_TOKENS", least_tokens)):
            if number is not None:
                patch.setattr(watching, name, number)
        if held_bytes is not None:
            patch.setitem(watching.HELD_BYTES, device, held_bytes)
        return watch.texts_at(batch_size)(length)


def watched(model: Model, weighting: Weighting) -> Watch:
    """What texts go through, with what is needed to weigh attention by value norms."""
    capture = surveyed(model)
    weigh: Literal["moved", "looked"] = "moved" if weighting == "value" else "looked"
    return Watch(capture, carrier=carrier_for(capture, weigh), weigh=weigh)


def encoded(watch: Watch, texts: Sequence[ModelText], max_length: int) -> TextBatch:
    """The texts as one padded batch."""
    encoder = watch.encoder(max_length)
    pairs = [TextPair(text) if isinstance(text, str) else TextPair(*text) for text in texts]
    return watch.batch([encoder.encode(pair) for pair in pairs])


def made_batch(inputs: Inputs) -> TextBatch:
    """What a model takes, of whose tokens nothing is known but which are padding."""
    target = _tokens(inputs, "decoder_") if "decoder_input_ids" in inputs else None
    return TextBatch(dict(inputs), _tokens(inputs, ""), target)


def _tokens(inputs: Inputs, side: str) -> TokenBatch:
    ids = inputs[f"{side}input_ids"]
    is_token = inputs.get(f"{side}attention_mask", torch.ones_like(ids)).bool()
    unknown = torch.full_like(ids, -1)
    return TokenBatch(ids, is_token, torch.full_like(ids, OTHER), unknown, unknown, unknown)
