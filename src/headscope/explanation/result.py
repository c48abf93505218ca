"""What an explanation found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from headscope.atlas import Results
from headscope.explanation.moments import isotropic
from headscope.explanation.separation import CONTRASTS
from headscope.explanation.sums import (
    COMPARED,
    REPLACED,
    LayerSums,
    RatioSums,
    counts_for,
)
from headscope.measures.base import TextMean
from headscope.models.stacks import Place, Stacks
from headscope.probes.result import ProbeResult, Row
from headscope.stats.intervals import mean_interval
from headscope.types import HeadId, LabelledArray

Array = np.ndarray[Any, Any]

LISTED = 5
"""How many neurons that tell keys apart are listed for a head."""


@dataclass(frozen=True)
class LayerExplanation:
    """The chosen heads of one layer."""

    heads: tuple[int, ...]
    sums: LayerSums
    best: Sequence[Sequence[int]]
    """The best neurons of each head in order, by all texts."""
    alike: Sequence[int]
    """How many of them both halves of the texts chose."""
    has_bias: bool

    @property
    def neurons(self) -> int:
        """How many neurons a head has."""
        return int(self.sums.neuron_auc.total.shape[-1])


@dataclass(frozen=True)
class Explanation(ProbeResult):
    """Why some heads do what they do."""

    probe: ClassVar[str] = "explanation"

    stacks: Stacks
    layers: Mapping[Place, LayerExplanation]
    replaceable: tuple[str, ...]
    """Which embeddings the model has that could be replaced by their mean."""

    def arrays(self) -> Results:
        """The numbers by stack and name; nan for heads that were not asked for."""
        found: dict[str, dict[str, LabelledArray]] = {}
        for stack in dict.fromkeys(place.stack for place in self.layers):
            layers = {place.layer: one for place, one in self.layers.items() if place.stack == stack}
            grid = self.stacks.grid(stack)
            found[stack] = _stack_arrays(layers, grid.layers, grid.heads)
        return found

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each head that was asked for."""
        stack = stack or next(iter(self.layers)).stack
        return [
            _row(place.layer, layer, number)
            for place, layer in sorted(self.layers.items(), key=lambda item: item[0].layer)
            if place.stack == stack
            for number in range(len(layer.heads))
        ]


def _stack_arrays(layers: Mapping[int, LayerExplanation], rows: int, heads: int) -> dict[str, LabelledArray]:
    one = next(iter(layers.values()))
    grid: dict[str, Sequence[str] | Sequence[int]] = {
        "layer": range(rows),
        "head": range(heads),
        "neurons": counts_for(one.neurons),
        "neuron": range(one.neurons),
        "contrast": CONTRASTS,
        "replaced": REPLACED,
    }
    found: dict[str, LabelledArray] = {}
    for name, (field, dims, description, units) in _ARRAYS.items():
        if field == "share_bias" and not one.has_bias:
            continue
        coords = {**grid, "replaced": COMPARED} if name.startswith("replaced_") else grid
        for ending in ("", "_stderr"):
            values = np.full([len(coords[dim]) for dim in ("layer", "head", *dims)], np.nan)
            for number, layer in layers.items():
                values[number, list(layer.heads)] = _values(getattr(layer.sums, field))[bool(ending)]
            found[name + ending] = LabelledArray(
                values,
                ("layer", "head", *dims),
                {dim: coords[dim] for dim in ("layer", "head", *dims)},
                f"standard error over texts of {name}" if ending else description,
                units,
            )
    return found


_ARRAYS: dict[str, tuple[str, tuple[str, ...], str, str]] = {
    "score_share": (
        "share",
        ("neurons",),
        "share of the variance of the score over keys that the best neurons carry",
        "1",
    ),
    "score_share_random": ("share_random", ("neurons",), "score_share of neurons drawn at random", "1"),
    "score_share_bias": ("share_bias", (), "score_share of what is added to the scores for position", "1"),
    "score_pattern": (
        "pattern",
        ("neurons",),
        "share of the pattern that the best neurons alone give, 0 as even attention",
        "1",
    ),
    "score_pattern_random": ("pattern_random", ("neurons",), "score_pattern of neurons drawn at random", "1"),
    "neuron_auc": (
        "neuron_auc",
        ("contrast", "neuron"),
        "chance that a neuron's product is larger for a key of the kind than for another",
        "1",
    ),
    "score_auc": ("score_auc", ("contrast",), "the same for the whole score", "1"),
    "pattern_left": (
        "left",
        ("replaced",),
        "share of the pattern that is left with embeddings replaced by their mean, 0 as even attention",
        "1",
    ),
    "replaced_js": (
        "js",
        ("replaced",),
        "Jensen-Shannon divergence from the map with embeddings replaced",
        "nats",
    ),
    "replaced_cosine": (
        "cosine",
        ("replaced",),
        "cosine similarity with the map with embeddings replaced",
        "1",
    ),
    "replaced_overlap": (
        "overlap",
        ("replaced",),
        "attention shared with the map with embeddings replaced",
        "1",
    ),
}
"""By name in the atlas: the sums, the dimensions after layer and head, what it is, and its unit."""


def _values(sums: RatioSums | TextMean) -> tuple[Array, Array]:
    """(head, ...) the value and its standard error."""
    return (sums.mean() if isinstance(sums, TextMean) else sums.share()), sums.stderr()


def _row(layer: int, found: LayerExplanation, number: int) -> Row:
    sums, neurons = found.sums, found.neurons
    counts = counts_for(neurons)
    return {
        "head": str(HeadId(layer, found.heads[number])),
        "neurons": neurons,
        "best": list(found.best[number]),
        "alike": found.alike[number],
        "carries": [
            {
                "neurons": count,
                "score": _cell(sums.share, number, column),
                "score_random": _cell(sums.share_random, number, column),
                "isotropic": isotropic(counts, neurons)[column],
                "pattern": _cell(sums.pattern, number, column),
                "pattern_random": _cell(sums.pattern_random, number, column),
            }
            for column, count in enumerate(counts)
        ],
        "bias": _cell(sums.share_bias, number) if found.has_bias else None,
        "separates": [_contrast(sums, number, column) for column in range(len(CONTRASTS))],
        "left": [
            {
                "replaced": name,
                "left": _cell(sums.left, number, column) if name in REPLACED else None,
                "js": _cell(sums.js, number, column),
                "cosine": _cell(sums.cosine, number, column),
                "overlap": _cell(sums.overlap, number, column),
            }
            for column, name in enumerate(COMPARED)
        ],
    }


def _cell(sums: RatioSums | TextMean, *at: int) -> dict[str, float | None]:
    value, error = (float(values[at]) for values in _values(sums))
    return {"value": _number(value), "stderr": _number(error)}


def _contrast(sums: LayerSums, head: int, column: int) -> Row:
    """What tells keys of a kind apart, best neurons first, with intervals that hold for all neurons at once."""
    texts = int(sums.neuron_auc.texts[head, column].max())
    row: Row = {
        "contrast": CONTRASTS[column],
        "texts": texts,
        "score": _cell(sums.score_auc, head, column),
        "neurons": [],
        "clear": 0,
    }
    if texts < 2:
        return row
    values, errors = (each[head, column] for each in _values(sums.neuron_auc))
    lows, highs = mean_interval(values, errors, texts, comparisons=len(values))  # (neuron,)
    clear = (lows > 0.5) | (highs < 0.5)
    row["clear"] = int(clear.sum())
    for neuron in np.argsort(-np.abs(values - 0.5), kind="stable")[:LISTED]:
        row["neurons"].append(
            {
                "neuron": int(neuron),
                "auc": float(values[neuron]),
                "stderr": float(errors[neuron]),
                "low": float(max(0.0, lows[neuron])),
                "high": float(min(1.0, highs[neuron])),
                "clear": bool(clear[neuron]),
            }
        )
    return row


def _number(value: float) -> float | None:
    """Plain data for a table; None for what no text, or only one, says something of."""
    return value if np.isfinite(value) else None
