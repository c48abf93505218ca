"""Two models side by side, in words: what the measures of change are called, and which changes stand out."""

from collections.abc import Mapping
from typing import Any

from headscope.facts.description import Column
from headscope.facts.vocabulary import own_name

PROBE = "compare"

CHANGES = {"cosine": "1 - cosine", "js": "JS divergence (nats)"}
"""How far two maps are apart."""
_INPUTS = {"": "", "a": ", own weights, first model's input", "b": ", own weights, second model's input"}
MEASURES = ("entropy", "role_attention", "named_patterns", "offset_attention", "distance_features")
"""The measures whose change between two models is kept."""

STANDS_OUT = 3.0
"""How many standard errors from 0 the change of a head must be to be listed."""


def _with_error(key: str, heading: str = "") -> Column:
    return Column(key, heading, "number", 3, stderr=f"{key}_stderr")


LAYERS = (
    Column("layer"),
    *(_with_error(f"change_{name}", heading) for name, heading in CHANGES.items()),
    _with_error("change_cosine_input_a", "own, A's input"),
    _with_error("change_cosine_input_b", "own, B's input"),
    *(
        Column(f"weights_{name}", f"W {name}", "number", 3)
        for name in ("query", "key", "value", "output", "all")
    ),
    Column("kinds_changed"),
)
"""By how much attention changed in each layer, as it is and on the same input, and how far its weights moved."""
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
HEADS = (
    Column("head"),
    Column("partner"),
    _with_error("cosine"),
    _with_error("js", CHANGES["js"]),
    Column("kind_before"),
    Column("kind_after"),
)
LARGEST = (
    Column("measure"),
    Column("of"),
    Column("head"),
    _with_error("before"),
    _with_error("after"),
    _with_error("change"),
    Column("sure", "clear"),
    Column("heads_sure", "heads clearly changed"),
)
"""The head that changed most by a measure; clear after correction for heads and labels."""


def change_name(change: str) -> str:
    """A measure of change in words; with `_input_a` or `_input_b` both models' layers had the hidden states of one."""
    base, _, giver = change.partition("_input_")
    return CHANGES[base] + _INPUTS[giver]


def other_model(facts: Mapping[str, Any]) -> str:
    """The model that an atlas's model was compared with, by the facts of the comparison."""
    options = facts.get("options")
    return own_name(str(options.get("against"))) if isinstance(options, dict) else "another model"


def thirds(layers: int) -> int:
    """How many layers count as the first ones, and as many as the last ones."""
    return max(1, round(layers / 3))


def stands_out(change: float, stderr: float) -> float:
    """How many standard errors a change is from 0; 0 where its error is not known."""
    return abs(change) / stderr if stderr > 0 else 0.0
