"""From the residual stream to the output scores: the final norm with frozen statistics, then the unembedding.

What a head writes reaches the scores along a straight path only where its output is added to a stream that nothing
rescales before the final norm. Both are proved by watching one short pass; where they do not hold, the model is
refused in words.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from headscope.capture import Capture, run_calls
from headscope.capture.observe import evaluating, without_edits
from headscope.capture.probing import longest_probe
from headscope.capture.projection import OutputProjection, output_projections
from headscope.errors import CaptureError
from headscope.models.stacks import Place

_ROUNDING = 1e-4
"""What rounding may do to a sum, as a share of its largest number."""


@dataclass(frozen=True)
class Readout:
    """How the residual stream becomes output scores: (x - mean x) / spread * gain + shift, times the unembedding."""

    norm: nn.Module
    is_centred: bool
    """Whether the mean over the stream's numbers is taken off: LayerNorm does, RMSNorm does not."""
    epsilon: float
    gain: Tensor  # (hidden,)
    shift: Tensor | None  # (hidden,)
    unembedding: Tensor  # (token, hidden)
    bias: Tensor | None  # (token,)
    directions: Tensor = field(
        init=False
    )  # (token, hidden) what a number in the stream adds to a token's score

    def __post_init__(self) -> None:
        directions = (self.unembedding - self.unembedding.mean(0)) * self.gain  # centred over the vocabulary
        if self.is_centred:
            directions = directions - directions.mean(-1, keepdim=True)
        object.__setattr__(self, "directions", directions)

    def scale(self, stream: Tensor) -> Tensor:
        """(…, 1) what the norm multiplies a stream (…, hidden) by."""
        centred = stream - stream.mean(-1, keepdim=True) if self.is_centred else stream
        return (centred.square().mean(-1, keepdim=True) + self.epsilon).rsqrt()

    def normed(self, stream: Tensor) -> Tensor:
        """(…, hidden) what the norm makes of a stream."""
        centred = stream - stream.mean(-1, keepdim=True) if self.is_centred else stream
        normed = centred * self.scale(stream) * self.gain
        return normed if self.shift is None else normed + self.shift


def find_readout(capture: Capture) -> Readout:
    """The readout of a model with a language-modelling head; CaptureError, in words, where it is no straight path."""
    model = capture.model
    name = f"{model.name} ({model.architecture})"
    network: Any = model.network  # transformers gives this method no types
    last = network.get_output_embeddings()
    if not isinstance(last, nn.Linear):
        raise CaptureError(f"{name} has no unembedding that turns its last layer into logits")
    given: list[Tensor] = []
    made: list[tuple[nn.Module, Tensor, Tensor]] = []

    def watch(module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        if arguments and isinstance(arguments[0], Tensor) and isinstance(output, Tensor):
            made.append((module, arguments[0], output))

    with ExitStack() as hooks, evaluating(model.network), torch.inference_mode(), without_edits():
        hooks.callback(last.register_forward_pre_hook(lambda module, args: given.append(args[0])).remove)
        for module in model.core.modules():
            hooks.callback(module.register_forward_hook(watch).remove)
        logits = model.network(**longest_probe(model), **model.no_cache).logits
    weight = last.weight.detach().float()
    bias = None if last.bias is None else last.bias.detach().float()
    scores = given[-1].float() @ weight.T + (0 if bias is None else bias)
    if scores.shape != logits.shape or not _equal(scores, logits):
        raise CaptureError(
            f"{name} changes its logits after the unembedding, so no head has a direct effect on them"
        )
    for module, stream, output in reversed(made):
        readout = _norm(module, stream, output, weight, bias) if torch.equal(output, given[-1]) else None
        if readout is not None:
            return readout
    raise CaptureError(
        f"{name} computes its logits through more than a final norm (such as a masked-language-model head), so no head "
        "has a direct effect on them"
    )


def _norm(
    module: nn.Module, stream: Tensor, output: Tensor, unembedding: Tensor, bias: Tensor | None
) -> Readout | None:
    """The norm as a readout, if it is a LayerNorm or RMSNorm in one of their usual forms."""
    weight, shift = getattr(module, "weight", None), getattr(module, "bias", None)
    epsilon = next(
        (getattr(module, name) for name in ("eps", "variance_epsilon", "epsilon") if hasattr(module, name)),
        None,
    )
    if not isinstance(weight, Tensor) or epsilon is None or weight.shape != stream.shape[-1:]:
        return None
    shift = shift.detach().float() if isinstance(shift, Tensor) else None
    for is_centred in (True, False):
        for gain in (weight, 1 + weight):  # Gemma keeps its gain less 1
            readout = Readout(
                module, is_centred, float(epsilon), gain.detach().float(), shift, unembedding, bias
            )
            if _equal(readout.normed(stream.float()), output):
                return readout
    return None


def straight_paths(capture: Capture, readout: Readout) -> dict[Place, OutputProjection]:
    """The output projection of every layer, whose output is proved to be added to a stream that nothing rescales.

    Between one layer's stream and the next one's, all that is added must be the attention output and what one other
    module gave (the feed-forward part).
    """
    projections = output_projections(capture)
    streams: dict[nn.Module, Tensor] = {}
    attended: dict[nn.Module, Tensor] = {}
    outputs: list[Tensor] = []

    def keep(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        streams[module] = arguments[0].float()

    def watch(module: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor):
            outputs.append(output.float())

    with ExitStack() as hooks, without_edits():
        for projection in projections.values():
            if projection.residual is not None:
                hooks.callback(projection.residual.register_forward_pre_hook(keep).remove)
            hooks.callback(
                projection.module.register_forward_hook(
                    lambda module, args, made: attended.update({module: made.float()})
                ).remove
            )
        hooks.callback(readout.norm.register_forward_pre_hook(keep).remove)
        for module in capture.model.core.modules():
            hooks.callback(module.register_forward_hook(watch).remove)
        run_calls(capture, longest_probe(capture.model), lambda place, call: None)
    places = list(projections)
    for place, after in zip(
        places, [*(projections[later].residual for later in places[1:]), readout.norm], strict=True
    ):
        before = projections[place].residual
        if (
            before is None
            or after is None
            or not _adds_up(streams, attended[projections[place].module], outputs, before, after)
        ):
            raise CaptureError(
                f"{capture.model.name} ({capture.model.architecture}): what layer {place.layer} writes is rescaled "
                "before it reaches the output (a norm after the attention, or a layer of another form), so its heads "
                "have no direct effect on the logits; headscope ablate measures what is lost without them"
            )
    return projections


def _adds_up(
    streams: dict[nn.Module, Tensor],
    attended: Tensor,
    outputs: list[Tensor],
    before: nn.Module,
    after: nn.Module,
) -> bool:
    rest = streams[after] - streams[before] - attended
    return any(output.shape == rest.shape and _equal(output, rest, like=streams[after]) for output in outputs)


def _equal(first: Tensor, second: Tensor, *, like: Tensor | None = None) -> bool:
    second = second.float()
    size = float((second if like is None else like).abs().amax())
    return torch.allclose(first, second, rtol=0, atol=_ROUNDING * size)


@contextmanager
def watching_streams(
    paths: dict[Place, OutputProjection], readout: Readout
) -> Iterator[dict[Place | None, Tensor]]:
    """Inside, the residual stream (text, token, hidden) before each layer and, under None, before the final norm."""
    streams: dict[Place | None, Tensor] = {}
    with ExitStack() as hooks:
        modules: dict[Place | None, nn.Module | None] = {
            place: path.residual for place, path in paths.items()
        }
        for place, module in {**modules, None: readout.norm}.items():
            assert module is not None

            def keep(_: nn.Module, arguments: tuple[Any, ...], place: Place | None = place) -> None:
                streams[place] = arguments[0]

            hooks.callback(module.register_forward_pre_hook(keep).remove)
        yield streams
