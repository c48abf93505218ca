"""The arrays of a stack, whole or taken at one head, as plain numpy: a page looks up hundreds of numbers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.atlas import Atlas
from headscope.remembered import once
from headscope.types import Array, HeadId

Choice = str | int
"""A label along a dimension."""


@dataclass(frozen=True)
class HeadArray:
    """Numbers or names, and what each axis is."""

    values: Array
    labels: dict[str, list[Choice]]
    """The labels along each dimension, in the order of the axes."""
    units: str = "1"

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(self.labels)

    @property
    def sizes(self) -> dict[str, int]:
        """How many labels each dimension has."""
        return {dim: len(labels) for dim, labels in self.labels.items()}

    def sel(self, **labels: Choice | Sequence[Choice]) -> "HeadArray":
        """Its part under one label of a dimension, which goes, or under a list of them."""
        values, rest = self.values, dict(self.labels)
        for dim, wanted in labels.items():
            known, axis = self.labels[dim], list(rest).index(dim)
            if isinstance(wanted, str) or not isinstance(wanted, Sequence):
                values = values.take(known.index(wanted), axis)
                del rest[dim]
            else:
                values = values.take(np.array([known.index(label) for label in wanted], int), axis)
                rest[dim] = list(wanted)
        return HeadArray(np.asarray(values), rest, self.units)

    def transpose(self, *dims: str) -> "HeadArray":
        """The same with its axes in this order."""
        values = self.values.transpose([self.dims.index(dim) for dim in dims])
        return HeadArray(values, {dim: self.labels[dim] for dim in dims}, self.units)

    def number(self, **labels: Choice) -> float:
        """The number under one label of each dimension; nan when there is no such label."""
        if len(labels) != len(self.labels):
            return math.nan
        try:
            place = tuple([known.index(labels[dim]) for dim, known in self.labels.items()])
        except (KeyError, ValueError):
            return math.nan
        return float(self.values[place])

    def along(self, dim: str, **labels: Choice) -> dict[Choice, float]:
        """The number under every label of one dimension and these of all others; none when there are no such labels."""
        if set(labels) | {dim} != set(self.labels):
            return {}
        try:
            place = tuple(
                slice(None) if name == dim else known.index(labels[name])
                for name, known in self.labels.items()
            )
        except ValueError:
            return {}
        return dict(zip(self.labels[dim], self.values[place].tolist(), strict=True))

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
        return HeadArray(np.asarray(self.values[index]), rest, self.units)


class HeadArrays(Mapping[str, HeadArray]):
    """By name, all arrays of a stack at one head; each is taken when it is asked for."""

    def __init__(self, arrays: Mapping[str, HeadArray], head: HeadId) -> None:
        self._arrays, self._head = arrays, head
        self._taken: dict[str, HeadArray] = {}

    def __getitem__(self, name: str) -> HeadArray:
        if name not in self._taken:
            self._taken[name] = self._arrays[name].at(self._head)
        return self._taken[name]

    def __contains__(self, name: object) -> bool:
        return name in self._arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def is_common(self, name: str) -> bool:
        """Whether an array is about no single head: it says the same of all."""
        return self[name] is self._arrays[name]

    def along(self, name: str, dim: str, **labels: Choice) -> dict[Choice, float]:
        """The numbers along a dimension of an array; none where the atlas has none."""
        array = self.get(name)
        return {} if array is None else array.along(dim, **labels)

    def number(self, name: str, **labels: Choice) -> float:
        """One number; nan where the atlas has none."""
        array = self.get(name)
        return math.nan if array is None else array.number(**labels)


_EMPTY = {
    "role_attention": "role",
    "distance_features": "feature",
    "offset_attention": "offset",
    "named_patterns": "pattern",
}
"""Measures of a decoder, and along what dimension they may hold tokens that its texts lack or that lie ahead."""
_OF_PAIRS = ("own_sentence", "other_sentence", "same_word_other_sentence")
"""Patterns of two texts that a model can tell apart, which the running text of a decoder is not."""


@once
def stack_arrays(atlas: Atlas, stack: str) -> dict[str, HeadArray]:
    """All arrays of a stack, by name."""
    arrays = {
        name: HeadArray(array.values, {dim: list(array.coords[dim]) for dim in array.dims}, array.units)
        for name, array in atlas.stack(stack).plain.items()
    }
    if stack == "decoder":
        _leave_out(arrays)
    return arrays


def _leave_out(arrays: dict[str, HeadArray]) -> None:
    """Take away what makes no sense in a decoder: tokens that no text has, what lies ahead, sentences of a pair."""
    for measure, dim in _EMPTY.items():
        gone: list[Choice] = [*_OF_PAIRS] if dim == "pattern" else []
        even = arrays.get(f"{measure}_uniform")
        if even is not None and dim in even.dims:
            others = tuple(axis for axis, name in enumerate(even.dims) if name != dim)
            is_empty = (np.nan_to_num(even.values) == 0).all(axis=others)
            gone += [label for label, empty in zip(even.labels[dim], is_empty, strict=True) if empty]
        for name in [name for name in arrays if name == measure or name.startswith(f"{measure}_")]:
            arrays[name] = _without(arrays[name], dim, gone)


def _without(array: HeadArray, dim: str, gone: Sequence[Choice]) -> HeadArray:
    """The array without some labels of a dimension, where it has that dimension."""
    kept = [label for label in array.labels.get(dim, ()) if label not in gone]
    return array if len(kept) == len(array.labels.get(dim, ())) else array.sel(**{dim: kept})


def head_arrays(atlas: Atlas, stack: str, head: HeadId) -> HeadArrays:
    """All arrays of a stack, taken at one head."""
    return HeadArrays(stack_arrays(atlas, stack), head)
