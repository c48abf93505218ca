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
from headscope.facts.analyses.two_models.comparisons import PROBE, thirds
from headscope.models import Model
from headscope.probes.features.result import SURE_FROM, FeaturesResult
from headscope.probes.result import ProbeResult, Row, largest, plain
from headscope.stats.intervals import student
from headscope.types import Array, Coords, HeadId, LabelledArray, StackName

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
            name: {key: plain(values[number]) for key, values in columns.items()} | {"layers": third}
            for number, name in enumerate(self.names)
        }

    @cached_property
    def arrays(self) -> dict[str, LabelledArray]:
        """All numbers by name."""
        grid = self.sums.grid
        arrays = _head_arrays(self.sums.attention, grid.coords, "")
        for giver, same in self.sums.same_input.items():
            arrays |= _head_arrays(same, grid.coords, giver)
        changes: Coords = {"layer": range(grid.layers), "change": self.names}
        moves: Coords = {"layer": range(grid.layers), "matrix": MATRICES}
        tests: Coords = {"change": self.names, "matrix": MATRICES, "statistic": STATISTICS}
        statistics = np.array([list(asdict(control).values()) for control in self.controls.values()])
        statistics = statistics.reshape(len(self.names), len(MATRICES), -1)
        apart = "1 - cosine, and Jensen-Shannon divergence in nats, mean of a layer's heads"
        error = "standard error over texts of attention_change"
        moved = "||W_b - W_a|| / ||W_a|| of a layer's attention weights"
        both = "does attention change most where weights moved most, over layers"
        arrays |= {
            "attention_change": LabelledArray.of(self.change, changes, apart),
            "attention_change_stderr": LabelledArray.of(self.change_stderr, changes, error),
            "weight_change": LabelledArray.of(self.weights, moves, moved),
            "weight_control": LabelledArray.of(statistics, tests, both),
        }
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
        return self.stacks[self.stack_of(self.stacks, name)]

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
                row |= {f"change_{name}": plain(change), f"change_{name}_stderr": plain(error)}
            row |= {f"weights_{name}": plain(compared.weights[layer, at]) for at, name in enumerate(MATRICES)}
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
                **{name: plain(arrays[f"attention_{name}"].values[at].item()) for name in numbers},
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
                **{key: plain(value) for key, value in asdict(statistics).items()},
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
        before, after = change.kinds.named(change.before), change.kinds.named(change.after)
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
    alike = f"cosine similarity of both models' attention maps, mean over texts{given}"
    apart = f"Jensen-Shannon divergence of both models' attention, mean over queries, then texts{given}"
    return {
        **sums.cosine.labelled(f"attention_cosine{ending}", heads, alike, "cosine"),
        **sums.js.labelled(f"attention_js{ending}", heads, apart, "nats"),
    }


def _measure_arrays(sums: MeasureSums, heads: Coords) -> dict[str, LabelledArray]:
    """The change of a measure, and what it was before."""
    name, summary, units = sums.first.name, sums.first.summary, sums.first.units
    coords = {**heads, **{dim: sums.first.coords[dim] for dim in sums.first.dims}}
    change, before = f"change, text by text, of {summary}", f"in the first model: {summary}"
    return {
        **sums.change.labelled(f"{name}_change", coords, change, units),
        **sums.first.means.labelled(f"{name}_before", coords, before, units),
    }


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
        if (most := largest(np.abs(values))) is None:
            continue
        layer, head = most
        row: Row = {"measure": sums.first.name}
        row |= {dim: coords[dim][at] for dim, at in zip(dims, place, strict=True)}
        row |= {"head": str(HeadId(layer, head))}
        row |= {key: plain(array[layer, head, *place]) for key, array in numbers.items()}
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
        limits[enough & (texts == count)] = student(int(count), comparisons=comparisons)
    with np.errstate(invalid="ignore"):
        sure: Array = (np.abs(change) > limits * error) & enough
    return sure
