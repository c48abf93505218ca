"""Knowing, in any forward pass by anybody, which layer of which stack each attention call belongs to.

Calls are counted from the start of a forward pass, which hooks on the network tell. The encoder and the decoder of
a model that has both count for themselves, because `generate` runs the encoder once and the decoder many times.
"""

import inspect
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.errors import CaptureError
from headscope.models.model import Model
from headscope.trace.architecture import Place, Stacks
from headscope.trace.call import AttentionCall, AttentionInputs
from headscope.trace.finite import FiniteCheck
from headscope.trace.observe import (
    Handler,
    Replacement,
    edits_suspended,
    evaluating,
    intercepting,
    returned_attention,
)
from headscope.trace.softmax import Site

See = Callable[[Place, Tensor], None]
Inputs = Mapping[str, Tensor | bool]


@dataclass(frozen=True)
class Capture:
    """How one model is observed: its stacks, and whether through the hook or by asking for its output."""

    model: Model
    stacks: Stacks
    hooked: bool
    pads: bool
    """Whether texts may be padded; in some architectures (ConvBERT) padding changes the text's own attention."""
    sites: tuple[Site, ...] = ()
    """Where the softmax is taken, for models that are reached there rather than through the attention interface."""
    repeats: int = 1
    """How often each layer attends, always with the same weights; more than once in DiffLlama."""
    why: str = ""
    """Why attention that is not hooked cannot be reached, in words."""

    @property
    def shows_scores(self) -> bool:
        """Whether queries and keys are seen, and scores are their products plus something of the position."""
        return self.hooked and all(site.scale is not None for site in self.sites)

    @property
    def road(self) -> str:
        """How attention is seen, as an atlas tells it."""
        if not self.hooked:
            return "returned attentions"
        return "softmax" if self.sites else "hook"

    def run(self, inputs: Inputs, see: See) -> None:
        """One forward pass; `see(place, attention)` is called for every layer of every stack, in order.

        Raises CaptureError when the calls seen are not those expected, or the attention of a real token is nan, so
        that no result is built on a layer that was missed or broken. On an accelerator that is told at the end.
        """
        if not self.hooked:
            maps = returned_attention(self.model.core, {**inputs, **self.model.no_cache})
            self.look_through(inputs, maps, see)
            return

        self.run_calls(inputs, lambda place, call: see(place, call.weights))

    def run_calls(self, inputs: Inputs, see: Callable[[Place, AttentionCall], None]) -> None:
        """The same for models that the hook reaches, with all that the calls show."""

        def look(place: Place, call: AttentionCall) -> None:
            self._check(place, call.weights, inputs)
            see(place, call)

        run_calls(self, inputs, look)

    def look_through(self, inputs: Inputs, maps: Sequence[Tensor], see: See) -> None:
        """The same checks of `maps` that a forward pass has given all at once."""
        places = self.stacks.places
        if len(maps) != len(places):
            raise _wrong_count(self.model.name, len(places), len(maps))
        finite = FiniteCheck(self.model)
        for place, weights in zip(places, maps, strict=True):
            self._check(place, weights, inputs)
            reads_source = place.stack == "encoder" or "decoder_input_ids" not in inputs
            finite.look(
                place, weights, inputs.get("attention_mask" if reads_source else "decoder_attention_mask")
            )
            see(place, weights)
        finite.done()

    def _check(self, place: Place, weights: Tensor, inputs: Inputs) -> None:
        source, target = inputs["input_ids"], inputs.get("decoder_input_ids")
        assert isinstance(source, Tensor)
        queries, keys = source.shape[1], source.shape[1]
        if isinstance(target, Tensor) and place.stack != "encoder":
            queries = target.shape[1]
            keys = queries if place.stack == "decoder" else keys
        expected = (source.shape[0], self.stacks.grid(place.stack).heads, queries, keys)
        if tuple(weights.shape) != expected:
            raise CaptureError(
                f"{self.model.name}: layer {place.layer} of the {place.stack} gave attention of shape "
                f"{tuple(weights.shape)} where {expected} was expected"
            )


@dataclass(eq=False)
class Section:
    """A part of the network that is run as one, and the places of its attention calls in order."""

    module: nn.Module
    places: tuple[Place, ...]
    begun: int = 0
    forwards: int = 0
    """How many forward passes of it have been followed, and how many to their end."""


@dataclass(eq=False)
class Forward:
    """One forward pass of a section, while it runs."""

    section: Section
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    finite: FiniteCheck | None = None
    """For who watches; an edit may be there to take a nan away."""
    seen: int = 0
    handled: set[Place] = field(default_factory=set)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """What the section's forward was called with, by name."""
        names = [name for name in inspect.signature(self.section.module.forward).parameters if name != "self"]
        return {**dict(zip(names, self.arguments, strict=False)), **self.named}


Handle = Callable[[Place, AttentionCall, Forward], AttentionCall]
Attend = Callable[[Place, AttentionInputs, Forward], Tensor]
"""What computes a call's output in place of the model's own function."""


class Follower:
    """Counts the calls of every forward pass and hands those at the chosen places to `handle`."""

    def __init__(
        self,
        capture: Capture,
        places: Collection[Place],
        handle: Handle,
        *,
        everywhere: bool,
        left_out: Collection[Place] = (),
        attend: Attend | None = None,
    ) -> None:
        """`everywhere` is for edits: in all threads, and nan may pass, as an edit may be there to take it away.

        With `attend` the model's own function does not run, and `handle` is not asked.
        """
        self.model = capture.model
        self._sites, self._repeats = capture.sites, capture.repeats
        self.name = capture.model.name
        self.sections = sections(capture, left_out)
        self.places = frozenset(places)
        self._handle = handle
        self._attend = attend
        self._heads = {grid.stack: grid.heads for grid in capture.stacks.grids}
        self._thread = None if everywhere else threading.get_ident()
        self._running = threading.local()

    @property
    def chosen(self) -> list[Section]:
        """The sections that have chosen places."""
        return [section for section in self.sections if self.places & set(section.places)]

    def ask(self, module: nn.Module) -> Handler | Replacement | None:
        """What to do with the next attention call: the interceptor of `intercepting`."""
        forward = self._forwards[-1] if self._forwards else None
        if forward is None:
            raise CaptureError(
                f"{self.name}: attention was computed outside of a forward pass of the model, so its layer is not "
                "known (gradient checkpointing does that: switch it off)"
            )
        forward.seen += 1
        if forward.seen > len(forward.section.places) * self._repeats:
            self._check(forward)
        place = forward.section.places[(forward.seen - 1) // self._repeats]
        again = place in forward.handled and self._thread is not None  # who watches is shown a layer once
        if place not in self.places or again:
            return None

        attend = self._attend
        if attend is not None:
            forward.handled.add(place)
            return Replacement(lambda inputs: attend(place, inputs, forward))

        def handle(call: AttentionCall) -> AttentionCall:
            if call.weights.dim() != 4 or call.weights.shape[1] != self._heads[place.stack]:
                raise CaptureError(
                    f"{self.name}: layer {place.layer} of the {place.stack} gave attention of shape "
                    f"{tuple(call.weights.shape)}, which is not of {self._heads[place.stack]} heads"
                )
            forward.handled.add(place)
            if forward.finite is not None:
                forward.finite.look(place, call.weights, forward.inputs.get("attention_mask"))
            return self._handle(place, call, forward)

        return handle

    @contextmanager
    def active(self, *, edit: str | None = None) -> Iterator[None]:
        """Inside, every forward pass is followed; `edit`: see `intercepting`."""
        with ExitStack() as stack:
            stack.enter_context(intercepting(self.model.core, self.ask, edit=edit, sites=self._sites))
            for section in self.sections:
                begin, end = self._begin(section), self._end(section)
                stack.callback(section.module.register_forward_pre_hook(begin, with_kwargs=True).remove)
                stack.callback(section.module.register_forward_hook(end, always_call=True).remove)
            yield

    @property
    def _forwards(self) -> list[Forward]:
        """The forward passes that run in this thread."""
        if not hasattr(self._running, "forwards"):
            self._running.forwards = []
        running: list[Forward] = self._running.forwards
        return running

    @property
    def _looks_away(self) -> bool:
        if self._thread is None:
            return edits_suspended()
        return self._thread != threading.get_ident()

    def _begin(self, section: Section) -> Callable[[nn.Module, tuple[Any, ...], dict[str, Any]], None]:
        def begin(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
            if self._looks_away:
                return
            earlier = self.sections[: self.sections.index(section)]
            missed = [other for other in earlier if other in self.chosen and not other.forwards]
            if missed:
                raise CaptureError(
                    f"{self.name}: the {section.places[0].stack} runs on what the {missed[0].places[0].stack} gave "
                    "earlier, outside; run both inside"
                )
            section.begun += 1
            finite = None if self._thread is None else FiniteCheck(self.model)
            self._forwards.append(Forward(section, arguments, named, finite))

        return begin

    def _end(self, section: Section) -> Callable[[nn.Module, Any, Any], None]:
        def end(module: nn.Module, arguments: Any, output: Any) -> None:
            if self._looks_away or not self._forwards or self._forwards[-1].section is not section:
                return
            forward = self._forwards.pop()
            if output is not None:  # None after an exception, which says more than a count would
                self._check(forward)
                section.forwards += 1

        return end

    def _check(self, forward: Forward) -> None:
        places = forward.section.places
        if forward.seen != len(places) * self._repeats:
            raise _wrong_count(self.name, len(places) * self._repeats, forward.seen)
        missed = (self.places & set(places)) - forward.handled
        if missed:
            raise CaptureError(f"{self.name}: a forward pass left out {', '.join(map(str, missed))}")
        if forward.finite is not None:
            forward.finite.done()


def sections(capture: Capture, left_out: Collection[Place] = ()) -> tuple[Section, ...]:
    """The parts of the network that are run as one, in the order in which they run; `left_out` does not run."""
    core = capture.model.core
    places = tuple(place for place in capture.stacks.places if place not in left_out)
    if not capture.model.is_encoder_decoder:
        return (Section(_running(core), places),)
    reading = tuple(place for place in places if place.stack == "encoder")
    writing = tuple(place for place in places if place.stack != "encoder")
    parts: Any = core  # transformers gives these methods no types
    encoder, decoder = parts.get_encoder(), parts.get_decoder()
    if any(module is encoder for module in decoder.modules()):  # Florence-2 gives its whole language model
        decoder = decoder.get_decoder()
    return Section(encoder, reading), Section(decoder, writing)


def _running(core: PreTrainedModel) -> PreTrainedModel:
    """The part of the core that every forward pass goes through.

    A core that only holds another network (OPT, BART's decoder alone) is left out by some task heads, which call what
    it holds.
    """
    children = list(core.children())
    only = children[0] if len(children) == 1 else None
    return _running(only) if isinstance(only, PreTrainedModel) else core


def check_reachable(capture: Capture) -> None:
    """Raise CaptureError where the hook does not reach the attention."""
    if not capture.hooked:
        raise CaptureError(
            f"{capture.model.name} ({capture.model.architecture}) computes attention in a way that can be looked at "
            "afterwards but not reached while it runs: it shows its weights, but not its queries and keys, nor "
            f"gradients, and takes no edits{f' ({capture.why})' if capture.why else ''}"
        )


@contextmanager
def following(
    capture: Capture,
    places: Collection[Place],
    handle: Handle,
    *,
    edit: str | None = None,
    left_out: Collection[Place] = (),
) -> Iterator[Follower]:
    """Inside, `handle(place, call, forward)` is given every call at `places` and says what becomes of it.

    `edit` says in words what it changes, if it does; see `intercepting`. `left_out` are places whose layers do not run
    inside, as when what they gave earlier is handed out again.

    Every forward pass is checked at its end: CaptureError when it had more or fewer attention calls than the
    network has layers, or left out one of `places`, or the attention of a real token there is nan. The last does not
    hold for edits.
    """
    check_reachable(capture)
    follower = Follower(capture, places, handle, everywhere=edit is not None, left_out=left_out)
    with follower.active(edit=edit):
        yield follower


def check_single(capture: Capture) -> None:
    """Raise CaptureError where a layer attends more than once, so that no call alone has what its heads give."""
    if capture.repeats > 1:
        raise CaptureError(
            f"{capture.model.name} ({capture.model.architecture}) uses the weights of a layer {capture.repeats} times, "
            "on other values each time; headscope shows and edits them, but cannot tell what a head gives, nor "
            "gradients"
        )


def run_calls(capture: Capture, inputs: Inputs, see: Callable[[Place, AttentionCall], None]) -> None:
    """One forward pass in eval mode; `see(place, call)` is called for every layer of every stack, after any edit.

    All layers go through the hook, also for who wants one: after fast kernels in the layers before it, its numbers
    would differ in the last digits from those that `Capture.run` shows.
    """

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        see(place, call)
        return call

    core = capture.model.core
    with following(capture, capture.stacks.places, handle), evaluating(core), torch.inference_mode():
        core(**inputs, **capture.model.no_cache)


@contextmanager
def replacing(capture: Capture, attend: Attend) -> Iterator[Callable[[Inputs], None]]:
    """Inside, what is yielded runs forward passes in which `attend` computes attention; checked like every other."""

    def unused(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        return call

    check_reachable(capture)
    follower = Follower(capture, capture.stacks.places, unused, everywhere=False, attend=attend)
    core = capture.model.core

    def run(inputs: Inputs) -> None:
        with torch.inference_mode():
            core(**inputs, **capture.model.no_cache)

    with follower.active(), evaluating(core):
        yield run


def _wrong_count(name: str, expected: int, seen: int) -> CaptureError:
    return CaptureError(
        f"{name}: {expected} attention calls were expected in a forward pass and {seen} were seen"
    )


@contextmanager
def retained(capture: Capture, places: Collection[Place] | None = None) -> Iterator[dict[Place, Tensor]]:
    """Inside, the weights (text, head, query, key) of the last forward pass by place; `.grad` after a backward.

    `places` are all of the network's when None. The outputs of the heads are computed anew from the weights, so
    that the gradient is with respect to exactly these, after any edit; a head whose output an edit has made
    independent of its weights has gradient 0. The network's mode is left alone: put it in eval mode, or weights
    are after dropout. Parameters may be frozen, which saves time.
    """
    check_single(capture)
    kept: dict[Place, Tensor] = {}

    def handle(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        if not torch.is_grad_enabled():
            raise CaptureError("gradients are switched off; leave torch.no_grad and torch.inference_mode")
        count = call.weights.shape[1]
        every = torch.arange(count, device=call.weights.device)
        call.check(every)
        weights = call.weights if call.weights.requires_grad else call.weights.detach().requires_grad_()
        weights.retain_grad()
        kept[place] = weights
        heads = every[[head not in call.constant for head in range(count)]]
        output = call.output.index_copy(2, heads, call.output_of(heads, weights[:, heads]))
        return replace(call, weights=weights, output=output)

    with following(capture, capture.stacks.places if places is None else places, handle):
        yield kept
