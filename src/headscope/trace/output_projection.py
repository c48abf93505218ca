"""The output projection: the linear map that a layer's attention output goes through, found by watching.

Names lie here too (`dense`, `o`, `c_proj`, `out_lin`, …), so a short forward pass is watched instead: the module that
is given the attention output of a call, as it is, and answers with a linear map of it. What is found is proved on that
pass: the sum over heads of what each gives, and the bias, is what the module gave.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.attention import Carried
from headscope.errors import CaptureError, OptionError
from headscope.models.model import Model
from headscope.trace.architecture import Place
from headscope.trace.call import AttentionCall
from headscope.trace.follow import Capture, check_single, run_calls
from headscope.trace.observe import without_edits
from headscope.trace.probing import longest_probe
from headscope.types import WeighedBy, check_weighed_by

# What rounding may do to a sum over heads, as a share of its largest number.
_ROUNDING = {torch.float64: 1e-9, torch.float32: 1e-5}
_ROUNDING_IN_HALF = 3e-2


@dataclass(frozen=True)
class OutputProjection:
    """Where a layer's output projection is, and where the residual stream can be seen that its output is added to."""

    module: nn.Module
    residual: nn.Module | None
    """The last module before the attention call whose input is that stream; None where the output is not just added."""

    def matrix(self, heads: int, width: int) -> tuple[Tensor, Tensor | None]:
        """(head, dim, hidden) the part of the map that belongs to each head; (hidden,) the bias, which is no head's."""
        weight, bias = _affine(self.module, heads * width)
        return weight.view(heads, width, -1), bias


def _affine(module: nn.Module, width: int) -> tuple[Tensor, Tensor | None]:
    """(width, hidden) and (hidden,): read off where they stand, and by asking where they do not (adapters, 8 bits)."""
    own = type(module).forward in (nn.Linear.forward, Conv1D.forward)
    if isinstance(module, nn.Linear | Conv1D) and own and not module.weight.is_meta:
        weight, bias = module.weight.detach(), module.bias
        weight = weight.T if isinstance(module, nn.Linear) else weight
        return weight.float() if weight.itemsize < 4 else weight, None if bias is None else bias.detach()
    like = next(module.parameters())
    device = like.device if like.device.type != "meta" else torch.device("cpu")
    dtype = like.dtype if like.is_floating_point() else torch.float32
    with torch.no_grad():
        asked = torch.cat([torch.zeros(1, width), torch.eye(width)]).to(device, dtype)
        answers = module(asked[None])[0]
    return (answers[1:] - answers[:1]).float(), answers[0]


@dataclass
class _Layer:
    """What was seen of one layer of the probe."""

    place: Place
    call: AttentionCall
    before: list[tuple[nn.Module, Tensor]]
    """The inputs of modules that ran since the layer before, up to the attention call."""
    fed: list[tuple[nn.Module, Tensor]] = field(default_factory=list)
    """The modules that were given the attention output, and what they made of it."""
    after: list[Tensor] = field(default_factory=list)
    """The inputs of modules that ran after that, up to the next layer's call."""


_found: WeakKeyDictionary[Model, dict[Place, OutputProjection] | str] = WeakKeyDictionary()


def output_projections(capture: Capture) -> dict[Place, OutputProjection]:
    """The output projection of every layer; CaptureError, in words, where that of one cannot be found. Done once."""
    model = capture.model
    if not capture.hooked:
        raise CaptureError(
            f"{model.name} ({model.architecture}) shows its attention weights but not its values, so headscope can "
            "tell where its heads look, not what they move"
        )
    check_single(capture)
    if model not in _found:
        try:
            with without_edits():
                _found[model] = _find(capture)
        except CaptureError as error:
            _found[model] = str(error)
    found = _found[model]
    if isinstance(found, str):
        raise CaptureError(found)
    return found


def _find(capture: Capture) -> dict[Place, OutputProjection]:
    name = f"{capture.model.name} ({capture.model.architecture})"
    return {layer.place: _projection(name, layer, capture) for layer in _watched(capture)}


def _projection(name: str, layer: _Layer, capture: Capture) -> OutputProjection:
    where = f"layer {layer.place.layer} of the {layer.place.stack}"
    call = layer.call
    every = torch.arange(call.weights.shape[1], device=call.weights.device)
    try:
        call.check(every)
    except CaptureError as error:
        raise CaptureError(
            f"{name}: headscope can tell where heads look, not what they move: in {where} {error}"
        ) from error
    for module, made in layer.fed:
        if not _proves(module, call, made):
            continue
        residual = next(
            (part for part, given in reversed(layer.before) if _is_added(given, made, layer.after)), None
        )
        return OutputProjection(module, residual)
    named = capture.model.adapter.output_projection(call.module)
    if named is not None:
        return OutputProjection(named, None)
    raise CaptureError(
        f"{name}: the attention output of {where} does not go straight into a linear map, so headscope can tell where "
        "its heads look, not what they move"
    )


def _proves(module: nn.Module, call: AttentionCall, made: Tensor) -> bool:
    """Whether the heads' parts of the map, and its bias, add up to what the module made."""
    texts, queries, heads, width = call.output.shape
    if made.shape[:2] != (texts, queries):
        return False
    try:
        matrix, bias = OutputProjection(module, None).matrix(heads, width)
    except (RuntimeError, TypeError, IndexError, StopIteration, AttributeError):  # it takes something else
        return False
    parts = call.output.transpose(1, 2).to(matrix.dtype) @ matrix  # (text, head, query, hidden)
    total = parts.sum(1) if bias is None else parts.sum(1) + bias.to(matrix.dtype)
    return total.shape == made.shape and _equal(total, made)


def _equal(first: Tensor, second: Tensor) -> bool:
    rounding = _ROUNDING.get(second.dtype, _ROUNDING_IN_HALF) * float(second.abs().amax())
    return torch.allclose(first.to(second.dtype), second, rtol=0, atol=rounding)


def _is_added(stream: Tensor, made: Tensor, after: list[Tensor]) -> bool:
    """Whether a module was given the sum of both next."""
    if stream.shape != made.shape:
        return False
    both = stream + made
    return any(given.shape == both.shape and _equal(both, given) for given in after)


def _watched(capture: Capture) -> list[_Layer]:
    """One forward pass over a short text, with every module's input in view."""
    layers: list[_Layer] = []
    inputs: list[tuple[nn.Module, Tensor]] = []

    def enter(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        if not arguments or not isinstance(arguments[0], Tensor):
            return
        inputs.append((module, arguments[0]))
        if layers:
            layers[-1].after.append(arguments[0])

    def leave(module: nn.Module, arguments: tuple[Any, ...], made: Any) -> None:
        alone = len(arguments) == 1 and isinstance(arguments[0], Tensor) and isinstance(made, Tensor)
        if layers and alone and _is_output(arguments[0], layers[-1].call.output):
            layers[-1].fed.insert(0, (module, made))  # the outermost is left last, and asked first

    def see(place: Place, call: AttentionCall) -> None:
        layers.append(_Layer(place, call, list(inputs)))
        inputs.clear()

    with ExitStack() as hooks:
        for module in capture.model.core.modules():
            hooks.callback(module.register_forward_pre_hook(enter).remove)
            hooks.callback(module.register_forward_hook(leave).remove)
        run_calls(capture, longest_probe(capture.model), see)
    return layers


def _is_output(given: Tensor, output: Tensor) -> bool:
    """Whether a module was given the heads' outputs side by side."""
    texts, queries, heads, width = output.shape
    shapes = ((texts, queries, heads * width), (texts * queries, heads * width))
    return tuple(given.shape) in shapes and torch.equal(given.reshape(output.shape), output)


class Carrier:
    """Tells of a model's attention calls what their heads fetch and give."""

    def __init__(self, capture: Capture) -> None:
        """Raises CaptureError where an output projection cannot be found."""
        self._projections = output_projections(capture)
        self._heads = {grid.stack: grid.heads for grid in capture.stacks.grids}
        self._roots: dict[tuple[nn.Module, int], Tensor] = {}
        self._streams: dict[nn.Module, Tensor] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, the lengths of the residual stream are kept as it passes."""
        modules = {projection.residual for projection in self._projections.values()} - {None}

        def keep(module: nn.Module, arguments: tuple[Tensor, ...]) -> None:
            self._streams.clear()  # the layer before has been seen
            self._streams[module] = arguments[0]

        with ExitStack() as hooks:
            hooks.callback(self._streams.clear)
            for module in modules:
                assert module is not None
                hooks.callback(module.register_forward_pre_hook(keep).remove)
            yield

    def carried(self, place: Place, value: Tensor, output: Tensor) -> Carried:
        """What the heads fetch and give: from values (text, group, key, dim) to output (text, query, head, dim)."""
        return Carried(value, output, self.root(place, value), self.stream(place))

    def stream(self, place: Place) -> Tensor | None:
        """(text, query, hidden) the residual stream that a layer's heads add to; None where it is not seen."""
        module = self._projections[place].residual
        return None if module is None else self._streams.get(module)

    def let_go(self) -> None:
        """Hold the residual stream no longer: the layer's heads have been seen."""
        self._streams.clear()

    def root(self, place: Place, value: Tensor) -> Tensor:
        """(head, dim, rank) such that a vector times it is as long as what the projection makes of the vector.

        With W' = Q R, |v W| = |R v'|: a small product instead of one as wide as the model.
        """
        projection = self._projections[place]
        key = (projection.module, value.shape[-1])
        if key not in self._roots:
            matrix, _ = projection.matrix(self._heads[place.stack], value.shape[-1])
            root = torch.linalg.qr(matrix.float().mT, mode="r").R.mT.contiguous()
            self._roots[key] = root.to(value.device, torch.promote_types(value.dtype, torch.float32))
        return self._roots[key]


def carrier_for(capture: Capture, weigh: WeighedBy) -> Carrier | None:
    """What tells what heads move, where attention is weighed so; OptionError where it cannot be told."""
    check_weighed_by(weigh)
    if weigh == "looked":
        return None
    try:
        return Carrier(capture)
    except CaptureError as error:
        raise OptionError(f"{error}; leave out --weigh moved (weigh='moved')") from error
