"""The five patterns in pictures: their shares, layer by layer."""

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.figures.colours import PAPER, SERIES
from headscope.figures.slices import stack_with
from headscope.figures.theme import axes, count_ticks, dress, legend


def patterns_by_layer(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """What share of each layer's attention maps shows each pattern, stacked; the last bar is all layers together."""
    name = stack_with(atlas, "pattern_share_layer", stack)
    arrays = atlas.stack(name)
    by_layer = arrays["pattern_share_layer"].transpose("layer", "pattern").values
    whole = arrays["pattern_share_whole"].values
    layers = len(by_layer)
    ax = axes(ax, size=(float(np.clip(0.35 * layers + 2.6, 4.6, 9)), 3.2))
    places = [*range(layers), layers + 0.6]  # a gap before the bar of all
    shares = np.concatenate([by_layer, whole[None]])  # (bar, pattern)
    below = np.zeros(layers + 1)
    for number, pattern in enumerate(arrays["pattern_share_layer"]["pattern"].values):
        height = shares[:, number]
        ax.bar(
            places, height, bottom=below, color=SERIES[number], width=0.8, label=str(pattern), edgecolor=PAPER
        )
        below += height
    dress(ax, title="Patterns of attention maps by layer", x="layer", y="share of maps")
    ax.spines[["top", "right"]].set_visible(False)
    ticks = count_ticks(layers, most=24)
    ax.set_xticks([*ticks, places[-1]], [*map(str, ticks), "all"])
    ax.set_ylim(0, 1)
    legend(ax, columns=5)
    return ax
