"""Whether kernels may compute a model's attention: only where they give what the model's own function gives.

On a small batch, layer by layer, outputs, maps, rows and every reduction that kernels compute are compared.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec

import torch
from torch import Tensor

from headscope import kernels
from headscope.attention import ChosenRows, LayerAttention, TokenBatch, Weighting
from headscope.kernels.batch import ANSWERED, FusedStack
from headscope.kernels.cpu.loops import why_not_compiled
from headscope.reductions import in_plain_torch
from headscope.text.items import TextPair
from headscope.trace import AttentionCall
from headscope.trace.architecture import Place
from headscope.trace.call import AttentionInputs
from headscope.trace.observe import is_edited, own_attention
from headscope.trace.watch import USED, Watch, sides_of

TEXTS = (
    TextPair(
        "The cat sat, and the dog saw it. It sat. Then the dog ran to the cat, and the cat, which saw it, ran too.",
        "A cat, a dog. The dog saw the cat, and the cat the dog.",
    ),
    TextPair("It sat.", "The dog."),
)
"""Words that come again, commas and full stops, more queries than are sampled, and padding in the second text."""
MOST_TOKENS = 40

# What may differ: the model's own weights are rounded to its precision before they are summed. Single weights differ
# more than sums of them: what rounds a score of 10 by one part in 100,000 changes its weight by one in 10,000.
_ROUNDING = {torch.float32: 1e-4}
_ROUNDING_OF_WEIGHTS = {torch.float32: 1e-3}
_ROUNDING_IN_HALF = 3e-2

LOUDER = 30.0
"""How much longer queries are made to see whether scores are capped."""
SHARPER = "sharper output"


def choose_kernels(watch: Watch, *, wanted: bool, faithful: bool) -> None:
    """Let kernels compute attention where they give what the model's own function gives; `watch.kernels` says why not.

    A reduction that differs is computed from the maps of each layer instead, and the note names it.
    """
    capture, model = watch.capture, watch.model
    reasons = {
        "switched off (--no-kernels)": not wanted,
        "published forms are computed from whole maps": faithful,
        "the architecture computes attention out of the hook's reach": not capture.hooked
        or bool(capture.sites),
        "a layer computes attention more than once": capture.repeats > 1,
        "the model is edited": is_edited(model.network),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), None)
    reason = reason or _out_of_reach(model.device, model.dtype)
    if reason is None:
        verification = Verification(watch)
        reason = verification.reason
        watch.answered = ANSWERED - verification.differing.keys()
    if reason is not None:
        watch.kernels, watch.answered = f"not used: {reason}", None
        return
    watch.kernels = USED
    if verification.differing:
        others = (f"{reduction.__name__} ({how})" for reduction, how in verification.differing.items())
        watch.kernels += f", but not for {', '.join(others)}"


def _out_of_reach(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why kernels do not run there, or not in that precision."""
    if device.type not in ("cpu", "cuda"):
        return f"the model runs on {device.type}"
    if dtype == torch.float64 or (device.type == "cpu" and dtype != torch.float32):
        return f"the model runs in {str(dtype).removeprefix('torch.')} on {device.type}"
    if device.type == "cpu":
        return why_not_compiled()
    if device.type == "cuda" and find_spec("triton") is None:
        return "Triton is not installed (pip install triton)"
    return None


class Verification:
    """What kernels give on a small batch, beside what the model's own function gives, layer by layer."""

    def __init__(self, watch: Watch) -> None:
        self.reason: str | None = None
        """Why no kernel is used: outputs, maps or rows differ, or the kernels do not run here."""
        self.differing: dict[Callable[[LayerAttention], Tensor], str] = {}
        """The reductions that differ, and by how much."""
        self._watch = watch
        encoder = watch.encoder(min(MOST_TOKENS, watch.model.max_length or MOST_TOKENS))
        self._batch = watch.batch([encoder.encode(pair) for pair in TEXTS])
        try:
            watch.run_calls(self._batch, self._look)
        except Exception as error:  # a compiler, a driver, an architecture: the model's own function goes on
            first_line = str(error).splitlines()[0][:120]
            self.reason = f"the kernel does not run here ({type(error).__name__}: {first_line})"

    def _look(self, place: Place, call: AttentionCall) -> None:
        """Compare one layer."""
        if self.reason is not None:
            return
        where = f"layer {place.layer} of the {place.stack}"
        if call.unknown_options:
            self.reason = f"{where} is given {', '.join(call.unknown_options)}, which kernels do not know"
            return
        watch, (queries, keys) = self._watch, sides_of(self._batch, place.stack)
        carrier = watch.carrier
        carried = None if carrier is None else carrier.carried(place, call.value, call.output)
        observed = LayerAttention.observed(place.layer, call.weights, queries, keys, carried)
        own: dict[Weighting, LayerAttention] = {"attention": in_plain_torch(observed)}
        if carried is not None:
            own["value"] = in_plain_torch(observed.moved)
        rows = {
            weighting: ChosenRows(queries.derive(_every_third), None, moved=weighting == "value")
            for weighting in own
        }
        stack = self._one_layer(place, tuple(rows.values()))
        asked = watch.asked(place, call.value, moved=carried is not None)
        fused = stack.attend(0, call.inputs, asked)
        maps = stack.layer(0, fused, carried).attention
        real = queries.is_token[:, :, None, None]
        compared = {
            "output": (call.output * real, fused.output * real),
            SHARPER: self._louder(place, call.inputs),
            "attention": (own["attention"].attention, maps),
        }
        for weighting, some in rows.items():
            is_real = queries.is_token.gather(1, some.places)[:, None, :, None]
            theirs = stack.rows_of(some)
            assert isinstance(theirs, Tensor)
            name = f"{weighting} of some queries"
            compared[name] = (own[weighting].rows(some.places) * is_real, theirs * is_real)
        for name, (mine, other) in compared.items():
            digits = torch.float32 if name == SHARPER else call.output.dtype
            allowed = _ROUNDING if name in ("output", SHARPER) else _ROUNDING_OF_WEIGHTS
            if (apart := _apart(mine, other, allowed.get(digits, _ROUNDING_IN_HALF))) is not None:
                self.reason = f"{name} of {where} differs by {apart:.1e}"
                return
        for weighting, layer in own.items():
            for reduction, values in stack.reduced(weighting).items():
                allowed_here = _ROUNDING.get(call.output.dtype, _ROUNDING_IN_HALF)
                apart = _apart(layer.reduce(reduction), values[:, 0], allowed_here)
                if apart is not None:
                    self.differing.setdefault(reduction, f"{where} differs by {apart:.1e}")

    def _one_layer(self, place: Place, rows: Sequence[ChosenRows] = ()) -> FusedStack:
        """Room for one layer, as if it were a stack of its own, that is worked on in several blocks."""
        grid = replace(self._watch.capture.stacks.grid(place.stack), layers=1)
        stack = kernels.stack_for(self._watch.model.device)(grid, sides_of(self._batch, place.stack), rows)
        stack.scores_together = 1
        return stack

    def _louder(self, place: Place, inputs: AttentionInputs) -> tuple[Tensor, Tensor]:
        """The output for queries so much longer that a soft cap or a sink that nobody told of would show."""
        # In float32: half precision rounds such scores by more than a cap would change.
        inputs = replace(
            inputs,
            query=inputs.query.float() * LOUDER,
            key=inputs.key.float(),
            value=inputs.value.float(),
            mask=None if inputs.mask is None else inputs.mask.float(),
            position_bias=None if inputs.position_bias is None else inputs.position_bias.float(),
        )
        given = {
            "scaling": inputs.scaling,
            "softcap": inputs.soft_cap,
            "position_bias": inputs.position_bias,
            "s_aux": inputs.sinks,
        }
        known = {name: value for name, value in given.items() if value is not None}
        own = own_attention(type(inputs.module))
        output, _ = own(inputs.module, inputs.query, inputs.key, inputs.value, inputs.mask, **known)
        real = sides_of(self._batch, place.stack)[0].is_token[:, :, None, None]
        return output * real, self._one_layer(place).attend(0, inputs).output * real


def _every_third(tokens: TokenBatch) -> Tensor:
    """(text, row) the places of every third query."""
    places = torch.arange(0, tokens.ids.shape[1], 3, device=tokens.ids.device)
    return places.repeat(len(tokens.ids), 1)


def _apart(mine: Tensor, other: Tensor, allowed: float) -> float | None:
    """How far two results are apart, relative to the larger of 1 and the largest; None where that is `allowed`."""
    here = ~mine.isnan()  # what the model itself does not give, as where the residual stream is not seen
    mine, other = mine.float(), other.float()
    apart = (
        float((mine - other)[here].abs().amax() / mine[here].abs().amax().clamp_min(1)) if here.any() else 0.0
    )
    return None if apart <= allowed else apart
