"""Kinds of heads in pictures: their features, the layers they are in, and what typical ones look like."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.figures.colours import COLOUR_MAPS, INK, MUTED, PAPER, RULE, SERIES, SHARE_RAMP
from headscope.figures.theme import (
    LABEL_SIZE,
    SMALL_SIZE,
    TICK_SIZE,
    axes,
    count_ticks,
    dress,
    legend,
    open_plot,
)
from headscope.kinds.features import head_features
from headscope.types import HeadId

Array = np.ndarray[Any, Any]

EXAMPLES = 4
GAP = 0.18
"""Between two maps, as a share of a map's side."""
FAINT = 1 / 64
ROOM_FOR_SLANTED = 58


def kind_colours(names: list[str]) -> dict[str, str]:
    """A colour for each kind: the same in every picture, and for another model whose kinds have the same names."""
    known = sorted(names)
    return {name: SERIES[known.index(name) % len(SERIES)] for name in names}


def kinds_of(atlas: Atlas, stack: str | None) -> tuple[str, list[str], Array]:
    """The stack, the names of its kinds in order, and (layer, head) the kind of each head."""
    for name in [stack] if stack else atlas.stacks:
        arrays = atlas.stack(name)
        if "head_type" in arrays:
            order = [str(one) for one in arrays["head_type_centre"]["type"].values]
            return name, order, arrays["head_type"].transpose("layer", "head").values.astype(str)
    raise AtlasError("this atlas has no kinds of heads yet; sort them with: headscope types ATLAS")


def feature_boxes(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """The 21 distance features of the heads of each kind, side by side (Guan et al. 2020, figure 3).

    A box spans the middle half of a kind's heads, its bar is their median, whiskers reach the farthest head within
    one and a half box lengths, dots are heads beyond.
    """
    name, order, kind = kinds_of(atlas, stack)
    features = head_features(atlas, stack=name)
    colours = kind_colours(order)
    ax = axes(ax, size=(9.0, 3.4))
    width = 0.8 / len(order)
    for number, one in enumerate(order):
        values = features.values[kind.reshape(-1) == one]  # (head, feature)
        places = np.arange(len(features.names)) + (number - (len(order) - 1) / 2) * width
        drawn = ax.boxplot(
            [values[:, column] for column in range(values.shape[1])],
            positions=places,
            widths=width * 0.85,
            patch_artist=True,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 2, "markeredgecolor": colours[one]},
            medianprops={"color": INK, "linewidth": 0.8},
            whiskerprops={"color": colours[one], "linewidth": 0.7},
            capprops={"visible": False},
            boxprops={"facecolor": colours[one], "edgecolor": PAPER, "linewidth": 0.3},
        )
        drawn["boxes"][0].set_label(f"{one} ({len(values)})")
    dress(ax, title="Distance features by kind of head", x="feature", y="share of attention")
    open_plot(ax)
    ax.set_xticks(range(len(features.names)), features.names, rotation=60, ha="right", fontsize=TICK_SIZE)
    ax.set_xlim(-0.6, len(features.names) - 0.4)
    ax.set_ylim(bottom=0)
    legend(ax, columns=min(4, len(order)), room=ROOM_FOR_SLANTED)
    return ax


def kinds_by_layer(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """How many heads of each kind every layer has, stacked."""
    _, order, kind = kinds_of(atlas, stack)
    colours = kind_colours(order)
    layers, heads = kind.shape
    ax = axes(ax, size=(float(np.clip(0.35 * layers + 2, 4.6, 9)), 3.0))
    below = np.zeros(layers)
    for one in order:
        counted = (kind == one).sum(1)
        ax.bar(
            range(layers), counted, bottom=below, color=colours[one], width=0.8, label=one, edgecolor=PAPER
        )
        below += counted
    dress(ax, title="Kinds of heads by layer", x="layer", y="heads")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xticks(count_ticks(layers, most=24))
    ax.set_ylim(0, heads)
    ax.yaxis.label.set_fontsize(LABEL_SIZE)
    ax.tick_params(axis="x", colors=MUTED, labelcolor=INK)
    legend(ax, columns=min(4, len(order)))
    return ax


def kind_examples(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """Attention maps of the most typical heads of each kind, all of the same text; queries run down, keys across.

    Typical are those that lie nearest to the centre of their kind and farthest from the others. The colour is the
    square root of the largest weight in a cell, so that faint lines show too; every map has its own scale.
    """
    name, order, kind = kinds_of(atlas, stack)
    arrays = atlas.stack(name)
    if "example_map" not in arrays:
        raise AtlasError(
            "this atlas has no example_map; analyse again with that measure to see maps of heads"
        )
    maps = arrays["example_map"].transpose("layer", "head", "row", "column").values
    certainty = arrays["head_type_certainty"].transpose("layer", "head").values
    ax = axes(ax, size=examples_size(len(order)))
    for row, one in enumerate(order):
        ranked = np.argsort(-np.where(kind == one, certainty, -np.inf), axis=None, kind="stable")
        heads = [HeadId(*divmod(int(place), kind.shape[1])) for place in ranked[: int((kind == one).sum())]]
        ax.text(-0.1, _top(row) + 0.5, one, ha="right", va="center", fontsize=LABEL_SIZE, color=INK)
        for column, head in enumerate(heads[:EXAMPLES]):
            draw_tile(ax, maps[head.layer, head.head], column * (1 + GAP), _top(row), str(head))
    ax.set_xlim(-0.1, EXAMPLES * (1 + GAP))
    ax.set_ylim(_top(len(order)), -0.3)
    ax.set_aspect("equal")
    dress(ax, title="Typical heads of each kind, on the same text", x="", y="")
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax


def examples_size(kinds: int) -> tuple[float, float]:
    """Inches for the typical heads of so many kinds."""
    return 6.4, 1.25 * kinds + 0.5


def _top(row: int) -> float:
    return row * (1 + 2 * GAP)


def draw_tile(ax: Axes, weights: Array, left: float, top: float, name: str = "") -> None:
    """One map, a unit wide and high, its head's name above it."""
    side = len(weights)
    edges = np.linspace(0, 1, side + 1)
    shown = np.sqrt(weights)
    ax.add_patch(
        Rectangle((left, top), 1, 1, facecolor=SHARE_RAMP[0], edgecolor=RULE, linewidth=0.6, zorder=0.5)
    )
    ax.pcolormesh(
        left + edges,
        top + edges,
        np.ma.masked_less(shown, FAINT),  # what would have the ground's colour is not drawn
        cmap=COLOUR_MAPS["share"].with_extremes(bad=(0, 0, 0, 0)),
        vmin=0,
        vmax=max(float(np.nanmax(shown)), FAINT),
    )
    if name:
        ax.text(left, top - 0.05, name, ha="left", va="bottom", fontsize=SMALL_SIZE, color=MUTED)
