"""What two models side by side show, as arrays, tables and plain numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from headscope.atlas import Results
from headscope.comparison.control import STATISTICS, Control, control
from headscope.comparison.kinds import KindChange
from headscope.comparison.sums import CHANGES, COSINE, SAME_INPUT, AttentionSums, MeasureSums, StackSums
from headscope.comparison.weights import MATRICES
from headscope.errors import OptionError
from headscope.facts.analyses.two_models.comparisons import PROBE, thirds
from headscope.models import Model
from headscope.probes.features.result import SURE_FROM, FeaturesResult
from headscope.probes.result import ProbeResult, Row
from headscope.stats.intervals import critical
from headscope.types import Array, Coords, HeadId, LabelledArray, StackName

_LAYER_ARRAYS = {
    "attention_change": (
        ("layer", "change"),
        "1 - cosine, and Jensen-Shannon divergence in nats, mean of a layer's heads",
    ),
    "attention_change_stderr": (("layer", "change"), "standard error over texts of attention_change"),
    "weight_change": (("layer", "matrix"), "||W_b - W_a|| / ||W_a|| of a layer's attention weights"),
    "weight_control": (
        ("change", "matrix", "statistic"),
        "does attention change most where weights moved most, over layers",
    ),
}
"""The dimensions of arrays that are not about single heads, and what they are."""

FEATURE_CHANGES = ("feature_change", "feature_preference_change")
"""What is kept of the linguistic features; the rest stands in the table."""


@dataclass(frozen=True)
class StackComparison:
    """One stack of both models."""

    sums: StackSums
    weights: Array  # (layer, matrix) relative change
    kinds: KindChange | None
    """None for cross attention, and for stacks of few heads."""
    seed: int
    partners: Mapping[HeadId, HeadId] = field(default_factory=dict)
    """The head of the first model that each head is held against; empty: the one of the same number."""

    @property
    def names(self) -> tuple[str, ...]:
        """The measures of attention change there are."""
        return (*CHANGES, *SAME_INPUT) if self.sums.same_input else CHANGES

    @property
    def _attention(self) -> list[AttentionSums]:
        """What `names` are read from, in their order: each has all CHANGES."""
        return [self.sums.attention, *self.sums.same_input.values()]

    @cached_property
    def change(self) -> Array:
        """(layer, change) each measure of attention change, mean over heads and texts."""
        means = np.concatenate([sums.by_layer.mean() for sums in self._attention], 1)
        cosines = means[:, COSINE :: len(CHANGES)]
        np.maximum(1 - cosines, 0, out=cosines)
        return means

    @cached_property
    def change_stderr(self) -> Array:
        """(layer, change) the standard errors over texts of `change`."""
        return np.concatenate([sums.by_layer.stderr() for sums in self._attention], 1)

    @cached_property
    def controls(self) -> dict[tuple[str, str], Control]:
        """For each measure of attention change and each matrix: do they go together, and what is left of depth."""
        return {
            (name, matrix): control(self.change[:, number], self.weights[:, column], seed=self.seed)
            for (number, name), (column, matrix) in product(enumerate(self.names), enumerate(MATRICES))
        }

    @property
    def ends(self) -> dict[str, dict[str, Any]]:
        """The last third of the layers against the first."""
        third = thirds(self.sums.grid.layers)
        columns = {
            "first": self.change[:third].mean(0),
            "last": self.change[-third:].mean(0),
            "difference": np.concatenate([sums.ends.mean() for sums in self._attention]),
            "stderr": np.concatenate([sums.ends.stderr() for sums in self._attention]),
        }
        return {
            name: {key: _plain(values[number]) for key, values in columns.items()} | {"layers": third}
            for number, name in enumerate(self.names)
        }

    @cached_property
    def arrays(self) -> dict[str, LabelledArray]:
        """All numbers by name."""
        grid = self.sums.grid
        arrays = _head_arrays(self.sums.attention, grid.coords, "")
        for giver, same in self.sums.same_input.items():
            arrays |= _head_arrays(same, grid.coords, giver)
        statistics = np.array([list(asdict(control).values()) for control in self.controls.values()])
        numbers = {
            "attention_change": self.change,
            "attention_change_stderr": self.change_stderr,
            "weight_change": self.weights,
            "weight_control": statistics.reshape(len(self.names), len(MATRICES), -1),
        }
        labels: Coords = {
            "layer": range(grid.layers),
            "change": self.names,
            "matrix": MATRICES,
            "statistic": STATISTICS,
        }
        for name, (dims, what) in _LAYER_ARRAYS.items():
            arrays[name] = LabelledArray.of(numbers[name], {dim: labels[dim] for dim in dims}, what)
        if self.kinds is not None:
            arrays |= self.kinds.arrays()
        for sums in self.sums.measures:
            arrays |= _measure_arrays(sums, grid.coords)
        return arrays


@dataclass(frozen=True)
class Comparison(ProbeResult):
    """What changed from `model_a` to the model that this is a result about."""

    probe: ClassVar[str] = PROBE

    model_a: Model
    stacks: Mapping[StackName, StackComparison]
    features: FeaturesResult | None = None
    """Attention to linguistic features in both, where a treebank was given."""

    def stack(self, name: str | None = None) -> StackComparison:
        """One stack; the first by default."""
        by_name = {str(stack): comparison for stack, comparison in self.stacks.items()}
        if name is not None and name not in by_name:
            raise OptionError(
                f"there is no stack {name!r} in this comparison; choose from {', '.join(by_name)}"
            )
        return by_name[name] if name is not None else next(iter(by_name.values()))

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each layer: how alike attention is, how far weights moved, how many heads changed their kind."""
        compared = self.stack(stack)
        moved = None if compared.kinds is None else [head.layer for head in compared.kinds.moved]
        rows = []
        for layer in range(compared.sums.grid.layers):
            row: Row = {"layer": layer}
            for name, change, error in zip(
                compared.names, compared.change[layer], compared.change_stderr[layer], strict=True
            ):
                row |= {f"change_{name}": _plain(change), f"change_{name}_stderr": _plain(error)}
            row |= {
                f"weights_{name}": _plain(compared.weights[layer, at]) for at, name in enumerate(MATRICES)
            }
            rows.append(row | {"kinds_changed": None if moved is None else moved.count(layer)})
        return rows

    def heads(self, *, stack: str | None = None) -> list[Row]:
        """A row for each head: how alike both models' maps are, and its kind in both."""
        arrays, partners = self.stack(stack).arrays, self.stack(stack).partners
        numbers = ("cosine", "cosine_stderr", "js", "js_stderr")
        kinds = ("kind_before", "kind_after")
        return [
            {
                "head": str(HeadId(*at)),
                **({"partner": str(partners[HeadId(*at)])} if partners else {}),
                **{name: _plain(arrays[f"attention_{name}"].values[at].item()) for name in numbers},
                **{name: str(arrays[name].values[at]) if name in arrays else None for name in kinds},
            }
            for at in np.ndindex(arrays["attention_cosine"].values.shape)
        ]

    def control(self, *, stack: str | None = None) -> list[Row]:
        """A row for each measure of attention change and each matrix."""
        return [
            {
                "change": name,
                "matrix": matrix,
                **{key: _plain(value) for key, value in asdict(statistics).items()},
            }
            for (name, matrix), statistics in self.stack(stack).controls.items()
        ]

    def measures(self, *, stack: str | None = None) -> list[Row]:
        """A row for each surface measure and label: the head that changed most, and how many surely changed."""
        return [row for sums in self.stack(stack).sums.measures for row in _measure_rows(sums)]

    def kinds(self, *, stack: str | None = None) -> dict[str, Any] | None:
        """Who moved from which kind to which; None where heads have no kinds."""
        change = self.stack(stack).kinds
        if change is None:
            return None
        before, after = change.names(change.before), change.names(change.after)
        return {
            "kinds": list(change.kinds.names),
            "transitions": change.transitions.tolist(),
            "moved": [
                {"head": str(head), "from": before[head.layer, head.head], "to": after[head.layer, head.head]}
                for head in change.moved
            ],
            "heads": len(change.before),
            "moved_by_chance": change.by_chance,
            "well_separated": change.kinds.separation.is_clear,
        }

    def arrays(self) -> Results:
        """All numbers by stack and name."""
        by_stack = {str(stack): dict(comparison.arrays) for stack, comparison in self.stacks.items()}
        for stack, arrays in {} if self.features is None else self.features.arrays().items():
            for name in FEATURE_CHANGES:
                for key in (name, f"{name}_stderr"):
                    by_stack[stack][f"compare_{key}"] = arrays[key]
        return by_stack


def _head_arrays(sums: AttentionSums, heads: Coords, giver: str) -> dict[str, LabelledArray]:
    ending = f"_input_{giver}" if giver else ""
    given = f"; both given the hidden states of model {giver}" if giver else ""
    arrays: dict[str, LabelledArray] = {}
    for name, means, what, units in (
        (
            "cosine",
            sums.cosine,
            "cosine similarity of both models' attention maps, mean over texts",
            "cosine",
        ),
        (
            "js",
            sums.js,
            "Jensen-Shannon divergence of both models' attention, mean over queries, then texts",
            "nats",
        ),
    ):
        arrays |= means.labelled(
            f"attention_{name}{ending}",
            dims=tuple(heads),
            coords=heads,
            description=what + given,
            units=units,
        )
    return arrays


def _measure_arrays(sums: MeasureSums, heads: Coords) -> dict[str, LabelledArray]:
    """The change of a measure, and what it was before."""
    measure = sums.first
    arrays: dict[str, LabelledArray] = {}
    for ending, mean, what in (
        ("change", sums.change, "change, text by text, of"),
        ("before", measure.means, "in the first model:"),
    ):
        arrays |= mean.labelled(
            f"{measure.name}_{ending}",
            dims=(*heads, *measure.dims),
            coords={**heads, **measure.coords},
            description=f"{what} {measure.summary}",
            units=measure.units,
        )
    return arrays


def _measure_rows(sums: MeasureSums) -> list[Row]:
    """A row for each label of a measure.

    A change is sure when its 95 % interval over texts, widened for all heads and labels of the measure (Bonferroni),
    leaves 0 out.
    """
    means = {"before": sums.first.means, "after": sums.second.means, "change": sums.change}
    numbers = {  # (layer, head, *dims)
        key: values
        for name, mean in means.items()
        for key, values in ((name, mean.mean()), (f"{name}_stderr", mean.stderr()))
    }
    change = numbers["change"]
    sure = _sure(change, numbers["change_stderr"], sums.change.texts.cpu().numpy())
    dims, coords = sums.first.dims, sums.first.coords
    rows = []
    for place in np.ndindex(change.shape[2:]):
        values = change[:, :, *place]  # (layer, head)
        if not np.isfinite(values).any():
            continue
        layer, head = map(int, np.unravel_index(np.nanargmax(np.abs(values)), values.shape))
        row: Row = {"measure": sums.first.name}
        row |= {dim: coords[dim][at] for dim, at in zip(dims, place, strict=True)}
        row |= {"head": str(HeadId(layer, head))}
        row |= {key: _plain(array[layer, head, *place]) for key, array in numbers.items()}
        row |= {
            "sure": bool(sure[layer, head, *place]),
            "heads_sure": int(sure[:, :, *place].sum()),
            "mean_change": float(np.nanmean(values)),
        }
        rows.append(row)
    return rows


def _sure(change: Array, error: Array, texts: Array) -> Array:
    comparisons = max(1, int(np.isfinite(error).sum()))
    enough = texts >= SURE_FROM
    limits = np.full(change.shape, np.inf)
    for count in np.unique(texts[enough]):
        limits[enough & (texts == count)] = critical(int(count), comparisons=comparisons)
    with np.errstate(invalid="ignore"):
        sure: Array = (np.abs(change) > limits * error) & enough
    return sure


def _plain(value: float) -> float | None:
    """A number for a table, None for nan."""
    return None if np.isnan(value) else float(value)
