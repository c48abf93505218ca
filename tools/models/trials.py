"""What is tried with each model type, and what came of it, beside the model's own maps and edits made by hand."""

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from tools.models.build import tiny_network, tokenizer
from torch import Tensor, nn
from transformers import PreTrainedModel

import headscope as hs
from headscope.errors import CaptureError, HeadscopeError, ModelError
from headscope.models import Model, wrap
from headscope.models.load import quiet_transformers
from headscope.models.towers import text_tower
from headscope.pages.neurons import read_neurons
from headscope.pages.seen import observe
from headscope.tasks import LanguageModelling, MaskedLanguageModelling, NextToken, has_head
from headscope.text.corpus import as_corpus
from headscope.trace import Capture, output_projections, surveyed
from headscope.trace.architecture import Place
from headscope.trace.probing import probe_inputs, state_of
from headscope.trace.watch import USED

ROUNDING = 1e-4
TEXTS = [
    "The cat sat on the mat. It was red!",
    "A dog saw it, and the house was blue.",
    "The cat of the house.",
]
LENGTHS = [(9, 6), (6, 4)]

Outcome = Literal["yes", "refused", "wrong", "crashed", ""]


@dataclass
class Row:
    """What came of one model type."""

    type: str
    road: str = ""
    stacks: str = ""
    maps: Outcome = ""
    edit: Outcome = ""
    ablate: Outcome = ""
    importance: Outcome = ""
    neurons: Outcome = ""
    explain: Outcome = ""
    analyze: Outcome = ""
    view: Outcome = ""
    notes: dict[str, str] = field(default_factory=dict)
    """Why, by what was tried."""

    def as_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


class WrongError(Exception):
    """headscope and the model itself do not agree."""


class NothingToTryError(Exception):
    """There is nothing to try, such as no head to predict tokens with."""


def tried(name: str) -> Row:
    """Build a model type and try everything with it."""
    row = Row(name)
    warnings.simplefilter("ignore")
    with quiet_transformers():
        try:
            network = tiny_network(name)
        except Exception as error:
            row.notes["build"] = _said(error)
            return row
        try:
            capture = _surveyed(network, row)
        except HeadscopeError as error:
            row.maps, row.notes["maps"] = "refused", str(error)
            row.notes |= {"cause": _said(error.__cause__)} if isinstance(error.__cause__, Exception) else {}
            return row
        except Exception as error:
            row.maps, row.notes["maps"] = "crashed", _said(error)
            return row
        row.road = capture.road
        stacks = ", ".join(f"{grid.stack} {grid.layers} x {grid.heads}" for grid in capture.stacks.grids)
        row.stacks = f"{row.stacks}{stacks}"
        for trial, attempt in _ATTEMPTS.items():
            with torch.no_grad():
                outcome, why = _outcome(attempt, capture)
            setattr(row, trial, outcome)
            if why:
                row.notes[trial] = why
    return row


def _surveyed(network: PreTrainedModel, row: Row) -> Capture:
    """The capture of a network, or of its text tower where it cannot be run on text alone."""
    try:
        return surveyed(wrap(network, tokenizer(), name=row.type))
    except ModelError as error:
        tower = text_tower(network)
        if tower is None:
            raise
        row.notes["cause"] = _said(error.__cause__ or error)
        capture = surveyed(wrap(tower, tokenizer(), name=row.type))
        row.stacks = "text tower: "
        return capture


def _outcome(attempt: Callable[[Capture], None], capture: Capture) -> tuple[Outcome, str]:
    try:
        attempt(capture)
    except NothingToTryError as error:
        return "", str(error)
    except WrongError as error:
        return "wrong", str(error)
    except HeadscopeError as error:
        return "refused", str(error)
    except Exception as error:
        return "crashed", _said(error)
    return "yes", ""


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def maps(capture: Capture) -> None:
    """What is seen is what the model returns when asked, and seeing it changes nothing of what comes out."""
    model = capture.model
    inputs = probe_inputs(model, LENGTHS)
    plain = _out(model, inputs)
    seen: dict[str, list[Tensor]] = {}
    watched: list[Tensor] = []
    handle = model.core.register_forward_hook(lambda module, given, output: watched.append(_state(output)))
    torch.manual_seed(0)
    try:
        capture.run(inputs, lambda place, weights: seen.setdefault(place.stack, []).append(weights))
    finally:
        handle.remove()
    _compare(watched[-1], plain, "what comes out while it is watched")
    own = own_maps(model)
    for stack, layers in own.items():
        ours = seen.get(stack, [])
        if len(ours) != len(layers):
            raise WrongError(
                f"{len(ours)} layers of the {stack} are seen, and the model returns {len(layers)}"
            )
        for number, (weights, expected) in enumerate(zip(ours, layers, strict=True)):
            real = _real(inputs, stack)[:, None, :, None]
            _compare(weights * real, expected * real, f"the map of layer {number} of the {stack}")
    if own and set(seen) - set(own):
        raise WrongError(f"{', '.join(set(seen) - set(own))} is seen, and the model does not return it")


def own_maps(model: Model) -> dict[str, list[Tensor]]:
    """The maps that a model returns when asked, by stack; nothing where it returns none."""
    network = deepcopy(model.core)
    network.set_attn_implementation("eager")
    network.config._attn_implementation = "eager"  # Falcon looks at it all the same
    inputs = probe_inputs(model, LENGTHS)
    try:
        output = network(**inputs, **model.no_cache, output_attentions=True, return_dict=True)
    except (TypeError, ValueError):  # it does not take the question
        return {}
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    by_stack = {stack: list(getattr(output, name, None) or ()) for stack, name in names.items()}
    # A hybrid may return other things for its other layers.
    length = inputs["input_ids"].shape[1]
    alone = [layer for layer in getattr(output, "attentions", None) or () if _is_map(layer, length)]
    if alone:
        scored = [
            layer.softmax(-1) if (layer < 0).any() else layer for layer in alone
        ]  # SqueezeBERT's are scores
        by_stack["encoder" if bool(scored[0][0].triu(1).any()) else "decoder"] = scored
    return {stack: layers for stack, layers in by_stack.items() if layers}


def _is_map(layer: object, length: int) -> bool:
    return isinstance(layer, Tensor) and layer.dim() == 4 and tuple(layer.shape[-2:]) == (length, length)


def edit(capture: Capture) -> None:
    """Switching a head off does what taking its part out of the output projection by hand does."""
    model, inputs = capture.model, probe_inputs(capture.model, LENGTHS)
    with hs.edit(model, f"{capture.stacks.grids[-1].stack} 0.1"):  # what cannot be edited says so here
        pass
    try:
        projections = output_projections(capture)
    except CaptureError:
        projections = {}
    plain = _out(model, inputs)
    for grid in capture.stacks.grids:
        place = Place(grid.stack, grid.layers - 1)
        module = projections[place].module if place in projections else None
        shared = [other.layer for other, own in projections.items() if own.module is module] or [place.layer]
        with hs.edit(model, [(grid.stack, layer, 1) for layer in shared]):
            edited = _out(model, inputs)
        if edited.shape == plain.shape and torch.allclose(edited, plain, atol=1e-7):
            raise WrongError(f"the edit of the {grid.stack} changes nothing")
        if module is not None:
            by_hand = _without_head(model, module, 1, grid.heads, inputs)
            _compare(edited, by_hand, f"the edit of the {grid.stack}")


def _without_head(
    model: Model, module: nn.Module, head: int, heads: int, inputs: Mapping[str, Any]
) -> Tensor:
    """What comes out when a head's part of what the output projection is given is 0."""

    def without(module: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        parts = given[0].clone().unflatten(-1, (heads, -1))
        parts[..., head, :] = 0
        return (parts.flatten(-2), *given[1:])

    handle = module.register_forward_pre_hook(without)
    try:
        return _out(model, inputs)
    finally:
        handle.remove()


def ablate(capture: Capture) -> None:
    """Every head alone switched off, and what that does to predicting tokens."""
    with torch.enable_grad():
        hs.ablate(capture.model, _task(capture))


def importance(capture: Capture) -> None:
    """What the loss of predicting tokens says of every head."""
    with torch.enable_grad():
        result = hs.gradient_importance(capture.model, _task(capture))
    if not all(row["importance"] is not None for stack in result.found for row in result.heads(stack=stack)):
        raise WrongError("a head has no importance")


def _task(capture: Capture) -> LanguageModelling:
    network = capture.model.network
    if capture.model.is_encoder_decoder:
        raise NothingToTryError("it reads one text and writes another")
    if has_head(network, "masked-lm"):
        return MaskedLanguageModelling(as_corpus(TEXTS), max_length=32)
    if has_head(network, "next-token"):
        return NextToken(as_corpus(TEXTS), max_length=32)
    raise NothingToTryError("transformers has no head for it that predicts tokens")


def neurons(capture: Capture) -> None:
    """Queries and keys give the weights."""
    for head in read_neurons(capture.model, TEXTS[0], TEXTS[1] if capture.model.is_encoder_decoder else None):
        if not head.agrees:
            raise CaptureError(head.note)


def explain(capture: Capture) -> None:
    """Why a head of the first layer does what it does."""
    hs.explain(capture.model, f"{capture.stacks.grids[0].stack} 0.0", TEXTS, max_length=32)


def analyze(capture: Capture) -> None:
    """Every measure on a few texts; where kernels computed attention, the model's own function gives the same."""
    atlas = hs.analyze(capture.model, TEXTS, max_length=32)
    if atlas.provenance["options"]["kernels"] != USED:
        return
    own = hs.analyze(capture.model, TEXTS, max_length=32, kernels=False)
    for stack in own.stacks:
        mine = atlas.stack(stack)
        for name, array in own.stack(stack).items():
            if array.values.dtype.kind == "f":
                _compare_arrays(mine[name].values, array.values, f"{name} of the {stack}")


def view(capture: Capture) -> None:
    """All maps of one text."""
    observe(capture.model, TEXTS[0], TEXTS[1] if capture.model.is_encoder_decoder else None)


_ATTEMPTS: dict[str, Callable[[Capture], None]] = {
    "maps": maps,
    "edit": edit,
    "ablate": ablate,
    "importance": importance,
    "neurons": neurons,
    "explain": explain,
    "analyze": analyze,
    "view": view,
}


def _out(model: Model, inputs: Mapping[str, Any]) -> Tensor:
    """What comes out of the core, with the same random numbers every time: VITS draws how long words last."""
    torch.manual_seed(0)
    return _state(model.core(**inputs, **model.no_cache))


def _state(output: Any) -> Tensor:
    """(text, token, width) what comes out of a network's last layer."""
    state = state_of(output)
    if state is None:
        raise NothingToTryError("nothing that comes out is a state for each token")
    return state.detach()


def _real(inputs: Mapping[str, Tensor], stack: str) -> Tensor:
    """(text, query) True for tokens, False for padding."""
    is_target = stack != "encoder" and "decoder_attention_mask" in inputs
    return inputs["decoder_attention_mask" if is_target else "attention_mask"].bool()


def _compare_arrays(array: np.ndarray, expected: np.ndarray, what: str) -> None:
    apart = np.nanmax(np.abs(array - expected), initial=0) / max(np.nanmax(np.abs(expected), initial=0), 1e-3)
    if not apart <= ROUNDING or (np.isnan(array) != np.isnan(expected)).any():
        raise WrongError(f"by kernels {what} is off by {apart:.2g} of its largest number")


def _compare(tensor: Tensor, expected: Tensor, what: str) -> None:
    if tensor.shape != expected.shape:
        raise WrongError(f"{what} is of shape {tuple(tensor.shape)} and should be of {tuple(expected.shape)}")
    # The first text has no padding, whose states are nobody's business.
    apart = (tensor[0] - expected[0]).abs().amax() / expected[0].abs().amax().clamp(min=1e-3)
    if not apart <= ROUNDING:
        raise WrongError(f"{what} is off by {float(apart):.2g} of its largest number")
