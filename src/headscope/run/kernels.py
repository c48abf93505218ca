"""Whether the kernels may compute a model's attention: proved on a small batch against the model's own function."""

from importlib.util import find_spec

import torch
from torch import Tensor

from headscope.batches import AttentionBatch, Carried
from headscope.capture import AttentionCall
from headscope.capture.observe import is_edited
from headscope.measures.distance_features import window_sums
from headscope.measures.named_patterns import pattern_sums
from headscope.measures.reductions import class_mass, mean_entropy, near_diagonals
from headscope.models.stacks import Place
from headscope.run.watch import USED, Watch, sides_of
from headscope.text.items import TextPair

TEXTS = (
    TextPair("The cat sat, and the dog saw it. It sat.", "A cat, a dog."),
    TextPair("It sat.", "The dog."),
)
"""What both roads are shown: words that come again, commas and full stops, and padding in the second text."""

# What may differ: the model's own weights are rounded to its precision before they are summed.
_ROUNDING = {torch.float32: 1e-4}
_ROUNDING_IN_HALF = 3e-2


def kernels_note(watch: Watch, *, wanted: bool, faithful: bool) -> str:
    """`USED`, or why the kernels are not used for this model."""
    capture, model = watch.capture, watch.model
    reasons = {
        "switched off (--no-kernels)": not wanted,
        "published forms are computed from whole maps": faithful,
        f"the model runs on {model.device.type}": not _reaches(model.device),
        "triton is not installed": find_spec("triton") is None,
        f"the model runs in {str(model.dtype).removeprefix('torch.')}": model.dtype == torch.float64,
        "the architecture computes attention out of the hook's reach": not capture.hooked
        or bool(capture.sites),
        "a layer computes attention more than once": capture.repeats > 1,
        "the model is edited": is_edited(model.network),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), None)
    if reason is None:
        reason = _disagreement(watch)
    return USED if reason is None else f"not used: {reason}"


def _reaches(device: torch.device) -> bool:
    """Whether kernels run there."""
    return device.type == "cuda"


def _disagreement(watch: Watch) -> str | None:
    """Where the kernel and the model's own function differ on a small batch; None where they agree."""
    differing: list[str] = []
    encoder = watch.encoder(min(64, watch.model.max_length or 64))
    batch = watch.batch([encoder.encode(pair) for pair in TEXTS])

    def look(place: Place, call: AttentionCall) -> None:
        if differing:
            return
        queries, keys = sides_of(batch, place.stack)
        carrier = watch.carrier
        carried = None if carrier is None else carrier.carried(place, call.value, call.output)
        own = AttentionBatch.observed(place.layer, call.weights, queries, keys, carried)
        other = watch.fuse(place, call.inputs, batch)
        real = queries.is_token[:, :, None, None]
        outputs = (call.output * real, other.call.output * real)
        rounding = _ROUNDING.get(call.output.dtype, _ROUNDING_IN_HALF)
        for name, mine, theirs in (("output", *outputs), *_sums(own, other, place, carried)):
            apart = float(
                (mine.float() - theirs.float()).abs().amax() / mine.float().abs().amax().clamp_min(1)
            )
            if not apart <= rounding:
                differing.append(f"{name} of layer {place.layer} of the {place.stack} differs by {apart:.1e}")
                return

    try:
        watch.run_calls(batch, look)
    except Exception as error:  # a compiler, a driver, an architecture: the model's own road goes on
        return f"the kernel does not run here ({type(error).__name__}: {str(error).splitlines()[0][:120]})"
    return differing[0] if differing else None


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
