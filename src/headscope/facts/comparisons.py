"""Two models side by side, in words: what the measures of change are called, and which changes stand out."""

from collections.abc import Mapping
from typing import Any

from headscope.facts.description import Column

PROBE = "compare"

CHANGES = {"cosine": "1 - cosine", "js": "JS divergence (nats)"}
"""How far two maps are apart."""
_INPUTS = {"": "", "a": ", own weights, first model's input", "b": ", own weights, second model's input"}
MEASURES = ("entropy", "role_attention", "named_patterns", "offset_attention", "distance_features")
"""The measures whose change between two models is kept."""

STANDS_OUT = 3.0
"""How many standard errors from 0 the change of a head must be to be listed."""

CONTROL = (
    Column("change"),
    Column("rho", "with weights", "number", 2, "rho_low", "rho_high"),
    Column("rho_p", "p", "p_value"),
    Column("depth", "with depth", "number", 2),
    Column("partial", "with depth, at equal weights", "number", 2),
    Column("partial_p", "p", "p_value"),
    Column("excess", "last third, times", "number", 2, "excess_low", "excess_high"),
)
"""Does attention change where weights moved? Correlations over layers, and how many times more the last third of the
layers changed than the others at equal weight change."""


def change_name(change: str) -> str:
    """A measure of change in words; with `_input_a` or `_input_b` both models' layers had the hidden states of one."""
    base, _, giver = change.partition("_input_")
    return CHANGES[base] + _INPUTS[giver]


def other_model(facts: Mapping[str, Any]) -> str:
    """The model that an atlas's model was compared with, by the facts of the comparison."""
    options = facts.get("options")
    return str(options.get("against")) if isinstance(options, dict) else "another model"


def thirds(layers: int) -> int:
    """How many layers count as the first ones, and as many as the last ones."""
    return max(1, round(layers / 3))


def stands_out(change: float, stderr: float) -> float:
    """How many standard errors a change is from 0; 0 where its error is not known."""
    return abs(change) / stderr if stderr > 0 else 0.0
