"""A number of every head beside its control: means over texts of both, and of their difference."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from torch import Tensor

from headscope.accumulator import Sums
from headscope.measures.base import TextMean
from headscope.types import Coords, HeadGrid, LabelledArray


@dataclass
class ControlledMean(Sums):
    """Means over texts, (layer, head) each."""

    value: TextMean
    control: TextMean
    difference: TextMean

    @classmethod
    def zeros(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        return cls(*(TextMean.zeros(*grid.shape) for _ in range(3)))

    def add(self, layer: int, value: Tensor, control: Tensor, applies: Tensor | None = None) -> None:
        """Count one layer of some texts, (text, head) each; `applies` (text, 1) leaves out texts without a case."""
        self.value.add(value, applies=applies, layer=layer)
        self.control.add(control, applies=applies, layer=layer)
        self.difference.add(value - control, applies=applies, layer=layer)

    @property
    def texts(self) -> int:
        """How many texts have a case."""
        return int(self.difference.texts.max())


@dataclass
class ControlledMeans(Sums):
    """Several such numbers, by name."""

    by_name: dict[str, ControlledMean]

    @classmethod
    def zeros(cls, grid: HeadGrid, names: Iterable[str]) -> Self:
        """Nothing seen yet."""
        return cls({name: ControlledMean.zeros(grid) for name in names})

    def add(
        self, name: str, layer: int, value: Tensor, control: Tensor, applies: Tensor | None = None
    ) -> None:
        """Count one layer of some texts; see `ControlledMean.add`."""
        self.by_name[name].add(layer, value, control, applies)

    def labelled(
        self, name: str, dim: str, grid: HeadGrid, words: Mapping[str, str], units: str = "1"
    ) -> dict[str, LabelledArray]:
        """(dim, layer, head) `name`, `name_control` and `name_difference` with their errors; `words` describe them."""
        coords: Coords = {dim: list(self.by_name), **grid.coords}
        arrays: dict[str, LabelledArray] = {}
        for quantity, ending in (("value", ""), ("control", "_control"), ("difference", "_difference")):
            means: list[TextMean] = [getattr(mean, quantity) for mean in self.by_name.values()]
            whole = f"{name}{ending}"
            for suffix, numbers, said in (
                ("", [mean.mean() for mean in means], words[quantity]),
                ("_stderr", [mean.stderr() for mean in means], f"standard error over texts of {whole}"),
            ):
                values = np.stack(numbers)
                arrays[whole + suffix] = LabelledArray.of(values, coords, said, units)
        return arrays
