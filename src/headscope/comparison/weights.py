"""How far the weights of every layer's attention moved: the control for what optimisation alone would do."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from headscope.trace import Capture, attention_modules
from headscope.trace.architecture import Place
from headscope.types import Array, StackName

PROJECTIONS = ("query", "key", "value", "output")
MATRICES = (*PROJECTIONS, "all")
"""The four matrices of an attention layer, and all of them as one long vector."""


@dataclass(frozen=True)
class WeightChange:
    """||W_b - W_a|| / ||W_a|| (Frobenius) of every matrix."""

    by_stack: Mapping[StackName, Array]  # (layer, matrix) nan for a matrix that was not found
    notes: tuple[str, ...]


def weight_change(first: Capture, second: Capture) -> WeightChange:
    """Compare the attention weights of two models of the same shape, layer by layer."""
    values = {grid.stack: np.full((grid.layers, len(MATRICES)), np.nan) for grid in second.stacks.grids}
    weights = [_weights(capture) for capture in (first, second)]
    missing: Counter[str] = Counter()
    for place in second.stacks.places:
        row, lacking = _row(*(of_model.get(place, {}) for of_model in weights))
        values[place.stack][place.layer] = row
        missing.update(lacking)
    names = ", ".join(f"{name} ({count} layers)" for name, count in missing.items())
    note = (
        f"weights were not compared where {second.model.architecture} keeps them in an unknown form: {names}"
    )
    return WeightChange(values, (note,) if missing else ())


def _row(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> tuple[list[float], list[str]]:
    """The change of each matrix and of all, and which could not be compared."""
    squares = np.full((len(PROJECTIONS), 2), np.nan)  # of the change, and of the size before
    for number, name in enumerate(PROJECTIONS):
        if name in first and name in second and first[name].shape == second[name].shape:
            before = first[name].double()
            after = second[name].to(first[name].device).double()
            squares[number] = [float(part.norm()) ** 2 for part in (after - before, before)]
    lacking = [
        name for name, known in zip(PROJECTIONS, np.isfinite(squares).all(1), strict=True) if not known
    ]
    moved, sizes = np.vstack([squares, squares.sum(0)]).T
    row = np.sqrt(np.divide(moved, sizes, out=np.full(len(sizes), np.nan), where=sizes != 0))
    return row.tolist(), lacking


def _weights(capture: Capture) -> dict[Place, dict[str, Tensor]]:
    """The matrices of each layer's attention by what they are for; no layer where its module is not known."""
    modules = dict(capture.model.core.named_modules())
    if capture.hooked:
        return {
            place: _matrices(capture, modules, name) for place, name in attention_modules(capture).items()
        }
    matrices = [
        parts
        for name in modules
        if {"query", "key", "value"} <= set(parts := _matrices(capture, modules, name))
    ]
    places = capture.stacks.places
    return dict(zip(places, matrices, strict=True)) if len(matrices) == len(places) else {}


def _matrices(capture: Capture, modules: Mapping[str, nn.Module], name: str) -> dict[str, Tensor]:
    """The matrices of one attention module."""
    parts = capture.model.adapter.projections_of(name, modules)
    matrices: dict[str, Tensor] = {kind: part.weight.detach() for kind, part in parts.items()}
    if parts.get("query") is not parts.get("key") or "query" not in parts:
        return matrices
    fused = matrices["query"]  # query, key and value side by side; Conv1D keeps (input, output)
    if fused.shape[1] != 3 * fused.shape[0]:
        return {kind: matrix for kind, matrix in matrices.items() if kind == "output"}
    return matrices | dict(zip(PROJECTIONS[:3], fused.chunk(3, -1), strict=True))
