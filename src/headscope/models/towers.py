"""Models that read images or sound beside text: which part of them reads text alone."""

import inspect

from transformers import PreTrainedModel

from headscope.errors import ModelError

_NAMES = ("text", "language")


def text_tower(network: PreTrainedModel) -> PreTrainedModel | None:
    """The outermost part of a network that is a network of its own and reads text; None where there is none."""
    for name, part in network.named_modules():
        own = name.rpartition(".")[2]
        if name and isinstance(part, PreTrainedModel) and any(word in own for word in _NAMES):
            return part if "input_ids" in inspect.signature(part.forward).parameters else None
    return None


def only_text_tower(network: PreTrainedModel, label: str) -> PreTrainedModel:
    """The text tower, or ModelError for a network that has none."""
    tower = text_tower(network)
    if tower is None:
        raise ModelError(
            f"{label} ({type(network).__name__}) has no text tower of its own; leave tower (--tower) out"
        )
    return tower


def tower_advice(network: PreTrainedModel) -> str:
    """How to look at a network that cannot be run on text alone; empty where its parts cannot either."""
    if text_tower(network) is None:
        return ""
    return "; its text tower alone can be: load it with tower='text' (--tower text)"
