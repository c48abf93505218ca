"""Whether the kernels may compute a model's attention: proved on a small batch against the model's own function."""

from dataclasses import replace
from importlib.util import find_spec

import torch
from torch import Tensor

from headscope.attention import AttentionBatch, Carried
from headscope.kernels.cpu.loops import why_not_compiled
from headscope.reductions import (
    class_mass,
    mean_entropy,
    near_diagonals,
    pattern_sums,
    window_sums,
)
from headscope.text.batching import TextBatch
from headscope.text.items import TextPair
from headscope.trace import AttentionCall
from headscope.trace.architecture import Place
from headscope.trace.call import AttentionInputs
from headscope.trace.observe import is_edited, own_attention
from headscope.trace.watch import USED, Watch, sides_of

TEXTS = (
    TextPair("The cat sat, and the dog saw it. It sat.", "A cat, a dog."),
    TextPair("It sat.", "The dog."),
)
"""What both roads are shown: words that come again, commas and full stops, and padding in the second text."""

# What may differ: the model's own weights are rounded to its precision before they are summed.
_ROUNDING = {torch.float32: 1e-4}
_ROUNDING_IN_HALF = 3e-2

LOUDER = 30.0
"""How much longer queries are made to see whether scores are capped."""
SHARPER = "sharper output"


def kernels_note(watch: Watch, *, wanted: bool, faithful: bool) -> str:
    """`USED`, or why the kernels are not used for this model."""
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
    reason = reason or _out_of_reach(model.device, model.dtype) or _disagreement(watch)
    return USED if reason is None else f"not used: {reason}"


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


def _disagreement(watch: Watch) -> str | None:
    """Where the kernel and the model's own function differ on a small batch; None where they agree."""
    differing: list[str] = []
    encoder = watch.encoder(min(64, watch.model.max_length or 64))
    batch = watch.batch([encoder.encode(pair) for pair in TEXTS])

    def look(place: Place, call: AttentionCall) -> None:
        if differing:
            return
        where = f"layer {place.layer} of the {place.stack}"
        if call.unknown_options:
            differing.append(f"{where} is given {', '.join(call.unknown_options)}, which kernels do not know")
            return
        queries, keys = sides_of(batch, place.stack)
        carrier = watch.carrier
        carried = None if carrier is None else carrier.carried(place, call.value, call.output)
        own = AttentionBatch.observed(place.layer, call.weights, queries, keys, carried)
        other = watch.fuse(place, call.inputs, batch)
        real = queries.is_token[:, :, None, None]
        outputs = (call.output * real, other.call.output * real)
        louder = _louder(watch, place, call.inputs, batch)
        compared = (("output", *outputs), (SHARPER, *louder), *_sums(own, other, place, carried))
        for name, mine, theirs in compared:
            apart = float(
                (mine.float() - theirs.float()).abs().amax() / mine.float().abs().amax().clamp_min(1)
            )
            digits = torch.float32 if name == SHARPER else call.output.dtype
            if not apart <= _ROUNDING.get(digits, _ROUNDING_IN_HALF):
                differing.append(f"{name} of {where} differs by {apart:.1e}")
                return

    try:
        watch.run_calls(batch, look)
    except Exception as error:  # a compiler, a driver, an architecture: the model's own road goes on
        return f"the kernel does not run here ({type(error).__name__}: {str(error).splitlines()[0][:120]})"
    return differing[0] if differing else None


def _louder(watch: Watch, place: Place, inputs: AttentionInputs, batch: TextBatch) -> tuple[Tensor, Tensor]:
    """The output by both roads of queries so much longer that a soft cap or a sink that nobody told of would show."""
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
    own = own_attention(type(inputs.module))
    known = {name: value for name, value in given.items() if value is not None}
    output, _ = own(inputs.module, inputs.query, inputs.key, inputs.value, inputs.mask, **known)
    real = sides_of(batch, place.stack)[0].is_token[:, :, None, None]
    return output * real, watch.fused_stack(place.stack, batch).attend(place.layer, inputs).output * real


def _sums(
    own: AttentionBatch, other: AttentionBatch, place: Place, carried: Carried | None
) -> list[tuple[str, Tensor, Tensor]]:
    """Every reduction by both roads, with its name."""
    reductions = [class_mass, mean_entropy]
    if place.stack != "cross":
        reductions += [near_diagonals, window_sums, pattern_sums]
    ways = [("", own, other)] + ([("moved ", own.moved, other.moved)] if carried else [])
    return [
        (f"{way}{reduction.__name__}", mine.reduce(reduction), theirs.reduce(reduction))
        for way, mine, theirs in ways
        for reduction in reductions
    ]
