"""From the residual stream to the output scores: the final norm with frozen statistics, then the unembedding.

What a head writes reaches the scores along a straight path only where its output is added to a stream that nothing
rescales before the final norm. Both are proved by watching one short pass; where they do not hold, the model is
refused in words.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn

from headscope.errors import CaptureError
from headscope.trace import Capture, run_calls
from headscope.trace.architecture import Place
from headscope.trace.hooks import hooked
from headscope.trace.observe import evaluating, without_edits
from headscope.trace.output_projection import OutputProjection, output_projections
from headscope.trace.probing import longest_probe

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
    directions: Tensor = field(init=False)
    """(token, hidden) what a number in the stream adds to a token's score."""

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

    with (
        hooked([last.register_forward_pre_hook(lambda module, args: given.append(args[0]))]),
        hooked(module.register_forward_hook(watch) for module in model.core.modules()),
        evaluating(model.network),
        torch.inference_mode(),
        without_edits(),
    ):
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


@dataclass(frozen=True)
class StraightPaths:
    """The ways of one model from its heads to its output scores, along which nothing rescales what they write."""

    capture: Capture
    readout: Readout
    projections: dict[Place, OutputProjection]
    """Of every layer the output projection, whose output is added to the stream."""

    @classmethod
    def of(cls, capture: Capture) -> Self:
        """Those of a model with a language-modelling head; CaptureError, in words, where there are none."""
        readout = find_readout(capture)
        return cls(capture, readout, _added(capture, readout))

    @property
    def embedding(self) -> Tensor | None:
        """(token, hidden) the model's input embeddings; None where they do not fit the unembedding."""
        table = self.capture.model.network.get_input_embeddings()
        if not isinstance(table, nn.Embedding) or table.weight.shape != self.readout.unembedding.shape:
            return None
        return table.weight.detach().float()


def _added(capture: Capture, readout: Readout) -> dict[Place, OutputProjection]:
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

    def attend(module: nn.Module, arguments: tuple[Any, ...], output: Tensor) -> None:
        attended[module] = output.float()

    befores = [projection.residual for projection in projections.values()]
    with (
        hooked(
            module.register_forward_pre_hook(keep)
            for module in (*befores, readout.norm)
            if module is not None
        ),
        hooked(projection.module.register_forward_hook(attend) for projection in projections.values()),
        hooked(module.register_forward_hook(watch) for module in capture.model.core.modules()),
        without_edits(),
    ):
        run_calls(capture, longest_probe(capture.model), lambda place, call: None)
    for (place, projection), after in zip(projections.items(), [*befores[1:], readout.norm], strict=True):
        before, written = projection.residual, attended[projection.module]
        if before is None or after is None or not _adds_up(streams, written, outputs, before, after):
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
