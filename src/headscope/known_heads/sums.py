"""What is kept of the texts: for every kind and head the attention, its control, and their difference."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from torch import Tensor

from headscope.accumulator import Sums
from headscope.measures.base import TextMean
from headscope.types import HeadGrid


@dataclass
class KindMeans(Sums):
    """One kind: means over texts, (layer, head) each."""

    attention: TextMean
    control: TextMean
    difference: TextMean

    @classmethod
    def zeros(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        return cls(*(TextMean.zeros(grid.layers, grid.heads) for _ in range(3)))

    def add(self, layer: int, attention: Tensor, control: Tensor, applies: Tensor | None = None) -> None:
        """Count one layer of some texts, (text, head) each; `applies` (text, 1) leaves out texts without a case."""
        self.attention.add(attention, applies=applies, layer=layer)
        self.control.add(control, applies=applies, layer=layer)
        self.difference.add(attention - control, applies=applies, layer=layer)

    @property
    def texts(self) -> int:
        """How many texts have a case."""
        return int(self.difference.texts.max())


@dataclass
class KnownSums(Sums):
    """All kinds that were asked for, by name."""

    kinds: dict[str, KindMeans]

    @classmethod
    def zeros(cls, grid: HeadGrid, kinds: Iterable[str]) -> Self:
        """Nothing seen yet."""
        return cls({kind: KindMeans.zeros(grid) for kind in kinds})
