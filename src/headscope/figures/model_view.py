"""Model view: a small map of every head, all of the same text."""

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.slices import Array
from headscope.figures.maps import draw_tile
from headscope.figures.theme import axes, count_ticks, dress

GAP = 0.12
"""Between two maps, which are a unit wide."""
SIDE = 16
"""Cells along a map: what is still seen at this size, in a picture of hundreds of maps that stays small."""
FAINT = 0.02
"""Attention below this has the ground's colour."""


def model_view(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """Every head's attention on one text as a small map, layers down and heads across, both from 0.

    In each map queries run down and keys across. The colour is the square root of the largest weight in a cell, so that
    faint lines show too; weights below 0.02 do not show, and every map has its own scale.
    """
    name = stack or next((one for one in atlas.stacks if "example_map" in atlas.stack(one)), None)
    if name is None or "example_map" not in atlas.stack(name):
        raise AtlasError(
            "this atlas has no example_map; analyse again with that measure to see maps of heads"
        )
    maps = atlas.stack(name)["example_map"].transpose("layer", "head", "row", "column").values
    layers, heads = maps.shape[:2]
    ax = axes(ax, size=model_view_size(layers, heads))
    step = 1 + GAP
    for layer in range(layers):
        for head in range(heads):
            draw_tile(ax, _small(maps[layer, head]), head * step, layer * step)
    ax.set_xlim(-GAP, heads * step)
    ax.set_ylim(layers * step, -GAP)
    ax.set_aspect("equal")
    dress(ax, title="Every head on the same text", x="head", y="layer")
    for axis, count in ((ax.xaxis, heads), (ax.yaxis, layers)):
        ticks = count_ticks(count, most=24)
        axis.set_ticks([tick * step + 0.5 for tick in ticks], [str(tick) for tick in ticks])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def _small(weights: Array) -> Array:
    """(row, column) the largest weight of each of SIDE x SIDE cells."""
    parts = [np.array_split(np.arange(side), min(SIDE, side)) for side in weights.shape]
    small = np.array([[weights[np.ix_(rows, columns)].max() for columns in parts[1]] for rows in parts[0]])
    return np.where(small < FAINT, 0.0, small)


def model_view_size(layers: int, heads: int) -> tuple[float, float]:
    """Inches for so many maps, no wider than a page."""
    step = min(0.62, 8.6 / heads)
    return heads * step + 0.6, layers * step + 0.6
