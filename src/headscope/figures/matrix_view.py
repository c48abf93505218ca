"""Matrix view: one head's attention on one text as a map of queries x keys."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Rectangle

from headscope.figures.colours import COLOUR_MAPS, INK, LEVELS, RULE
from headscope.figures.theme import LABEL_SIZE, TICK_SIZE, TITLE_SIZE, as_vectors, axes
from headscope.figures.token_maps import ROW, checked, labels, widest, write

GAP = 4.0
BAR = 100.0  # points
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def matrix_view(
    weights: Any,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """One head on one text: a cell for each query (down) and key (across), the darker the more attention.

    `weights` is (query, key), `key_tokens` those looked at where they are others (cross attention). Colours run from
    0 to the smallest round number that holds all weights.
    """
    array = checked(weights, tokens, key_tokens, dims=2)
    down, across = labels(tokens), labels(tokens if key_tokens is None else key_tokens)
    left, above = widest(down) + GAP, widest(across) + GAP
    size = len(across) * ROW, len(down) * ROW
    if ax is None:
        ax = axes(None, size=((left + size[0] + 10) / 72, (above + size[1] + 70) / 72))
    ax.set_xlim(-left, size[0])
    ax.set_ylim(size[1], -above)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.set_title(title, loc="left", fontsize=TITLE_SIZE, color=INK, parse_math=False)
    high = next(step for step in _STEPS if step >= min(1.0, array.max()))
    _cells(ax, array, Normalize(0, high))
    for number, text in enumerate(down):
        write(ax, -GAP, (number + 0.5) * ROW, text, side="right")
    for number, text in enumerate(across):
        write(ax, (number + 0.5) * ROW, -GAP, text, side="left", rotation=90)
    _bar(ax, Normalize(0, high))
    return ax


def _cells(ax: Axes, array: np.ndarray[Any, Any], norm: Normalize) -> None:
    """One shape for the palest colour and one a cell for all others: most of a long text's cells are pale."""
    colours = COLOUR_MAPS["share"]
    rows, columns = array.shape
    ax.add_patch(
        Rectangle((0, 0), columns * ROW, rows * ROW, facecolor=colours(0), edgecolor=RULE, linewidth=0.5)
    )
    shown = np.argwhere(np.asarray(norm(array)) * LEVELS >= 1)
    corners = np.array([(0, 0), (ROW, 0), (ROW, ROW), (0, ROW)])
    cells = PolyCollection(
        [corners + np.array([key, query]) * ROW for query, key in shown],
        array=array[shown[:, 0], shown[:, 1]],
        cmap=colours,
        norm=norm,
        edgecolors="face",  # no hairlines between cells
        linewidths=0.2,
    )
    ax.add_collection(cells, autolim=False)


def _bar(ax: Axes, norm: Normalize) -> None:
    bar = ax.figure.colorbar(
        ScalarMappable(norm, COLOUR_MAPS["share"]),
        ax=ax,
        orientation="horizontal",
        location="bottom",
        anchor=(0, 1),
        shrink=0.5,
        aspect=BAR / 6,
        pad=0.03,
    )
    as_vectors(bar)
    bar.set_label("attention", fontsize=LABEL_SIZE, color=INK)
    bar.set_ticks([0, (norm.vmax or 1) / 2, norm.vmax or 1])
    bar.ax.tick_params(labelsize=TICK_SIZE, labelcolor=INK, color=RULE, length=2)
    bar.outline.set_visible(False)
