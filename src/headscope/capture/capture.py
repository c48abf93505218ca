"""Running a model over a batch and seeing every layer's attention, or failing loudly."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.capture.fallback import returned_attention
from headscope.capture.observe import can_watch, watching
from headscope.errors import CaptureError, HeadscopeError, ModelError
from headscope.models.model import Model
from headscope.models.stacks import Call, Place, Stacks, sort_calls

See = Callable[[Place, Tensor], None]
Inputs = Mapping[str, Tensor | bool]

# Two lengths that no head count or hidden size is mistaken for, and that differ from each other.
_SOURCE, _TARGET = 7, 5


@dataclass(frozen=True)
class Capture:
    """How one model is observed: its stacks, and whether through the hook or by asking for its output."""

    model: Model
    stacks: Stacks
    hooked: bool

    def run(self, inputs: Inputs, see: See) -> None:
        """One forward pass; `see(place, attention)` is called for every layer of every stack, in order.

        Raises CaptureError when the calls seen are not those expected, so that no result is built on a layer
        that was missed.
        """
        seen = 0
        places = self.stacks.places

        def watcher(weights: Tensor) -> None:
            nonlocal seen
            if seen < len(places):
                self._check(places[seen], weights, inputs)
                see(places[seen], weights)
            seen += 1

        _forward(self.model, inputs, watcher, hooked=self.hooked)
        if seen != len(places):
            raise CaptureError(
                f"{self.model.name}: {len(places)} attention calls were expected in a forward pass and {seen} were seen"
            )

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


def survey(model: Model) -> Capture:
    """Watch one short forward pass to learn what stacks, layers and heads the model has."""
    inputs = _probe_inputs(model)
    hooked = can_watch(model.core)
    calls = _calls(model, inputs, hooked=hooked)
    if hooked and not calls:  # the name was accepted and never used
        hooked = False
        calls = _calls(model, inputs, hooked=False)
    if not calls:
        raise ModelError(f"{model.name} ({model.architecture}) has no attention that can be observed")
    target = _TARGET if model.is_encoder_decoder else None
    return Capture(model, sort_calls(calls, source=_SOURCE, target=target), hooked)


def _calls(model: Model, inputs: Inputs, *, hooked: bool) -> list[Call]:
    calls: list[Call] = []

    def note(weights: Tensor) -> None:
        if weights.dim() != 4:
            raise CaptureError(
                f"{model.name}: attention of shape {tuple(weights.shape)} is not (text, head, query, key)"
            )
        _, heads, queries, keys = weights.shape
        causal = queries == keys and not bool(weights.triu(1).any())
        calls.append(Call(queries, keys, heads, causal))

    try:
        _forward(model, inputs, note, hooked=hooked)
    except HeadscopeError:
        raise
    except Exception as error:
        raise ModelError(
            f"{model.name} ({model.architecture}) cannot be run on text alone: {str(error).splitlines()[0]}"
        ) from error
    return calls


def _forward(model: Model, inputs: Inputs, watcher: Callable[[Tensor], None], *, hooked: bool) -> None:
    options = {"use_cache": False} if "use_cache" in model.accepts else {}
    if hooked:
        with watching(model.core, watcher), torch.inference_mode():
            model.core(**inputs, **options)
    else:
        for weights in returned_attention(model.core, {**inputs, **options}):
            watcher(weights)


def _probe_inputs(model: Model) -> dict[str, Tensor]:
    special = set(model.tokenizer.all_special_ids)
    plain = [token for token in range(min(len(model.tokenizer), 1000)) if token not in special]
    ids = torch.tensor([(plain * _SOURCE)[:_SOURCE]], device=model.device)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if model.is_encoder_decoder:
        inputs["decoder_input_ids"] = ids[:, :_TARGET]
        inputs["decoder_attention_mask"] = torch.ones_like(ids[:, :_TARGET])
    return inputs
