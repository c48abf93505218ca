"""What a measure is: sums over texts of what reductions give, which can be merged, and a result with its uncertainty.

A measure names in `reads` the reductions that it wants of every layer. Who computes them (the model's own attention
function and torch, numba, Triton) is not its business: `update` gets them for a whole stack, (text, layer, head, ...).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import Sums, is_nothing, merge_fields, nothing, settled
from headscope.attention import AttentionBatch, ChosenRows, Derive, Reduction, lengths_of
from headscope.registry import Registry
from headscope.types import Coords, HeadGrid, LabelledArray, TokenBatch

MEASURES: Registry[type["Measure"]] = Registry("measure")


@dataclass
class TextMean(Sums):
    """A mean over texts and its standard error, kept as sums so that parts merge exactly.

    Each text contributes one number per cell (its own mean over queries); a text to which a cell does not
    apply is left out of that cell.
    """

    sums: Tensor  # (3, ...) of the texts' numbers, of their squares, and of how many texts counted

    @classmethod
    def zeros(cls, *shape: int) -> Self:
        """Nothing seen yet."""
        return cls(nothing(3, *shape))

    @property
    def total(self) -> Tensor:
        """(...) sum of the texts' numbers."""
        return self.sums[0]

    @property
    def squares(self) -> Tensor:
        """(...) sum of their squares."""
        return self.sums[1]

    @property
    def texts(self) -> Tensor:
        """(...) how many texts counted."""
        return self.sums[2]

    def add(self, values: Tensor, *, applies: Tensor | None = None, layer: int | None = None) -> None:
        """Count `values` (text, ...), where `applies` (broadcastable to it) is true; in one layer or overall."""
        values = values.detach()
        if layer is None and values.is_cuda and find_spec("triton") is not None:
            from headscope.kernels.triton.means_kernel import text_sums  # noqa: PLC0415  (needs triton)

            before = None if is_nothing(self.sums) else self.sums.to(values.device)
            self.sums = text_sums(values, applies, before)
            return
        # Where the values are, so that an accelerator need not stop for each layer; others lack float64.
        self.sums = settled(self.sums, values.device if values.is_cuda else torch.device("cpu"))
        values = values.to(self.sums)
        sums = self.sums if layer is None else self.sums[:, layer]
        if applies is None:
            sums[2] += len(values)
        else:
            applies = applies.to(self.sums.device)
            # where, not *: what does not apply may be nan, and nan * 0 is nan.
            values = torch.where(applies, values, 0.0)
            sums[2] += applies.to(self.sums).expand_as(values).sum(0)
        sums[0] += values.sum(0)
        sums[1] += (values * values).sum(0)

    def mean(self) -> np.ndarray[Any, Any]:
        """The mean over texts; nan where no text counted."""
        return (self.total / self.texts).cpu().numpy()

    def stderr(self) -> np.ndarray[Any, Any]:
        """The standard error of the mean over texts; nan where fewer than two texts counted."""
        spread = (self.squares - self.total**2 / self.texts).clamp_min(0)
        error = (spread / (self.texts - 1) / self.texts).sqrt()
        return error.where(self.texts > 1, torch.nan).cpu().numpy()

    def labelled(
        self, name: str, coords: Coords, description: str, units: str = "1"
    ) -> dict[str, LabelledArray]:
        """The mean as `name` and its standard error as `name_stderr`."""
        error = f"standard error over texts of {name}"
        return {
            name: LabelledArray.of(self.mean(), coords, description, units),
            f"{name}_stderr": LabelledArray.of(self.stderr(), coords, error, units),
        }


class Measure(ABC):
    """A statistic of every head of one stack, built up text by text.

    An accumulator: `empty` starts it, `update` takes one batch, `merge` adds another measure of the same kind and grid,
    `result` names the arrays that go into the atlas. Merging is exact and in any order.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    reads: ClassVar[tuple[Reduction, ...]] = ()
    """The reductions that `update` asks the batch for."""

    within_text: ClassVar[bool] = False
    """Whether it means nothing between two different texts, and so does not fit cross attention."""

    weighable: ClassVar[bool] = True
    """Whether it is about attention, which can be weighed by what it moves."""

    grid: HeadGrid

    @classmethod
    def fits(cls, grid: HeadGrid) -> bool:
        """Whether the measure makes sense for this stack; where it does not, the atlas has no such array."""
        return not (cls.within_text and grid.cross)

    @classmethod
    @abstractmethod
    def empty(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""

    def after(self, counted: Self) -> None:  # noqa: B027  (most measures keep nothing that another would drop)
        """Know what was `counted` that this one, still empty, will be merged with; see `accumulator.Following`."""

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """What it derives of tokens; for an accelerator that is done beforehand, while it is at work.

        What is left out here is derived when it is asked for.
        """
        return (lengths_of,)

    def wanted(self, queries: TokenBatch, keys: TokenBatch, *, moved: bool) -> Sequence[ChosenRows]:
        """The rows of attention that `update` will ask a batch of these tokens for; called once for each batch.

        `moved` says whether it will be shown what heads move.
        """
        return ()

    def held_rows(self, length: int, *, moved: bool) -> int:
        """How many rows of a text of that length it holds of all layers until the last."""
        return 0

    @abstractmethod
    def update(self, batch: AttentionBatch) -> None:
        """Count one batch of texts."""

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted: of a dataclass field by field, as `Sums` does."""
        merge_fields(self, other)

    @abstractmethod
    def result(self) -> dict[str, LabelledArray]:
        """The arrays that go into the atlas, by name."""


@dataclass
class PerTextMeasure(Measure):
    """A measure whose every cell is a mean over texts of a number that one layer's attention decides."""

    grid: HeadGrid
    means: TextMean
    uniform: TextMean  # (*dims) the same for a head that spreads its attention evenly

    dims: ClassVar[tuple[str, ...]]
    coords: ClassVar[Coords]
    units: ClassVar[str] = "1"

    @classmethod
    def empty(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        extra = [len(cls.coords[dim]) for dim in cls.dims]
        return cls(grid, TextMean.zeros(*grid.shape, *extra), TextMean.zeros(*extra))

    @abstractmethod
    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head, *dims) each text's numbers, and (text, 1, 1, *dims) which apply; None means all."""

    def update(self, batch: AttentionBatch) -> None:
        """Count one batch of texts."""
        values, applies = self.per_text(batch)
        self.count(values, applies, batch)

    def count(self, values: Tensor, applies: Tensor | None, batch: AttentionBatch) -> None:
        """Add what `per_text` gave for a batch, and what uniform attention would give."""
        self.means.add(values, applies=applies)
        values, applies = self.per_text(batch.uniform)
        self.uniform.add(values[:, 0, 0], applies=None if applies is None else applies[:, 0, 0])

    def result(self) -> dict[str, LabelledArray]:
        """The mean (layer, head, *dims), its standard error, and what even attention would give (*dims)."""
        coords = {dim: self.coords[dim] for dim in self.dims}
        even = f"{self.name} of a head that looks evenly at all it can see"
        means = self.means.labelled(self.name, {**self.grid.coords, **coords}, self.summary, self.units)
        return means | self.uniform.labelled(f"{self.name}_uniform", coords, even, self.units)
