"""Forward passes with edits: the plain way, and one that runs only what an edit can change.

Layers below the first edited one do what they did in the untouched pass. So that pass keeps what every layer gave (a
few hidden states; maps are not kept), and in an edited pass the layers below hand that out instead of running. In the
first edited layer, the projections in front of its attention are the same for every edit and are run once too.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from headscope.ablation.blocks import Block, find_blocks
from headscope.ablation.plan import PlannedEdit
from headscope.capture import AttentionCall, Capture, Follower, Forward, run_probe
from headscope.capture.observe import is_edited
from headscope.edits import How, edit
from headscope.edits.changes import Change
from headscope.edits.heads import HeadSet
from headscope.errors import CaptureError, HeadscopeWarning
from headscope.models.stacks import Place
from headscope.types import HeadId

Changes = Mapping[How, Change]
Run = Callable[[], Any]
"""A forward pass of one batch, the same at every call."""

_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-5}
_ROUNDING_IN_HALF = 2e-2


class Passes(Protocol):
    """Passes of one batch after another: `untouched` first, then any number of `edited` ones."""

    reuses: bool

    def ready(self) -> AbstractContextManager[None]:
        """Around all passes."""

    def untouched(self, run: Run, inputs: Mapping[str, Tensor]) -> Any:
        """What the network gives for the batch that `run` runs, as it is."""

    def edited(self, run: Run, planned: PlannedEdit) -> Any:
        """What it gives for the same batch with heads changed."""


def passes_for(capture: Capture, changes: Changes) -> Passes:
    """Passes that share work where the architecture allows it, proved on a probe; else full ones."""
    blocks = None if is_edited(capture.model.core) else find_blocks(capture)
    if blocks is None or not _is_same(capture, blocks):
        return FullPasses(capture, changes)
    return SharedPasses(capture, changes, blocks)


class FullPasses:
    """Every pass from the first layer to the last."""

    reuses = False

    def __init__(self, capture: Capture, changes: Changes) -> None:
        self._capture = capture
        self._changes = changes

    def ready(self) -> AbstractContextManager[None]:
        """Nothing to get ready."""
        return nullcontext()

    def untouched(self, run: Run, inputs: Mapping[str, Tensor]) -> Any:
        """A plain pass."""
        return run()

    def edited(self, run: Run, planned: PlannedEdit) -> Any:
        """A plain pass inside the edit."""
        change = self._changes[planned.how]
        with warnings.catch_warnings():
            # A batch may hold single texts only; that no batch has pairs is told before.
            warnings.simplefilter("ignore", HeadscopeWarning)
            with edit(
                self._capture,
                planned.heads,
                how=planned.how,
                renormalise=change.renormalise,
                means=change.means,
                sentences=change.sentences,
            ):
                return run()


class SharedPasses:
    """Passes that start at the first edited layer."""

    reuses = True

    def __init__(self, capture: Capture, changes: Changes, blocks: tuple[Block, ...]) -> None:
        self._capture = capture
        self._changes = changes
        self._blocks = blocks
        self._block_of = {place: number for number, block in enumerate(blocks) for place in block.places}
        self._follower = Follower(capture, (), self._apply, checks=False)
        self._device = capture.model.device
        self._inputs: Mapping[str, Tensor] = {}
        self._given: list[Any] = []  # what each layer gave in the untouched pass
        self._early: tuple[int, dict[nn.Module, Any]] = (-1, {})  # of one layer at a time
        self._numbers: dict[HeadSet, dict[Place, Tensor]] = {}
        self._wanted: dict[Place, tuple[Change, Tensor]] = {}

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Inside, the attention of the network goes through us."""
        with self._follower.active():
            yield

    def untouched(self, run: Run, inputs: Mapping[str, Tensor]) -> Any:
        """A plain pass, in which what every layer gives is kept."""
        self._inputs = inputs
        self._follow({}, first=0)
        self._early, self._given = (-1, {}), []  # an accelerator may have no room for two batches
        kept: dict[nn.Module, Any] = {}
        with _recording([block.module for block in self._blocks], kept):
            output = run()
        self._given = [kept[block.module] for block in self._blocks]
        return output

    def edited(self, run: Run, planned: PlannedEdit) -> Any:
        """A pass from the first edited layer on."""
        change = self._changes[planned.how]
        wanted = {place: (change, heads) for place, heads in self._heads(planned.heads).items()}
        first = min(self._block_of[place] for place in wanted)
        below = {block.module: given for block, given in zip(self._blocks[:first], self._given, strict=False)}
        self._follow(wanted, first=first)
        before = {section: section.forwards for section in self._follower.chosen}
        with _giving(below), self._shared(first):
            output = run()
        if any(section.forwards == count for section, count in before.items()):
            raise CaptureError(
                f"{self._capture.model.name}: an edit of {', '.join(map(str, wanted))} was applied at no layer"
            )
        return output

    def _follow(self, wanted: dict[Place, tuple[Change, Tensor]], *, first: int) -> None:
        """What is to be done where in the next pass, which runs from block `first` on."""
        self._wanted = wanted
        self._follower.places = frozenset(wanted)
        for section in self._follower.sections:
            section.skips = sum(self._block_of[place] < first for place in section.places)

    def _heads(self, heads: HeadSet) -> dict[Place, Tensor]:
        """The numbers of the heads by place, kept for the next batch."""
        if heads not in self._numbers:
            self._numbers[heads] = {
                place: torch.tensor(numbers, device=self._device) for place, numbers in heads.by_place.items()
            }
        return self._numbers[heads]

    def _apply(self, place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        change, heads = self._wanted[place]
        # The batch's own inputs: layers that are not run do not tell what they were given.
        return change.apply(place, heads, call, Forward(forward.section, (), self._inputs))

    @contextmanager
    def _shared(self, number: int) -> Iterator[None]:
        """Inside, what runs before the layer's attention runs once for all edits of the layer."""
        if self._early[0] == number:
            with _giving(self._early[1]):
                yield
            return
        kept: dict[nn.Module, Any] = {}
        with _recording(self._blocks[number].early, kept):
            yield
        self._early = (number, kept)


@contextmanager
def _recording(
    modules: tuple[nn.Module, ...] | list[nn.Module], kept: dict[nn.Module, Any]
) -> Iterator[None]:
    """Inside, what the modules give is kept."""

    def keep(module: nn.Module, arguments: Any, output: Any) -> None:
        kept[module] = output

    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(keep).remove)
        yield


@contextmanager
def _giving(outputs: Mapping[nn.Module, Any]) -> Iterator[None]:
    """Inside, the modules give these outputs, whatever they are asked."""
    before = {module: module.__dict__.get("forward") for module in outputs}
    try:
        for module, output in outputs.items():
            module.forward = lambda *_, _output=output, **__: _output
        yield
    finally:
        for module, own in before.items():
            if own is None:
                module.__dict__.pop("forward", None)
            else:
                module.forward = own


def _is_same(capture: Capture, blocks: tuple[Block, ...]) -> bool:
    """Whether shared passes give what full ones do, for a head of the middle and of the last layer, each twice."""
    changes: Changes = {"zero": Change(capture.model, "zero")}
    shared, full = SharedPasses(capture, changes, blocks), FullPasses(capture, changes)
    chosen = [blocks[len(blocks) // 2].places[-1], blocks[-1].places[0]]
    edits = [PlannedEdit("", HeadSet.of([(place.stack, HeadId(place.layer, 0))]), "zero") for place in chosen]

    def run() -> Tensor:
        output, _ = run_probe(capture.model)
        states: Tensor = output[0]
        return states

    expected = [full.edited(run, planned) for planned in edits]
    try:
        with shared.ready():
            plain = shared.untouched(run, run_probe(capture.model)[1])
            found = [shared.edited(run, planned) for planned in (*edits, *edits)]
    except (CaptureError, KeyError, IndexError, TypeError, RuntimeError):
        return False
    rounding = _ROUNDING.get(capture.model.dtype, _ROUNDING_IN_HALF) * max(1.0, float(plain.abs().amax()))
    return all(
        torch.allclose(ours, theirs, rtol=0, atol=rounding)
        for ours, theirs in zip(found, (*expected, *expected), strict=True)
    )
