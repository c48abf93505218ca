"""Learning what stacks, layers and heads a model has by watching it on a short probe, and whether to trust it."""

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from headscope.capture.follow import Capture, Inputs, run_calls
from headscope.capture.inputs import padding_token
from headscope.capture.observe import can_watch, returned_attention, watching, without_edits
from headscope.errors import CaptureError, HeadscopeError, ModelError
from headscope.models.model import Model
from headscope.models.stacks import Call, Place, Stacks, sort_calls
from headscope.models.towers import tower_advice
from headscope.text.encode import special_ids

# Two lengths that no head count or hidden size is mistaken for, and that differ from each other.
_SOURCE, _TARGET = 7, 5

# What rounding may do to the weights of a probe (we saw 1e-6 in float32).
_ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-4}
_ROUNDING_IN_HALF = 1e-2


# Without the model in it, which would keep itself alive.
_surveyed: WeakKeyDictionary[Model, tuple[Stacks, bool, bool]] = WeakKeyDictionary()


def surveyed(model: Model) -> Capture:
    """`survey(model)`, done once for each model."""
    if model not in _surveyed:
        capture = survey(model)
        _surveyed[model] = (capture.stacks, capture.hooked, capture.pads)
    return Capture(model, *_surveyed[model])


def survey(model: Model) -> Capture:
    """Watch a short forward pass to learn what stacks, layers and heads the model has, and whether to trust it.

    Edits that are in force are left out of it: a head that looks nowhere would seem to look ahead nowhere too.
    """
    with without_edits():
        return _survey(model)


def _survey(model: Model) -> Capture:
    hooked = can_watch(model.core)
    both = probe_inputs(model, [(_SOURCE, _TARGET), (_SOURCE - 2, _TARGET - 2)])
    maps = _maps(model, both, hooked=hooked)
    if hooked and not maps:  # the name was accepted and never used
        hooked = False
        maps = _maps(model, both, hooked=False)
    if not maps:
        advice = tower_advice(model.network)
        raise ModelError(f"{model.name} ({model.architecture}) has no attention that can be observed{advice}")
    target = _TARGET if model.is_encoder_decoder else None
    stacks = sort_calls([_call(weights) for weights in maps], source=_SOURCE, target=target)
    alone = _maps(model, probe_inputs(model, [(_SOURCE - 2, _TARGET - 2)]), hooked=hooked)
    pads = check_probe(model, maps, alone)
    capture = Capture(model, stacks, hooked, pads)
    capture.look_through(both, maps, lambda place, weights: None)
    return capture


def check_probe(model: Model, maps: list[Tensor], alone: list[Tensor]) -> bool:
    """Whether a text gives the same attention padded as alone; raises if what was seen cannot be attention.

    `maps` are (2, head, query, key), the second text padded; `alone` are the second text by itself.
    """
    same = True
    rounding = _ROUNDING.get(model.dtype, _ROUNDING_IN_HALF)
    for weights, single in zip(maps, alone, strict=True):
        queries, keys = single.shape[2:]
        short = weights[1, :, :queries]
        if (weights[0] < 0).any() or (weights[0].sum(-1) > 1 + rounding).any():
            raise CaptureError(
                f"{model.name} ({model.architecture}) returns something that is not attention weights (negative, or "
                "more than 1 in all); headscope cannot use it"
            )
        if (short[..., keys:] > rounding).any():
            raise CaptureError(
                f"{model.name} ({model.architecture}) attends to padding; headscope cannot use it"
            )
        same = same and torch.allclose(short[..., :keys].float(), single[0].float(), atol=rounding)
    return same


def _call(weights: Tensor) -> Call:
    _, heads, queries, keys = weights.shape
    return Call(queries, keys, heads, causal=queries == keys and not bool(weights[0].triu(1).any()))


def _maps(model: Model, inputs: Inputs, *, hooked: bool) -> list[Tensor]:
    """Every attention map of one forward pass, in order."""
    maps: list[Tensor] = []
    try:
        if hooked:
            with watching(model.core, maps.append), torch.inference_mode():
                model.core(**inputs, **model.no_cache)
        else:
            maps = returned_attention(model.core, {**inputs, **model.no_cache})
    except HeadscopeError:
        raise
    except Exception as error:
        advice = tower_advice(model.network)
        reason = advice or f": {(str(error).splitlines() or [type(error).__name__])[0]}"
        raise ModelError(
            f"{model.name} ({model.architecture}) cannot be run on text alone{reason}"
        ) from error
    for weights in maps:
        if weights.dim() != 4:
            raise CaptureError(
                f"{model.name}: attention of shape {tuple(weights.shape)} is not (text, head, query, key)"
            )
    return maps


def attention_modules(capture: Capture) -> dict[Place, str]:
    """The name in the core of the module that computes each layer's attention; where the hook reaches it."""
    names = {module: name for name, module in capture.model.core.named_modules()}
    modules: dict[Place, str] = {}
    inputs = longest_probe(capture.model)
    run_calls(capture, inputs, lambda place, call: modules.update({place: names[call.module]}))
    return modules


def longest_probe(model: Model) -> dict[str, Tensor]:
    """The one short text, without padding."""
    return probe_inputs(model, [(_SOURCE, _TARGET)])


def probe_inputs(model: Model, lengths: list[tuple[int, int]]) -> dict[str, Tensor]:
    """A batch of ordinary tokens, padded to the first text, of (source, target) lengths."""
    special = special_ids(model.tokenizer)
    known = min(len(model.tokenizer), model.vocabulary or len(model.tokenizer), 1000)
    plain = [token for token in range(known) if token not in special]
    pad = padding_token(model)

    def padded_rows(sizes: list[int]) -> tuple[Tensor, Tensor]:
        rows = [(plain * size)[:size] + [pad] * (sizes[0] - size) for size in sizes]
        mask = [[1] * size + [0] * (sizes[0] - size) for size in sizes]
        return torch.tensor(rows, device=model.device), torch.tensor(mask, device=model.device)

    ids, mask = padded_rows([source for source, _ in lengths])
    inputs = {"input_ids": ids, "attention_mask": mask}
    if model.is_encoder_decoder:
        ids, mask = padded_rows([target for _, target in lengths])
        inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
    return inputs
