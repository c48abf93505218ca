"""The five patterns in pictures: their shares, by layer or by model and data set, and a map of each."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.facts.slices import stack_with
from headscope.figures.colours import PAPER, SERIES
from headscope.figures.kinds import GAP, draw_tile
from headscope.figures.theme import TICK_SIZE, axes, count_ticks, dress, legend


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


def pattern_bars(
    shares: Mapping[str, Sequence[float]], patterns: Sequence[str], *, ax: Axes | None = None
) -> Axes:
    """The shares of the patterns as a bar for every name, such as a model on a data set.

    (The form of Kovaleva et al. 2019, figure 2.)
    """
    ax = axes(ax, size=(6.8, 0.4 * len(shares) + 1.3))
    values = np.array(list(shares.values()))  # (name, pattern)
    start = np.zeros(len(values))
    for number, pattern in enumerate(patterns):
        width = values[:, number]
        ax.barh(
            range(len(values)),
            width,
            left=start,
            color=SERIES[number],
            height=0.7,
            label=pattern,
            edgecolor=PAPER,
        )
        start += width
    dress(ax, title="Patterns of attention maps", x="share of maps", y="")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_yticks(range(len(values)), list(shares), fontsize=TICK_SIZE)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    legend(ax, columns=3)
    return ax


def pattern_maps(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """A clear map of each pattern, its head's name above it; queries run down, keys across.

    The colour is the square root of the largest weight in a cell. (The form of Kovaleva et al. 2019, figure 1.)
    """
    name = stack_with(atlas, "pattern_map", stack)
    array = atlas.stack(name)["pattern_map"].transpose("shown_pattern", "row", "column")
    heads = {row["pattern"]: row["head"] for row in atlas.table("pattern_maps", stack=name)}
    patterns = [str(pattern) for pattern in array["shown_pattern"].values]
    ax = axes(ax, size=(1.75 * len(patterns) + 0.2, 2.3))
    for number, pattern in enumerate(patterns):
        draw_tile(ax, array.values[number], number * (1 + GAP), 0, f"{pattern} ({heads[pattern]})")
    ax.set_xlim(-0.02, len(patterns) * (1 + GAP) - GAP + 0.02)
    ax.set_ylim(1.02, -0.2)
    ax.set_aspect("equal")
    dress(ax, title="Typical maps of the patterns", x="", y="")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax
