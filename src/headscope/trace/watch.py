"""Texts through a model, batch by batch, with every layer's attention shown to whoever asks for it."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from torch import Tensor, nn

from headscope import kernels
from headscope.attention import (
    AttentionBatch,
    Carried,
    ChosenRows,
    Derive,
    LayerReductions,
    Reduction,
    StackReads,
    UniformAttention,
    Weighting,
)
from headscope.kernels.batch import ALL_LAYERS, ANSWERED, NOTHING, Asked, FusedStack, Root
from headscope.models import Model
from headscope.passes.options import BatchSize
from headscope.reductions import in_plain_torch
from headscope.text.batching import Bucketed, TextBatch
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.trace import AttentionCall, Capture, Carrier, Forward, surveyed
from headscope.trace.architecture import Place
from headscope.trace.call import AttentionInputs
from headscope.trace.finite import FiniteCheck
from headscope.trace.follow import Inputs, replacing
from headscope.trace.inputs import model_inputs
from headscope.trace.output_projection import carrier_for
from headscope.types import LayerAttention, Layout, StackName, TokenBatch, WeighedBy

USED = "used"
"""What is said of kernels that compute a model's attention."""

# How much is put through the model at once. On a CPU one batch's maps of one layer should stay in cache; an
# accelerator wants to be kept busy. What holds all layers' maps of a batch bounds it too.
CPU_TOKENS = 1024
ACCELERATOR_TOKENS = 32_768
LAYER_BYTES = 1 << 30
HELD_BYTES = {"cpu": 256 << 20}
HELD_BYTES_ELSEWHERE = 4 << 30
SPARE = 9
"""Kernels hold no maps beside, so that a run need take little more memory than the plain forward pass: rows have what a
smaller batch leaves of it, and one part in so many of the whole."""
LEAST_TOKENS = 8192
"""Fewer leave an accelerator idle, however much is held."""

_SHORT = 8  # tokens: a length that any model takes

T = TypeVar("T", bound=Sized)
See = Callable[[StackName, LayerAttention], None]
Reads = Mapping[StackName, StackReads]
"""What measures read of each stack on a batch."""
Reduced = dict[tuple[StackName, Weighting], AttentionBatch]
"""The stacks of one batch, once for each weighting that is read."""


class HasEncoded(Protocol):
    """A text that a model can be given."""

    @property
    def encoded(self) -> EncodedInput:
        """As the model is given it."""


R = TypeVar("R", bound=HasEncoded)


@dataclass(frozen=True)
class ReadyBatch(Generic[R]):
    """Texts whose batch is ready to be moved to the model; a part of them makes its own."""

    watch: "Watch"
    texts: Sequence[R]
    held: TextBatch

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, part: slice) -> "ReadyBatch[R]":
        return self.watch.ready(self.texts[part])

    def moved(self) -> TextBatch:
        """The batch where the model is."""
        return self.held.to(self.watch.model.device)


class Watch:
    """How texts go through one model: how it takes them, how many at a time, and what is seen."""

    def __init__(
        self,
        capture: Capture,
        *,
        holds_all: bool = False,
        held_rows: Callable[[int], int] | None = None,
        derives: Sequence[Derive] = (),
        one_segment: bool = False,
        carrier: Carrier | None = None,
        weigh: WeighedBy = "looked",
    ) -> None:
        """`holds_all`: what looks on keeps all layers' maps of a batch. `one_segment`: see `collate`.

        `held_rows`: of no more rows of a text of some length than it says. `derives`: what is derived of tokens, before
        they go to an accelerator.

        With a `carrier`, what is seen also says what heads fetch and give. By `weigh="moved"` what is seen are the
        shares of what heads move in place of their weights: rows add up to 1, so whoever takes weights takes them.
        """
        self.capture = capture
        self.model: Model = capture.model
        self._held_rows = _all_rows if holds_all or not capture.hooked else held_rows or _no_rows
        self._derives = derives
        self.one_segment = one_segment
        self.carrier = carrier or carrier_for(capture, weigh)
        self.weigh: WeighedBy = weigh
        self._roots: dict[Place, Root] = {}
        self._running: Callable[[Inputs], None] | None = None
        self._turn: _Turn | None = None
        self.kernels = "not used"
        """Whether kernels compute attention, and why not: for the user, in provenance and `--profile`."""
        self.answered: frozenset[Reduction] | None = None
        """The reductions that kernels compute for this model; None where they are not used."""

    @property
    def layout(self) -> Layout:
        """How the model takes two texts."""
        return self.model.adapter.layout(self.model.config, causal=self.capture.stacks.grids[0].causal)

    def encoder(self, max_length: int) -> TextEncoder:
        """What turns texts into input for this model."""
        model = self.model
        return TextEncoder(model.tokenizer, self.layout, max_length, model.decoder_start, start=model.start)

    def texts_at(self, batch_size: BatchSize = "auto") -> Callable[[int], int]:
        """How many texts of a length go through the model together."""
        if batch_size == "auto" or not self.capture.pads:
            return self._fitting
        return lambda length: batch_size

    def _fitting(self, length: int) -> int:
        if not self.capture.pads:
            return 1
        on_cpu = self.model.device.type == "cpu"
        limits = [(CPU_TOKENS if on_cpu else ACCELERATOR_TOKENS) // length]
        grids = self.capture.stacks.grids
        if not self.by_kernels:
            limits.append(LAYER_BYTES // (max(grid.heads for grid in grids) * length * length * 4))
        if rows := self._held_rows(length):
            size = self.model.dtype.itemsize if self.by_kernels else 4
            limits.append(self._tokens_held(rows * sum(grid.size for grid in grids) * size) // length)
        return max(1, min(limits))

    def _tokens_held(self, held: int) -> int:
        """How many tokens go together if so many bytes of each are `held` until the last layer."""
        device = self.model.device.type
        if device in HELD_BYTES:
            return HELD_BYTES[device] // held
        if not self.by_kernels:
            return max(HELD_BYTES_ELSEWHERE // held, LEAST_TOKENS)
        weights, own = self._sizes
        plain = ACCELERATOR_TOKENS * own
        return max((plain + (weights + plain) // SPARE) // (held + own), LEAST_TOKENS)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """How many bytes the weights take, and a token in a plain pass: its widest numbers twice, others thrice."""
        weights = sum(weight.numel() * weight.itemsize for weight in self.model.network.parameters())
        matrices = (
            weight.shape[-2:]
            for module in self.model.core.modules()
            if not isinstance(module, nn.Embedding)
            for weight in module.parameters(recurse=False)
            if weight.dim() > 1
        )
        hidden = int(getattr(self.model.text_config, "hidden_size", 0))
        widest = max((max(sides) for sides in matrices), default=hidden)
        return weights, (2 * widest + 3 * hidden) * self.model.dtype.itemsize

    def batches(self, batch_size: BatchSize, longest: int) -> Bucketed:
        """What groups texts of at most `longest` tokens into batches of like length."""
        return Bucketed(self.texts_at(batch_size), longest)

    def batch(self, texts: Sequence[EncodedInput]) -> TextBatch:
        """The texts as the model is given them."""
        return model_inputs(self.model, texts, one_segment=self.one_segment)

    def ready(self, texts: Sequence[R]) -> "ReadyBatch[R]":
        """The texts with the batch that they make, made before the model's turn."""
        encoded = [text.encoded for text in texts]
        batch = model_inputs(self.model, encoded, one_segment=self.one_segment, moved=False)
        device = self.model.device
        if device.type != "cpu":
            of_kernels = kernels.stack_for(device).derives if self.by_kernels else ()
            batch = batch.knowing((*of_kernels, *self._derives))
        return ReadyBatch(self, texts, batch.bound_for(device))

    def reduced(self, batch: TextBatch, reads: Reads) -> Reduced:
        """One forward pass, reduced to what measures read: by the kernels where they are used for this model."""
        if not self.by_kernels:
            return self._reduced_layer_by_layer(batch, reads)
        with nullcontext() if self._running else self.running():
            assert self._running is not None
            earlier, self._turn = self._turn, _Turn(self, batch, reads)
            try:
                self._running(batch.inputs)
            except BaseException:
                self._turn = earlier  # lets go of all that the batch held
                raise
            reduced, self._turn.reduced = self._turn.reduced, {}
            if earlier is not None:
                earlier.check()
            return reduced

    def _reduced_layer_by_layer(self, batch: TextBatch, reads: Reads) -> Reduced:
        grids = {grid.stack: grid for grid in self.capture.stacks.grids}
        stacks = {stack: LayerReductions(grids[stack].layers, of_stack) for stack, of_stack in reads.items()}
        self.run(batch, lambda stack, layer: stacks[stack].add(layer))
        return {
            (stack, weighting): reduced
            for stack, layers in stacks.items()
            for weighting, reduced in layers.batches(
                *sides_of(batch, stack), causal=grids[stack].causal
            ).items()
        }

    def not_answered(self, reads: StackReads) -> StackReads:
        """What kernels do not compute themselves; rows they do."""
        answered = self.answered or frozenset()
        others = {
            weighting: tuple(reduction for reduction in reductions if reduction not in answered)
            for weighting, reductions in reads.reductions.items()
        }
        return StackReads(others)

    @property
    def by_kernels(self) -> bool:
        """Whether kernels compute this model's attention."""
        return self.answered is not None

    @property
    def has_lanes(self) -> bool:
        """Whether batches may go through copies of the network side by side: on a CPU, if nobody has changed it."""
        on_cpu = self.model.device.type == "cpu"
        return self.by_kernels and on_cpu and not any(map(_is_changed, self.model.network.modules()))

    def beside(self) -> "Watch":
        """The same for another thread: a network of its own, that shares the weights."""
        network = self.model.network
        shared = [self.model.tokenizer, *network.parameters(), *network.buffers()]
        return deepcopy(self, {id(thing): thing for thing in shared})

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside, batches go through the kernels without a stop: a nan is told of a batch later, or on leaving."""
        if not self.by_kernels:
            yield
            return

        def attend(place: Place, inputs: AttentionInputs, forward: Forward) -> Tensor:
            assert self._turn is not None
            return self._turn.attend(place, inputs, forward)

        try:
            with (
                self.carrier.watching() if self.carrier else nullcontext(),
                replacing(self.capture, attend) as self._running,
            ):
                yield
            if self._turn is not None:
                self._turn.check()
        finally:
            self._running = self._turn = None

    def fused_stack(self, stack: StackName, batch: TextBatch, rows: Sequence[ChosenRows] = ()) -> FusedStack:
        """Room for a stack's layers on a batch."""
        kind = kernels.stack_for(self.model.device)
        return kind(self.capture.stacks.grid(stack), sides_of(batch, stack), rows)

    def asked(self, place: Place, value: Tensor, *, moved: bool, sums: bool = True) -> Asked:
        """What is asked of a layer beside where its heads look."""
        if self.carrier is None:
            return NOTHING if sums else Asked(sums=False)
        if place not in self._roots:
            self._roots[place] = Root.of(self.carrier.root(place, value), value.dtype)
        return Asked(self._roots[place], self.carrier.stream(place), moved, sums)

    def carried(self, place: Place, value: Tensor, output: Tensor) -> Carried | None:
        """What a layer's heads fetch and give, where that is asked for."""
        return None if self.carrier is None else self.carrier.carried(place, value, output)

    def run_calls(self, batch: TextBatch, look: Callable[[Place, AttentionCall], None]) -> None:
        """One forward pass with all that the calls show."""
        with self.carrier.watching() if self.carrier else nullcontext():
            self.capture.run_calls(batch.inputs, look)

    def run(self, batch: TextBatch, see: See) -> None:
        """One forward pass; `see(stack, attention)` is called for every layer of every stack, in order."""

        def show(place: Place, attention: Tensor, carried: Carried | None = None) -> None:
            queries, keys = sides_of(batch, place.stack)
            seen = LayerAttention.observed(place.layer, attention, queries, keys, carried)
            see(place.stack, seen if self.weigh == "looked" else seen.moved.formed())

        carrier = self.carrier
        if carrier is None:
            self.capture.run(batch.inputs, show)
            return

        def look(place: Place, call: AttentionCall) -> None:
            show(place, call.weights, carrier.carried(place, call.value, call.output))

        self.run_calls(batch, look)


class _Turn:
    """One batch's way through the kernels: its stacks, filled layer by layer."""

    def __init__(self, watch: Watch, batch: TextBatch, reads: Reads) -> None:
        self.watch, self.reads = watch, reads
        self.stacks = {
            stack: watch.fused_stack(stack, batch, of_stack.rows) for stack, of_stack in reads.items()
        }
        for stack in self.stacks.values():
            stack.is_doubted = watch.answered != ANSWERED
        self.others = {
            stack: LayerReductions(self.stacks[stack].grid.layers, watch.not_answered(of_stack))
            for stack, of_stack in reads.items()
        }
        """What kernels do not compute themselves is computed of each layer as it runs."""
        self.asks = {
            stack: ("value" in of_stack.reductions, self.others[stack].reads != of_stack)
            for stack, of_stack in reads.items()
        }
        """Whether attention is also weighted by values, and whether kernels sum it up."""
        self.reduced: Reduced = {}
        self.checks: set[FiniteCheck] = set()

    def attend(self, place: Place, inputs: AttentionInputs, forward: Forward) -> Tensor:
        """One layer's attention; with the last layer of a stack the stack is complete."""
        watch, stack, others = self.watch, self.stacks[place.stack], self.others[place.stack]
        moved, sums = self.asks[place.stack]
        call = stack.attend(place.layer, inputs, watch.asked(place, inputs.value, moved=moved, sums=sums))
        if any(others.reads.reductions.values()):
            carried = watch.carried(place, inputs.value, call.output)
            layer = stack.layer(place.layer, call, carried)
            others.add(in_plain_torch(layer) if stack.is_doubted else layer)
        if place.layer == stack.grid.layers - 1:
            if forward.finite is not None:
                places = [other for other in watch.capture.stacks.places if other.stack == place.stack]
                forward.finite.look_at_layers(places, stack.left(ALL_LAYERS).sums(0).entropies[:, :, 0])
                self.checks.add(forward.finite)
            self._complete(place.stack)
        if watch.carrier is not None:
            watch.carrier.let_go()
        return call.output

    def _complete(self, name: StackName) -> None:
        """Gather what was computed of a stack, and let go of the rest."""
        stack, others, reads = self.stacks.pop(name), self.others.pop(name), self.reads[name]
        uniform = UniformAttention(*stack.sides, lambda: stack.even(causal=stack.grid.causal))
        rows = {rows.key: stack.rows_of(rows) for rows in reads.rows}
        for weighting, reductions in reads.reductions.items():
            reduced = others.reduced(weighting)
            if reduced.keys() != set(reductions):
                reduced = stack.reduced(weighting) | reduced
            batch = AttentionBatch(*stack.sides, weighting, reduced, rows=rows, uniform=uniform)
            self.reduced[name, weighting] = batch

    def check(self) -> None:
        """Raise CaptureError if attention held nan."""
        for check in self.checks:
            check.tell()


def _all_rows(length: int) -> int:
    return length


def _no_rows(length: int) -> int:
    return 0


def start_note(model: Model) -> str | None:
    """What to tell of a model whose texts are given a start token, or lose it, other than by its own tokenizer."""
    encoder = Watch(surveyed(model)).encoder(_SHORT)
    token = model.tokenizer.bos_token
    if encoder.added > 0:
        return (
            f"texts begin with the start token {token}, which the tokenizer of {model.name} has but does not add "
            "itself; --no-start-token (start_token=False) leaves it out"
        )
    if encoder.added < 0:
        return f"texts begin without the start token {token}, which the tokenizer of {model.name} adds"
    return None


def start_token_of(model: Model) -> str | None:
    """The start token that a decoder's texts begin with; None where they begin with none, and for other models."""
    return Watch(surveyed(model)).encoder(_SHORT).start_token


def _is_changed(module: nn.Module) -> bool:
    """Whether somebody changed what a module computes; hooks by which transformers returns maps change nothing."""
    hooks = (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
    return "forward" in vars(module) or any(
        not getattr(hook, "__module__", "").startswith("transformers.") for hook in hooks
    )


def sides_of(batch: TextBatch, stack: StackName) -> tuple[TokenBatch, TokenBatch]:
    """The tokens that ask and the tokens that are looked at."""
    if batch.target is None or stack == "encoder":
        return batch.source, batch.source
    return batch.target, batch.target if stack == "decoder" else batch.source
