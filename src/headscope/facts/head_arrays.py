"""The arrays of a stack taken at one head, as plain numpy: a page looks up hundreds of numbers."""

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.slices import Choice
from headscope.types import Array, HeadId


@dataclass(frozen=True)
class HeadArray:
    """Numbers or names, and what each axis is."""

    values: Array
    labels: dict[str, list[Choice]]
    """The labels along each dimension, in the order of the axes."""

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(self.labels)

    def number(self, **labels: Choice) -> float:
        """The number under one label of each dimension; nan when there is no such label."""
        if set(labels) != set(self.labels) or any(
            label not in self.labels[dim] for dim, label in labels.items()
        ):
            return float("nan")
        return float(self.values[tuple(known.index(labels[dim]) for dim, known in self.labels.items())])

    def of_heads(self, **labels: Choice) -> Array:
        """(layer, head) the numbers under one label of each other dimension; nan when there is no such label."""
        free = {dim: known for dim, known in self.labels.items() if dim not in ("layer", "head")}
        if set(labels) != set(free) or any(label not in free[dim] for dim, label in labels.items()):
            return np.full((), np.nan)
        index = tuple(free[dim].index(labels[dim]) if dim in free else slice(None) for dim in self.labels)
        return np.asarray(self.values[index])

    def choices(self, dim: str) -> list[Choice]:
        """The labels along one dimension under which there is any number."""
        others = tuple(axis for axis, name in enumerate(self.dims) if name != dim)
        filled = np.asarray(np.isfinite(self.values).any(axis=others))
        return [label for label, has in zip(self.labels[dim], filled, strict=True) if has]

    def at(self, head: HeadId) -> "HeadArray":
        """What it says of this head; itself when it is not about single heads."""
        if not {"layer", "head"} <= set(self.labels):
            return self
        place: dict[str, Any] = {"layer": head.layer, "head": head.head}
        index = tuple(place.get(dim, slice(None)) for dim in self.labels)
        rest = {dim: labels for dim, labels in self.labels.items() if dim not in place}
        return HeadArray(np.asarray(self.values[index]), rest)


class HeadArrays(dict[str, HeadArray]):
    """By name, all arrays of a stack at one head."""

    def number(self, name: str, **labels: Choice) -> float:
        """One number; nan where the atlas has none."""
        array = self.get(name)
        return math.nan if array is None else array.number(**labels)


_whole: WeakKeyDictionary[Atlas, dict[str, dict[str, HeadArray]]] = WeakKeyDictionary()


def stack_arrays(atlas: Atlas, stack: str) -> dict[str, HeadArray]:
    """All arrays of a stack, by name; read once."""
    by_stack = _whole.setdefault(atlas, {})
    if stack not in by_stack:
        by_stack[stack] = {
            name: HeadArray(
                np.asarray(array.values), {str(dim): array[dim].values.tolist() for dim in array.dims}
            )
            for name, array in atlas.stack(stack).items()
            if not name.endswith("_folds")
        }
    return by_stack[stack]


def head_arrays(atlas: Atlas, stack: str, head: HeadId) -> HeadArrays:
    """All arrays of a stack, taken at one head."""
    return HeadArrays((name, array.at(head)) for name, array in stack_arrays(atlas, stack).items())
