"""Kinds of heads and patterns of maps as boxes and stacked bars."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.slices import stack_with
from headscope.figures.style.colours import INK, KINDS, PAPER, SERIES
from headscope.figures.style.theme import (
    TICK_SIZE,
    axes,
    count_ticks,
    dress,
    layer_names,
    layer_size,
    legend,
    open_plot,
)
from headscope.kinds.features import head_features
from headscope.types import Array

ROOM_FOR_SLANTED = 58


def kind_colours(names: list[str]) -> dict[str, str]:
    """A colour for each kind: the same in every picture, and for another model whose kinds have the same names."""
    known = sorted(names)
    return {name: KINDS[known.index(name) % len(KINDS)] for name in names}


def kinds_of(atlas: Atlas, stack: str | None) -> tuple[str, list[str], Array]:
    """The stack, the names of its kinds in order, and (layer, head) the kind of each head."""
    for name in [stack] if stack else atlas.stacks:
        arrays = atlas.stack(name)
        if "head_type" in arrays:
            order = [str(kind) for kind in arrays["head_type_centre"]["type"].values]
            return name, order, arrays["head_type"].transpose("layer", "head").values.astype(str)
    raise AtlasError("this atlas has no kinds of heads yet; sort them with: headscope types ATLAS")


def feature_boxes(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """The 21 distance features of the heads of each kind, side by side (Guan et al. 2020, figure 3).

    A box spans the middle half of a kind's heads, its bar is their median, whiskers reach the farthest head within
    one and a half box lengths, dots are heads beyond.
    """
    name, order, kind = kinds_of(atlas, stack)
    features = head_features(atlas, stack=name)
    ax = axes(ax, size=(9.0, 3.4))
    width = 0.8 / len(order)
    for number, (own, colour) in enumerate(kind_colours(order).items()):
        values = features.values[kind.reshape(-1) == own]  # (head, feature)
        drawn = ax.boxplot(
            values,
            positions=np.arange(len(features.names)) + (number - (len(order) - 1) / 2) * width,
            widths=width * 0.85,
            patch_artist=True,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": colour},
            medianprops={"color": INK, "linewidth": 0.8},
            whiskerprops={"color": colour, "linewidth": 0.7},
            capprops={"visible": False},
            boxprops={"facecolor": colour, "edgecolor": PAPER, "linewidth": 0.3},
        )
        drawn["boxes"][0].set_label(f"{own} ({len(values)})")
    dress(ax, title="Distance features by kind of head", x="feature", y="share of attention")
    open_plot(ax)
    ax.set_xticks(range(len(features.names)), features.names, rotation=60, ha="right", fontsize=TICK_SIZE)
    ax.set_xlim(-0.6, len(features.names) - 0.4)
    ax.set_ylim(bottom=0)
    legend(ax, columns=min(4, len(order)), room=ROOM_FOR_SLANTED)
    return ax


def kinds_by_layer(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """How many heads of each kind every layer has, stacked."""
    name, order, kind = kinds_of(atlas, stack)
    layers, heads = kind.shape
    ax = axes(ax, size=layer_size(layers, 3.0))
    counts = np.stack([(kind == own).sum(1) for own in order], -1)  # (layer, kind)
    _stacked(ax, range(layers), counts, kind_colours(order))
    dress(ax, title="Kinds of heads by layer", x="layer", y="heads")
    ticks = count_ticks(layers, most=24)
    ax.set_xticks(ticks, layer_names(ticks, atlas.module_layers(name)))
    ax.set_ylim(0, heads)
    legend(ax, columns=min(4, len(order)))
    return ax


def patterns_by_layer(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """What share of each layer's attention maps shows each pattern, stacked; the last bar is all layers together."""
    name = stack_with(atlas, "pattern_share_layer", stack)
    arrays = atlas.stack(name)
    by_layer = arrays["pattern_share_layer"].transpose("layer", "pattern")
    layers = len(by_layer)
    ax = axes(ax, size=(float(np.clip(0.35 * layers + 2.6, 4.6, 9)), 3.2))
    places = [*range(layers), layers + 0.6]  # a gap before the bar of all
    shares = np.concatenate([by_layer.values, arrays["pattern_share_whole"].values[None]])  # (bar, pattern)
    _stacked(ax, places, shares, dict(zip(map(str, by_layer["pattern"].values), SERIES, strict=False)))
    dress(ax, title="Patterns of attention maps by layer", x="layer", y="share of maps")
    ticks = count_ticks(layers, most=24)
    ax.set_xticks([*ticks, places[-1]], [*layer_names(ticks, atlas.module_layers(name)), "all"])
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
    _stacked(ax, range(len(values)), values, dict(zip(patterns, SERIES, strict=False)), is_lying=True)
    dress(ax, title="Patterns of attention maps", x="share of maps", y="")
    ax.set_yticks(range(len(values)), list(shares), fontsize=TICK_SIZE)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    legend(ax, columns=3)
    return ax


def _stacked(
    ax: Axes, places: Sequence[float], sizes: Array, colours: Mapping[str, str], *, is_lying: bool = False
) -> None:
    """A bar at every place, of parts with these `sizes` (place, part), names and colours."""
    starts = sizes.cumsum(1) - sizes
    for part, (name, colour) in enumerate(colours.items()):
        size, start = sizes[:, part], starts[:, part]
        if is_lying:
            ax.barh(places, size, left=start, height=0.7, color=colour, label=name, edgecolor=PAPER)
        else:
            ax.bar(places, size, bottom=start, width=0.8, color=colour, label=name, edgecolor=PAPER)
    ax.spines[["top", "right"]].set_visible(False)
