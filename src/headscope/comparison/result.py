"""What two models side by side show, as arrays, tables and plain numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from headscope.atlas import Results
from headscope.comparison.control import STATISTICS, Control, control
from headscope.comparison.kinds import KindChange
from headscope.comparison.measures import measure_rows
from headscope.comparison.sums import CHANGES, COSINE, JS, SAME_INPUT, AttentionSums, StackSums, thirds
from headscope.comparison.weights import MATRICES
from headscope.errors import OptionError
from headscope.models import Model
from headscope.probes.features.result import FeaturesResult
from headscope.probes.result import ProbeResult, Row
from headscope.types import HeadId, LabelledArray, StackName

Array = np.ndarray[Any, Any]
Coords = dict[str, Sequence[str] | Sequence[int]]

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

    @property
    def names(self) -> tuple[str, ...]:
        """The measures of attention change there are."""
        return (*CHANGES, *SAME_INPUT) if self.sums.same_input else CHANGES

    @cached_property
    def change(self) -> dict[str, Array]:
        """(layer,) each measure of attention change, mean over heads and texts."""
        found = {}
        for name, (sums, number) in self._sources.items():
            means = sums.by_layer.mean()[:, number]
            found[name] = np.maximum(1 - means, 0) if number == COSINE else means
        return found

    @cached_property
    def change_stderr(self) -> dict[str, Array]:
        """(layer,) the standard errors over texts of `change`."""
        return {name: sums.by_layer.stderr()[:, number] for name, (sums, number) in self._sources.items()}

    @property
    def _sources(self) -> dict[str, tuple[AttentionSums, int]]:
        sums = [self.sums.attention, *self.sums.same_input.values()]
        return dict(zip(self.names, [(one, number) for one in sums for number in (COSINE, JS)], strict=True))

    @cached_property
    def controls(self) -> dict[str, dict[str, Control]]:
        """For each measure of attention change and each matrix: do they go together, and what is left of depth."""
        return {
            name: {
                matrix: control(change, self.weights[:, column], seed=self.seed)
                for column, matrix in enumerate(MATRICES)
            }
            for name, change in self.change.items()
        }

    @property
    def ends(self) -> dict[str, dict[str, Any]]:
        """The last third of the layers against the first."""
        third = thirds(self.sums.grid.layers)
        return {
            name: {
                "first": float(self.change[name][:third].mean()),
                "last": float(self.change[name][-third:].mean()),
                "difference": float(sums.ends.mean()[number]),
                "stderr": _plain(sums.ends.stderr()[number]),
                "layers": third,
            }
            for name, (sums, number) in self._sources.items()
        }


@dataclass(frozen=True)
class Comparison(ProbeResult):
    """What changed from `model_a` to the model that this is a result about."""

    probe: ClassVar[str] = "compare"

    model_a: Model
    stacks: Mapping[StackName, StackComparison]
    features: FeaturesResult | None = None
    """Attention to linguistic features in both, where a treebank was given."""

    def stack(self, name: str | None = None) -> StackComparison:
        """One stack; the first by default."""
        found = {str(stack): comparison for stack, comparison in self.stacks.items()}
        if name is not None and name not in found:
            raise OptionError(
                f"there is no stack {name!r} in this comparison; choose from {', '.join(found)}"
            )
        return found[name] if name is not None else next(iter(found.values()))

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each layer: how alike attention is, how far weights moved, how many heads changed their kind."""
        one = self.stack(stack)
        moved = None if one.kinds is None else [head.layer for head in one.kinds.moved]
        rows = []
        for layer in range(one.sums.grid.layers):
            row: Row = {"layer": layer}
            for name in one.names:
                row[f"change_{name}"] = _plain(one.change[name][layer])
                row[f"change_{name}_stderr"] = _plain(one.change_stderr[name][layer])
            row |= {f"weights_{name}": _plain(one.weights[layer, m]) for m, name in enumerate(MATRICES)}
            rows.append(row | {"kinds_changed": None if moved is None else moved.count(layer)})
        return rows

    def heads(self, *, stack: str | None = None) -> list[Row]:
        """A row for each head: how alike both models' maps are, and its kind in both."""
        one = self.stack(stack)
        attention, grid = one.sums.attention, one.sums.grid
        cosine, js = attention.cosine.mean(), attention.js.mean()
        errors = attention.cosine.stderr(), attention.js.stderr()
        kinds = (
            None
            if one.kinds is None
            else (one.kinds.names(one.kinds.before), one.kinds.names(one.kinds.after))
        )
        return [
            {
                "head": str(HeadId(*at)),
                "cosine": float(cosine[at]),
                "cosine_stderr": _plain(errors[0][at]),
                "js": float(js[at]),
                "js_stderr": _plain(errors[1][at]),
                "kind_before": None if kinds is None else str(kinds[0][at]),
                "kind_after": None if kinds is None else str(kinds[1][at]),
            }
            for at in product(range(grid.layers), range(grid.heads))
        ]

    def control(self, *, stack: str | None = None) -> list[Row]:
        """A row for each measure of attention change and each matrix."""
        return [
            {"change": name, "matrix": matrix, **{key: _plain(value) for key, value in asdict(found).items()}}
            for name, by_matrix in self.stack(stack).controls.items()
            for matrix, found in by_matrix.items()
        ]

    def measures(self, *, stack: str | None = None) -> list[Row]:
        """A row for each surface measure and label: the head that changed most, and how many surely changed."""
        return [row for sums in self.stack(stack).sums.measures for row in measure_rows(sums)]

    def kinds(self, *, stack: str | None = None) -> dict[str, Any] | None:
        """Who moved from which kind to which; None where heads have no kinds."""
        found = self.stack(stack).kinds
        if found is None:
            return None
        names = list(found.kinds.names)
        flat_before, flat_after = found.names(found.before), found.names(found.after)
        return {
            "kinds": names,
            "transitions": found.transitions.tolist(),
            "moved": [
                {"head": str(h), "from": flat_before[h.layer, h.head], "to": flat_after[h.layer, h.head]}
                for h in found.moved
            ],
            "heads": len(found.before),
            "moved_by_chance": found.by_chance,
            "well_separated": found.kinds.separation.is_clear,
        }

    def arrays(self) -> Results:
        """All numbers by stack and name."""
        found = {str(stack): _arrays(one) for stack, one in self.stacks.items()}
        for stack, arrays in {} if self.features is None else self.features.arrays().items():
            for name in FEATURE_CHANGES:
                for key in (name, f"{name}_stderr"):
                    found[stack][f"compare_{key}"] = arrays[key]
        return found


def _arrays(one: StackComparison) -> dict[str, LabelledArray]:
    grid = one.sums.grid
    heads: Coords = {"layer": range(grid.layers), "head": range(grid.heads)}
    arrays = _head_arrays(one.sums.attention, heads, "")
    for giver, same in one.sums.same_input.items():
        arrays |= _head_arrays(same, heads, giver)
    layers: Coords = {"layer": range(grid.layers), "change": one.names}
    for name, by_name, what in (
        (
            "attention_change",
            one.change,
            "1 - cosine, and Jensen-Shannon divergence in nats, mean of a layer's heads",
        ),
        ("attention_change_stderr", one.change_stderr, "standard error over texts of attention_change"),
    ):
        arrays[name] = LabelledArray(np.stack(list(by_name.values()), 1), tuple(layers), layers, what)
    matrices: Coords = {"layer": range(grid.layers), "matrix": MATRICES}
    arrays["weight_change"] = LabelledArray(
        one.weights, tuple(matrices), matrices, "||W_b - W_a|| / ||W_a|| of a layer's attention weights"
    )
    controls: Coords = {"change": one.names, "matrix": MATRICES, "statistic": STATISTICS}
    values = [
        [[getattr(found, key) for key in STATISTICS] for found in by_matrix.values()]
        for by_matrix in one.controls.values()
    ]
    arrays["weight_control"] = LabelledArray(
        np.array(values),
        tuple(controls),
        controls,
        "does attention change most where weights moved most, over layers",
    )
    if one.kinds is not None:
        arrays |= _kind_arrays(one.kinds, heads)
    for sums in one.sums.measures:
        measure = sums.first
        coords: Coords = {**heads, **measure.coords}
        for ending, mean, what in (
            ("change", sums.change, "change, text by text, of"),
            ("before", measure.means, "in the first model:"),
        ):
            arrays |= mean.labelled(
                f"{measure.name}_{ending}",
                dims=(*heads, *measure.dims),
                coords=coords,
                description=f"{what} {measure.summary}",
                units=measure.units,
            )
    return arrays


def _head_arrays(sums: AttentionSums, heads: Coords, giver: str) -> dict[str, LabelledArray]:
    ending = f"_input_{giver}" if giver else ""
    given = f"; both given the hidden states of model {giver}" if giver else ""
    return sums.cosine.labelled(
        f"attention_cosine{ending}",
        dims=tuple(heads),
        coords=heads,
        description=f"cosine similarity of both models' attention maps, mean over texts{given}",
        units="cosine",
    ) | sums.js.labelled(
        f"attention_js{ending}",
        dims=tuple(heads),
        coords=heads,
        description=f"Jensen-Shannon divergence of both models' attention, mean over queries, then texts{given}",
        units="nats",
    )


def _kind_arrays(kinds: KindChange, heads: Coords) -> dict[str, LabelledArray]:
    names = list(kinds.kinds.names)
    places: Coords = {"kind_before": names, "kind_after": names}
    return {
        "kind_before": LabelledArray(
            kinds.names(kinds.before), tuple(heads), heads, "kind of each head in the first model"
        ),
        "kind_after": LabelledArray(
            kinds.names(kinds.after),
            tuple(heads),
            heads,
            "the kind of the first model that the head is nearest to now",
        ),
        "kind_transitions": LabelledArray(
            kinds.transitions, tuple(places), places, "how many heads went from which kind to which"
        ),
    }


def _plain(value: float) -> float | None:
    """A number for a table, None for nan."""
    return None if np.isnan(value) else float(value)
