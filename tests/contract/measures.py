"""The registry of measures: every one, and two made up as in a notebook, with what each promises.

Who adds a measure adds its entry here; test_registry.py fails until it is there, and every clause of test_measures.py
holds for it from then on.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from tests.contract.shards import TEXTS
from tests.helpers.tiny import tiny
from torch import Tensor

import headscope as hs
from headscope.measures import (
    AttentionBatch,
    DistanceFeatures,
    Entropy,
    ExampleMap,
    Explained,
    HeadDistance,
    LayerAttention,
    Loudness,
    Measure,
    NamedPatterns,
    OffsetAttention,
    RoleAttention,
    SampledHeadDistance,
)
from headscope.measures.base import PerTextMeasure
from headscope.trace.watch import USED
from headscope.types import HeadGrid

GRIDS = {
    "encoder": HeadGrid("encoder", 3, 2, causal=False),
    "decoder": HeadGrid("decoder", 3, 2, causal=True),
}
LENGTHS = [23, 9, 17, 23, 12, 3, 31]


def first_weight(layer: LayerAttention) -> Tensor:
    """(text, head) what the first token gives itself: a view of the maps, which may change after this layer."""
    return layer.attention[:, :, 0, 0]


def own_way(layer: LayerAttention) -> Tensor:
    """(text, head) how far a head is from the mean of its layer: it mixes heads."""
    weights = layer.attention * layer.queries.is_token[:, None, :, None]
    apart = (weights - weights.mean(1, keepdim=True)).abs().sum((-1, -2))
    return apart / layer.queries.lengths[:, None]


@dataclass
class FirstWeight(PerTextMeasure):
    """What the first token gives itself."""

    name: ClassVar[str] = "first_weight"
    summary: ClassVar[str] = "the weight of the first token in its own row"
    reads: ClassVar = (first_weight,)
    dims: ClassVar[tuple[str, ...]] = ()
    coords: ClassVar = {}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head)"""
        return batch.reduce(self.reads[0]), None


@dataclass
class OwnWay(PerTextMeasure):
    """How far a head is from the mean of its layer."""

    name: ClassVar[str] = "own_way"
    summary: ClassVar[str] = "mean absolute difference from the mean over heads"
    reads: ClassVar = (own_way,)
    dims: ClassVar[tuple[str, ...]] = ()
    coords: ClassVar = {}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head)"""
        return batch.reduce(self.reads[0]), None


NOTEBOOK = (FirstWeight, OwnWay)
# They read `self.reads[0]`: loading a pickle of such a class in this process gives it functions of its own.
for _kind in (*NOTEBOOK, first_weight, own_way):
    _kind.__module__ = "__main__"  # as where no other process can import it: it travels by value


def values(state: Measure) -> dict[str, np.ndarray[Any, Any]]:
    """Its arrays."""
    return {name: array.values for name, array in state.result().items()}


def assert_same(left: Measure, right: Measure, *, rtol: float = 1e-6, atol: float = 1e-7) -> None:
    """Both counted the same."""
    first, second = values(left), values(right)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_allclose(first[name], second[name], rtol=rtol, atol=atol, err_msg=name)


@dataclass(frozen=True)
class MeasureEntry:
    """A measure, and the reasons why a clause does not hold for it."""

    kind: type[Measure]
    no_stderr: str = ""


ENTRIES = {
    "distance_features": MeasureEntry(DistanceFeatures),
    "entropy": MeasureEntry(Entropy),
    "example_map": MeasureEntry(ExampleMap, no_stderr="it is one text, as it is"),
    "explained": MeasureEntry(Explained),
    "head_distance": MeasureEntry(HeadDistance),
    "head_distance, sampled": MeasureEntry(SampledHeadDistance),
    "loudness": MeasureEntry(Loudness),
    "named_patterns": MeasureEntry(NamedPatterns),
    "offset_attention": MeasureEntry(OffsetAttention),
    "role_attention": MeasureEntry(RoleAttention),
    "first_weight": MeasureEntry(FirstWeight),
    "own_way": MeasureEntry(OwnWay),
}
MEASURES_OF_RUNS = [entry.kind for name, entry in ENTRIES.items() if name != "head_distance"]
"""All that one run can hold: head_distance is either over all queries or over some."""


@cache
def analyzed(architecture: str, *, kernels: bool = True, batch_size: int = 1) -> hs.Atlas:
    """A run with every measure, and those of the notebook among them."""
    atlas = hs.analyze(
        tiny(architecture),
        TEXTS,
        measures=MEASURES_OF_RUNS,
        max_length=24,
        sentences=0,
        batch_size=batch_size,
        kernels=kernels,
    )
    assert (atlas.provenance["options"]["kernels"] == USED) == kernels
    return atlas
