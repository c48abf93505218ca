"""What an explanation found."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property

import numpy as np

from headscope.atlas import Results
from headscope.explanation.separation import CONTRASTS
from headscope.explanation.sums import COMPARED, REPLACED, LayerSums, RatioSums, counts_for
from headscope.facts.analyses.explanations import (
    DESCRIPTION,
    Carried,
    Cell,
    HeadExplanation,
    Neuron,
    Replaced,
    Separated,
)
from headscope.probes.result import ProbeResult, Row
from headscope.stats.intervals import mean_interval
from headscope.trace.architecture import Place, Stacks
from headscope.types import Array, HeadGrid, HeadId, LabelledArray

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
    texts: int

    @property
    def neurons(self) -> int:
        """How many neurons a head has."""
        return int(self.sums.neuron_auc.total.shape[-1])

    @cached_property
    def numbers(self) -> dict[str, tuple[Array, Array]]:
        """(head, ...) by the name of the sums: the values and their standard errors over texts."""
        by_name = {field.name: getattr(self.sums, field.name) for field in fields(self.sums)}
        return {
            name: (sums.share() if isinstance(sums, RatioSums) else sums.mean(), sums.stderr())
            for name, sums in by_name.items()
        }

    def cell(self, name: str, *at: int) -> Cell:
        """One number of the table; None for what no text, or only one, says something of."""
        value, error = (float(numbers[at]) for numbers in self.numbers[name])
        ends = mean_interval(value, error, self.texts)
        return Cell(*(number if np.isfinite(number) else None for number in (value, error, *ends)))

    def explained(self, layer: int, number: int) -> HeadExplanation:
        """All that was found of one of the heads."""
        neurons = self.neurons
        return HeadExplanation(
            str(HeadId(layer, self.heads[number])),
            neurons,
            tuple(self.best[number]),
            self.alike[number],
            tuple(
                Carried(
                    count,
                    self.cell("share", number, column),
                    self.cell("share_random", number, column),
                    count / neurons,
                    self.cell("pattern", number, column),
                    self.cell("pattern_random", number, column),
                )
                for column, count in enumerate(counts_for(neurons))
            ),
            self.cell("share_bias", number) if self.has_bias else None,
            tuple(self._separated(number, column) for column in range(len(CONTRASTS))),
            tuple(
                Replaced(
                    name,
                    self.cell("left", number, column) if name in REPLACED else None,
                    *(self.cell(likeness, number, column) for likeness in ("js", "cosine", "overlap")),
                )
                for column, name in enumerate(COMPARED)
            ),
        )

    def _separated(self, head: int, column: int) -> Separated:
        """What tells keys of a kind apart, best neurons first, with intervals that hold for all neurons at once."""
        texts = int(self.sums.neuron_auc.texts[head, column].max())
        score = self.cell("score_auc", head, column)
        if texts < 2:
            return Separated(CONTRASTS[column], texts, score)
        values, errors = (numbers[head, column] for numbers in self.numbers["neuron_auc"])
        lows, highs = mean_interval(values, errors, texts, comparisons=len(values))  # (neuron,)
        clear = (lows > 0.5) | (highs < 0.5)
        columns = [values, errors, lows.clip(0), highs.clip(max=1), clear]
        best = np.argsort(-np.abs(values - 0.5), kind="stable")[:LISTED]
        neurons = tuple(Neuron(int(at), *(column[at].item() for column in columns)) for at in best)
        return Separated(CONTRASTS[column], texts, score, neurons, int(clear.sum()))


@dataclass(frozen=True)
class Explanation(ProbeResult):
    """Why some heads do what they do."""

    description = DESCRIPTION

    stacks: Stacks
    layers: Mapping[Place, LayerExplanation]
    replaceable: tuple[str, ...]
    """Which embeddings the model has that could be replaced by their mean."""

    def arrays(self) -> Results:
        """The numbers by stack and name; nan for heads that were not asked for."""
        by_stack: dict[str, dict[str, LabelledArray]] = {}
        for stack in dict.fromkeys(place.stack for place in self.layers):
            layers = {place.layer: layer for place, layer in self.layers.items() if place.stack == stack}
            by_stack[stack] = _stack_arrays(layers, self.stacks.grid(stack))
        return by_stack

    def heads(self, *, stack: str | None = None) -> list[HeadExplanation]:
        """What was found of each head that was asked for."""
        stack = stack or next(iter(self.layers)).stack
        return [
            layer.explained(place.layer, number)
            for place, layer in sorted(self.layers.items(), key=lambda item: item[0].layer)
            if place.stack == stack
            for number in range(len(layer.heads))
        ]

    def table(self, *, stack: str | None = None) -> list[Row]:
        """The same as plain data, a row a head."""
        return [asdict(row) for row in self.heads(stack=stack)]


_ARRAYS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "score_share": (
        "share",
        ("neurons",),
        "share of the variance of the score over keys that the best neurons carry",
    ),
    "score_share_random": ("share_random", ("neurons",), "score_share of neurons drawn at random"),
    "score_share_bias": ("share_bias", (), "score_share of what is added to the scores for position"),
    "score_pattern": (
        "pattern",
        ("neurons",),
        "share of the pattern that the best neurons alone give, 0 as even attention",
    ),
    "score_pattern_random": ("pattern_random", ("neurons",), "score_pattern of neurons drawn at random"),
    "neuron_auc": (
        "neuron_auc",
        ("contrast", "neuron"),
        "chance that a neuron's product is larger for a key of the kind than for another",
    ),
    "score_auc": ("score_auc", ("contrast",), "the same for the whole score"),
    "pattern_left": (
        "left",
        ("replaced",),
        "share of the pattern that is left with embeddings replaced by their mean, 0 as even attention",
    ),
    "replaced_js": ("js", ("replaced",), "Jensen-Shannon divergence from the map with embeddings replaced"),
    "replaced_cosine": ("cosine", ("replaced",), "cosine similarity with the map with embeddings replaced"),
    "replaced_overlap": ("overlap", ("replaced",), "attention shared with the map with embeddings replaced"),
}
"""By name in the atlas: the sums, the dimensions after layer and head, and what it is."""


def _stack_arrays(layers: Mapping[int, LayerExplanation], grid: HeadGrid) -> dict[str, LabelledArray]:
    first = next(iter(layers.values()))
    coords: dict[str, Sequence[str] | Sequence[int]] = {
        **grid.coords,
        "neurons": counts_for(first.neurons),
        "neuron": range(first.neurons),
        "contrast": CONTRASTS,
    }
    arrays: dict[str, LabelledArray] = {}
    for name, (sums, dims, description) in _ARRAYS.items():
        if sums == "share_bias" and not first.has_bias:
            continue
        coords["replaced"] = COMPARED if name.startswith("replaced_") else REPLACED
        own = {dim: coords[dim] for dim in ("layer", "head", *dims)}
        units = "nats" if sums == "js" else "1"
        both = np.full((2, *map(len, own.values())), np.nan)  # values and standard errors
        for number, layer in layers.items():
            both[:, number, list(layer.heads)] = layer.numbers[sums]
        arrays[name] = LabelledArray.of(both[0], own, description, units)
        error = f"standard error over texts of {name}"
        arrays[f"{name}_stderr"] = LabelledArray.of(both[1], own, error, units)
    return arrays
