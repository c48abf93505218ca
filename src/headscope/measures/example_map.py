"""Example map: what every head's attention looks like on one and the same text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import nothing
from headscope.attention import AttentionBatch, ChosenRows, Derive
from headscope.kernels.cpu import loops as cpu
from headscope.measures.base import MEASURES, Measure
from headscope.measures.folds import mixed_ids
from headscope.types import HeadGrid, LabelledArray, TokenBatch

SIDE = 32
LONG = 64
"""A text of this many tokens is long enough to show what a head does; shorter ones are taken when there is none."""

Rank = tuple[int, int]
"""Length up to LONG, then a number that depends on the tokens alone: the text with the highest is shown."""


@MEASURES.register("example_map")
@dataclass
class ExampleMap(Measure):
    """One attention map of every head, pooled to 32 x 32 cells, as a picture of what the other numbers sum up.

    All heads show the same text, which is chosen by its tokens and not by what heads do on it, so that the maps
    are examples and not the best of many. A cell holds its largest weight.
    """

    name: ClassVar[str] = "example_map"
    summary: ClassVar[str] = "attention on one text, the largest weight of each cell"

    grid: HeadGrid
    maps: Tensor  # (layer, head, row, column)
    rank: Rank = (0, 0)
    lengths: tuple[int, int] = (0, 0)  # of the queries' and the keys' text
    _chosen: ChosenRows | None = field(default=None, repr=False)  # the rows that were asked for

    @classmethod
    def empty(cls, grid: HeadGrid) -> Self:
        """Nothing seen yet."""
        return cls(grid, nothing(grid.layers, grid.heads, SIDE, SIDE, value=torch.nan, dtype=torch.float32))

    def after(self, counted: Self) -> None:
        """Look for a text that is better than what was `counted`."""
        self.rank = counted.rank

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """Which text is the foremost of a batch."""
        return _lengths, _foremost

    def wanted(self, queries: TokenBatch, keys: TokenBatch, *, moved: bool) -> Sequence[ChosenRows]:
        """All queries of the batch's foremost text, if it is better than what there is already."""
        self._chosen = None
        rank, text, rows = queries.derive(_foremost)
        if rank > self.rank:
            pooled = partial(_cells_of, rows=rows, columns=keys.derive(_lengths)[text])
            places = torch.arange(rows, device=queries.ids.device)[None]
            texts = torch.full((1,), text, device=queries.ids.device)
            self._chosen = ChosenRows(places, texts, pooled, moved)
        return [self._chosen] if self._chosen else []

    def update(self, batch: AttentionBatch) -> None:
        """Keep the maps of the batch's foremost text, unless there is a better one already."""
        if self._chosen is None:
            return
        (pooled,), self._chosen = batch.row_sums(self._chosen), None  # (layer and head, row, column)
        self.rank, text, rows = batch.queries.derive(_foremost)
        self.lengths = rows, batch.keys.derive(_lengths)[text]
        self.maps = pooled.view(*self.grid.shape, SIDE, SIDE)

    def merge(self, other: Self) -> None:
        """Keep the better text of both."""
        if other.rank > self.rank:
            self.maps, self.rank, self.lengths = other.maps.clone(), other.rank, other.lengths

    def result(self) -> dict[str, LabelledArray]:
        """(layer, head, row, column), and how many tokens the text has."""
        coords = {**self.grid.coords, "row": range(SIDE), "column": range(SIDE)}
        lengths: np.ndarray[Any, Any] = np.array(self.lengths, dtype=float)
        lengths[lengths == 0] = np.nan
        return {
            self.name: LabelledArray.of(self.maps.cpu().numpy(), coords, self.summary),
            f"{self.name}_lengths": LabelledArray.of(
                lengths, {"side": ("query", "key")}, "tokens in the text that example_map shows"
            ),
        }


def _cells_of(maps: Tensor, *, rows: int, columns: int) -> tuple[Tensor]:
    """(head, row, column) the largest weight of each cell of one text's maps (1, head, query, key)."""
    weights = maps[0, :, :rows, :columns].detach().float()
    if cpu.takes(weights):
        return (cpu.largest_of_cells(weights, SIDE),)
    return (_pooled(_pooled(weights).mT).mT,)


def _pooled(weights: Tensor) -> Tensor:
    """(..., cell) the largest of each cell's weights; cells are of equal size but for rounding, and may overlap."""
    # torch's own pooling with cells of any size takes a hundred times as long on a GPU.
    return weights[..., _cells(weights.shape[-1], weights.device)].amax(-1)


@lru_cache(maxsize=64)
def _cells(size: int, device: torch.device) -> Tensor:
    """(cell, step) the places of each cell of a row."""
    cells = torch.arange(SIDE)
    first, after = cells * size // SIDE, ((cells + 1) * size + SIDE - 1) // SIDE
    steps = torch.arange(-(-size // SIDE) + 1)
    return torch.minimum(first[:, None] + steps, after[:, None] - 1).to(device)


def _lengths(tokens: TokenBatch) -> list[int]:
    lengths: list[int] = tokens.on_host.lengths.tolist()
    return lengths


def _foremost(tokens: TokenBatch) -> tuple[Rank, int, int]:
    """The rank, the place and the length of the batch's highest text."""
    tokens = tokens.on_host
    number = tokens.derive(mixed_ids)
    ranks = zip(tokens.lengths.clamp_max(LONG).tolist(), number.tolist(), strict=True)
    rank, text = max((rank, text) for text, rank in enumerate(ranks))
    return rank, text, tokens.derive(_lengths)[text]
