"""Pictures of one text: a layer's heads as lines, one head as a matrix, and all heads of a stack as small maps."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Colormap, Normalize, to_hex, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.wording import printed
from headscope.figures.grid import round_share
from headscope.figures.style.colours import COLOUR_MAPS, HEAD_COLOURS, LEVELS, MUTED, RULE
from headscope.figures.style.theme import (
    axes,
    colour_bar,
    count_axes,
    dress,
    legend,
    short,
    text_width,
    title,
    write,
)
from headscope.figures.texts.maps import draw_tile, every_map
from headscope.types import Array

TOKEN_SIZE = 7.5  # points
ROW = 11.0  # points from one token to the next
GAP = 4.0  # points between tokens and what is drawn
BETWEEN = 150.0  # points from the tokens that look to those looked at
MOST_LINES = 20_000
"""A picture has no more: of very many, the weakest are left out."""

TILE_GAP = 0.12
"""Between two small maps, which are a unit wide."""
TILE_SIDE = 16
"""Cells along a small map: what is still seen at this size, in a picture of hundreds of maps that stays small."""
FAINT = 0.02
"""Attention below this has the ground's colour in a small map."""


def head_view(
    weights: Any,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    heads: Sequence[int] | None = None,
    threshold: float = 0.01,
    signed: bool = False,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """One layer's heads on one text: lines from each token to those it looks at, one colour a head.

    `weights` is (head, query, key), `key_tokens` those looked at where they are others (cross attention), `heads` the
    numbers of the heads to draw (all when None). The stronger a line, the more attention; weights below `threshold`
    have none. `signed` numbers may be negative, or nan for none: a colour for those above 0, another for those below.
    """
    array = _checked(weights, tokens, key_tokens, dims=3, signed=signed)
    chosen = list(range(len(array))) if heads is None else list(heads)
    unknown = [head for head in chosen if head not in range(len(array))]
    if unknown or not chosen:
        raise OptionError(f"heads must be some of 0 to {len(array) - 1}, not {unknown or chosen}")
    left, right = _labels(tokens, key_tokens)
    ax = ax or axes(None, size=head_view_size(tokens, key_tokens))
    across = -_widest(left) - GAP, BETWEEN + _widest(right) + GAP
    _lay_out(ax, across, (max(len(left), len(right)) * ROW, -1.5 * ROW), title)
    sides = ((-GAP, "right"), (BETWEEN + GAP, "left"))
    for (x, side), name in zip(sides, ("from", "to"), strict=True):
        write(ax, x, -ROW, name, color=MUTED, ha=side, va="center")
    for (x, side), texts in zip(sides, (left, right), strict=True):
        for number, text in enumerate(texts):
            write(ax, x, number * ROW, text, size=TOKEN_SIZE, ha=side, va="center")
    ax.add_collection(_lines(array, chosen, threshold, signed=signed), autolim=False)
    if signed:
        handles = [
            Line2D([], [], color=_sign_colour(sign), linewidth=2.5, label=label)
            for sign, label in ((1, "with"), (-1, "against"))
        ]
        legend(ax, columns=2, title="works", room=0, handles=handles)
    elif len(chosen) > 1:
        handles = [Line2D([], [], color=_colour(head), linewidth=2.5, label=str(head)) for head in chosen]
        legend(ax, columns=min(len(chosen), 6), title="head", room=0, handles=handles)
    return ax


def head_view_size(tokens: Sequence[str], key_tokens: Sequence[str] | None = None) -> tuple[float, float]:
    """Inches for these tokens, a title and a legend."""
    left, right = _labels(tokens, key_tokens)
    width = _widest(left) + BETWEEN + _widest(right) + 2 * GAP
    return width / 72, ((max(len(left), len(right)) + 1.5) * ROW + 40) / 72


def matrix_view(
    weights: Any,
    tokens: Sequence[str],
    *,
    key_tokens: Sequence[str] | None = None,
    signed: bool = False,
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """One head on one text: a cell for each query (down) and key (across), the darker the more attention.

    `weights` is (query, key), `key_tokens` those looked at where they are others (cross attention). Colours run from
    0 to the smallest round number that holds all weights. `signed` numbers may be negative, or nan for none, which
    has no colour: colours then run to both sides of 0.
    """
    array = _checked(weights, tokens, key_tokens, dims=2, signed=signed)
    down, across = _labels(tokens, key_tokens)
    left, above = _widest(down) + GAP, _widest(across) + GAP
    width, height = len(across) * ROW, len(down) * ROW
    ax = ax or axes(None, size=((left + width + 10) / 72, (above + height + 70) / 72))
    _lay_out(ax, (-left, width), (height, -above), title)
    ax.set_aspect("equal")
    largest = round_share(min(1.0, float(np.nanmax(np.abs(array), initial=0.0))))
    scale, colours = (
        Normalize(-largest if signed else 0, largest),
        COLOUR_MAPS["signed" if signed else "share"],
    )
    _cells(ax, array, scale, colours)
    for number, text in enumerate(down):
        write(ax, -GAP, (number + 0.5) * ROW, text, size=TOKEN_SIZE, ha="right", va="center")
    for number, text in enumerate(across):
        write(ax, (number + 0.5) * ROW, -GAP, text, size=TOKEN_SIZE, ha="center", va="bottom", rotation=90)
    below = {
        "orientation": "horizontal",
        "location": "bottom",
        "anchor": (0, 1),
        "shrink": 0.5,
        "fraction": 0.15,
    }
    ticks = [-largest, 0, largest] if signed else [0, largest / 2, largest]
    name = "share of the output" if signed else "attention"
    colour_bar(ax, ScalarMappable(scale, colours), name, ticks=ticks, aspect=100 / 6, pad=0.03, **below)
    return ax


def model_view(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """Every head's attention on one text as a small map, layers down and heads across, both from 0.

    In each map queries run down and keys across. The colour is the square root of the largest weight in a cell, so that
    faint lines show too; weights below 0.02 do not show, and every map has its own scale.
    """
    maps = every_map(atlas, stack)
    layers, heads = maps.shape[:2]
    ax = axes(ax, size=model_view_size(layers, heads))
    step = 1 + TILE_GAP
    for layer, head in np.ndindex(layers, heads):
        draw_tile(ax, _small(maps[layer, head]), head * step, layer * step)
    ax.set_xlim(-TILE_GAP, heads * step)
    ax.set_ylim(layers * step, -TILE_GAP)
    ax.set_aspect("equal")
    dress(ax, title="Every head on the same text", x="head", y="layer")
    count_axes(ax, layers=layers, heads=heads, most=24, step=step, first=0.5)
    return ax


def model_view_size(layers: int, heads: int) -> tuple[float, float]:
    """Inches for so many maps, no wider than a page."""
    step = min(0.62, 8.6 / heads)
    return heads * step + 0.6, layers * step + 0.6


def _checked(
    weights: Any, tokens: Sequence[str], key_tokens: Sequence[str] | None, *, dims: int, signed: bool
) -> Array:
    """The weights as an array of `dims` axes, the last two (query, key), that fit the tokens."""
    array = np.asarray(weights.detach().cpu() if hasattr(weights, "detach") else weights, dtype=float)
    names = "(head, query, key)" if dims == 3 else "(query, key)"
    if array.ndim != dims:
        raise OptionError(f"the weights have shape {array.shape}; expected {names}")
    keys = tokens if key_tokens is None else key_tokens
    if array.shape[-2:] != (len(tokens), len(keys)):
        raise OptionError(
            f"the weights are of {array.shape[-2]} queries and {array.shape[-1]} keys, and there are {len(tokens)} "
            f"tokens and {len(keys)} key tokens"
        )
    if array.size == 0 or (not signed and (not np.isfinite(array).all() or array.min() < 0)):
        raise OptionError("the weights must be numbers of at least 0, and there must be some")
    return array


def _labels(tokens: Sequence[str], key_tokens: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Both sides' tokens as they are written: long ones without their middle, nothing that turns the text around."""
    queries, keys = (
        [short(printed(token)) for token in side]
        for side in (tokens, tokens if key_tokens is None else key_tokens)
    )
    return queries, keys


def _widest(texts: Sequence[str]) -> float:
    """Points that the longest of some labels takes."""
    return max(text_width(text, TOKEN_SIZE) for text in texts)


def _lay_out(ax: Axes, across: tuple[float, float], down: tuple[float, float], text: str) -> None:
    """Axes in points, of which nothing but the title is seen."""
    ax.set_xlim(*across)
    ax.set_ylim(*down)
    ax.set_axis_off()
    title(ax, text)


def _colour(head: int) -> str:
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def _sign_colour(value: float) -> str:
    """The colour of a number with a sign."""
    return to_hex(COLOUR_MAPS["signed"](0.9 if value > 0 else 0.1))


def _lines(array: Array, heads: Sequence[int], threshold: float, *, signed: bool) -> LineCollection:
    """The weakest first, so that the strongest lie on top."""
    lines = [
        (abs(float(array[head, query, key])), head, int(query), int(key))
        for head in heads
        for query, key in np.argwhere(np.abs(array[head]) >= max(threshold, np.finfo(float).tiny))
    ]
    lines = sorted(lines)[-MOST_LINES:]
    colours = [
        _sign_colour(array[head, query, key]) if signed else _colour(head) for _, head, query, key in lines
    ]
    return LineCollection(
        [[(0, query * ROW), (BETWEEN, key * ROW)] for _, _, query, key in lines],
        colors=[
            to_rgba(colour, min(1.0, 0.08 + 0.92 * line[0]))
            for colour, line in zip(colours, lines, strict=True)
        ],
        linewidths=[0.3 + 2.2 * min(1.0, weight) for weight, _, _, _ in lines],
        capstyle="round",
    )


def _cells(ax: Axes, array: Array, scale: Normalize, colours: Colormap) -> None:
    """One shape for the palest colour and one a cell for all others: most of a long text's cells are pale."""
    rows, columns = array.shape
    nothing = float(scale(0.0))
    ax.add_patch(
        Rectangle(
            (0, 0), columns * ROW, rows * ROW, facecolor=colours(nothing), edgecolor=RULE, linewidth=0.5
        )
    )
    shown = np.argwhere(np.abs(np.asarray(scale(array)) - nothing) * LEVELS >= 1)
    corners = np.array([(0, 0), (ROW, 0), (ROW, ROW), (0, ROW)])
    cells = PolyCollection(
        [corners + np.array([key, query]) * ROW for query, key in shown],
        array=array[shown[:, 0], shown[:, 1]],
        cmap=colours,
        norm=scale,
        edgecolors="face",  # no hairlines between cells
        linewidths=0.2,
    )
    ax.add_collection(cells, autolim=False)


def _small(weights: Array) -> Array:
    """(row, column) the largest weight of each of TILE_SIDE x TILE_SIDE cells."""
    parts = [np.array_split(np.arange(side), min(TILE_SIDE, side)) for side in weights.shape]
    small = np.array([[weights[np.ix_(rows, columns)].max() for columns in parts[1]] for rows in parts[0]])
    return np.where(small < FAINT, 0.0, small)
