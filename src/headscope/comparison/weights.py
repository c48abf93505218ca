"""How far the weights of every layer's attention moved: the control for what optimisation alone would do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.capture import Capture, attention_modules
from headscope.models.stacks import Place
from headscope.types import StackName

Array = np.ndarray[Any, Any]

PROJECTIONS = ("query", "key", "value", "output")
MATRICES = (*PROJECTIONS, "all")
"""The four matrices of an attention layer, and all of them as one long vector."""

_NAMES = {
    "query": ("query", "q_proj", "q_lin", "q", "query_proj"),
    "key": ("key", "k_proj", "k_lin", "k", "key_proj"),
    "value": ("value", "v_proj", "v_lin", "v", "value_proj"),
    "output": ("../output.dense", "dense", "out_lin", "o_proj", "out_proj", "o", "c_proj"),
}
"""What attention modules call their projections; "../" goes one module up."""
_THIRDS = "c_attn"
"""GPT-2's query, key and value, side by side."""


@dataclass(frozen=True)
class WeightChange:
    """||W_b - W_a|| / ||W_a|| (Frobenius) of every matrix."""

    by_stack: Mapping[StackName, Array]  # (layer, matrix) nan for a matrix that was not found
    notes: tuple[str, ...]


def weight_change(first: Capture, second: Capture) -> WeightChange:
    """Compare the attention weights of two models of the same shape, layer by layer."""
    values = {grid.stack: np.full((grid.layers, len(MATRICES)), np.nan) for grid in second.stacks.grids}
    modules = [_modules(capture) for capture in (first, second)]
    missing: dict[str, int] = {}
    for place in second.stacks.places:
        matrices = [
            _matrices(capture, found[place]) if place in found else {}
            for capture, found in zip((first, second), modules, strict=True)
        ]
        row, lacking = _row(*matrices)
        values[place.stack][place.layer] = row
        for name in lacking:
            missing[name] = missing.get(name, 0) + 1
    names = ", ".join(f"{name} ({count} layers)" for name, count in missing.items())
    told = (
        f"weights were not compared where {second.model.architecture} keeps them in an unknown form: {names}"
    )
    return WeightChange(values, (told,) if missing else ())


def _row(first: Mapping[str, Tensor], second: Mapping[str, Tensor]) -> tuple[list[float], list[str]]:
    """The change of each matrix and of all, and which could not be compared."""
    row, lacking = [], []
    moved = size = 0.0
    for name in PROJECTIONS:
        if name not in first or name not in second or first[name].shape != second[name].shape:
            row.append(float("nan"))
            lacking.append(name)
            continue
        own = float(first[name].norm()) ** 2
        change = float((second[name].to(first[name].device) - first[name]).norm()) ** 2
        row.append(float(np.sqrt(change / own)) if own else float("nan"))
        moved, size = moved + change, size + own
    row.append(float("nan") if lacking or not size else float(np.sqrt(moved / size)))
    return row, lacking


def _modules(capture: Capture) -> dict[Place, str]:
    """The name in the core of the module that computes the attention of each layer; none where that is not known."""
    core = capture.model.core
    if not capture.hooked:
        names = [
            name for name, _ in core.named_modules() if {"query", "key", "value"} <= set(_found(core, name))
        ]
        places = capture.stacks.places
        return dict(zip(places, names, strict=True)) if len(names) == len(places) else {}
    return attention_modules(capture)


def _matrices(capture: Capture, name: str) -> dict[str, Tensor]:
    """The weights of an attention module by what they are for, in double precision."""
    core = capture.model.core
    found: dict[str, Tensor] = {}
    for matrix, module in _found(core, name).items():
        weight = module.weight
        assert isinstance(weight, Tensor)
        if matrix == _THIRDS:
            parts = weight.detach().double().chunk(3, -1)  # Conv1D keeps (input, output)
            found |= dict(zip(PROJECTIONS[:3], parts, strict=True))
        else:
            found[matrix] = weight.detach().double()
    return found


def _found(core: nn.Module, name: str) -> dict[str, nn.Module]:
    modules = dict(core.named_modules())
    found: dict[str, nn.Module] = {}
    for matrix, candidates in _NAMES.items():
        for candidate in candidates:
            module = modules.get(_resolved(name, candidate))
            if isinstance(module, nn.Linear | Conv1D):
                found[matrix] = module
                break
    fused = modules.get(f"{name}.{_THIRDS}")
    if isinstance(fused, Conv1D) and fused.nf == 3 * fused.nx:
        found[_THIRDS] = fused
    return found


def _resolved(name: str, candidate: str) -> str:
    if candidate.startswith("../"):
        return f"{name.rpartition('.')[0]}.{candidate.removeprefix('../')}"
    return f"{name}.{candidate}"
