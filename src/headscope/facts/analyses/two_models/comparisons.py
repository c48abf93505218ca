"""Two models side by side, in words: what the measures of change are called, and which changes stand out."""

from collections.abc import Mapping
from typing import Any

from headscope.facts.description import described_in
from headscope.facts.subject import options_of
from headscope.facts.vocabulary import own_name

PROBE = "compare"

CHANGES = {"cosine": "1 - cosine", "js": "JS divergence (nats)"}
"""How far two maps are apart."""
_INPUTS = {"": "", "a": ", own weights, first model's input", "b": ", own weights, second model's input"}
MEASURES = ("entropy", "role_attention", "named_patterns", "offset_attention", "distance_features")
"""The measures whose change between two models is kept."""

STANDS_OUT = 3.0
"""How many standard errors from 0 the change of a head must be to be listed."""

LAYERS, CONTROL, HEADS, LARGEST = (table.columns for table in described_in(__file__).tables)
"""The columns of tables: by how much attention changed in each layer, as it is and on the same input, and how far its
weights moved; whether it changed where weights moved; head by head; and the head that changed most by a measure."""


def change_name(change: str) -> str:
    """A measure of change in words; with `_input_a` or `_input_b` both models' layers had the hidden states of one."""
    base, _, giver = change.partition("_input_")
    return CHANGES[base] + _INPUTS[giver]


def other_model(facts: Mapping[str, Any]) -> str:
    """The model that an atlas's model was compared with, by the facts of the comparison."""
    options = options_of(facts)
    return own_name(str(options.get("against"))) if options else "another model"


def thirds(layers: int) -> int:
    """How many layers count as the first ones, and as many as the last ones."""
    return max(1, round(layers / 3))


def stands_out(change: float, stderr: float) -> float:
    """How many standard errors a change is from 0; 0 where its error is not known."""
    return abs(change) / stderr if stderr > 0 else 0.0
