"""How much of each head its names explain, as stacked bars."""

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.facts.analyses.explained import GOLD, MEASURE, stacked_shares
from headscope.facts.slices import stack_with
from headscope.figures.style.colours import KINDS, NO_DATA, PALETTE
from headscope.figures.style.theme import TICK_SIZE, axes, dress, legend

MOST_BARS = 200
"""With more heads a bar stands for a layer."""
_GAP = 1.5
_COLOURS = (*KINDS, PALETTE["heads"]["light"][2])
"""Of each name; pages have the same."""


def explained_heads(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """A bar for every head, layer by layer: what its names explain of its attention; grey has no name yet.

    A bar for every layer, the mean of its heads, where there are more than 200 heads.
    """
    names, shares = stacked_shares(
        atlas, stack=stack_with(atlas, GOLD if GOLD in atlas else MEASURE, stack)
    ) or (
        [],
        np.zeros((0, 0, 0)),
    )
    if shares.shape[0] * shares.shape[1] > MOST_BARS:
        shares = shares.mean(1, keepdims=True)
    layers, heads = shares.shape[:2]
    ax = axes(ax, size=(9.0, 3.2))
    places = np.arange(layers)[:, None] * (heads + _GAP * (heads > 1)) + np.arange(heads)  # (layer, head)
    sizes = shares.reshape(layers * heads, -1)  # (bar, part)
    starts = sizes.cumsum(1) - sizes
    for number, (name, colour) in enumerate(zip(names, [*_COLOURS[: len(names) - 1], NO_DATA], strict=True)):
        ax.bar(
            places.ravel(), sizes[:, number], bottom=starts[:, number], width=0.9, color=colour, label=name
        )
    unit = "heads by layer" if heads > 1 else "layer, mean of its heads"
    dress(ax, title="How much of each head its names explain", x=unit, y="explained share")
    ax.set_xticks(places.mean(1), [str(layer) for layer in range(layers)], fontsize=TICK_SIZE)
    ax.set_xlim(places.min() - 1, places.max() + 1)
    ax.set_ylim(0, 1)
    ax.spines[["top", "right"]].set_visible(False)
    legend(ax, columns=7)
    return ax
